package shell

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sevengate/sevengate/tool"
)

func (b *bench) background(line string) string {
	b.t.Helper()
	a := b.run(context.Background(), "Bash", object{"command": line, "run_in_background": true})
	if a.err != nil {
		b.t.Fatal(a.err)
	}
	out := a.outcome.Data.(BashOutput)
	a.wants(b.t, out.BackgroundTaskID, out.RawOutputPath)
	return out.BackgroundTaskID
}

func TestTaskLife(t *testing.T) {
	b := newBench(t)
	ctx := context.Background()
	id := b.background("echo first; until test -e go; do sleep 0.02; done; echo second; exit 3")
	deadline := time.Now().Add(20 * time.Second)
	seen := ""
	for !strings.Contains(seen, "first") && time.Now().Before(deadline) {
		a := b.run(ctx, "TaskOutput", object{"task_id": id, "block": false})
		a.wants(t, "running")
		seen += a.text
	}
	a := b.run(ctx, "TaskOutput", object{"task_id": id, "timeout": 50})
	a.wants(t, "running", "(no new output)")
	if s := a.outcome.Data.(TaskOutput).RetrievalStatus; s != "timeout" {
		t.Error(s)
	}
	b.write("go", "")
	a = b.run(ctx, "TaskOutput", object{"task_id": id})
	a.wants(t, "failed", "exit code 3", "second")
	if strings.Contains(a.text, "first") {
		t.Error("output was given twice")
	}
	b.run(ctx, "TaskStop", object{"task_id": id}).wants(t, "had ended by itself")
}

func TestTaskStop(t *testing.T) {
	b := newBench(t)
	ctx := context.Background()
	id := b.background("sh -c 'sleep 0.6; touch late' & echo up; wait")
	b.run(ctx, "TaskStop", object{"shell_id": id}).wants(t, "was stopped")
	b.run(ctx, "TaskOutput", object{"task_id": id}).wants(t, "killed", "stopped")
	time.Sleep(time.Second)
	if _, err := os.Stat(filepath.Join(b.root, "late")); err == nil {
		t.Error("a process of the task lived on")
	}
	for _, in := range []object{{"task_id": "nope"}, {}, {"task_id": "a", "shell_id": "b"}} {
		if a := b.run(ctx, "TaskStop", in); a.err == nil {
			t.Errorf("%v: no error, but %q", in, a.text)
		}
	}
	a := b.run(ctx, "TaskOutput", object{"task_id": "nope"})
	a.wants(t, `no task "nope"`, id)
}

func TestTaskWaitEndsWithItsCall(t *testing.T) {
	b := newBench(t)
	id := b.background("sleep 60")
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if a := b.run(ctx, "TaskOutput", object{"task_id": id}); a.err == nil {
		t.Errorf("no error, but %q", a.text)
	}
	if _, ok := b.runner.Task(id); !ok {
		t.Error("the task is gone")
	}
}

func TestTaskOutputComesInParts(t *testing.T) {
	b := newBench(t)
	id := b.background("seq 1 20000")
	total, calls := "", 0
	for ; calls < 20; calls++ {
		a := b.run(context.Background(), "TaskOutput", object{"task_id": id})
		out := a.outcome.Data.(TaskOutput)
		total += out.Task.Output
		if !out.Task.More {
			break
		}
		a.wants(t, "There is more")
	}
	if lines := strings.Split(strings.TrimSpace(total), "\n"); calls < 2 || len(lines) != 20000 || lines[19999] != "20000" {
		t.Errorf("%d lines in %d calls", len(lines), calls+1)
	}
}

func TestBackgroundKeepsTheDirectory(t *testing.T) {
	b := newBench(t)
	b.write("sub/f", "")
	a := b.run(context.Background(), "Bash", object{"command": "cd sub && sleep 0.1", "run_in_background": true})
	a.wants(t, "still "+b.root)
	if b.env.Cwd != b.root {
		t.Error(b.env.Cwd)
	}
}

