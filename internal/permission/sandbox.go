package permission

import (
	"fmt"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// Families of subjects that walls are made from.
const (
	bashFamily  = "Bash"
	fetchFamily = "WebFetch"
)

// What the rules say to whoever enforces them by other means than looking at
// each call: a sandbox around commands.

// PathStart is where a rule for paths begins to hold.
type PathStart struct {
	pathrule.Start
	// Except tells that the rule makes an exception (!).
	Except bool
	Rule   string
	Where  string // the file and line, or the source
}

// PathStarts lists where the deny or allow rules of a family of paths
// ([tool.FamilyRead], [tool.FamilyEdit]) begin to hold.
func (p *Policy) PathStarts(b tool.Behavior, family string) []PathStart {
	e := p.rulesNow()
	set := e.deny
	if b == tool.Allow {
		set = e.allow
	}
	f := set.scoped[family]
	if f == nil {
		return nil
	}
	var out []PathStart
	for _, g := range f.paths {
		for _, r := range g.rules {
			for _, s := range r.path.Starts() {
				out = append(out, PathStart{Start: s, Except: r.path.Negated(), Rule: r.Text, Where: r.where()})
			}
		}
	}
	return out
}

// DeniesFamily tells whether a deny rule speaks of every path of a family.
func (p *Policy) DeniesFamily(family string) bool { return p.rulesNow().deny.family(family) != nil }

// Host tells what the rules for addresses say of a host: Deny, Allow, or nothing
// (empty), with the rule that says it.
func (p *Policy) Host(host string) (tool.Behavior, string) {
	e := p.rulesNow()
	host = cleanHost(host)
	if r := e.deny.hostRule(fetchFamily, host); r != nil {
		return tool.Deny, r.where()
	}
	if r := e.deny.family(fetchFamily); r != nil {
		return tool.Deny, r.where()
	}
	if r := e.allow.hostRule(fetchFamily, host); r != nil {
		return tool.Allow, r.where()
	}
	return "", ""
}

// Edition identifies the rules that are in force: it is equal as long as they are
// the same.
func (p *Policy) Edition() any { return p.rulesNow() }

// CommandList is a list of command patterns as they stand in rules, apart from
// any permission. The zero value covers nothing.
type CommandList struct{ set *ruleSet }

// NewCommandList reads patterns such as "docker *" or "git push:*". What cannot be
// read covers nothing and is told.
func NewCommandList(patterns []string) (CommandList, []error) {
	// A pattern names what it would forbid: wrappers and variables in front do not
	// count. Nothing is allowed by it.
	set := newRuleSet(tool.Deny)
	var errs []error
	for _, text := range patterns {
		r := &compiledRule{Rule: Rule{Text: text, Tool: bashFamily, Spec: strings.TrimSpace(text), Scoped: true, Behavior: tool.Deny, Source: settings.Session}}
		if _, err := r.compileSpec(false, place{}); err != nil {
			errs = append(errs, fmt.Errorf("command pattern %q: %w", clipText(text), err))
			continue
		}
		set.add(r)
	}
	set.seal()
	return CommandList{set}, errs
}

// CoversAll tells whether a script is understood and a pattern covers each of its
// commands, those inside of others included.
func (l CommandList) CoversAll(script *shellscan.Script) bool {
	if l.set == nil || l.set.count == 0 || script.Class != shellscan.Simple || len(script.Commands) == 0 {
		return false
	}
	for i := range script.Commands {
		if l.set.commandRule(bashFamily, &script.Commands[i]) == nil {
			return false
		}
	}
	return true
}
