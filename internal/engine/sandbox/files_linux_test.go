//go:build amd64 || arm64

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// world is a directory with a project and what lies around it.
type world struct{ top, project, outside, secret string }

func newWorld(t testing.TB) (world, Policy) {
	top := realTemp(t)
	w := world{top, top + "/project", top + "/outside", top + "/home/.ssh"}
	write(t, w.project+"/a.txt", "a\n")
	write(t, w.project+"/sub/b.txt", "b\n")
	write(t, w.project+"/.git/config", "kept\n")
	write(t, w.project+"/.git/hooks/sample", "kept\n")
	write(t, w.project+"/.git/index", "index\n")
	write(t, w.project+"/.claude/settings.json", "kept\n")
	write(t, w.project+"/keys/private", "s3cret\n")
	write(t, w.project+"/.env", "s3cret\n")
	write(t, w.outside+"/file", "kept\n")
	write(t, w.secret+"/id", "s3cret\n")
	write(t, top+"/home/.netrc", "s3cret\n")
	write(t, top+"/home/visible", "seen\n")
	write(t, top+"/home/deep/er/shown", "seen\n")
	write(t, top+"/home/deep/er/not", "s3cret\n")
	if err := os.Symlink(w.outside, w.project+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(w.secret, w.project+"/ssh"); err != nil {
		t.Fatal(err)
	}
	return w, Policy{
		Write:     []string{w.project},
		WriteDeny: []string{w.project + "/.git/config", w.project + "/.git/hooks", w.project + "/.claude", w.project + "/missing/.claude"},
		ReadDeny:  []string{w.secret, top + "/home/.netrc", w.project + "/keys", w.project + "/.env", top + "/home/deep"},
		AllowRead: []string{top + "/home/deep/er/shown"},
	}
}

// TestFileEscapes tries to change or read what is not given, in every way that shells have.
func TestFileEscapes(t *testing.T) {
	eachEngine(t, fileEscapes)
}

func fileEscapes(t *testing.T, bubblewrap string) {
	w, policy := newWorld(t)
	policy.Bubblewrap = bubblewrap
	s := prepared(t, policy)
	unchanged := map[string]string{
		w.outside + "/file": "kept\n", w.project + "/.git/config": "kept\n", w.project + "/.git/hooks/sample": "kept\n",
		w.project + "/.claude/settings.json": "kept\n", w.project + "/keys/private": "s3cret\n", w.project + "/.env": "s3cret\n",
		w.secret + "/id": "s3cret\n",
	}
	scripts := map[string]string{
		"outside":             `echo x > ../outside/file`,
		"outside new":         `echo x > ../outside/new`,
		"outside absolute":    `echo x > ` + w.outside + `/new`,
		"home":                `echo x > ../home/visible`,
		"truncate":            `truncate -s 0 ../outside/file; : > ../outside/file`,
		"remove":              `rm -rf ../outside/file ../outside`,
		"chmod":               `chmod 777 ../outside/file`,
		"touch":               `touch -d 2001-01-01 ../outside/file`,
		"through a link":      `echo x > link/file; echo x > link/new`,
		"through a new link":  `ln -s ../outside l2; echo x > l2/file; echo x > l2/new; rm -f l2`,
		"hard link out":       `ln ../outside/file hard && echo x > hard; rm -f hard`,
		"hard link in":        `ln a.txt ../outside/new`,
		"rename in":           `mv ../outside/file stolen`,
		"rename out":          `mv a.txt ../outside/new; [ -e a.txt ] || exit 9`,
		"root by proc":        `echo x > /proc/self/root` + w.outside + `/file; echo x > /proc/self/root` + w.outside + `/new`,
		"cwd by proc":         `echo x > /proc/self/cwd/../outside/new; echo x > /proc/1/cwd/../outside/new; echo x > /proc/1/root` + w.outside + `/new`,
		"descriptor by proc":  `exec 7<../outside; echo x > /proc/self/fd/7/new; exec 8<../outside/file; echo x > /proc/self/fd/8`,
		"dot dot":             `cd sub; cd ..; cd ..; echo x > outside/new`,
		"shared memory":       `echo x > /dev/shm/sandbox-escape; echo x > /dev/new; [ ! -e /dev/new ] || exit 9`,
		"device nodes":        `mknod n c 1 5 && head -c 1 n && exit 9; mknod b b 7 0 && head -c 1 b && exit 9; rm -f n b`,
		"copied program":      `cp /bin/sh ./sh2 && ./sh2 -c "echo x > ../outside/new"; rm -f sh2`,
		"background":          `(setsid nohup sh -c "echo x > ../outside/new" >/dev/null 2>&1 &); sleep 0.1`,
		"set-user-ID":         `cp /bin/sh ./s; chmod 4755 s; ./s -pc "echo x > ../outside/new"; rm -f s`,
		"archive over":        `mkdir -p t/.git && echo x > t/.git/config && tar cf t.tar -C t .git && tar xf t.tar --overwrite --unlink-first; rm -rf t t.tar`,
		"git hook":            `git -C . config core.hooksPath x; git config --file .git/config a.b c; cp /bin/true .git/hooks/pre-commit`,
		"tmp":                 `echo x > /tmp/sandbox-escape; echo x > /var/tmp/sandbox-escape; [ ! -e /tmp/sandbox-escape ]`,
		"device":              `echo x > /dev/kmsg; dd if=/dev/zero of=/dev/vda count=0`,
		"protected":           `echo x > .git/config; echo x >> .claude/settings.json; echo x > .git/hooks/sample; echo x > .git/hooks/pre-commit`,
		"protected removed":   `rm -rf .git/config .git/hooks .claude; rm -rf .git`,
		"renamed parent":      `mv .git .g3; mkdir .git; echo x > .git/config; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; mv .g3 .git`,
		"exchanged parent":    `mkdir x.git; mv --exchange x.git .git || python3 -c 'import ctypes,os; e=ctypes.CDLL(None).renameat2(-100,b"x.git",-100,b".git",2); os._exit(e&1)'; rm -rf x.git`,
		"protected renamed":   `mv .git/config .git/c2; mv .git .g2; mv .claude .c2; mv .git/hooks h2; mkdir -p .git; echo x > .git/config`,
		"protected replaced":  `echo x > new; mv -f new .git/config; cp a.txt .git/config; ln -sf ../a.txt .git/config; rm -f new`,
		"protected mode":      `chmod 777 .git/config .claude .git/hooks`,
		"project renamed":     `cd ..; mv project p2; mkdir project`,
		"protected by link":   `ln .git/config c3 && echo x > c3; ln -s .git/config c4; echo x > c4; rm -f c3 c4`,
		"protected by proc":   `echo x > /proc/self/cwd/.git/config; echo x > /proc/self/root` + w.project + `/.git/config`,
		"hidden":              `cat ` + w.secret + `/id ../home/.netrc keys/private .env; ls ` + w.secret,
		"hidden other names":  `cat ssh/id ./keys/../keys//private ../project/.env /proc/self/root` + w.secret + `/id /proc/self/cwd/.env /proc/1/root` + w.secret + `/id`,
		"hidden descriptor":   `exec 7<../home; cat /proc/self/fd/7/.ssh/id; exec 8<keys; cat /proc/self/fd/8/private`,
		"hidden renamed":      `mv keys k2; cat k2/private; mv .env e2; cat e2; cp -r keys k3; cat k3/private; rm -rf k3`,
		"hidden by dir fd":    `exec 9< .; cat /proc/self/fd/9/.env; cd /proc/self/fd/9/keys && cat private`,
		"hidden directory":    `cd keys && cat private; pushd ` + w.secret + ` && cat id; ls -R keys ` + w.secret,
		"hidden by mount":     `mount --bind . /mnt; unshare -Ur cat .env; unshare -Urm sh -c "umount .env; cat .env"; nsenter -t 1 -m cat .env`,
		"hidden hard link":    `ln .env e3; cat e3; ln keys/private k4; cat k4`,
		"hidden written":      `echo x > keys/new; echo x > .env; rm -rf keys .env; rm -rf keys/*`,
		"hidden around shown": `cat ../home/deep/er/not; ls ../home/deep/er | grep not && echo s3cret`,
		"archive":             `tar cf - .. 2>/dev/null | grep -a -o s3cret; grep -r s3cret ..`,
		"find":                `find / -xdev -name id -path '*.ssh/id' -exec cat {} + 2>/dev/null | grep s3cret`,
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			out, code := sh(t, s, w.project, script)
			if strings.Contains(out, "s3cret\n") || code == 9 {
				t.Errorf("got through: code %d\n%s", code, out)
			}
			for path, want := range unchanged {
				if got := read(t, path); got != want {
					t.Errorf("%s is now %q\n%s", path, got, out)
				}
			}
			for _, path := range []string{w.outside + "/new", "/tmp/sandbox-escape", "/var/tmp/sandbox-escape", "/dev/shm/sandbox-escape", "/dev/new", w.project + "/.git/hooks/pre-commit"} {
				if _, err := os.Lstat(path); err == nil {
					t.Errorf("%s exists\n%s", path, out)
				}
			}
			if info, err := os.Stat(w.outside + "/file"); err != nil || info.Mode().Perm() != 0o644 || info.ModTime().Year() == 2001 {
				t.Errorf("outside/file: %v %v", info, err)
			}
		})
	}
}

