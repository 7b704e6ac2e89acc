package grep

import "bytes"

const (
	// laneCount parts of a text are gone through at the same time: each step of an automaton waits for the one before, and
	// independent ones do not wait for each other.
	laneCount = 4
	// minLanesBytes is the shortest text for which that is worth while.
	minLanesBytes = 1 << 10
	// maxLanesBytes of text are cut at a time: after its first match a part is gone through alone.
	maxLanesBytes = 32 << 10
)

// lanes finds matching lines with an automaton, in a text of which piece after piece is cut into parts at ends of lines.
// The first match of each part is looked for in all parts of a piece at once.
type lanes struct {
	parts []lane // those of the piece that are left
	room  [laneCount]lane
}

// lane is a part of a text.
type lane struct {
	start, end int
	hit        int // a place in the first matching line; -1: none in the part; -2: not searched
}

const notSearched = -2

func (l *lanes) clear() { l.parts = nil }

// next is like dfa.next. from must not decrease while the text is the same.
func (l *lanes) next(d *dfa, text []byte, from int) int {
	if d.n.multiline {
		return d.next(text, from)
	}
	for {
		for len(l.parts) > 0 {
			p := &l.parts[0]
			from = max(from, p.start)
			if from < p.end && p.hit != -1 {
				at := p.hit
				if at < from { // reported before, or not searched
					at = d.next(text[:p.end], from)
				}
				// The end of a part that is not the last is no line of its own.
				if at >= 0 && (at < p.end || p.end == len(text)) {
					return at
				}
			}
			from = max(from, p.end)
			l.parts = l.parts[1:]
		}
		switch {
		case from >= len(text):
			return -1
		case len(text)-from < minLanesBytes:
			return d.next(text, from)
		}
		l.split(text, from)
		d.scanLanes(text, l.parts)
	}
}

// split cuts a piece of text at from into parts of about the same size.
func (l *lanes) split(text []byte, from int) {
	l.parts = l.room[:0]
	last := min(from+maxLanesBytes, len(text))
	for k := range laneCount {
		end := min(from+(max(last-from, 0))/(laneCount-k), len(text))
		if i := bytes.IndexByte(text[end:], '\n'); i >= 0 {
			end += i + 1
		} else {
			end = len(text)
		}
		l.parts = append(l.parts, lane{from, end, notSearched})
		from = end
	}
}

// scanLanes finds the first match of each part. When the automaton must drop its states, it leaves parts unsearched.
func (d *dfa) scanLanes(text []byte, parts []lane) {
	n := len(text)
	for _, p := range parts {
		n = min(n, p.end-p.start)
	}
	state := [laneCount]int32{d.init, d.init, d.init, d.init}
	cls, resets := &d.n.class, d.resets
	live := laneCount
	i := 0
	for live > 1 {
		if i = d.advance(text, parts, &state, i, n); i == n {
			break
		}
		for k, p := range parts {
			c := int(cls[text[p.start+i]])
			to := d.trans[int(state[k])+c]
			if to == unknown {
				to = d.step(state[k], c)
				if d.resets != resets {
					return // the states of the others are gone
				}
			}
			if to == matched {
				parts[k].hit = p.start + i
				to = d.rest
				live--
			}
			state[k] = to
		}
		i++
	}
	for k, s := range state {
		p := &parts[k]
		if p.hit != notSearched {
			continue
		}
		at, to := d.scan(s, text[:p.end], p.start+i)
		if d.resets != resets {
			if at >= 0 {
				p.hit = at
			}
			return
		}
		if at < 0 && p.end == len(text) && d.step(to, d.n.classes) == matched {
			at = p.end
		}
		p.hit = at
	}
}

// advance takes all lanes from byte i of their parts on as far as all transitions are known and lead to a state, at most
// to byte n.
func (d *dfa) advance(text []byte, parts []lane, state *[laneCount]int32, i, n int) int {
	// The parts as slices of one length, which spares checks.
	t0, t1 := text[parts[0].start:][:n], text[parts[1].start:][:n]
	t2, t3 := text[parts[2].start:][:n], text[parts[3].start:][:n]
	t0, t1, t2, t3 = t0[i:], t1[i:], t2[i:], t3[i:]
	s0, s1, s2, s3 := state[0], state[1], state[2], state[3]
	tr, cls := d.trans, &d.n.class
	k := 0
	for ; k < len(t0) && k < len(t1) && k < len(t2) && k < len(t3); k++ {
		a, b := tr[int(s0)+int(cls[t0[k]])], tr[int(s1)+int(cls[t1[k]])]
		c, e := tr[int(s2)+int(cls[t2[k]])], tr[int(s3)+int(cls[t3[k]])]
		if a|b|c|e < 0 {
			break
		}
		s0, s1, s2, s3 = a, b, c, e
	}
	*state = [laneCount]int32{s0, s1, s2, s3}
	return i + k
}
