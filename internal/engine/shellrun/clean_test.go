package shellrun

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCleanText(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "héllo\tworld\n", "héllo\tworld\n"},
		{"colours", "\x1b[31mred\x1b[0m \x1b[38;5;3mx\x1b[m", "red x"},
		{"link", "\x1b]8;;http://x\x1b\\名\x1b]8;;\x1b\\", "名"},
		{"link with bell", "\x1b]8;;http://x\a名\x1b]8;;\a!", "名!"},
		{"title", "\x1b]0;title\ax", "x"},
		{"DCS", "a\x1bP1$r\nstuff\x1b\\b", "ab"},
		{"C1 sequences", "a\u009b31mb\u009d0;t\u009cc\u0085d", "abcd"},
		{"unfinished OSC hides nothing", "\x1b]0;rm -rf /\nnext", "0;rm -rf /\nnext"},
		{"unfinished at the end", "a\x1b]0;b", "a0;b"},
		{"ESC inside OSC", "\x1b]0;a\x1b[31mb", "0;ab"},
		{"unfinished CSI", "a\x1b[31", "a"},
		{"broken CSI", "a\x1b[31\nb", "a31\nb"},
		{"charset and keypad", "\x1b(Ba\x1b=\x1b>b\x1b7", "ab"},
		{"lone ESC", "a\x1b", "a"},
		{"CRLF", "a\r\nb\r\n", "a\nb\n"},
		{"progress", "10%\r20%\r100%\ndone\n", "100%\ndone\n"},
		{"progress ends with CR", "10%\r20%\r", "20%"},
		{"progress with erase", "working\r\x1b[Kdone\n", "done\n"},
		{"erased at the end", "working\r\x1b[K\nnext", "\nnext"},
		{"whole line erased", "working\x1b[2K\x1b[1Gdone", "done"},
		{"spinner", "|\b/\b-\bok", "ok"},
		{"overstrike", "b\bbo\bold", "bold"},
		{"backspace stays in the line", "a\n\b\bb", "a\nb"},
		{"backspace takes a rune", "a名\bb", "ab"},
		{"controls", "a\x01\x02\x7f\x0cb", "ab"},
		{"NUL", "a\x00b", "a␀b"},
		{"bidi", "a\u202eb\u2066c", "a<U+202E>b<U+2066>c"},
		{"tags", "a\U000e0041b", "a<U+E0041>b"},
		{"joiner stays", "👩\u200d💻", "👩\u200d💻"},
		{"bad UTF-8", "a\xffb\xe5\x90", "a\ufffdb\ufffd\ufffd"},
		{"line separator", "a\u2028b", "a\nb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := CleanText([]byte(c.in)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// checkClean asserts what must hold for any input.
func checkClean(t interface{ Fatalf(string, ...any) }, in []byte) {
	out := CleanText(in)
	if !utf8.ValidString(out) {
		t.Fatalf("not UTF-8: %q from %q", out, in)
	}
	for _, r := range out {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || deceptive(r) {
			t.Fatalf("%U in %q from %q", r, out, in)
		}
	}
	if again := CleanText([]byte(out)); again != out {
		t.Fatalf("cleaned twice: %q, then %q", out, again)
	}
	c := cleaner{in: in, mapped: true}
	c.run()
	if string(c.out) != out || len(c.off) != len(out) {
		t.Fatalf("the mapped result differs: %q, %q, %d offsets", c.out, out, len(c.off))
	}
	for i, o := range c.off {
		if int(o) >= len(in) || i > 0 && o < c.off[i-1] {
			t.Fatalf("offsets not ascending: %v", c.off)
		}
	}
}

var terminalPieces = []string{"a", "b名", "\n", "\r", "\r\n", "\b", "\t", "\x00", "\x1b", "\x1b[", "\x1b[K", "\x1b[2K", "\x1b[G", "\x1b[31m",
	"\x1b]0;", "\a", "\x1b\\", "\x1bP", "\u009b", "\u009c", "\u202e", "\xe5", "\x90", "\xff", "31", ";", "\x18", "\u2028", "\ufeff"}

func TestCleanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkClean(t, []byte(strings.Join(rapid.SliceOf(rapid.SampledFrom(terminalPieces)).Draw(t, "pieces"), "")))
	})
}

