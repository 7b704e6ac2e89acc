package hook

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// PreToolUse runs the hooks before a call. ev.Call must be set.
func (r *Runner) PreToolUse(ctx context.Context, ev Event) PreResult {
	if !r.Any(PreToolUse) {
		return PreResult{}
	}
	f, jobs := r.fire(ctx, PreToolUse, toolName(ev), ev, nil)
	if f == nil {
		return PreResult{}
	}
	res := PreResult{Common: f.common(jobs)}
	win := strictest(jobs)
	if win != nil {
		res.Behavior, res.Hook, res.Source = win.behavior, win.run.Name, win.run.Source
		res.Reason = f.reasons(jobs, func(a *answer) bool { return a.behavior == win.behavior })
	}
	if res.Behavior != tool.Deny {
		res.UpdatedInput = lastOf(jobs, (*answer).updatedInput)
	}
	return res
}

// PostToolUse runs the hooks after a call that succeeded; output is the tool's
// structured output.
func (r *Runner) PostToolUse(ctx context.Context, ev Event, output json.RawMessage, took time.Duration) PostResult {
	return r.post(ctx, PostToolUse, ev, func() map[string]any {
		return map[string]any{"tool_response": asJSON(output), "duration_ms": took.Milliseconds()}
	})
}

// PostToolUseFailure runs the hooks after a call that failed once it had
// started. errText is cut in its middle when it is long.
func (r *Runner) PostToolUseFailure(ctx context.Context, ev Event, errText string, interrupted bool, took time.Duration) PostResult {
	return r.post(ctx, PostToolUseFailure, ev, func() map[string]any {
		return map[string]any{"error": middle(errText), "is_interrupt": interrupted, "duration_ms": took.Milliseconds()}
	})
}

func (r *Runner) post(ctx context.Context, event string, ev Event, fields func() map[string]any) PostResult {
	if !r.Any(event) {
		return PostResult{}
	}
	f, jobs := r.fire(ctx, event, toolName(ev), ev, fields)
	if f == nil {
		return PostResult{}
	}
	res := PostResult{Common: f.common(jobs)}
	res.Block, res.Reason = f.blocked(jobs)
	mcp := ev.Call != nil && ev.Call.Tool().Facts().Origin != nil
	res.UpdatedOutput = lastOf(jobs, func(a *answer) []byte {
		s := a.out.specific
		switch {
		case s == nil:
			return nil
		case s.UpdatedToolOutput == nil && mcp:
			return s.UpdatedMCPToolOutput
		}
		return s.UpdatedToolOutput
	})
	var notes []string
	for _, j := range jobs {
		if s := j.done.out.specific; s != nil && s.ClassifierContext != "" {
			notes = append(notes, s.ClassifierContext)
		}
	}
	res.ClassifierContext = firstRunes(strings.ToValidUTF8(strings.Join(notes, "\n"), "\uFFFD"), maxClassifier)
	return res
}

// Fire runs the hooks of any event. matchValue is what matchers are compared
// with; fields are the event's own fields, and may hold agent_id, agent_type
// and permission_mode. Use [Runner.FireCall] for events about a call.
func (r *Runner) Fire(ctx context.Context, event, matchValue string, fields map[string]any) Result {
	ev := Event{}
	ev.AgentID, _ = fields["agent_id"].(string)
	ev.AgentType, _ = fields["agent_type"].(string)
	ev.PermissionMode, _ = fields["permission_mode"].(string)
	ev.Cwd, _ = fields["cwd"].(string)
	ev.ToolUseID, _ = fields["tool_use_id"].(string)
	return r.general(ctx, event, matchValue, ev, fields)
}

// FireCall is [Runner.Fire] for events about a call, such as PermissionRequest:
// the matcher is compared with the tool's name, and conditions with the call.
func (r *Runner) FireCall(ctx context.Context, event string, ev Event, fields map[string]any) Result {
	return r.general(ctx, event, toolName(ev), ev, fields)
}

func (r *Runner) general(ctx context.Context, event, value string, ev Event, fields map[string]any) Result {
	if !r.Any(event) {
		return Result{}
	}
	f, jobs := r.fire(ctx, event, value, ev, func() map[string]any { return maps.Clone(fields) })
	if f == nil {
		return Result{}
	}
	res := Result{Common: f.common(jobs)}
	if win := strictest(jobs); win != nil {
		res.Behavior = win.behavior
		res.Reason = f.reasons(jobs, func(a *answer) bool { return a.behavior == win.behavior })
		res.Block = win.behavior == tool.Deny
	}
	if block, reason := f.blocked(jobs); block {
		res.Block, res.Reason = true, reason
	}
	if res.Behavior != tool.Deny {
		res.UpdatedInput = lastOf(jobs, (*answer).updatedInput)
	}
	for _, j := range jobs {
		a := j.done
		if res.Path == "" {
			res.Path = a.path
		}
		s := a.out.specific
		if s == nil {
			continue
		}
		s.SessionTitle = clip(s.SessionTitle, maxTitle)
		res.Specific = append(res.Specific, *s)
		res.Retry = res.Retry || s.Retry
		if d := s.Decision; d != nil {
			if d.Behavior == tool.Allow && res.Behavior == tool.Allow {
				res.UpdatedPermissions = append(res.UpdatedPermissions, d.UpdatedPermissions...)
			}
			res.Interrupt = res.Interrupt || d.Behavior == tool.Deny && d.Interrupt
		}
	}
	return res
}

func toolName(ev Event) string {
	if ev.Call == nil {
		return ""
	}
	return ev.Call.Name()
}

// common merges what all events have.
func (f *firing) common(jobs []job) Common {
	var c Common
	for _, j := range jobs {
		a := j.done
		c.Runs = append(c.Runs, a.run)
		for _, text := range a.context {
			if text != "" {
				c.Context = append(c.Context, f.r.shorten(f.event, text))
			}
		}
		if text := a.out.systemMessage; text != "" {
			c.SystemMessages = append(c.SystemMessages, f.r.shorten(f.event, text))
		}
		if seq := a.out.terminalSequence; seq != "" && len(seq) <= maxTerminalBytes {
			if seq, ok := terminalSequence(seq); ok {
				c.TerminalSequences = append(c.TerminalSequences, seq)
			}
		}
		if a.stop && !c.Stop {
			c.Stop, c.StopReason = true, f.r.shorten(f.event, a.stopReason)
		}
	}
	return c
}

// strictest is the first answer with the strictest behaviour, nil when no
// handler had one.
func strictest(jobs []job) *answer {
	for _, b := range []tool.Behavior{tool.Deny, Defer, tool.Ask, tool.Allow} {
		for _, j := range jobs {
			if j.done.behavior == b {
				return j.done
			}
		}
	}
	return nil
}

func (f *firing) blocked(jobs []job) (bool, string) {
	if !slices.ContainsFunc(jobs, func(j job) bool { return j.done.block }) {
		return false, ""
	}
	return true, f.reasons(jobs, func(a *answer) bool { return a.block })
}

// reasons joins the different reasons of the answers that count.
func (f *firing) reasons(jobs []job, counts func(*answer) bool) string {
	var out []string
	for _, j := range jobs {
		if a := j.done; counts(a) && a.reason != "" && !slices.Contains(out, a.reason) {
			out = append(out, a.reason)
		}
	}
	return f.r.shorten(f.event, strings.Join(out, "\n"))
}

func lastOf(jobs []job, get func(*answer) []byte) json.RawMessage {
	for _, j := range slices.Backward(jobs) {
		if v := get(j.done); v != nil {
			return v
		}
	}
	return nil
}
