package permission

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sevengate/sevengate/tool"
)

// toolNames are the names by which rules may speak of one tool.
type toolNames struct {
	all    []string
	server string // as the server is called in rules, "" if there is none
	raw    string // as the server calls itself
}

func namesOf(name string, f *tool.Facts) toolNames {
	n := toolNames{all: []string{name}}
	if f == nil {
		return n
	}
	if f.Name != name && f.Name != "" {
		n.all = append(n.all, f.Name)
	}
	n.all = append(n.all, f.Aliases...)
	for _, a := range n.all {
		if now, ok := formerNames[a]; ok {
			n.all = append(n.all, now)
			break
		}
	}
	if o := f.Origin; o != nil {
		n.raw, n.server = o.Server, mcpSegment(o.Server)
		n.all = append(n.all, mcpPrefix+n.server+"__"+mcpSegment(o.Tool), mcpPrefix+o.Server+"__"+o.Tool)
	}
	return n
}

// mcpSegment is how a server's or a tool's own name stands in a tool name.
func mcpSegment(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, s)
}

// named tells whether a rule's name stands for the tool.
func (n *toolNames) named(rule string) bool {
	if globName(rule) {
		for _, name := range n.all {
			if matchStar(rule, name) {
				return true
			}
		}
		return false
	}
	for _, name := range n.all {
		if name == rule {
			return true
		}
	}
	if server, ok := strings.CutPrefix(rule, mcpPrefix); ok && n.server != "" {
		return server == n.server || server == n.raw
	}
	return false
}

// nameMatches compares the specifier of a rule for names with a name and its
// arguments. "name" is the name alone, "name *" with any arguments; a rule that
// closes also covers arguments and what is listed as "dir:name".
func nameMatches(spec, name, args string, closes bool) bool {
	spec = strings.TrimSpace(spec)
	if base, ok := strings.CutSuffix(spec, " *"); ok {
		spec, args = strings.TrimSpace(base), ""
	}
	full := name
	if args != "" && !closes {
		full = name + " " + args
	}
	if nameIs(spec, full) {
		return true
	}
	if !closes {
		return false
	}
	if args != "" && nameIs(spec, name+" "+args) {
		return true
	}
	if i := strings.LastIndexByte(name, ':'); i >= 0 && !strings.Contains(spec, ":") {
		return nameIs(spec, name[i+1:])
	}
	return false
}

func nameIs(spec, name string) bool {
	if strings.Contains(spec, "*") {
		return matchStar(spec, name)
	}
	return spec == name
}

// paramRule is Tool(param:value): deny and ask rules for one field of the raw
// input.
type paramRule struct{ param, value string }

// compileParam gives nil where a specifier cannot speak of a field.
func compileParam(spec string) *paramRule {
	name, value, ok := strings.Cut(spec, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || name == "" || value == "" {
		return nil
	}
	for _, c := range name {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return nil
		}
	}
	return &paramRule{name, value}
}

// rawFields decodes the top level of a raw input; nil where it is no object.
func rawFields(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// matches compares with a top-level scalar, as the model wrote it. The letter
// case of the field does not count, since it does not when the input is decoded.
func (p *paramRule) matches(fields map[string]json.RawMessage) bool {
	for name, raw := range fields {
		if strings.EqualFold(name, p.param) && scalarIs(raw, p.value) {
			return true
		}
	}
	return false
}

func scalarIs(raw json.RawMessage, value string) bool {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || bytes.Equal(raw, []byte("null")) {
		return false
	}
	text := string(raw)
	if raw[0] == '"' && json.Unmarshal(raw, &text) != nil {
		return false
	}
	return matchStar(value, text)
}

// primaryFields are the input fields that a tool's own specifiers speak of.
var primaryFields = map[string][]string{
	"Bash": {"command"}, "PowerShell": {"command"}, "Monitor": {"command"},
	"Read": {"file_path"}, "Edit": {"file_path"}, "Write": {"file_path"}, "MultiEdit": {"file_path"},
	"Grep": {"path"}, "Glob": {"path"}, "NotebookEdit": {"notebook_path"}, "WebFetch": {"url"},
}
