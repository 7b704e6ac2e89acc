package shell

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a session with a shell, a root and a directory outside of it.
type bench struct {
	t       *testing.T
	tools   map[string]tool.Tool
	runner  *shellrun.Runner
	root    string
	outside string
	out     string
	env     tool.Env
}

func newBench(t *testing.T, change ...func(*Deps)) *bench {
	t.Helper()
	real := func(dir string) string {
		p, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	b := &bench{t: t, tools: map[string]tool.Tool{}, root: real(t.TempDir()), outside: real(t.TempDir()), out: real(t.TempDir())}
	base := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.outside, "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1"}
	r, err := shellrun.New(shellrun.Options{OutputDir: b.out, Home: b.outside, BaseEnv: base})
	if err != nil {
		t.Skip("no shell to run commands with:", err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error("closing the runner:", err)
		}
	})
	b.runner = r
	d := Deps{Runner: func() (*shellrun.Runner, error) { return r, nil }, Home: b.outside}
	for _, f := range change {
		f(&d)
	}
	for _, x := range New(d) {
		b.tools[x.Name()] = x
	}
	b.env = tool.Env{ToolUseID: "t1", Files: &tool.FileState{}, Place: tool.Place{Cwd: b.root, Home: b.outside, Roots: []string{b.root}}}
	return b
}

func (b *bench) bind(name string, input any) *tool.Call {
	b.t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		b.t.Fatal(err)
	}
	c, err := b.tools[name].Bind(raw, b.env.Place)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

type object map[string]any

func command(line string) object { return object{"command": line} }

type answer struct {
	text    string
	blocks  []tool.Block
	outcome tool.Outcome
	err     error
}

// run calls a tool the way the runtime does.
func (b *bench) run(ctx context.Context, name string, input any) answer {
	b.t.Helper()
	c := b.bind(name, input)
	env := b.env
	if err := c.Validate(ctx, &env); err != nil {
		return answer{err: err, text: err.Error()}
	}
	o, err := c.Run(ctx, &env)
	if o.Modify != nil {
		now := tool.Context{Cwd: b.env.Cwd, Roots: b.env.Roots}
		o.Modify(&now)
		b.env.Cwd = now.Cwd
	}
	if err != nil {
		return answer{err: err, text: err.Error()}
	}
	blocks, err := c.Map(o)
	if err != nil {
		b.t.Fatal(err)
	}
	var text []string
	for _, x := range blocks {
		if x.Type == tool.BlockText {
			text = append(text, x.Text)
		}
	}
	return answer{text: strings.Join(text, "\n"), blocks: blocks, outcome: o}
}

func (b *bench) bash(line string) answer {
	b.t.Helper()
	return b.run(context.Background(), "Bash", command(line))
}

