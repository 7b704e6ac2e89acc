package grep

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sevengate/sevengate/internal/engine/walk"
)

const (
	bufferBytes = 256 << 10
	// keptBytes is how large a buffer that had to grow may be to be kept for the next file.
	keptBytes = 1 << 20
	// firstReadBytes are read before anything is known of a file. Most end within, and of binary files no more is wanted.
	firstReadBytes = BinaryCheckBytes + 4<<10
	// MaxSpansPerLine limits the matches that are reported of one line.
	MaxSpansPerLine = 10000
	// maxContextBytes is how much text before a match is kept at hand; context lines beyond it are left out.
	maxContextBytes = 512 << 10
	maxErrors       = walk.MaxErrors
)

// fileSearch searches one file after another; it is for one goroutine.
type fileSearch struct {
	s    *search
	p    *Pattern
	sc   *scanner
	slot slot
	job  *job
	mod  time.Time // if zero, it was not asked for

	near nearFile
	src  io.Reader
	left int64 // bytes that the file should still have; negative: unknown
	eof  bool
	buf  []byte
	n    int   // buf[:n] is filled
	base int64 // offset of buf[0] in the decoded file

	// Lines are reported in increasing order: shown is the offset behind the last one, numbered a place whose line number
	// is known.
	shown     int64
	someShown bool
	numbered  int64
	number    int
	afterLeft int
	touched   int64 // offset behind the last line that a multiline match touched
	cut       bool  // that line goes on behind the buffer

	lines, matches, bytes int64
	searched, binary      bool
	reportBinary          bool
	failed                error

	total Stats // of all files that were searched
}

func newFileSearch(s *search) *fileSearch {
	return &fileSearch{s: s, p: s.p, sc: newScanner(s.p), buf: make([]byte, bufferBytes)}
}

func (f *fileSearch) reset(j *job) {
	if len(f.buf) > keptBytes {
		f.buf = make([]byte, bufferBytes)
	}
	*f = fileSearch{s: f.s, p: f.p, sc: f.sc, slot: f.slot, near: f.near, buf: f.buf, job: j, number: 1, total: f.total}
}

// run searches one file. Only errors that end the whole search, or errStopFile, are returned.
func (f *fileSearch) run(j *job) error {
	f.reset(j)
	err := f.openAndSearch()
	f.count()
	return err
}

func (f *fileSearch) openAndSearch() error {
	e := &f.job.entry
	if !e.Link && !f.job.direct {
		f.job.root.near.open(strings.TrimSuffix(e.Path, e.Rel))
		if f.near.open(&f.job.root.near, e.Rel) {
			defer f.near.Close()
			return f.searchFrom(&f.near, -1)
		}
	}
	file, size, mod, err := openRegular(e.Path, e.Link || f.job.direct)
	if err != nil {
		if !errors.Is(err, errNotRegular) {
			f.failed = err
		}
		return nil
	}
	defer file.Close()
	if size == 0 {
		size = -1 // files of /proc say so and have content
	}
	f.mod = mod
	return f.searchFrom(file, size)
}

// searchFrom searches a file of so many bytes, if that is not negative.
func (f *fileSearch) searchFrom(file io.Reader, size int64) error {
	f.src, f.left, f.searched = file, size, true
	err := f.search()
	if f.failed != nil {
		f.failed = fmt.Errorf("read %s: %w", f.job.entry.Path, f.failed)
	}
	return err
}

// count adds the file to the totals.
func (f *fileSearch) count() {
	t := &f.total
	if f.searched {
		t.Files++
	}
	if f.binary {
		t.Binary++
	}
	if f.lines > 0 {
		t.FilesMatched++
	}
	t.Bytes += f.bytes
	t.Lines += f.lines
	t.Matches += f.matches
	if f.failed != nil {
		t.Unreadable++
		t.Errors = appendErrors(t.Errors, f.failed)
	}
}

// addFiles adds what count has gathered.
func addFiles(t, more *Stats) {
	t.Files += more.Files
	t.Binary += more.Binary
	t.FilesMatched += more.FilesMatched
	t.Bytes += more.Bytes
	t.Lines += more.Lines
	t.Matches += more.Matches
	t.Unreadable += more.Unreadable
	t.Errors = appendErrors(t.Errors, more.Errors...)
}

func appendErrors(list []error, more ...error) []error {
	return append(list, more[:min(len(more), maxErrors-len(list))]...)
}

