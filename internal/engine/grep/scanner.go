package grep

import (
	"bytes"
	"unicode/utf8"
)

// scanner finds the matching lines of one text after another. It holds the caches of one goroutine.
type scanner struct {
	p             *Pattern
	text          []byte
	useLits       bool
	rejected      int // candidate lines without a match since the text began
	strict, lossy *dfa

	checked bool // the next are known for text
	valid   bool
	lanes   lanes
}

func newScanner(p *Pattern) *scanner { return &scanner{p: p} }

// begin sets the text to search: whole lines, of which the last may lack its line feed.
func (s *scanner) begin(text []byte) {
	s.text, s.checked, s.rejected = text, false, 0
	s.useLits = s.p.finder != nil
	if s.useLits && s.p.specials && !isASCII(text) && (bytes.Contains(text, []byte("\u212a")) || bytes.Contains(text, []byte("\u017f"))) {
		s.useLits = false
	}
}

// next returns the bounds of the first matching line at or after from, the start of a line, without its line feed; -1 if
// there is none.
func (s *scanner) next(from int) (start, end int) {
	if !s.p.matchable {
		return -1, -1
	}
	for s.useLits && from < len(s.text) {
		at := s.p.finder.find(s.text, from)
		if at < 0 {
			return -1, -1
		}
		start, end = s.line(from, at)
		if s.p.exact || s.confirm(s.text[start:end]) {
			return start, end
		}
		from = end + 1
		// Many candidates for nothing cost more than going through the text once.
		if s.rejected++; s.rejected > 32 && s.rejected*128 > from && s.p.strict != nil {
			s.useLits = false
		}
	}
	if from >= len(s.text) {
		return -1, -1
	}
	return s.nextByDFA(from)
}

func (s *scanner) nextByDFA(from int) (start, end int) {
	if !s.checked {
		s.valid, s.checked = s.p.anyText || utf8.Valid(s.text), true
		s.lanes.clear()
	}
	for from < len(s.text) {
		d := s.dfa(s.valid)
		if d == nil {
			start, end = s.line(from, from)
		} else {
			at := s.lanes.next(d, s.text, from)
			if at < 0 {
				return -1, -1
			}
			if start, end = s.line(from, at); start == len(s.text) {
				return -1, -1
			}
			if s.valid && bytes.IndexByte(s.text[start:end], '\r') < 0 {
				return start, end
			}
		}
		if s.confirm(s.text[start:end]) {
			return start, end
		}
		from = end + 1
	}
	return -1, -1
}

// dfa returns nil if there is none or it has given up.
func (s *scanner) dfa(valid bool) *dfa {
	if s.p.strict == nil {
		return nil
	}
	d := &s.lossy
	n := s.p.lossy
	if valid {
		d, n = &s.strict, s.p.strict
	}
	if *d == nil {
		*d = newDFA(n)
	}
	if (*d).gaveUp {
		return nil
	}
	return *d
}

func (s *scanner) line(from, at int) (start, end int) {
	start = from + bytes.LastIndexByte(s.text[from:at], '\n') + 1
	if end = bytes.IndexByte(s.text[at:], '\n'); end < 0 {
		return start, len(s.text)
	}
	return start, at + end
}

// confirm decides a single line.
func (s *scanner) confirm(line []byte) bool {
	line = trimCR(line)
	if d := s.dfa(true); d != nil && bytes.IndexByte(line, '\r') < 0 && (s.p.anyText || utf8.Valid(line)) {
		return d.next(line, 0) >= 0
	}
	return s.p.re.Match(line)
}

// mayContain reports whether the text can contain a match that begins at or after the start of a line. For multiline
// patterns.
func (s *scanner) mayContain(from int) bool {
	if s.useLits {
		if at := s.p.finder.find(s.text, from); at < 0 || s.p.exact {
			return at >= 0
		}
	}
	if !s.checked {
		s.valid, s.checked = s.p.anyText || utf8.Valid(s.text), true
	}
	if d := s.dfa(s.valid); d != nil {
		return d.next(s.text, from) >= 0
	}
	return s.p.matchable
}

func trimCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}
