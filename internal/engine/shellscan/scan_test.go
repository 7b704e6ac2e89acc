package shellscan

import (
	"strings"
	"testing"
)

var testOptions = Options{Cwd: "/home/u/ws", Home: "/home/u"}

func scan(src string) *Script { return Scan(src, testOptions) }

// programs lists the innermost program names, in order.
func programs(s *Script) string {
	var out []string
	for _, c := range s.Commands {
		if len(c.Run) == 0 {
			out = append(out, "=")
			continue
		}
		out = append(out, c.Run[0].Text)
	}
	return strings.Join(out, " ")
}

func TestCommandsListed(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"git log\ntouch x", "git touch"},
		{"a & b | c |& d || e && f; g", "a b c d e f g"},
		{"(a; { b; })", "a b"},
		{"if a; then b; elif c; then d; else e; fi", "a b c d e"},
		{"for f in $(a); do b; done", "a b"},
		{"while a; do b; done; until c; do d; done", "a b c d"},
		{"case $(a) in x) b;; *) c;; esac", "a b c"},
		{"[[ -f x ]] && a", "a"},
		{"! a", "a"},
		{"time -p a", "a"},
		{"f() { a; }; f", "a f"},
		{"echo \"$(a `b`)\"", "echo a b"},
		{"echo \"${x:-$(a)}\" ${y/$(b)/$(c)}", "echo a b c"},
		{"echo $(( $(a) + 1 ))", "echo a"},
		{"a <(b) > >(c)", "a b c"},
		{"a <<EOF\n$(b)\nEOF", "a b"},
		{"a <<'EOF'\n$(b)\nEOF\nc", "a c"},
		{"a <<< \"$(b)\"", "a b"},
		{"x=$(a) b", "b a"},
		{"x=(1 $(a))", "= a"},
		{"export X=$(a)", "export a"},
		{"bash -c 'a; b'", "bash a b"},
		{"sh -ec 'a $(b)' x", "sh a b"},
		{"bash <<'EOF'\na\nEOF", "bash a"},
		{"bash <<< 'a b'", "bash a"},
		{"env X=1 a", "a"},
		{"env -i A=\"$B\" sudo -u root nice -n 5 a", "a"},
		{"timeout -k 5 30s a", "a"},
		{"xargs -n1 a", "a"},
		{"find . -exec a {} \\; -o -exec b {} +", "find a b"},
		{"eval 'a; b'", "eval a b"},
		{"trap 'a' EXIT", "trap a"},
		{"watch 'a | b'", "a | b a b"},
		{"coproc a", "a"},
		{"{ a; } > $(b)", "= b a"},
		{"fd -x a {}", "fd a"},
		{"\\\n a", "a"},
	} {
		s := scan(c.src)
		if got := programs(s); got != c.want {
			t.Errorf("%q: programs %q, want %q", c.src, got, c.want)
		}
	}
}

func TestClass(t *testing.T) {
	for src, want := range map[string]Class{
		"ls -la": Simple, "": Simple, "# note": Simple, "for i in 1 2; do echo $i; done": Simple, "i=1; echo $((i+1))": Simple,
		"for ((i=0; i<3; i++)); do echo $i; done": Simple, "echo a{1..3}b {x,y}": Simple, "cat <<'E'\nx\nE": Simple, "ls \\\n  -la": Simple, "echo \"${x:-d}\" ${#x} ${x%.go}": Simple,
		"ls\x00": Invalid, "echo \xff": Invalid, "ls 'a": Invalid, "ls &&": Invalid, "ls )": Invalid, "if a; then": Invalid, "| ls": Invalid, "ls ;; a": Invalid,
		"ls\r": TooComplex, "ls\x1b[A": TooComplex, "ls\u00a0-la": TooComplex, "ls\u200b": TooComplex, "echo \u202e": TooComplex, "echo \u2028": TooComplex,
		"gi\\\nt push": TooComplex, "$x a": TooComplex, "cat${IFS}x": TooComplex, "echo ${x:=1}": TooComplex, "echo ${x@P}": TooComplex, "echo ${!x}": TooComplex,
		"echo $((x))": TooComplex, "echo ${a[$x]}": TooComplex, "a[$(x)]=1": TooComplex, "[[ $x -eq 1 ]]": TooComplex, "[[ -v a[x] ]]": TooComplex, "let x=1": TooComplex,
		"((x[$y]++))": TooComplex, "f() { a; }": TooComplex, "coproc a": TooComplex, "eval a": TooComplex, "source x": TooComplex, ". x": TooComplex, "trap a EXIT": TooComplex, "alias ls=rm": TooComplex,
		"timeout -k$(id) 10 ls": TooComplex, "timeout --odd 1 ls": TooComplex, "env -S 'a b'": TooComplex, "echo $'\\u0041'": TooComplex, "echo $'\\0'": TooComplex, "echo $\"x\"": TooComplex,
		"echo > /dev/tcp/h/1": TooComplex, "cat < /dev/udp/h/1": TooComplex, "echo {a,b": TooComplex, "echo {1..100000}": TooComplex, "echo {a,$x}": Simple, "bash -c \"$x\"": TooComplex,
		"case x in a) b;& *) c;; esac": TooComplex, "echo hi {fd}>x": TooComplex, "sh -c 'echo &> x'": TooComplex, strings.Repeat("echo a; ", 1300): TooComplex,
		"echo `a \\`b\\``": TooComplex,
	} {
		s := scan(src)
		if s.Class != want {
			t.Errorf("%.60q: %v (%s), want %v", src, s.Class, s.Why, want)
		}
		if (s.Class == Simple) != (s.Why == "") {
			t.Errorf("%.60q: class %v with the reason %q", src, s.Class, s.Why)
		}
	}
}

