package permission

import (
	"context"
	"fmt"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/tool"
)

// Request is one call to be judged.
type Request struct {
	Call *tool.Call
	// Subjects, when not nil, are judged in place of the call: for a permission
	// that a running call, allowed already, turns out to need. Rules for the whole
	// tool and its own check do not count then, only rules for these subjects.
	Subjects []tool.Subject
	// Env is handed to the tool's own check. May be nil.
	Env  *tool.Env
	Mode Mode
	// Place is where the call runs; the zero Place means that of the call.
	Place tool.Place
	// HookAllow and HookAsk are what a hook said; nil when it did not.
	HookAllow, HookAsk *tool.Reason
	// Interactive: a person can be asked. The verdict does not depend on it, but
	// the classifier of auto mode is told.
	Interactive bool
	// BypassAvailable: the session was started so that bypassPermissions may be
	// used. Without it that mode is the default one.
	BypassAvailable bool
	// ForceAsk turns every allow into a question, as for an agent that may do
	// nothing unasked.
	ForceAsk bool
}

// Decision is a verdict with all that led to it.
type Decision struct {
	tool.Verdict
	// Steps are the layers in the order in which they were consulted.
	Steps []Step
	// Parts are what the call consists of, each with its own verdict: the simple
	// commands of a line, the files they work on. A part that was not reached has
	// no behavior.
	Parts []Part
}

// Step is what one layer said.
type Step struct {
	Layer   tool.Layer    `json:"layer"`
	Outcome tool.Behavior `json:"outcome,omitempty"` // empty: nothing
	Detail  string        `json:"detail"`
}

// phasePermit is the phase that all reasons of this package carry.
const phasePermit = "permit"

// decider is the state of one decision.
type decider struct {
	p       *Policy
	e       *edition
	req     *Request
	call    *tool.Call
	names   toolNames
	mode    Mode
	at      tool.Place
	roots   []pathrule.Resolved
	parts   []part
	steps   []Step
	unclear string // the call cannot tell what it is about

	own     tool.Verdict  // the tool's own opinion
	toolOK  *compiledRule // an allow rule for the whole tool
	results string        // folder that may always be read
}

// Decide judges a call. It is deterministic apart from the classifier of auto
// mode, and does not change the call. A done context ends in a question.
func (p *Policy) Decide(ctx context.Context, req Request) Decision {
	d := decider{p: p, e: p.rulesNow(), req: &req, call: req.Call, steps: make([]Step, 0, 8)}
	if d.call == nil {
		return Decision{Verdict: tool.Verdict{Behavior: tool.Deny, Reason: tool.Reason{Phase: phasePermit, Layer: tool.LayerDefault, Message: "there is no call to judge"}}}
	}
	d.prepare()
	v := d.run(ctx)
	return d.finish(v)
}

func (d *decider) prepare() {
	if d.req.Subjects == nil {
		d.names = namesOf(d.call.Name(), d.call.Tool().Facts())
	}
	d.at = d.req.Place
	if d.at.Cwd == "" {
		d.at = d.call.Place()
	}
	dirs := d.at.Roots
	if len(dirs) == 0 && d.at.Cwd != "" {
		dirs = []string{d.at.Cwd}
	}
	for _, list := range [2][]string{dirs, d.e.dirs} {
		for _, dir := range list {
			if r, ok := d.p.resolveRoot(dir); ok {
				d.roots = append(d.roots, r)
			}
		}
	}
	if d.req.Env != nil {
		d.results = d.req.Env.ResultsDir
	}
	d.mode = d.req.Mode
	if d.mode == "" || d.mode == "manual" {
		d.mode = ModeDefault
	}
	switch {
	case d.mode == ModeBypass && d.e.flags.noBypass:
		d.mode = ModeDefault
		d.step(tool.LayerMode, "", "bypassPermissions is switched off by the settings; the default mode holds")
	case d.mode == ModeBypass && !d.req.BypassAvailable:
		d.mode = ModeDefault
		d.step(tool.LayerMode, "", "bypassPermissions was not made available when the session started; the default mode holds")
	case d.mode == ModeAuto && d.e.flags.noAuto:
		d.mode = ModeDefault
		d.step(tool.LayerMode, "", "auto mode is switched off by the settings; the default mode holds")
	}
	d.collect()
}

func (d *decider) step(l tool.Layer, b tool.Behavior, detail string) {
	d.steps = append(d.steps, Step{l, b, detail})
}

// run consults the layers in their order.
func (d *decider) run(ctx context.Context) tool.Verdict {
	for _, layer := range [...]func(context.Context) (tool.Verdict, bool){
		d.denyRules, d.askRules, d.ownCheck, d.safety, d.grants,
	} {
		if v, done := layer(ctx); done {
			return v
		}
	}
	return d.ask(tool.Reason{Layer: tool.LayerDefault, Message: "nothing allows this call"})
}

// finish turns questions into refusals where nobody may be asked, and refuses to
// let an unasked call of a supervised agent through.
func (d *decider) finish(v tool.Verdict) Decision {
	if v.Behavior == tool.Allow && (d.req.ForceAsk || d.req.Env != nil && d.req.Env.ForcePermission) {
		d.step(tool.LayerMode, tool.Ask, "this agent must ask for every call")
		v = tool.Verdict{Behavior: tool.Ask, Reason: tool.Reason{Layer: tool.LayerMode, Message: "this agent must ask for every call"}}
	}
	v.Reason.Phase = phasePermit
	if v.Behavior == tool.Ask {
		switch {
		case d.mode == ModeDontAsk:
			v = d.refuseInstead(v, "nobody is asked in dontAsk mode")
		case d.e.flags.denyInstead:
			v = d.refuseInstead(v, "the settings refuse instead of asking (denyInsteadOfPrompting)")
		}
	}
	out := Decision{Verdict: v, Steps: d.steps, Parts: make([]Part, len(d.parts))}
	for i := range d.parts {
		out.Parts[i] = d.parts[i].Part
	}
	return out
}

func (d *decider) refuseInstead(v tool.Verdict, why string) tool.Verdict {
	d.step(tool.LayerMode, tool.Deny, why)
	reason := v.Reason
	reason.Message = fmt.Sprintf("Refused: %s, and %s. %s", v.Reason.Message, why, d.accepted(v.Suggestions))
	return tool.Verdict{Behavior: tool.Deny, Reason: reason}
}

func (d *decider) ask(r tool.Reason) tool.Verdict {
	r.Phase = phasePermit
	return tool.Verdict{Behavior: tool.Ask, Reason: r}
}

func (d *decider) deny(r tool.Reason) tool.Verdict {
	r.Phase = phasePermit
	return tool.Verdict{Behavior: tool.Deny, Reason: r}
}

func ruleReason(l tool.Layer, r *compiledRule, message string) tool.Reason {
	return tool.Reason{Phase: phasePermit, Layer: l, Source: string(r.Source), File: r.File, Rule: r.Text, Message: message}
}

// where names a rule and its origin.
func (r *compiledRule) where() string {
	if r.File == "" {
		return fmt.Sprintf("by the %s rule %s (%s)", r.Behavior, clipText(r.Text), r.Source)
	}
	return fmt.Sprintf("by the %s rule %s of %s", r.Behavior, clipText(r.Text), r.File)
}
