package permission

import (
	"context"
	"fmt"

	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/tool"
)

// The layers that open doors: mode, allow rules, defaults.

// grants asks for every part whether something allows it.
func (d *decider) grants(ctx context.Context) (tool.Verdict, bool) {
	if d.own.Behavior == tool.Allow {
		return d.allowAll(d.ownReason()), true
	}
	if d.mode == ModeBypass {
		if d.e.flags.broken == "" {
			reason := tool.Reason{Phase: phasePermit, Layer: tool.LayerMode, Message: "bypassPermissions allows everything that no rule and no safety check stops"}
			d.step(tool.LayerMode, tool.Allow, reason.Message)
			return d.allowAll(reason), true
		}
		d.step(tool.LayerMode, "", "bypassPermissions does not hold while a settings file is broken")
	}
	if h := d.req.HookAllow; h != nil && !(d.mode == ModePlan && d.mayWrite()) {
		reason := *h
		if reason.Layer == "" {
			reason.Layer = tool.LayerHook
		}
		d.step(tool.LayerHook, tool.Allow, orElse(reason.Message, "a hook allows it"))
		return d.allowAll(reason), true
	}
	if d.mode == ModePlan && d.mayWrite() {
		reason := tool.Reason{Layer: tool.LayerMode, Message: "in plan mode nothing runs that may change something; it is asked until the plan is approved"}
		d.blame(&reason)
		d.step(tool.LayerMode, tool.Ask, reason.Message)
		return d.ask(reason), true
	}
	d.toolOK = d.usable(d.e.allow.tool(&d.names))
	for i := range d.parts {
		d.judge(&d.parts[i])
	}
	for i := range d.parts {
		d.inherit(&d.parts[i])
	}
	if d.mode == ModeAuto && !d.allAllowed() {
		if v, done := d.classify(ctx); done {
			return v, true
		}
	}
	return d.sum(), true
}

// ownReason is the reason of a tool that allows its own call.
func (d *decider) ownReason() tool.Reason {
	r := d.own.Reason
	r.Phase = phasePermit
	if r.Layer == "" {
		r.Layer = tool.LayerTool
	}
	r.Message = orElse(r.Message, d.call.Name()+" allows this call")
	return r
}

func (d *decider) allowAll(r tool.Reason) tool.Verdict {
	r.Phase = phasePermit
	for i := range d.parts {
		d.parts[i].Behavior, d.parts[i].Reason = tool.Allow, r
	}
	return tool.Verdict{Behavior: tool.Allow, Reason: r, UpdatedInput: d.own.UpdatedInput}
}

// mayWrite tells whether anything in the call may change something.
func (d *decider) mayWrite() bool {
	commands := false
	for i := range d.parts {
		p := &d.parts[i]
		switch p.Kind {
		case PartWrite, PartRemove:
			return true
		case PartCommand:
			commands = true
			if p.subject.unclear != "" || p.command != nil && !p.command.ReadOnly && !p.moves && !p.runsListed() || p.ps != nil && !p.ps.readOnly {
				return true
			}
		}
	}
	return !commands && d.req.Subjects == nil && !d.call.ReadOnly()
}

// runsListed tells that a command is as harmless as those that it runs, which
// are parts of their own.
func (p *part) runsListed() bool {
	c := p.command
	return c.RunsListed && !c.UnknownWrites && len(c.Writes) == 0 && len(c.Removes) == 0 && !uncommonAssigns(c) && onlyHarmlessWrappers(c)
}

func onlyHarmlessWrappers(c *shellscan.Command) bool {
	for i := range c.Wrappers {
		if !c.Wrappers[i].Harmless {
			return false
		}
	}
	return true
}

// blame names the first part that is in the way.
func (d *decider) blame(r *tool.Reason) {
	for i := range d.parts {
		p := &d.parts[i]
		if p.writes() || p.Kind == PartCommand && (p.command == nil || !p.command.ReadOnly) {
			p.Behavior, p.Reason = tool.Ask, *r
			r.Message = p.what() + ": " + r.Message
			p.Reason.Message = r.Message
			return
		}
	}
}

// usable filters allow rules by mode: auto mode sets the broad ones aside, since
// they were not written with it in mind.
func (d *decider) usable(r *compiledRule) *compiledRule {
	if r != nil && d.mode == ModeAuto && r.broad() {
		return nil
	}
	return r
}

// allow marks a part as allowed by a rule. wide: also what the part works on.
func (p *part) allow(r *compiledRule, wide bool) {
	p.rule, p.wide = r, wide
	p.Behavior = tool.Allow
	p.Reason = ruleReason(tool.LayerAllowRule, r, fmt.Sprintf("%s is allowed %s", p.what(), r.where()))
}

func (p *part) allowed(l tool.Layer, message string) {
	p.Behavior, p.Reason = tool.Allow, tool.Reason{Phase: phasePermit, Layer: l, Message: message}
}