func TestLongLinesStillListCommands(t *testing.T) {
	s := scan(strings.Repeat("true; ", 2600) + "touch x")
	if s.Class == Simple || s.Commands[len(s.Commands)-1].Run[0].Text != "touch" {
		t.Fatalf("class %v, last command %v", s.Class, s.Commands[len(s.Commands)-1].Source)
	}
	if s := scan(strings.Repeat("a", MaxParsed+1)); s.Class == Simple {
		t.Fatal("an endless word is simple")
	}
	deep := strings.Repeat("(", 20000)
	if s := scan(deep); s.Class == Simple {
		t.Fatal("an endless nest is simple")
	}
}

func TestReadOnlyNeverWithAWriteBehind(t *testing.T) {
	for _, src := range readOnlyYes {
		for _, tail := range []string{"; touch x", "\ntouch x", " && touch x", " > x", " | tee x", "; x=$(touch x)"} {
			if ok, _ := scan(src + tail).ReadOnly(); ok {
				t.Errorf("%q is read-only", src+tail)
			}
		}
	}
}

func TestReadOnly(t *testing.T) {
	for _, src := range readOnlyYes {
		if ok, why := scan(src).ReadOnly(); !ok {
			t.Errorf("%q is not read-only: %s", src, why)
		}
	}
	for _, src := range readOnlyNo {
		s := scan(src)
		if ok, why := s.ReadOnly(); ok || why == "" {
			t.Errorf("%q is read-only (why %q)", src, why)
		}
	}
}

// Rules for the program must not cover these: an option runs a program or writes a file.
func TestBeyondPrefix(t *testing.T) {
	for _, src := range beyondYes {
		s := scan(src)
		found := s.Class != Simple
		for _, c := range s.Commands {
			found = found || c.BeyondPrefix != ""
		}
		if !found {
			t.Errorf("%q would be covered by a prefix rule", src)
		}
	}
	for _, src := range []string{"git commit -m 'fix #12'", "git commit -m \"$MSG\"", "npm run test", "touch new.txt", "rm -rf ./build", "sed -i s/a/b/ f", "curl -s http://x", "go test ./...", "sort a.txt", "find . -name x",
		"timeout 5 npm test", "FOO=1 make", "rg -n foo src", "jq . f.json", "tar tf x.tar", "git -C sub log", "git push origin main", "python3 -m pytest -q"} {
		for _, c := range scan(src).Commands {
			if c.BeyondPrefix != "" {
				t.Errorf("%q: %s", src, c.BeyondPrefix)
			}
		}
	}
}

