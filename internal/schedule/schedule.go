// Package schedule decides when each call of a message may start, from what
// the calls declare about their decoded input, never from a tool's name.
//
// There is one mechanism: a queue of bound calls in the model's order. A call
// starts when it conflicts with no earlier unfinished call and a slot is free.
// The policy is the conflict test. Streaming is the same queue, fed while the
// model still writes. Results leave in the model's order.
//
// The package does not check permissions and does not run tools itself: a job
// does, through the gate.
package schedule

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/sevengate/sevengate/tool"
)

// DefaultMax is how many calls run at once where nothing else is set.
const DefaultMax = 10

// Policy is the test of whether two calls may run side by side.
type Policy int

// The policies.
const (
	// Effects: neither may write what the other reads or writes, by real path.
	// What is not known conflicts with everything.
	Effects Policy = iota
	// Batches: both must be safe to run concurrently.
	Batches
)

// ParsePolicy reads the name of a policy; empty means Effects.
func ParsePolicy(name string) (Policy, bool) {
	switch name {
	case "", "effects":
		return Effects, true
	case "batches":
		return Batches, true
	}
	return 0, false
}

// Errors by which a call learns why it was cancelled, through
// [context.Cause].
var (
	// ErrSiblingFailed: a call beside it failed, and calls of its kind stop
	// each other.
	ErrSiblingFailed = errors.New("a call running beside it failed")
	// ErrTooLate is the answer of [Slot.Rebind] when the changed input touches
	// what a later call, already started, has used in the belief that it would
	// not.
	ErrTooLate = errors.New("its changed input conflicts with a call that has already started; send it again")
	// ErrInterrupted: the person interrupted.
	ErrInterrupted = errors.New("interrupted by the user")
)

// Job is one entry of the queue.
type Job[R any] interface {
	// Bind gives the call as it stands in a context. It is called when the job
	// is queued and again whenever the context changes before it starts. Nil
	// means that the job touches nothing, such as the answer to an unknown
	// tool.
	Bind(tool.Context) *tool.Call
	// MayChange tells whether the input may still be changed once the job has
	// started, as by a hook. No later job starts before such a job calls
	// [Slot.Settle] or [Slot.Rebind].
	MayChange() bool
	// Run carries the job out. It is called exactly once, also when ctx is
	// already done, and must return soon after ctx is done.
	Run(ctx context.Context, s *Slot) R
}

// Config says how a queue works. Only the zero value of Max and Policy have
// defaults; the functions may be nil where the need does not arise.
type Config[R any] struct {
	Max    int
	Policy Policy
	// Context is what calls are bound in.
	Context func() tool.Context
	// Modifier gives the change that a result makes to the context, or nil.
	// Apply carries it out. No call starts meanwhile.
	Modifier func(R) func(*tool.Context)
	Apply    func(func(*tool.Context))
	// Failed tells whether a result is a failure that stops siblings.
	Failed func(R) bool
}

// Queue runs the calls of one message. Its methods are safe for concurrent
// use.
type Queue[R any] struct {
	cfg    Config[R]
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	jobs    []*entry[R]
	running int           // slots in use
	sealed  int           // running jobs that must stay alone
	closed  bool          // no more jobs will come
	changed chan struct{} // closed and replaced when a job is added or the queue is closed
}

type state int

const (
	queued state = iota
	running
	rebinding // running, but waiting for the effects that a changed input needs
	finished
)

type entry[R any] struct {
	job        Job[R]
	call       *tool.Call
	claim      claim
	state      state
	unsettled  bool // its input may still change: conflicts with everything
	overlapped bool // another job ran at some time beside it
	cancel     context.CancelCauseFunc
	granted    chan struct{} // closed when a rebinding job may go on
	done       chan struct{}
	result     R
}

