//go:build unix

package shellrun

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestResult(t *testing.T) {
	for _, sh := range shells(t) {
		t.Run(sh.Kind, func(t *testing.T) {
			r := newRunner(t, func(o *Options) { o.Shell = sh })
			for _, c := range []struct {
				name, command string
				code          int
				signal        string
				out           string
			}{
				{"plain", "echo hi", 0, "", "hi\n"},
				{"streams interleaved", "echo a; echo b >&2; echo c", 0, "", "a\nb\nc\n"},
				{"exit", "exit 7", 7, "", ""},
				{"false", "false", 1, "", ""},
				{"not found", "no-such-program-here 2>/dev/null", 127, "", ""},
				{"errexit", "set -e; false; echo never", 1, "", ""},
				{"exec", "exec sh -c 'echo x; exit 4'", 4, "", "x\n"},
				{"signal", "kill -KILL $$", 137, "SIGKILL", ""},
				{"trap of its own", "trap 'echo bye' EXIT; exit 3", 3, "", "bye\n"},
				{"subshell exit", "(exit 5); echo $?", 0, "", "5\n"},
				{"stdin is empty", "cat; read x; echo \"<$x>\"", 0, "", "<>\n"},
				{"no terminal", "(: </dev/tty) 2>/dev/null || echo none", 0, "", "none\n"},
				{"heredoc", "cat <<'X'\n$a `b` \\c\nX", 0, "", "$a `b` \\c\n"},
				{"comment first and last", "# one\necho two # three", 0, "", "two\n"},
				{"no arguments", "echo $# $*", 0, "", "0\n"},
				{"truncating stderr", "echo one; echo two >/dev/stderr; echo three", 0, "", "one\ntwo\nthree\n"},
				{"tee to stderr", "echo one; echo two | tee /dev/stderr; echo three", 0, "", "one\ntwo\ntwo\nthree\n"},
				{"pkill pattern is not in argv", "pkill -f unlikely-pattern-4711; echo alive", 0, "", "alive\n"},
			} {
				t.Run(c.name, func(t *testing.T) {
					res, out := run(t, r, c.command, nil)
					if res.ExitCode != c.code || res.Signal != c.signal || out != c.out || res.Killed != "" || res.Err != nil || res.NotRun {
						t.Errorf("got code %d signal %q killed %q notrun %v err %v output %q", res.ExitCode, res.Signal, res.Killed, res.NotRun, res.Err, out)
					}
					if res.OutputSize != int64(len(c.out)) {
						t.Errorf("size %d, want %d", res.OutputSize, len(c.out))
					}
				})
			}
			t.Run("syntax error", func(t *testing.T) {
				res, out := run(t, r, "if then", nil)
				if res.ExitCode == 0 || out == "" || res.NotRun {
					t.Errorf("code %d, notrun %v, output %q", res.ExitCode, res.NotRun, out)
				}
			})
			t.Run("line numbers", func(t *testing.T) {
				_, out := run(t, r, "\n\nno-such-program-here", nil)
				if !strings.Contains(out, "3") {
					t.Errorf("message without line 3: %q", out)
				}
			})
			t.Run("long command", func(t *testing.T) {
				res, out := run(t, r, "x='"+strings.Repeat("y", 3<<20)+"'; echo ${#x}", nil)
				if out != "3145728\n" {
					t.Errorf("code %d, output %.100q", res.ExitCode, out)
				}
			})
			t.Run("pipe status", func(t *testing.T) {
				if res, _ := run(t, r, "set -o pipefail; false | cat", nil); res.ExitCode != 1 {
					t.Errorf("code %d", res.ExitCode)
				}
			})
		})
	}
}

