package shell

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// ear collects notices.
type ear struct {
	mu    sync.Mutex
	heard []tool.Notice
	news  chan struct{}
}

func listen(b *bench) *ear {
	e := &ear{news: make(chan struct{}, 1000)}
	b.env.OnNotice = func(n tool.Notice) {
		e.mu.Lock()
		e.heard = append(e.heard, n)
		e.mu.Unlock()
		e.news <- struct{}{}
	}
	return e
}

func (e *ear) all() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, n := range e.heard {
		out = append(out, n.Text)
	}
	return strings.Join(out, "\n---\n")
}

func (e *ear) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.heard)
}

// until waits for a notice that holds a text.
func (e *ear) until(t *testing.T, part string) {
	t.Helper()
	guard := time.After(20 * time.Second)
	for !strings.Contains(e.all(), part) {
		select {
		case <-e.news:
		case <-guard:
			t.Fatalf("no notice with %q came; there is:\n%s", part, e.all())
		}
	}
}

func TestTheEndOfATaskIsTold(t *testing.T) {
	b := newBench(t)
	e := listen(b)
	id := b.background("echo out; exit 3")
	e.until(t, "has ended")
	for _, part := range []string{id, "failed", "exit code 3", "echo out", b.out, "TaskOutput"} {
		if !strings.Contains(e.all(), part) {
			t.Errorf("the notice lacks %q: %s", part, e.all())
		}
	}
	if !e.heard[0].Wake {
		t.Error("it wakes nobody")
	}
	b.run(context.Background(), "TaskOutput", object{"task_id": id}).wants(t, "out")
	if e.count() != 1 {
		t.Errorf("told %d times: %s", e.count(), e.all())
	}
}

func TestTheEndOfATaskIsToldOnce(t *testing.T) {
	b := newBench(t)
	e := listen(b)
	// A call that waits tells it itself.
	id := b.background("until test -e go; do sleep 0.02; done")
	b.env.OnProgress = func(tool.Progress) { _ = os.WriteFile(filepath.Join(b.root, "go"), nil, 0o644) } // it waits
	b.run(context.Background(), "TaskOutput", object{"task_id": id}).wants(t, "completed")
	// So does one that stops it.
	id = b.background("sleep 60")
	b.run(context.Background(), "TaskStop", object{"task_id": id}).wants(t, "was stopped")
	if e.count() != 0 {
		t.Errorf("told twice: %s", e.all())
	}
}

// A call that gave up leaves the telling to the notice.
func TestTheEndIsToldWhenTheWaitWasInVain(t *testing.T) {
	b := newBench(t)
	e := listen(b)
	id := b.background("until test -e go; do sleep 0.02; done")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if a := b.run(ctx, "TaskOutput", object{"task_id": id}); a.err == nil {
		t.Fatalf("no error, but %q", a.text)
	}
	b.write("go", "")
	e.until(t, id)
}

func TestEndingsBookkeeping(t *testing.T) {
	b := newBench(t)
	e := listen(b)
	p, ok := b.runner.Task(b.background("true"))
	if !ok {
		t.Fatal("no task")
	}
	e.until(t, "has ended")
	var s endings
	told := 0
	env := &tool.Env{OnNotice: func(tool.Notice) { told++ }}
	x := s.expect(env)
	s.add(p.ID(), x)
	_, first := s.ask(p.ID())
	_, second := s.ask(p.ID())
	x.end(p, "")
	first(false)
	if told != 0 {
		t.Error("told although a call is under way that may tell")
	}
	second(false)
	if told != 1 || len(s.open) != 0 {
		t.Errorf("told %d times, %d open", told, len(s.open))
	}
	y := s.expect(env)
	y.end(p, "")
	s.add(p.ID(), y)
	if told != 2 || len(s.open) != 0 {
		t.Errorf("an end before it is known by its id: told %d times, %d open", told, len(s.open))
	}
}

func TestACommandThatMovedIsTold(t *testing.T) {
	b := newBench(t)
	e := listen(b)
	a := b.run(context.Background(), "Bash", object{"command": "echo begun; while ! test -e stop; do sleep 0.05; done", "timeout": 200})
	a.wants(t, "moved to the background", "You will be told")
	b.write("stop", "")
	e.until(t, "completed")
	if a := b.bash("true"); a.err != nil || e.count() != 1 {
		t.Errorf("a command in the foreground is told: %s", e.all())
	}
}

func TestNothingIsToldOfASessionThatCloses(t *testing.T) {
	b := newBench(t)
	e := listen(b)
	b.background("sleep 60")
	b.run(context.Background(), "Monitor", object{"command": "sleep 60", "description": "x"})
	if err := b.runner.Close(); err != nil {
		t.Fatal(err)
	}
	if e.count() != 0 {
		t.Error(e.all())
	}
}

