package shell

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The part of sed whose meaning is the same everywhere: s and d, with line numbers
// or one pattern in front. It serves the preview of an edit; a script outside of it
// has none, so that what a person sees is never another edit than the one made.

// sedStep is one command of a script.
type sedStep struct {
	from, to int // lines, from 1; 0: every line; lastLine: the last
	where    *regexp.Regexp
	remove   bool
	find     *regexp.Regexp
	all      bool
	replace  string // in the form that Regexp.Expand takes
	meta     bool   // the pattern has more than literal characters
}

const lastLine = -1

// maxSedSteps bounds the scripts that are looked at.
const maxSedSteps = 50

// parseSed reads a script; ok is false when it holds anything else.
func parseSed(script string, extended bool) (steps []sedStep, ok bool) {
	p := sedReader{src: script, extended: extended}
	for {
		p.skip(" \t\n;")
		if p.at >= len(p.src) {
			return steps, len(steps) > 0
		}
		step, ok := p.step()
		if !ok || len(steps) == maxSedSteps {
			return nil, false
		}
		steps = append(steps, step)
		p.skip(" \t")
		if p.at < len(p.src) && p.src[p.at] != ';' && p.src[p.at] != '\n' {
			return nil, false
		}
	}
}

type sedReader struct {
	src      string
	at       int
	extended bool
}

func (p *sedReader) skip(set string) {
	for p.at < len(p.src) && strings.IndexByte(set, p.src[p.at]) >= 0 {
		p.at++
	}
}

func (p *sedReader) next() byte {
	if p.at >= len(p.src) {
		return 0
	}
	p.at++
	return p.src[p.at-1]
}

func (p *sedReader) line() (int, bool) {
	start := p.at
	if p.at < len(p.src) && p.src[p.at] == '$' {
		p.at++
		return lastLine, true
	}
	p.skip("0123456789")
	n, err := strconv.Atoi(p.src[start:p.at])
	return n, err == nil && n > 0
}

func (p *sedReader) step() (s sedStep, ok bool) {
	switch c := p.src[p.at]; {
	case c == '/':
		p.at++
		pattern, ok := p.until('/', false)
		if !ok {
			return s, false
		}
		if s.where, s.meta, ok = compileSed(pattern, '/', p.extended, false); !ok {
			return s, false
		}
	case c == '$' || c >= '0' && c <= '9':
		if s.from, ok = p.line(); !ok {
			return s, false
		}
		s.to = s.from
		if p.at < len(p.src) && p.src[p.at] == ',' {
			p.at++
			if s.to, ok = p.line(); !ok || s.from == lastLine {
				return s, false
			}
		}
	}
	p.skip(" \t")
	switch p.next() {
	case 'd':
		s.remove = true
		return s, true
	case 's':
		return p.substitution(s)
	}
	return s, false
}

func (p *sedReader) substitution(s sedStep) (sedStep, bool) {
	delim := p.next()
	if delim == 0 || strings.IndexByte("/,#@:!~%=_|", delim) < 0 {
		return s, false
	}
	pattern, ok := p.until(delim, false)
	if !ok {
		return s, false
	}
	with, ok := p.until(delim, true)
	if !ok {
		return s, false
	}
	fold := false
	for p.at < len(p.src) && strings.IndexByte(" \t;\n", p.src[p.at]) < 0 {
		switch p.next() {
		case 'g':
			s.all = true
		case 'i', 'I':
			fold = true
		default:
			return s, false
		}
	}
	var meta, refers bool
	if s.find, meta, ok = compileSed(pattern, delim, p.extended, fold); !ok {
		return s, false
	}
	if s.replace, refers, ok = sedReplacement(with, delim, s.find.NumSubexp()); !ok {
		return s, false
	}
	// Which part a group matched may depend on the implementation.
	if refers && strings.ContainsAny(s.find.String(), "|") || refers && regexp.MustCompile(`\)[*+?{]`).MatchString(s.find.String()) {
		return s, false
	}
	s.meta = s.meta || meta
	return s, true
}

