package permission

import (
	"encoding/json"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/tool"
)

// Families of commands and addresses. Those of paths are [tool.FamilyRead] and
// [tool.FamilyEdit].
const (
	familyBash       = "Bash"
	familyPowerShell = "PowerShell"
	familyWebFetch   = "WebFetch"
)

// compiledRule is a rule ready to be compared.
type compiledRule struct {
	Rule
	command *commandPattern
	path    *pathrule.Rule
	domain  *domainPattern
	param   *paramRule
}

// ruleSet is the rules of one behaviour, indexed by what they speak of. It does
// not change once it is built.
type ruleSet struct {
	behavior tool.Behavior
	count    int
	bare     map[string]*compiledRule // by name, the first of each
	globs    []*compiledRule
	scoped   map[string]*familyRules // by name
}

// familyRules are the scoped rules of one name.
type familyRules struct {
	byWord map[string][]*compiledRule // commands, by their first word
	loose  []*compiledRule            // commands whose first word is not certain
	paths  []pathGroup
	other  []*compiledRule // names, addresses and what a tool compares itself
	params []*compiledRule
}

// pathGroup is the path rules of one source: exceptions hold inside it only.
type pathGroup struct {
	origin string
	list   pathrule.List
	rules  []*compiledRule
}

func newRuleSet(b tool.Behavior) *ruleSet {
	return &ruleSet{behavior: b, bare: map[string]*compiledRule{}, scoped: map[string]*familyRules{}}
}

func (s *ruleSet) add(r *compiledRule) {
	s.count++
	switch {
	case !r.Scoped && globName(r.Tool):
		s.globs = append(s.globs, r)
		return
	case !r.Scoped:
		if s.bare[r.Tool] == nil {
			s.bare[r.Tool] = r
		}
		return
	}
	f := s.scoped[r.Tool]
	if f == nil {
		f = &familyRules{byWord: map[string][]*compiledRule{}}
		s.scoped[r.Tool] = f
	}
	if r.param != nil {
		f.params = append(f.params, r)
	}
	switch {
	case r.command != nil && r.command.first != "":
		f.byWord[r.command.first] = append(f.byWord[r.command.first], r)
	case r.command != nil:
		f.loose = append(f.loose, r)
	case r.path != nil:
		origin := string(r.Source) + "\x00" + r.File
		for i := range f.paths {
			if f.paths[i].origin == origin {
				f.paths[i].rules = append(f.paths[i].rules, r)
				return
			}
		}
		f.paths = append(f.paths, pathGroup{origin: origin, rules: []*compiledRule{r}})
	default:
		f.other = append(f.other, r)
	}
}

// seal builds what needs all rules of a source.
func (s *ruleSet) seal() {
	for _, f := range s.scoped {
		for i := range f.paths {
			g := &f.paths[i]
			list := make([]*pathrule.Rule, len(g.rules))
			for j, r := range g.rules {
				list[j] = r.path
			}
			g.list = pathrule.NewList(list...)
		}
	}
}

// tool finds a rule that names the tool and narrows nothing.
func (s *ruleSet) tool(n *toolNames) *compiledRule {
	if len(s.bare) > 0 {
		for _, name := range n.all {
			if r := s.bare[name]; r != nil {
				return r
			}
		}
		if n.server != "" {
			if r := s.bare[mcpPrefix+n.server]; r != nil {
				return r
			}
			if r := s.bare[mcpPrefix+n.raw]; r != nil {
				return r
			}
		}
	}
	for _, r := range s.globs {
		if n.named(r.Tool) {
			return r
		}
	}
	return nil
}

// family finds a rule that names a family of subjects and narrows nothing.
func (s *ruleSet) family(name string) *compiledRule {
	if r := s.bare[name]; r != nil {
		return r
	}
	for _, r := range s.globs {
		if matchStar(r.Tool, name) {
			return r
		}
	}
	return nil
}

// commandRule finds a scoped rule for a command.
func (s *ruleSet) commandRule(family string, c *shellscan.Command) *compiledRule {
	f := s.scoped[family]
	if f == nil {
		return nil
	}
	match := (*commandPattern).opens
	if s.behavior != tool.Allow {
		match = (*commandPattern).closes
	}
	try := func(rules []*compiledRule) *compiledRule {
		for _, r := range rules {
			if match(r.command, c) {
				return r
			}
		}
		return nil
	}
	fold := foldsPrograms && s.behavior != tool.Allow
	var seen string
	for i := range c.Forms {
		word := firstWord(c.Forms[i].Text, true)
		if fold {
			word = strings.ToLower(word)
		}
		if word == seen {
			continue
		}
		seen = word
		if r := try(f.byWord[word]); r != nil {
			return r
		}
	}
	if len(c.Run) > 0 {
		word := baseName(c.Run[0].Text)
		if fold {
			word = strings.ToLower(word)
		}
		if word != seen {
			if r := try(f.byWord[word]); r != nil {
				return r
			}
		}
	}
	return try(f.loose)
}

