package grep

import (
	"encoding/binary"
	"math/bits"
)

// Eight places of a text are compared at a time, as the bytes of a word.
const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
	lowSeven = 0x7f7f7f7f7f7f7f7f
	caseBits = caseBit * lowBits
)

func lowestByte(x uint64) int { return bits.TrailingZeros64(x) >> 3 }

func isASCII(text []byte) bool {
	for len(text) >= 16 {
		if (binary.LittleEndian.Uint64(text)|binary.LittleEndian.Uint64(text[8:]))&highBits != 0 {
			return false
		}
		text = text[16:]
	}
	for _, b := range text {
		if b >= 0x80 {
			return false
		}
	}
	return true
}

// block returns the first i at or after pos such that a pair may occur at a place from i to i+7, with the high bits of
// those bytes; -1 if there is none.
func (f *finder) block(text []byte, pos int) (i int, hits uint64) {
	if pos+1 >= len(text) {
		return -1, 0
	}
	t := text[pos:]
	var done int
	switch {
	case len(t) < 9:
	case len(f.pairs) == 1:
		done, hits = f.blocks1(t)
	case len(f.pairs) == 2:
		done, hits = f.blocks2(t)
	case len(f.pairs) == 3:
		done, hits = f.blocks3(t)
	default:
		done, hits = f.blocks8(t)
	}
	if hits != 0 {
		return pos + done, hits
	}
	if done+1 >= len(t) {
		return -1, 0
	}
	// The last places are fewer than eight.
	var w, next uint64
	for k, b := range t[done : len(t)-1] {
		w |= uint64(f.view(b)) << (8 * k)
		next |= uint64(f.view(t[done+k+1])) << (8 * k)
	}
	w, next = w&lowSeven, next&lowSeven
	for k := range f.pairs {
		hits |= ^(((w ^ f.first[k]) | (next ^ f.next[k])) + lowSeven)
	}
	hits &= highBits & (1<<(8*(len(t)-1-done)) - 1)
	if hits == 0 {
		return -1, 0
	}
	return pos + done, hits
}

// The functions below go through text in steps of eight places as far as whole words can be read, or to the first word
// with a hit. Bytes are compared without their high bit: then adding 0x7f sets it in those that differ, without a carry.

// words returns the eight bytes at the start of t and the eight from the second on.
func words(t []byte, or uint64) (w, next uint64) {
	return (binary.LittleEndian.Uint64(t) | or) & lowSeven, (binary.LittleEndian.Uint64(t[1:]) | or) & lowSeven
}

func (f *finder) or() uint64 {
	if f.fold {
		return caseBits
	}
	return 0
}

func (f *finder) blocks1(text []byte) (done int, hits uint64) {
	a, b, or := f.first[0], f.next[0], f.or()
	t := text
	for len(t) >= 17 {
		w, n := words(t, or)
		v, m := words(t[8:], or)
		x, y := ((w^a)|(n^b))+lowSeven, ((v^a)|(m^b))+lowSeven
		if (x&y)&highBits != highBits {
			if x = ^x & highBits; x != 0 {
				return len(text) - len(t), x
			}
			return len(text) - len(t) + 8, ^y & highBits
		}
		t = t[16:]
	}
	for len(t) >= 9 {
		w, n := words(t, or)
		if x := ^(((w ^ a) | (n ^ b)) + lowSeven) & highBits; x != 0 {
			return len(text) - len(t), x
		}
		t = t[8:]
	}
	return len(text) - len(t), 0
}

func (f *finder) blocks2(text []byte) (done int, hits uint64) {
	a0, b0, a1, b1, or := f.first[0], f.next[0], f.first[1], f.next[1], f.or()
	t := text
	for len(t) >= 9 {
		w, n := words(t, or)
		if x := (((w ^ a0) | (n ^ b0)) + lowSeven) & (((w ^ a1) | (n ^ b1)) + lowSeven) & highBits; x != highBits {
			return len(text) - len(t), x ^ highBits
		}
		t = t[8:]
	}
	return len(text) - len(t), 0
}

func (f *finder) blocks3(text []byte) (done int, hits uint64) {
	a0, b0, a1, b1, a2, b2, or := f.first[0], f.next[0], f.first[1], f.next[1], f.first[2], f.next[2], f.or()
	t := text
	for len(t) >= 9 {
		w, n := words(t, or)
		if x := (((w ^ a0) | (n ^ b0)) + lowSeven) & (((w ^ a1) | (n ^ b1)) + lowSeven) & (((w ^ a2) | (n ^ b2)) + lowSeven) & highBits; x != highBits {
			return len(text) - len(t), x ^ highBits
		}
		t = t[8:]
	}
	return len(text) - len(t), 0
}

func (f *finder) blocks8(text []byte) (done int, hits uint64) {
	or, count := f.or(), len(f.pairs)
	t := text
	for len(t) >= 9 {
		w, n := words(t, or)
		x := uint64(highBits)
		for k := range count {
			x &= ((w ^ f.first[k&7]) | (n ^ f.next[k&7])) + lowSeven
		}
		if x != highBits {
			return len(text) - len(t), x ^ highBits
		}
		t = t[8:]
	}
	return len(text) - len(t), 0
}