func (f *fileSearch) search() error {
	if err := f.fillTo(firstReadBytes); err != nil {
		return err
	}
	if f.n == 0 {
		// An empty file has no line.
		return nil
	}
	if err := f.decode(); err != nil {
		return err
	}
	mode := f.s.opts.Binary
	if mode != BinaryText && bytes.IndexByte(f.buf[:min(f.n, BinaryCheckBytes)], 0) >= 0 {
		f.binary = true
		if mode == BinarySkip && !f.job.direct {
			return nil
		}
		f.reportBinary = f.s.opts.Mode == ModeContent
	}
	err := f.fill()
	if err != nil {
		return err
	}
	if f.p.opts.Multiline {
		err = f.searchMultiline()
	} else {
		err = f.searchLines()
	}
	if err == nil && f.lines > 0 && f.s.opts.Mode == ModeCount {
		e := f.event(KindFile)
		e.Lines, e.Matches = f.lines, f.matches
		err = f.slot.add(e)
	}
	return err
}

// fill reads until the buffer is full or the file ends.
func (f *fileSearch) fill() error { return f.fillTo(len(f.buf)) }

// fillTo reads until the buffer holds so many bytes or the file ends.
func (f *fileSearch) fillTo(want int) error {
	for f.n < want && !f.eof {
		if f.s.ctx.Err() != nil {
			return f.s.ctx.Err()
		}
		n, err := f.src.Read(f.buf[f.n:want])
		f.n += n
		f.bytes += int64(n)
		if f.left >= 0 {
			if f.left -= int64(n); f.left <= 0 {
				f.eof = true
			}
		}
		if err == io.EOF {
			f.eof = true
		} else if err != nil {
			f.failed, f.eof = err, true
		}
	}
	return nil
}

// decode skips a byte order mark, and puts a decoder before the rest of a UTF-16 file.
func (f *fileSearch) decode() error {
	head := f.buf[:f.n]
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		f.n = copy(f.buf, head[3:])
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		big := head[0] == 0xfe
		raw := io.Reader(bytes.NewReader(append([]byte(nil), head[2:]...)))
		if !f.eof {
			raw = io.MultiReader(raw, f.src)
		}
		f.src = newUTF16Reader(raw, big)
		f.n, f.left, f.eof, f.bytes = 0, -1, false, 0
		return f.fill()
	}
	return nil
}

func (f *fileSearch) searchLines() error {
	pos := 0 // start of the first line that was not searched
	for {
		end := f.n
		if !f.eof {
			if end = pos + bytes.LastIndexByte(f.buf[pos:f.n], '\n') + 1; end == pos {
				// No whole line: make room, by moving, by growing, or by giving up to hold the line.
				if keep := f.keepFrom(pos); keep > 0 {
					pos = f.slide(keep, pos)
				} else if len(f.buf) < MaxLineMemory+bufferBytes {
					f.grow(2, MaxLineMemory+bufferBytes)
				} else if err := f.searchHugeLine(pos); err != nil {
					return err
				} else {
					pos = 0
				}
				if err := f.fill(); err != nil {
					return err
				}
				continue
			}
		}
		if end > pos {
			if err := f.searchText(pos, end); err != nil {
				return err
			}
		}
		if f.eof {
			return nil
		}
		pos = f.slide(f.keepFrom(end), end)
		if err := f.fill(); err != nil {
			return err
		}
	}
}

// grow makes room for all of the file, as far as its size is known, else several times as much; at most so many bytes.
func (f *fileSearch) grow(times, most int) {
	want := times * len(f.buf)
	if left := f.remaining(); left >= 0 {
		// Some more, to meet the end of the file in the same read, also if it has grown.
		want = f.n + int(min(left, int64(most))) + firstReadBytes
	}
	buf := make([]byte, min(want, most))
	copy(buf, f.buf[:f.n])
	f.buf = buf
}

// remaining is how many bytes the file should still have, or negative.
func (f *fileSearch) remaining() int64 {
	if file, ok := f.src.(*nearFile); ok && f.left < 0 {
		if size := file.size(); size >= f.bytes {
			return size - f.bytes
		}
	}
	return f.left
}

// keepFrom returns where the lines begin that may be wanted as context before those at pos.
func (f *fileSearch) keepFrom(pos int) int {
	if f.s.opts.Before == 0 || f.lineSpace() {
		return pos
	}
	low := max(f.shown-f.base, int64(pos-maxContextBytes), 0)
	at := pos
	for range f.s.opts.Before {
		if int64(at) <= low {
			break
		}
		prev := bytes.LastIndexByte(f.buf[low:at-1], '\n')
		if prev < 0 {
			if low == 0 || low == f.shown-f.base {
				return int(low)
			}
			break
		}
		at = int(low) + prev + 1
	}
	return at
}

// lineSpace reports whether the buffer is so full that context must give way.
func (f *fileSearch) lineSpace() bool { return len(f.buf) >= MaxLineMemory }

