//go:build unix

package shellrun

import (
	"context"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func seamRunner(t *testing.T) *Runner {
	t.Helper()
	r, err := New(Options{OutputDir: t.TempDir()})
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

func TestOnTaskEnd(t *testing.T) {
	r := seamRunner(t)
	var ends atomic.Int32
	end := func(p *Process) {
		if res, ok := p.Result(); !ok || res.ExitCode != 3 {
			t.Errorf("the result is not there: %+v %v", res, ok)
		}
		ends.Add(1)
	}
	dir := t.TempDir()
	if _, err := r.Run(context.Background(), Spec{Command: "exit 3", Dir: dir, OnTaskEnd: end}); err != nil {
		t.Fatal(err)
	}
	if ends.Load() != 0 {
		t.Error("called for a command in the foreground")
	}
	p, err := r.Start(context.Background(), Spec{Command: "exit 3", Dir: dir, Background: true, OnTaskEnd: end})
	if err != nil {
		t.Fatal(err)
	}
	<-p.gone
	p, err = r.Start(context.Background(), Spec{Command: "until test -e go; do sleep 0.01; done; exit 3", Dir: dir, OnTaskEnd: end})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.MoveToBackground(0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-p.gone
	if ends.Load() != 2 {
		t.Errorf("called %d times for two tasks", ends.Load())
	}
}

func TestProgramGetsTheCommandAsInput(t *testing.T) {
	r := seamRunner(t)
	dir := t.TempDir()
	res, err := r.Run(context.Background(), Spec{Command: "line 'one'\ntwo", Dir: dir, Label: "x", Program: []string{"/bin/sh", "-c", "cat; echo; pwd; exit $1", "sh", "6"}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(res.OutputFile)
	if err != nil || !strings.HasPrefix(string(data), "line 'one'\ntwo\n/") || res.ExitCode != 6 || res.NotRun || res.DirKnown {
		t.Errorf("%q %v %+v", data, err, res)
	}
	if _, err := r.Run(context.Background(), Spec{Command: "x", Dir: dir, Program: []string{"sh"}}); err == nil {
		t.Error("a relative program was run")
	}
}

func TestStdoutElsewhereAndHalt(t *testing.T) {
	r := seamRunner(t)
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	p, err := r.Start(context.Background(), Spec{Command: "echo out; echo err >&2; exec sleep 60", Dir: t.TempDir(), Background: true, Stdout: theirs})
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	if _, err := io.ReadFull(ours, b); err != nil || string(b) != "out\n" {
		t.Errorf("%q %v", b, err)
	}
	for deadline := time.Now().Add(10 * time.Second); p.Progress().Bytes < 4 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	p.Halt()
	p.Halt()
	res, err := p.Wait(context.Background())
	if err != nil || res.Killed != KilledStopped {
		t.Errorf("%+v %v", res, err)
	}
	if data, err := os.ReadFile(p.OutputFile()); err != nil || string(data) != "err\n" {
		t.Errorf("%q %v", data, err)
	}
}
