package grep

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const tooLongHint = "search for a shorter part of it"

// PatternError says what is wrong with a pattern, where, and what to write instead.
type PatternError struct {
	Pattern string
	Offset  int // byte offset of the problem, -1 if it is not at one place
	Problem string
	Hint    string // what would be accepted; may be empty
}

func (e *PatternError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "regex parse error in %q", e.Pattern)
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " at character %d", utf8.RuneCountInString(e.Pattern[:min(e.Offset, len(e.Pattern))])+1)
	}
	b.WriteString(": ")
	b.WriteString(e.Problem)
	if e.Hint != "" {
		b.WriteString("; ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

func newlineError(pattern string) error {
	off := strings.Index(pattern, `\n`)
	if off < 0 {
		off = strings.IndexByte(pattern, '\n')
	}
	return &PatternError{Pattern: pattern, Offset: off, Problem: `a line feed cannot match in a search line by line`,
		Hint: "turn on multiline"}
}

// translate checks a pattern for constructs that package regexp lacks or reads in another way than ripgrep does, and
// rewrites those that it has under another spelling.
func translate(pattern string, opts Options) (string, error) {
	fail := func(at int, problem, hint string) (string, error) {
		return "", &PatternError{Pattern: pattern, Offset: at, Problem: problem, Hint: hint}
	}
	if !utf8.ValidString(pattern) {
		for i, r := range pattern {
			if r == utf8.RuneError && !strings.HasPrefix(pattern[i:], "\ufffd") {
				return fail(i, "the pattern is not valid UTF-8", `write a byte or character as \x{...}`)
			}
		}
	}
	var b strings.Builder
	inClass, classStart := false, 0
	repeatable := false // something precedes that a repetition can apply to
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\':
			if i+1 == len(pattern) {
				return fail(i, "the pattern ends with a lone backslash", `write \\ for a backslash`)
			}
			d := pattern[i+1]
			repeatable = true
			switch {
			case d == 'Q' && !inClass:
				end := strings.Index(pattern[i:], `\E`)
				if end < 0 {
					b.WriteString(pattern[i:])
					return b.String(), nil
				}
				b.WriteString(pattern[i : i+end+2])
				i += end + 1
				continue
			case '1' <= d && d <= '9':
				return fail(i, "backreferences are not supported", "write the repeated text out, or search for the first part and filter")
			case d == '<' || d == '>':
				return fail(i, `word anchors \< and \> are not supported`, `use \b`)
			case d == 'Z':
				return fail(i, `\Z is not supported`, `use \z or $`)
			case d == 'h' || d == 'R' || d == 'K' || d == 'G' || d == 'X':
				return fail(i, fmt.Sprintf(`\%c is not supported`, d), `use [ \t] for blanks and \r?\n for line ends`)
			case d == 'u' || d == 'U':
				code, n := unicodeEscape(pattern[i+2:], d)
				if n == 0 {
					return fail(i, fmt.Sprintf(`\%c is not followed by a character code`, d), `write \x{1F600}`)
				}
				b.WriteString(`\x{` + code + `}`)
				i += 1 + n
				continue
			case (d == 'p' || d == 'P' || d == 'x') && i+2 < len(pattern) && pattern[i+2] == '{':
				end := strings.IndexByte(pattern[i:], '}')
				if end < 0 {
					return fail(i, "the { is not closed", `write for example \p{Greek} or \x{1F600}`)
				}
				b.WriteString(pattern[i : i+end+1])
				i += end
				continue
			}
			b.WriteString(pattern[i : i+2])
			i++
			continue
		case inClass:
			if c == ']' && i > classStart {
				inClass = false
			} else if c == '[' && i+1 < len(pattern) && pattern[i+1] == ':' {
				if end := strings.Index(pattern[i:], ":]"); end > 0 {
					b.WriteString(pattern[i : i+end+2])
					i += end + 1
					continue
				}
			} else if c == '&' && strings.HasPrefix(pattern[i:], "&&[") {
				return fail(i, "intersection of character classes is not supported", "write the class out")
			}
		case c == '[':
			inClass, classStart, repeatable = true, i+1, true
			if strings.HasPrefix(pattern[i+1:], "^") {
				classStart++
			}
			b.WriteString(pattern[i:classStart])
			i = classStart - 1
			continue
		case c == '(':
			repeatable = false
			if strings.HasPrefix(pattern[i:], "(?") {
				if hint := lookaround(pattern[i:]); hint != "" {
					return fail(i, hint, "search for the text itself and filter the result, or use \\b, ^, $ or a negated class")
				}
				end := strings.IndexAny(pattern[i:], ":)>")
				if end > 0 {
					b.WriteString(pattern[i : i+end+1])
					i += end
					continue
				}
			}
		case c == '|':
			repeatable = false
		case c == '{':
			n := repetition(pattern[i:])
			switch {
			case n > 0 && repeatable:
				b.WriteString(pattern[i : i+n])
				i += n - 1
				continue
			case opts.LiteralBraces && n == 0:
				b.WriteString(`\{`)
				repeatable = true
				continue
			case n > 0:
				return fail(i, "the repetition has nothing before it to repeat", `write \{ for a literal brace`)
			default:
				return fail(i, "the { begins no repetition such as {2,5}", `write \{ for a literal brace, as in interface\{\}`)
			}
		case c == '*' || c == '+' || c == '?':
		default:
			repeatable = true
		}
		b.WriteByte(c)
	}
	return b.String(), nil
}

