package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/tool"
)

// Warnings lists what is odd about the rules now in force: those that were
// skipped or wait for trust, can never match, are never consulted, or name an unknown tool, and
// allow rules that a deny or ask rule makes void. It is not for every call.
func (p *Policy) Warnings() []Warning {
	e := p.rulesNow()
	out := slices.Clone(e.warnings)
	var names []string
	if p.cfg.ToolNames != nil {
		names = p.cfg.ToolNames()
	}
	for _, r := range e.all {
		if m := unknownName(r, names); m != "" {
			out = append(out, r.warning(m))
		}
		if m := e.shadowed(r); m != "" {
			out = append(out, r.warning(m))
		}
	}
	return out
}

func (r *compiledRule) warning(message string) Warning {
	return Warning{r.Source, r.File, r.Line, r.Text, message}
}

// families are names that rules may use whether or not a tool is called so.
var families = []string{tool.FamilyRead, tool.FamilyEdit, familyBash, familyPowerShell, familyWebFetch}

// unknownName says that a rule names no tool of the session. Names with "_" or
// "*" may belong to servers that are not connected.
func unknownName(r *compiledRule, names []string) string {
	if len(names) == 0 || strings.ContainsAny(r.Tool, "_*") || slices.Contains(names, r.Tool) || slices.Contains(families, r.Tool) {
		return ""
	}
	message := fmt.Sprintf("there is no tool named %s", r.Tool)
	if near := nearest(r.Tool, slices.Concat(names, families)); near != "" {
		message += "; did you mean " + near + "?"
	}
	return message
}

// nearest gives the name with the fewest changed letters, if they are few.
func nearest(name string, known []string) string {
	best, bestDistance := "", max(2, len(name)/3)+1
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return k
		}
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance is the number of letters to add, drop or change.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			next := diagonal
			if a[i-1] != b[j-1] {
				next = min(diagonal, row[j], row[j-1]) + 1
			}
			diagonal, row[j] = row[j], next
		}
	}
	return row[len(b)]
}

// shadowed says that an allow or ask rule never comes into play, because a
// stronger list covers all that it covers.
func (e *edition) shadowed(r *compiledRule) string {
	var stronger []*ruleSet
	switch r.Behavior {
	case tool.Allow:
		stronger = []*ruleSet{e.deny, e.ask}
	case tool.Ask:
		stronger = []*ruleSet{e.deny}
	default:
		return ""
	}
	for _, s := range stronger {
		if by := s.covers(r); by != nil {
			return fmt.Sprintf("it never comes into play: %s comes first, as %s", by.describe(), verb(s.behavior))
		}
	}
	return ""
}

func verb(b tool.Behavior) string { return string(b) + " rules do" }

func (r *compiledRule) describe() string {
	if r.File == "" {
		return fmt.Sprintf("%s (%s)", clipText(r.Text), r.Source)
	}
	return fmt.Sprintf("%s of %s", clipText(r.Text), r.File)
}

// covers finds a rule that matches whatever r matches, as far as that shows in
// the texts.
func (s *ruleSet) covers(r *compiledRule) *compiledRule {
	if by := s.bare[r.Tool]; by != nil {
		return by
	}
	for _, g := range s.globs {
		if !globName(r.Tool) && matchStar(g.Tool, r.Tool) || g.Tool == r.Tool {
			return g
		}
	}
	f := s.scoped[r.Tool]
	if f == nil || !r.Scoped {
		return nil
	}
	for _, list := range [][]*compiledRule{f.other, f.loose} {
		for _, o := range list {
			if o.Spec == r.Spec || r.command != nil && o.command != nil && coversCommand(o.command, r.command) {
				return o
			}
		}
	}
	if r.command != nil {
		for _, o := range f.byWord[r.command.first] {
			if coversCommand(o.command, r.command) {
				return o
			}
		}
	}
	for i := range f.paths {
		for _, o := range f.paths[i].rules {
			if o.Spec == r.Spec && o.dir == r.dir && !o.path.Negated() {
				return o
			}
		}
	}
	return nil
}

// coversCommand tells whether a pattern matches whatever another does.
func coversCommand(o, r *commandPattern) bool {
	switch {
	case r.exact:
		return o.matches(r.plain)
	case o.exact:
		return false
	case len(o.pieces) == 1:
		// A prefix covers every pattern that begins with it, at a word's end.
		head := r.pieces[0]
		return o.matches(head) && (head != o.pieces[0] || !o.boundary || r.boundary && len(r.pieces) == 1)
	}
	return slices.Equal(o.pieces, r.pieces) && o.boundary == r.boundary
}
