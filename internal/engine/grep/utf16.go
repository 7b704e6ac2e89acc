package grep

import (
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Reader decodes UTF-16 to UTF-8; lone surrogates and an odd last byte become U+FFFD.
type utf16Reader struct {
	src  io.Reader
	big  bool
	raw  []byte // read, not decoded
	tail []byte // decoded, did not fit
	err  error
	room [32 << 10]byte
}

func newUTF16Reader(src io.Reader, big bool) *utf16Reader { return &utf16Reader{src: src, big: big} }

func (r *utf16Reader) unit(i int) rune {
	if r.big {
		return rune(r.raw[i])<<8 | rune(r.raw[i+1])
	}
	return rune(r.raw[i+1])<<8 | rune(r.raw[i])
}

func (r *utf16Reader) Read(p []byte) (int, error) {
	n := copy(p, r.tail)
	r.tail = r.tail[n:]
	for n < len(p) {
		c, size, ok := r.next()
		if !ok {
			break
		}
		r.raw = r.raw[size:]
		if n+utf8.UTFMax <= len(p) {
			n += utf8.EncodeRune(p[n:], c)
			continue
		}
		r.tail = utf8.AppendRune(nil, c) // the last bytes of p may hold a part of a character only
		k := copy(p[n:], r.tail)
		r.tail = r.tail[k:]
		n += k
	}
	if n == 0 && len(p) > 0 {
		return 0, r.err
	}
	return n, nil
}

// next returns the next character and the bytes it takes, reading more when needed.
func (r *utf16Reader) next() (c rune, size int, ok bool) {
	for {
		if len(r.raw) >= 2 {
			c = r.unit(0)
			if !utf16.IsSurrogate(c) {
				return c, 2, true
			}
			if len(r.raw) >= 4 {
				if c = utf16.DecodeRune(c, r.unit(2)); c != utf8.RuneError {
					return c, 4, true
				}
				return utf8.RuneError, 2, true
			}
		}
		if r.err != nil {
			if len(r.raw) == 0 {
				return 0, 0, false
			}
			return utf8.RuneError, min(len(r.raw), 2), true
		}
		n := copy(r.room[:], r.raw)
		k, err := r.src.Read(r.room[n:])
		r.raw, r.err = r.room[:n+k], err
		if k == 0 && err == nil {
			r.err = io.ErrNoProgress
		}
	}
}
