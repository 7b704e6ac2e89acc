package permission

import (
	"fmt"
	"strings"

	"github.com/sevengate/sevengate/tool"
)

// weight orders the layers that can allow: the reason of the whole call is that
// of the part that needed the most.
func weight(l tool.Layer) int {
	switch l {
	case tool.LayerAllowRule:
		return 4
	case tool.LayerMode:
		return 3
	case tool.LayerHook:
		return 2
	case tool.LayerTool:
		return 1
	}
	return 0
}

// sum makes one verdict of the parts: allow only when all are.
func (d *decider) sum() tool.Verdict {
	if d.e.flags.broken != "" {
		d.distrust()
	}
	d.layerSteps()
	best, asked := -1, -1
	for i := range d.parts {
		p := &d.parts[i]
		if p.Behavior != tool.Allow {
			if asked < 0 {
				asked = i
			}
			continue
		}
		if best < 0 || weight(p.Reason.Layer) > weight(d.parts[best].Reason.Layer) {
			best = i
		}
	}
	if asked < 0 {
		return tool.Verdict{Behavior: tool.Allow, Reason: d.parts[best].Reason, UpdatedInput: d.own.UpdatedInput}
	}
	reason := d.parts[asked].Reason
	if n := d.askedParts(); n > 1 {
		reason.Message = fmt.Sprintf("%s (and %d more that nothing allows)", reason.Message, n-1)
	}
	v := d.ask(reason)
	v.Suggestions = d.suggest()
	v.UpdatedInput = d.own.UpdatedInput
	return v
}

func (d *decider) askedParts() (n int) {
	for i := range d.parts {
		if d.parts[i].Behavior != tool.Allow {
			n++
		}
	}
	return n
}

// distrust takes back what was allowed on the strength of settings that are
// known in part only: the missing part may have said otherwise. Reading inside
// the working directories stays.
func (d *decider) distrust() {
	for i := range d.parts {
		p := &d.parts[i]
		if p.Behavior == tool.Allow && (p.Reason.Layer == tool.LayerAllowRule || p.Reason.Layer == tool.LayerMode) {
			p.unanswered(fmt.Sprintf("%s would be allowed, but the settings file %s cannot be used, and may forbid it; correct the file", p.what(), d.e.flags.broken))
		}
	}
}

// layerSteps records what the opening layers said.
func (d *decider) layerSteps() {
	said := func(l tool.Layer, none string) {
		outcome, detail := tool.Behavior(""), none
		for i := range d.parts {
			if p := &d.parts[i]; p.Reason.Layer == l && p.Behavior == tool.Allow {
				outcome, detail = tool.Allow, p.Reason.Message
				break
			}
		}
		d.step(l, outcome, detail)
	}
	said(tool.LayerMode, string(d.mode)+" mode allows nothing of this")
	said(tool.LayerAllowRule, "no allow rule covers this")
	for i := range d.parts {
		if p := &d.parts[i]; p.Behavior != tool.Allow {
			d.step(tool.LayerDefault, tool.Ask, p.Reason.Message)
			return
		}
	}
	said(tool.LayerDefault, "all parts are allowed")
}

// accepted says in one sentence what would not be refused.
func (d *decider) accepted(s []tool.Suggestion) string {
	if len(s) == 0 {
		return "It would be accepted after a person's approval."
	}
	rules := make([]string, len(s))
	for i := range s {
		rules[i] = clipText(s[i].Rule)
	}
	return "It would be accepted with the allow rules " + strings.Join(rules, ", ") + "."
}