// until takes what stands in front of a delimiter. In a pattern the delimiter may
// not stand in brackets, where implementations differ.
func (p *sedReader) until(delim byte, newlines bool) (string, bool) {
	start := p.at
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case c == delim:
			p.at++
			return p.src[start : p.at-1], true
		case c == '\\':
			p.at++
		case newlines: // a replacement, where nothing else is special
		case c == '\n':
			return "", false
		case c == '[':
			end := bracketEnd(p.src[p.at:])
			if end == 0 || strings.IndexByte(p.src[p.at:p.at+end], delim) >= 0 {
				return "", false
			}
			p.at += end - 1
		}
		p.at++
	}
	return "", false
}

// bracketEnd gives where a bracket expression at the start of s ends; 0 if it does not.
func bracketEnd(s string) int {
	i := 1
	if i < len(s) && s[i] == '^' {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for i < len(s) {
		switch {
		case strings.HasPrefix(s[i:], "[:"):
			end := strings.Index(s[i:], ":]")
			if end < 0 {
				return 0
			}
			i += end + 2
		case s[i] == ']':
			return i + 1
		default:
			i++
		}
	}
	return 0
}

// compileSed translates a basic or extended regular expression. meta tells that it
// has more than literal characters.
func compileSed(pattern string, delim byte, extended, fold bool) (re *regexp.Regexp, meta, ok bool) {
	if pattern == "" || !utf8.ValidString(pattern) {
		return nil, false, false // an empty one stands for the last one used
	}
	var b strings.Builder
	if fold {
		b.WriteString("(?i)")
		meta = true
	}
	start, quantified := true, false // at the start of a branch; after a quantifier
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		escaped := c == '\\'
		if escaped {
			if i++; i == len(pattern) {
				return nil, false, false
			}
			c = pattern[i]
			if c == delim {
				if delim == '|' {
					return nil, false, false
				}
				b.WriteString(regexp.QuoteMeta(string(c)))
				start, quantified = false, false
				continue
			}
		}
		special := strings.IndexByte("(){}|+?", c) >= 0 && escaped != extended
		switch {
		case special && c == '(' || special && c == '|':
			if strings.HasPrefix(pattern[i+1:], "?") {
				return nil, false, false
			}
			b.WriteByte(c)
			meta, start, quantified = true, true, false
			continue
		case special && c == ')':
			if start {
				return nil, false, false
			}
			b.WriteByte(c)
		case special && c == '{':
			end := strings.IndexByte(pattern[i:], '}')
			if start || quantified || end < 0 {
				return nil, false, false
			}
			inner := strings.TrimSuffix(pattern[i+1:i+end], `\`)
			if (inner == pattern[i+1:i+end]) != extended || inner == "" || strings.Trim(inner, "0123456789,") != "" || inner[0] == ',' {
				return nil, false, false
			}
			b.WriteString("{" + inner + "}")
			i += end
			meta, quantified = true, true
			continue
		case special && c == '}':
			return nil, false, false
		case special, !escaped && c == '*':
			if start && c == '*' && !extended {
				b.WriteString(`\*`)
				break
			}
			if start || quantified {
				return nil, false, false
			}
			b.WriteByte(c)
			meta, quantified = true, true
			continue
		case escaped && (c == 'w' || c == 'W' || c == 'S'):
			b.WriteString(`\` + string(c))
			meta = true
		case escaped && c == 's':
			b.WriteString(`[[:space:]]`)
			meta = true
		case escaped && c == 't':
			b.WriteString(`\t`)
		case escaped && (c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf || strings.IndexByte("<>`'\n", c) >= 0):
			return nil, false, false
		case escaped:
			b.WriteString(regexp.QuoteMeta(string(c)))
		case c == '^':
			if !start && !extended {
				b.WriteString(`\^`)
				break
			}
			if !start || i+1 < len(pattern) && strings.IndexByte("*+?{", pattern[i+1]) >= 0 {
				return nil, false, false
			}
			b.WriteByte('^')
			meta = true
			continue
		case c == '$':
			if i+1 == len(pattern) {
				b.WriteByte('$')
				meta = true
				break
			}
			if extended || pattern[i+1] == '\\' {
				return nil, false, false
			}
			b.WriteString(`\$`)
		case c == '.':
			b.WriteByte('.')
			meta = true
		case c == '[':
			end := bracketEnd(pattern[i:])
			if end == 0 {
				return nil, false, false
			}
			class, ok := sedClass(pattern[i : i+end])
			if !ok {
				return nil, false, false
			}
			b.WriteString(class)
			i += end - 1
			meta = true
		case c == '\n':
			return nil, false, false
		default:
			if c < utf8.RuneSelf {
				b.WriteString(regexp.QuoteMeta(string(c)))
			} else {
				b.WriteByte(c)
			}
		}
		start, quantified = false, false
	}
	if start && meta && !strings.HasSuffix(b.String(), "^") {
		return nil, false, false // an empty branch
	}
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, false, false
	}
	re.Longest()
	return re, meta, true
}