func TestForms(t *testing.T) {
	for _, c := range []struct {
		src, text string
		allow     bool
	}{
		{"git  push", "git push", true},
		{"g\"i\"t 'pu'\\sh", "git push", true},
		{"$'\\x67it' $'\\160ush'", "git push", true},
		{"NO_COLOR=1 TZ=UTC git log", "git log", true},
		{"A=1 git log", "git log", false},
		{"PATH=. git log", "PATH=. git log", true},
		{"timeout -k 5 30s npm test", "npm test", true},
		{"nice -n 10 nohup stdbuf -oL command npm test", "npm test", true},
		{"time npm test", "npm test", true},
		{"xargs grep x", "grep x", true},
		{"xargs -0 grep x", "grep x", false},
		{"env curl x", "curl x", false},
		{"env -i A=b curl x", "curl x", false},
		{"sudo -u u curl x", "curl x", false},
		{"/usr/bin/../bin/curl x", "curl x", false},
		{"./git log", "git log", false},
		{"/usr/bin/timeout 5 curl x", "curl x", false},
		{"git -C sub log -1", "git log -1", true},
		{"git -C /etc log -1", "git log -1", false},
		{"git -P push", "git push", true},
		{"git -c a.b=c push --force", "git push --force", false},
		{"git --git-dir=.git push", "git push", false},
		{"kubectl -n prod delete pod x", "kubectl delete pod x", false},
		{"docker -H tcp://h rm x", "docker rm x", false},
		{"{git,push}", "git push", true},
		{"cat .{env,gitignore}", "cat .env .gitignore", true},
		{"cat $HOME/x", "cat /home/u/x", true},
		{"cat ~/x", "cat /home/u/x", true},
		{"echo \"$(cat <<'E'\na b\nE\n)\"", "echo a b", true},
	} {
		found := false
		for _, cmd := range scan(c.src).Commands {
			for _, f := range cmd.Forms {
				if f.Text == c.text {
					found = true
					if f.Allow && !c.allow {
						t.Errorf("%q: an allow rule may match %q", c.src, c.text)
					}
					if c.allow && !f.Allow && !anyAllow(cmd.Forms, c.text) {
						t.Errorf("%q: no allow rule may match %q", c.src, c.text)
					}
				}
			}
		}
		if !found {
			t.Errorf("%q has no form %q", c.src, c.text)
		}
	}
}

func anyAllow(fs []Form, text string) bool {
	for _, f := range fs {
		if f.Text == text && f.Allow {
			return true
		}
	}
	return false
}

func texts(ps []Path) string {
	var out []string
	for _, p := range ps {
		t := strings.TrimPrefix(p.Text, "/home/u/ws/")
		if p.Known == Unknown {
			t = "?" + t
		}
		if p.Tree {
			t += "/**"
		}
		out = append(out, t)
	}
	return strings.Join(out, " ")
}

func TestPaths(t *testing.T) {
	for _, c := range []struct{ src, reads, writes, removes string }{
		{"cat a ./b ../c /d", "a b /home/u/c /d", "", ""},
		{"cat < a > b 2>> c", "a", "b c", ""},
		{"head -n 5 a -c3 b", "a b", "", ""},
		{"grep -rn x", "/home/u/ws/**", "", ""},
		{"grep -e x a", "a", "", ""},
		{"grep -f pats a", "pats a", "", ""},
		{"rg x src", "src/**", "", ""},
		{"ls", "/home/u/ws", "", ""},
		{"cp a b", "a", "b b/a", ""},
		{"cp -r d/. e", "d/**", "e/** e/**", ""},
		{"cp -t dst a", "a", "dst dst/a", ""},
		{"mv a b", "a/**", "b b/a", "a/**"},
		{"rm -rf a 'b c'", "", "", "a/** b c/**"},
		{"mkdir -p a/b; touch c", "", "a/b c", ""},
		{"tee a < b", "b", "a", ""},
		{"sed -i.bak s/a/b/ f", "f", "f f.bak", ""},
		{"sed -n 'r x' f", "x f", "", ""},
		{"cd sub && cat a", "sub/a", "", ""},
		{"cd sub; cat a", "sub/a a", "", ""},
		{"(cd sub); cat a", "a", "", ""},
		{"cd sub || cat a", "a", "", ""},
		{"cd ..; cat a", "/home/u/a a", "", ""},
		{"cd $X; cat a", "?a", "", ""},
		{"cat \"$HOME/a\" ~/b", "/home/u/a /home/u/b", "", ""},
		{"HOME=/etc; cat ~/b", "?~/b", "", ""},
		{"cat src/*.go", "src/*.go", "", ""},
		{"find src doc -name x", "src doc", "", ""},
		{"find . -exec cat {} \\;", "/home/u/ws /home/u/ws/**", "", ""},
		{"for f in a src/*.go; do cat \"$f\" \"d/$f.x\"; done", "a src/*.go d/a.x d/src/*.go.x", "", ""},
		{"for f in a; do f=/etc/passwd; cat \"$f\"; done", "?$f", "", ""},
		{"for f in a; do read f; cat \"$f\"; done", "?$f", "", ""},
		{"for f in a b; do rm \"$f\"; done", "", "", "a b"},
		{"for f in $X; do cat \"$f\"; done", "?$f", "", ""},
		{"find src -delete", "src", "", "src/**"},
		{"git diff --no-index /etc/hostname a", "/etc/hostname/** a/**", "", ""},
		{"git blame --contents ../x a", "/home/u/x a/**", "", ""},
		{"git show HEAD:a.txt", "a.txt/**", "", ""},
		{"jq -n --rawfile x .env '$x'", ".env", "", ""},
		{"tar tf x.tar", "x.tar", "", ""},
		{"echo x >&f", "", "f", ""},
		{"echo x &>> f", "", "f", ""},
		{"echo x >| f", "", "f", ""},
		{"exec 3<>f", "f", "f", ""},
		{"dd if=a of=b", "a", "b", ""},
		{"echo x 2>&1 >/dev/null <&-", "", "", ""},
		{"bash -c 'cd sub && cat a'", "sub/a", "", ""},
		{"git -C sub diff x", "sub/x/**", "", ""},
		{"[ -f a ] && test -d b", "a b", "", ""},
	} {
		var r, w, d []Path
		for _, cmd := range scan(c.src).Commands {
			r, w, d = append(r, cmd.Reads...), append(w, cmd.Writes...), append(d, cmd.Removes...)
		}
		if texts(r) != c.reads || texts(w) != c.writes || texts(d) != c.removes {
			t.Errorf("%q:\n reads   %q want %q\n writes  %q want %q\n removes %q want %q", c.src, texts(r), c.reads, texts(w), c.writes, texts(d), c.removes)
		}
	}
}