func (b *bench) write(name, content string) string {
	b.t.Helper()
	p := filepath.Join(b.root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (a answer) wants(t *testing.T, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(a.text, p) {
			t.Errorf("the answer lacks %q:\n%.1500s", p, a.text)
		}
	}
}

func TestSchema(t *testing.T) {
	for _, x := range New(Deps{}) {
		s, err := schema.Generate(x.InputType())
		if err != nil {
			t.Fatal(x.Name(), err)
		}
		if strings.Contains(string(s), "meaning") {
			t.Errorf("%s: the schema shows what is not an input: %s", x.Name(), s)
		}
	}
}

func TestForeground(t *testing.T) {
	b := newBench(t)
	b.write("f", "one\ntwo\n")
	for _, c := range []struct {
		line  string
		fails bool
		wants []string
	}{
		{"echo hi", false, []string{"hi"}},
		{"echo out; echo err >&2", false, []string{"out\nerr"}},
		{"grep three f", false, []string{"exit code 1: no matches found"}},
		{"cat f | grep three", false, []string{"no matches found"}},
		{"echo a > a; diff f a > /dev/null", false, []string{"the files differ"}},
		{"grep -q three f && echo yes", false, []string{"no matches found"}},
		{"test -e nothing && echo yes || false", true, []string{"Exit code 1"}},
		{"false && echo yes", true, []string{"Exit code 1"}},
		{"false", true, []string{"Exit code 1"}},
		{"echo gone; exit 7", true, []string{"Exit code 7", "gone"}},
		{"no-such-program", true, []string{"Exit code 127 (command not found)"}},
		{"kill -TERM $$; sleep 1", true, []string{"Exit code 143"}},
		{"cat", false, nil},
		{"printf 'a\\0b\\001\\002\\377\\376\\0\\0'", false, []string{"binary output"}},
		{"grep three f | cat; false", true, []string{"Exit code 1"}},
	} {
		a := b.bash(c.line)
		if (a.err != nil) != c.fails {
			t.Errorf("%s: error %v, want one: %v", c.line, a.err, c.fails)
		}
		if c.fails && strings.HasPrefix(a.text, "Exit code") != true {
			t.Errorf("%s: a failure must begin with the exit code: %q", c.line, a.text)
		}
		if strings.Contains(a.text, "timeout") {
			t.Errorf("%s: nothing timed out: %q", c.line, a.text)
		}
		a.wants(t, c.wants...)
	}
}

func TestNoFilesStayOfSmallOutput(t *testing.T) {
	b := newBench(t)
	b.bash("echo hi")
	b.bash("false")
	left, err := filepath.Glob(filepath.Join(b.out, "*.output"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestLargeOutput(t *testing.T) {
	b := newBench(t)
	a := b.bash("seq 1 200000")
	if n := len(a.text); n > MaxInlineChars {
		t.Errorf("%d characters reach the model", n)
	}
	a.wants(t, "1\n2\n3\n", "\n200000", "200000 lines", b.out)
	out := a.outcome.Data.(BashOutput)
	data, err := os.ReadFile(out.PersistedOutputPath)
	if err != nil || int64(len(data)) != out.PersistedOutputSize || !strings.HasSuffix(string(data), "\n200000\n") {
		t.Errorf("the file does not hold all: %v, %d of %d bytes", err, len(data), out.PersistedOutputSize)
	}
	a = b.bash("seq 1 200000; exit 3")
	if n := len(a.text); a.err == nil || n > MaxFailureChars+1000 {
		t.Errorf("%d characters of a failure reach the model, error %v", n, a.err)
	}
	a.wants(t, "Exit code 3", "\n200000", "All of the output", b.out)
}

func TestTimeoutKillsWhatMayNotGoOn(t *testing.T) {
	b := newBench(t)
	for _, in := range []object{
		{"command": "sleep 1 && echo x; while true; do :; done", "timeout": 300},
		{"command": "git status >/dev/null 2>&1; sh -c 'while true; do sleep 0.1; done'", "timeout": 300},
	} {
		a := b.run(context.Background(), "Bash", in)
		if a.err == nil {
			t.Fatalf("%v: no error, but %q", in, a.text)
		}
		a.wants(t, "Exit code", "did not complete within its 0.3s timeout and was stopped", "600000 ms")
	}
	off := newBench(t, func(d *Deps) { d.NoBackground = true })
	a := off.run(context.Background(), "Bash", object{"command": "echo begun; while true; do sleep 0.1; done", "timeout": 300})
	if a.err == nil {
		t.Fatalf("no error, but %q", a.text)
	}
	a.wants(t, "begun", "was stopped")
	if strings.Contains(a.text, "run_in_background") {
		t.Errorf("offers what is switched off: %s", a.text)
	}
}

func TestTimeoutMovesToBackground(t *testing.T) {
	b := newBench(t)
	a := b.run(context.Background(), "Bash", object{"command": "echo begun; while ! test -e stop; do sleep 0.05; done; echo ended", "timeout": 200})
	if a.err != nil {
		t.Fatal(a.err)
	}
	a.wants(t, "begun", "Command did not complete within its 0.2s timeout and was moved to the background")
	out := a.outcome.Data.(BashOutput)
	p, ok := b.runner.Task(out.BackgroundTaskID)
	if !ok {
		t.Fatalf("there is no task %q", out.BackgroundTaskID)
	}
	b.write("stop", "")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := p.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out.RawOutputPath)
	if err != nil || string(data) != "begun\nended\n" {
		t.Errorf("%q %v", data, err)
	}
}

func TestInterrupt(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(context.Background())
	b.env.OnProgress = func(p tool.Progress) {
		if strings.Contains(p.Text, "begun") {
			cancel()
		}
	}
	start := time.Now()
	a := b.run(ctx, "Bash", command("echo begun; sh -c 'sleep 60; touch later'; echo never"))
	if a.err == nil || time.Since(start) > 20*time.Second {
		t.Fatalf("error %v after %v", a.err, time.Since(start))
	}
	a.wants(t, "stopped", "begun")
	if strings.Contains(a.text, "never") {
		t.Error("it went on")
	}
}

func TestDirectory(t *testing.T) {
	b := newBench(t)
	sub := filepath.Join(b.root, "sub")
	if err := os.MkdirAll(filepath.Join(sub, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(b.outside, filepath.Join(b.root, "exit")); err != nil {
		t.Fatal(err)
	}
	reset := resetNote(b.root)
	steps := []struct {
		line, cwd string
		note      bool
	}{
		{"cd sub", sub, false},
		{"cd .. && pwd", b.root, false},
		{"(cd sub)", b.root, false},
		{"cd sub && false", sub, false},
		{"cd ..", b.root, false},
		{"cd /", b.root, true},
		{"cd " + b.outside, b.root, true},
		{"cd exit", b.root, true},
		{"cd sub && rm -r ../sub/deep && cd ..", b.root, false},
		{"x=sub; cd \"$x\"", sub, false},
		{"pwd", sub, false},
	}
	for _, s := range steps {
		a := b.bash(s.line)
		if b.env.Cwd != s.cwd {
			t.Fatalf("%s: the directory is %s, want %s", s.line, b.env.Cwd, s.cwd)
		}
		if strings.Contains(a.text, reset) != s.note {
			t.Errorf("%s: want a note: %v, got %q", s.line, s.note, a.text)
		}
	}
	b.env.Cwd = b.root
	b.env.Depth = 1
	b.bash("cd sub").wants(t, reset)
	if b.env.Cwd != b.root {
		t.Error("a subagent moved")
	}
}

func TestWhatIsLeftRunningDoesNotHold(t *testing.T) {
	b := newBench(t)
	start := time.Now()
	a := b.bash("sh -c 'echo up; sleep 60' & echo hi; while ! test -e up; do sleep 0.01; touch up; done")
	if a.err != nil || time.Since(start) > 30*time.Second {
		t.Fatalf("%v after %v", a.err, time.Since(start))
	}
	out := a.outcome.Data.(BashOutput)
	a.wants(t, "hi", "still writes", out.RawOutputPath)
	if _, err := os.Stat(out.RawOutputPath); err != nil {
		t.Error("the file that still grows is gone:", err)
	}
}

func TestDirectoryThatIsGone(t *testing.T) {
	b := newBench(t)
	b.env.Cwd = filepath.Join(b.root, "gone")
	a := b.bash("echo ran")
	a.wants(t, "was not run", resetNote(b.root))
	if strings.Contains(a.text, "ran\n") || b.env.Cwd != b.root {
		t.Errorf("%q, directory %s", a.text, b.env.Cwd)
	}
}

func TestManyAtOnce(t *testing.T) {
	b := newBench(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			c, err := b.tools["Bash"].Bind(json.RawMessage(`{"command":"sleep 0.1; echo done"}`), b.env.Place)
			if err != nil {
				t.Error(err)
				return
			}
			env := b.env
			o, err := c.Run(context.Background(), &env)
			if err != nil || o.Data.(BashOutput).Stdout != "done" {
				t.Errorf("%d: %v %v", i, o.Data, err)
			}
		})
	}
	wg.Wait()
}