// sedClass translates a bracket expression of plain characters, ranges and named
// classes.
func sedClass(s string) (string, bool) {
	body := s[1 : len(s)-1]
	if strings.ContainsAny(body, "\\\n") || strings.Contains(body, "[.") || strings.Contains(body, "[=") {
		return "", false
	}
	var b strings.Builder
	b.WriteByte('[')
	if strings.HasPrefix(body, "^") {
		b.WriteByte('^')
		body = body[1:]
	}
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case strings.HasPrefix(body[i:], "[:"):
			end := strings.Index(body[i:], ":]") + 2
			b.WriteString(body[i : i+end])
			i += end - 1
		case c >= utf8.RuneSelf:
			return "", false
		case c == '-' && i > 0 && i+1 < len(body):
			lo, hi := body[i-1], body[i+1]
			if !alnum(lo) || !alnum(hi) {
				return "", false // the order of other characters is the locale's
			}
			b.WriteByte('-')
		case alnum(c):
			b.WriteByte(c)
		default:
			b.WriteString(`\` + string(c))
		}
	}
	b.WriteByte(']')
	return b.String(), true
}

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// sedReplacement translates the text that takes the place of a match. refers tells
// that it names groups.
func sedReplacement(s string, delim byte, groups int) (out string, refers, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '&':
			b.WriteString("${0}")
		case c == '$':
			b.WriteString("$$")
		case c != '\\':
			b.WriteByte(c)
		default:
			if i++; i == len(s) {
				return "", false, false
			}
			switch c = s[i]; {
			case c >= '1' && c <= '9':
				if int(c-'0') > groups {
					return "", false, false
				}
				refers = true
				b.WriteString("${" + string(c) + "}")
			case c == 'n':
				b.WriteByte('\n')
			case c == 't':
				b.WriteByte('\t')
			case c == '\\' || c == '&' || c == '/' || c == delim || c == '\n' || c == '.' || c == '-' || c == '"' || c == ' ':
				b.WriteByte(c)
			default:
				return "", false, false
			}
		}
	}
	return b.String(), refers, true
}

// applySed gives a text as the steps leave it; ok is false where the meaning would
// depend on the locale.
func applySed(text string, steps []sedStep) (string, bool) {
	ascii := true
	for i := 0; i < len(text) && ascii; i++ {
		ascii = text[i] < utf8.RuneSelf
	}
	for i := range steps {
		if !ascii && steps[i].meta || !utf8.ValidString(text) {
			return "", false
		}
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var b strings.Builder
lines:
	for n, line := range lines {
		body, end := strings.CutSuffix(line, "\n")
		for i := range steps {
			s := &steps[i]
			if !s.selects(body, n+1, n+1 == len(lines)) {
				continue
			}
			if s.remove {
				continue lines
			}
			if strings.Contains(body, "\n") {
				return "", false // an earlier step broke the line, and . and $ may mean another thing
			}
			body = s.substitute(body)
		}
		b.WriteString(body)
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String(), true
}

func (s *sedStep) selects(body string, n int, last bool) bool {
	switch {
	case s.where != nil:
		return s.where.MatchString(body)
	case s.from == 0:
		return true
	case s.from == lastLine:
		return last
	case n < s.from:
		return false
	}
	return n == s.from || s.to == lastLine || n <= s.to
}

func (s *sedStep) substitute(body string) string {
	if s.all {
		return s.find.ReplaceAllString(body, s.replace)
	}
	m := s.find.FindStringSubmatchIndex(body)
	if m == nil {
		return body
	}
	out := []byte(body[:m[0]])
	out = s.find.ExpandString(out, s.replace, body, m)
	return string(append(out, body[m[1]:]...))
}
