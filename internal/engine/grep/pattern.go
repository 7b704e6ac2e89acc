// Package grep searches files for a regular expression: a literal prefilter from the expression's syntax tree, a lazy DFA
// over bytes for what it lets through, and the standard library's regexp as the judge where positions or invalid text
// matter. Semantics are those of package regexp (RE2), not of a backtracking engine.
//
// Lines end at "\n"; a "\r" before it belongs to the terminator when matching, so "$" works in files with either ending
// (multiline patterns see the bytes as they are). A byte order mark is skipped, UTF-16 with one is decoded.
//
// The package reads files and nothing else; which files is package walk's part.
package grep

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// MaxPatternBytes limits the length of a pattern.
const MaxPatternBytes = 64 << 10

// Options say how a pattern is to be understood. The zero value is a case-sensitive regular expression, matched line by
// line.
type Options struct {
	CaseInsensitive bool
	SmartCase       bool // case-insensitive if the pattern has characters of its own and no upper-case letter among them
	FixedString     bool // the pattern is text, not an expression
	WholeWord       bool // matches must begin and end at word boundaries
	WholeLine       bool // matches must be a whole line
	Multiline       bool // matches may span lines; "\n" may be used
	DotAll          bool // with Multiline: "." matches "\n" too
	// LiteralBraces takes a "{" that begins no repetition as itself, where otherwise it is an error as in ripgrep.
	LiteralBraces bool
}

// Pattern is a compiled pattern. It is immutable and safe for concurrent use.
type Pattern struct {
	source string
	opts   Options
	re     *regexp.Regexp
	group  int // capture group that holds the match proper, when WholeWord needs its surroundings

	finder    *finder // finds literals of which one occurs in each match; nil: none are known
	exact     bool    // a line matches exactly if a literal occurs in it
	specials  bool    // folding k or s: U+212A and U+017F fold to them, outside of ASCII
	matchable bool    // false: nothing can ever match

	strict *nfa // right on valid UTF-8; nil: too large
	lossy  *nfa // lets too much through on invalid UTF-8
	// anyText: the two are the same, because it makes no difference what is invalid.
	anyText bool

	// afterBreak is re anchored behind a line feed; nil if a multiline match is never empty.
	afterBreak func() *regexp.Regexp
}

// Compile compiles a pattern. An error is a *PatternError.
func Compile(pattern string, opts Options) (*Pattern, error) {
	if len(pattern) > MaxPatternBytes {
		return nil, &PatternError{Pattern: pattern[:80] + "…", Offset: -1, Problem: "the pattern is too long", Hint: tooLongHint}
	}
	if !opts.Multiline {
		opts.DotAll = false
	}
	expr := pattern
	if opts.FixedString {
		expr = regexp.QuoteMeta(pattern)
	} else {
		var err error
		if expr, err = translate(pattern, opts); err != nil {
			return nil, err
		}
	}
	if opts.SmartCase && !opts.CaseInsensitive {
		opts.CaseInsensitive = smartFold(expr)
	}
	flags := "(?m"
	if opts.CaseInsensitive {
		flags += "i"
	}
	if opts.DotAll {
		flags += "s"
	}
	flags += ":"
	tree, err := parse(flags + expr + ")")
	if err != nil {
		return nil, explain(pattern, expr, err)
	}
	if _, err := parse(expr); err != nil { // such as "a)(b", which the wrapping would hide
		return nil, explain(pattern, expr, err)
	}
	if !opts.Multiline && hasNewline(tree) {
		return nil, newlineError(pattern)
	}
	p := &Pattern{source: pattern, opts: opts}
	full := flags + expr + ")"
	if opts.WholeLine {
		full = `(?m:^)(?:` + full + `)(?m:$)`
	} else if opts.WholeWord {
		if edgeIsWord(tree, true) && edgeIsWord(tree, false) {
			full = `\b(?:` + full + `)\b`
		} else {
			p.group = 1
			full = `(?:(?m:^)|\W)(` + full + `)(?:(?m:$)|\W)`
		}
	}
	if tree, err = parse(full); err != nil {
		return nil, explain(pattern, expr, err)
	}
	if p.re, err = regexp.Compile(full); err != nil {
		return nil, explain(pattern, expr, err)
	}
	if opts.Multiline && p.group == 0 && minLength(tree) == 0 {
		p.afterBreak = sync.OnceValue(func() *regexp.Regexp {
			re, err := regexp.Compile(`\A\n(?:` + full + `)`)
			if err != nil {
				return nil
			}
			return re
		})
	}
	tree = tree.Simplify()
	p.matchable = tree.Op != syntax.OpNoMatch
	lits, exact := requiredLiterals(tree)
	for _, l := range lits {
		if l.fold && bytes.ContainsAny(l.text, "ks") {
			p.specials = true
		}
		if bytes.ContainsAny(l.text, "\r\n") {
			exact = false
		}
	}
	if p.finder = newFinder(lits); p.finder != nil {
		p.exact = exact
	}
	p.strict = newNFA(tree, false, opts.Multiline)
	p.lossy = newNFA(tree, true, opts.Multiline)
	if p.strict == nil || p.lossy == nil {
		p.strict, p.lossy = nil, nil
	} else if !p.strict.encoded {
		p.anyText, p.lossy = true, p.strict
	}
	return p, nil
}

// String returns the pattern as given.
func (p *Pattern) String() string { return p.source }

// Multiline reports whether matches may span lines.
func (p *Pattern) Multiline() bool { return p.opts.Multiline }

