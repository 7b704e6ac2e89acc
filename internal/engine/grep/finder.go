package grep

import "bytes"

// finder finds the places where one of some literals occurs. It is immutable.
//
// It looks for something small that every literal has, and compares the places where it is found with the literals. That
// is, in the order in which they are tried: one rare byte of a single literal; four neighbouring bytes, looked for at
// every so many places only, which long literals cannot slip through; a pair of neighbouring bytes of each literal.
type finder struct {
	lits []literal
	fold bool // bytes of the text are compared with bit 0x20 set

	byRare bool
	rare   int // the place of the rare byte in the only literal

	grams *grams

	pairs []pair
	reach int // the least place of a pair in a literal
	first [maxPairs]uint64
	next  [maxPairs]uint64
}

// pair is two neighbouring bytes, and where they stand in the literals that they find.
type pair struct {
	a, b byte
	uses []use
}

// use is a place in a literal.
type use struct{ lit, at int }

const (
	maxPairs = 8
	// A byte at least so rare (see rarity) is worth stopping for.
	rareByte = 2.0
	caseBit  = 0x20
)

// newFinder returns nil if the literals are not of the kind that can be found faster than by going through the text with
// an automaton.
func newFinder(lits []literal) *finder {
	if len(lits) == 0 {
		return nil
	}
	f := &finder{lits: lits, reach: 2 * maxLiteralBytes}
	shortest := 2 * maxLiteralBytes
	for _, l := range lits {
		f.fold = f.fold || l.fold
		shortest = min(shortest, len(l.text))
	}
	if len(lits) == 1 && !f.fold {
		text := lits[0].text
		for k, b := range text {
			if rarity(b) > rarity(text[f.rare]) {
				f.rare = k
			}
		}
		f.byRare = len(text) == 1 || rarity(text[f.rare]) >= rareByte
		if len(text) == 1 {
			return f
		}
	}
	if shortest < 2 {
		return nil
	}
	manyPairs := false
	for i, l := range lits {
		if manyPairs = !f.addPair(i, l); manyPairs {
			break
		}
	}
	if f.grams = newGrams(lits, f.fold, shortest); f.grams != nil && (manyPairs || f.grams.stride >= f.grams.worthFrom(len(f.pairs))) {
		return f
	}
	if f.grams = nil; manyPairs {
		return nil
	}
	for k := range f.first {
		p := f.pairs[min(k, len(f.pairs)-1)]
		f.first[k], f.next[k] = spread(p.a), spread(p.b)
	}
	return f
}

func spread(b byte) uint64 { return uint64(b&0x7f) * lowBits }

// view returns a byte as it is compared.
func (f *finder) view(b byte) byte {
	if f.fold {
		return b | caseBit
	}
	return b
}

func (f *finder) addPair(i int, l literal) bool {
	score := func(at int) float64 { return rarity(l.text[at]) + rarity(l.text[at+1]) }
	best := 0
	for at := range len(l.text) - 1 {
		if score(at) > score(best) {
			best = at
		}
	}
	// A pair that is looked for anyway costs nothing more.
	u, shared := use{i, best}, -1
	for at := range len(l.text) - 1 {
		for k, p := range f.pairs {
			if p.a == f.view(l.text[at]) && p.b == f.view(l.text[at+1]) && (shared < 0 || score(at) > score(u.at)) && score(at) > score(best)-1 {
				shared, u.at = k, at
			}
		}
	}
	f.reach = min(f.reach, u.at)
	if shared >= 0 {
		f.pairs[shared].uses = append(f.pairs[shared].uses, u)
		return true
	}
	f.pairs = append(f.pairs, pair{f.view(l.text[best]), f.view(l.text[best+1]), []use{u}})
	return len(f.pairs) <= maxPairs
}

// find returns the start of an occurrence at or after from, or -1. No occurrence ends before the one returned begins.
func (f *finder) find(text []byte, from int) int {
	if f.byRare {
		at, next := f.findRare(text, from)
		if next < 0 {
			return at
		}
		from = next
	}
	if f.grams != nil {
		return f.findGram(text, from)
	}
	pos := from + f.reach
	for {
		i, hits := f.block(text, pos)
		if i < 0 {
			return -1
		}
		for ; hits != 0; hits &= hits - 1 {
			if at := f.findAt(text, from, i+lowestByte(hits)); at >= 0 {
				return at
			}
		}
		pos = i + 8
	}
}

// findAt returns the start of a literal that has a pair at pos, or -1.
func (f *finder) findAt(text []byte, from, pos int) int {
	if pos+1 >= len(text) {
		return -1
	}
	a, b := f.view(text[pos]), f.view(text[pos+1])
	for i := range f.pairs {
		p := &f.pairs[i]
		if p.a != a || p.b != b {
			continue
		}
		for _, u := range p.uses {
			if start := pos - u.at; start >= from && f.lits[u.lit].at(text, start) {
				return start
			}
		}
	}
	return -1
}

// findRare finds the only literal by its rare byte. If that is frequent in this text, it returns in next where to go on
// by other means, else -1.
func (f *finder) findRare(text []byte, from int) (at, next int) {
	l := &f.lits[0]
	b := l.text[f.rare]
	misses := 0
	for pos := from + f.rare; pos < len(text); {
		k := bytes.IndexByte(text[pos:], b)
		if k < 0 {
			break
		}
		pos += k + 1
		start := pos - 1 - f.rare
		if l.at(text, start) {
			return start, -1
		}
		if misses++; misses > 8 && misses*64 > pos-from && len(f.pairs) > 0 {
			return -1, start + 1
		}
	}
	return -1, -1
}

// at reports whether the literal occurs at start, where its conditions hold.
func (l *literal) at(text []byte, start int) bool {
	end := start + len(l.text)
	if start < 0 || end > len(text) {
		return false
	}
	if l.fold {
		if !equalFolded(text[start:end], l.text) {
			return false
		}
	} else if !bytes.Equal(text[start:end], l.text) {
		return false
	}
	return (l.begin == 0 || holds(l.begin, text, start)) && (l.end == 0 || holds(l.end, text, end))
}

// holds reports whether all of some assertions may hold at a place of a text of whole lines: in a search line by line,
// whether they do.
func holds(asserts uint8, text []byte, at int) bool {
	if asserts&(beginLine|beginText) != 0 && at > 0 && text[at-1] != '\n' {
		return false
	}
	if asserts&(endLine|endText) != 0 && at < len(text) && text[at] != '\n' &&
		!(text[at] == '\r' && (at+1 == len(text) || text[at+1] == '\n')) {
		return false
	}
	if asserts&(wordBoundary|noWordBoundary) == 0 {
		return true
	}
	boundary := (at > 0 && isWord(text[at-1])) != (at < len(text) && isWord(text[at]))
	return !(asserts&wordBoundary != 0 && !boundary || asserts&noWordBoundary != 0 && boundary)
}

// equalFolded compares ASCII letters of a without case to b, which is in lower case and as long.
func equalFolded(a, b []byte) bool {
	for i, c := range b {
		d := a[i]
		if 'A' <= d && d <= 'Z' {
			d |= caseBit
		}
		if d != c {
			return false
		}
	}
	return true
}