func TestUnknownFiles(t *testing.T) {
	for _, src := range []string{"cat $x", "cat \"$x\"", "cat $(a)", "xargs cat", "cd \"$D\" && cat a", "grep x \"$f\"", "wc --files0-from f", "cat *$x", "cd - && cat a", "cat ~other/x", "cat < $x", "sort -o $x a", "xargs -I{} cp {} b"} {
		found := false
		for _, c := range scan(src).Commands {
			found = found || c.UnknownReads || c.UnknownWrites
		}
		if !found {
			t.Errorf("%q: all files are said to be known", src)
		}
	}
	for _, src := range []string{"echo x > $f", "cd \"$D\" && echo x > f", "touch $f", "cp a $f", "split -l1 a", "xargs rm", "echo > *.x$y", "cd - > /dev/null && touch f"} {
		found := false
		for _, c := range scan(src).Commands {
			found = found || c.UnknownWrites
		}
		if !found {
			t.Errorf("%q: all writes are said to be known", src)
		}
	}
}

func TestDir(t *testing.T) {
	for _, c := range []struct{ src, dir string }{
		{"cd sub", "/home/u/ws/sub"}, {"cd sub && cd ..", "/home/u/ws"}, {"cd", "/home/u"}, {"cd ~/x", "/home/u/x"}, {"cd -", ""}, {"cd $x", ""}, {"(cd sub)", ""}, {"cd a | b", ""},
		{"CDPATH=/ cd etc", ""}, {"cd -P sub", "/home/u/ws/sub"}, {"pushd sub", "/home/u/ws/sub"}, {"popd", ""}, {"cd a b", ""}, {"command cd sub", "/home/u/ws/sub"},
	} {
		if s := scan(c.src); s.Dir != c.dir {
			t.Errorf("%q leads to %q, want %q", c.src, s.Dir, c.dir)
		}
	}
	for src, want := range map[string]bool{"cd sub": true, "(cd sub)": false, "cd a | b": false, "ls": false, "cd a &": false, "echo $(cd a)": false, "if a; then cd b; fi": true, "bash -c 'cd a'": false} {
		if s := scan(src); s.ChangesDir != want {
			t.Errorf("%q: ChangesDir %v", src, s.ChangesDir)
		}
	}
}