func (p *part) unanswered(message string) {
	p.Behavior, p.Reason = tool.Ask, tool.Reason{Phase: phasePermit, Layer: tool.LayerDefault, Message: message}
}

// judge decides one part by mode, allow rules and defaults. Paths of commands
// come after their commands.
func (d *decider) judge(p *part) {
	if p.isPath() {
		d.judgePath(p)
		return
	}
	if d.toolOK != nil && (p.Kind != PartCommand || p.understood()) {
		p.allow(d.toolOK, true)
		return
	}
	allow := d.e.allow
	switch p.Kind {
	case PartCommand:
		d.judgeCommand(p)
		return
	case PartAddress:
		if r := d.usable(allow.family(p.family)); r != nil {
			p.allow(r, true)
			return
		}
		if p.problem != "" {
			p.unanswered(p.problem)
			return
		}
		if r := allow.hostRule(p.family, p.host); r != nil {
			p.allow(r, true)
			return
		}
	case PartName:
		if r := d.usable(allow.family(p.family)); r != nil {
			p.allow(r, true)
			return
		}
		if r := d.usable(allow.nameRule(p.family, p.Text, p.args)); r != nil {
			p.allow(r, true)
			return
		}
	case PartTool:
		if r, err := allow.declaredRule(&d.names, d.call); r != nil && err == nil {
			p.allow(r, true)
			return
		}
	}
	p.unanswered(p.what() + " is allowed by no rule")
}

// understood tells whether the line of a command part is understood.
func (p *part) understood() bool { return p.subject.unclear == "" }

func (d *decider) judgeCommand(p *part) {
	s := p.subject
	if !s.looked {
		s.looked = true
		s.exact = d.usable(d.e.allow.textRule(s.Family, s.line))
	}
	if s.exact != nil && !s.invalid {
		p.allow(s.exact, true)
		return
	}
	if p.command == nil && p.ps == nil {
		switch {
		case s.unclear != "" && d.sandboxPass() && !s.invalid:
			p.allowed(tool.LayerMode, "it runs in a sandbox")
			p.wide = true
		case s.unclear != "":
			p.unanswered("the command cannot be understood in full (" + s.unclear + "), so only a rule for exactly this text can allow it")
		default:
			p.allowed(tool.LayerDefault, "nothing is run")
		}
		return
	}
	if d.sandboxPass() && !s.invalid {
		p.allowed(tool.LayerMode, "it runs in a sandbox")
		p.wide = true
		return
	}
	if r := d.usable(d.e.allow.family(p.family)); r != nil && p.understood() {
		p.allow(r, true)
		return
	}
	if p.ps != nil {
		d.judgePowerShell(p)
		return
	}
	c := p.command
	if why := oddRedirect(c); why != "" {
		p.unanswered(p.what() + " " + why)
		return
	}
	r := d.usable(d.e.allow.commandRule(p.family, c))
	quiet := c.ReadOnly && (!c.UnknownReads || d.fedByFind(p)) && !showsOthers(c) || p.runsListed() || d.quietWithout(c)
	file := d.mode == ModeAcceptEdits && c.FileCommand && !uncommonAssigns(c) && onlyHarmlessWrappers(c)
	if r != nil || quiet || file {
		if exact := r != nil && r.command.exact; !exact {
			if why := d.helpers(c); why != "" {
				p.unanswered(p.what() + ": " + why)
				return
			}
		}
	}
	switch {
	case r != nil && !r.command.exact && c.UnknownWrites:
		p.unanswered(p.what() + ": it cannot be told which files it changes, so only a rule for exactly this command can allow it")
	case r != nil:
		p.allow(r, r.command.exact && len(c.Redirs) == 0 && literal(c))
	case quiet:
		p.allowed(tool.LayerDefault, "read-only command")
	case p.moves:
		p.allowed(tool.LayerDefault, "it only changes the directory")
	case file:
		p.allowed(tool.LayerMode, "acceptEdits allows file commands inside the working directories")
	default:
		p.unanswered(d.whyNot(p))
	}
}

// literal tells that all words of a command are certain, so that its text says
// what it works on.
func literal(c *shellscan.Command) bool {
	for i := range c.Argv {
		if c.Argv[i].Known != shellscan.Literal {
			return false
		}
	}
	return true
}

// showsOthers tells that a command changes nothing but shows what other programs
// of the machine are doing with which files and hosts.
func showsOthers(c *shellscan.Command) bool {
	return len(c.Run) > 0 && baseName(c.Run[0].Text) == "lsof"
}

// oddRedirect says why only a rule for exactly the line can allow a redirection.
func oddRedirect(c *shellscan.Command) string {
	for i := range c.Redirs {
		r := &c.Redirs[i]
		switch {
		case r.Network:
			return "opens a network connection by redirection"
		case r.Writes && r.Target.Text == "!":
			return `redirects to a file named "!", which other shells read as "overwrite"`
		case r.Writes && r.Target.Glob:
			return "redirects to the pattern " + clipText(r.Target.Source) + ", which may be any file"
		}
	}
	return ""
}

