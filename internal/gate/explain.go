package gate

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/tool"
)

// Explanation says what would happen to a call and why. Nothing was run.
type Explanation struct {
	Tool       string            `json:"tool"`
	Input      json.RawMessage   `json:"input"`
	Behavior   tool.Behavior     `json:"behavior"`
	Reason     tool.Reason       `json:"reason"`
	Properties *Properties       `json:"properties,omitempty"`
	Parts      []permission.Part `json:"parts,omitempty"`
	Allows     []tool.Suggestion `json:"allows,omitempty"` // rules that would allow it
	Trace      []Step            `json:"trace"`
}

// Properties are the declared facts about the decoded input.
type Properties struct {
	ReadOnly        bool         `json:"readOnly"`
	ConcurrencySafe bool         `json:"concurrencySafe"`
	Destructive     bool         `json:"destructive"`
	OpenWorld       bool         `json:"openWorld"`
	Effects         tool.Effects `json:"effects"`
}

// Explain tells what would happen to a call up to phase 4. It runs hooks only
// if asked to, since they may do anything; it never asks anybody and never
// runs the tool.
func (g *Gate) Explain(ctx context.Context, c *Conversation, use tool.Block, runHooks bool) Explanation {
	quiet := *g
	quiet.cfg.Prompter, quiet.cfg.Observe, quiet.cfg.Journal = nil, func(Event) {}, nil
	if !runHooks {
		quiet.cfg.Hooks = nil
	}
	t := quiet.Admit(c, use)
	r := &run{gate: &quiet, conv: c, slot: FreeSlot{}, ticket: t, res: &Result{Use: use, Trace: t.trace}}
	r.now = c.Context()
	env := c.env
	env.ToolUseID, env.Place = use.ID, c.place(r.now)
	r.env = &env
	e := Explanation{Tool: use.Name, Input: use.Input}
	switch {
	case t.stop != nil:
		r.res.Decision.Verdict = tool.Verdict{Behavior: tool.Deny, Reason: tool.Reason{Phase: string(t.stop.phase), Layer: t.stop.layer, Message: t.stop.message}}
	case r.validate(ctx) && r.preHooks(ctx):
		start := time.Now()
		r.decide(ctx)
		r.res.Trace.add(PhasePermit, start, string(r.res.Decision.Behavior), reasonDetail(r.res.Decision.Reason))
		for _, s := range r.res.Decision.Steps {
			r.res.Trace = append(r.res.Trace, Step{Phase: PhasePermit, Outcome: orNone(s.Outcome), Detail: string(s.Layer) + ": " + s.Detail})
		}
	}
	if r.call != nil {
		e.Tool = r.call.Name()
		e.Properties = &Properties{ReadOnly: r.call.ReadOnly(), ConcurrencySafe: r.call.ConcurrencySafe(), Destructive: r.call.Destructive(),
			OpenWorld: r.call.OpenWorld(), Effects: r.call.Effects()}
	}
	if len(e.Input) == 0 || !json.Valid(e.Input) {
		e.Input = json.RawMessage("{}")
	}
	d := r.res.Decision
	e.Behavior, e.Reason, e.Parts, e.Allows, e.Trace = d.Behavior, d.Reason, d.Parts, d.Suggestions, r.res.Trace
	return e
}

func orNone(b tool.Behavior) string {
	if b == "" {
		return outcomeNone
	}
	return string(b)
}
