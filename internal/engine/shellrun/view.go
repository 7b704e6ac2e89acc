package shellrun

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// Bounds on what is read to make a view, whatever the size of the file.
const (
	// MaxViewWindow is how many bytes at each end of a file a view is made from.
	MaxViewWindow = 1 << 20
	// MaxLineCount is the longest left-out part in which lines are counted.
	MaxLineCount = 64 << 20
	// MaxImageBytes is the longest output that is taken for an image.
	MaxImageBytes = 10 << 20

	binarySampleBytes = 8 << 10
)

// Limits bound a view, in characters.
type Limits struct {
	Head, Tail int // kept of the beginning and of the end, if the whole is longer than Max
	Max        int // up to which the whole is shown; 0: Head + Tail
}

// View is output as text for a reader.
type View struct {
	// Text is clean (see CleanText). If something is left out, a line in brackets stands in its place and tells how much.
	Text string
	// Size of the file in bytes.
	Size int64
	// Truncated: something is left out.
	Truncated bool
	// OmittedBytes of the file are left out; OmittedLines ends of lines are among them, -1 if there was too much to count.
	OmittedBytes, OmittedLines int64
	// Binary output is described, not shown; Kind tells what it seems to be, if known.
	Binary bool
	Kind   string
}

// ViewFile makes a view of a file from its two ends; it needs little memory for a file of any size.
func ViewFile(path string, lim Limits) (View, error) {
	f, err := os.Open(path)
	if err != nil {
		return View{}, fmt.Errorf("viewing output: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return View{}, fmt.Errorf("viewing output: %w", err)
	}
	return viewReader(f, info.Size(), lim)
}

// ViewBytes makes a view of b.
func ViewBytes(b []byte, lim Limits) View {
	v, err := viewReader(bytes.NewReader(b), int64(len(b)), lim)
	if err != nil {
		return View{Text: "[output cannot be viewed: " + err.Error() + "]", Size: int64(len(b))}
	}
	return v
}

func viewReader(r io.ReaderAt, size int64, lim Limits) (View, error) {
	lim = lim.normal()
	v := View{Size: size}
	window := int64(min(8*max(lim.Head, lim.Tail, lim.Max/2)+64<<10, MaxViewWindow))
	whole := size <= 2*window
	first, err := readRange(r, 0, min(size, cond(whole, size, window)))
	if err != nil {
		return View{}, err
	}
	if kind, binary := looksBinary(first[:min(len(first), binarySampleBytes)]); binary {
		v.Binary, v.Kind = true, kind
		v.Truncated, v.OmittedBytes = true, size
		v.Text = fmt.Sprintf("[binary output, %d bytes, not shown%s]", size, cond(kind != "", ": "+kind, ""))
		return v, nil
	}
	if !whole {
		first = first[:wholeRunes(first)]
	}
	head := cleaner{in: first, mapped: true}
	head.run()
	if whole && utf8.RuneCount(head.out) <= lim.Max {
		v.Text = string(head.out)
		return v, nil
	}
	headEnd := cutHead(head.out, lim.Head)
	rawEnd := int64(len(first))
	if headEnd < len(head.out) {
		rawEnd = int64(head.off[headEnd])
	}
	headText := string(head.out[:headEnd])

	tail, base := head, int64(0)
	if !whole {
		head = cleaner{}
		base = size - window
		last, err := readRange(r, base, window)
		if err != nil {
			return View{}, err
		}
		skip := 0
		for skip < len(last) && skip < utf8.UTFMax-1 && !utf8.RuneStart(last[skip]) {
			skip++
		}
		base += int64(skip)
		tail = cleaner{in: last[skip:], mapped: true}
		tail.run()
	}
	tailStart := cutTail(tail.out, lim.Tail)
	if whole {
		tailStart = max(tailStart, headEnd)
	}
	rawStart := base + int64(len(tail.in))
	if tailStart < len(tail.out) {
		rawStart = base + int64(tail.off[tailStart])
	}
	v.Truncated = true
	v.OmittedBytes = max(rawStart-rawEnd, 0)
	if v.OmittedLines, err = countLines(r, rawEnd, v.OmittedBytes); err != nil {
		return View{}, err
	}
	v.Text = headText + omission(headText, v) + string(tail.out[tailStart:])
	return v, nil
}

func (l Limits) normal() Limits {
	l.Head, l.Tail = max(l.Head, 0), max(l.Tail, 0)
	if l.Max <= 0 {
		l.Max = l.Head + l.Tail
	}
	if sum := l.Head + l.Tail; sum > l.Max {
		l.Head = int(int64(l.Head) * int64(l.Max) / int64(sum))
		l.Tail = l.Max - l.Head
	}
	return l
}

func omission(before string, v View) string {
	s := fmt.Sprintf("[… %d bytes left out …]\n", v.OmittedBytes)
	if v.OmittedLines > 0 {
		s = fmt.Sprintf("[… %d bytes in %d lines left out …]\n", v.OmittedBytes, v.OmittedLines)
	}
	if before != "" && !strings.HasSuffix(before, "\n") {
		s = "\n" + s
	}
	return s
}

// cutHead returns where to cut b so that at most n runes stay in front, at the end of a line if that costs little.
func cutHead(b []byte, n int) int {
	end := 0
	for range n {
		if end == len(b) {
			return end
		}
		_, k := utf8.DecodeRune(b[end:])
		end += k
	}
	if end == len(b) {
		return end
	}
	if i := bytes.LastIndexByte(b[:end], '\n'); i >= 0 && i+1 >= end-end/5 {
		return i + 1
	}
	return end
}

// cutTail returns where to cut b so that at most n runes stay behind, at the start of a line if that costs little.
func cutTail(b []byte, n int) int {
	start := len(b)
	for range n {
		if start == 0 {
			return 0
		}
		_, k := utf8.DecodeLastRune(b[:start])
		start -= k
	}
	if start == 0 || start == len(b) || b[start-1] == '\n' {
		return start
	}
	if i := bytes.IndexByte(b[start:], '\n'); i >= 0 && i+1 <= (len(b)-start)/5 {
		return start + i + 1
	}
	return start
}

func readRange(r io.ReaderAt, from, n int64) ([]byte, error) {
	b := make([]byte, max(n, 0))
	k, err := r.ReadAt(b, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("viewing output: %w", err)
	}
	return b[:k], nil
}

func countLines(r io.ReaderAt, from, n int64) (int64, error) {
	if n > MaxLineCount {
		return -1, nil
	}
	buf := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(buf)
	var count int64
	for n > 0 {
		k, err := r.ReadAt((*buf)[:min(n, int64(len(*buf)))], from)
		count += int64(bytes.Count((*buf)[:k], []byte{'\n'}))
		from, n = from+int64(k), n-int64(k)
		if errors.Is(err, io.EOF) || err == nil && k == 0 {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("viewing output: %w", err)
		}
	}
	return count, nil
}

func cond[T any](c bool, yes, no T) T {
	if c {
		return yes
	}
	return no
}

// Image is an image printed as a data URL.
type Image struct {
	MediaType string // image/png, image/jpeg, image/gif or image/webp
	Base64    string
}

// ImageFile reports whether a file is, apart from white space, one data URL of an image in base64, at most MaxImageBytes
// long, and returns it.
func ImageFile(path string) (Image, bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return Image{}, false, fmt.Errorf("looking for an image: %w", err)
	}
	defer f.Close()
	start := make([]byte, 64)
	n, err := f.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Image{}, false, fmt.Errorf("looking for an image: %w", err)
	}
	if !strings.HasPrefix(strings.TrimLeft(string(start[:n]), " \t\r\n"), "data:image/") {
		return Image{}, false, nil
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxImageBytes+1))
	if err != nil {
		return Image{}, false, fmt.Errorf("looking for an image: %w", err)
	}
	img, ok := parseImage(string(b))
	return img, ok && len(b) <= MaxImageBytes, nil
}

func parseImage(s string) (Image, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(s), "data:")
	media, data, comma := strings.Cut(rest, ";base64,")
	if !ok || !comma || data == "" {
		return Image{}, false
	}
	switch media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return Image{}, false
	}
	if _, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, strings.NewReader(data))); err != nil {
		return Image{}, false
	}
	return Image{MediaType: media, Base64: strings.NewReplacer("\n", "", "\r", "").Replace(data)}, true
}