// TestFilesGiven shows that what is given can be used.
func TestFilesGiven(t *testing.T) {
	eachEngine(t, filesGiven)
}

func filesGiven(t *testing.T, bubblewrap string) {
	w, policy := newWorld(t)
	policy.Bubblewrap = bubblewrap
	tmp := filepath.Join(w.top, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	policy.TmpDir = tmp
	policy.Env, policy.Unset = []string{"GIVEN=1"}, []string{"DROPPED"}
	t.Setenv("DROPPED", "1")
	s := prepared(t, policy)
	for name, script := range map[string]string{
		"write":         `echo 2 > a.txt && echo 3 > new && mkdir d && mv new d/n && rm -r d && mv sub/b.txt . && mv b.txt sub/`,
		"git dir":       `echo 2 > .git/index.lock && mv .git/index.lock .git/index && mkdir -p .git/objects/aa`,
		"read":          `cat ../home/visible .git/config .claude/settings.json ../home/deep/er/shown`,
		"devices":       `echo x > /dev/null && head -c 4 /dev/urandom | wc -c && head -c 1 /dev/zero >/dev/null`,
		"shared memory": `echo x > /dev/shm/x && cat /dev/shm/x`,
		"tmp":           `[ "$TMPDIR" = ` + tmp + ` ] && f=$(mktemp) && echo x > $f`,
		"substitution":  `diff <(echo a) <(echo a)`,
		"variables":     `[ "$GIVEN" = 1 ] && [ -z "$DROPPED" ]`,
		"directory":     `[ "$(pwd -P)" = ` + w.project + ` ]`,
		"link changed":  `ln -s a.txt l && ln -sfn sub l && rm l`,
		"bytes":         `printf 'a\0b' | wc -c | grep -q 3`,
	} {
		t.Run(name, func(t *testing.T) {
			if out, code := sh(t, s, w.project, "set -e; "+script); code != 0 {
				t.Errorf("code %d\n%s", code, out)
			}
		})
	}
	if out, code := sh(t, s, w.project, `mkdir -p missing/.claude`); code != 0 {
		t.Fatal(out)
	}
	if got := s.Appeared(); len(got) != 1 || got[0] != w.project+"/missing/.claude" {
		t.Errorf("appeared: %q", got)
	}
	if got := s.Appeared(); len(got) != 0 {
		t.Errorf("appeared again: %q", got)
	}
	if out, _ := sh(t, s, w.project, `echo x > missing/.claude/f`); !strings.Contains(out, "Read-only") {
		t.Errorf("what has appeared is not protected: %s", out)
	}
	// A hidden working directory is an error, not another directory.
	if err := os.Mkdir(w.secret+"/below", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{w.secret, w.secret + "/below"} {
		if out, code := sh(t, s, dir, `pwd; echo *`); code == 0 && (strings.Contains(out, "id") || !strings.HasPrefix(out, dir+"\n")) {
			t.Error(out)
		}
	}
}

// TestGrantedPathReplaced: a granted path that a command turns into a link to elsewhere grants nothing.
func TestGrantedPathReplaced(t *testing.T) {
	eachEngine(t, grantedPathReplaced)
}

func grantedPathReplaced(t *testing.T, bubblewrap string) {
	w, _ := newWorld(t)
	s := prepared(t, Policy{Write: []string{w.project, w.project + "/sub"}, Bubblewrap: bubblewrap})
	if err := os.RemoveAll(w.project + "/sub"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(w.outside, w.project+"/sub"); err != nil {
		t.Fatal(err)
	}
	out, _ := sh(t, s, w.project, `echo x > ../outside/file; echo x > sub/file`)
	if got := read(t, w.outside+"/file"); got != "kept\n" {
		t.Errorf("%q\n%s", got, out)
	}
}

// TestNewRepository: hooks of a repository that a command makes are told, and cannot be written from then on.
func TestNewRepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed here")
	}
	eachEngine(t, func(t *testing.T, bubblewrap string) {
		dir := realTemp(t)
		s := prepared(t, Policy{Write: []string{dir}, WriteDeny: []string{dir + "/.git/hooks", dir + "/.git/config"}, Bubblewrap: bubblewrap})
		if out, code := sh(t, s, dir, `git init -q . && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit`); code != 0 {
			t.Fatal(out)
		}
		if got := s.Appeared(); !slices.Equal(got, []string{dir + "/.git/config", dir + "/.git/hooks"}) {
			t.Errorf("appeared: %q", got)
		}
		if out, code := sh(t, s, dir, `echo x > .git/hooks/pre-push`); code == 0 {
			t.Errorf("written: %s", out)
		}
	})
}

// TestHardLinkMadeBefore: another name of a file is another path, as the package's documentation says. What it is not
// is a way to write to what is outside by a name inside.
func TestHardLinkMadeBefore(t *testing.T) {
	eachEngine(t, func(t *testing.T, bubblewrap string) {
		w, policy := newWorld(t)
		if err := os.Link(w.project+"/.env", w.outside+"/env"); err != nil {
			t.Skip("no hard links here: ", err)
		}
		policy.Bubblewrap = bubblewrap
		s := prepared(t, policy)
		if out, _ := sh(t, s, w.project, `cat .env; echo x > ../outside/env; cat ../outside/env`); strings.Count(out, "s3cret\n") != 1 || read(t, w.project+"/.env") != "s3cret\n" {
			t.Errorf("%q", out)
		}
	})
}

// TestProgramsKept: a command cannot put something else in the place of what builds the walls.
func TestProgramsKept(t *testing.T) {
	eachEngine(t, func(t *testing.T, bubblewrap string) {
		dir := realTemp(t)
		if bubblewrap != "" { // one that can be given away
			b, err := os.ReadFile(bubblewrap)
			if err != nil {
				t.Fatal(err)
			}
			bubblewrap = dir + "/bin/bwrap"
			write(t, bubblewrap, string(b))
			if err := os.Chmod(bubblewrap, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		exe := exePath(t)
		s := prepared(t, Policy{Write: []string{dir, filepath.Dir(exe)}, Bubblewrap: bubblewrap})
		for _, path := range []string{exe, bubblewrap} {
			if path == "" {
				continue
			}
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			out, _ := sh(t, s, dir, `f=`+path+`; d=${f%/*}; echo x >> $f; rm -f $f; cp /bin/true $f; mv -f /bin/true $f; echo x > n; mv -f n $f; mv $d $d.2; ln -sf /bin/true $f`)
			after, err := os.Stat(path)
			if err != nil || !os.SameFile(before, after) || after.Size() != before.Size() {
				t.Errorf("%s: %v\n%s", path, err, out)
			}
		}
	})
}
