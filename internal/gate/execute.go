package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// Phase 5: the call itself, with the model's own input or what a hook put in
// its place.

func (r *run) execute(ctx context.Context) bool {
	start := time.Now()
	if ctx.Err() != nil {
		r.cancelled(PhaseExecute, start, ctx)
		return false
	}
	id := r.ticket.use.ID
	if j := r.gate.cfg.Journal; j != nil && !r.call.ReadOnly() {
		if err := j.Starting(id, r.call.Name(), r.call.Input()); err != nil {
			r.fail(PhaseExecute, tool.LayerTool, start, fmt.Sprintf("The call was not made: it could not be recorded first (%v).", err))
			return false
		}
		defer j.Finished(id)
	}
	r.env.OnProgress = func(p tool.Progress) {
		r.gate.cfg.Observe(Event{Kind: EventProgress, ID: id, Tool: r.call.Name(), AgentID: r.env.AgentID, Call: r.call, Progress: p, Time: time.Now()})
	}
	r.event(EventExecuting, nil)
	r.res.Ran, r.res.Start = true, time.Now()
	outcome, err := r.call.Run(ctx, r.env)
	r.res.End = time.Now()
	if outcome.Modify != nil && !r.slot.Alone() {
		outcome.Modify = nil
		err = cmp.Or(err, fmt.Errorf("%s did its work, but what it changes for later calls was not taken over, since other calls ran beside it; call it again by itself", r.call.Name()))
	}
	r.res.Outcome = outcome
	if err == nil {
		outcomeText := outcomeOK
		if outcome.IsError {
			outcomeText = outcomeError
		}
		r.res.Trace.add(PhaseExecute, start, outcomeText, "")
		return true
	}
	r.err = err
	if cause := context.Cause(ctx); cause != nil {
		r.res.Cancelled = true
		r.err = fmt.Errorf("%w (%s)", err, cancelText(cause))
		if errors.Is(err, context.Canceled) || errors.Is(err, cause) {
			r.err = fmt.Errorf("the call was stopped while it ran: %s; what it had begun may be done in part", cancelText(cause))
		}
	}
	var panicked *tool.PanicError
	if errors.As(err, &panicked) {
		r.gate.cfg.Log.Error("Tool panicked", "tool", panicked.Tool, "panic", fmt.Sprint(panicked.Value), "stack", string(panicked.Stack))
	}
	r.res.Trace.add(PhaseExecute, start, outcomeError, r.describe(r.err))
	return true // the failure hooks and the mapping still come
}

// cancelText says why a context ended, for the model.
func cancelText(cause error) string {
	switch {
	case cause == nil, errors.Is(cause, context.Canceled):
		return "the run was interrupted"
	case errors.Is(cause, context.DeadlineExceeded):
		return "the time for the run is over"
	}
	return cause.Error()
}