// quietWithout tells that a command changes nothing but the files that its
// output is redirected to, which are parts of their own.
func (d *decider) quietWithout(c *shellscan.Command) bool {
	writes := 0
	for i := range c.Redirs {
		if c.Redirs[i].Writes {
			writes++
		}
	}
	if writes == 0 || c.Source == "" || len(c.Argv) == 0 || c.UnknownReads || c.RunsUnknown || len(c.Removes) > 0 || !c.DirKnown {
		return false
	}
	bare := shellscan.Scan(c.Source, shellscan.Options{Cwd: c.Dir, Home: d.at.Home, InRoots: d.insideText})
	if bare.Class != shellscan.Simple || len(bare.Commands) == 0 {
		return false
	}
	quiet, _ := bare.ReadOnly()
	return quiet && !bare.Commands[0].UnknownReads
}

func (d *decider) whyNot(p *part) string {
	c := p.command
	what := p.what()
	switch {
	case c.RunsUnknown:
		return what + " runs something that cannot be seen here"
	case c.BeyondPrefix != "":
		return what + " is covered by no rule: " + c.BeyondPrefix
	case c.WhyNot != "":
		return what + " is allowed by no rule: " + c.WhyNot
	case c.UnknownReads:
		return what + " may read files that cannot be told"
	}
	return what + " is allowed by no rule"
}

// judgePath decides about a file.
func (d *decider) judgePath(p *part) {
	what := p.what()
	if p.owner >= 0 {
		o := &d.parts[p.owner]
		if o.Behavior == tool.Allow && o.wide {
			p.Behavior, p.Reason, p.rule = o.Behavior, o.Reason, o.rule
			return
		}
	} else if d.toolOK != nil {
		p.allow(d.toolOK, true)
		return
	}
	families := []string{tool.FamilyRead, tool.FamilyEdit}
	if p.writes() {
		families = families[1:]
	}
	for _, name := range families {
		if r := d.usable(d.e.allow.family(name)); r != nil {
			p.allow(r, true)
			return
		}
	}
	if p.problem != "" {
		p.unanswered(what + ": " + p.problem)
		return
	}
	if p.Kind == PartRead {
		if why := d.leadsOut(p); p.inRoots && why != "" {
			p.unanswered(what + ": " + why)
			return
		}
		if p.inRoots {
			p.allowed(tool.LayerDefault, what+" is inside the working directories")
			return
		}
		if d.handedOn(p) {
			p.allowed(tool.LayerDefault, "the files that find names are inside the working directories")
			return
		}
		if d.isResult(p) {
			p.allowed(tool.LayerDefault, what+" is a result of this session")
			return
		}
	} else if p.inRoots && d.mode == ModeAcceptEdits {
		p.allowed(tool.LayerMode, "acceptEdits allows "+what)
		return
	}
	if r := d.allowPaths(p, families...); r != nil {
		p.allow(r, true)
		return
	}
	if p.writes() && p.inRoots && p.owner >= 0 && !p.redirect && d.parts[p.owner].rule != nil {
		// A rule for "mkdir" means what mkdir does here.
		p.allow(d.parts[p.owner].rule, false)
		return
	}
	switch {
	case p.placeless && !p.inRoots:
		p.unanswered(what + ": it cannot be told which files are meant")
	case p.inRoots:
		p.unanswered(what + " is allowed by no rule")
	default:
		p.unanswered(what + " is outside the working directories, and no rule allows it")
	}
}

// allowPaths finds a rule that covers all that is meant.
func (d *decider) allowPaths(p *part, families ...string) *compiledRule {
	if p.placeless || len(p.paths) == 0 {
		return nil
	}
	var first *compiledRule
	for i := range p.paths {
		r := d.e.allow.pathRule(p.paths[i], families...)
		if r == nil {
			return nil
		}
		if first == nil {
			first = r
		}
	}
	return first
}

// inherit takes an exact rule for a command that runs others over to those.
func (d *decider) inherit(p *part) {
	c := p.command
	if p.Behavior != tool.Allow || c == nil || c.Inner == 0 || p.rule == nil || p.rule.command == nil || !p.rule.command.spells(c) || c.RunsUnknown {
		return
	}
	for i := 1; i <= c.Inner && p.first+p.index+i < len(d.parts); i++ {
		q := &d.parts[p.first+p.index+i]
		if q.command == nil || q.subject != p.subject {
			return
		}
		if q.Behavior != tool.Allow {
			q.allow(p.rule, true)
		}
	}
	for i := range d.parts {
		q := &d.parts[i]
		if q.owner > p.first+p.index && q.owner <= p.first+p.index+c.Inner && q.subject == p.subject && q.Behavior != tool.Allow && !q.redirect {
			q.allow(p.rule, true)
		}
	}
}

func (d *decider) allAllowed() bool {
	for i := range d.parts {
		if d.parts[i].Behavior != tool.Allow {
			return false
		}
	}
	return true
}
