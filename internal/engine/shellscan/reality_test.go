package shellscan

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// realityTime is how long the generated commands are run; the environment
// variable SEVENGATE_REALITY_SECONDS sets more.
const realityTime = 5 * time.Second

// evilNames are files whose names look like options or commands.
var evilNames = []string{"a.txt", "b c.txt", "-o", "-i", "--output=pwned", "--pre=evil.sh", "--compress-program=evil.sh", "-exec", "-delete", "-w", "$HOME", "x;touch pwned", "#c", "ünï", "{p,q}", "'q'", "new\nline", "e", "pwned2 -o"}

// notRun are programs that wait for something, need a daemon, or are slow to start.
var notRun = map[string]bool{"yes": true, "top": true, "docker": true, "podman": true, "kubectl": true, "npm": true, "pip": true, "pip3": true, "apt": true, "cargo": true, "rustc": true, "rustup": true, "go": true, "sleep": true, "wait": true, "vmstat": true, "systemctl": true, "journalctl": true, "aws": true}

type reality struct {
	*rand.Rand
	table map[string]*entry
	names []string
}

func (r *reality) pick(from []string) string { return from[r.IntN(len(from))] }

// word is an operand or value: a file, odd or not, a glob, a number or text.
func (r *reality) word() string {
	switch r.IntN(8) {
	case 0:
		return r.pick([]string{"*", "./*", "*.txt", "sub/*", "-*", "?", "[a-e]*"})
	case 1:
		return r.pick([]string{"1", "2", "3,4", "0", "-1", "+2"})
	case 2:
		return r.pick([]string{"$X", "\"$X\"", "$(ls)", "\"$(ls)\"", "{a.txt,--output=pwned}", "\"$HOME\""})
	case 3:
		return r.pick([]string{"p", "x", "w pwned", "'s/a/b/w pwned'", "'s/a/b/'", "p;p", "'1,2p'", "'{print $1}'", "'{print > \"pwned\"}'", ".", ".x", "HEAD", "name", "pwned", "./pwned", "sub/pwned"})
	case 4:
		return r.pick([]string{"sub", ".", "sub/f", "./a.txt"})
	}
	return r.quote(r.pick(evilNames))
}

