package gate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/hook"
	"github.com/sevengate/sevengate/tool"
)

// Phase 3: the hooks before the call.

const hookPreToolUse = hook.PreToolUse

func (r *run) preHooks(ctx context.Context) bool {
	start := time.Now()
	hooks := r.gate.cfg.Hooks
	if hooks == nil || !hooks.Any(hook.PreToolUse) {
		r.slot.Settle()
		r.res.Trace.add(PhasePreHook, start, outcomeNone, "")
		return true
	}
	answer := hooks.PreToolUse(ctx, r.hookEvent())
	r.collect(answer.Common)
	detail := hookDetail(answer.Runs)
	if ctx.Err() != nil {
		r.cancelled(PhasePreHook, start, ctx)
		return false
	}
	switch answer.Behavior {
	case tool.Deny:
		r.deny(PhasePreHook, start, tool.Reason{Phase: string(PhasePreHook), Layer: tool.LayerHook, Source: answer.Source, Rule: answer.Hook,
			Message: fmt.Sprintf("A hook refused the call: %s", orNoReason(answer.Reason))})
		return false
	case hook.Defer:
		r.deny(PhasePreHook, start, tool.Reason{Phase: string(PhasePreHook), Layer: tool.LayerHook, Source: answer.Source, Rule: answer.Hook,
			Message: "A hook put the call off; it was not made."})
		r.res.Stop, r.res.StopReason = true, "tool_deferred"
		return false
	}
	if answer.UpdatedInput != nil {
		if err := r.replaceInput(ctx, answer.UpdatedInput, "a hook"); err != nil {
			r.fail(PhasePreHook, tool.LayerHook, start, r.describe(err))
			return false
		}
		r.hookInput = true
	} else {
		r.slot.Settle()
	}
	if answer.Stop {
		r.deny(PhasePreHook, start, tool.Reason{Phase: string(PhasePreHook), Layer: tool.LayerHook, Source: answer.Source, Rule: answer.Hook,
			Message: fmt.Sprintf("A hook stopped the work before the call: %s", orNoReason(answer.StopReason))})
		return false
	}
	reason := &tool.Reason{Phase: string(PhasePreHook), Layer: tool.LayerHook, Source: answer.Source, Rule: answer.Hook, Message: answer.Reason}
	outcome := outcomeOK
	switch {
	case answer.Behavior == tool.Allow:
		r.hookAllow, outcome = reason, string(tool.Allow)
	case answer.Behavior == tool.Ask:
		r.hookAsk, outcome = reason, string(tool.Ask)
	case answer.UpdatedInput != nil:
		outcome = outcomeChanged
	}
	r.res.Trace.add(PhasePreHook, start, outcome, detail)
	return true
}

func (r *run) hookEvent() hook.Event {
	return hook.Event{Call: r.call, ToolUseID: r.ticket.use.ID, PermissionMode: r.now.Mode, Cwd: r.now.Cwd,
		AgentID: r.env.AgentID, AgentType: r.env.AgentType}
}

// collect keeps what hooks say to the model and to the person.
func (r *run) collect(c hook.Common) {
	r.res.Context = append(r.res.Context, c.Context...)
	r.res.Notices = append(r.res.Notices, c.SystemMessages...)
	r.res.Notices = append(r.res.Notices, c.Problems()...)
	if c.Stop {
		r.res.Stop, r.res.StopReason = true, c.StopReason
	}
}

func hookDetail(runs []hook.Run) string {
	parts := make([]string, 0, len(runs))
	for _, run := range runs {
		s := run.Name + ": " + string(run.Outcome)
		if run.Behavior != "" {
			s += ", " + string(run.Behavior)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "; ")
}

func orNoReason(s string) string {
	if s == "" {
		return "it gave no reason."
	}
	return s
}