func parse(expr string) (*syntax.Regexp, error) { return syntax.Parse(expr, syntax.Perl) }

// Spans returns the successive matches in text (a line without its terminator), as pairs of offsets, at most limit of
// them (negative: all). Empty matches right after a match are left out, as in regexp.
func (p *Pattern) Spans(text []byte, limit int) [][]int {
	if p.group == 0 {
		return p.re.FindAllIndex(text, limit)
	}
	var out [][]int
	for at := 0; at <= len(text) && (limit < 0 || len(out) < limit); {
		m := p.re.FindSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		lo, hi := m[2*p.group]+at, m[2*p.group+1]+at
		// Cutting the text made "^" true at the cut: such a match counts only where no word character precedes.
		if m[0] == m[2*p.group] && lo == at && at > 0 && isWord(text[at-1]) {
			_, n := utf8.DecodeRune(text[at:])
			at += max(n, 1)
			continue
		}
		out = append(out, []int{lo, hi})
		at = hi
		if hi == lo {
			_, n := utf8.DecodeRune(text[at:])
			at += max(n, 1)
		}
	}
	return out
}

// emptyAt reports whether the pattern matches nothing at the start of a line that another precedes.
func (p *Pattern) emptyAt(text []byte, start int) bool {
	if p.afterBreak == nil || start == 0 {
		return false
	}
	re := p.afterBreak()
	if re == nil {
		return false
	}
	m := re.FindIndex(text[start-1:])
	return m != nil && m[1] == 1
}

// minLength returns 0 if the expression may match nothing; else something greater.
func minLength(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoMatch:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return minLength(re.Sub[0])
	case syntax.OpRepeat:
		return min(re.Min, 1) * minLength(re.Sub[0])
	case syntax.OpConcat:
		n := 0
		for _, s := range re.Sub {
			n = max(n, minLength(s))
		}
		return n
	case syntax.OpAlternate:
		n := minLength(re.Sub[0])
		for _, s := range re.Sub[1:] {
			n = min(n, minLength(s))
		}
		return n
	}
	return 0
}

// MatchLine reports whether a line (without terminator) contains a match.
func (p *Pattern) MatchLine(line []byte) bool { return p.re.Match(line) }

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// smartFold reports whether the expression has characters that stand for themselves (also in a class) and none of them is
// an upper-case letter.
func smartFold(expr string) bool {
	literal := false
	for i := 0; i < len(expr); {
		rest := expr[i:]
		skip := 0
		switch {
		case strings.HasPrefix(rest, `\Q`): // quoted: plain characters again
			skip = 2
		case strings.HasPrefix(rest, `\x`):
			digits, _, _ := strings.Cut(strings.TrimPrefix(rest[2:], "{"), "}")
			if rest[2:] == digits || rest[2] != '{' {
				digits = digits[:min(2, len(digits))]
				skip = 2 + len(digits)
			} else {
				skip = len(digits) + 4
			}
			code, _ := strconv.ParseUint(digits, 16, 32)
			if unicode.IsUpper(rune(code)) {
				return false
			}
			literal = true
		case strings.HasPrefix(rest, `\p{`), strings.HasPrefix(rest, `\P{`):
			skip = strings.IndexByte(rest, '}') + 1
		case rest[0] == '\\':
			skip = 2
			literal = literal || len(rest) > 1 && !isWord(rest[1])
		case strings.HasPrefix(rest, "[:"):
			skip = strings.Index(rest, ":]") + 1
		case strings.HasPrefix(rest, "(?"):
			skip = strings.IndexAny(rest, ":)>")
		case rest[0] == '{':
			skip = strings.IndexByte(rest, '}') + 1
		}
		if skip > 0 {
			i += skip
			continue
		}
		r, size := utf8.DecodeRuneInString(rest)
		if unicode.IsUpper(r) {
			return false
		}
		literal = literal || !strings.ContainsRune(`()[]{}*+?.|^$`, r)
		i += size
	}
	return literal
}

// edgeIsWord reports whether every match begins (or ends) with a word character.
func edgeIsWord(re *syntax.Regexp, begin bool) bool {
	switch re.Op {
	case syntax.OpLiteral:
		r := re.Rune[0]
		if !begin {
			r = re.Rune[len(re.Rune)-1]
		}
		if re.Flags&syntax.FoldCase != 0 && (unicode.ToLower(r) == 'k' || unicode.ToLower(r) == 's') {
			return false
		}
		return r < utf8.RuneSelf && isWord(byte(r))
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if r >= utf8.RuneSelf || !isWord(byte(r)) {
					return false
				}
			}
		}
		return len(re.Rune) > 0
	case syntax.OpCapture, syntax.OpPlus:
		return edgeIsWord(re.Sub[0], begin)
	case syntax.OpRepeat:
		return re.Min > 0 && edgeIsWord(re.Sub[0], begin)
	case syntax.OpConcat:
		if begin {
			return edgeIsWord(re.Sub[0], true)
		}
		return edgeIsWord(re.Sub[len(re.Sub)-1], false)
	case syntax.OpAlternate:
		for _, s := range re.Sub {
			if !edgeIsWord(s, begin) {
				return false
			}
		}
		return true
	}
	return false
}

// hasNewline reports whether the expression can match only with a line feed written in it.
func hasNewline(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == '\n' {
				return true
			}
		}
	case syntax.OpCharClass:
		if len(re.Rune) == 2 && re.Rune[0] == '\n' && re.Rune[1] == '\n' {
			return true
		}
	}
	for _, s := range re.Sub {
		if hasNewline(s) {
			return true
		}
	}
	return false
}
