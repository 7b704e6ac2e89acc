package permission

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// MaxRuleLength bounds one rule, in bytes: what a command or a path may have,
// and a name.
const MaxRuleLength = 16 << 10

// Rule is one parsed permission rule.
type Rule struct {
	Text     string // as written, without surrounding blanks
	Tool     string // the name in front of the parenthesis, former names replaced
	Spec     string // what stands in the parentheses
	Scoped   bool   // there were parentheses that narrow the rule
	Behavior tool.Behavior
	Source   settings.Source
	File     string // "" where the rule does not come from a file
	Line     int    // 0 if unknown

	dir string // what a pattern with one leading slash starts from
}

// formerNames are tool names of the past that rules may still use.
var formerNames = map[string]string{
	"Task": "Agent", "BashOutput": "TaskOutput", "KillShell": "TaskStop", "KillBash": "TaskStop",
}

const mcpPrefix = "mcp__"

// ParseRule reads "Tool" or "Tool(specifier)". The rest of the grammar depends
// on the tool and the list that the rule stands in; see [Policy.Warnings].
func ParseRule(text string) (Rule, error) {
	r := Rule{Text: strings.TrimSpace(text)}
	fail := func(why string) (Rule, error) {
		return Rule{}, fmt.Errorf("rule %q: %s; a rule is a tool's name, or a name and a specifier in parentheses, such as Bash(git log:*)", clipText(text), why)
	}
	switch {
	case r.Text == "":
		return fail("it is empty")
	case len(r.Text) > MaxRuleLength:
		return fail(fmt.Sprintf("it is longer than %d bytes", MaxRuleLength))
	case strings.ContainsRune(r.Text, 0):
		return fail("it holds a NUL byte, so it can match nothing")
	}
	name, rest, scoped := strings.Cut(r.Text, "(")
	r.Tool = strings.TrimSpace(name)
	if err := checkRuleName(r.Tool); err != nil {
		return fail(err.Error())
	}
	if former, ok := formerNames[r.Tool]; ok {
		r.Tool = former
	}
	if !scoped {
		return r, nil
	}
	if !strings.HasSuffix(rest, ")") {
		if strings.Contains(rest, ")") {
			return fail("there is text after the closing parenthesis")
		}
		return fail("the closing parenthesis is missing")
	}
	r.Spec, r.Scoped = strings.TrimSuffix(rest, ")"), true
	if strings.TrimSpace(r.Spec) == "" {
		return fail("the parentheses are empty")
	}
	if saysAll(r.Tool, strings.TrimSpace(r.Spec)) {
		r.Spec, r.Scoped = "", false
	}
	return r, nil
}

// saysAll tells the specifiers that narrow nothing.
func saysAll(name, spec string) bool {
	switch name {
	case "WebFetch":
		return spec == "domain:*"
	case "Read", "Edit":
		return false // "*" is a pattern under the working directory there
	}
	return spec == "*"
}

func checkRuleName(name string) error {
	if name == "" {
		return errors.New("the name is missing")
	}
	if strings.HasPrefix(name, mcpPrefix) {
		// Servers may call themselves and their tools what they like.
		if strings.ContainsAny(name, "\n\r\t)") {
			return errors.New("the name holds a character that no tool's name has")
		}
		return nil
	}
	for _, c := range name {
		if c == '_' || c == '-' || c == '*' || c == '!' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			continue
		}
		return fmt.Errorf("%q cannot stand in a tool's name", c)
	}
	if strings.Contains(name, "!") {
		return errors.New("an exception (!) goes inside the parentheses")
	}
	return nil
}

// globName tells whether a rule's name stands for several tools.
func globName(name string) bool { return strings.Contains(name, "*") }

// allowGlobError says why a name glob cannot stand in an allow list, or "".
func allowGlobError(name string) string {
	if !globName(name) {
		return ""
	}
	if rest, ok := strings.CutPrefix(name, mcpPrefix); ok {
		if server, _, ok := strings.Cut(rest, "__"); ok && server != "" && !globName(server) {
			return ""
		}
	}
	return "in an allow list, * may stand in a name only after a literal mcp__<server>__"
}

// matchStar compares text with a pattern in which * is any run of characters.
func matchStar(pattern, text string) bool {
	star, mark := -1, 0
	p, t := 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// maxClipped bounds foreign text in messages.
const maxClipped = 200

func clipText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) <= maxClipped {
		return s
	}
	cut := maxClipped
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
