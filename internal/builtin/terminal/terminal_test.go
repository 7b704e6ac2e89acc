//go:build unix

package terminal

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type bench struct {
	t     *testing.T
	tools map[string]tool.Tool
	dir   string
	n     int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	r, err := shellrun.New(shellrun.Options{OutputDir: t.TempDir(), Home: t.TempDir(), BaseEnv: []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}})
	if err != nil {
		t.Skip("no shell:", err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{t: t, tools: map[string]tool.Tool{}, dir: t.TempDir()}
	for _, x := range New(Deps{Runner: func() (*shellrun.Runner, error) { return r, nil }}) {
		b.tools[x.Name()] = x
	}
	if f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		t.Skip("no terminals here:", err)
	} else {
		f.Close()
	}
	return b
}

type object map[string]any

func (b *bench) bind(name string, in object) *tool.Call {
	b.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	c, err := b.tools[name].Bind(raw, tool.Place{Cwd: b.dir})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func (b *bench) env() *tool.Env {
	b.n++
	return &tool.Env{ToolUseID: fmt.Sprint("u", b.n), Place: tool.Place{Cwd: b.dir}}
}

// run calls a tool the way the runtime does, and gives its text or its error.
func (b *bench) run(name string, in object) (string, error) {
	b.t.Helper()
	c, env := b.bind(name, in), b.env()
	if err := c.Validate(context.Background(), env); err != nil {
		return "", err
	}
	c.CheckPermissions(context.Background(), env)
	o, err := c.Run(context.Background(), env)
	if err != nil {
		return "", err
	}
	blocks, err := c.Map(o)
	if err != nil {
		b.t.Fatal(err)
	}
	return blocks[0].Text, nil
}

func (b *bench) must(in object, parts ...string) string {
	b.t.Helper()
	out, err := b.run("Terminal", in)
	if err != nil {
		b.t.Fatalf("%v: %v", in, err)
	}
	for _, p := range parts {
		if !strings.Contains(out, p) {
			b.t.Errorf("%v: no %q in\n%s", in, p, out)
		}
	}
	return out
}

// sees waits until a text is on a screen.
func (b *bench) sees(id, text string) {
	b.t.Helper()
	b.must(object{"action": "wait", "id": id, "text": text, "timeout_ms": 60_000}, "the text is there")
}

// ends waits until the command has ended, and gives the last look.
func (b *bench) ends(id string) string {
	b.t.Helper()
	return b.must(object{"action": "wait", "id": id, "text": "no such text", "timeout_ms": 60_000}, "its command has")
}

func TestASession(t *testing.T) {
	b := newBench(t)
	b.must(object{"action": "start", "cols": 60, "rows": 8}, "Terminal t1, 60 columns and 8 rows", "cursor at row")
	b.sees("t1", "$")
	b.must(object{"action": "type", "id": "t1", "text": "stty size; echo $TERM; pwd\n"})
	b.sees("t1", "8 60\nxterm-256color\n")
	b.must(object{"action": "resize", "id": "t1", "cols": 70, "rows": 9}, "70 columns")
	b.must(object{"action": "type", "id": "t1", "text": "clear; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; done; stty size\n"})
	b.sees("t1", "line 12\n9 70")
	out, err := b.run("TerminalCapture", object{"id": "t1", "scrollback": 100})
	if err != nil || !strings.Contains(out, "line 1\n") || !strings.Contains(out, "the screen begins here") {
		t.Errorf("%v\n%s", err, out)
	}
	b.must(object{"action": "type", "id": "t1", "text": "sleep 0.5; echo rea''dy\n", "timeout_ms": 10})
	b.sees("t1", "\nready")
	b.must(object{"action": "wait", "id": "t1", "text": "never", "timeout_ms": 50}, "the text did not come")
	b.must(object{"action": "type", "id": "t1", "text": "cat\n"})
	b.must(object{"action": "key", "id": "t1", "keys": []string{"ctrl-c"}})
	b.sees("t1", "^C")
	b.must(object{"action": "type", "id": "t1", "text": "exit 4\n", "timeout_ms": 1})
	if out := b.ends("t1"); !strings.Contains(out, "ended with exit code 4") {
		t.Error(out)
	}
	if _, err := b.run("Terminal", object{"action": "type", "id": "t1", "text": "x"}); err == nil || !strings.Contains(err.Error(), "ended with exit code 4") {
		t.Error(err)
	}
}

func TestClose(t *testing.T) {
	b := newBench(t)
	b.must(object{"action": "start", "id": "mine", "command": "(while :; do echo x >> beat; echo beat; sleep 0.02; done) & sleep 60", "timeout_ms": 500}, "Terminal mine")
	b.sees("mine", "beat")
	if _, err := b.run("Terminal", object{"action": "start", "id": "mine"}); err == nil {
		t.Error("the same id twice")
	}
	b.must(object{"action": "close", "id": "mine"}, "been ended (stopped)")
	before, _ := os.ReadFile(filepath.Join(b.dir, "beat"))
	b.must(object{"action": "start", "id": "mine", "command": "sleep 0.3; echo again"})
	b.sees("mine", "again")
	if after, _ := os.ReadFile(filepath.Join(b.dir, "beat")); len(before) == 0 || len(after) != len(before) {
		t.Errorf("it lives on: %d and %d", len(before), len(after))
	}
}

func TestTheNumberOfTerminalsIsBounded(t *testing.T) {
	b := newBench(t)
	for range MaxTerminals {
		b.must(object{"action": "start", "command": "sleep 60", "timeout_ms": 1})
	}
	if _, err := b.run("Terminal", object{"action": "start", "command": "sleep 60"}); err == nil || !strings.Contains(err.Error(), "t8") {
		t.Error(err)
	}
	b.must(object{"action": "close", "id": "t3"})
	b.must(object{"action": "start", "command": "sleep 60", "timeout_ms": 1}, "Terminal t9")
}

func TestValidation(t *testing.T) {
	b := newBench(t)
	for _, in := range []object{
		{"action": "dance", "id": "x"}, {"action": "type", "text": "x"}, {"action": "type", "id": "x"}, {"action": "type", "id": "x", "text": "a\x03"}, {"action": "type", "id": "x", "text": "\x1b[A"},
		{"action": "type", "id": "x", "text": "a\tb"}, {"action": "type", "id": "x", "text": "a\rb"}, {"action": "type", "id": "x", "text": strings.Repeat("x", MaxText+1)}, {"action": "key", "id": "x"},
		{"action": "key", "id": "x", "keys": []string{"r", "m"}}, {"action": "key", "id": "x", "keys": make([]string, MaxKeys+1)}, {"action": "resize", "id": "x"}, {"action": "resize", "id": "x", "cols": 10_000, "rows": 4},
		{"action": "start", "id": "a b"}, {"action": "start", "id": "../x"}, {"action": "start", "command": "a\x00"}, {"action": "start", "text": "rm x\n"}, {"action": "wait", "id": "x", "timeout_ms": -1},
		{"action": "wait", "id": "no-such"},
	} {
		if out, err := b.run("Terminal", in); err == nil {
			t.Errorf("%v: %s", in, out)
		}
	}
	for _, in := range []object{{"id": ""}, {"id": "x", "scrollback": -1}, {"id": "x"}} {
		if out, err := b.run("TerminalCapture", in); err == nil {
			t.Errorf("%v: %s", in, out)
		}
	}
	for _, x := range b.tools {
		if x.Enabled(tool.Features{}) || x.Enabled(tool.Features{OS: "windows", Flags: map[string]bool{Gate: true}}) || !x.Enabled(tool.Features{OS: "linux", Flags: map[string]bool{Gate: true}}) {
			t.Errorf("%s: the gate or the system does not decide", x.Name())
		}
		raw, err := schema.Generate(x.InputType())
		if err != nil || strings.Contains(string(raw), "seen") {
			t.Errorf("%s: %v %s", x.Name(), err, raw)
		}
	}
}

func (b *bench) subjects(in object) []string {
	b.t.Helper()
	s, err := b.bind("Terminal", in).Subjects()
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, x := range s {
		if x.Kind != tool.SubjectCommand || x.Family != "Bash" {
			b.t.Errorf("%+v", x)
		}
		out = append(out, x.Value)
	}
	return out
}

// check is the own opinion about a call.
func (b *bench) check(in object) tool.Behavior {
	b.t.Helper()
	return b.bind("Terminal", in).CheckPermissions(context.Background(), b.env()).Behavior
}

func TestWhatIsJudged(t *testing.T) {
	b := newBench(t)
	want := func(got []string, want ...string) {
		t.Helper()
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("judged %q, want %q", got, want)
		}
	}
	want(b.subjects(object{"action": "start", "command": "vim x"}), "vim x")
	want(b.subjects(object{"action": "start"}), "bash")
	b.must(object{"action": "start", "command": "stty -echo; cat > taken"})
	typed := func(text string) object { return object{"action": "type", "id": "t1", "text": text} }
	keys := func(k ...string) object { return object{"action": "key", "id": "t1", "keys": k} }
	want(b.subjects(typed("ls\n")), "ls\n")
	b.must(typed("r"))
	b.must(typed("m"))
	b.must(keys("space"))
	want(b.subjects(typed("-rf x\n")), "rm -rf x\n", "m -rf x\n", " -rf x\n", "-rf x\n")
	if got := b.check(keys("enter")); got != tool.Allow {
		t.Errorf("Enter behind a judged line: %q", got)
	}
	b.must(keys("enter"))
	want(b.subjects(typed("a")), "a")
	// A line that keys changed is asked, whoever presses Enter.
	b.must(typed("echo rm x"))
	if got := b.check(keys("home", "delete", "enter")); got != tool.Ask {
		t.Errorf("changed and run in one call: %q", got)
	}
	b.must(keys("home", "delete"))
	for _, in := range []object{keys("enter"), keys("ctrl-m"), typed("\n"), typed("x\ny")} {
		if got := b.check(in); got != tool.Ask {
			t.Errorf("%v: %q", in, got)
		}
	}
	for _, in := range []object{keys("up"), keys("ctrl-c"), {"action": "wait", "id": "t1"}, {"action": "close", "id": "t1"}, {"action": "resize", "id": "t1", "cols": 80, "rows": 24}} {
		if got := b.check(in); got != tool.Allow {
			t.Errorf("%v: %q", in, got)
		}
	}
	if got := b.check(typed("plain")); got != "" {
		t.Errorf("text is for the rules to judge: %q", got)
	}
	b.must(keys("enter"))
	if got := b.check(keys("up", "enter")); got != tool.Ask {
		t.Errorf("an older line brought back: %q", got)
	}
	// A line that goes on behind a backslash is one line.
	b.must(typed("rm \\\n"))
	want(b.subjects(typed("-rf x\n")), "rm \\\n-rf x\n", "-rf x\n")
}

