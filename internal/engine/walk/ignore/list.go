package ignore

import "strings"

// Decision is what a list says of a path.
type Decision uint8

const (
	None    Decision = iota // no pattern matches
	Ignore                  // the last matching pattern excludes the path
	Include                 // the last matching pattern is negated: the path is not excluded
)

func (d Decision) String() string {
	switch d {
	case Ignore:
		return "ignore"
	case Include:
		return "include"
	}
	return "none"
}

// List is the compiled content of one ignore file. It is immutable and safe for concurrent use; a nil List decides None.
type List struct {
	patterns []Pattern
}

// ParseList compiles a file's content: one pattern a line, a byte order mark at its start is skipped. Lines that can
// match nothing do not disturb the others.
func ParseList(data []byte, opts Options) *List {
	text := strings.TrimPrefix(string(data), "\xef\xbb\xbf")
	l := &List{}
	for n := 1; text != ""; n++ {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		if p, ok := Parse(line, opts); ok && p.Valid() {
			p.line = n
			l.patterns = append(l.patterns, p)
		}
	}
	return l
}

// NewList makes a list of patterns that are already compiled; the last one that matches decides.
func NewList(patterns ...Pattern) *List { return &List{patterns: patterns} }

// Len returns the number of patterns that can match something.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return len(l.patterns)
}

// Decide says what the last pattern that matches rel itself means for it. Directories above rel are not looked at: a
// caller that walks down a tree asks for each of them first. The returned pattern is nil when the decision is None.
func (l *List) Decide(rel string, dir bool) (Decision, *Pattern) {
	if l == nil {
		return None, nil
	}
	base := rel[strings.LastIndexByte(rel, '/')+1:]
	for i := len(l.patterns) - 1; i >= 0; i-- {
		p := &l.patterns[i]
		if p.match(rel, base, dir) {
			if p.negated {
				return Include, p
			}
			return Ignore, p
		}
	}
	return None, nil
}

// DecideTree decides rel as git does: from the top down, and what lies in an ignored directory is ignored.
func (l *List) DecideTree(rel string, dir bool) (Decision, *Pattern) {
	for i := 0; i < len(rel); i++ {
		if rel[i] != '/' {
			continue
		}
		if d, p := l.Decide(rel[:i], true); d == Ignore {
			return d, p
		}
	}
	return l.Decide(rel, dir)
}