// slide moves the text from keep on to the front of the buffer and returns the new place of pos.
func (f *fileSearch) slide(keep, pos int) int {
	if f.s.opts.Mode == ModeContent {
		f.lineNumber(f.base + int64(keep))
	}
	f.n = copy(f.buf, f.buf[keep:f.n])
	f.base += int64(keep)
	return pos - keep
}

// searchText searches whole lines: buf[pos:end].
func (f *fileSearch) searchText(pos, end int) error {
	text := f.buf[:end]
	f.sc.begin(text)
	for pos < end {
		start, stop := f.sc.next(pos)
		if start < 0 {
			break
		}
		if err := f.match(start, stop); err != nil {
			return err
		}
		pos = stop + 1
	}
	return f.contextAfter(end)
}

// match reports a matching line buf[start:end], its line feed excluded.
func (f *fileSearch) match(start, end int) error {
	f.lines++
	switch {
	case f.s.opts.Mode == ModeFiles:
		f.matches++
		if err := f.slot.add(f.event(KindFile)); err != nil {
			return err
		}
		return errStopFile
	case f.reportBinary:
		f.matches++
		if err := f.slot.add(f.event(KindBinary)); err != nil {
			return err
		}
		return errStopFile
	case f.s.opts.Mode == ModeCount:
		f.matches++
		return nil
	case f.s.opts.OnlyMatching:
		for _, m := range f.p.Spans(trimCR(f.buf[start:end]), MaxSpansPerLine) {
			if m[0] == m[1] {
				continue
			}
			f.matches++
			if err := f.show(KindMatch, start+m[0], start+m[1]); err != nil {
				return err
			}
		}
		return nil
	}
	f.matches++
	if err := f.contextBefore(start); err != nil {
		return err
	}
	if err := f.show(KindMatch, start, end); err != nil {
		return err
	}
	f.shown, f.someShown, f.afterLeft = f.base+int64(end)+1, true, f.s.opts.After
	return nil
}

// contextAfter reports the lines due after the last match, up to end.
func (f *fileSearch) contextAfter(end int) error {
	for f.afterLeft > 0 {
		at := int(f.shown - f.base)
		if at >= end {
			return nil
		}
		stop := end
		if i := bytes.IndexByte(f.buf[at:end], '\n'); i >= 0 {
			stop = at + i
		}
		if err := f.show(KindContext, at, stop); err != nil {
			return err
		}
		f.shown += int64(stop - at + 1)
		f.afterLeft--
	}
	return nil
}

// contextBefore reports what is due between the last reported line and a match at start.
func (f *fileSearch) contextBefore(start int) error {
	if f.s.opts.Before == 0 && f.s.opts.After == 0 {
		return nil
	}
	if err := f.contextAfter(start); err != nil {
		return err
	}
	low := int(max(f.shown-f.base, 0))
	at := start
	for n := 0; n < f.s.opts.Before && at > low; n++ {
		at = low + bytes.LastIndexByte(f.buf[low:at-1], '\n') + 1
	}
	if f.someShown && f.base+int64(at) > f.shown {
		if err := f.slot.add(f.event(KindGap)); err != nil {
			return err
		}
	}
	for at < start {
		stop := at + bytes.IndexByte(f.buf[at:start], '\n')
		if err := f.show(KindContext, at, stop); err != nil {
			return err
		}
		at = stop + 1
	}
	return nil
}

func (f *fileSearch) event(k Kind) Event {
	if f.mod.IsZero() {
		f.mod = modTime(f.near.fd)
	}
	return Event{Kind: k, Path: f.job.entry.Path, Rel: f.job.entry.Rel, Root: f.job.root.index, ModTime: f.mod}
}

func (f *fileSearch) show(k Kind, start, end int) error {
	e := f.event(k)
	e.Offset = f.base + int64(start)
	e.Line = f.lineNumber(e.Offset)
	e.Text = f.buf[start:end]
	if !f.s.opts.OnlyMatching {
		e.Text = trimCR(e.Text)
	}
	e.Text, e.Truncated = cut(e.Text, f.s.opts.MaxLineBytes)
	return f.slot.add(e)
}

// cut shortens text to at most limit bytes, at the border of a character.
func cut(text []byte, limit int) ([]byte, bool) {
	if len(text) <= limit {
		return text, false
	}
	n := limit
	for n > 0 && n > limit-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], true
}

// lineNumber returns the number of the line at an offset within the buffer; offsets must not decrease.
func (f *fileSearch) lineNumber(offset int64) int {
	if offset > f.numbered {
		f.number += bytes.Count(f.buf[f.numbered-f.base:offset-f.base], []byte{'\n'})
		f.numbered = offset
	}
	return f.number
}
