package gate

import (
	"context"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/tool"
)

// run is one call on its way.
type run struct {
	gate   *Gate
	conv   *Conversation
	slot   Slot
	ticket *Ticket
	now    tool.Context
	env    *tool.Env
	call   *tool.Call
	res    *Result
	err    error // of the execution

	hookInput          bool
	hookAllow, hookAsk *tool.Reason
}

// phases is the whole way of a call. A phase that ends it has set the result.
func (r *run) phases(ctx context.Context) {
	r.now = r.conv.Context()
	env := r.conv.env
	env.ToolUseID, env.Place = r.ticket.use.ID, r.conv.place(r.now)
	if env.Log == nil {
		env.Log = r.gate.cfg.Log
	}
	if env.AskPermission == nil {
		env.AskPermission = r.askMidway
	}
	r.env = &env
	if s := r.ticket.stop; s != nil {
		r.res.Block = errorResult(r.ticket.use.ID, s.message)
		r.res.Decision.Verdict = tool.Verdict{Behavior: tool.Deny, Reason: tool.Reason{Phase: string(s.phase), Layer: s.layer, Message: s.message}}
		return
	}
	if ctx.Err() != nil {
		r.cancelled(PhaseValidate, time.Now(), ctx)
		return
	}
	r.event(EventRunning, nil)
	if !r.validate(ctx) || !r.preHooks(ctx) || !r.permit(ctx) || !r.execute(ctx) {
		return
	}
	r.postHooks(ctx)
	r.mapResult()
}

func (r *run) finish() {
	if r.res.Block.Type == "" {
		r.res.Block = errorResult(r.ticket.use.ID, "The call gave no result.")
	}
	r.res.Call = r.call
	r.event(EventDone, r.res)
}

func (r *run) setCall(c *tool.Call) { r.call, r.res.Call = c, c }

func (r *run) event(kind EventKind, res *Result) {
	r.gate.cfg.Observe(Event{Kind: kind, ID: r.ticket.use.ID, Tool: r.ticket.use.Name, AgentID: r.conv.env.AgentID, Call: r.call, Result: res, Time: time.Now()})
}

// fail ends the call in a phase before the execution.
func (r *run) fail(p Phase, layer tool.Layer, start time.Time, message string) {
	r.res.Trace.add(p, start, outcomeError, message)
	if r.res.Decision.Behavior == "" || layer == tool.LayerValidate {
		r.res.Decision.Verdict = tool.Verdict{Behavior: tool.Deny, Reason: tool.Reason{Phase: string(p), Layer: layer, Message: message}}
	}
	r.res.Block = errorResult(r.ticket.use.ID, message)
}

// deny ends the call with a refusal.
func (r *run) deny(p Phase, start time.Time, reason tool.Reason) {
	if reason.Message == "" {
		reason.Message = "The call was refused."
	}
	r.res.Denied = true
	r.res.Decision.Behavior, r.res.Decision.Reason = tool.Deny, reason
	r.res.Trace.add(p, start, string(tool.Deny), reasonDetail(reason))
	r.res.Block = errorResult(r.ticket.use.ID, reason.Message)
}

// cancelled ends a call that was not begun.
func (r *run) cancelled(p Phase, start time.Time, ctx context.Context) {
	message := "The call was not made: " + cancelText(context.Cause(ctx)) + "."
	r.res.Cancelled = true
	r.res.Trace.add(p, start, "cancelled", message)
	r.res.Block = errorResult(r.ticket.use.ID, message)
}

// describe is an error's text for the model, never empty.
func (r *run) describe(err error) string {
	if s := strings.TrimSpace(err.Error()); s != "" {
		return s
	}
	return "It failed without saying why."
}

func errorResult(id, message string) tool.Block {
	return tool.ToolResult(id, true, clean([]tool.Block{tool.TextBlock(message)})...)
}

// askMidway answers a tool that finds, while it runs, that it needs a
// permission: rules and modes are consulted as in phase 4, and what remains is
// a question.
func (r *run) askMidway(ctx context.Context, q tool.Question) (tool.Verdict, error) {
	mode, err := permission.ParseMode(r.now.Mode)
	if err != nil {
		mode = permission.ModeDefault
	}
	prompter := r.gate.cfg.Prompter
	d := permission.Decision{Verdict: tool.AskCall(q.Message)}
	if len(q.Subjects) > 0 || mode == permission.ModeDontAsk {
		d = r.gate.cfg.Policy.Decide(ctx, permission.Request{Call: r.call, Env: r.env, Mode: mode, Place: r.call.Place(), Subjects: q.Subjects,
			Interactive: prompter != nil && !r.env.NonInteractive, BypassAvailable: r.gate.cfg.BypassAvailable, ForceAsk: r.env.ForcePermission})
	}
	if d.Behavior != tool.Ask {
		return d.Verdict, nil
	}
	if prompter == nil || r.env.NonInteractive {
		d.Reason.Message = q.Message
		return tool.DenyCall(unanswered(d)), nil
	}
	select {
	case <-r.gate.prompted:
		defer func() { r.gate.prompted <- struct{}{} }()
	case <-ctx.Done():
		return tool.Verdict{}, context.Cause(ctx)
	}
	if q.Message != "" {
		d.Reason.Message = q.Message
	}
	answer, err := prompter.Prompt(ctx, Question{Call: r.call, ToolUseID: r.ticket.use.ID, AgentID: r.env.AgentID, Mode: mode, Decision: d})
	if err != nil {
		return tool.Verdict{}, err
	}
	for _, g := range answer.Grants {
		if err := r.grant(g); err != nil {
			r.res.Notices = append(r.res.Notices, err.Error())
		}
	}
	switch {
	case answer.Behavior == tool.Allow:
		return tool.Verdict{Behavior: tool.Allow}, nil
	case answer.Message != "":
		return tool.DenyCall("The user refused: " + answer.Message), nil
	}
	return tool.DenyCall("The user refused."), nil
}
