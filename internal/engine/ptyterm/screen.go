package ptyterm

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// cell is one place of the grid. The second half of a wide character is a cell of
// its own with the rune tail.
type cell struct {
	r     rune // 0: never written
	marks string
}

const tail rune = -1

// grid is a main or alternate screen.
type grid struct {
	rows        [][]cell
	row, col    int
	wrap        bool // the next character goes to the next line
	top, bottom int  // scroll region, both inclusive
	saved       savedCursor
}

type savedCursor struct {
	row, col   int
	wrap       bool
	origin     bool
	graphics   [2]bool
	shiftedOut bool
}

// Screen is a terminal's screen. It is not safe for concurrent use. No input makes
// it panic or grow without bound.
type Screen struct {
	cols, height int
	main, alt    grid
	g            *grid // the one in use

	scrollback []string
	scrolled   int // bytes in scrollback

	origin, insert, newline, appCursor, paste, hidden, noWrap bool
	graphics                                                  [2]bool // G0, G1 draw lines
	shiftedOut                                                bool    // G1 is in use
	tabs                                                      []bool
	title                                                     string
	last                                                      rune // for repeating
	replies                                                   []byte

	p parser
}

// NewScreen makes an empty screen. A size out of bounds is cut to them; 0 is the
// default.
func NewScreen(cols, rows int) *Screen {
	s := &Screen{}
	s.cols, s.height = size(cols, rows)
	s.reset()
	return s
}

func size(cols, rows int) (int, int) {
	if cols == 0 {
		cols = DefaultCols
	}
	if rows == 0 {
		rows = DefaultRows
	}
	return min(max(cols, MinCols), MaxCols), min(max(rows, MinRows), MaxRows)
}

func (s *Screen) reset() {
	s.main, s.alt = s.newGrid(), s.newGrid()
	s.g = &s.main
	s.origin, s.insert, s.newline, s.appCursor, s.paste, s.hidden, s.noWrap = false, false, false, false, false, false, false
	s.graphics, s.shiftedOut = [2]bool{}, false
	s.resetTabs()
}

func (s *Screen) newGrid() grid {
	g := grid{bottom: s.height - 1, rows: make([][]cell, s.height)}
	for i := range g.rows {
		g.rows[i] = make([]cell, s.cols)
	}
	return g
}

func (s *Screen) resetTabs() {
	s.tabs = make([]bool, s.cols)
	for i := 8; i < s.cols; i += 8 {
		s.tabs[i] = true
	}
}

// Size returns the number of columns and rows.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.height }

// Cursor returns the place of the cursor, counted from 0, and whether it is shown.
func (s *Screen) Cursor() (row, col int, shown bool) { return s.g.row, s.g.col, !s.hidden }

// Alternate tells whether a program has the whole screen for itself.
func (s *Screen) Alternate() bool { return s.g == &s.alt }

// Title is what the program calls its window.
func (s *Screen) Title() string { return s.title }

// Modes tells how keys and pasted text are to be sent.
func (s *Screen) Modes() (appCursor, bracketedPaste bool) { return s.appCursor, s.paste }

// Replies takes the answers to the program's questions, such as where the cursor
// is. They are to be sent to it as if they were typed.
func (s *Screen) Replies() []byte {
	r := s.replies
	s.replies = nil
	return r
}

func (s *Screen) reply(text string) {
	if len(s.replies)+len(text) <= maxReplies {
		s.replies = append(s.replies, text...)
	}
}

// Lines returns the rows as text, without blanks at their ends.
func (s *Screen) Lines() []string {
	out := make([]string, len(s.g.rows))
	for i, row := range s.g.rows {
		out[i] = lineText(row)
	}
	return out
}

// Text returns the rows joined by newlines, without the empty ones at the end.
func (s *Screen) Text() string { return strings.TrimRight(strings.Join(s.Lines(), "\n"), "\n") }

// Scrollback returns at most the newest n lines that left at the top, the oldest first.
func (s *Screen) Scrollback(n int) []string {
	n = min(max(n, 0), len(s.scrollback), MaxScrollback)
	return append([]string(nil), s.scrollback[len(s.scrollback)-n:]...)
}

