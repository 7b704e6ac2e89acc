package ptyterm

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type parseState int

const (
	ground parseState = iota
	escape
	escapeMore // with intermediate bytes
	csi
	csiSkip // a sequence that is not understood, to its end
	text    // an OSC, DCS, APC, PM or SOS string
	textEnd // ESC inside of one
)

// parser is where the screen is in a sequence.
type parser struct {
	state   parseState
	partial [utf8.UTFMax]byte // of a character
	have    int
	private byte // ? > = < in front of the parameters
	inter   byte
	params  []int // -1: not given
	str     []byte
	kind    byte // which string
}

// Write takes what the program wrote. It never fails.
func (s *Screen) Write(b []byte) (int, error) {
	for _, c := range b {
		s.take(c)
	}
	return len(b), nil
}

func (s *Screen) take(c byte) {
	p := &s.p
	if p.have > 0 || c >= 0x80 && p.state == ground {
		s.takeRune(c)
		return
	}
	if p.state == text || p.state == textEnd {
		s.takeString(c)
		return
	}
	switch {
	case c == 0x1b:
		p.state, p.inter, p.private = escape, 0, 0
		return
	case c == 0x18 || c == 0x1a: // CAN, SUB
		p.state = ground
		return
	case c < 0x20:
		s.control(c) // also inside of sequences
		return
	case c == 0x7f:
		return
	}
	switch p.state {
	case ground:
		s.put(rune(c))
	case escape:
		s.escape(c)
	case escapeMore:
		if c >= 0x30 {
			s.escapeMore(c)
			p.state = ground
		} else if c < 0x80 {
			p.inter = c
		}
	case csi:
		s.csiByte(c)
	case csiSkip:
		if c >= 0x40 {
			p.state = ground
		}
	}
}

// takeRune collects a character of several bytes. What is broken shows as U+FFFD.
func (s *Screen) takeRune(c byte) {
	p := &s.p
	if p.have > 0 && utf8.RuneStart(c) { // cut short
		p.have = 0
		s.put(utf8.RuneError)
		s.take(c)
		return
	}
	p.partial[p.have] = c
	p.have++
	if !utf8.FullRune(p.partial[:p.have]) {
		return
	}
	r, _ := utf8.DecodeRune(p.partial[:p.have])
	p.have = 0
	if r >= 0x80 && r < 0xa0 || r != utf8.RuneError && unicode.Is(unicode.Cc, r) {
		return
	}
	s.put(r)
}

func (s *Screen) takeString(c byte) {
	p := &s.p
	switch {
	case p.state == textEnd:
		p.state = ground
		s.stringDone()
		if c != '\\' {
			p.state = escape
			p.inter, p.private = 0, 0
			s.take(c)
		}
	case c == 0x1b:
		p.state = textEnd
	case c == 0x07 && p.kind == ']':
		p.state = ground
		s.stringDone()
	case c == 0x18 || c == 0x1a:
		p.state = ground
	case len(p.str) < maxString:
		p.str = append(p.str, c)
	}
}

