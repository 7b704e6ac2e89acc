package permission

import (
	"context"
	"fmt"
	"slices"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/tool"
)

// The layers that close doors: deny rules, ask rules, the tool's own check.

// denyRules looks for a deny rule that speaks of the call or any part of it.
func (d *decider) denyRules(context.Context) (tool.Verdict, bool) {
	deny := d.e.deny
	if deny.count == 0 {
		d.step(tool.LayerDenyRule, "", "there are no deny rules")
		return tool.Verdict{}, false
	}
	if r, err := d.wholeCall(deny); r != nil {
		return d.refuse(nil, r), true
	} else if err != nil {
		d.unclear = err.Error()
	}
	for i := range d.parts {
		p := &d.parts[i]
		if r := d.partRule(deny, p); r != nil {
			return d.refuse(p, r), true
		}
	}
	d.step(tool.LayerDenyRule, "", "no deny rule speaks of this")
	return tool.Verdict{}, false
}

func (d *decider) refuse(p *part, r *compiledRule) tool.Verdict {
	what := d.call.Name()
	if p != nil {
		what = p.what()
	}
	reason := ruleReason(tool.LayerDenyRule, r, fmt.Sprintf(
		"Refused: %s is denied %s, and no mode or other rule lifts that. Do it without this, or ask the user to change the rule.", what, r.where()))
	if p != nil {
		p.Behavior, p.Reason = tool.Deny, reason
	}
	d.step(tool.LayerDenyRule, tool.Deny, what+" is denied "+r.where())
	return d.deny(reason)
}

// wholeCall finds a rule that speaks of the call as a whole: of its tool, or of
// a field of its input.
func (d *decider) wholeCall(s *ruleSet) (*compiledRule, error) {
	if d.req.Subjects != nil {
		return nil, nil
	}
	if r := s.tool(&d.names); r != nil {
		return r, nil
	}
	if r := s.paramRule(&d.names, d.call.Tool().Facts().PrimaryField, d.call.Input()); r != nil {
		return r, nil
	}
	return s.declaredRule(&d.names, d.call)
}

// partRule finds a deny or ask rule for one part.
func (d *decider) partRule(s *ruleSet, p *part) *compiledRule {
	switch p.Kind {
	case PartCommand:
		if r := s.family(p.family); r != nil {
			return r
		}
		return d.closingCommandRule(s, p)
	case PartRead, PartWrite, PartRemove:
		return closingPathRule(s, p)
	case PartAddress:
		if r := s.family(p.family); r != nil {
			return r
		}
		if p.host == "" {
			return nil
		}
		return s.hostRule(p.family, p.host)
	case PartName:
		if r := s.family(p.family); r != nil {
			return r
		}
		return s.nameRule(p.family, p.Text, p.args)
	}
	return nil
}

func (d *decider) closingCommandRule(s *ruleSet, p *part) *compiledRule {
	if p.ps != nil {
		return s.psRule(p.ps)
	}
	if p.command != nil {
		if r := s.commandRule(p.family, p.command); r != nil {
			return r
		}
		for i := range p.command.MayRun {
			if r := s.commandRule(p.family, &p.command.MayRun[i]); r != nil {
				return r
			}
		}
	}
	if p.subject != nil && p.command == nil || p.index == 0 {
		return s.textRule(p.family, p.subject.line)
	}
	return nil
}

// closingPathRule: what may not be read may not be written either.
func closingPathRule(s *ruleSet, p *part) *compiledRule {
	families := [2]string{tool.FamilyRead, tool.FamilyEdit}
	list := families[:1]
	if p.writes() {
		list = families[1:]
		if s.behavior == tool.Deny {
			list = families[:]
		}
	}
	for _, name := range list {
		if r := s.family(name); r != nil {
			return r
		}
	}
	for i := range p.paths {
		if r := s.pathRule(p.paths[i], list...); r != nil {
			return r
		}
	}
	return nil
}

// askRules looks for an ask rule, and for what keeps deny and ask rules from
// being compared at all.
func (d *decider) askRules(context.Context) (tool.Verdict, bool) {
	if v, done := d.askByRule(); done {
		return v, true
	}
	if v, done := d.doubts(); done {
		return v, true
	}
	if h := d.req.HookAsk; h != nil {
		reason := *h
		if reason.Layer == "" {
			reason.Layer = tool.LayerHook
		}
		if reason.Message == "" {
			reason.Message = "a hook wants a person to decide"
		}
		d.step(tool.LayerHook, tool.Ask, reason.Message)
		return d.ask(reason), true
	}
	return tool.Verdict{}, false
}