func lineText(row []cell) string {
	end := len(row)
	for end > 0 && (row[end-1].r == 0 || row[end-1].r == ' ' && row[end-1].marks == "") {
		end--
	}
	var b strings.Builder
	for _, c := range row[:end] {
		switch c.r {
		case 0:
			b.WriteByte(' ')
		case tail:
		default:
			b.WriteRune(c.r)
			b.WriteString(c.marks)
		}
	}
	return b.String()
}

// runeWidth is the number of cells that a character takes.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || r >= 0x1160 && r <= 0x11ff:
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// put writes a character at the cursor.
func (s *Screen) put(r rune) {
	g := s.g
	if s.graphics[s.set()] && r >= '`' && r <= '~' {
		r = lineDrawing[r-'`']
	}
	w := runeWidth(r)
	if w == 0 {
		s.mark(r)
		return
	}
	s.last = r
	if g.wrap && !s.noWrap {
		g.col, g.wrap = 0, false
		s.lineFeed()
	}
	if g.col+w > s.cols {
		if s.noWrap {
			g.col = s.cols - w
		} else {
			g.col = 0
			s.lineFeed()
		}
	}
	row := g.rows[g.row]
	if s.insert {
		s.insertCells(w)
	}
	s.split(g.row, g.col)
	s.split(g.row, g.col+w)
	row[g.col] = cell{r: r}
	if w == 2 {
		row[g.col+1] = cell{r: tail}
	}
	if g.col += w; g.col >= s.cols {
		g.col, g.wrap = s.cols-1, true
	}
}

func (s *Screen) set() int {
	if s.shiftedOut {
		return 1
	}
	return 0
}

// mark adds a combining mark to the character in front of the cursor.
func (s *Screen) mark(r rune) {
	g := s.g
	col := g.col - 1
	if g.wrap {
		col = g.col
	}
	if col > 0 && g.rows[g.row][col].r == tail {
		col--
	}
	if col < 0 || unicode.Is(unicode.Cf, r) && r != '\u200d' {
		return
	}
	if c := &g.rows[g.row][col]; c.r > 0 && len([]rune(c.marks)) < maxCombining {
		c.marks += string(r)
	}
}

// split clears a wide character that would be cut in front of a column.
func (s *Screen) split(row, col int) {
	line := s.g.rows[row]
	if col > 0 && col < len(line) && line[col].r == tail {
		line[col-1], line[col] = cell{r: ' '}, cell{r: ' '}
	}
}

// move places the cursor on the screen; with origin mode, rows count from the
// scroll region and stay in it.
func (s *Screen) move(row, col int) {
	g := s.g
	top, bottom := 0, s.height-1
	if s.origin {
		top, bottom = g.top, g.bottom
		row += top
	}
	g.row, g.col, g.wrap = min(max(row, top), bottom), min(max(col, 0), s.cols-1), false
}

// step moves up or down, stopping at the edge of the scroll region if it is inside.
func (s *Screen) step(n int) {
	g := s.g
	top, bottom := 0, s.height-1
	if g.row >= g.top {
		top = g.top
	}
	if g.row <= g.bottom {
		bottom = g.bottom
	}
	g.row, g.wrap = min(max(g.row+n, top), bottom), false
}

func (s *Screen) column(col int) {
	s.g.col, s.g.wrap = min(max(col, 0), s.cols-1), false
}

func (s *Screen) lineFeed() {
	g := s.g
	switch {
	case g.row == g.bottom:
		s.scrollUp(1)
	case g.row < s.height-1:
		g.row++
	}
}

func (s *Screen) reverseIndex() {
	g := s.g
	g.wrap = false
	switch {
	case g.row == g.top:
		s.scrollDown(g.top, 1)
	case g.row > 0:
		g.row--
	}
}

// scrollUp moves the scroll region up; what leaves the top of the main screen is kept.
func (s *Screen) scrollUp(n int) {
	g := s.g
	n = min(n, g.bottom-g.top+1)
	if g.top == 0 && g == &s.main {
		for _, row := range g.rows[:n] {
			s.keep(lineText(row))
		}
	}
	s.deleteRows(g.top, n)
}

func (s *Screen) keep(line string) {
	s.scrollback = append(s.scrollback, line)
	s.scrolled += len(line)
	if len(s.scrollback) <= MaxScrollback+scrollSlack && s.scrolled <= MaxScrollbackBytes {
		return
	}
	drop, bytes := 0, MaxScrollbackBytes-MaxScrollbackBytes/8
	for len(s.scrollback)-drop > MaxScrollback || s.scrolled > bytes {
		s.scrolled -= len(s.scrollback[drop])
		drop++
	}
	n := copy(s.scrollback, s.scrollback[drop:])
	clear(s.scrollback[n:])
	s.scrollback = s.scrollback[:n]
}

