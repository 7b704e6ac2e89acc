package grep

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

const (
	maxLiterals     = 24 // more are left to the DFA
	maxLiteralBytes = 32
)

// literal is text that a match contains; in lower case if fold. begin and end are assertions that hold at its edges (all of
// them in begin if the text is empty).
type literal struct {
	text       []byte
	fold       bool
	begin, end uint8
}

// litInfo is what is known of the texts that an expression matches.
type litInfo struct {
	exact []literal // all texts that it matches; nil: too many or not known
	plain bool      // with exact: a text with its assertions is all that a match takes
	need  []literal // each match contains one of these; nil: unknown
}

// requiredLiterals returns literals of which each match contains one, and whether containing one suffices.
func requiredLiterals(re *syntax.Regexp) (lits []literal, exact bool) {
	in := analyse(re)
	if useful(in.exact) {
		lits, exact = in.exact, in.plain
	} else {
		lits = in.need
	}
	if !useful(lits) {
		return nil, false
	}
	// A literal that contains another is found by it.
	out := make([]literal, 0, len(lits))
	for i, l := range lits {
		redundant := false
		for j, o := range lits {
			same := len(l.text) == len(o.text)
			if i != j && l.fold == o.fold && o.begin|o.end == 0 && bytes.Contains(l.text, o.text) && (!same || j < i || l.begin|l.end != 0) {
				redundant = true
			}
		}
		if !redundant {
			out = append(out, l)
		}
	}
	if len(out) > maxLiterals || worth(out) < 1 {
		return nil, false
	}
	return out, exact
}

// useful reports whether a set can serve as a prefilter at all.
func useful(ls []literal) bool {
	for _, l := range ls {
		if len(l.text) == 0 {
			return false
		}
	}
	return len(ls) > 0
}

// worth estimates how selective a set of literals is: roughly, the rarity of its most frequent one.
func worth(ls []literal) float64 {
	if !useful(ls) {
		return -1
	}
	least := 1e9
	for _, l := range ls {
		v := 0.0
		for _, c := range l.text {
			v += rarity(c)
		}
		least = min(least, v)
	}
	if len(ls) > 3 {
		least /= 1 + 0.1*float64(len(ls))
	}
	return least
}

// rarity is a rough guess of how rare a byte is in source text: 0 for a blank up to 4.
func rarity(c byte) float64 {
	switch {
	case c == ' ' || c == 'e' || c == 't':
		return 0.4
	case c == 'n' || c == 'r' || c == 'a' || c == 'i' || c == 'o' || c == 's' || c == '\t' || c == '\n':
		return 0.7
	case 'a' <= c && c <= 'z':
		switch c {
		case 'j', 'q', 'x', 'z', 'w', 'k', 'v', 'y':
			return 2
		}
		return 1.1
	case c == '(' || c == ')' || c == ',' || c == '.' || c == '/' || c == '"' || c == '0' || c == '_' || c == '=' || c == '1' || c == '-':
		return 1.1
	case 'A' <= c && c <= 'Z':
		return 2.2
	case '2' <= c && c <= '9' || c < utf8.RuneSelf:
		return 2
	}
	return 3
}

func analyse(re *syntax.Regexp) litInfo {
	switch re.Op {
	case syntax.OpLiteral:
		return analyseLiteral(re)
	case syntax.OpCharClass:
		return analyseClass(re)
	case syntax.OpEmptyMatch:
		return litInfo{exact: []literal{{}}, plain: true}
	case syntax.OpBeginLine:
		return assertion(beginLine)
	case syntax.OpEndLine:
		return assertion(endLine)
	case syntax.OpBeginText:
		return assertion(beginText)
	case syntax.OpEndText:
		return assertion(endText)
	case syntax.OpWordBoundary:
		return assertion(wordBoundary)
	case syntax.OpNoWordBoundary:
		return assertion(noWordBoundary)
	case syntax.OpCapture:
		return analyse(re.Sub[0])
	case syntax.OpPlus:
		in := analyse(re.Sub[0])
		if useful(in.exact) {
			in.need = in.exact
		}
		return litInfo{need: in.need}
	case syntax.OpQuest:
		in := analyse(re.Sub[0])
		if in.exact != nil && in.plain && len(in.exact) < 4 {
			return litInfo{exact: append(slices.Clone(in.exact), literal{}), plain: true}
		}
	case syntax.OpConcat:
		return analyseConcat(re.Sub)
	case syntax.OpAlternate:
		out := litInfo{plain: true}
		allExact := true
		for _, s := range re.Sub {
			in := analyse(s)
			allExact = allExact && in.exact != nil
			out.exact = append(out.exact, in.exact...)
			out.plain = out.plain && in.plain
			if useful(in.exact) && worth(in.exact) >= worth(in.need) {
				in.need = in.exact
			}
			out.need = joinNeed(out.need, in.need, s == re.Sub[0])
		}
		if !allExact || len(out.exact) > maxLiterals {
			out.exact, out.plain = nil, false
		}
		if len(out.need) > maxLiterals {
			out.need = nil
		}
		return out
	}
	return litInfo{}
}

