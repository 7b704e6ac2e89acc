package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// Warning is something odd about a rule, above all why it can match nothing.
type Warning struct {
	Source  settings.Source
	File    string
	Line    int
	Rule    string
	Message string
}

// String is the warning in one line.
func (w Warning) String() string {
	where := w.File
	if where == "" {
		where = string(w.Source)
	} else if w.Line > 0 {
		where = fmt.Sprintf("%s:%d", w.File, w.Line)
	}
	return fmt.Sprintf("%s: %s: %s", where, clipText(w.Rule), w.Message)
}

// ruleText is a rule before it is parsed.
type ruleText struct {
	text     string
	behavior tool.Behavior
	source   settings.Source
	file     string
	line     int
	dir      string // where "/pattern" starts
}

// rules are all compiled rules of one moment.
type rules struct {
	deny, ask, allow *ruleSet
	all              []*compiledRule
	warnings         []Warning
}

// place is what patterns are relative to.
type place struct{ cwd, home string }

func compileRules(texts []ruleText, at place) *rules {
	out := &rules{deny: newRuleSet(tool.Deny), ask: newRuleSet(tool.Ask), allow: newRuleSet(tool.Allow)}
	for _, t := range texts {
		r, warnings, err := compileOne(t, at)
		for _, w := range warnings {
			out.warn(t, w)
		}
		if err != nil {
			out.warn(t, "skipped: "+err.Error())
			continue
		}
		out.all = append(out.all, r)
		switch t.behavior {
		case tool.Deny:
			out.deny.add(r)
		case tool.Ask:
			out.ask.add(r)
		case tool.Allow:
			out.allow.add(r)
		}
	}
	for _, s := range []*ruleSet{out.deny, out.ask, out.allow} {
		s.seal()
	}
	return out
}

func (r *rules) warn(t ruleText, message string) {
	r.warnings = append(r.warnings, Warning{t.source, t.file, t.line, t.text, message})
}

func compileOne(t ruleText, at place) (*compiledRule, []string, error) {
	parsed, err := ParseRule(t.text)
	if err != nil {
		return nil, nil, err
	}
	parsed.Behavior, parsed.Source, parsed.File, parsed.Line, parsed.dir = t.behavior, t.source, t.file, t.line, t.dir
	r := &compiledRule{Rule: parsed}
	opens := t.behavior == tool.Allow
	if opens {
		if why := allowGlobError(r.Tool); why != "" {
			return nil, nil, fmt.Errorf("%s", why)
		}
	}
	if !r.Scoped {
		return r, nil, nil
	}
	if globName(r.Tool) {
		return nil, nil, fmt.Errorf("a name with * takes no specifier")
	}
	warnings, err := r.compileSpec(opens, at)
	return r, warnings, err
}

// compileSpec compiles what stands in the parentheses, by the name in front.
func (r *compiledRule) compileSpec(opens bool, at place) (warnings []string, err error) {
	if !opens {
		r.param = compileParam(r.Spec)
		if r.param != nil && slices.Contains(primaryFields[r.Tool], r.param.param) {
			field := r.param.param
			r.param = nil
			return nil, fmt.Errorf("the field %q cannot be named in a rule; write what it holds, such as %s", field, exampleFor(r.Tool))
		}
	}
	switch r.Tool {
	case familyBash, familyPowerShell:
		spec := r.Spec
		if r.Tool == familyPowerShell {
			spec = canonicalPS(strings.TrimSpace(spec))
		}
		r.command = compileCommand(spec, r.Tool == familyPowerShell || !opens && foldsPrograms)
		return commandWarnings(r, opens), nil
	case tool.FamilyRead, tool.FamilyEdit:
		kind := pathrule.DenyAsk
		if opens {
			kind = pathrule.Allow
		}
		r.path, err = pathrule.Compile(r.Spec, pathrule.Anchor{SourceDir: r.dir, Cwd: at.cwd, Home: at.home}, kind)
		if err != nil {
			return nil, err
		}
		return r.path.Warnings(), nil
	case familyWebFetch:
		r.domain, err = compileDomain(r.Spec)
		if err != nil && r.param != nil {
			return nil, nil
		}
		return nil, err
	}
	if strings.HasPrefix(strings.TrimSpace(r.Spec), "domain:") {
		r.domain, _ = compileDomain(r.Spec)
	}
	if neverConsulted(r.Tool) && r.param == nil {
		return []string{fmt.Sprintf("path rules of %s are never consulted; write %s", r.Tool, exampleFor(r.Tool))}, nil
	}
	return nil, nil
}

// neverConsulted are tools whose files are governed by Read and Edit rules.
func neverConsulted(name string) bool {
	switch name {
	case "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep", "LSP":
		return true
	}
	return false
}

func exampleFor(name string) string {
	switch name {
	case familyBash, "Monitor":
		return "Bash(git log:*)"
	case familyPowerShell:
		return "PowerShell(Get-ChildItem *)"
	case familyWebFetch:
		return "WebFetch(domain:example.com)"
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		return "Edit(src/**)"
	}
	return "Read(src/**)"
}

func commandWarnings(r *compiledRule, opens bool) []string {
	var out []string
	spec := strings.TrimSpace(r.Spec)
	if i := strings.Index(spec, ":*"); i >= 0 && i < len(spec)-2 {
		out = append(out, `":*" counts as "any arguments" only at the end; here ":" is itself and "*" any text`)
	}
	if opens && !r.command.exact && len(r.command.pieces) > 1 && strings.Count(strings.TrimSpace(r.command.pieces[0]), " ") == 0 && r.command.first != "" {
		out = append(out, `the * stands where a subcommand or an option can stand, so the rule covers more than it seems to`)
	}
	return out
}
