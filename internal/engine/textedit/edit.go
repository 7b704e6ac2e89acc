package textedit

import (
	"errors"
	"fmt"
	"strings"
)

// Replacement is one exact, literal replacement in LF space. "\r\n" in Old and New
// counts as "\n". Nothing else in them has a special meaning or is trimmed.
type Replacement struct {
	Old, New string
	All      bool // every occurrence; otherwise there must be exactly one
}

var (
	// ErrSame says that Old and New are equal.
	ErrSame = errors.New("the old and the new text are the same, so there is nothing to change")
	// ErrEmptyOld says that Old is empty though the text is not.
	ErrEmptyOld = errors.New("the old text is empty, which is accepted only for a new or empty file; give the text to replace")
)

// maxLines is how many line numbers of matches an error lists.
const maxLines = 20

// NotUniqueError says that Old occurs more than once.
type NotUniqueError struct {
	Count int
	Lines []int // 1-based numbers of the first lines of the first matches
}

func (e *NotUniqueError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the old text occurs %d times (lines ", e.Count)
	for i, l := range e.Lines {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, l)
	}
	if e.Count > len(e.Lines) {
		b.WriteString(", …")
	}
	b.WriteString("); give more of the text around the one that is meant, or replace all")
	return b.String()
}

// Edit applies the replacements one after another and returns the new text and how
// many places each of them changed. If one fails, nothing is changed and the error
// says which one; it wraps ErrSame, ErrEmptyOld, *NotFoundError, *NotUniqueError,
// *UndecodableError, *EncodeError or ErrTooLarge.
func Edit(t Text, rs []Replacement) (Text, []int, error) {
	if err := t.Undecodable(); err != nil {
		return Text{}, nil, err
	}
	if len(rs) == 0 {
		return t, nil, nil
	}
	counts := make([]int, len(rs))
	for i, r := range rs {
		var err error
		if t, counts[i], err = replace(t, r); err != nil {
			if len(rs) > 1 {
				err = fmt.Errorf("edit %d of %d: %w", i+1, len(rs), err)
			}
			return Text{}, nil, err
		}
	}
	t, err := t.encode()
	if err != nil {
		return Text{}, nil, err
	}
	return t, counts, nil
}

func replace(t Text, r Replacement) (Text, int, error) {
	if t.lf == "" && r.Old == "" {
		if r.New == "" {
			return Text{}, 0, ErrSame
		}
		t.lf, t.uniform, t.ends = toLF(r.New)
		return t, 1, nil
	}
	old, new := normalise(r.Old, t.uniform), normalise(r.New, t.uniform)
	switch {
	case old == new:
		return Text{}, 0, ErrSame
	case old == "":
		return Text{}, 0, ErrEmptyOld
	}
	first := strings.Index(t.lf, old)
	if first < 0 {
		return Text{}, 0, notFound(t.lf, old)
	}
	count := 1
	if r.All {
		count = strings.Count(t.lf, old)
	} else if strings.Contains(t.lf[first+1:], old) {
		return Text{}, 0, notUnique(t.lf, old)
	}
	if growth := len(new) - len(old); growth > 0 && count > (MaxText-len(t.lf))/growth {
		return Text{}, 0, ErrTooLarge
	}
	if t.uniform == Mixed {
		t.ends = newEnds(t, old, new, count)
	}
	t.lf = strings.Replace(t.lf, old, new, count)
	if t.lf == "" { // no line is left whose ending could be kept
		t.uniform, t.ends = LF, nil
	}
	return t, count, nil
}

// newEnds returns the line endings after count replacements of old by new. What old
// and new have in common keeps its endings; a new line takes the ending of the line
// in whose place it stands; lines inserted between two lines, that of the line before.
func newEnds(t Text, old, new string, count int) []Ending {
	pre := 0
	for pre < len(old) && pre < len(new) && old[pre] == new[pre] {
		pre++
	}
	suf := 0
	for suf < len(old)-pre && suf < len(new)-pre && old[len(old)-1-suf] == new[len(new)-1-suf] {
		suf++
	}
	preN := strings.Count(old[:pre], "\n")
	oldN := strings.Count(old[pre:len(old)-suf], "\n")
	newN := strings.Count(new[pre:len(new)-suf], "\n")
	sufN := strings.Count(old[len(old)-suf:], "\n")

	out := make([]Ending, 0, len(t.ends)+count*(newN-oldN))
	line, rest := 0, t.lf // line endings before rest
	for range count {
		i := strings.Index(rest, old)
		keep := strings.Count(rest[:i], "\n") + preN
		out = append(out, t.ends[line:line+keep]...)
		line += keep
		around := t.frequent()
		at := i + pre
		whole := pre+suf == len(old) && (at == 0 && line == 0 || at > 0 && rest[at-1] == '\n')
		switch {
		case line < len(t.ends) && (line == 0 || !whole):
			around = t.ends[line]
		case line > 0:
			around = t.ends[line-1]
		}
		for k := range newN {
			if k < oldN {
				around = t.ends[line+k]
			}
			out = append(out, around)
		}
		line += oldN
		out = append(out, t.ends[line:line+sufN]...)
		line += sufN
		rest = rest[i+len(old):]
	}
	return append(out, t.ends[line:]...)
}

func notUnique(s, old string) error {
	e := &NotUniqueError{}
	line, from := 1, 0
	for at := 0; ; {
		i := strings.Index(s[at:], old)
		if i < 0 {
			return e
		}
		i += at
		e.Count++
		if len(e.Lines) < maxLines {
			line += strings.Count(s[from:i], "\n")
			from = i
			e.Lines = append(e.Lines, line)
			at = i + 1 // matches may overlap
		} else {
			e.Count += strings.Count(s[i+len(old):], old)
			return e
		}
	}
}
