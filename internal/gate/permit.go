package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/hook"
	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/tool"
)

// Phase 4: may the call run.

// Question is what a person is asked.
type Question struct {
	Call      *tool.Call
	ToolUseID string
	AgentID   string
	Mode      permission.Mode
	Decision  permission.Decision
}

// Answer is what a person, or whoever stands for one, said.
type Answer struct {
	// Behavior is Allow or Deny; anything else is taken as Deny.
	Behavior tool.Behavior
	// Message tells the model why, on a refusal.
	Message string
	// UpdatedInput replaces the input of an allowed call.
	UpdatedInput json.RawMessage
	// Grants are rules that hold from now on.
	Grants []Grant
	// Mode, when set, is the permission mode from now on.
	Mode permission.Mode
	// Interrupt ends the turn after a refusal.
	Interrupt bool
}

// Grant is a rule that a person added with an answer.
type Grant struct {
	Behavior tool.Behavior
	Rule     string
	// Save writes it to the local settings; otherwise it lasts for the session.
	Save bool
}

// Prompter puts a question to a person. It is asked one question at a time. An
// error is a refusal.
type Prompter interface {
	Prompt(ctx context.Context, q Question) (Answer, error)
}

func (r *run) decide(ctx context.Context) permission.Decision {
	mode, err := permission.ParseMode(r.now.Mode)
	if err != nil {
		mode = permission.ModeDefault
	}
	d := r.gate.cfg.Policy.Decide(ctx, permission.Request{
		Call: r.call, Env: r.env, Mode: mode, Place: r.call.Place(), HookAllow: r.hookAllow, HookAsk: r.hookAsk,
		Interactive:     r.gate.cfg.Prompter != nil && !r.env.NonInteractive,
		BypassAvailable: r.gate.cfg.BypassAvailable, ForceAsk: r.env.ForcePermission,
	})
	d.Reason.Phase = string(PhasePermit)
	r.res.Decision = d
	return d
}

func (r *run) permit(ctx context.Context) bool {
	start := time.Now()
	d := r.decide(ctx)
	if ctx.Err() != nil {
		r.cancelled(PhasePermit, start, ctx)
		return false
	}
	if d.Behavior == tool.Ask {
		return r.ask(ctx, d, start)
	}
	return r.settle(ctx, d, start)
}

// settle acts on a decision that needs nobody.
func (r *run) settle(ctx context.Context, d permission.Decision, start time.Time) bool {
	if d.Behavior != tool.Allow {
		r.deny(PhasePermit, start, d.Reason)
		return false
	}
	if d.UpdatedInput != nil {
		if err := r.replaceInput(ctx, d.UpdatedInput, "the permission check"); err != nil {
			r.fail(PhasePermit, d.Reason.Layer, start, r.describe(err))
			return false
		}
	}
	r.res.Trace.add(PhasePermit, start, string(tool.Allow), reasonDetail(d.Reason))
	return true
}

// ask puts the question: first to hooks, then to the person.
func (r *run) ask(ctx context.Context, d permission.Decision, start time.Time) bool {
	if done, ok := r.askHooks(ctx, d, start); done {
		return ok
	}
	prompter := r.gate.cfg.Prompter
	if prompter == nil {
		reason := d.Reason
		reason.Message = unanswered(d)
		r.deny(PhasePermit, start, reason)
		return false
	}
	select {
	case <-r.gate.prompted:
		defer func() { r.gate.prompted <- struct{}{} }()
	case <-ctx.Done():
		r.cancelled(PhasePermit, start, ctx)
		return false
	}
	// The answer to an earlier question may have settled this one.
	if d = r.decide(ctx); d.Behavior != tool.Ask {
		return r.settle(ctx, d, start)
	}
	r.event(EventAsking, nil)
	answer, err := prompter.Prompt(ctx, Question{Call: r.call, ToolUseID: r.ticket.use.ID, AgentID: r.env.AgentID,
		Mode: permission.Mode(r.now.Mode), Decision: d})
	if ctx.Err() != nil {
		r.cancelled(PhasePermit, start, ctx)
		return false
	}
	if err != nil {
		answer = Answer{Behavior: tool.Deny, Message: fmt.Sprintf("nobody could be asked (%v).", err)}
	}
	for _, g := range answer.Grants {
		if err := r.grant(g); err != nil {
			r.res.Notices = append(r.res.Notices, err.Error())
		}
	}
	if answer.Mode != "" {
		r.conv.Apply(func(c *tool.Context) { c.Mode = string(answer.Mode) })
	}
	if answer.Behavior != tool.Allow {
		reason := d.Reason
		reason.Message = "The user refused the call."
		if answer.Message != "" {
			reason.Message = "The user refused the call: " + answer.Message
		}
		r.res.Stop = r.res.Stop || answer.Interrupt
		r.deny(PhasePermit, start, reason)
		return false
	}
	if answer.UpdatedInput != nil {
		if err := r.replaceInput(ctx, answer.UpdatedInput, "the user"); err != nil {
			r.fail(PhasePermit, d.Reason.Layer, start, r.describe(err))
			return false
		}
		// What a person changed is the person's, but no deny rule is passed so.
		if again := r.decide(ctx); again.Behavior == tool.Deny {
			r.deny(PhasePermit, start, again.Reason)
			return false
		}
	}
	r.res.Trace.add(PhasePermit, start, string(tool.Allow), "the user agreed")
	return true
}

