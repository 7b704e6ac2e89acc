package shellrun

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Bounds on one escape sequence; a longer one is taken for text, so that nothing can hide behind an unfinished one.
const (
	maxCSIBytes    = 256
	maxStringBytes = 1 << 20
)

// CleanText makes terminal output plain text, as a reader of the terminal would have it at the end: valid UTF-8 without
// escape sequences (the text of OSC 8 links stays), lines redrawn with carriage returns or backspaces in their last state,
// other control characters dropped, NUL shown as ␀, and characters that reorder or hide text shown as <U+202E>.
func CleanText(b []byte) string {
	c := cleaner{in: b}
	c.run()
	return string(c.out)
}

// cleaner does the work of CleanText. With mapped set, off[i] is where in the input the character of out[i] began.
type cleaner struct {
	in     []byte
	out    []byte
	off    []int32
	mapped bool
	line   int  // where in out the current line begins
	atHome bool // a carriage return came: the next text replaces the line
}

func (c *cleaner) run() {
	c.out = make([]byte, 0, len(c.in))
	if c.mapped {
		c.off = make([]int32, 0, len(c.in))
	}
	for i := 0; i < len(c.in); {
		switch ch := c.in[i]; {
		case ch >= 0x20 && ch < 0x7f:
			i += c.ascii(i)
		case ch >= utf8.RuneSelf:
			i += c.wide(i)
		case ch == '\n':
			c.put(i, "\n")
			c.line = len(c.out)
			i++
		case ch == '\r':
			c.atHome = true
			i++
		case ch == '\t':
			c.text(i, "\t")
			i++
		case ch == '\b':
			c.backspace()
			i++
		case ch == 0:
			c.text(i, "␀")
			i++
		case ch == 0x1b:
			i += c.escape(i)
		default:
			i++
		}
	}
}

// ascii takes the run of printable characters at i.
func (c *cleaner) ascii(i int) int {
	n := 1
	for i+n < len(c.in) && c.in[i+n] >= 0x20 && c.in[i+n] < 0x7f {
		n++
	}
	c.redraw()
	c.out = append(c.out, c.in[i:i+n]...)
	if c.mapped {
		for k := range n {
			c.off = append(c.off, int32(i+k))
		}
	}
	return n
}

// wide takes the rune at i, which is not ASCII.
func (c *cleaner) wide(i int) int {
	r, n := utf8.DecodeRune(c.in[i:])
	switch {
	case r == utf8.RuneError && n == 1:
		c.text(i, "\uFFFD")
	case r == 0x9b:
		return n + c.csi(i+n)
	case r == 0x90 || r == 0x98 || r >= 0x9d && r <= 0x9f:
		return n + c.controlString(i+n, r == 0x90)
	case r < 0xa0 || r == 0xfeff:
	case r == 0x2028 || r == 0x2029:
		c.put(i, "\n")
		c.line = len(c.out)
	case deceptive(r):
		c.text(i, fmt.Sprintf("<U+%04X>", r))
	default:
		c.text(i, string(c.in[i:i+n]))
	}
	return n
}

// deceptive reports whether r changes how other characters are shown, or is text that nobody sees.
func deceptive(r rune) bool {
	return r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f ||
		r >= 0xfff9 && r <= 0xfffb || r >= 0xe0000 && r <= 0xe007f || r == 0x180e || r == 0x200b
}

func (c *cleaner) put(i int, s string) {
	c.atHome = false
	c.out = append(c.out, s...)
	if c.mapped {
		for range len(s) {
			c.off = append(c.off, int32(i))
		}
	}
}

func (c *cleaner) text(i int, s string) {
	c.redraw()
	c.put(i, s)
}

func (c *cleaner) redraw() {
	if c.atHome {
		c.cut(c.line)
		c.atHome = false
	}
}

func (c *cleaner) cut(n int) {
	c.out = c.out[:n]
	if c.mapped {
		c.off = c.off[:n]
	}
}

func (c *cleaner) backspace() {
	if c.atHome || len(c.out) == c.line {
		return
	}
	_, n := utf8.DecodeLastRune(c.out[c.line:])
	c.cut(len(c.out) - n)
}

