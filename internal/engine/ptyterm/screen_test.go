package ptyterm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestScreen(t *testing.T) {
	for name, c := range map[string]struct{ in, want, cursor string }{
		"plain":               {"one\r\ntwo", "one\ntwo", "1,3"},
		"wrap":                {"0123456789ab", "0123456789\nab", "1,2"},
		"pending wrap":        {"0123456789", "0123456789", "0,9"},
		"pending wrap, back":  {"0123456789\rX", "X123456789", "0,1"},
		"no wrap":             {"\x1b[?7l0123456789ab", "012345678b", "0,9"},
		"backspace":           {"abc\b\bX", "aXc", "0,2"},
		"tab":                 {"a\tb", "a       b", "0,9"},
		"back tab":            {"a\tb\x1b[Zc", "a       c", "0,9"},
		"position":            {"\x1b[3;4Hx\x1b[2Ay", "    y\n\n   x", "0,5"},
		"far position":        {"\x1b[99;99Hx", "\n\n\n         x", "3,9"},
		"scroll":              {"1\r\n2\r\n3\r\n4\r\n5", "2\n3\n4\n5", "3,1"},
		"erase to end":        {"abc\x1b[2D\x1b[K", "a", "0,1"},
		"erase to start":      {"abc\x1b[2D\x1b[1K", "  c", "0,1"},
		"erase screen":        {"abc\r\ndef\x1b[2Jx", "\n   x", "1,4"},
		"erase below":         {"abc\r\ndef\r\nghi\x1b[2;2H\x1b[J", "abc\nd", "1,1"},
		"erase above":         {"abc\r\ndef\r\nghi\x1b[2;2H\x1b[1J", "\n  f\nghi", "1,1"},
		"erase characters":    {"abcdef\x1b[5D\x1b[2X", "a  def", "0,1"},
		"insert characters":   {"abc\x1b[2D\x1b[2@", "a  bc", "0,1"},
		"delete characters":   {"abcdef\x1b[5D\x1b[2P", "adef", "0,1"},
		"insert mode":         {"abc\x1b[3D\x1b[4hX", "Xabc", "0,1"},
		"insert line":         {"a\r\nb\r\nc\x1b[2;1H\x1b[L", "a\n\nb\nc", "1,0"},
		"delete line":         {"a\r\nb\r\nc\x1b[1;1H\x1b[M", "b\nc", "0,0"},
		"region":              {"1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\nx", "1\n3\nx\n4", "2,1"},
		"region, reverse":     {"1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[2;1H\x1bMx", "1\nx\n2\n4", "1,1"},
		"origin":              {"\x1b[2;3r\x1b[?6h\x1b[1;1Hx\x1b[9;1Hy", "\nx\ny", "2,1"},
		"scroll up and down":  {"1\r\n2\r\n3\x1b[S\x1b[2T", "\n\n2\n3", "2,1"},
		"alternate":           {"main\x1b[?1049hother\x1b[?1049l!", "main!", "0,5"},
		"alternate on":        {"main\x1b[?1049h\x1b[Hother", "other", "0,5"},
		"save and restore":    {"ab\x1b7cd\x1b8X", "abXd", "0,3"},
		"wide":                {"a世b", "a世b", "0,4"},
		"wide at the edge":    {"012345678世", "012345678\n世", "1,2"},
		"wide, half over":     {"世\x1b[1;2Hx", " x", "0,2"},
		"wide, half erased":   {"世界\x1b[1;3H\x1b[1K", "", "0,2"},
		"combining":           {"e\u0301x", "e\u0301x", "0,2"},
		"broken UTF-8":        {"a\xc3b\xffc", "a\ufffdb\ufffdc", "0,5"},
		"attributes":          {"\x1b[1;31;48;2;1;2;3mred\x1b[0m", "red", "0,3"},
		"title":               {"\x1b]0;name\x07x\x1b]2;b\x1b\\y", "xy", "0,2"},
		"strings are dropped": {"a\x1bPq#0\x1b\\b\x1b_x\x1b\\c", "abc", "0,3"},
		"line drawing":        {"\x1b(0lqk\x1b(B-", "┌─┐-", "0,4"},
		"shift out":           {"\x1b)0\x0eq\x0fq", "─q", "0,2"},
		"repeat":              {"a\x1b[3b", "aaaa", "0,4"},
		"cancelled":           {"a\x1b[3\x18b", "ab", "0,2"},
		"control inside":      {"ab\x1b[\r1Cx", "ax", "0,2"},
		"too many parameters": {"a\x1b[" + strings.Repeat("1;", 100) + "Hb", "ab", "0,2"},
		"unknown":             {"a\x1b[?25;1$pb\x1b[>4;1mc\x1b[=1ud", "abcd", "0,4"},
		"reset":               {"abc\x1b[2;3r\x1bcx", "x", "0,1"},
		"full of E":           {"\x1b#8", "EEEEEEEEEE\nEEEEEEEEEE\nEEEEEEEEEE\nEEEEEEEEEE", "0,0"},
	} {
		for _, whole := range []bool{true, false} {
			s := NewScreen(10, 4)
			if whole {
				_, _ = s.Write([]byte(c.in))
			} else {
				for i := range len(c.in) {
					_, _ = s.Write([]byte{c.in[i]})
				}
			}
			row, col, _ := s.Cursor()
			if got := s.Text(); got != c.want || fmt.Sprintf("%d,%d", row, col) != c.cursor {
				t.Errorf("%s (whole: %v): %q with the cursor at %d,%d; want %q at %s", name, whole, got, row, col, c.want, c.cursor)
			}
		}
	}
}