func TestDir(t *testing.T) {
	for _, sh := range shells(t) {
		t.Run(sh.Kind, func(t *testing.T) {
			r := newRunner(t, func(o *Options) { o.Shell = sh })
			odd := "a'b \"c\n$d"
			for _, c := range []struct {
				name, command, dir string // dir "" : not known
			}{
				{"unchanged", "true", "."},
				{"cd", "cd sub", "sub"},
				{"cd then failure", "cd sub && false", "sub"},
				{"cd then exit", "cd sub; exit 3", "sub"},
				{"cd under errexit", "set -e; cd sub; false; cd ..", "sub"},
				{"nounset", "set -u; cd sub; echo $nope; cd ..", "sub"},
				{"own trap", "trap 'true' EXIT; cd sub", "sub"},
				{"subshell", "(cd sub)", "."},
				{"pipeline", "cd sub | cat", "."},
				{"physical", "cd link", "sub"},
				{"odd name", "cd " + quote(odd), odd},
				{"functions do not fool", "pwd() { echo /etc; }; printf() { echo no; }; cd sub", "sub"},
				{"exec", "cd sub; exec true", ""},
				{"kill", "cd sub; kill -KILL $$", ""},
				{"pushd", "pushd sub >/dev/null", "sub"},
				{"output redirected for good", "exec >/dev/null 2>&1; cd sub", "sub"},
				{"directory removed", "cd sub && rmdir ../sub", ""},
			} {
				t.Run(c.name, func(t *testing.T) {
					dir := realTempDir(t)
					for _, d := range []string{"sub", odd} {
						if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
							t.Fatal(err)
						}
					}
					if err := os.Symlink("sub", filepath.Join(dir, "link")); err != nil {
						t.Fatal(err)
					}
					res, out := run(t, r, c.command, func(s *Spec) { s.Dir = dir })
					want, known := filepath.Join(dir, c.dir), c.dir != ""
					if c.name == "directory removed" && res.DirKnown {
						t.Skip("this shell still names the removed directory")
					}
					if res.Dir != want || res.DirKnown != known {
						t.Errorf("got %q (known %v), want %q (%v); output %q", res.Dir, res.DirKnown, want, known, out)
					}
				})
			}
		})
	}
}

func TestRefusedSpecs(t *testing.T) {
	r := newRunner(t, nil)
	dir := t.TempDir()
	for name, spec := range map[string]Spec{
		"empty":            {Command: " \n", Dir: dir},
		"nul":              {Command: "echo a\x00b", Dir: dir},
		"relative dir":     {Command: "true", Dir: "x"},
		"missing dir":      {Command: "true", Dir: filepath.Join(dir, "nope")},
		"id with slash":    {Command: "true", Dir: dir, ID: "../x"},
		"missing sandbox":  {Command: "true", Dir: dir, Wrap: []string{"/no/such/program"}},
		"too long":         {Command: strings.Repeat("x", MaxCommandBytes+1), Dir: dir},
		"existing output":  {Command: "true", Dir: dir, OutputFile: os.Args[0]},
		"output elsewhere": {Command: "true", Dir: dir, OutputFile: filepath.Join(dir, "no", "such")},
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := r.Start(testContext(t), spec); err == nil {
				t.Errorf("started as %d", p.PID())
			}
		})
	}
	if left, _ := os.ReadDir(r.opts.OutputDir); len(left) != 0 {
		t.Errorf("refused commands left %v", left)
	}
	r.Close()
	if _, err := r.Start(testContext(t), Spec{Command: "true", Dir: dir}); err != ErrClosed {
		t.Errorf("after Close: %v", err)
	}
}

func TestPrivateFiles(t *testing.T) {
	r := newRunner(t, nil)
	res, _ := run(t, r, "umask 0; echo x", nil)
	for path, want := range map[string]os.FileMode{res.OutputFile: 0o600, filepath.Dir(res.OutputFile): 0o700} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, want)
		}
	}
}

func TestTimeoutInPipeline(t *testing.T) {
	r := newRunner(t, nil)
	for _, command := range []string{"sleep 100 | cat | cat", "yes >/dev/null | sleep 100", "sleep 100 | (trap '' PIPE; sleep 100) | cat"} {
		res, out := run(t, r, "echo begun; "+command+"; echo never", func(s *Spec) { s.Timeout = 200 * time.Millisecond })
		if !res.TimedOut() || res.ExitCode == 0 || out != "begun\n" || res.OutputOpen || res.LeftBehind {
			t.Errorf("%s: %+v, output %q", command, res, out)
		}
	}
}

