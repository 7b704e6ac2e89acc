package agent

import (
	"context"
	"sync"

	"github.com/sevengate/sevengate/internal/gate"
	"github.com/sevengate/sevengate/internal/schedule"
	"github.com/sevengate/sevengate/tool"
)

// Line runs calls that come one by one, from several goroutines, and schedules
// them against each other like those of one message. It is safe for concurrent
// use.
type Line struct {
	gate   *gate.Gate
	conv   *gate.Conversation
	policy schedule.Policy
	max    int

	mu    sync.Mutex
	queue *schedule.Queue[*gate.Result] // while calls are under way
	busy  int
}

// NewLine makes a line.
func NewLine(g *gate.Gate, c *gate.Conversation, p schedule.Policy, max int) *Line {
	return &Line{gate: g, conv: c, policy: p, max: max}
}

// lineJob is a job that tells when it is done, and that its caller can cancel.
type lineJob struct {
	job
	ctx  context.Context
	done chan *gate.Result
}

func (j lineJob) Run(ctx context.Context, s *schedule.Slot) *gate.Result {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(j.ctx, func() { cancel(context.Cause(j.ctx)) })()
	r := j.job.Run(ctx, s)
	j.done <- r
	return r
}

// Do makes a call and waits for its result. When ctx ends, the call is stopped,
// and the result says so.
func (l *Line) Do(ctx context.Context, use tool.Block) *gate.Result {
	j := lineJob{job{l.gate.Admit(l.conv, use)}, ctx, make(chan *gate.Result, 1)}
	l.mu.Lock()
	if l.queue == nil {
		l.queue = NewQueue(context.Background(), l.conv, l.policy, l.max)
	}
	queue := l.queue
	l.busy++
	queue.Add(j)
	l.mu.Unlock()
	r := <-j.done
	l.mu.Lock()
	if l.busy--; l.busy == 0 {
		l.queue = nil // a queue keeps its jobs: the next call gets a new one
	} else {
		queue = nil
	}
	l.mu.Unlock()
	if queue != nil {
		queue.Wait()
	}
	return r
}
