package grep

import "bytes"

// searchHugeLine searches a line that begins at buf[pos] and is longer than the buffer, without holding it. Afterwards
// the buffer begins with the text behind the line.
func (f *fileSearch) searchHugeLine(pos int) error {
	start := f.base + int64(pos)
	head, _ := cut(f.buf[pos:f.n], f.s.opts.MaxLineBytes)
	head = append([]byte(nil), head...)
	number := 0
	if f.s.opts.Mode == ModeContent { // else it was not kept count of
		number = f.lineNumber(start)
	}
	found := false
	d := f.sc.dfa(true)
	var state int32
	if d != nil {
		state = d.init
	}
	for from := pos; ; from = 0 {
		stop, whole := f.n, false
		if i := bytes.IndexByte(f.buf[from:f.n], '\n'); i >= 0 {
			stop, whole = from+i, true
		}
		if !found {
			if d != nil && !d.gaveUp {
				at, s := d.scan(state, f.buf[from:stop], 0)
				state = s
				found = at >= 0 || (whole || f.eof) && d.step(state, d.n.classes) == matched
			} else {
				found = f.p.re.Match(f.buf[from:stop])
			}
		}
		if whole {
			stop++
		}
		f.base += int64(stop)
		f.n = copy(f.buf, f.buf[stop:f.n])
		if whole || f.eof {
			break
		}
		if err := f.fill(); err != nil {
			return err
		}
	}
	f.numbered = f.base
	f.number = number + 1
	if !found {
		if f.afterLeft > 0 { // it would have been context; what follows it is none of its own
			f.afterLeft = 0
		}
		return nil
	}
	return f.matchHugeLine(head, start, number)
}

func (f *fileSearch) matchHugeLine(head []byte, start int64, number int) error {
	f.lines++
	f.matches++
	var e Event
	switch {
	case f.s.opts.Mode == ModeFiles:
		e = f.event(KindFile)
	case f.reportBinary:
		e = f.event(KindBinary)
	case f.s.opts.Mode == ModeCount:
		return nil
	default:
		if f.someShown && f.shown < start && f.s.opts.Before+f.s.opts.After > 0 {
			if err := f.slot.add(f.event(KindGap)); err != nil {
				return err
			}
		}
		e = f.event(KindMatch)
		e.Offset, e.Line, e.Text, e.Truncated = start, number, head, true
		f.shown, f.someShown, f.afterLeft = f.base, true, f.s.opts.After
		return f.slot.add(e)
	}
	if err := f.slot.add(e); err != nil {
		return err
	}
	return errStopFile
}