func TestOnlyOurTimerIsATimeout(t *testing.T) {
	r := newRunner(t, nil)
	for _, command := range []string{"exit 143", "exit 124", "kill -TERM $$; sleep 1"} {
		if res, _ := run(t, r, command, func(s *Spec) { s.Timeout = hangGuard }); res.TimedOut() || res.Killed != "" {
			t.Errorf("%s: killed %q", command, res.Killed)
		}
	}
}

func TestCancel(t *testing.T) {
	r := newRunner(t, nil)
	ctx, cancel := context.WithCancel(testContext(t))
	p, err := r.Start(ctx, Spec{Command: "sleep 100", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	res, err := p.Wait(testContext(t))
	if err != nil || res.Killed != KilledCancelled {
		t.Errorf("%+v %v", res, err)
	}
	if _, err := r.Start(ctx, Spec{Command: "true", Dir: t.TempDir()}); err == nil {
		t.Error("started with a context that had ended")
	}
}

func TestOutputLimit(t *testing.T) {
	r := newRunner(t, nil)
	res, out := run(t, r, "yes", func(s *Spec) { s.MaxOutput = 100_001 })
	if res.Killed != KilledOutputLimit || res.OutputSize != 100_001 || len(out) != 100_001 {
		t.Errorf("killed %q, size %d, file %d", res.Killed, res.OutputSize, len(out))
	}
}

func TestWrapAndExtraFiles(t *testing.T) {
	env, err := os.Readlink("/usr/bin/env")
	_ = env
	if _, err2 := os.Stat("/usr/bin/env"); err2 != nil {
		t.Skip("no /usr/bin/env", err)
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := newRunner(t, nil)
	dir := realTempDir(t)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	res, out := run(t, r, `echo "$WRAPPED"; echo extra >&3; cd sub`, func(s *Spec) {
		s.Wrap, s.ExtraFiles, s.Dir = []string{"/usr/bin/env", "WRAPPED=yes"}, []*os.File{f}, dir
	})
	extra, _ := os.ReadFile(f.Name())
	if out != "yes\n" || string(extra) != "extra\n" || res.Dir != filepath.Join(dir, "sub") {
		t.Errorf("output %q, extra %q, dir %q", out, extra, res.Dir)
	}
}

func TestProgress(t *testing.T) {
	r := newRunner(t, nil)
	var got []Progress
	res, _ := run(t, r, "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.1; done", func(s *Spec) {
		s.Progress = func(p Progress) { got = append(got, p) }
	})
	if len(got) == 0 || len(got) > int(res.Duration/ProgressInterval)+1 {
		t.Fatalf("%d reports in %v", len(got), res.Duration)
	}
	for i, p := range got {
		if p.Bytes != 7*p.Lines || !strings.HasPrefix(p.Tail, "line 1\n") {
			t.Errorf("report %d: %+v", i, p)
		}
		if i > 0 && p.Elapsed <= got[i-1].Elapsed {
			t.Errorf("report %d: time goes backwards", i)
		}
	}
}

func TestTheEnvironmentDoesNotChangeWhatTextMeans(t *testing.T) {
	dir := t.TempDir()
	trap := filepath.Join(dir, "trap.sh")
	if err := os.WriteFile(trap, []byte("echo trapped"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"here/sub", "elsewhere/sub"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r, err := New(Options{OutputDir: filepath.Join(dir, "out"), Home: dir, BaseEnv: []string{"PATH=" + os.Getenv("PATH"),
		"CDPATH=" + filepath.Join(dir, "elsewhere"), "BASH_ENV=" + trap, "ENV=" + trap, "SHELLOPTS=noexec"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	res, err := r.Run(context.Background(), Spec{Command: "cd sub; pwd; bash -c :", Dir: filepath.Join(dir, "here")})
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(res.OutputFile)
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "here/sub") || strings.Contains(string(out), "trapped") {
		t.Errorf("it printed %q (%v)", out, err)
	}
}