// New makes a queue. Cancelling ctx cancels running calls; those still queued
// are run with a cancelled context, so that each gives its result. Call
// [Queue.Close] when the last job was added.
func New[R any](ctx context.Context, cfg Config[R]) *Queue[R] {
	if cfg.Max <= 0 {
		cfg.Max = DefaultMax
	}
	if cfg.Context == nil {
		cfg.Context = func() tool.Context { return tool.Context{} }
	}
	q := &Queue[R]{cfg: cfg, changed: make(chan struct{})}
	q.ctx, q.cancel = context.WithCancelCause(ctx)
	return q
}

// Add puts a job at the end of the queue and starts it if it may start.
// Adding to a closed queue is a fault of the program and panics.
func (q *Queue[R]) Add(job Job[R]) {
	call := job.Bind(q.cfg.Context())
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		panic("schedule: Add after Close")
	}
	q.jobs = append(q.jobs, &entry[R]{job: job, call: call, claim: claimOf(call, q.cfg.Policy),
		unsettled: call != nil && job.MayChange(), done: make(chan struct{})})
	q.notify()
	q.pump()
}

// Close says that no more jobs will come.
func (q *Queue[R]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		q.notify()
	}
}

func (q *Queue[R]) notify() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// Results yields the results in the order of the jobs, each as soon as it and
// all before it are there; it ends when the queue is closed and empty. It
// always yields one result for each job, however they ended. If the caller
// stops early, the remaining jobs go on.
func (q *Queue[R]) Results() iter.Seq[R] {
	return func(yield func(R) bool) {
		for i := 0; ; i++ {
			q.mu.Lock()
			for i >= len(q.jobs) && !q.closed {
				changed := q.changed
				q.mu.Unlock()
				<-changed
				q.mu.Lock()
			}
			if i >= len(q.jobs) {
				q.mu.Unlock()
				q.wg.Wait()
				q.cancel(nil)
				return
			}
			e := q.jobs[i]
			q.mu.Unlock()
			<-e.done
			if !yield(e.result) {
				return
			}
		}
	}
}

// Wait closes the queue, waits for every job and returns the results in order.
func (q *Queue[R]) Wait() []R {
	q.Close()
	out := make([]R, 0, len(q.jobs))
	for r := range q.Results() {
		out = append(out, r)
	}
	return out
}

// Interrupt is for a person who writes while calls run: running calls that
// declare it are stopped, the others finish; what has not started will not do
// its work, but still gives its result.
func (q *Queue[R]) Interrupt() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.jobs {
		switch {
		case e.state == running || e.state == rebinding:
			if e.call != nil && e.call.Tool().Facts().Interrupt == tool.InterruptCancel {
				e.cancel(ErrInterrupted)
			}
		case e.state == queued:
			ctx, cancel := context.WithCancelCause(q.ctx)
			cancel(ErrInterrupted)
			q.startIn(e, ctx, cancel)
		}
	}
}

// pump starts every queued job that may start. q.mu is held.
func (q *Queue[R]) pump() {
	for i, e := range q.jobs {
		if e.state == rebinding && q.running < q.cfg.Max && q.mayStart(i) {
			e.state = running
			q.running++
			close(e.granted)
		}
	}
	for i, e := range q.jobs {
		if e.state != queued {
			continue
		}
		cancelled := q.ctx.Err() != nil
		if !cancelled && (q.sealed > 0 || q.running >= q.cfg.Max) {
			return
		}
		if cancelled || q.mayStart(i) {
			ctx, cancel := context.WithCancelCause(q.ctx)
			q.startIn(e, ctx, cancel)
		}
	}
}

// mayStart: no earlier unfinished job conflicts.
func (q *Queue[R]) mayStart(i int) bool {
	e := q.jobs[i]
	for _, earlier := range q.jobs[:i] {
		if earlier.state == finished || e.claim.nothing {
			continue
		}
		if earlier.unsettled || conflict(q.cfg.Policy, earlier.claim, e.claim) {
			return false
		}
	}
	return true
}