// mayClose finds a scoped rule that would speak of a command if a computed word
// among its first ones turned out to be what the rule names.
func (s *ruleSet) mayClose(family string, c *shellscan.Command) *compiledRule {
	f := s.scoped[family]
	if f == nil || len(c.Run) == 0 || c.Run[0].Known != shellscan.Literal {
		return nil
	}
	head, open := certainHead(c)
	if !open {
		return nil
	}
	word := firstWord(head, true)
	if foldsPrograms {
		word = strings.ToLower(word)
	}
	for _, r := range f.byWord[word] {
		want := r.command.plain
		if !r.command.exact {
			want = r.command.pieces[0]
		}
		if strings.HasPrefix(want, head) {
			return r
		}
	}
	return nil
}

// certainHead is the text of a command up to its first word that is computed or
// comes from the input, and whether there is one. Options of git in front of the
// subcommand are left out.
func certainHead(c *shellscan.Command) (head string, open bool) {
	var b strings.Builder
	b.WriteString(baseName(c.Run[0].Text))
	git := b.String() == "git"
	for i := 1; i < len(c.Run); i++ {
		w := &c.Run[i]
		if git && w.Known == shellscan.Literal && strings.HasPrefix(w.Text, "-") {
			switch w.Text {
			case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix":
				if i++; i < len(c.Run) && c.Run[i].Multi {
					return b.String() + " ", true
				}
			}
			continue
		}
		git = false
		b.WriteByte(' ')
		if w.Known != shellscan.Literal {
			b.WriteString(w.Prefix)
			return b.String(), true
		}
		b.WriteString(w.Text)
	}
	for i := range c.Wrappers {
		if c.Wrappers[i].Name == "xargs" {
			return b.String() + " ", true
		}
	}
	return b.String(), false
}

// textRule finds a rule whose text is exactly a whole command line. Blanks
// count where the rule opens: they may stand in quotes, or be newlines.
func (s *ruleSet) textRule(family, line string) *compiledRule {
	f := s.scoped[family]
	if f == nil {
		return nil
	}
	line = strings.TrimSpace(line)
	spaced := strings.Join(strings.Fields(line), " ")
	for _, rules := range [][]*compiledRule{f.byWord[firstWord(unquote(spaced), true)], f.loose} {
		for _, r := range rules {
			if r.command.exact && (r.command.raw == line || s.behavior != tool.Allow && r.command.text == spaced) {
				return r
			}
		}
	}
	return nil
}

// pathRule finds a scoped rule for a path in one of the families.
func (s *ruleSet) pathRule(path pathrule.Resolved, families ...string) *compiledRule {
	for _, name := range families {
		f := s.scoped[name]
		if f == nil {
			continue
		}
		for i := range f.paths {
			g := &f.paths[i]
			hit := g.list.Match(path)
			if hit == nil {
				continue
			}
			for _, r := range g.rules {
				if r.path == hit {
					return r
				}
			}
		}
	}
	return nil
}

// hasPathRules tells whether any rule of the families speaks of paths.
func (s *ruleSet) hasPathRules(families ...string) bool {
	for _, name := range families {
		if f := s.scoped[name]; f != nil && len(f.paths) > 0 {
			return true
		}
	}
	return false
}

func (s *ruleSet) hostRule(family, host string) *compiledRule {
	if f := s.scoped[family]; f != nil {
		for _, r := range f.other {
			if r.domain != nil && r.domain.matches(host) {
				return r
			}
		}
	}
	return nil
}

func (s *ruleSet) nameRule(family, name, args string) *compiledRule {
	if f := s.scoped[family]; f != nil {
		for _, r := range f.other {
			if nameMatches(r.Spec, name, args, s.behavior != tool.Allow) {
				return r
			}
		}
	}
	return nil
}

// paramRule finds a rule for a field of the raw input.
func (s *ruleSet) paramRule(n *toolNames, primary string, raw json.RawMessage) *compiledRule {
	var fields map[string]json.RawMessage
	for _, name := range n.all {
		f := s.scoped[name]
		if f == nil || len(f.params) == 0 {
			continue
		}
		if fields == nil {
			fields = rawFields(raw)
		}
		for _, r := range f.params {
			if r.param.param != primary && r.param.matches(fields) {
				return r
			}
		}
	}
	return nil
}

// declaredRule asks the tool itself about the rules that name it and fit no kind
// of subject.
func (s *ruleSet) declaredRule(n *toolNames, call *tool.Call) (*compiledRule, error) {
	for _, name := range n.all {
		f := s.scoped[name]
		if f == nil {
			continue
		}
		for _, r := range f.other {
			ok, err := call.MatchRule(r.Spec)
			if err != nil {
				return nil, err
			}
			if ok {
				return r, nil
			}
		}
	}
	return nil, nil
}
