package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// act is a call whose facts and work are given in Go.
type act struct {
	effects tool.Effects
	safe    bool
	aborts  bool
	cancels bool // interrupt behaviour
	run     func(ctx context.Context, s *Slot) error
}

type none struct{}

func (a *act) Bind(tool.Context) *tool.Call {
	interrupt := tool.InterruptBlock
	if a.cancels {
		interrupt = tool.InterruptCancel
	}
	t := tool.Define(tool.Def[none, none]{
		Name: "Act", AbortsSiblings: a.aborts, Interrupt: interrupt,
		ConcurrencySafe: func(none) bool { return a.safe },
		Effects:         func(none) tool.Effects { return a.effects },
		Call:            func(context.Context, none, *tool.Env) (tool.Result[none], error) { return tool.OK(none{}), nil },
	})
	c, err := t.Bind(json.RawMessage("{}"), tool.Place{Cwd: "/"})
	if err != nil {
		panic(err)
	}
	return c
}

func (a *act) MayChange() bool { return false }

func (a *act) Run(ctx context.Context, s *Slot) error { return a.run(ctx, s) }

func failed(err error) bool { return err != nil }

func TestCapAndParallelism(t *testing.T) {
	for _, p := range []Policy{Effects, Batches} {
		var now, peak atomic.Int32
		gate := make(chan struct{})
		q := New(context.Background(), Config[error]{Policy: p})
		for range 25 {
			q.Add(&act{effects: tool.Reads("/x"), safe: true, run: func(context.Context, *Slot) error {
				n := now.Add(1)
				for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
				}
				<-gate
				now.Add(-1)
				return nil
			}})
		}
		for now.Load() < DefaultMax {
			time.Sleep(time.Millisecond)
		}
		close(gate)
		if got := len(q.Wait()); got != 25 || peak.Load() != DefaultMax {
			t.Errorf("policy %v: %d results, %d at once; want 25 and %d", p, got, peak.Load(), DefaultMax)
		}
	}
}

func TestResultsLeaveInOrderWhileStreaming(t *testing.T) {
	q := New(context.Background(), Config[int]{})
	release := make(chan struct{})
	q.Add(numbered(0, func() { <-release }))
	q.Add(numbered(1, nil))
	var got []int
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range q.Results() {
			got = append(got, n)
		}
	}()
	close(release)
	q.Add(numbered(2, nil))
	q.Close()
	<-done
	if !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("order %v", got)
	}
}

type numberedJob struct {
	n  int
	do func()
}

func numbered(n int, do func()) *numberedJob { return &numberedJob{n, do} }

func (j *numberedJob) Bind(tool.Context) *tool.Call { return nil }

func (j *numberedJob) MayChange() bool { return false }

func (j *numberedJob) Run(context.Context, *Slot) int {
	if j.do != nil {
		j.do()
	}
	return j.n
}

func TestFailureStopsRunningSiblingsOfItsKindOnly(t *testing.T) {
	q := New(context.Background(), Config[error]{Failed: failed})
	wait := func(ctx context.Context, _ *Slot) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Second):
			return errors.New("was not stopped")
		}
	}
	stop := make(chan struct{})
	other := func(ctx context.Context, _ *Slot) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-stop:
			return nil
		}
	}
	q.Add(&act{effects: tool.Nothing(), aborts: true, run: wait})
	q.Add(&act{effects: tool.Nothing(), run: other})
	q.Add(&act{effects: tool.Nothing(), aborts: true, run: func(context.Context, *Slot) error { return errors.New("exit 1") }})
	q.Add(&act{aborts: true, run: func(ctx context.Context, _ *Slot) error { return ctx.Err() }}) // queued: not a running sibling
	q.Close()
	var got []error
	for err := range q.Results() {
		if len(got) == 0 {
			close(stop)
		}
		got = append(got, err)
	}
	if !errors.Is(got[0], ErrSiblingFailed) || got[1] != nil || got[2] == nil || got[3] != nil {
		t.Errorf("got %v", got)
	}
}