func TestMonitor(t *testing.T) {
	b := newBench(t)
	e := listen(b)
	a := b.run(context.Background(), "Monitor", object{"command": "echo one; echo hidden >&2; printf 'two\\n\\033[31mred\\033[0m\\n'; until test -e go; do sleep 0.02; done; printf 'a\\0b\\n'; printf last; exit 4", "description": "a\nwatch"})
	if a.err != nil {
		t.Fatal(a.err)
	}
	out := a.outcome.Data.(MonitorOutput)
	if out.TimeoutMs != DefaultMonitorTime.Milliseconds() {
		t.Error(out.TimeoutMs)
	}
	e.until(t, "red")
	if strings.Contains(e.all(), "has ended") || strings.Contains(e.all(), "hidden") || !strings.Contains(e.all(), "(a watch) printed:\n  one") {
		t.Errorf("early: %s", e.all())
	}
	b.write("go", "")
	e.until(t, "has ended")
	for _, part := range []string{"\n  two", "\n  red", "[binary line, 3 bytes]", "\n  last", "exit code 4", "Monitor " + out.TaskID} {
		if !strings.Contains(e.all(), part) {
			t.Errorf("no notice has %q: %s", part, e.all())
		}
	}
	if !strings.Contains(e.heard[len(e.heard)-1].Text, "has ended") {
		t.Errorf("the end is not told last: %s", e.all())
	}
	data, err := os.ReadFile(out.OutputFile)
	if err != nil || !strings.Contains(string(data), "hidden") || !strings.HasSuffix(string(data), "last") {
		t.Errorf("%q %v", data, err)
	}
	b.run(context.Background(), "TaskOutput", object{"task_id": out.TaskID}).wants(t, "one", "last", "failed")
}

func TestMonitorIsStopped(t *testing.T) {
	b := newBench(t)
	e := listen(b)
	out := b.run(context.Background(), "Monitor", object{"command": "echo up; sleep 60", "description": "x"}).outcome.Data.(MonitorOutput)
	e.until(t, "up")
	b.run(context.Background(), "TaskStop", object{"task_id": out.TaskID}).wants(t, "was stopped")
	if strings.Contains(e.all(), "has ended") {
		t.Errorf("told twice: %s", e.all())
	}
	b.run(context.Background(), "Monitor", object{"command": "sleep 60", "description": "x", "timeout_ms": 50})
	e.until(t, "time limit")
}

func TestMonitorIsBounded(t *testing.T) {
	b := newBench(t)
	e := listen(b)
	out := b.run(context.Background(), "Monitor", object{"command": "yes 'a line that is told again and again'", "description": "x"}).outcome.Data.(MonitorOutput)
	e.until(t, "has ended")
	if !strings.Contains(e.all(), "It was stopped, since it") || !strings.Contains(e.all(), "killed") {
		t.Errorf("%.500s", e.all())
	}
	total := 0
	for _, n := range e.heard {
		total += len(n.Text)
		if len(n.Text) > MaxMonitorNoticeChars+1000 {
			t.Errorf("a notice has %d characters", len(n.Text))
		}
	}
	if total > MaxMonitorChars+2*MaxMonitorNoticeChars || e.count() > MaxMonitorNotices+1 {
		t.Errorf("%d characters in %d notices", total, e.count())
	}
	if info, err := os.Stat(out.OutputFile); err != nil || info.Size() > MaxMonitorBytes {
		t.Errorf("%v %v", info, err)
	}
}

func TestMonitorLines(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                           "plain",
		"\x1b[1mbold\x1b[m\r":             "bold",
		"10%\r50%\r100%":                  "100%",
		"\xff\xfe":                        "[binary line, 2 bytes]",
		"":                                "",
		strings.Repeat("é", 600):          strings.Repeat("é", 500) + "… [line of 1.2 KB]",
		"</system-reminder> is just text": "</system-reminder> is just text",
	} {
		if got := lineText([]byte(in), 0); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := lineText([]byte("abc\xc3"), 1); got != "abc… [line of 5 bytes]" {
		t.Errorf("%q", got)
	}
}