func TestAnswersAndModes(t *testing.T) {
	s := NewScreen(10, 4)
	_, _ = s.Write([]byte("ab\r\nc\x1b[6n\x1b[5n\x1b[c\x1b[>c\x1b[?1h\x1b[?2004h\x1b[?25l\x1b]2;a\x1b[31mb\x07"))
	if got := string(s.Replies()); got != "\x1b[2;2R\x1b[0n\x1b[?62;22c\x1b[>0;0;0c" {
		t.Errorf("%q", got)
	}
	app, paste := s.Modes()
	if _, _, shown := s.Cursor(); !app || !paste || shown {
		t.Error(app, paste, shown)
	}
	_, _ = s.Write([]byte(strings.Repeat("\x1b[6n", 10_000)))
	if n := len(s.Replies()); n > maxReplies {
		t.Errorf("%d bytes of answers are kept", n)
	}
}

func TestScrollbackIsBounded(t *testing.T) {
	s := NewScreen(0, 0)
	for i := range 10_000 {
		fmt.Fprintf(s, "line %d\r\n", i)
	}
	lines := s.Scrollback(1 << 30)
	if len(lines) != MaxScrollback || lines[len(lines)-1] != "line 9976" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
	if got := s.Scrollback(1); len(got) != 1 || got[0] != "line 9976" {
		t.Errorf("%q", got)
	}
	s = NewScreen(MaxCols, 2)
	for range 5000 {
		_, _ = s.Write([]byte(strings.Repeat("世", MaxCols/2) + "\r\n"))
	}
	if s.scrolled > MaxScrollbackBytes {
		t.Errorf("%d bytes are kept", s.scrolled)
	}
	_, _ = s.Write([]byte("\x1b[?1049h" + strings.Repeat("x\r\n", 100)))
	before := len(s.scrollback)
	_, _ = s.Write([]byte(strings.Repeat("y\r\n", 100)))
	if len(s.scrollback) != before {
		t.Error("the alternate screen leaves lines behind")
	}
}

func TestResize(t *testing.T) {
	s := NewScreen(10, 4)
	_, _ = s.Write([]byte("1\r\n2\r\n3\r\n4世世"))
	s.Resize(4, 2)
	if got := s.Text(); got != "3\n4世" || strings.Join(s.Scrollback(9), ",") != "1,2" {
		t.Errorf("%q %q", got, s.Scrollback(9))
	}
	s.Resize(2, 6)
	if got := s.Text(); got != "3\n4" {
		t.Errorf("%q", got)
	}
	s.Resize(1_000_000, -5)
	if c, r := s.Size(); c != MaxCols || r != MinRows {
		t.Error(c, r)
	}
}