func TestCancellationStillGivesEveryResult(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	q := New(ctx, Config[error]{})
	started := make(chan struct{})
	var once sync.Once
	for range 30 {
		q.Add(&act{run: func(ctx context.Context, _ *Slot) error {
			once.Do(func() { close(started) })
			<-ctx.Done()
			return ctx.Err()
		}})
	}
	<-started
	cancel()
	got := q.Wait()
	if len(got) != 30 || slices.Contains(got, nil) {
		t.Errorf("got %v", got)
	}
}

func TestInterruptCancelsOrWaitsAsDeclared(t *testing.T) {
	q := New(context.Background(), Config[error]{})
	finish, stopped := make(chan struct{}), make(chan struct{})
	q.Add(&act{effects: tool.Nothing(), run: func(ctx context.Context, _ *Slot) error {
		<-finish
		return ctx.Err()
	}})
	q.Add(&act{effects: tool.Nothing(), cancels: true, run: func(ctx context.Context, _ *Slot) error {
		<-ctx.Done()
		close(stopped)
		return context.Cause(ctx)
	}})
	q.Add(&act{run: func(ctx context.Context, _ *Slot) error { return context.Cause(ctx) }})
	q.Interrupt()
	<-stopped
	close(finish)
	got := q.Wait()
	if got[0] != nil || !errors.Is(got[1], ErrInterrupted) || !errors.Is(got[2], ErrInterrupted) {
		t.Errorf("got %v", got)
	}
}

// Calls that grow to need what the others have must not wait for each other,
// even when there is a single slot, and must not run at once.
func TestGrowingClaimsDoNotDeadlock(t *testing.T) {
	for _, limit := range []int{1, 2, 10} {
		q := New(context.Background(), Config[error]{Max: limit})
		var mu sync.Mutex
		busy := 0
		grow := func(from string) *growing {
			return &growing{act{effects: tool.Writes(from), run: func(ctx context.Context, s *Slot) error {
				wide := (&act{effects: tool.Writes("/a", "/b", "/c")}).Bind(tool.Context{})
				if err := s.Rebind(ctx, wide); err != nil {
					return err
				}
				mu.Lock()
				busy++
				clash := busy > 1
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				busy--
				mu.Unlock()
				if clash {
					return errors.New("two wide calls at once")
				}
				return nil
			}}}
		}
		for range 4 {
			q.Add(grow("/a"))
			q.Add(grow("/b"))
			q.Add(grow("/c"))
		}
		for i, err := range q.Wait() {
			if err != nil {
				t.Errorf("max %d: job %d: %v", limit, i, err)
			}
		}
	}
}

type growing struct{ act }

func (*growing) MayChange() bool { return true }

func TestRealPaths(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "real", "sub"), 0o755),
		os.WriteFile(filepath.Join(dir, "real", "f"), nil, 0o644),
		os.Symlink("real", filepath.Join(dir, "link")),
		os.Symlink("real/new", filepath.Join(dir, "dangling")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
		os.Link(filepath.Join(dir, "real", "f"), filepath.Join(dir, "hard")),
	} {
		if err != nil {
			t.Skipf("links cannot be made here: %v", err)
		}
	}
	for _, c := range []struct {
		write, read string
		want        bool
	}{
		{"real/f", "link/f", true},
		{"link/sub/new", "real/sub", true},
		{"dangling", "real/new", true},
		{"hard", "real/f", true},
		{"real", "real2", false},
		{"real/f", "real/fx", false},
		{"loop", "real", false},
	} {
		a := (&act{effects: tool.Writes(filepath.Join(dir, c.write))}).Bind(tool.Context{})
		b := (&act{effects: tool.Reads(filepath.Join(dir, c.read))}).Bind(tool.Context{})
		if got := conflict(Effects, claimOf(a, Effects), claimOf(b, Effects)); got != c.want {
			t.Errorf("write %s, read %s: conflict = %v, want %v", c.write, c.read, got, c.want)
		}
	}
}

func BenchmarkThroughput(b *testing.B) {
	job := &act{effects: tool.Reads("/x"), run: func(context.Context, *Slot) error { return nil }}
	for b.Loop() {
		q := New(context.Background(), Config[error]{})
		for range 100 {
			q.Add(job)
		}
		q.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*100), "ns/call")
}
