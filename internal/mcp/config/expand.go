package config

import "strings"

// expander replaces ${VAR} and ${VAR:-default} in values. A variable that is
// not set and has no default stays as it was written.
type expander struct {
	lookup  func(string) (string, bool)
	missing []string
}

// expand works from left to right, and what it inserts is not expanded again.
func (x *expander) expand(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			break
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			break
		}
		whole := s[i : i+end+1]
		name, fallback, hasDefault := strings.Cut(whole[2:len(whole)-1], ":-")
		b.WriteString(s[:i])
		s = s[i+end+1:]
		if !isVariable(name) {
			b.WriteString(whole)
			continue
		}
		switch v, ok := x.lookup(name); {
		case ok && (v != "" || !hasDefault):
			b.WriteString(v)
		case hasDefault:
			b.WriteString(fallback)
		default:
			b.WriteString(whole)
			x.missing = append(x.missing, name)
		}
	}
	b.WriteString(s)
	return b.String()
}

func isVariable(s string) bool {
	for i, c := range []byte(s) {
		switch {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return s != ""
}