func (d *decider) askByRule() (tool.Verdict, bool) {
	ask := d.e.ask
	if ask.count == 0 {
		d.step(tool.LayerAskRule, "", "there are no ask rules")
		return tool.Verdict{}, false
	}
	pass := d.sandboxPass()
	r, err := d.wholeCall(ask)
	if err != nil {
		d.unclear = err.Error()
	}
	if r != nil && (r.Scoped || !pass) {
		return d.question(nil, r), true
	}
	for i := range d.parts {
		p := &d.parts[i]
		r := d.partRule(ask, p)
		if r != nil && !r.Scoped && pass && p.Kind == PartCommand {
			// The bare rule is passed; one for this very command is not.
			r = d.closingCommandRule(ask, p)
		}
		if r != nil {
			return d.question(p, r), true
		}
	}
	detail := "no ask rule speaks of this"
	if pass && r != nil {
		detail = "the call runs in a sandbox, so a rule that asks for every call is passed"
	}
	d.step(tool.LayerAskRule, "", detail)
	return tool.Verdict{}, false
}

func (d *decider) question(p *part, r *compiledRule) tool.Verdict {
	what := d.call.Name()
	if p != nil {
		what = p.what()
	}
	message := fmt.Sprintf("%s must be asked for %s", what, r.where())
	reason := ruleReason(tool.LayerAskRule, r, message)
	if p != nil {
		p.Behavior, p.Reason = tool.Ask, reason
	}
	d.step(tool.LayerAskRule, tool.Ask, message)
	return d.ask(reason)
}

// sandboxPass tells whether a rule that asks for every call may be passed,
// because the call runs in a sandbox.
func (d *decider) sandboxPass() bool {
	return d.mode != ModePlan && !d.e.flags.sandboxAsks && d.call.Sandboxed()
}

// doubts asks where a deny or ask rule may speak of the call but that cannot be
// told. Without such rules there is nothing to doubt.
func (d *decider) doubts() (tool.Verdict, bool) {
	if d.unclear != "" {
		return d.doubt(nil, d.unclear), true
	}
	for i := range d.parts {
		if why := d.doubtOf(&d.parts[i]); why != "" {
			return d.doubt(&d.parts[i], why), true
		}
	}
	return tool.Verdict{}, false
}

func (d *decider) doubtOf(p *part) string {
	if p.subject.exact != nil {
		return ""
	}
	switch {
	case p.Kind == PartCommand && p.command == nil && p.subject.unclear != "":
		if d.closesLines(p.family) {
			return "it cannot be told whether a deny or ask rule speaks of it: " + p.subject.unclear
		}
	case p.Kind == PartCommand && p.command != nil:
		for _, set := range [2]*ruleSet{d.e.deny, d.e.ask} {
			if r := set.mayClose(p.family, p.command); r != nil {
				return "it cannot be told whether it is what is guarded " + r.where()
			}
		}
		if p.command.ReadOnly && p.command.UnknownReads &&
			(!d.walled(d.e.deny) && d.e.deny.hasPathRules(tool.FamilyRead) || d.e.ask.hasPathRules(tool.FamilyRead)) {
			return "it cannot be told which files it reads, and rules guard some"
		}
	case p.isPath():
		families := []string{tool.FamilyRead}
		if p.writes() {
			families = append(families, tool.FamilyEdit)
		}
		if (d.walled(d.e.deny) || !d.e.deny.hasPathRules(families...)) && !d.e.ask.hasPathRules(families...) {
			return ""
		}
		switch {
		case p.problem != "":
			return "it cannot be told whether a deny or ask rule speaks of it: " + p.problem
		case p.placeless:
			return "it cannot be told which files it means, and rules guard some"
		case p.tree && !d.listed(p):
			r, why := d.inTree(p, d.e.deny, d.e.ask)
			if r != nil {
				return "it reaches files that are guarded " + r.where()
			}
			return why
		}
	}
	return ""
}

