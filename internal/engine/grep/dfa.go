package grep

import (
	"encoding/binary"
	"slices"
)

const (
	maxStates     = 4096
	maxStateBytes = 2 << 20 // of state sets in one DFA
	// A DFA that fills its cache again and again within few bytes is slower than package regexp: it gives up.
	minBytesPerReset = 64 << 10
	freeResets       = 8
)

// Values of a transition that lead to no state.
const (
	unknown = -1
	matched = -2
)

// What holds before the next byte.
const (
	afterWord uint8 = 1 << iota
	atLineStart
	atTextStart
)

// dfa determinises an nfa as far as texts require it. It is for one goroutine.
//
// States are numbered in steps of 1<<shift, so that a state plus a class is the index of a transition; class n.classes
// is the end of the text.
type dfa struct {
	n      *nfa
	shift  uint
	trans  []int32
	states []dfaState
	index  map[string]int32
	seen   []uint32
	gen    uint32
	init   int32
	rest   int32 // leads to itself only: for a lane that is done
	size   int   // bytes in state sets
	key    []byte
	work   []int32
	resets int
	fed    int // bytes since the first reset
	gaveUp bool
}

type dfaState struct {
	set   []int32
	flags uint8
}

func newDFA(n *nfa) *dfa {
	d := &dfa{n: n, index: make(map[string]int32), seen: make([]uint32, len(n.insts))}
	for 1<<d.shift < n.classes+1 {
		d.shift++
	}
	d.reset()
	return d
}

func (d *dfa) reset() {
	d.trans, d.states, d.size = d.trans[:0], d.states[:0], 0
	clear(d.index)
	d.rest = d.intern(nil, atTextStart)
	for i := range 1 << d.shift {
		d.trans[int(d.rest)+i] = d.rest
	}
	d.init = d.intern([]int32{d.n.start}, atLineStart|atTextStart)
}

// intern returns the number of the state with this set; set is kept.
func (d *dfa) intern(set []int32, flags uint8) int32 {
	slices.Sort(set)
	set = slices.Compact(set)
	if !d.n.asserts {
		flags = 0
	}
	d.key = d.key[:0]
	for _, x := range set {
		d.key = binary.LittleEndian.AppendUint32(d.key, uint32(x))
	}
	d.key = append(d.key, flags)
	if s, ok := d.index[string(d.key)]; ok {
		return s
	}
	s := int32(len(d.states)) << d.shift
	d.states = append(d.states, dfaState{slices.Clone(set), flags})
	for range 1 << d.shift {
		d.trans = append(d.trans, unknown)
	}
	d.index[string(d.key)] = s
	d.size += 8*len(set) + 64
	return s
}

// closure adds what is reachable from x without consuming: byte instructions, and with keep the assertions that do not
// hold (their turn may come before the next byte). It reports whether a match was reached.
func (d *dfa) closure(x int32, holds uint8, keep bool) bool {
	if d.seen[x] == d.gen {
		return false
	}
	d.seen[x] = d.gen
	switch i := &d.n.insts[x]; i.op {
	case instRange:
		d.work = append(d.work, x)
	case instSplit:
		a := d.closure(i.out, holds, keep)
		b := d.closure(i.alt, holds, keep)
		return a || b
	case instAssert:
		if holds&i.assert != 0 {
			return d.closure(i.out, holds, keep)
		}
		if keep {
			d.work = append(d.work, x)
		}
	case instMatch:
		return true
	}
	return false
}

func (d *dfa) closures(set []int32, holds uint8, keep bool) (found bool) {
	d.gen++
	d.work = d.work[:0]
	for _, x := range set {
		if d.closure(x, holds, keep) {
			found = true
		}
	}
	return found
}

// step computes and stores the transition of a state on a class.
func (d *dfa) step(s int32, class int) int32 {
	st := d.states[s>>d.shift]
	end := class == d.n.classes
	b := byte('\n')
	if !end {
		b = d.n.rep[class]
	}
	newline := b == '\n'
	var holds uint8
	if d.n.asserts {
		if st.flags&atLineStart != 0 {
			holds |= beginLine
		}
		if st.flags&atTextStart != 0 {
			holds |= beginText
		}
		if newline || b == '\r' && !d.n.multiline {
			holds |= endLine
		}
		if end {
			holds |= endText
		}
		if (st.flags&afterWord != 0) != (isWord(b) && !end) {
			holds |= wordBoundary
		} else if d.n.lossy || b&0xc0 != 0x80 { // a place within a character is none
			holds |= noWordBoundary
		}
	}
	to := int32(unknown)
	switch {
	case d.closures(st.set, holds, false):
		to = matched
	case end:
		to = d.init
	case newline && !d.n.multiline:
		to = d.init
	default:
		var next []int32
		for _, x := range d.work {
			if i := &d.n.insts[x]; i.lo <= b && b <= i.hi {
				next = append(next, i.out)
			}
		}
		next = append(next, d.n.start) // a match may begin at every place
		if d.closures(next, 0, true) {
			to = matched
			break
		}
		var flags uint8
		if isWord(b) {
			flags |= afterWord
		}
		if newline {
			flags |= atLineStart
		}
		if len(d.states) >= maxStates || d.size >= maxStateBytes {
			keep := slices.Clone(d.work)
			d.reset()
			d.resets++
			return d.intern(keep, flags) // s is gone: there is no transition to store
		}
		to = d.intern(d.work, flags)
	}
	d.trans[int(s)+class] = to
	return to
}

// scan runs over text from a state and returns the place where a match became certain, or -1 and the state reached.
func (d *dfa) scan(s int32, text []byte, from int) (at int, state int32) {
	tr, cls := d.trans, &d.n.class
	i, resets := from, d.resets
	mark := from
	for i < len(text) {
		for i+4 <= len(text) {
			x := text[i : i+4 : i+4]
			a := tr[int(s)+int(cls[x[0]])]
			if a < 0 {
				break
			}
			b := tr[int(a)+int(cls[x[1]])]
			if b < 0 {
				s, i = a, i+1
				break
			}
			c := tr[int(b)+int(cls[x[2]])]
			if c < 0 {
				s, i = b, i+2
				break
			}
			e := tr[int(c)+int(cls[x[3]])]
			if e < 0 {
				s, i = c, i+3
				break
			}
			s, i = e, i+4
		}
		if i >= len(text) {
			break
		}
		c := int(cls[text[i]])
		to := tr[int(s)+c]
		if to == unknown {
			to = d.step(s, c)
			tr = d.trans
			if d.resets != resets {
				if d.fed += i - mark; d.resets > freeResets && d.fed < d.resets*minBytesPerReset {
					d.gaveUp = true
				}
				resets, mark = d.resets, i
			}
		}
		if to == matched {
			return i, d.init
		}
		s = to
		i++
	}
	if d.resets > 0 {
		d.fed += i - mark
	}
	return -1, s
}

// next returns a place in the first line with a match at or after from, which is the start of a line, or -1. The end of
// text is the end of its last line.
func (d *dfa) next(text []byte, from int) int {
	at, s := d.scan(d.init, text, from)
	if at >= 0 {
		return at
	}
	if d.step(s, d.n.classes) == matched {
		return len(text)
	}
	return -1
}
