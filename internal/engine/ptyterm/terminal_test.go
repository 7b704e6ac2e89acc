//go:build unix

package ptyterm

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sevengate/sevengate/internal/engine/shellrun"
)

func runner(t *testing.T) *shellrun.Runner {
	t.Helper()
	r, err := shellrun.New(shellrun.Options{OutputDir: t.TempDir(), Home: t.TempDir(), BaseEnv: []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "HOME=/nonexistent"}})
	if err != nil {
		t.Skip("no shell:", err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func start(t *testing.T, r *shellrun.Runner, command string) *Terminal {
	t.Helper()
	x, err := Start(context.Background(), r, Options{Command: command, Dir: t.TempDir(), Cols: 60, Rows: 10, Label: "x"})
	if err != nil {
		t.Skip("no terminal:", err)
	}
	return x
}

func see(t *testing.T, x *Terminal, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if !x.Wait(ctx, text, 0) {
		t.Fatalf("%q does not come; there is:\n%s", text, x.Look(10).Text)
	}
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTerminal(t *testing.T) {
	x := start(t, runner(t), "stty size; tty -s && echo 'a tty'; read -p 'name? ' n; echo \"hello $n\"; trap 'echo caught' INT; sleep 30 & wait; stty size; exit 3")
	see(t, x, "10 60\na tty\nname?")
	do(t, x.Type("wörld\n"))
	see(t, x, "\nhello wörld")
	do(t, x.Resize(70, 12))
	do(t, x.Press([]string{"ctrl-c"}))
	see(t, x, "caught\n12 70")
	if x.Wait(context.Background(), "never there", 0) {
		t.Error("found what is not there")
	}
	p := x.Look(5)
	res, _ := x.Process().Result()
	if !p.Ended || res.ExitCode != 3 || p.Cols != 70 || x.Process().Label() != "x" {
		t.Errorf("%+v %+v", p, res)
	}
	if x.Type("x") == nil || x.Press([]string{"nope"}) == nil {
		t.Error("a terminal that has ended takes text, or a key that is none")
	}
	do(t, x.Close(context.Background()))
	data, err := os.ReadFile(x.Process().OutputFile())
	if err != nil || !strings.Contains(string(data), "hello wörld") {
		t.Errorf("the last picture is not kept: %q %v", data, err)
	}
}

func TestTerminalQuiet(t *testing.T) {
	x := start(t, runner(t), "echo one; cat")
	see(t, x, "one")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if !x.Wait(ctx, "", 50*time.Millisecond) {
		t.Error("never quiet")
	}
	gone, stop := context.WithCancel(context.Background())
	stop()
	if x.Wait(gone, "two", 0) {
		t.Error("found what is not there")
	}
}

func TestFullScreenPrograms(t *testing.T) {
	r := runner(t)
	for _, c := range []struct {
		program, command string
		steps            func(x *Terminal)
	}{
		{"vim", "vim -u NONE -i NONE -n new.txt", func(x *Terminal) {
			see(t, x, "new.txt")
			do(t, x.Type("ifirst line"))
			do(t, x.Press([]string{"enter", "escape"}))
			do(t, x.Type("isecond"))
			do(t, x.Press([]string{"escape"}))
			do(t, x.Type(":wq\n"))
		}},
		{"less", "seq 1 100 > new.txt; LESS= less new.txt; seq 1 2 > new.txt", func(x *Terminal) {
			see(t, x, "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
			do(t, x.Press([]string{"pagedown"}))
			see(t, x, "10\n11\n")
			if !x.Look(0).Alternate {
				t.Error("less does not have the screen for itself")
			}
			do(t, x.Type("q"))
		}},
	} {
		t.Run(c.program, func(t *testing.T) {
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skip("no", c.program)
			}
			dir := t.TempDir()
			x, err := Start(context.Background(), r, Options{Command: c.command, Dir: dir, Cols: 60, Rows: 10})
			if err != nil {
				t.Skip("no terminal:", err)
			}
			c.steps(x)
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			if _, err := x.Process().Wait(ctx); err != nil {
				t.Fatalf("it does not end:\n%s", x.Look(0).Text)
			}
			data, err := os.ReadFile(filepath.Join(dir, "new.txt"))
			if err != nil || strings.Count(string(data), "\n") != 2 {
				t.Errorf("%q %v", data, err)
			}
		})
	}
}

func TestEverythingEndsWithTheTerminal(t *testing.T) {
	r := runner(t)
	dir := t.TempDir()
	// An interactive shell puts its jobs into groups of their own.
	x, err := Start(context.Background(), r, Options{Command: "PS1='ready> ' exec bash --norc -i", Dir: dir})
	if err != nil {
		t.Skip("no terminal:", err)
	}
	see(t, x, "ready>")
	do(t, x.Type("trap '' HUP TERM; (trap '' HUP TERM; echo up > up; while :; do date +%N > beat; sleep 0.05; done) &\n"))
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "beat")); err == nil {
			break
		}
	}
	do(t, x.Close(context.Background()))
	before, err := os.ReadFile(filepath.Join(dir, "beat"))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	if after, _ := os.ReadFile(filepath.Join(dir, "beat")); string(after) != string(before) {
		t.Error("a job lived on")
	}
}

func TestFlood(t *testing.T) {
	x := start(t, runner(t), "yes | head -c 4000000; echo; echo done")
	see(t, x, "done")
	if n := len(x.Look(1 << 30).Scrollback); n > MaxScrollback {
		t.Error(n)
	}
}

func TestKeys(t *testing.T) {
	for name, want := range map[string]string{"enter": "\r", "Return": "\r", "ctrl-c": "\x03", "Ctrl+C": "\x03", "^c": "\x03", "C-c": "\x03", "up": "\x1b[A", "esc": "\x1b", "alt-x": "\x1bx", "M-x": "\x1bx",
		"ctrl-[": "\x1b", "ctrl-j": "\r", "shift-tab": "\x1b[Z", "f12": "\x1b[24~", "ctrl-\\": "\x1c"} {
		if got, err := Key(name, false); err != nil || got != want {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	if got, err := Key("up", true); err != nil || got != "\x1bOA" {
		t.Errorf("%q %v", got, err)
	}
	for _, name := range []string{"", "x", "rm", "ctrl-", "ctrl-1", "ctrl-ab", "alt-", "alt-é", "^", "\n"} {
		if got, err := Key(name, false); err == nil {
			t.Errorf("%q: %q", name, got)
		}
	}
}