func (r *reality) quote(w string) string {
	switch r.IntN(3) {
	case 0:
		return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "$", `\$`, "`", "\\`").Replace(w) + `"`
	case 1:
		if !strings.Contains(w, "\n") {
			var b strings.Builder
			for i := 0; i < len(w); i++ {
				if w[i] < 0x80 && !nameByte(w[i]) {
					b.WriteByte('\\')
				}
				b.WriteByte(w[i])
			}
			return b.String()
		}
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// option is a random option of a row, with a value where it takes one.
func (r *reality) option(spec []string) string {
	if len(spec) == 0 || r.IntN(8) == 0 {
		return r.pick([]string{"-o", "--output=pwned", "-i", "-w", "-O", "-s", "-f", "-C", "--", "-d", "-e", "-c", "-T", "-r", "-F", "-x"})
	}
	f := r.pick(spec)
	switch {
	case f == "-#":
		return "-5"
	case f == "+":
		return "+%s"
	case f == "-*":
		return r.pick([]string{"--stat", "-p", "-v", "--all"})
	case strings.HasSuffix(f, "::") || strings.HasSuffix(f, ":<"):
		return f[:len(f)-2] + " n " + r.word()
	case strings.HasSuffix(f, ":") || strings.HasSuffix(f, "<") || strings.HasSuffix(f, "/"):
		f = f[:len(f)-1]
		if strings.HasPrefix(f, "--") && r.IntN(2) == 0 {
			return f + "=" + r.word()
		}
		return f + r.pick([]string{" ", ""}) + r.word()
	case strings.HasSuffix(f, "?"):
		return f[:len(f)-1] + r.pick([]string{"", "=" + r.word(), r.word()})
	}
	return f
}

// find is a random call of find.
func (r *reality) find() string {
	var words []string
	for w := range findWords {
		words = append(words, w)
	}
	out := "find " + r.pick([]string{"", ".", "sub", "./*"})
	for range r.IntN(4) {
		w := words[r.IntN(len(words))]
		out += " " + r.quote(w)
		for range findWords[w] {
			out += " " + r.word()
		}
		if r.IntN(4) == 0 {
			out += r.pick([]string{" -exec cat {} \\;", " -exec rm {} +", " -delete", " -fprint pwned", " -exec sort -o pwned {} \\;", " -exec wc -l {} +", " -exec sed -n p {} \\;"})
		}
	}
	return out
}

// command is a random call of a row.
func (r *reality) command() string {
	if r.IntN(12) == 0 {
		return r.find()
	}
	name := r.pick(r.names)
	out := name
	spec := []string(nil)
	if e := r.table[name]; e != nil {
		spec = strings.Fields(e.flags)
	} else {
		spec = strings.Fields(sedFlags)
	}
	for range r.IntN(4) {
		out += " " + r.option(spec)
	}
	for range r.IntN(4) {
		out += " " + r.word()
	}
	if r.IntN(6) == 0 {
		out = r.pick([]string{"ls | xargs ", "cat a.txt | ", "timeout 2 ", "cd sub && ", "LC_ALL=C "}) + out
	}
	if r.IntN(8) == 0 {
		out += r.pick([]string{" | sort", " 2>/dev/null", " < a.txt", " > pwned", " | tee pwned", " && cat e"})
	}
	return out
}

// snapshot describes a tree: names, modes, sizes, contents.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := fmt.Sprint(info.Mode(), " ", info.Size())
		switch {
		case d.IsDir():
			what = info.Mode().String()
			if d.Name() == "cache" {
				return fs.SkipDir
			}
		case info.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			what += fmt.Sprintf(" %x", sha256.Sum256(b))
		}
		out[strings.TrimPrefix(p, root)] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Commands that are said to be read-only are run, and must leave everything as it was.
func TestReadOnlyCommandsWriteNothing(t *testing.T) {
	bash := needBash(t)
	root := t.TempDir()
	work := filepath.Join(root, "work")
	for _, d := range []string{"work/sub", "home", "tmp", "cache"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range append(evilNames, "sub/f", "sub/-o") {
		if err := os.WriteFile(filepath.Join(work, n), []byte("a b c\n1 2 3\n{\"x\": 1}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(work, "evil.sh"), []byte("#!/bin/sh\ntouch "+work+"/pwned\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH") + ":" + work, "HOME=" + root + "/home", "TMPDIR=" + root + "/tmp", "XDG_CACHE_HOME=" + root + "/cache", "XDG_CONFIG_HOME=" + root + "/cache", "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1", "TERM=xterm", "LC_ALL=C.UTF-8", "X=-o pwned"}
	if git, err := exec.LookPath("git"); err == nil {
		for _, args := range [][]string{{"init", "-q"}, {"config", "user.name", "a"}, {"config", "user.email", "a@b"}, {"add", "-A"}, {"commit", "-qm", "x"}} {
			cmd := exec.Command(git, args...)
			cmd.Dir, cmd.Env = work, env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v %s", args, err, out)
			}
		}
	}
	r := &reality{Rand: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)), table: map[string]*entry{}}
	for name, e := range index() {
		prog, _, _ := strings.Cut(name, " ")
		if e == nil || e.no != "" || notRun[prog] {
			continue
		}
		if _, err := exec.LookPath(prog); err != nil && prog != "test" && prog != "type" {
			continue
		}
		r.table[name] = e
		r.names = append(r.names, name)
	}
	for range 12 { // these read a language of their own: try them more often
		r.names = append(r.names, "sed", "awk", "sort", "uniq", "tar")
	}
	var prefix []string
	if unshare, err := exec.LookPath("unshare"); err == nil && exec.Command(unshare, "-rn", "true").Run() == nil {
		prefix = []string{unshare, "-rn"}
	}
	limit := realityTime
	if s := os.Getenv("SEVENGATE_REALITY_SECONDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("SEVENGATE_REALITY_SECONDS: %v", err)
		}
		limit = time.Duration(n) * time.Second
	}
	before := snapshot(t, root)
	ran, scanned := 0, 0
	for end := time.Now().Add(limit); time.Now().Before(end); {
		src := r.command()
		scanned++
		if ok, _ := Scan(src, Options{Cwd: work, Home: root + "/home"}).ReadOnly(); !ok {
			continue
		}
		ran++
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		args := append(prefix[:len(prefix):len(prefix)], bash, "-c", src)
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir, cmd.Env, cmd.WaitDelay = work, env, time.Second
		_ = cmd.Run()
		cancel()
		after := snapshot(t, root)
		for p, was := range before {
			if now := after[p]; now != was {
				t.Fatalf("%q is said to be read-only, but changed %s: %s, was %s", src, p, now, was)
			}
		}
		for p := range after {
			if _, was := before[p]; !was {
				t.Fatalf("%q is said to be read-only, but made %s", src, p)
			}
		}
	}
	t.Logf("%d commands made, %d run, %d programs", scanned, ran, len(r.names))
	if ran == 0 {
		t.Fatal("no command was run")
	}
}
