package file

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// window is the part of a text that was asked for.
type window struct {
	first     int // 1-based
	limit     int // lines; 0: to the end
	maxTokens int
	// crlf: the lines come with their own endings, of which "\r\n" is one.
	crlf bool
}

// page is the part of a text that is shown.
type page struct {
	lines []string
	// total counts the lines of the whole text.
	total int
	// full: more lines were asked for than fit.
	full bool
	// clipped counts the lines of which only the beginning is shown.
	clipped int
}

// keepLineBytes is enough of a line for MaxLineChars of any characters.
const keepLineBytes = MaxLineChars * utf8.UTFMax

// pageBuffer is how much of a text is looked at at a time.
const pageBuffer = 64 << 10

// readPage reads all of r and keeps the window. Its memory is bounded by the
// window's tokens, whatever the length of the text or of its lines.
func readPage(r io.Reader, w window) (page, error) {
	var p page
	in := bufio.NewReaderSize(r, pageBuffer)
	var line []byte // the beginning of the present line
	chars, size, quarters := 0, 0, 0
	open := false // the present line has begun
	for {
		frag, err := in.ReadSlice('\n')
		at := p.total + 1
		wanted := at >= w.first && (w.limit == 0 || at-w.first < w.limit) && !p.full
		if len(frag) > 0 {
			open = true
			if wanted {
				room := min(len(frag), keepLineBytes+2-len(line))
				line = append(line, frag[:room]...)
				chars += countChars(frag)
				size += len(frag)
			}
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if open && (err == nil || err == io.EOF) {
			p.total++
			if wanted {
				text := p.clip(line, chars, size, err == nil, w.crlf)
				quarters += lineQuarters(text)
				if quarters > 4*w.maxTokens && len(p.lines) > 0 {
					p.full = true
				} else {
					p.lines = append(p.lines, text)
				}
			}
			line, chars, size, open = line[:0], 0, 0, false
		}
		if err == io.EOF {
			return p, nil
		}
		if err != nil {
			return p, err
		}
	}
}

// clip gives the shown form of a line of which line is the beginning and which has
// chars characters in size bytes, with its ending if it is ended.
func (p *page) clip(line []byte, chars, size int, ended, crlf bool) string {
	whole := size == len(line)
	if ended {
		chars--
		line = bytes.TrimSuffix(line, []byte("\n"))
	}
	if crlf && bytes.HasSuffix(line, []byte("\r")) {
		line, chars = line[:len(line)-1], chars-1
	}
	if whole && chars <= MaxLineChars {
		return string(line)
	}
	end := 0
	for range MaxLineChars {
		_, n := utf8.DecodeRune(line[end:])
		end += n
	}
	p.clipped++
	return fmt.Sprintf("%s… [line clipped, it has %d characters]", line[:end], chars)
}

// countChars counts characters of UTF-8 also where a piece begins or ends within one.
func countChars(b []byte) int {
	n := 0
	for _, c := range b {
		if c&0xC0 != 0x80 {
			n++
		}
	}
	return n
}

// lineQuarters estimates the tokens of a line with its number, in quarters: four
// letters or blanks to a token, two digits or signs, one character of other scripts.
func lineQuarters(line string) int {
	n := 8 // the number and the tab
	for i := range len(line) {
		switch c := line[i]; {
		case c >= 0xC0: // begins a character
			n += 4
		case c >= 0x80:
		case c|0x20 >= 'a' && c|0x20 <= 'z', c == ' ', c == '\t':
			n++
		default:
			n += 2
		}
	}
	return n
}

// numberWidth is the width of a line's number, as in cat -n.
const numberWidth = 6

// numbered writes lines as cat -n does.
func numbered(content string, first int) string {
	const blanks = "      "
	out := make([]byte, 0, len(content)+(strings.Count(content, "\n")+1)*(numberWidth+2))
	var digits [20]byte
	for n := first; ; n++ {
		line, rest, more := strings.Cut(content, "\n")
		number := strconv.AppendInt(digits[:0], int64(n), 10)
		if pad := numberWidth - len(number); pad > 0 {
			out = append(out, blanks[:pad]...)
		}
		out = append(append(out, number...), '\t')
		out = append(out, line...)
		if !more {
			return string(out)
		}
		out = append(out, '\n')
		content = rest
	}
}
