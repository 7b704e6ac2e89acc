package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sevengate/sevengate/internal/hook"
)

// Phase 6: the hooks after the call; other ones after a failure.

// postHookGrace is how long the hooks after a call may take once the run was
// cancelled.
const postHookGrace = 5 * time.Second

func (r *run) postHooks(ctx context.Context) {
	start := time.Now()
	hooks := r.gate.cfg.Hooks
	event := hook.PostToolUse
	if r.err != nil {
		event = hook.PostToolUseFailure
	}
	if hooks == nil || !hooks.Any(event) {
		r.res.Trace.add(PhasePostHook, start, outcomeNone, "")
		return
	}
	if ctx.Err() != nil {
		// The work is done: whoever watches it is told, though not for long.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), postHookGrace)
		defer cancel()
	}
	took := r.res.End.Sub(r.res.Start)
	var answer hook.PostResult
	if r.err != nil {
		answer = hooks.PostToolUseFailure(ctx, r.hookEvent(), r.describe(r.err), r.res.Cancelled, took)
	} else {
		output, err := encodeOutput(r.res.Outcome.Data)
		if err != nil {
			r.gate.cfg.Log.Error("Output cannot be shown to hooks", "tool", r.call.Name(), "error", err)
			output = json.RawMessage("null")
		}
		answer = hooks.PostToolUse(ctx, r.hookEvent(), output, took)
	}
	r.collect(answer.Common)
	outcome := outcomeOK
	if answer.UpdatedOutput != nil && r.err == nil {
		changed, err := r.call.WithOutput(r.res.Outcome, answer.UpdatedOutput)
		if err != nil {
			r.res.Notices = append(r.res.Notices, fmt.Sprintf("A hook's new output was ignored: %v", err))
		} else {
			r.res.Outcome, outcome = changed, outcomeChanged
		}
	}
	if answer.Block {
		outcome = "block"
		r.res.Context = append(r.res.Context, fmt.Sprintf("A hook objects to the %s call: %s", r.call.Name(), orNoReason(answer.Reason)))
	}
	r.res.Trace.add(PhasePostHook, start, outcome, hookDetail(answer.Runs))
}

func encodeOutput(data any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil {
		return nil, err
	}
	if buf.Len() == 0 {
		return nil, errors.New("nothing to encode")
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}