// listed tells that a part belongs to a command that shows the names of files
// only, so that it may go past guarded ones.
func (d *decider) listed(p *part) bool {
	if p.owner < 0 || p.Kind != PartRead {
		return false
	}
	o := &d.parts[p.owner]
	if o.command == nil || len(o.command.Run) == 0 {
		return o.moves
	}
	switch baseName(o.command.Run[0].Text) {
	case "ls", "dir", "vdir", "tree", "find", "fd", "fdfind", "du", "df", "stat", "realpath", "readlink", "test", "[", "cd", "pushd", "eza", "exa", "lsd":
		return true
	}
	return false
}

// closesLines tells whether any closing rule could speak of something hidden in
// a command line.
func (d *decider) closesLines(family string) bool {
	for _, s := range [2]*ruleSet{d.e.deny, d.e.ask} {
		if s.scoped[family] != nil || !d.walled(s) && s.hasPathRules(tool.FamilyRead, tool.FamilyEdit) {
			return true
		}
	}
	return false
}

// walled tells that the sandbox which the call runs in enforces a set's rules for
// paths, so that there is no need to know which files a command works on. It does so
// for deny rules; but a wildcard in one about changes says nothing of files that are
// yet to be made.
func (d *decider) walled(s *ruleSet) bool {
	if s != d.e.deny || !d.sandboxPass() {
		return false
	}
	f := s.scoped[tool.FamilyEdit]
	if f == nil {
		return true
	}
	for _, g := range f.paths {
		for _, r := range g.rules {
			if slices.ContainsFunc(r.path.Starts(), func(at pathrule.Start) bool { return !at.Whole }) {
				return false
			}
		}
	}
	return true
}

func (d *decider) doubt(p *part, why string) tool.Verdict {
	what := d.call.Name()
	if p != nil {
		what = p.what()
	}
	reason := tool.Reason{Layer: tool.LayerAskRule, Message: what + ": " + why}
	if p != nil {
		p.Behavior, p.Reason = tool.Ask, reason
	}
	d.step(tool.LayerAskRule, tool.Ask, reason.Message)
	return d.ask(reason)
}

// ownCheck asks the tool itself.
func (d *decider) ownCheck(ctx context.Context) (tool.Verdict, bool) {
	if d.req.Subjects != nil {
		d.step(tool.LayerTool, "", "the tool itself asks")
		return tool.Verdict{}, false
	}
	env := d.req.Env
	if env == nil {
		env = &tool.Env{Place: d.at}
	}
	d.own = d.call.CheckPermissions(ctx, env)
	reason := d.own.Reason
	if reason.Layer == "" {
		reason.Layer = tool.LayerTool
	}
	switch d.own.Behavior {
	case tool.Deny:
		if reason.Message == "" {
			reason.Message = d.call.Name() + " refuses this call"
		}
		d.step(tool.LayerTool, tool.Deny, reason.Message)
		return d.deny(reason), true
	case tool.Ask:
		if d.mode == ModeBypass && !d.call.RequiresUserInteraction() {
			d.own = tool.Verdict{UpdatedInput: d.own.UpdatedInput}
			d.step(tool.LayerTool, "", "the tool would ask, and bypassPermissions answers for it: "+orElse(reason.Message, "it says no more"))
			return tool.Verdict{}, false
		}
		if reason.Message == "" {
			reason.Message = d.call.Name() + " wants a person to decide"
		}
		d.step(tool.LayerTool, tool.Ask, reason.Message)
		v := d.ask(reason)
		v.Suggestions = d.own.Suggestions
		v.UpdatedInput = d.own.UpdatedInput
		return v, true
	}
	if d.call.RequiresUserInteraction() {
		reason = tool.Reason{Layer: tool.LayerTool, Message: d.call.Name() + " is a question to a person, and only a person can answer it"}
		d.step(tool.LayerTool, tool.Ask, reason.Message)
		return d.ask(reason), true
	}
	d.step(tool.LayerTool, d.own.Behavior, orElse(reason.Message, "the tool leaves it to the rules"))
	return tool.Verdict{}, false
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// what names a part in a sentence.
func (p *part) what() string {
	text := clipText(p.Text)
	switch p.Kind {
	case PartCommand:
		return "the command " + text
	case PartRead:
		return "reading " + text
	case PartWrite:
		return "writing " + text
	case PartRemove:
		return "removing " + text
	case PartAddress:
		return "the address " + text
	}
	return text
}