// stringDone reads an OSC that names the window; other strings are dropped.
func (s *Screen) stringDone() {
	kind, rest, _ := strings.Cut(string(s.p.str), ";")
	s.p.str = s.p.str[:0]
	if s.p.kind != ']' || kind != "0" && kind != "2" {
		return
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(rest, "") {
		if unicode.IsPrint(r) && b.Len() < maxTitle {
			b.WriteRune(r)
		}
	}
	s.title = b.String()
}

func (s *Screen) control(c byte) {
	switch c {
	case '\b':
		s.column(s.g.col - 1)
	case '\t':
		s.tab(1)
	case '\n', '\v', '\f':
		s.g.wrap = false
		s.lineFeed()
		if s.newline {
			s.g.col = 0
		}
	case '\r':
		s.column(0)
	case 0x0e:
		s.shiftedOut = true
	case 0x0f:
		s.shiftedOut = false
	}
}

// tab moves to a tab stop, backwards for a negative number.
func (s *Screen) tab(n int) {
	g := s.g
	col := g.col
	for ; n > 0 && col < s.cols-1; n-- {
		for col++; col < s.cols-1 && !s.tabs[col]; col++ {
		}
	}
	for ; n < 0 && col > 0; n++ {
		for col--; col > 0 && !s.tabs[col]; col-- {
		}
	}
	if col != g.col {
		s.column(col)
	}
}

func (s *Screen) escape(c byte) {
	p := &s.p
	p.state = ground
	switch c {
	case '[':
		p.state, p.private, p.inter = csi, 0, 0
		p.params = append(p.params[:0], -1)
	case ']', 'P', '_', '^', 'X':
		p.state, p.kind = text, c
		p.str = p.str[:0]
	case '7':
		s.saveCursor()
	case '8':
		s.restoreCursor()
	case 'D':
		s.g.wrap = false
		s.lineFeed()
	case 'E':
		s.g.col, s.g.wrap = 0, false
		s.lineFeed()
	case 'M':
		s.reverseIndex()
	case 'H':
		s.tabs[s.g.col] = true
	case 'c':
		s.reset()
	default:
		if c < 0x30 {
			p.state, p.inter = escapeMore, c
		}
	}
}

func (s *Screen) escapeMore(c byte) {
	switch s.p.inter {
	case '(':
		s.graphics[0] = c == '0'
	case ')':
		s.graphics[1] = c == '0'
	case '#':
		if c == '8' {
			for _, row := range s.g.rows {
				for i := range row {
					row[i] = cell{r: 'E'}
				}
			}
			s.g.top, s.g.bottom = 0, s.height-1
			s.move(0, 0)
		}
	}
}

func (s *Screen) csiByte(c byte) {
	p := &s.p
	switch {
	case c >= '0' && c <= '9':
		n := &p.params[len(p.params)-1]
		*n = min(max(*n, 0)*10+int(c-'0'), maxParam)
	case c == ';' || c == ':':
		if len(p.params) == maxParams {
			p.state = csiSkip
			return
		}
		p.params = append(p.params, -1)
	case c >= 0x3c && c <= 0x3f:
		p.private = c
	case c >= 0x20 && c < 0x30:
		p.inter = c
	case c >= 0x40 && c < 0x7f:
		p.state = ground
		s.run(c)
	default:
		p.state = csiSkip
	}
}

// param gives a parameter, or its default where it is missing or 0.
func (s *Screen) param(i, def int) int {
	if i < len(s.p.params) && s.p.params[i] > 0 {
		return s.p.params[i]
	}
	return def
}

// run carries out a control sequence.
func (s *Screen) run(c byte) {
	p, g := &s.p, s.g
	if p.inter != 0 {
		if p.inter == '!' && c == 'p' { // soft reset
			s.origin, s.insert, s.appCursor, s.hidden, s.noWrap = false, false, false, false, false
			s.graphics, s.shiftedOut = [2]bool{}, false
			g.top, g.bottom = 0, s.height-1
		}
		return
	}
	if p.private != 0 {
		s.runPrivate(c)
		return
	}
	n := s.param(0, 1)
	switch c {
	case 'A':
		s.step(-n)
	case 'B', 'e':
		s.step(n)
	case 'C', 'a':
		s.column(g.col + n)
	case 'D':
		s.column(g.col - n)
	case 'E':
		s.column(0)
		s.step(n)
	case 'F':
		s.column(0)
		s.step(-n)
	case 'G', '`':
		s.column(n - 1)
	case 'H', 'f':
		s.move(n-1, s.param(1, 1)-1)
	case 'd':
		s.move(n-1, g.col)
	case 'I':
		s.tab(min(n, s.cols))
	case 'Z':
		s.tab(-min(n, s.cols))
	case 'J':
		s.eraseDisplay(s.param(0, 0))
	case 'K':
		s.eraseLine(s.param(0, 0))
	case 'X':
		s.erase(g.row, g.col, g.col+n)
	case '@':
		g.wrap = false
		s.insertCells(n)
	case 'P':
		g.wrap = false
		s.deleteCells(n)
	case 'L', 'M':
		if g.row >= g.top && g.row <= g.bottom {
			if c == 'L' {
				s.scrollDown(g.row, n)
			} else {
				s.deleteRows(g.row, n)
			}
			s.column(0)
		}
	case 'S':
		s.scrollUp(n)
	case 'T':
		s.scrollDown(g.top, n)
	case 'b':
		for range min(n, s.cols*s.height) {
			if s.last != 0 {
				s.put(s.last)
			}
		}
	case 'g':
		if s.param(0, 0) == 3 {
			clear(s.tabs)
		} else {
			s.tabs[g.col] = false
		}
	case 'r':
		top, bottom := n-1, min(s.param(1, s.height), s.height)-1
		if top < bottom {
			g.top, g.bottom = top, bottom
			s.move(0, 0)
		}
	case 's':
		s.saveCursor()
	case 'u':
		s.restoreCursor()
	case 'h', 'l':
		for i := range p.params {
			switch s.param(i, 0) {
			case 4:
				s.insert = c == 'h'
			case 20:
				s.newline = c == 'h'
			}
		}
	case 'c':
		s.reply("\x1b[?62;22c")
	case 'n':
		switch s.param(0, 0) {
		case 5:
			s.reply("\x1b[0n")
		case 6:
			row := g.row
			if s.origin {
				row -= g.top
			}
			s.reply("\x1b[" + strconv.Itoa(row+1) + ";" + strconv.Itoa(g.col+1) + "R")
		}
	}
}

func (s *Screen) runPrivate(c byte) {
	p := &s.p
	switch {
	case p.private == '>' && c == 'c':
		s.reply("\x1b[>0;0;0c")
		return
	case p.private != '?' || c != 'h' && c != 'l':
		if p.private == '?' && (c == 'J' || c == 'K') { // selective: all is erased
			p.private = 0
			s.run(c)
		}
		return
	}
	on := c == 'h'
	for i := range p.params {
		switch s.param(i, 0) {
		case 1:
			s.appCursor = on
		case 6:
			s.origin = on
			s.move(0, 0)
		case 7:
			s.noWrap = !on
			s.g.wrap = false
		case 25:
			s.hidden = !on
		case 47:
			s.alternate(on, false)
		case 1047:
			s.alternate(on, true)
		case 1048:
			if on {
				s.saveCursor()
			} else {
				s.restoreCursor()
			}
		case 1049:
			if on == s.Alternate() {
				continue
			}
			if on {
				s.saveCursor()
				s.alternate(true, true)
			} else {
				s.alternate(false, false)
				s.restoreCursor()
			}
		case 2004:
			s.paste = on
		}
	}
}

func (s *Screen) eraseDisplay(how int) {
	g := s.g
	switch how {
	case 0:
		s.erase(g.row, g.col, s.cols)
		for i := g.row + 1; i < s.height; i++ {
			clear(g.rows[i])
		}
	case 1:
		s.erase(g.row, 0, g.col+1)
		for i := range g.row {
			clear(g.rows[i])
		}
	case 2:
		for i := range g.rows {
			clear(g.rows[i])
		}
	case 3:
		s.scrollback, s.scrolled = nil, 0
	}
}

func (s *Screen) eraseLine(how int) {
	g := s.g
	switch how {
	case 0:
		s.erase(g.row, g.col, s.cols)
	case 1:
		s.erase(g.row, 0, g.col+1)
	case 2:
		clear(g.rows[g.row])
	}
}
