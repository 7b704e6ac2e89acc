package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// MatchCondition tells whether one permission rule speaks of a call, as the
// condition of a hook: not to open or close anything, but to choose the calls
// that the hook is to see.
//
// Patterns of paths are anchored as those of allow rules. A rule for commands
// speaks of a line when it speaks of any command in it, wherever that stands;
// variables in front do not count. What cannot be told counts as a match, so
// that the hook runs: a line that is not understood, a command whose words are
// computed and may turn out to be what the rule names. Write(...), Grep(...) and
// the like take a path pattern here and speak of that tool alone.
//
// Errors: a rule that cannot be read, or that could never match; a tool that
// cannot say whether the rule speaks of its call. It is safe for concurrent use.
func (p *Policy) MatchCondition(rule string, call *tool.Call) (bool, error) {
	if call == nil {
		return false, fmt.Errorf("match the condition %q: there is no call", clipText(rule))
	}
	r, err := p.compileCondition(rule)
	if err != nil {
		return false, fmt.Errorf("read the condition %q: %w", clipText(rule), err)
	}
	d := decider{p: p, e: p.rulesNow(), req: &Request{Call: call}, call: call}
	d.prepare()
	if d.unclear != "" {
		return true, nil
	}
	ok, err := d.speaksOf(r)
	if err != nil {
		return false, fmt.Errorf("match the condition %q: %w", clipText(rule), err)
	}
	return ok, nil
}

func (p *Policy) compileCondition(text string) (*compiledRule, error) {
	parsed, err := ParseRule(text)
	if err != nil {
		return nil, err
	}
	parsed.Source, parsed.Behavior, parsed.dir = settings.Session, tool.Allow, p.cfg.Cwd
	r := &compiledRule{Rule: parsed}
	if !r.Scoped {
		return r, nil
	}
	if globName(r.Tool) {
		return nil, fmt.Errorf("a name with * takes no specifier")
	}
	if neverConsulted(r.Tool) {
		r.path, err = pathrule.Compile(r.Spec, pathrule.Anchor{SourceDir: r.dir, Cwd: p.cfg.Cwd, Home: p.cfg.Home}, pathrule.Allow)
	} else {
		_, err = r.compileSpec(true, place{p.cfg.Cwd, p.cfg.Home})
	}
	if err != nil {
		return nil, err
	}
	if r.path != nil && r.path.Negated() {
		return nil, fmt.Errorf("an exception (!) matches nothing by itself")
	}
	r.param = compileParam(r.Spec)
	return r, nil
}

// speaksOf compares a condition with all that the call does.
func (d *decider) speaksOf(r *compiledRule) (bool, error) {
	if !r.Scoped {
		return d.names.named(r.Tool) || d.anyPart(func(p *part) bool { return p.owner < 0 && matchStar(r.Tool, p.familyName()) }), nil
	}
	if facts := d.call.Tool().Facts(); r.param != nil && r.param.param != facts.PrimaryField && d.names.named(r.Tool) && r.param.matches(rawFields(d.call.Input())) {
		return true, nil
	}
	switch {
	case r.path != nil:
		return d.anyPart(func(p *part) bool { return d.fileMeets(r, p) }), nil
	case r.command != nil:
		return d.anyPart(func(p *part) bool { return p.family == r.Tool && p.meets(r) }), nil
	case r.domain != nil:
		return d.anyPart(func(p *part) bool {
			return p.Kind == PartAddress && p.family == r.Tool && (p.host == "" || r.domain.matches(p.host))
		}), nil
	}
	named := d.names.named(r.Tool)
	if d.anyPart(func(p *part) bool {
		return p.Kind == PartName && (p.family == r.Tool || named) && nameMatches(r.Spec, p.Text, p.args, false)
	}) {
		return true, nil
	}
	if !named {
		return false, nil
	}
	return d.call.MatchRule(r.Spec)
}

func (d *decider) anyPart(match func(*part) bool) bool {
	for i := range d.parts {
		if match(&d.parts[i]) {
			return true
		}
	}
	return false
}

// familyName is what rules call the kind of thing that a part is.
func (p *part) familyName() string {
	switch {
	case p.family != "":
		return p.family
	case p.subject != nil:
		return p.subject.Family
	}
	return ""
}

// fileMeets compares a path condition with a file: Read with what is read, Edit
// with what is changed, the name of a tool with the files of that tool.
func (d *decider) fileMeets(r *compiledRule, p *part) bool {
	switch {
	case !p.isPath():
		return false
	case r.Tool == tool.FamilyRead && p.Kind != PartRead, r.Tool == tool.FamilyEdit && !p.writes():
		return false
	case neverConsulted(r.Tool) && (p.owner >= 0 || !d.names.named(r.Tool)):
		return false
	case p.placeless && len(p.paths) == 0:
		return true
	}
	for i := range p.paths {
		if r.path.Match(p.paths[i]) {
			return true
		}
	}
	return false
}

// meets tells whether a condition speaks of a command, or may do.
func (p *part) meets(r *compiledRule) bool {
	switch {
	case p.subject.unclear != "":
		return true
	case p.ps != nil:
		return r.command.matches(p.ps.text) || r.command.matches(strings.ToLower(unquote(p.ps.source)))
	case p.command == nil:
		return false
	}
	return r.command.closes(p.command) || r.command.mayClose(p.command) ||
		slices.ContainsFunc(p.command.MayRun, func(c shellscan.Command) bool { return r.command.closes(&c) })
}

// mayClose tells whether a command could be one that the pattern matches, were
// its computed words known: whether what is certain at its beginning agrees.
func (p *commandPattern) mayClose(c *shellscan.Command) bool {
	if len(c.Run) == 0 {
		return false
	}
	words := withoutGlobals(c.Run)
	var head strings.Builder
	for i := range words {
		w := &words[i]
		text := w.Text
		if i == 0 {
			text = baseName(text)
		} else {
			head.WriteByte(' ')
		}
		if w.Known == shellscan.Literal {
			head.WriteString(text)
			continue
		}
		if i > 0 || w.Prefix != "" {
			head.WriteString(w.Prefix)
		}
		want := p.plain
		if !p.exact {
			want = p.pieces[0]
		}
		certain := head.String()
		if p.fold {
			certain = strings.ToLower(certain)
		}
		return strings.HasPrefix(want+" ", certain) || !p.exact && strings.HasPrefix(certain, want)
	}
	return false
}

// withoutGlobals leaves out the options that git takes in front of the
// subcommand, as far as they are certain.
func withoutGlobals(run []shellscan.Word) []shellscan.Word {
	if run[0].Known != shellscan.Literal || baseName(run[0].Text) != "git" {
		return run
	}
	var certain []string
	for _, w := range run[1:] {
		if w.Known != shellscan.Literal {
			break
		}
		certain = append(certain, w.Text)
	}
	skipped := len(certain) - len(afterGlobals(certain))
	return append(run[:1:1], run[1+skipped:]...)
}
