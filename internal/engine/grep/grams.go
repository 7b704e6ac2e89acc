package grep

import "encoding/binary"

// grams finds literals by four neighbouring bytes, and looks at every stride-th place only: each literal has stride
// such fours one after another, so that one of them stands at a place that is looked at.
type grams struct {
	stride int
	table  [1 << gramBits]uint8 // by hash: 1 + index in uses, or 0
	uses   [][]use
}

const (
	gramBits  = 13
	maxGrams  = 200 // so that few hashes lead to something
	gramPrime = 0x9e3779b1
	caseGram  = caseBit * 0x01010101
)

func gramHash(w uint32) uint32 { return w * gramPrime >> (32 - gramBits) }

// newGrams returns nil if the shortest literal is too short.
func newGrams(lits []literal, fold bool, shortest int) *grams {
	g := &grams{stride: min(shortest-3, maxGrams/len(lits))}
	if g.stride < 2 {
		return nil
	}
	for i, l := range lits {
		for at := range g.stride {
			w := binary.LittleEndian.Uint32(l.text[at:])
			if fold {
				w |= caseGram
			}
			h := gramHash(w)
			if g.table[h] == 0 {
				g.uses = append(g.uses, nil)
				g.table[h] = uint8(len(g.uses))
			}
			k := g.table[h] - 1
			g.uses[k] = append(g.uses[k], use{i, at})
		}
	}
	return g
}

// worthFrom returns the stride from which on grams are faster than so many pairs.
func (g *grams) worthFrom(pairs int) int { return max(2, 7-pairs) }

// findGram is find by grams.
func (f *finder) findGram(text []byte, from int) int {
	g := f.grams
	or := uint32(0)
	if f.fold {
		or = caseGram
	}
	for p := from; ; p += g.stride {
		var k uint8
		if p, k = g.skip(text, p, or); k == 0 {
			return -1
		}
		for _, u := range g.uses[k-1] {
			if start := p - u.at; start >= from && f.lits[u.lit].at(text, start) {
				return start
			}
		}
	}
}

// skip returns the first of p, p+stride and so on at which something stands, and what.
func (g *grams) skip(text []byte, p int, or uint32) (int, uint8) {
	stride, table := g.stride, &g.table
	for ; p >= 0 && p+4 <= len(text); p += stride {
		t := text[p : p+4]
		w := uint32(t[0]) | uint32(t[1])<<8 | uint32(t[2])<<16 | uint32(t[3])<<24
		if k := table[gramHash(w|or)]; k != 0 {
			return p, k
		}
	}
	return len(text), 0
}
