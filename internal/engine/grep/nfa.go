package grep

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// maxInsts limits an automaton; a larger pattern is matched by package regexp alone.
const maxInsts = 20000

type instOp uint8

const (
	instRange  instOp = iota // a byte from lo to hi
	instSplit                // out or alt, nothing consumed
	instAssert               // out if the assertion holds
	instMatch
)

// Assertions. In a search line by line, the begin and end of the text are those of the line.
const (
	beginLine uint8 = 1 << iota
	endLine
	beginText
	endText
	wordBoundary
	noWordBoundary
)

type inst struct {
	op       instOp
	lo, hi   byte
	assert   uint8
	out, alt int32
}

// nfa is a non-deterministic automaton over bytes. It answers whether there is a match, not where; so preferences of
// alternatives and repetitions do not matter. It is immutable once built.
type nfa struct {
	insts     []inst
	start     int32
	class     [256]uint8 // bytes that no instruction tells apart share a class
	classes   int
	rep       []byte // a byte of each class
	asserts   bool
	multiline bool
	lossy     bool
	tooLarge  bool
	// encoded: whether the bytes are valid UTF-8 can decide about a match, because U+FFFD may be part of it, or because it
	// may lie between any two characters.
	encoded bool
}

// newNFA returns nil if the automaton would be too large. A lossy one lets each byte of invalid UTF-8, and of a valid
// multi-byte character too, stand for U+FFFD: it misses no match on any text, but may see one that is none.
func newNFA(re *syntax.Regexp, lossy, multiline bool) *nfa {
	n := &nfa{lossy: lossy, multiline: multiline}
	match := n.add(inst{op: instMatch})
	n.start = n.compile(re, match)
	if n.tooLarge {
		return nil
	}
	n.findClasses()
	return n
}

func (n *nfa) add(i inst) int32 {
	if len(n.insts) >= maxInsts {
		n.tooLarge = true
		return 0
	}
	n.insts = append(n.insts, i)
	return int32(len(n.insts) - 1)
}

func (n *nfa) fail(next int32) int32 { return n.add(inst{op: instRange, lo: 1, hi: 0, out: next}) }

func (n *nfa) assert(a uint8, next int32) int32 {
	n.asserts = true
	n.encoded = n.encoded || a == noWordBoundary
	return n.add(inst{op: instAssert, assert: a, out: next})
}

// compile returns the entry of an automaton for re that continues at next.
func (n *nfa) compile(re *syntax.Regexp, next int32) int32 {
	if n.tooLarge {
		return 0
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return next
	case syntax.OpLiteral:
		for i := len(re.Rune) - 1; i >= 0; i-- {
			r := re.Rune[i]
			set := []rune{r, r}
			if re.Flags&syntax.FoldCase != 0 {
				for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
					set = append(set, f, f)
				}
			}
			next = n.runes(set, next)
		}
		return next
	case syntax.OpCharClass:
		return n.runes(re.Rune, next)
	case syntax.OpAnyChar:
		return n.runes([]rune{0, unicode.MaxRune}, next)
	case syntax.OpAnyCharNotNL:
		return n.runes([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}, next)
	case syntax.OpBeginLine:
		return n.assert(beginLine, next)
	case syntax.OpEndLine:
		return n.assert(endLine, next)
	case syntax.OpBeginText:
		if n.multiline {
			return n.assert(beginText, next)
		}
		return n.assert(beginLine, next)
	case syntax.OpEndText:
		if n.multiline {
			return n.assert(endText, next)
		}
		return n.assert(endLine, next)
	case syntax.OpWordBoundary:
		return n.assert(wordBoundary, next)
	case syntax.OpNoWordBoundary:
		return n.assert(noWordBoundary, next)
	case syntax.OpCapture:
		return n.compile(re.Sub[0], next)
	case syntax.OpStar, syntax.OpPlus:
		loop := n.add(inst{op: instSplit, alt: next})
		entry := n.compile(re.Sub[0], loop)
		n.insts[loop].out = entry
		if re.Op == syntax.OpPlus {
			return entry
		}
		return loop
	case syntax.OpQuest:
		return n.add(inst{op: instSplit, out: n.compile(re.Sub[0], next), alt: next})
	case syntax.OpConcat:
		for i := len(re.Sub) - 1; i >= 0; i-- {
			next = n.compile(re.Sub[i], next)
		}
		return next
	case syntax.OpAlternate:
		entry := n.compile(re.Sub[0], next)
		for _, s := range re.Sub[1:] {
			entry = n.add(inst{op: instSplit, out: entry, alt: n.compile(s, next)})
		}
		return entry
	}
	return n.fail(next) // OpNoMatch
}

