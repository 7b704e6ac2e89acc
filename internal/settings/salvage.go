package settings

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// scanner reads tokens from text that need not be valid JSON: strings and single characters, without blanks and
// comments.
type scanner struct {
	data []byte
	pos  int
}

// next gives the next token: '"' with its text, another character, or 0 at the end.
func (s *scanner) next() (kind byte, text string, off int) {
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			s.pos++
		case c == '/' && s.has("//"):
			s.skipPast("\n")
		case c == '/' && s.has("/*"):
			s.pos += 2
			s.skipPast("*/")
		case c == '"':
			off = s.pos
			return '"', s.str(), off
		default:
			s.pos++
			return c, "", s.pos - 1
		}
	}
	return 0, "", s.pos
}

func (s *scanner) has(prefix string) bool {
	return strings.HasPrefix(string(s.data[s.pos:min(len(s.data), s.pos+len(prefix))]), prefix)
}

func (s *scanner) skipPast(end string) {
	for s.pos < len(s.data) {
		if s.has(end) {
			s.pos += len(end)
			return
		}
		s.pos++
	}
}

// str reads a string; one that is not closed ends with its line.
func (s *scanner) str() string {
	start := s.pos
	for s.pos++; s.pos < len(s.data); s.pos++ {
		switch s.data[s.pos] {
		case '\\':
			s.pos++
		case '"':
			s.pos++
			raw := s.data[start:s.pos]
			var text string
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw[1 : len(raw)-1])
			}
			return text
		case '\n':
			return strings.TrimRight(string(s.data[start+1:s.pos]), " \t\r,]}")
		}
	}
	s.pos = len(s.data)
	return strings.TrimRight(string(s.data[start+1:]), " \t\r,]}")
}

// tooDeep reports whether brackets nest deeper than maxDepth, and where: the parser would follow them on its stack.
func tooDeep(data []byte) (off int, deep bool) {
	s := scanner{data: data}
	for depth := 0; ; {
		switch kind, _, off := s.next(); kind {
		case 0:
			return 0, false
		case '{', '[':
			if depth++; depth > maxDepth {
				return off, true
			}
		case '}', ']':
			depth--
		}
	}
}

var ruleShape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\*|[A-Za-z][A-Za-z0-9_.*-]*)(\(.*\))?$`)
})

// salvage takes what looks like deny and ask rules from a file that cannot be used otherwise. Allow rules are not
// taken: what is broken opens nothing.
func (d *document) salvage() {
	d.lists[Deny], d.lists[Ask], d.lists[Allow], d.dirs = nil, nil, nil, nil
	s := scanner{data: d.data}
	total := 0
	for {
		kind, text, _ := s.next()
		if kind == 0 {
			return
		}
		b := Behavior(text)
		if kind != '"' || b != Deny && b != Ask {
			continue
		}
		if kind, _, _ = s.next(); kind != ':' {
			continue
		}
		mark := s.pos
		kind, text, off := s.next()
		if kind != '[' && kind != '"' {
			s.pos = mark
			continue
		}
		for kind == '[' || kind == ',' || kind == '"' {
			if kind == '"' {
				after := s.pos
				if next, _, _ := s.next(); next == ':' {
					// The list was never closed, and this is the next key.
					s.pos = off
					break
				}
				s.pos = after
				if total < maxSalvaged && badRule(text) == "" && ruleShape().MatchString(strings.TrimSpace(text)) {
					e := d.entry(text, off)
					e.Salvaged = true
					d.lists[b] = append(d.lists[b], e)
					total++
				}
			}
			kind, text, off = s.next()
		}
	}
}