func (q *Queue[R]) startIn(e *entry[R], ctx context.Context, cancel context.CancelCauseFunc) {
	e.state, e.cancel = running, cancel
	q.running++
	for _, other := range q.jobs {
		if other != e && (other.state == running || other.state == rebinding) {
			other.overlapped, e.overlapped = true, true
		}
	}
	q.wg.Go(func() {
		slot := &Slot{
			settle: func() { q.settle(e) },
			rebind: func(ctx context.Context, c *tool.Call) error { return q.rebind(ctx, e, c) },
			alone:  func() bool { return q.claimAlone(e) },
		}
		result := e.job.Run(ctx, slot)
		q.finish(e, result, slot.sealed)
		cancel(nil)
	})
}

func (q *Queue[R]) finish(e *entry[R], result R, sealed bool) {
	var modify func(*tool.Context)
	if q.cfg.Modifier != nil {
		modify = q.cfg.Modifier(result)
	}
	if modify != nil && q.cfg.Apply != nil {
		q.cfg.Apply(modify)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.state == running {
		q.running--
	}
	if sealed {
		q.sealed--
	}
	e.state, e.result, e.unsettled = finished, result, false
	if q.cfg.Failed != nil && q.cfg.Failed(result) && abortsSiblings(e.call) {
		for _, s := range q.jobs {
			if (s.state == running || s.state == rebinding) && abortsSiblings(s.call) {
				s.cancel(ErrSiblingFailed)
			}
		}
	}
	switch {
	case modify != nil:
		ctx := q.cfg.Context()
		for _, s := range q.jobs {
			if s.state == queued {
				s.call = s.job.Bind(ctx)
				s.claim = claimOf(s.call, q.cfg.Policy)
			}
		}
	case e.claim.writes() && q.cfg.Policy == Effects:
		// What was written may have been a link: real paths are looked up anew.
		for _, s := range q.jobs {
			if s.state != finished {
				s.claim = claimOf(s.call, q.cfg.Policy)
			}
		}
	}
	close(e.done)
	q.pump()
}

func abortsSiblings(c *tool.Call) bool { return c != nil && c.Tool().Facts().AbortsSiblings }

func (q *Queue[R]) settle(e *entry[R]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.unsettled {
		e.unsettled = false
		q.pump()
	}
}

// rebind gives a running job another call, and waits until it may execute it.
// It waits for earlier jobs only, so that two never wait for each other.
func (q *Queue[R]) rebind(ctx context.Context, e *entry[R], call *tool.Call) error {
	q.mu.Lock()
	wanted := claimOf(call, q.cfg.Policy)
	for i := len(q.jobs) - 1; i >= 0 && q.jobs[i] != e; i-- {
		later := q.jobs[i]
		if later.state != queued && conflict(q.cfg.Policy, later.claim, wanted) {
			q.mu.Unlock()
			return ErrTooLate
		}
	}
	e.call, e.claim, e.unsettled = call, wanted, false
	e.state, e.granted = rebinding, make(chan struct{})
	q.running-- // a job that waits must not keep the one it waits for from starting
	q.pump()
	granted := e.granted
	q.mu.Unlock()
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// claimAlone tells whether no other job has run beside e, and if so keeps it
// that way until e is finished.
func (q *Queue[R]) claimAlone(e *entry[R]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.overlapped {
		return false
	}
	q.sealed++
	return true
}

// Slot is what a running job may ask of the queue. Its methods are for the
// goroutine of the job only.
type Slot struct {
	settle func()
	rebind func(context.Context, *tool.Call) error
	alone  func() bool
	sealed bool
}

// Settle tells that the input will not change any more. A nil Slot ignores it.
func (s *Slot) Settle() {
	if s != nil && s.settle != nil {
		s.settle()
	}
}

// Rebind tells that the input changed, so that the job will now make another
// call, and waits until that call may run. Call it before the work begins. A
// nil Slot allows it at once.
func (s *Slot) Rebind(ctx context.Context, call *tool.Call) error {
	if s == nil || s.rebind == nil {
		return nil
	}
	return s.rebind(ctx, call)
}

// Alone tells whether the job ran beside no other; from then on none starts
// until it is finished. A nil Slot is alone.
func (s *Slot) Alone() bool {
	if s == nil || s.alone == nil || s.sealed {
		return true
	}
	s.sealed = s.alone()
	return s.sealed
}