func assertion(a uint8) litInfo { return litInfo{exact: []literal{{begin: a}}, plain: true} }

// joinNeed unites what alternatives need; nil if one needs nothing.
func joinNeed(all, next []literal, first bool) []literal {
	if next == nil || all == nil && !first {
		return nil
	}
	return append(slices.Clone(all), next...)
}

func analyseLiteral(re *syntax.Regexp) litInfo {
	if slices.Contains(re.Rune, utf8.RuneError) {
		return litInfo{} // it matches bytes of invalid UTF-8 too
	}
	fold := re.Flags&syntax.FoldCase != 0
	if !fold {
		return litInfo{exact: []literal{{text: []byte(string(re.Rune))}}, plain: true}
	}
	// Only ASCII letters are folded here; k and s have further forms, which the scanner checks for apart.
	var best, cur []byte
	whole := true
	for _, r := range re.Rune {
		if r < utf8.RuneSelf {
			cur = append(cur, byte(unicode.ToLower(r)))
			continue
		}
		if unicode.SimpleFold(r) == r {
			cur = utf8.AppendRune(cur, r)
			continue
		}
		whole = false
		if len(cur) > len(best) {
			best = cur
		}
		cur = nil
	}
	if len(cur) > len(best) {
		best = cur
	}
	l := []literal{{text: best, fold: hasLetter(best)}}
	if whole {
		return litInfo{exact: l, plain: true}
	}
	if len(best) == 0 {
		return litInfo{}
	}
	return litInfo{need: l}
}

func hasLetter(b []byte) bool {
	for _, c := range b {
		if 'a' <= c && c <= 'z' {
			return true
		}
	}
	return false
}

func analyseClass(re *syntax.Regexp) litInfo {
	var out []literal
	for i := 0; i+1 < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if len(out) == 6 || r >= 0xd800 && r < 0xe000 || r == utf8.RuneError {
				return litInfo{}
			}
			out = append(out, literal{text: utf8.AppendRune(nil, r)})
		}
	}
	return litInfo{exact: out, plain: true}
}

func analyseConcat(subs []*syntax.Regexp) litInfo {
	out := litInfo{plain: true}
	cur := []literal{{}}
	whole := true
	consider := func(ls []literal) {
		if worth(ls) > worth(out.need) {
			out.need = ls
		}
	}
	for _, s := range subs {
		in := analyse(s)
		out.plain = out.plain && in.plain
		if in.exact != nil {
			if x, plain := cross(cur, in.exact); x != nil {
				cur = x
				out.plain = out.plain && plain
				continue
			}
			consider(cur)
			cur, whole = in.exact, false
			continue
		}
		consider(cur)
		consider(in.need)
		cur, whole = []literal{{}}, false
	}
	if whole {
		out.exact = cur
		return out
	}
	consider(cur)
	out.plain = false
	return out
}

// cross returns all concatenations, or nil if they are too many, too long, or of different case rules. They are not
// plain if an assertion got lost.
func cross(a, b []literal) (lits []literal, plain bool) {
	if len(a)*len(b) > maxLiterals {
		return nil, false
	}
	plain = true
	out := make([]literal, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if len(x.text)+len(y.text) > maxLiteralBytes && len(x.text) > 0 && len(y.text) > 0 {
				return nil, false
			}
			if x.fold != y.fold && (!x.fold && hasAnyLetter(x.text) || !y.fold && hasAnyLetter(y.text)) {
				return nil, false
			}
			l := literal{text: slices.Concat(x.text, y.text), fold: x.fold || y.fold, begin: x.begin, end: y.end}
			switch {
			case len(x.text) == 0:
				l.begin |= y.begin
			case len(y.text) == 0:
				l.end = x.end | y.begin
			case x.end|y.begin != 0:
				plain = false
			}
			out = append(out, l)
		}
	}
	return out, plain
}

func hasAnyLetter(b []byte) bool {
	for _, c := range b {
		if 'a' <= c|0x20 && c|0x20 <= 'z' {
			return true
		}
	}
	return false
}
