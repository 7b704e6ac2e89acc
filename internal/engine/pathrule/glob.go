package pathrule

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// errPattern is the reason a pattern component cannot be compiled.
var errPattern = errors.New("bad pattern")

type tokenKind uint8

const (
	tokenLiteral tokenKind = iota
	tokenAny               // ?
	tokenRun               // *
	tokenClass
)

type token struct {
	kind  tokenKind
	r     rune
	class *class
}

type class struct {
	negated bool
	fold    bool
	ranges  [][2]rune
	named   []string
}

// component is one compiled component of a pattern.
type component struct {
	anyDepth bool    // "**": any number of components
	literal  string  // the whole name, if tokens is nil
	tokens   []token // nil: literal
	// head and tail are the literal text before the first and after the last wildcard.
	head, tail string
}

// invalidByte keeps bytes that are no UTF-8 apart from each other and from every real character.
const invalidByte = unicode.MaxRune + 1

func nextRune(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return invalidByte + rune(s[0]), 1
	}
	return r, n
}

// compileComponent compiles one component. With folded set, text is folded and so must be the names compared.
func compileComponent(text string, folded bool) (component, error) {
	if text == "**" {
		return component{anyDepth: true}, nil
	}
	if folded {
		text = fold(text)
	}
	var tokens []token
	var literal strings.Builder
	wild := false
	for i := 0; i < len(text); {
		r, n := nextRune(text[i:])
		switch r {
		case '*':
			wild = true
			if len(tokens) == 0 || tokens[len(tokens)-1].kind != tokenRun {
				tokens = append(tokens, token{kind: tokenRun})
			}
		case '?':
			wild = true
			tokens = append(tokens, token{kind: tokenAny})
		case '[':
			c, used, err := compileClass(text[i:], folded)
			if err != nil {
				return component{}, err
			}
			wild = true
			tokens = append(tokens, token{kind: tokenClass, class: c})
			n = used
		case '\\':
			if i+n >= len(text) {
				return component{}, errPattern
			}
			i += n
			r, n = nextRune(text[i:])
			fallthrough
		default:
			tokens = append(tokens, token{kind: tokenLiteral, r: r})
			literal.WriteString(text[i : i+n])
		}
		i += n
	}
	if !wild {
		return component{literal: literal.String()}, nil
	}
	c := component{tokens: tokens}
	first, last := 0, len(tokens)
	for tokens[first].kind == tokenLiteral {
		first++
	}
	for tokens[last-1].kind == tokenLiteral {
		last--
	}
	c.head, c.tail = literalText(tokens[:first]), literalText(tokens[last:])
	return c, nil
}

func literalText(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		if t.r >= invalidByte {
			b.WriteByte(byte(t.r - invalidByte))
		} else {
			b.WriteRune(t.r)
		}
	}
	return b.String()
}

// compileClass compiles a bracket expression at the start of text and tells how many bytes it takes.
func compileClass(text string, folded bool) (*class, int, error) {
	c := &class{fold: folded}
	i := 1
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		c.negated = true
		i++
	}
	for first := true; ; first = false {
		if i >= len(text) {
			return nil, 0, errPattern
		}
		if text[i] == ']' && !first {
			return c, i + 1, nil
		}
		if strings.HasPrefix(text[i:], "[:") {
			if end := strings.Index(text[i+2:], ":]"); end >= 0 {
				name := text[i+2 : i+2+end]
				if !namedClass(name) {
					return nil, 0, errPattern
				}
				c.named = append(c.named, name)
				i += end + 4
				continue
			}
		}
		low, used, ok := classRune(text[i:])
		if !ok {
			return nil, 0, errPattern
		}
		i += used
		high := low
		if i+1 < len(text) && text[i] == '-' && text[i+1] != ']' {
			if high, used, ok = classRune(text[i+1:]); !ok {
				return nil, 0, errPattern
			}
			i += 1 + used
		}
		c.ranges = append(c.ranges, [2]rune{low, high})
	}
}

func classRune(text string) (rune, int, bool) {
	r, n := nextRune(text)
	if r != '\\' {
		return r, n, true
	}
	if n >= len(text) {
		return 0, 0, false
	}
	r, m := nextRune(text[n:])
	return r, n + m, true
}

func namedClass(name string) bool {
	switch name {
	case "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit":
		return true
	}
	return false
}

func (c *class) has(r rune) bool {
	for _, lh := range c.ranges {
		if lh[0] <= r && r <= lh[1] {
			return !c.negated
		}
	}
	for _, name := range c.named {
		if inNamed(name, r, c.fold) {
			return !c.negated
		}
	}
	return c.negated
}

func inNamed(name string, r rune, folded bool) bool {
	if r >= utf8.RuneSelf {
		return false
	}
	alpha := isLetter(byte(r))
	digit := r >= '0' && r <= '9'
	switch name {
	case "alnum":
		return alpha || digit
	case "alpha":
		return alpha
	case "blank":
		return r == ' ' || r == '\t'
	case "cntrl":
		return r < ' ' || r == 0x7f
	case "digit":
		return digit
	case "graph":
		return r > ' ' && r < 0x7f
	case "lower", "upper":
		return alpha && (folded || (r >= 'a') == (name == "lower"))
	case "print":
		return r >= ' ' && r < 0x7f
	case "punct":
		return r > ' ' && r < 0x7f && !alpha && !digit
	case "space":
		return r == ' ' || r >= '\t' && r <= '\r'
	case "xdigit":
		return digit || r|0x20 >= 'a' && r|0x20 <= 'f'
	}
	return false
}

// match compares one name with the component; time is at most the product of the two lengths.
func (c component) match(name string) bool {
	if c.tokens == nil {
		return c.literal == name
	}
	if len(name) < len(c.head)+len(c.tail) || !strings.HasPrefix(name, c.head) || !strings.HasSuffix(name, c.tail) {
		return false
	}
	t, s := 0, 0
	runT, runS := -1, 0
	for {
		if t < len(c.tokens) && c.tokens[t].kind == tokenRun {
			runT, runS = t, s
			t++
			continue
		}
		if s == len(name) {
			// A longer run leaves even less to match.
			return t == len(c.tokens)
		}
		r, n := nextRune(name[s:])
		if t < len(c.tokens) && c.tokens[t].accepts(r) {
			t++
			s += n
			continue
		}
		if runT < 0 {
			return false
		}
		_, n = nextRune(name[runS:])
		runS += n
		t, s = runT+1, runS
	}
}

func (t token) accepts(r rune) bool {
	switch t.kind {
	case tokenLiteral:
		return t.r == r
	case tokenAny:
		return true
	case tokenClass:
		return t.class.has(r)
	}
	return false
}

// matchComponents compares a pattern with the components of a path. With below set, a path under one that matches is
// covered too.
func matchComponents(pattern []component, path []string, below bool) bool {
	p, s := 0, 0
	deepP, deepS := -1, 0
	for {
		switch {
		case p == len(pattern):
			if below || s == len(path) {
				return true
			}
		case pattern[p].anyDepth:
			deepP, deepS = p, s
			p++
			continue
		case s < len(path) && pattern[p].match(path[s]):
			p++
			s++
			continue
		}
		if deepP < 0 || deepS >= len(path) {
			return false
		}
		deepS++
		p, s = deepP+1, deepS
	}
}