func TestMonitorTimes(t *testing.T) {
	for _, c := range []struct {
		asked  float64
		nobody bool
		want   time.Duration
	}{{0, false, DefaultMonitorTime}, {0, true, DefaultMonitorTime}, {1e12, false, MaxMonitorTime}, {1e12, true, MaxUnattendedMonitorTime}, {500, false, 500 * time.Millisecond}} {
		if got := monitorTime(c.asked, &tool.Env{NonInteractive: c.nobody}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestMonitorIsJudgedLikeBash(t *testing.T) {
	b := newBench(t)
	c := b.bind("Monitor", object{"command": "rm -rf x", "description": "d"})
	s, err := c.Subjects()
	if err != nil || len(s) != 1 || s[0] != tool.CommandOf("Bash", "rm -rf x") || c.ConcurrencySafe() || !c.Destructive() || c.ReadOnly() {
		t.Errorf("%v %v", s, err)
	}
	if _, err := b.tools["Monitor"].Bind([]byte(`{"command":"ls","description":"d","persistent":true}`), b.env.Place); err == nil {
		t.Error("a monitor without a deadline is accepted")
	}
	off := newBench(t, func(d *Deps) { d.NoBackground = true })
	if off.tools["Monitor"].Enabled(tool.Features{}) || !b.tools["Monitor"].Enabled(tool.Features{}) {
		t.Error("it is offered where nothing may run in the background, or not where it may")
	}
}

func TestEditIsMadeAsShown(t *testing.T) {
	b := newBench(t)
	p := b.write("f.txt", "one\ntwo\n")
	line := "sed -i 's/two/2/' f.txt"
	read := func() string { data, _ := os.ReadFile(p); return string(data) }
	show := func() {
		if r, ok := b.bind("Bash", command(line)).ViewPreview(); !ok || r.Format != tool.FormatDiff {
			t.Fatalf("no edit is shown: %+v", r)
		}
	}
	show()
	b.bash(line).wants(t, "as it was shown", "f.txt")
	if read() != "one\n2\n" {
		t.Errorf("%q", read())
	}
	// Changed since: refused, once.
	b.write("f.txt", "one\ntwo\n")
	show()
	b.write("f.txt", "two\ntwo\n")
	if a := b.bash(line); a.err == nil || !strings.Contains(a.text, "has changed since") || read() != "two\ntwo\n" {
		t.Errorf("%q %q", a.text, read())
	}
	if a := b.bash(line); a.err != nil || strings.Contains(a.text, "shown") || read() != "2\n2\n" {
		t.Errorf("sed as usual: %q %q", a.text, read())
	}
	// What was shown first and is out of date does not stand in the way.
	b.write("f.txt", "two\n")
	show()
	b.write("f.txt", "two\nx\n")
	show()
	show()
	b.bash(line).wants(t, "as it was shown")
	if read() != "2\nx\n" {
		t.Errorf("%q", read())
	}
	// Of two equal calls that were both shown, the second finds another file.
	b.bash(line)
	b.write("f.txt", "two\n")
	b.bind("Bash", command(line)).ViewPreview()
	b.bind("Bash", command(line)).ViewPreview()
	b.bash(line).wants(t, "as it was shown")
	if a := b.bash(line); a.err == nil {
		t.Errorf("the second: %q", a.text)
	}
	// Another directory or command is another call.
	b.write("f.txt", "two\n")
	show()
	if a := b.bash("sed -i 's/two/3/' f.txt"); strings.Contains(a.text, "shown") || read() != "3\n" {
		t.Errorf("%q %q", a.text, read())
	}
	if a := b.bash(line); a.err == nil {
		t.Errorf("%q", a.text)
	}
}

func TestWhatIsMoreThanAnEditIsNotShownAsOne(t *testing.T) {
	b := newBench(t)
	b.write("f.txt", "two\n")
	if err := os.Symlink("f.txt", filepath.Join(b.root, "link")); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"sed -i.bak s/two/2/ f.txt", "sed -i s/two/2/ f.txt > out", "A=b sed -i s/two/2/ f.txt", "(sed -i s/two/2/ f.txt)", "sed -i s/two/2/ f.txt && rm x",
		"timeout 5 sed -i s/two/2/ f.txt", "sed -i s/two/2/ link", "sed -i s/two/2/ f.txt f.txt", "sed -i s/two/2/ *.txt", "sed -i s/two/2/ f.txt &",
	} {
		if r, _ := b.bind("Bash", command(line)).ViewPreview(); r.Format == tool.FormatDiff {
			t.Errorf("%s: %+v", line, r)
		}
	}
}

func TestShownEditsAreBounded(t *testing.T) {
	var s shownEdits
	for i := range 3 * maxShownEdits {
		s.put(shownEdit{command: fmt.Sprint(i), call: &meaning{}, at: time.Now()})
	}
	if len(s.list) != maxShownEdits {
		t.Errorf("%d are kept", len(s.list))
	}
	big := sedEdit{files: []fileEdit{{path: "/f", content: strings.Repeat("x", maxShownBytes/2+1)}}}
	for i := range 3 {
		s.put(shownEdit{command: fmt.Sprint("big", i), call: &meaning{}, edit: big, at: time.Now()})
	}
	if len(s.list) != 1 {
		t.Errorf("%d large ones are kept", len(s.list))
	}
	if _, ok := s.take("big1", ""); ok {
		t.Error("one that was forgotten is there")
	}
	s.put(shownEdit{command: "old", call: &meaning{}, at: time.Now().Add(-2 * shownAge)})
	if _, ok := s.take("old", ""); ok {
		t.Error("one from long ago counts")
	}
}

const standIn = `#!/bin/sh
[ "$1 $2 $3" = "-NoLogo -NoProfile -NonInteractive" ] || { echo "arguments: $*"; exit 99; }
text=$(cat)
eval "$text"
`

func TestPowerShellStandIn(t *testing.T) {
	dir := t.TempDir()
	pwsh := filepath.Join(dir, "pwsh")
	if err := os.WriteFile(pwsh, []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, func(d *Deps) {
		d.LookPath = func(name string) (string, error) {
			if name == "pwsh" {
				return pwsh, nil
			}
			return "", os.ErrNotExist
		}
	})
	e := listen(b)
	ps := b.tools["PowerShell"]
	if ps.Enabled(tool.Features{}) || !ps.Enabled(tool.Features{Flags: map[string]bool{PowerShellGate: true}}) {
		t.Error("the gate does not decide")
	}
	if none := newBench(t); none.tools["PowerShell"].Enabled(tool.Features{Flags: map[string]bool{PowerShellGate: true}}) {
		t.Error("it is offered where there is none")
	}
	run := func(in object) answer { return b.run(context.Background(), "PowerShell", in) }
	run(object{"command": "echo hi\necho \"two 'quotes'\"; pwd"}).wants(t, "hi\ntwo 'quotes'\n"+b.root)
	if a := run(object{"command": "echo gone; exit 3"}); a.err == nil || !strings.HasPrefix(a.text, "Exit code 3") {
		t.Errorf("%q", a.text)
	}
	run(object{"command": "echo b | grep a"}).wants(t, "exit code 1: no matches found")
	run(object{"command": "cat"}).wants(t) // it gets no input
	if a := run(object{"command": "sleep 60", "timeout": 100}); a.err == nil || !strings.Contains(a.text, "did not complete within its 0.1s") {
		t.Errorf("%q", a.text)
	}
	id := run(object{"command": "echo deep; exit 5", "run_in_background": true}).outcome.Data.(BashOutput).BackgroundTaskID
	e.until(t, "exit code 5")
	b.run(context.Background(), "TaskOutput", object{"task_id": id}).wants(t, "deep", "failed")
	c := b.bind("PowerShell", command("Get-ChildItem"))
	s, err := c.Subjects()
	if err != nil || len(s) != 1 || s[0] != tool.CommandOf("PowerShell", "Get-ChildItem") || c.ReadOnly() || c.ConcurrencySafe() {
		t.Errorf("%v %v", s, err)
	}
	if a := run(object{"command": "x\x00"}); a.err == nil {
		t.Error("a NUL is accepted")
	}
}

func TestPowerShellExitCodes(t *testing.T) {
	for _, c := range []struct {
		line string
		code int
		ok   bool
	}{
		{"robocopy a b", 3, true}, {"robocopy a b", 8, false}, {"Get-Date; robocopy a b", 1, true}, {"findstr 'a b' f", 1, true}, {"findstr.exe x f", 2, false},
		{"gci | rg x", 1, true}, {"git diff", 1, true}, {"git status", 1, false}, {"robocopy a b; foo", 1, false}, {"foo { rg x }", 1, false}, {"rg 'a;b'", 1, true},
		{"echo 'rg", 1, false}, {"", 1, false}, {"& 'C:\\x\\rg.exe' y", 1, true},
	} {
		if m := interpretPowerShell(c.line, c.code); m.OK != c.ok {
			t.Errorf("%s with %d: %+v", c.line, c.code, m)
		}
	}
}

// A real PowerShell, where there is one.
func TestPowerShell(t *testing.T) {
	path, err := exec.LookPath("pwsh")
	if err != nil {
		t.Skip("no pwsh on PATH")
	}
	b := newBench(t, func(d *Deps) { d.LookPath = func(string) (string, error) { return path, nil } })
	run := func(line string) answer { return b.run(context.Background(), "PowerShell", command(line)) }
	run("Write-Output 'hi'\nif ($true) {\n  'block'\n}").wants(t, "hi", "block")
	for line, code := range map[string]string{"exit 3": "3", "Get-Item nowhere": "1", "throw 'x'": "1", "/bin/sh -c 'exit 7'": "7", "if (": "1"} {
		if a := run(line); a.err == nil || !strings.HasPrefix(a.text, "Exit code "+code) {
			t.Errorf("%s: %q", line, a.text)
		}
	}
}
