//go:build unix

package shellrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// snapshotRunner has a home with the given start-up file.
func snapshotRunner(t *testing.T, sh Shell, rc string, change func(*Options)) *Runner {
	t.Helper()
	return newRunner(t, func(o *Options) {
		o.Shell, o.Snapshot = sh, true
		name := ".bashrc"
		if sh.Kind == "zsh" {
			name = ".zshrc"
		}
		if err := os.WriteFile(filepath.Join(o.Home, name), []byte(rc), 0o600); err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(o)
		}
	})
}

// settled waits until the snapshot is taken.
func settled(t *testing.T, r *Runner) {
	t.Helper()
	r.snap.get(testContext(t))
	select {
	case <-r.snap.ready:
	case <-testContext(t).Done():
		t.Fatal("the snapshot is not ready")
	}
}

func TestSnapshot(t *testing.T) {
	const rc = `
case $- in *i*) ;; *) return ;; esac
_f() { echo "from _f: $1"; }
a-b.c() { echo odd name; }
here() { cat <<'X'
a "quoted" $text
X
}
alias g=_f
alias two='echo one; echo'
export PATH="/opt/only in login:$PATH:/opt/only in login"
echo noise from the start-up file
set -o noclobber
`
	const commands = `g x
a-b.c
here
two 2
case $PATH in *":/opt/only in login") echo path;; esac
case $- in *e*|*u*|*x*) echo strict;; esac
set -o | grep noclobber | tr -d ' \t'
`
	for _, sh := range shells(t) {
		t.Run(sh.Kind, func(t *testing.T) {
			r := snapshotRunner(t, sh, rc, nil)
			settled(t, r)
			_, out := run(t, r, commands, nil)
			want := "from _f: x\nodd name\na \"quoted\" $text\none\n2\npath\nnoclobberon\n"
			if sh.Kind == "zsh" {
				want = strings.Replace(want, "noclobberon", "noclobberon", 1)
			}
			if out != want {
				text, _ := os.ReadFile(r.snap.file)
				t.Errorf("got %q\nwant %q\nsnapshot:\n%s", out, want, text)
			}
			if _, out := run(t, r, "g x", func(s *Spec) { s.NoSnapshot = true }); strings.Contains(out, "from _f") {
				t.Error("snapshot used although switched off")
			}
			left, _ := filepath.Glob(filepath.Join(r.opts.OutputDir, ".snapshot*"))
			if len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestSnapshotCache(t *testing.T) {
	sh := Shell{Path: bash(t), Kind: "bash"}
	cache := filepath.Join(t.TempDir(), "cache")
	r := snapshotRunner(t, sh, "f() { echo old; }; echo run >>\"$HOME/ran\"", func(o *Options) { o.CacheDir = cache })
	settled(t, r)
	again, err := New(r.opts)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, out := run(t, again, "f", nil); out != "old\n" {
		t.Errorf("the second runner's first command has no snapshot: %q", out)
	}
	if ran, _ := os.ReadFile(filepath.Join(r.opts.Home, "ran")); string(ran) != "run\n" {
		t.Errorf("start-up file ran: %q", ran)
	}
	if err := os.WriteFile(filepath.Join(r.opts.Home, ".bashrc"), []byte("f() { echo new one; }"), 0o600); err != nil {
		t.Fatal(err)
	}
	third, err := New(r.opts)
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	settled(t, third)
	if _, out := run(t, third, "f", nil); out != "new one\n" {
		t.Errorf("a changed start-up file was not noticed: %q", out)
	}
	if err := os.Chmod(third.snap.file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := loadSnapshot(third.snap.file); err == nil {
		t.Error("a snapshot that others can write was trusted")
	}
}

func TestBadStartupFilesDoNotFailCommands(t *testing.T) {
	for _, sh := range shells(t) {
		for name, rc := range map[string]string{
			"syntax error": "if then fi (((",
			"exit":         "exit 3",
			"exec":         "exec false",
			"reads":        "read x; cat",
			"kills":        "kill -9 $$",
		} {
			t.Run(sh.Kind+"/"+name, func(t *testing.T) {
				r := snapshotRunner(t, sh, rc, nil)
				settled(t, r)
				if res, out := run(t, r, "echo fine", nil); res.ExitCode != 0 || out != "fine\n" {
					t.Errorf("code %d output %q", res.ExitCode, out)
				}
			})
		}
	}
}

func TestSlowStartupFileDelaysLittle(t *testing.T) {
	r := snapshotRunner(t, Shell{Path: bash(t), Kind: "bash"}, "sleep 1000", nil)
	start := time.Now()
	if _, out := run(t, r, "echo fine", nil); out != "fine\n" {
		t.Errorf("output %q", out)
	}
	if d := time.Since(start); d > SnapshotTimeout/2 {
		t.Errorf("first command took %v", d)
	}
}

func TestEnvFile(t *testing.T) {
	for _, sh := range shells(t) {
		for _, c := range []struct{ name, text, out string }{
			{"exports", "export MADE=here", "<here>\n"},
			{"ends in a comment", "export MADE=here # end", "<here>\n"},
			{"no newline and noise", "echo noise; echo noise >&2; export MADE=here", "<here>\n"},
			{"fails", "export MADE=here; false", "<here>\n"},
			{"syntax error", "if then", "<>\n"},
			{"sets REPLY", "REPLY='echo wrong'; export MADE=x", "<x>\n"},
		} {
			t.Run(sh.Kind+"/"+c.name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "it's env")
				if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
				r := newRunner(t, func(o *Options) { o.Shell, o.EnvFile = sh, file })
				if res, out := run(t, r, `echo "<$MADE>"`, nil); out != c.out || res.NotRun {
					t.Errorf("got %q (not run: %v), want %q", out, res.NotRun, c.out)
				}
			})
		}
		t.Run(sh.Kind+"/missing", func(t *testing.T) {
			r := newRunner(t, func(o *Options) { o.Shell, o.EnvFile = sh, "/no/such/file" })
			if res, out := run(t, r, "echo x", nil); out != "x\n" || res.ExitCode != 0 {
				t.Errorf("%d %q", res.ExitCode, out)
			}
		})
		t.Run(sh.Kind+"/exits", func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "env")
			if err := os.WriteFile(file, []byte("exit 0"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := newRunner(t, func(o *Options) { o.Shell, o.EnvFile = sh, file })
			if res, out := run(t, r, "echo x", nil); !res.NotRun || out != "" {
				t.Errorf("a command that never ran is not reported: %+v", res)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	r := newRunner(t, func(o *Options) {
		o.SessionID = "s-1"
		o.BaseEnv = append(o.BaseEnv, "OTEL_EXPORTER_X=1", "MY_SECRET=1", "MY_OTHER=1", "PAGER=less", "KEPT=1", "KEPT=2")
		o.Scrub = []string{"MY_*"}
	})
	_, out := run(t, r, "env", func(s *Spec) { s.Env = []string{"GIT_EDITOR=mine"} })
	have := map[string]string{}
	for _, l := range lines(out) {
		n, v, _ := strings.Cut(l, "=")
		if _, dup := have[n]; dup {
			t.Errorf("twice: %s", n)
		}
		have[n] = v
	}
	for n, want := range map[string]string{
		"SEVENGATE": "1", "CLAUDECODE": "1", "SEVENGATE_SESSION_ID": "s-1", "CLAUDE_CODE_SESSION_ID": "s-1", "GIT_TERMINAL_PROMPT": "0",
		"PAGER": "cat", "GIT_PAGER": "cat", "GIT_EDITOR": "mine", "KEPT": "2",
	} {
		if have[n] != want {
			t.Errorf("%s=%q, want %q", n, have[n], want)
		}
	}
	for _, n := range []string{"OTEL_EXPORTER_X", "MY_SECRET", "MY_OTHER"} {
		if _, ok := have[n]; ok {
			t.Errorf("%s was inherited", n)
		}
	}
}

func TestGitDoesNotAsk(t *testing.T) {
	r := newRunner(t, nil)
	if lookIn(os.Getenv("PATH"), "git") == "" {
		t.Skip("no git on PATH")
	}
	res, out := run(t, r, "printf 'protocol=https\\nhost=localhost.invalid\\n\\n' | git credential fill", nil)
	if res.ExitCode == 0 || res.Killed != "" {
		t.Errorf("%+v %q", res, out)
	}
}

func TestFindShell(t *testing.T) {
	sh := bash(t)
	dir := t.TempDir()
	fake := filepath.Join(dir, "zsh")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		env  map[string]string
		want string // empty: refused
	}{
		{"first variable", map[string]string{EnvShell: fake, EnvShellCompat: sh}, fake},
		{"second variable", map[string]string{EnvShellCompat: fake, "SHELL": sh}, fake},
		{"user's", map[string]string{"SHELL": fake, "PATH": filepath.Dir(sh)}, fake},
		{"user's is something else", map[string]string{"SHELL": "/bin/sh", "PATH": filepath.Dir(sh)}, filepath.Join(filepath.Dir(sh), "bash")},
		{"path", map[string]string{"PATH": "relative:" + dir}, fake},
		{"nothing", map[string]string{"PATH": "relative"}, ""},
		{"wish for another kind", map[string]string{EnvShell: "/bin/sh", "SHELL": sh}, ""},
		{"relative wish", map[string]string{EnvShell: "bash"}, ""},
		{"missing wish", map[string]string{EnvShell: "/no/bash"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := FindShell(func(n string) string { return c.env[n] })
			if got.Path != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %v, %v; want %q", got, err, c.want)
			}
		})
	}
}