func TestBackgroundLimits(t *testing.T) {
	f := &family{}
	for _, c := range []struct {
		asked   float64
		nobody  bool
		allowed time.Duration
	}{
		{0, false, 0}, {5000, false, 0}, {0, true, BackgroundTimeout}, {5000, true, 5 * time.Second}, {1 << 60, true, MaxBackgroundTimeout},
	} {
		if got := f.backgroundLimit(c.asked, &tool.Env{NonInteractive: c.nobody}); got != c.allowed {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestShowingAFileIsReadingIt(t *testing.T) {
	b := newBench(t)
	content := strings.Repeat("line\n", 100)
	for _, c := range []struct {
		line          string
		reads         bool
		partial       bool
		offset, limit int
	}{
		{line: "cat F", reads: true},
		{line: "nl F", reads: true},
		{line: "cat F 2>/dev/null", reads: true},
		{line: "head -n 3 F", reads: true, partial: true, offset: 1, limit: 3},
		{line: "head F", reads: true, partial: true, offset: 1, limit: 10},
		{line: "sed -n 5,9p F", reads: true, partial: true, offset: 5, limit: 5},
		{line: "sed -n '7p' F", reads: true, partial: true, offset: 7, limit: 1},
		{line: "tail -n 2 F", reads: true, partial: true, offset: 1, limit: 1},
		{line: "grep -n line F", reads: true, partial: true, offset: 1, limit: 1},
		{line: "grep nothing F"},
		{line: "cat F | head -n 1"},
		{line: "cat F > G"},
		{line: "cat F F"},
		{line: "wc -l F"},
		{line: "cat F && echo x >> F"},
		{line: "cat < F"},
	} {
		p := b.write("F", content)
		b.env.Files = &tool.FileState{}
		a := b.bash(c.line)
		v, ok := b.env.Files.Get(p)
		if ok != c.reads {
			t.Errorf("%s: counts as read: %v, want %v (%.80q)", c.line, ok, c.reads, a.text)
			continue
		}
		if ok && (v.Hash != sha256.Sum256([]byte(content)) || v.Partial != c.partial || v.Offset != c.offset || v.Limit != c.limit) {
			t.Errorf("%s: %+v", c.line, v)
		}
	}
	p := b.write("F", content)
	b.env.Files = &tool.FileState{}
	b.bash("cat F")
	b.bash("head -n 1 F")
	if v, _ := b.env.Files.Get(p); v.Partial {
		t.Error("a part took the place of the whole")
	}
	b.write("big", strings.Repeat("line\n", 10_000))
	b.env.Files = &tool.FileState{}
	b.bash("cat big")
	if got := b.env.Files.Paths(); len(got) != 0 {
		t.Errorf("what was not shown whole counts as read: %v", got)
	}
	if err := os.Symlink("F", filepath.Join(b.root, "link")); err != nil {
		t.Fatal(err)
	}
	b.bash("cat link")
	if got := b.env.Files.Paths(); len(got) != 1 || got[0] != p {
		t.Errorf("through a link: %v", got)
	}
}

func TestImage(t *testing.T) {
	b := newBench(t)
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	a := b.bash("echo data:image/png\\;base64," + pixel)
	if len(a.blocks) != 1 || a.blocks[0].Type != tool.BlockImage || a.blocks[0].Source.Data != pixel {
		t.Errorf("%+v", a.blocks)
	}
}

func TestViews(t *testing.T) {
	b := newBench(t)
	c := b.bind("Bash", command("echo 1\necho 2\necho 3\necho 4"))
	if s := c.ViewUse(); s != "echo 1\necho 2\necho 3 …" {
		t.Errorf("%q", s)
	}
	if s := b.bind("Bash", command("rm x\rls \x1b[2K\u202e")).ViewUse(); s != "rm x<U+000D>ls <U+001B>[2K<U+202E>" {
		t.Errorf("%q", s)
	}
	if s := c.ViewProgress(tool.Progress{Text: "x", Lines: 1, Bytes: 2, Seconds: 3}); s != "x\n3s, 1 line, 2 bytes" {
		t.Errorf("%q", s)
	}
	env := b.env
	o, err := c.Run(t.Context(), &env)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(o.Data)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.WithOutput(o, raw); err != nil || again.Data != o.Data {
		t.Errorf("an output that a hook gives back: %v %+v", err, again.Data)
	}
	if r := c.ViewResult(o, nil); r.Summary != "4 lines" || r.Detail != "1\n2\n3\n4" {
		t.Errorf("%+v", r)
	}
	c = b.bind("Bash", command("echo why; exit 4"))
	if _, err = c.Run(t.Context(), &env); err == nil || !strings.Contains(c.ViewError(err), "Exit code 4") || !strings.Contains(c.ViewError(err), "why") {
		t.Errorf("%v", err)
	}
}

func TestWithoutRunner(t *testing.T) {
	for _, x := range New(Deps{}) {
		if x.Facts().Gate != "" {
			continue // Sleep needs none
		}
		c, err := x.Bind([]byte(`{"command":"ls"}`), tool.Place{Cwd: "/"})
		switch x.Name() {
		case "Bash":
		case "Monitor":
			c, err = x.Bind([]byte(`{"command":"ls","description":"d"}`), tool.Place{Cwd: "/"})
		default:
			c, err = x.Bind([]byte(`{"task_id":"x"}`), tool.Place{Cwd: "/"})
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(t.Context(), &tool.Env{Place: tool.Place{Cwd: "/"}}); err == nil || !strings.Contains(err.Error(), "no shell") {
			t.Errorf("%s: %v", x.Name(), err)
		}
	}
}

func TestSleep(t *testing.T) {
	b := newBench(t)
	if x := b.tools["Sleep"]; x.Enabled(tool.Features{}) || !x.Enabled(tool.Features{Flags: map[string]bool{SleepGate: true}}) {
		t.Error("the gate does not decide")
	}
	b.run(t.Context(), "Sleep", object{"seconds": 0.01}).wants(t, "Waited 0.01s")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a := b.run(ctx, "Sleep", object{"seconds": 60}); a.err == nil {
		t.Error("it went on")
	}
	for _, n := range []float64{0, -1, 601} {
		if a := b.run(t.Context(), "Sleep", object{"seconds": n}); a.err == nil {
			t.Errorf("%g seconds are accepted", n)
		}
	}
}