func FuzzClean(f *testing.F) {
	f.Add([]byte(strings.Join(terminalPieces, "")))
	f.Fuzz(func(t *testing.T, in []byte) { checkClean(t, in) })
}

func TestUnfinishedSequencesAreNotQuadratic(t *testing.T) {
	for _, piece := range []string{"\x1b]", "\x1bP", "\x1b[", "\u009d", "\x1b]a", "\r", "\xc2"} {
		in := []byte(strings.Repeat(piece, 1<<20/len(piece)))
		_ = CleanText(in) // minutes, if every piece looked at all that follow
	}
}

func TestViewSmallIsWhole(t *testing.T) {
	v := ViewBytes([]byte("a\nb\n"), Limits{Head: 2, Tail: 2})
	if v.Text != "a\nb\n" || v.Truncated || v.Size != 4 {
		t.Errorf("%+v", v)
	}
	if v := ViewBytes(nil, Limits{Head: 5}); v.Text != "" || v.Truncated || v.Binary {
		t.Errorf("empty: %+v", v)
	}
}

func TestViewCounts(t *testing.T) {
	v := ViewBytes([]byte("first line\n"+strings.Repeat("middle\n", 1000)+"last line\n"), Limits{Head: 13, Tail: 12})
	want := "first line\n[… 7000 bytes in 1000 lines left out …]\nlast line\n"
	if v.Text != want || v.OmittedBytes != 7000 || v.OmittedLines != 1000 || !v.Truncated {
		t.Errorf("%+v", v)
	}
	v = ViewBytes([]byte(strings.Repeat("x", 1000)), Limits{Head: 10, Tail: 5})
	if want := "xxxxxxxxxx\n[… 985 bytes left out …]\nxxxxx"; v.Text != want {
		t.Errorf("%+v", v)
	}
}

func TestViewOfLargeFileIsExact(t *testing.T) {
	var b bytes.Buffer
	for i := range 600_000 {
		b.WriteString(strings.Repeat("名", i%7))
		b.WriteString(" line\n")
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, lim := range []Limits{{Head: 1000, Tail: 1000}, {Head: 30000}, {Tail: 30000}, {Head: 1, Tail: 1}, {}, {Head: 20000, Tail: 10000, Max: 3000}} {
		v, err := ViewFile(file, lim)
		if err != nil {
			t.Fatal(err)
		}
		i := strings.Index(v.Text, "[…")
		j := strings.Index(v.Text, "…]\n")
		if i < 0 || j < i {
			t.Fatalf("%+v: no note in %.100q", lim, v.Text)
		}
		head, tail := v.Text[:i], v.Text[j+len("…]\n"):]
		if !bytes.HasPrefix(b.Bytes(), []byte(head)) {
			head = strings.TrimSuffix(head, "\n") // the note begins on a line of its own
		}
		if !bytes.HasPrefix(b.Bytes(), []byte(head)) || !bytes.HasSuffix(b.Bytes(), []byte(tail)) {
			t.Fatalf("%+v: not the ends of the file", lim)
		}
		if int64(len(head)+len(tail))+v.OmittedBytes != int64(b.Len()) {
			t.Errorf("%+v: %d + %d bytes shown, %d left out, of %d", lim, len(head), len(tail), v.OmittedBytes, b.Len())
		}
		gap := b.Bytes()[len(head) : b.Len()-len(tail)]
		if v.OmittedLines != int64(bytes.Count(gap, []byte{'\n'})) {
			t.Errorf("%+v: %d lines left out", lim, v.OmittedLines)
		}
		n := lim.normal()
		if utf8.RuneCountInString(head) > n.Head || utf8.RuneCountInString(tail) > n.Tail {
			t.Errorf("%+v: %d and %d runes", lim, utf8.RuneCountInString(head), utf8.RuneCountInString(tail))
		}
	}
}

func TestViewProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOf(rapid.SampledFrom(terminalPieces)).Draw(t, "pieces"), "")
		lim := Limits{Head: rapid.IntRange(-1, 20).Draw(t, "head"), Tail: rapid.IntRange(-1, 20).Draw(t, "tail"), Max: rapid.IntRange(-1, 50).Draw(t, "max")}
		v := ViewBytes([]byte(in), lim)
		if v.Size != int64(len(in)) || v.OmittedBytes < 0 || v.OmittedBytes > v.Size || !utf8.ValidString(v.Text) {
			t.Fatalf("%+v", v)
		}
		if !v.Truncated && v.Text != CleanText([]byte(in)) {
			t.Fatalf("whole, but %q", v.Text)
		}
		if n := utf8.RuneCountInString(v.Text); !v.Truncated && n > lim.normal().Max {
			t.Fatalf("%d runes, %+v", n, lim)
		}
	})
}