// askHooks lets PermissionRequest hooks answer. done is false when they do not.
func (r *run) askHooks(ctx context.Context, d permission.Decision, start time.Time) (done, ok bool) {
	hooks := r.gate.cfg.Hooks
	if hooks == nil || !hooks.Any(hook.PermissionRequest) {
		return false, false
	}
	answer := hooks.FireCall(ctx, hook.PermissionRequest, r.hookEvent(), map[string]any{"permission_suggestions": suggestionUpdates(d.Suggestions)})
	r.collect(answer.Common)
	if ctx.Err() != nil {
		r.cancelled(PhasePermit, start, ctx)
		return true, false
	}
	switch {
	case answer.Block, answer.Behavior == tool.Deny:
		reason := tool.Reason{Phase: string(PhasePermit), Layer: tool.LayerHook, Message: "A hook refused the call: " + orNoReason(answer.Reason)}
		r.res.Stop = r.res.Stop || answer.Interrupt
		r.deny(PhasePermit, start, reason)
		return true, false
	case answer.Behavior != tool.Allow || r.call.RequiresUserInteraction() && answer.UpdatedInput == nil:
		return false, false
	}
	if answer.UpdatedInput != nil {
		if err := r.replaceInput(ctx, answer.UpdatedInput, "a hook"); err != nil {
			r.fail(PhasePermit, tool.LayerHook, start, r.describe(err))
			return true, false
		}
		again := r.decide(ctx)
		if again.Behavior == tool.Deny {
			r.deny(PhasePermit, start, again.Reason)
			return true, false
		}
		if l := again.Reason.Layer; again.Behavior == tool.Ask && (l == tool.LayerAskRule || l == tool.LayerSafety) && !r.call.RequiresUserInteraction() {
			return false, false
		}
	} else if l := d.Reason.Layer; l == tool.LayerAskRule || l == tool.LayerSafety {
		// It stands for a person only where no rule or safety check asks for one.
		return false, false
	}
	for _, raw := range answer.UpdatedPermissions {
		if err := r.applyUpdate(raw); err != nil {
			r.res.Notices = append(r.res.Notices, err.Error())
		}
	}
	r.res.Trace.add(PhasePermit, start, string(tool.Allow), "a PermissionRequest hook agreed")
	return true, true
}

func (r *run) grant(g Grant) error {
	p := r.gate.cfg.Policy
	if !g.Save {
		if err := p.AddSession(g.Behavior, g.Rule); err != nil {
			return fmt.Errorf("the rule %s was not added: %w", g.Rule, err)
		}
		return nil
	}
	if _, err := p.Save(g.Behavior, g.Rule); err != nil {
		return fmt.Errorf("the rule %s was not saved: %w", g.Rule, err)
	}
	return nil
}

// unanswered is the refusal where nobody can be asked.
func unanswered(d permission.Decision) string {
	message := d.Reason.Message
	if message == "" {
		message = "The call needs permission."
	}
	message = sentence(message) + " Nobody can be asked in this session, so it was refused."
	if len(d.Suggestions) > 0 {
		message += " A rule that would allow it: " + d.Suggestions[0].Rule
		for _, s := range d.Suggestions[1:] {
			message += ", " + s.Rule
		}
		message += "."
	}
	return message
}

// sentence ends a text so that another sentence can follow.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?:;") {
		return s
	}
	return s + "."
}

func reasonDetail(reason tool.Reason) string {
	detail := string(reason.Layer)
	if reason.Rule != "" {
		detail += " " + reason.Rule
	}
	if reason.Source != "" {
		detail += " (" + reason.Source + ")"
	}
	return detail
}