// A call that was judged with another line than there is does not type.
func TestAJudgementHoldsForItsLineOnly(t *testing.T) {
	b := newBench(t)
	b.must(object{"action": "start", "command": "cat > taken"})
	late, env := b.bind("Terminal", object{"action": "type", "id": "t1", "text": "m x\n"}), b.env()
	late.CheckPermissions(context.Background(), env)
	b.must(object{"action": "type", "id": "t1", "text": "r"})
	if _, err := late.Run(context.Background(), env); err == nil || !strings.Contains(err.Error(), "has changed since") {
		t.Errorf("%v", err)
	}
	b.must(object{"action": "key", "id": "t1", "keys": []string{"enter", "ctrl-d"}})
	b.ends("t1")
	if data, err := os.ReadFile(filepath.Join(b.dir, "taken")); err != nil || string(data) != "r\n" {
		t.Errorf("%q %v", data, err)
	}
}

// However a line is cut into calls, it is judged whole at the latest when Enter
// comes.
func TestLinesInParts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		whole := rapid.StringOfN(rapid.SampledFrom([]rune("rm -x/\\\"'$é")), 1, 20, -1).Draw(rt, "line") + "\n"
		var l line
		rest, last := whole, ""
		for rest != "" {
			runes := []rune(rest)
			n := rapid.IntRange(1, len(runes)).Draw(rt, "cut")
			part := string(runes[:n])
			last = l.readings(part)[0]
			l.add(part)
			rest = string(runes[n:])
		}
		if last != whole {
			rt.Fatalf("judged %q for %q", last, whole)
		}
		if open := continued(strings.TrimSuffix(whole, "\n")); (len(l.parts) > 0) != open {
			rt.Fatalf("%q is left of %q", l.parts, whole)
		}
	})
	var l line
	for range 3 * maxParts {
		l.add("x")
	}
	if !l.unknown || len(l.parts) > maxParts {
		t.Errorf("%d parts are kept", len(l.parts))
	}
	l = line{}
	l.add(strings.Repeat("x", maxLine+1))
	if !l.unknown || len(l.text()) > maxLine {
		t.Error("a long line is kept")
	}
	l = line{}
	l.add("abc")
	l.press("backspace")
	l.press("backspace")
	if l.text() != "a" || l.unknown {
		t.Errorf("%+v", l)
	}
	l.press("backspace")
	l.press("backspace")
	if !l.unknown {
		t.Error("what was before the line is known")
	}
}

func TestWithoutRunner(t *testing.T) {
	for _, x := range New(Deps{}) {
		if x.Name() != "Terminal" {
			continue
		}
		c, err := x.Bind([]byte(`{"action":"start"}`), tool.Place{Cwd: "/"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(t.Context(), &tool.Env{}); err == nil || !strings.Contains(err.Error(), "no shell") {
			t.Error(err)
		}
	}
}

func TestViews(t *testing.T) {
	b := newBench(t)
	for want, in := range map[string]object{
		"start vim x":          {"action": "start", "command": "vim x"},
		"type ls⏎rm <U+202E>x": {"action": "type", "id": "t", "text": "ls\nrm \u202ex\n"},
		"press ctrl-c enter":   {"action": "key", "id": "t", "keys": []string{"ctrl-c", "enter"}},
		"close t":              {"action": "close", "id": "t"},
	} {
		if got := b.bind("Terminal", in).ViewUse(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
