package lspclient

import (
	"bufio"
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPositions(t *testing.T) {
	text := NewText("a😀b\r\nzwei\n\ndrei\rvier")
	for _, c := range []struct {
		line, character int
		want            Position
		ok              bool
	}{
		{1, 1, Position{0, 0}, true}, {1, 2, Position{0, 1}, true}, {1, 3, Position{0, 3}, true}, {1, 4, Position{0, 4}, true}, {1, 5, Position{}, false},
		{2, 5, Position{1, 4}, true}, {3, 1, Position{2, 0}, true}, {3, 2, Position{}, false}, {4, 1, Position{3, 0}, true}, {5, 5, Position{4, 4}, true},
		{0, 1, Position{}, false}, {6, 1, Position{}, false}, {1, 0, Position{}, false}, {1, -1, Position{}, false},
	} {
		got, err := text.Position(c.line, c.character)
		if (err == nil) != c.ok || got != c.want {
			t.Errorf("%d:%d: %v %v", c.line, c.character, got, err)
		}
	}
	if text.Character(Position{0, 2}) != 2 || text.Character(Position{0, 99}) != 4 || text.Character(Position{99, 3}) != 1 {
		t.Error("odd positions are read wrongly")
	}
}

func TestPositionsAreThoseOfUTF16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringOf(rapid.RuneFrom([]rune("aä€😀\t𝔘"))).Draw(t, "line")
		text := NewText("first\n" + line + "\nlast")
		n := utf8.RuneCountInString(line)
		at := rapid.IntRange(1, n+1).Draw(t, "character")
		p, err := text.Position(2, at)
		if err != nil {
			t.Fatal(err)
		}
		if want := len(utf16.Encode([]rune(line)[:at-1])); p.Character != want || p.Line != 1 {
			t.Fatal(p, want)
		}
		if back := text.Character(p); back != at {
			t.Fatal(back, at)
		}
	})
}

func TestURIs(t *testing.T) {
	for _, name := range []string{"a", "with space", "ä#?%25", "x:y@z", "[d]", "bad\xff"} {
		path := filepath.Join(t.TempDir(), name)
		if got, err := PathOf(URIOf(path)); err != nil || got != path {
			t.Errorf("%q: %q %v", path, got, err)
		}
	}
	for _, uri := range []string{"", "http://x/y", "file://elsewhere/share", "untitled:x", "file:relative", "file:///a%00b", "%zz", "jdt://x"} {
		if got, err := PathOf(uri); err == nil {
			t.Errorf("%q: %q", uri, got)
		}
	}
}

func FuzzFrame(f *testing.F) {
	for _, s := range []string{"Content-Length: 2\r\n\r\n{}", "Content-Length: 2\n\n{}Content-Length: 5\r\nContent-Type: x\r\n\r\n[[1]]", "", "\r\n\r\n", "Content-Length: 99\r\n\r\n{"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(data), MaxHeaderBytes)
		for {
			body, err := readFrame(r)
			if err != nil {
				return
			}
			if len(body) > len(data) || depth(body) > MaxDepth {
				t.Fatal("more came out than went in")
			}
			var out bytes.Buffer
			if err := writeFrame(&out, body); err != nil {
				t.Fatal(err)
			}
			again, err := readFrame(bufio.NewReaderSize(&out, MaxHeaderBytes))
			if err != nil || !bytes.Equal(again, body) {
				t.Fatal(err)
			}
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("a\r\nb\rc\n", 1, 1)
	f.Fuzz(func(t *testing.T, s string, line, character int) {
		text := NewText(s)
		p, err := text.Position(line, character)
		if err != nil {
			return
		}
		if utf8.ValidString(s) && text.Character(p) != character {
			t.Fatal(p)
		}
		if strings.ContainsAny(text.Line(p.Line), "\n") {
			t.Fatal("a line end in a line")
		}
	})
}