func TestCritical(t *testing.T) {
	for _, src := range []string{"rm -rf /", "rm -rf /*", "rm -rf /etc", "rm -r /usr/", "rm -rf ~", "rm -rf ~/", "rm -rf $HOME", "rm -rf \"$HOME\"/", "rm -rf .", "rm -rf ./", "rm -rf ..", "rm -rf ../", "rm -rf *", "rm -rf ./*", "rm -rf ../*",
		"rm -rf \"$D\"/", "rm -rf \"$D\"/*", "rm -rf $D/*", "rm -rf ${D}/", "rm -rf $(pwd)", "rm -rf `pwd`", "rmdir /opt", "rm -rf ~/*", "rm -rf ~root", "echo $(rm -rf /)", "sudo rm -rf /", "bash -c 'rm -rf /'", "cd / && rm -rf *",
		"cd /home/u && rm -rf ws", "rm -rf /home/u/ws/sub/..", "rm -rf --no-preserve-root /", "rm -fr -- /", "find / -delete", "env rm -rf ~", "rm -rf {/,x}", "mv /etc /tmp/x", "cd $x && rm -rf ..", "for d in /etc a; do rm -rf \"$d\"; done", "for d in /; do rm -rf \"$d\"/*; done", "rm -rf \"/$X\"", "/bin/rm -rf /", "HOME=/x; rm -rf $HOME"} {
		found := false
		for _, c := range scan(src).Commands {
			found = found || c.Critical != ""
		}
		if !found {
			t.Errorf("%q is not critical", src)
		}
	}
	for _, src := range []string{"rm -rf ./build", "rm -rf build/*", "rm *.o", "rm -rf node_modules dist", "rm -rf /tmp/x-1", "rm -rf /tmp/x/*", "rm -rf \"$D\"", "rmdir a", "rm -rf \"${D:?}/\"*x", "find . -name '*.o' -delete", "rm -rf ~/ws2/build", "mv a b"} {
		for _, c := range scan(src).Commands {
			if c.Critical != "" {
				t.Errorf("%q: %s", src, c.Critical)
			}
		}
	}
}

func TestKillsRuntime(t *testing.T) {
	for src, want := range map[string]bool{"kill -9 $PPID": true, "kill $x": true, "kill -9 -1": true, "kill 0": true, "pkill -f agent": true, "pkill -u root": true, "pkill seven": true, "killall sevengate": true, "pkill \"$x\"": true,
		"kill 1234": false, "kill -9 1234": false, "kill %1": false, "kill $!": false, "pkill node": false, "pkill -x vite": false} {
		if c := scan(src).Commands[0]; (c.KillsRuntime != "") != want {
			t.Errorf("%q: %q", src, c.KillsRuntime)
		}
	}
}

func TestFileCommandAndEdit(t *testing.T) {
	for src, want := range map[string]bool{"mkdir -p a": true, "touch a": true, "rm -rf a": true, "mv a b": true, "cp -r a b": true, "sed -i 's/a/b/' f": true, "nice rm a": true, "sed -i 'w x' f": false, "sed -i \"s/a/$x/\" f": false, "cp --odd a b": false, "ln -s a b": false, "tee a": false, "rm $x": false, "./rm a": false, "chmod +x a": false, "xargs rm": false} {
		if c := scan(src).Commands[0]; c.FileCommand != want {
			t.Errorf("%q: FileCommand %v", src, c.FileCommand)
		}
	}
	e := scan("sed -n -i.bak -E -e 's/a/b/' -e p 'my file'").Commands[0].FileEdit
	if e == nil || e.Script != "s/a/b/\np" || !e.Quiet || !e.Extended || e.Suffix != ".bak" || texts(e.Files) != "my file" {
		t.Fatalf("edit %+v", e)
	}
}

func TestAssigns(t *testing.T) {
	for name, want := range map[string]bool{"LANG": true, "LC_ALL": true, "TZ": true, "NO_COLOR": true, "NODE_ENV": true, "CI": true, "GOOS": true, "PATH": false, "LD_PRELOAD": false, "GIT_DIR": false, "PAGER": false, "EDITOR": false, "NODE_OPTIONS": false,
		"PYTHONPATH": false, "AWS_PROFILE": false, "X": false, "IFS": false, "BASH_ENV": false, "PS4": false, "http_proxy": false, "GOFLAGS": false, "TERMINFO": false, "LOCPATH": false} {
		if a := scan(name + "=1 ls").Commands[0].Assigns[0]; a.Harmless != want {
			t.Errorf("%s: harmless %v", name, a.Harmless)
		}
	}
}

func TestGitCall(t *testing.T) {
	for _, c := range []struct {
		src, sub, dirs string
		known          bool
	}{
		{"git status", "status", "/home/u/ws", true}, {"cd sub && git log", "log", "/home/u/ws/sub", true}, {"git -C sub -C x diff", "diff", "/home/u/ws/sub/x", true}, {"git -C \"$D\" log", "log", "", false},
		{"git --git-dir=x log", "log", "/home/u/ws", false}, {"cd $x; git log", "log", "", false}, {"timeout 5 git log", "log", "/home/u/ws", true},
	} {
		cmds := scan(c.src).Commands
		g := cmds[len(cmds)-1].Git
		if g == nil || g.Subcommand != c.sub || strings.Join(g.Dirs, " ") != c.dirs || g.DirKnown != c.known {
			t.Errorf("%q: %+v", c.src, g)
		}
	}
}