// runes compiles a set of rune ranges.
func (n *nfa) runes(set []rune, next int32) int32 {
	entry := int32(-1)
	or := func(x int32) {
		if entry < 0 {
			entry = x
		} else {
			entry = n.add(inst{op: instSplit, out: entry, alt: x})
		}
	}
	invalid := false
	for i := 0; i+1 < len(set); i += 2 {
		invalid = invalid || set[i] <= utf8.RuneError && utf8.RuneError <= set[i+1]
		sequences(set[i], set[i+1], func(lo, hi [utf8.UTFMax]byte, size int) {
			x := next
			for k := size - 1; k >= 0; k-- {
				x = n.add(inst{op: instRange, lo: lo[k], hi: hi[k], out: x})
			}
			or(x)
		})
	}
	n.encoded = n.encoded || invalid
	if invalid && n.lossy {
		or(n.add(inst{op: instRange, lo: utf8.RuneSelf, hi: 0xff, out: next}))
	}
	if entry < 0 {
		return n.fail(next)
	}
	return entry
}

// sequences splits a range of runes into ranges of byte sequences of equal length.
func sequences(lo, hi rune, yield func(lo, hi [utf8.UTFMax]byte, size int)) {
	if lo > hi {
		return
	}
	for _, last := range [...]rune{0x7f, 0x7ff, 0xffff} {
		if lo <= last && last < hi {
			sequences(lo, last, yield)
			sequences(last+1, hi, yield)
			return
		}
	}
	if hi >= utf8.RuneSelf {
		for i := 1; i < utf8.UTFMax; i++ {
			m := rune(1)<<(6*i) - 1
			if lo&^m == hi&^m {
				continue
			}
			if lo&m != 0 {
				sequences(lo, lo|m, yield)
				sequences((lo|m)+1, hi, yield)
				return
			}
			if hi&m != m {
				sequences(lo, hi&^m-1, yield)
				sequences(hi&^m, hi, yield)
				return
			}
		}
	}
	a, size := encode(lo)
	b, _ := encode(hi)
	yield(a, b, size)
}

// encode writes a rune's UTF-8 form, that of surrogates too: they border ranges.
func encode(r rune) (b [utf8.UTFMax]byte, size int) {
	switch {
	case r < utf8.RuneSelf:
		b[0] = byte(r)
		return b, 1
	case r < 0x800:
		b[0], b[1] = 0xc0|byte(r>>6), 0x80|byte(r)&0x3f
		return b, 2
	case r < 0x10000:
		b[0], b[1], b[2] = 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f
		return b, 3
	}
	b[0], b[1], b[2], b[3] = 0xf0|byte(r>>18), 0x80|byte(r>>12)&0x3f, 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f
	return b, 4
}

func (n *nfa) findClasses() {
	var begins [257]bool
	mark := func(lo, hi byte) { begins[lo], begins[int(hi)+1] = true, true }
	mark('\n', '\n')
	for _, i := range n.insts {
		if i.op == instRange && i.lo <= i.hi {
			mark(i.lo, i.hi)
		}
	}
	if n.asserts {
		mark('\r', '\r')
		mark('0', '9')
		mark('A', 'Z')
		mark('a', 'z')
		mark('_', '_')
		mark(0x80, 0xbf)
	}
	c := -1
	for i := range 256 {
		if i == 0 || begins[i] {
			c++
			n.rep = append(n.rep, byte(i))
		}
		n.class[i] = uint8(c)
	}
	n.classes = c + 1
}