// deleteRows removes rows of the scroll region from a row on; empty ones come in
// at its end.
func (s *Screen) deleteRows(from, n int) {
	g := s.g
	n = min(n, g.bottom-from+1)
	if n <= 0 {
		return
	}
	region := g.rows[from : g.bottom+1]
	gone := append([][]cell(nil), region[:n]...)
	copy(region, region[n:])
	for i, row := range gone {
		clear(row)
		region[len(region)-n+i] = row
	}
}

// scrollDown moves the rows of the scroll region from a row on down.
func (s *Screen) scrollDown(from, n int) {
	g := s.g
	n = min(n, g.bottom-from+1)
	if n <= 0 {
		return
	}
	region := g.rows[from : g.bottom+1]
	gone := append([][]cell(nil), region[len(region)-n:]...)
	copy(region[n:], region)
	for i, row := range gone {
		clear(row)
		region[i] = row
	}
}

// erase empties cells of a row, from a column up to another.
func (s *Screen) erase(row, from, to int) {
	from, to = max(from, 0), min(to, s.cols)
	if from >= to {
		return
	}
	s.split(row, from)
	s.split(row, to)
	clear(s.g.rows[row][from:to])
}

func (s *Screen) insertCells(n int) {
	g := s.g
	row := g.rows[g.row]
	n = min(n, s.cols-g.col)
	s.split(g.row, g.col)
	s.split(g.row, s.cols-n) // a wide character that would leave half
	copy(row[g.col+n:], row[g.col:])
	clear(row[g.col : g.col+n])
}

func (s *Screen) deleteCells(n int) {
	g := s.g
	row := g.rows[g.row]
	n = min(n, s.cols-g.col)
	s.split(g.row, g.col)
	s.split(g.row, g.col+n)
	copy(row[g.col:], row[g.col+n:])
	clear(row[s.cols-n:])
}

func (s *Screen) saveCursor() {
	g := s.g
	g.saved = savedCursor{g.row, g.col, g.wrap, s.origin, s.graphics, s.shiftedOut}
}

func (s *Screen) restoreCursor() {
	g, v := s.g, s.g.saved
	s.origin, s.graphics, s.shiftedOut = v.origin, v.graphics, v.shiftedOut
	g.row, g.col, g.wrap = min(v.row, s.height-1), min(v.col, s.cols-1), v.wrap
}

// alternate switches between the screens.
func (s *Screen) alternate(on, clean bool) {
	if on == s.Alternate() {
		return
	}
	from := s.g
	if s.g = &s.main; on {
		s.g = &s.alt
	}
	if on && clean {
		s.alt.rows, s.alt.top, s.alt.bottom = s.newGrid().rows, 0, s.height-1
	}
	s.g.row, s.g.col, s.g.wrap = from.row, from.col, false
}

// Resize changes the size. Lines are cut, not flowed anew; rows that have no place
// above the cursor leave at the top.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = size(cols, rows)
	for _, g := range []*grid{&s.main, &s.alt} {
		for len(g.rows) > rows && g.row < len(g.rows)-1 && lineText(g.rows[len(g.rows)-1]) == "" {
			g.rows = g.rows[:len(g.rows)-1]
		}
		for over := len(g.rows) - rows; over > 0; over-- {
			if g == &s.main {
				s.keep(lineText(g.rows[0]))
			}
			g.rows, g.row = g.rows[1:], max(g.row-1, 0)
		}
		for i, row := range g.rows {
			next := make([]cell, cols)
			copy(next, row)
			if cols < len(row) && row[cols].r == tail {
				next[cols-1] = cell{r: ' '}
			}
			g.rows[i] = next
		}
		for len(g.rows) < rows {
			g.rows = append(g.rows, make([]cell, cols))
		}
		g.top, g.bottom, g.wrap = 0, rows-1, false
		g.row, g.col = min(g.row, rows-1), min(g.col, cols-1)
	}
	s.cols, s.height = cols, rows
	s.resetTabs()
}

// lineDrawing is the DEC special graphics set, from ` to ~.
var lineDrawing = [...]rune{'◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·'}
