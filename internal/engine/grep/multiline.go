package grep

import "bytes"

const (
	firstBatch = 256
	maxBatch   = 16 << 10
	// multilineMargin is how much text must follow a match for it to be final while the file goes on.
	multilineMargin = MaxMultilineMemory / 4
)

// searchMultiline sees the file through a window that begins at the start of a line.
func (f *fileSearch) searchMultiline() error {
	from := 0 // matches begin here or later
	for {
		for !f.eof && f.n == len(f.buf) && len(f.buf) < MaxMultilineMemory {
			f.grow(4, MaxMultilineMemory)
			if err := f.fill(); err != nil {
				return err
			}
		}
		limit := f.n
		if !f.eof {
			limit = f.n - multilineMargin
		}
		next, err := f.searchWindow(from, limit)
		if err != nil {
			return err
		}
		if f.eof {
			return f.contextAfter(f.n)
		}
		if err := f.contextAfter(next); err != nil {
			return err
		}
		keep := f.keepMultiline(next)
		if keep == 0 {
			keep = next // one line fills the window: cut it
		}
		from = f.slide(keep, next)
		if err := f.fill(); err != nil {
			return err
		}
	}
}

// keepMultiline returns the start of the line of at, or of the context lines before it.
func (f *fileSearch) keepMultiline(at int) int {
	line := bytes.LastIndexByte(f.buf[:at], '\n') + 1
	if f.s.opts.Before == 0 || line == 0 {
		return line
	}
	return f.keepFrom(line)
}

// searchWindow reports the matches that begin in buf[from:limit], and returns where the next may begin.
func (f *fileSearch) searchWindow(from, limit int) (next int, err error) {
	text := f.buf[:f.n]
	f.sc.begin(text)
	if f.cut {
		old := f.touched
		if f.touch(lineEnd(text, int(old-f.base))); f.shown == old {
			f.shown = f.touched
		}
	}
	at := lineStart(text, from)
	for batch := firstBatch; ; {
		// Package regexp is slow, above all where there is nothing to find, and does not look at the context.
		if f.s.ctx.Err() != nil {
			return 0, f.s.ctx.Err()
		}
		if !f.sc.mayContain(at) {
			return max(limit, from), nil
		}
		spans := f.p.Spans(text[at:], batch)
		resume := -1
		if len(spans) == batch {
			// Going on from a line's start finds the same further matches if no match covers that place.
			i := batch - 1
			for i > 0 && !lineBetween(text, at+spans[i-1][1], at+spans[i][0]) {
				i--
			}
			switch {
			case i > 0:
				resume = lineStart(text, at+spans[i][0])
				spans = spans[:i]
			case batch < maxBatch:
				batch *= 4
				continue
			default: // the rest of this line is not looked at
				resume = lineEnd(text, at+spans[batch-1][1])
			}
		}
		for i, m := range spans {
			start, end := at+m[0], at+m[1]
			if start < from {
				continue
			}
			// What reaches the end of the window may go on behind it, unless it fills the window.
			if !f.eof && (start >= limit || end == f.n && lineStart(text, start) > 0) {
				return start, nil
			}
			if start == f.n && (f.n == 0 || text[f.n-1] == '\n') {
				continue // behind the last line
			}
			if err := f.matchRange(start, end); err != nil {
				return 0, err
			}
			from = end
			// An empty match right after a match, which Spans leaves out, is one of the line that begins there.
			if end > start && end < limit && text[end-1] == '\n' && (i+1 == len(spans) || at+spans[i+1][0] > end) && f.p.emptyAt(text, end) {
				if err := f.matchEmpty(end); err != nil {
					return 0, err
				}
			}
		}
		if resume < 0 || resume >= f.n {
			return max(limit, from), nil
		}
		at = resume
	}
}

// lineBetween reports whether a line starts at a place from lo to hi.
func lineBetween(text []byte, lo, hi int) bool {
	return bytes.IndexByte(text[max(lo-1, 0):hi], '\n') >= 0
}

func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// matchRange reports one match buf[start:end] and the lines that it touches.
func (f *fileSearch) matchRange(start, end int) error {
	if f.s.opts.Mode == ModeFiles || f.reportBinary {
		return f.match(start, end)
	}
	f.matches++
	text := f.buf[:f.n]
	// Lines that an earlier match touched count once, and are not gone through again: they may be long.
	first := int(max(f.touched-f.base, 0))
	if start > first {
		first += lineStart(text[first:], start-first)
	}
	stop := first
	if last := max(end-1, start); last >= first { // a match that ends with a line feed does not touch the next line
		stop = lineEnd(text, last)
	}
	for p := first; p < stop; p = lineEnd(text, p) {
		f.lines++
	}
	f.touch(stop)
	switch {
	case f.s.opts.Mode == ModeCount:
		return nil
	case f.s.opts.OnlyMatching:
		if start == end {
			f.matches--
			return nil
		}
		return f.show(KindMatch, start, end)
	}
	p := int(max(int64(first), f.shown-f.base))
	if p >= stop {
		f.afterLeft = f.s.opts.After
		return nil
	}
	if err := f.contextBefore(p); err != nil {
		return err
	}
	for p = int(max(int64(p), f.shown-f.base)); p < stop; {
		next := lineEnd(text, p)
		shownEnd := next
		if text[next-1] == '\n' {
			shownEnd--
		}
		if err := f.show(KindMatch, p, shownEnd); err != nil {
			return err
		}
		f.shown, f.someShown = f.base+int64(next), true
		p = next
	}
	f.afterLeft = f.s.opts.After
	return nil
}

// touch notes that matches have touched the lines up to buf[:stop].
func (f *fileSearch) touch(stop int) {
	if at := f.base + int64(stop); at > f.touched || f.cut {
		f.touched = max(f.touched, at)
		f.cut = !f.eof && stop == f.n && (stop == 0 || f.buf[stop-1] != '\n')
	}
}

// matchEmpty reports the line that begins at start for a match of nothing, which does not count as one of its own.
func (f *fileSearch) matchEmpty(start int) error {
	matches := f.matches
	err := f.matchRange(start, start)
	f.matches = matches
	return err
}