func TestBinary(t *testing.T) {
	for _, c := range []struct {
		name, in, kind string
		binary         bool
	}{
		{"ELF", "\x7fELF\x02\x01", "ELF executable", true},
		{"PNG", "\x89PNG\r\n\x1a\n....", "PNG image", true},
		{"WebP", "RIFF\x01\x02\x03\x04WEBPVP8 ", "WebP image", true},
		{"noise", "\x00\x01\x02\x03\xff\xfe\x00abc", "", true},
		{"names with NUL", "./one file\x00./another one\x00", "", false},
		{"UTF-8", "名前 and text", "", false},
		{"cut rune", strings.Repeat("名", 3000)[:binarySampleBytes], "", false},
		{"colours", "\x1b[1mx\x1b[0m\r\n\f", "", false},
		{"empty", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := ViewBytes([]byte(c.in), Limits{Head: 1 << 20})
			if v.Binary != c.binary || v.Kind != c.kind {
				t.Errorf("%+v", v)
			}
			if c.binary && (!strings.Contains(v.Text, "binary") || !strings.Contains(v.Text, c.kind)) {
				t.Errorf("text %q", v.Text)
			}
		})
	}
}

func TestImage(t *testing.T) {
	for _, c := range []struct {
		in    string
		media string
		data  string
	}{
		{"data:image/png;base64,iVBORw0KGgo=\n", "image/png", "iVBORw0KGgo="},
		{"\n data:image/webp;base64,UklG\nRg==", "image/webp", "UklGRg=="},
		{"data:image/svg+xml;base64,PHN2Zz4=", "", ""},
		{"data:image/png;base64,not base64!", "", ""},
		{"data:image/png;base64,iVBORw0KGgo=\nand more", "", ""},
		{"see data:image/png;base64,iVBORw0KGgo=", "", ""},
		{"data:image/png;base64,", "", ""},
		{"text", "", ""},
		{"", "", ""},
	} {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(c.in), 0o600); err != nil {
			t.Fatal(err)
		}
		img, ok, err := ImageFile(file)
		if err != nil || ok != (c.media != "") || img.MediaType != c.media || img.Base64 != c.data {
			t.Errorf("%q: %+v %v %v", c.in, img, ok, err)
		}
	}
}

func TestInterpret(t *testing.T) {
	for _, c := range []struct {
		words string
		code  int
		ok    bool
		text  string
	}{
		{"grep x f", 0, true, ""}, {"grep x f", 1, true, "no matches found"}, {"grep x f", 2, false, ""},
		{"/usr/bin/rg x", 1, true, "no matches found"}, {"rg x", 2, false, ""},
		{"find /x", 1, true, "some directories could not be read"}, {"diff a b", 1, true, "the files differ"}, {"diff a b", 2, false, ""},
		{"test -f x", 1, true, "the condition is false"}, {"[ -f x ]", 1, true, "the condition is false"},
		{"git diff --quiet", 1, true, "there are differences"}, {"git -C /x --no-pager -c a=b grep y", 1, true, "no matches found"},
		{"git commit", 1, false, ""}, {"git -C diff commit", 1, false, ""}, {"git", 1, false, ""},
		{"make", 1, false, ""}, {"", 1, false, ""}, {"x", 127, false, "command not found"},
		{"x", 143, false, "ended by SIGTERM"}, {"grep x", 130, false, "ended by SIGINT"}, {"x", 300, false, ""}, {"x", -1, false, ""},
	} {
		got := Interpret(strings.Fields(c.words), c.code)
		if got.OK != c.ok || got.Text != c.text {
			t.Errorf("%s, %d: %+v", c.words, c.code, got)
		}
	}
}