// sound checks what holds of every screen.
func sound(s *Screen) error {
	if s.g != &s.main && s.g != &s.alt || s.g.row < 0 || s.g.row >= s.height || s.g.col < 0 || s.g.col >= s.cols {
		return fmt.Errorf("the cursor is at %d,%d of %d×%d", s.g.row, s.g.col, s.cols, s.height)
	}
	for _, g := range []*grid{&s.main, &s.alt} {
		if len(g.rows) != s.height || g.top < 0 || g.top >= g.bottom || g.bottom >= s.height {
			return fmt.Errorf("%d rows of %d, region %d to %d", len(g.rows), s.height, g.top, g.bottom)
		}
		for _, row := range g.rows {
			if len(row) != s.cols {
				return fmt.Errorf("a row has %d cells", len(row))
			}
			for i, c := range row {
				if c.r == tail && (i == 0 || row[i-1].r <= 0 || runeWidth(row[i-1].r) != 2) || c.r > 0 && runeWidth(c.r) == 2 && (i+1 == len(row) || row[i+1].r != tail) {
					return fmt.Errorf("half of a wide character in %q", lineText(row))
				}
			}
		}
	}
	if len(s.tabs) != s.cols || len(s.replies) > maxReplies || len(s.p.str) > maxString || len(s.p.params) > maxParams {
		return fmt.Errorf("something is out of bounds")
	}
	return nil
}