// repetition returns the length of {n}, {n,} or {n,m} at the start of s, or 0.
func repetition(s string) int {
	i, digits, commas := 1, 0, 0
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digits++
		case c == ',' && commas == 0 && digits > 0:
			commas++
		case c == '}' && digits > 0:
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// unicodeEscape returns the hexadecimal code after \u or \U and the bytes it takes.
func unicodeEscape(s string, kind byte) (code string, n int) {
	if strings.HasPrefix(s, "{") {
		end := strings.IndexByte(s, '}')
		if end < 2 || strings.Trim(s[1:end], "0123456789abcdefABCDEF") != "" {
			return "", 0
		}
		return s[1:end], end + 1
	}
	n = 4
	if kind == 'U' {
		n = 8
	}
	if len(s) < n || strings.Trim(s[:n], "0123456789abcdefABCDEF") != "" {
		return "", 0
	}
	return s[:n], n
}

func lookaround(s string) string {
	switch {
	case strings.HasPrefix(s, "(?="), strings.HasPrefix(s, "(?!"):
		return "look-ahead is not supported"
	case strings.HasPrefix(s, "(?<="), strings.HasPrefix(s, "(?<!"):
		return "look-behind is not supported"
	case strings.HasPrefix(s, "(?>"):
		return "atomic groups are not supported"
	case strings.HasPrefix(s, "(?("), strings.HasPrefix(s, "(?R)"), strings.HasPrefix(s, "(?&"):
		return "conditions and recursion are not supported"
	case strings.HasPrefix(s, "(?#"):
		return "comments are not supported"
	}
	return ""
}

// explain turns an error of package syntax into one that names the place and a fix.
func explain(pattern, expr string, err error) error {
	e := &PatternError{Pattern: pattern, Offset: -1, Problem: err.Error()}
	var se *syntax.Error
	if !errors.As(err, &se) {
		return e
	}
	if i := strings.Index(pattern, se.Expr); i >= 0 && se.Expr != "" && se.Expr != pattern {
		e.Offset = i
	}
	switch se.Code {
	case syntax.ErrMissingParen:
		e.Problem, e.Offset = "a ( is not closed", openParen(pattern)
		e.Hint = `close it, or write \( for a literal one`
	case syntax.ErrUnexpectedParen:
		e.Problem, e.Offset = "a ) closes nothing", -1-openParen(pattern)
		e.Hint = `write \) for a literal one`
		if e.Offset < 0 {
			e.Offset = -1
		}
	case syntax.ErrMissingBracket:
		e.Problem, e.Hint = "a [ is not closed", `close it, or write \[ for a literal one`
	case syntax.ErrMissingRepeatArgument:
		e.Problem = fmt.Sprintf("%q has nothing before it to repeat", se.Expr)
		e.Hint = fmt.Sprintf(`write \%s for a literal one`, se.Expr)
	case syntax.ErrInvalidRepeatOp:
		e.Problem = fmt.Sprintf("%q repeats a repetition", se.Expr)
		e.Hint = `put a group around the first, or write a backslash before a literal one`
	case syntax.ErrInvalidRepeatSize, syntax.ErrLarge:
		e.Problem, e.Hint = "the repetition is too large", "a count may be at most 1000 in all"
	case syntax.ErrInvalidCharRange:
		e.Problem, e.Hint = fmt.Sprintf("%q is no range of characters", se.Expr), `begin with the smaller character; write \- for a literal hyphen`
	case syntax.ErrInvalidEscape:
		e.Problem, e.Hint = fmt.Sprintf("%q is no known escape", se.Expr), "only punctuation is escaped; leave the backslash out"
	case syntax.ErrInvalidPerlOp:
		e.Problem, e.Hint = fmt.Sprintf("%q is no known group", se.Expr), "use (?:...) , (?P<name>...) or the flags i, m, s and U"
	case syntax.ErrInvalidNamedCapture:
		e.Problem, e.Hint = fmt.Sprintf("%q is no group name", se.Expr), "names consist of letters, digits and _ and occur once"
	case syntax.ErrNestingDepth:
		e.Problem, e.Hint = "the pattern is nested too deeply", "simplify it"
	default:
		e.Problem = string(se.Code)
	}
	return e
}

// openParen returns the offset of the first unclosed parenthesis, or -1-offset of the first that closes nothing.
func openParen(p string) int {
	var open []int
	class := false
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']' || p[i-1] == '['
		case c == '[':
			class = true
		case c == '(':
			open = append(open, i)
		case c == ')':
			if len(open) == 0 {
				return -1 - i
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return -1
	}
	return open[0]
}
