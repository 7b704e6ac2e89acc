package ignore

import "strings"

type segKind uint8

const (
	segLiteral    segKind = iota // text
	segSuffix                    // "*" then text
	segPrefix                    // text then "*"
	segAny                       // "*"
	segDoubleStar                // "**" as a whole component
	segTokens
)

type tokKind uint8

const (
	tokByte  tokKind = iota
	tokAny           // ?
	tokStar          // *
	tokClass         // [...]
)

type token struct {
	kind tokKind
	b    byte
	set  *[4]uint64
}

type segment struct {
	kind segKind
	text string
	toks []token
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

func equal(a, b string, fold bool) bool {
	if !fold {
		return a == b
	}
	if len(a) != len(b) {
		return false
	}
	for i := 0; i < len(a); i++ {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

// compileSegments splits a pattern at its slashes (those inside a class are members) and compiles each component; nil
// when the pattern can match nothing.
func compileSegments(s string, fold bool) []segment {
	var segs []segment
	var toks []token
	stars := 0 // length of the run of stars that makes up the whole component so far, or -1
	flush := func() bool {
		if stars >= 2 {
			if n := len(segs); n == 0 || segs[n-1].kind != segDoubleStar {
				segs = append(segs, segment{kind: segDoubleStar})
			}
		} else {
			if len(toks) == 0 {
				return false // an empty component occurs in no path
			}
			segs = append(segs, simplify(toks))
		}
		toks, stars = nil, 0
		return true
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '*' && stars >= 0 {
			stars++
		} else if c != '/' {
			stars = -1
		}
		switch c {
		case '/':
			if !flush() {
				return nil
			}
		case '\\':
			i++
			if i == len(s) {
				return nil
			}
			if s[i] == '/' {
				if !flush() {
					return nil
				}
				continue
			}
			toks = append(toks, token{kind: tokByte, b: s[i]})
		case '*':
			if n := len(toks); n == 0 || toks[n-1].kind != tokStar {
				toks = append(toks, token{kind: tokStar})
			}
		case '?':
			toks = append(toks, token{kind: tokAny})
		case '[':
			set, n := compileClass(s[i:], fold)
			if set == nil {
				return nil
			}
			toks = append(toks, token{kind: tokClass, set: set})
			i += n - 1
		default:
			toks = append(toks, token{kind: tokByte, b: c})
		}
	}
	if !flush() {
		return nil
	}
	return segs
}

// simplify finds the fast forms of a component.
func simplify(toks []token) segment {
	var lit []byte
	for i, t := range toks {
		switch t.kind {
		case tokByte:
			lit = append(lit, t.b)
		case tokStar:
			if i != 0 && i != len(toks)-1 {
				return segment{kind: segTokens, toks: toks}
			}
		default:
			return segment{kind: segTokens, toks: toks}
		}
	}
	first, last := toks[0].kind == tokStar, toks[len(toks)-1].kind == tokStar
	switch {
	case len(toks) == 1 && first:
		return segment{kind: segAny}
	case first && last:
		return segment{kind: segTokens, toks: toks}
	case first:
		return segment{kind: segSuffix, text: string(lit)}
	case last:
		return segment{kind: segPrefix, text: string(lit)}
	}
	return segment{kind: segLiteral, text: string(lit)}
}

func (s *segment) match(name string, fold bool) bool {
	switch s.kind {
	case segLiteral:
		return equal(s.text, name, fold)
	case segSuffix:
		return len(name) >= len(s.text) && equal(s.text, name[len(name)-len(s.text):], fold)
	case segPrefix:
		return len(name) >= len(s.text) && equal(s.text, name[:len(s.text)], fold)
	case segAny, segDoubleStar:
		return true
	}
	return matchTokens(s.toks, name, fold)
}

// matchTokens goes back to the last star only, so its work is bounded by tokens times bytes.
func matchTokens(toks []token, name string, fold bool) bool {
	ti, ni := 0, 0
	backTok, backName := -1, 0
	for {
		if ti == len(toks) && ni == len(name) {
			return true
		}
		if ti < len(toks) {
			t := &toks[ti]
			if t.kind == tokStar {
				ti++
				backTok, backName = ti, ni
				continue
			}
			if ni < len(name) && t.match(name[ni], fold) {
				ti, ni = ti+1, ni+1
				continue
			}
		}
		if backTok < 0 || backName >= len(name) {
			return false
		}
		backName++
		ti, ni = backTok, backName
	}
}

func (t *token) match(c byte, fold bool) bool {
	switch t.kind {
	case tokByte:
		return t.b == c || fold && lower(t.b) == lower(c)
	case tokAny:
		return true
	}
	return t.set[c>>6]&(1<<(c&63)) != 0
}

// compileClass compiles the class at the start of s and returns its set and length; nil if git would never match it.
func compileClass(s string, fold bool) (set *[4]uint64, length int) {
	set = new([4]uint64)
	add := func(lo, hi byte) {
		for c := int(lo); c <= int(hi); c++ {
			set[c>>6] |= 1 << (c & 63)
		}
	}
	i := 1
	negated := false
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		negated = true
		i++
	}
	prev := byte(0)
	for first := true; ; first = false {
		if i >= len(s) {
			return nil, 0
		}
		c := s[i]
		switch {
		case c == ']' && !first:
			if fold {
				foldSet(set)
			}
			if negated {
				for k := range set {
					set[k] = ^set[k]
				}
			}
			return set, i + 1
		case c == '\\':
			i++
			if i >= len(s) {
				return nil, 0
			}
			add(s[i], s[i])
			prev = s[i]
		case c == '-' && prev != 0 && i+1 < len(s) && s[i+1] != ']':
			i++
			if s[i] == '\\' {
				i++
				if i >= len(s) {
					return nil, 0
				}
			}
			if prev <= s[i] {
				add(prev, s[i])
			}
			prev = 0
		case c == '[' && i+1 < len(s) && s[i+1] == ':':
			end := strings.IndexByte(s[i+2:], ']')
			if end < 0 {
				return nil, 0
			}
			name := s[i+2 : i+2+end]
			if !strings.HasSuffix(name, ":") {
				add('[', '[')
				prev = '['
				break
			}
			if !addNamed(strings.TrimSuffix(name, ":"), add) {
				return nil, 0
			}
			i += 2 + end
			prev = 0
		default:
			add(c, c)
			prev = c
		}
		i++
	}
}

func foldSet(set *[4]uint64) {
	for c := 'a'; c <= 'z'; c++ {
		u := c - 0x20
		if set[c>>6]&(1<<(c&63)) != 0 || set[u>>6]&(1<<(u&63)) != 0 {
			set[c>>6] |= 1 << (c & 63)
			set[u>>6] |= 1 << (u & 63)
		}
	}
}

func addNamed(name string, add func(lo, hi byte)) bool {
	switch name {
	case "alnum":
		add('0', '9')
		add('A', 'Z')
		add('a', 'z')
	case "alpha":
		add('A', 'Z')
		add('a', 'z')
	case "blank":
		add(' ', ' ')
		add('\t', '\t')
	case "cntrl":
		add(0, 0x1f)
		add(0x7f, 0x7f)
	case "digit":
		add('0', '9')
	case "graph":
		add('!', '~')
	case "lower":
		add('a', 'z')
	case "print":
		add(' ', '~')
	case "punct":
		add('!', '/')
		add(':', '@')
		add('[', '`')
		add('{', '~')
	case "space":
		add(' ', ' ')
		add('\t', '\r')
	case "upper":
		add('A', 'Z')
	case "xdigit":
		add('0', '9')
		add('A', 'F')
		add('a', 'f')
	default:
		return false
	}
	return true
}