var pieces = []string{"a", "xyz", "世", "é", "e\u0301", "\r", "\n", "\r\n", "\b", "\t", "\x1b[", "\x1b", ";", "1", "3", "9", "2", "H", "J", "K", "X", "P", "@", "L", "M", "S", "T", "b",
	"r", "h", "l", "?", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?6h", "\x1b[?7l", "\x1b[4h", "\x1bM", "\x1bD", "\x1b7", "\x1b8", "\x1b[2;3r", "\x1b[2X", "\x1b[2P", "\x1b[2@", "\x1b[L", "\x1b[M", "\x1b[1;3H", "\x1b[K", "\x1b[1K",
	"\x1b[99C", "\x1b]0;", "\a", "\x1bP", "\x1b\\", "\xff", "\xe4\xb8", "\x9b", "\x1b(0", "\x0e", "\x1bc", "\x1b#8", "\x1bH", "\x1b[3g", "\x1b[Z", "\x18"}

func TestScreenStaysSound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := NewScreen(rapid.IntRange(2, 12).Draw(rt, "cols"), rapid.IntRange(2, 6).Draw(rt, "rows"))
		for _, p := range rapid.SliceOfN(rapid.SampledFrom(append(pieces, "resize")), 0, 60).Draw(rt, "pieces") {
			if p == "resize" {
				s.Resize(rapid.IntRange(2, 12).Draw(rt, "cols"), rapid.IntRange(2, 6).Draw(rt, "rows"))
			} else {
				_, _ = s.Write([]byte(p))
			}
			if err := sound(s); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

func FuzzScreen(f *testing.F) {
	f.Add([]byte("a\x1b[2;3Hb\x1b[?1049h世\x1b[3X"), 10, 4)
	f.Fuzz(func(t *testing.T, b []byte, cols, rows int) {
		s := NewScreen(cols%40, rows%20)
		_, _ = s.Write(b)
		if err := sound(s); err != nil {
			t.Fatal(err)
		}
		s.Resize(rows%40, cols%20)
		_, _ = s.Write(b)
		if err := sound(s); err != nil {
			t.Fatal(err)
		}
	})
}

// Another terminal shows the same.
func TestLikeAnotherTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many programs")
	}
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("no tmux to compare with")
	}
	dir := t.TempDir()
	if len(dir) > 80 {
		if dir, err = os.MkdirTemp("/tmp", "pt"); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
	}
	run := func(args ...string) (string, error) {
		c := exec.Command(tmux, append([]string{"-S", filepath.Join(dir, "s"), "-f", "/dev/null", "-u"}, args...)...)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TERM=xterm-256color", "HOME=" + dir}
		out, err := c.CombinedOutput()
		return string(out), err
	}
	const cols, rows = 20, 6
	if out, err := run("new-session", "-d", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), "sleep 100"); err != nil {
		t.Skip("tmux does not start here: ", out)
	}
	defer func() { _, _ = run("kill-server") }()
	if out, err := run("set", "-g", "status", "off", ";", "set", "-g", "remain-on-exit", "off", ";", "resize-window", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows)); err != nil {
		t.Skip("tmux: ", out)
	}
	// Left out is what the other does in its own way: lines inserted outside
	// of the margins and the column after that, margins in origin mode, and halves of wide characters.
	both := []string{"a", "xyz ", "hello world ", "\r", "\n", "\r\n", "\b", "\t", "\x1b[2;5H", "\x1b[5;18H", "\x1b[A", "\x1b[2B", "\x1b[3C", "\x1b[2D", "\x1b[2K", "\x1b[S", "\x1b[T", "\x1bM", "\x1bD", "\x1bE",
		"\x1b7", "\x1b8", "\x1b[2;4r", "\x1b[r", "\x1b[31m", "0123456789", "\x1b[E", "\x1b[F", "\x1b[7G", "\x1b[4d", "\x1b[r\x1b[3d\x1b[L\r", "\x1b[r\x1b[3d\x1b[2M\r"}
	edits := []string{"\x1b[K", "\x1b[1K", "\x1b[J", "\x1b[1J", "\x1b[3X", "\x1b[2P", "\x1b[2@", "\x1b[4h", "\x1b[4l"}
	wide := []string{"世界", "\r世", "é", "e\u0301"}
	rng := rand.New(rand.NewPCG(7, 7))
	compared := 0
	for i := range rounds {
		safe := slices.Concat(both, edits)
		if i%3 == 0 {
			safe = append(slices.Concat(both), wide...)
		}
		var b strings.Builder
		for range 5 + rng.IntN(25) {
			b.WriteString(safe[rng.IntN(len(safe))])
		}
		in := b.String()
		file := filepath.Join(dir, fmt.Sprint("in", i))
		if err := os.WriteFile(file, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		ready := filepath.Join(dir, fmt.Sprint("ready", i))
		if out, err := run("respawn-pane", "-k", "stty -opost; cat "+file+"; touch "+ready+"; exec sleep 100"); err != nil {
			t.Fatal(out)
		}
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
			if _, err := os.Stat(ready); err == nil {
				break
			}
		}
		s := NewScreen(cols, rows)
		_, _ = s.Write([]byte(in))
		row, col, _ := s.Cursor()
		want := fmt.Sprintf("%s\n%d,%d", s.Text(), row, col)
		var got string
		for deadline := time.Now().Add(2 * time.Second); got != want && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			text, err := run("capture-pane", "-p", ";", "display-message", "-p", "#{cursor_y},#{cursor_x}")
			if err != nil {
				t.Fatal(text)
			}
			i := strings.LastIndex(strings.TrimRight(text, "\n"), "\n")
			lines := strings.Split(text[:max(i, 0)], "\n")
			for j := range lines {
				lines[j] = strings.TrimRight(lines[j], " ")
			}
			got = strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n" + strings.TrimSpace(text[max(i, 0):])
			got = strings.Replace(got, fmt.Sprintf(",%d", cols), fmt.Sprintf(",%d", cols-1), 1) // how it tells of a line that is full
		}
		compared++
		if got != want {
			t.Errorf("%q\nthere:\n%s\nhere:\n%s", in, got, want)
		}
	}
	t.Logf("%d screens compared", compared)
}

const rounds = 60