// escape takes the sequence that begins with ESC at i.
func (c *cleaner) escape(i int) int {
	if i+1 >= len(c.in) {
		return 1
	}
	switch next := c.in[i+1]; next {
	case '[':
		return 2 + c.csi(i+2)
	case ']', 'P', 'X', '^', '_':
		return 2 + c.controlString(i+2, next == 'P')
	}
	n := 1
	for i+n < len(c.in) && n < maxCSIBytes && c.in[i+n] >= 0x20 && c.in[i+n] <= 0x2f {
		n++
	}
	if i+n < len(c.in) && c.in[i+n] >= 0x30 && c.in[i+n] <= 0x7e {
		return n + 1
	}
	return 1
}

// csi takes the rest of a control sequence, from i on. Only what redraws a line has an effect.
func (c *cleaner) csi(i int) int {
	n := 0
	for i+n < len(c.in) && n < maxCSIBytes && c.in[i+n] >= 0x20 && c.in[i+n] <= 0x3f {
		n++
	}
	if i+n >= len(c.in) {
		return n
	}
	if n == maxCSIBytes || c.in[i+n] < 0x40 || c.in[i+n] > 0x7e {
		return 0 // not a sequence: what looked like its parameters is text
	}
	param := string(c.in[i : i+n])
	switch final := c.in[i+n]; {
	case final == 'K' && (param == "2" || c.atHome && (param == "" || param == "0")):
		c.cut(c.line)
	case final == 'G' && (param == "" || param == "0" || param == "1"):
		c.atHome = true
	}
	return n + 1
}

// controlString takes the rest of an OSC, DCS, SOS, PM or APC string, from i on. One that does not end is text.
func (c *cleaner) controlString(i int, multiline bool) int {
	end := min(len(c.in), i+maxStringBytes)
	for k := i; k < end; k++ {
		switch ch := c.in[k]; {
		case ch == 0x07:
			return k + 1 - i
		case ch == 0x1b:
			if k+1 < len(c.in) && c.in[k+1] == '\\' {
				return k + 2 - i
			}
			return 0
		case ch == 0xc2 && k+1 < len(c.in) && c.in[k+1] >= 0x80 && c.in[k+1] <= 0x9f:
			if c.in[k+1] == 0x9c {
				return k + 2 - i
			}
			return 0
		case ch == 0x18 || ch == 0x1a, ch == '\n' && !multiline:
			return 0
		}
	}
	return 0
}

// wholeRunes returns how many bytes of b do not end in the middle of a rune.
func wholeRunes(b []byte) int {
	for k := 1; k <= utf8.UTFMax-1 && k <= len(b); k++ {
		if tail := b[len(b)-k:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return len(b) - k
			}
			break
		}
	}
	return len(b)
}

// looksBinary reports whether a sample is not meant to be read, and what it is, if that is easily told.
func looksBinary(sample []byte) (kind string, binary bool) {
	for _, m := range magics {
		if bytes.HasPrefix(sample, []byte(m.prefix)) {
			return m.kind, true
		}
	}
	if len(sample) >= 12 && string(sample[:4]) == "RIFF" && string(sample[8:12]) == "WEBP" {
		return "WebP image", true
	}
	strange := 0
	sample = sample[:wholeRunes(sample)]
	for i := 0; i < len(sample); {
		r, n := utf8.DecodeRune(sample[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			strange++
		case r < 0x20 && (r < '\a' || r > '\r') && r != 0x1b:
			strange++
		}
		i += n
	}
	return "", strange*100 > len(sample)*strangePercent
}

// strangePercent is the share of bytes that are neither UTF-8 nor used in text from which output counts as binary. Lists of
// names separated by NUL stay below it.
const strangePercent = 15

var magics = []struct{ prefix, kind string }{
	{"\x89PNG\r\n\x1a\n", "PNG image"}, {"\xff\xd8\xff", "JPEG image"}, {"GIF87a", "GIF image"}, {"GIF89a", "GIF image"},
	{"%PDF-", "PDF document"}, {"\x7fELF", "ELF executable"}, {"\x1f\x8b", "gzip data"}, {"PK\x03\x04", "zip archive"},
	{"BZh", "bzip2 data"}, {"\xfd7zXZ\x00", "xz data"}, {"\x28\xb5\x2f\xfd", "zstd data"}, {"SQLite format 3\x00", "SQLite database"},
	{"\xcf\xfa\xed\xfe", "Mach-O executable"}, {"\x00asm", "WebAssembly module"},
}
