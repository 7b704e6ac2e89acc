package grep

import "bytes"

// cursors find the next occurrence of any literal of a pattern in a text, each literal keeping its own place, so that a
// text is gone through at most once for each.
type cursors struct {
	lits []literal
	text []byte
	at   [maxLiterals]cursor
}

const notSearched = -2

// cursor is the place of one literal: the last occurrence found (-1: none to the end). A folded literal is found by its
// rarest byte, whose two cases have a place each.
type cursor struct {
	next     int
	rare     int // index in the literal
	low, cap int
}

func (c *cursors) init(lits []literal) {
	c.lits = lits
	for i, l := range lits {
		best := -1.0
		for k, b := range l.text {
			r := rarity(b)
			if l.fold && 'a' <= b && b <= 'z' {
				r *= 0.8
			}
			if r > best {
				best = r
				c.at[i].rare = k
			}
		}
	}
}

func (c *cursors) reset(text []byte) {
	c.text = text
	for i := range c.lits {
		a := &c.at[i]
		a.next, a.low, a.cap = notSearched, notSearched, notSearched
	}
}

// find returns the first place at or after from where a literal occurs, or -1. from must not decrease between resets.
func (c *cursors) find(from int) int {
	best := -1
	for i := range c.lits {
		a := &c.at[i]
		if a.next != -1 && a.next < from {
			if c.lits[i].fold {
				a.next = c.findFolded(i, from)
			} else if p := bytes.Index(c.text[from:], c.lits[i].text); p < 0 {
				a.next = -1
			} else {
				a.next = from + p
			}
		}
		if a.next >= 0 && (best < 0 || a.next < best) {
			best = a.next
		}
	}
	return best
}

func (c *cursors) findFolded(i, from int) int {
	lit, a, text := c.lits[i].text, &c.at[i], c.text
	b := lit[a.rare]
	letter := 'a' <= b && b <= 'z'
	at := from + a.rare
	for at < len(text) {
		if a.low != -1 && a.low < at {
			if a.low = bytes.IndexByte(text[at:], b); a.low >= 0 {
				a.low += at
			}
		}
		p := a.low
		if letter {
			if a.cap != -1 && a.cap < at {
				if a.cap = bytes.IndexByte(text[at:], b-0x20); a.cap >= 0 {
					a.cap += at
				}
			}
			if a.cap >= 0 && (p < 0 || a.cap < p) {
				p = a.cap
			}
		}
		if p < 0 {
			return -1
		}
		start := p - a.rare
		if start+len(lit) <= len(text) && equalFolded(text[start:start+len(lit)], lit) {
			return start
		}
		at = p + 1
	}
	return -1
}

// equalFolded compares ASCII letters of a without case to b, which is in lower case and as long.
func equalFolded(a, b []byte) bool {
	for i, c := range b {
		d := a[i]
		if 'A' <= d && d <= 'Z' {
			d |= 0x20
		}
		if d != c {
			return false
		}
	}
	return true
}
