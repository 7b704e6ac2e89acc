package textedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func load(t testing.TB, data string) Text {
	t.Helper()
	text, err := Load([]byte(data))
	if err != nil {
		t.Fatalf("Load(%q): %v", data, err)
	}
	return text
}

func enc(t testing.TB, e Encoding, s string) string {
	t.Helper()
	out, err := codec(e).NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	jaText  = "// 日本語のコメントです\nint main() { return 0; }\n"
	chinese = "// 这是中文注释,说明程序的用途\nint main() { return 0; }\n"
	taiwan  = "// 這是中文註釋,說明程式的用途\nint main() { return 0; }\n"
	koText  = "// 이것은 한국어 주석입니다\nint main() { return 0; }\n"
)

func TestDetect(t *testing.T) {
	cases := []struct {
		name, data, text string
		enc              Encoding
		bom              bool
	}{
		{"empty", "", "", UTF8, false},
		{"ascii", "abc\n", "abc\n", UTF8, false},
		{"utf8", "naïve 日本 😀", "naïve 日本 😀", UTF8, false},
		{"utf8 bom", "\xef\xbb\xbfabc", "abc", UTF8, true},
		{"bom only", "\xef\xbb\xbf", "", UTF8, true},
		{"utf16le bom", "\xff\xfea\x00\n\x00", "a\n", UTF16LE, true},
		{"utf16be bom", "\xfe\xff\x00a\x00\n", "a\n", UTF16BE, true},
		{"utf16le", enc(t, UTF16LE, "hello wörld\r\n"), "hello wörld\n", UTF16LE, false},
		{"utf16be", enc(t, UTF16BE, "hello wörld\n"), "hello wörld\n", UTF16BE, false},
		{"utf16 surrogates", "\xff\xfe" + enc(t, UTF16LE, "a😀b"), "a😀b", UTF16LE, true},
		{"latin1", "na\xefve", "naïve", Windows1252, false},
		{"cp1252", "x \x93quoted\x94 caf\xe9 d\xe9j\xe0 vu\n", "x “quoted” café déjà vu\n", Windows1252, false},
		{"sjis", enc(t, ShiftJIS, jaText), jaText, ShiftJIS, false},
		{"eucjp", enc(t, EUCJP, jaText), jaText, EUCJP, false},
		{"gbk", enc(t, GBK, chinese), chinese, GBK, false},
		{"big5", enc(t, Big5, taiwan), taiwan, Big5, false},
		{"euckr", enc(t, EUCKR, koText), koText, EUCKR, false},
		{"u2028", "a\u2028b\u2029c\n", "a\u2028b\u2029c\n", UTF8, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text := load(t, c.data)
			if text.Encoding() != c.enc || text.BOM() != c.bom || text.String() != c.text || text.Undecodable() != nil {
				t.Errorf("%v bom=%v %q %v", text.Encoding(), text.BOM(), text.String(), text.Undecodable())
			}
			// An edit keeps encoding, mark and all other bytes.
			if c.text == "" {
				return
			}
			n, err := text.WithContent(text.String())
			if err != nil || string(n.Bytes()) != c.data {
				t.Errorf("rewritten: %q (%v), want %q", n.Bytes(), err, c.data)
			}
		})
	}
}

func TestBinary(t *testing.T) {
	for _, data := range []string{"\x7fELF\x02\x01\x01\x00\x00\x00", "a\x00b", "\x89PNG\r\n\x1a\n\x00\x00", "\x01\x02\x03\x04\x05\x06", "\xff\xfe\x00\x00\x01\x00"} {
		if _, err := Load([]byte(data)); !errors.Is(err, ErrBinary) {
			t.Errorf("%q: %v", data, err)
		}
	}
}

func TestUndecodableIsShownButNotEdited(t *testing.T) {
	for _, data := range []string{"größe für\nna\xefve\nx", "\xef\xbb\xbfok\n\xff", "x \x81\x8d\xff\n", "\xff\xfea\x00b"} {
		text := load(t, data)
		var u *UndecodableError
		_, _, err := Edit(text, []Replacement{{Old: "x", New: "y"}})
		if !errors.As(err, &u) {
			t.Errorf("%q: edit gave %v", data, err)
		}
		if _, err := text.WithContent("new"); !errors.As(err, &u) {
			t.Errorf("%q: write gave %v", data, err)
		}
		if string(text.Bytes()) != data {
			t.Errorf("%q: bytes changed", data)
		}
	}
	var u *UndecodableError
	if errors.As(load(t, "größe für\nna\xefve\n").Undecodable(), &u); u == nil || u.Line != 2 || u.Byte != 0xef {
		t.Errorf("%+v", u)
	}
}

func TestUnencodable(t *testing.T) {
	text := load(t, "caf\xe9\n")
	var e *EncodeError
	_, _, err := Edit(text, []Replacement{{Old: "caf", New: "snow ☃ "}})
	if !errors.As(err, &e) || e.Char != '☃' || e.Encoding != Windows1252 {
		t.Errorf("%v", err)
	}
	if _, _, err := Edit(load(t, "abc"), []Replacement{{Old: "b", New: "\xff"}}); !errors.As(err, &e) {
		t.Errorf("%v", err)
	}
	n, _, err := Edit(text, []Replacement{{Old: "é", New: "è€"}})
	if err != nil || string(n.Bytes()) != "caf\xe8\x80\n" {
		t.Errorf("%q %v", n.Bytes(), err)
	}
}

func TestEdit(t *testing.T) {
	cases := []struct {
		name, file, old, new, want string
		all                        bool
	}{
		{"crlf file, lf old", "a\r\nb\r\nc", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc", false},
		{"crlf file, crlf old", "a\r\nb\r\nc", "a\r\nb", "z", "z\r\nc", false},
		{"lf file, crlf new", "a\nb\n", "a\n", "x\r\ny\r\n", "x\ny\nb\n", false},
		{"mixed, one line", "a\r\nb\nc\r\nd\n", "b", "B", "a\r\nB\nc\r\nd\n", false},
		{"mixed, inserted after crlf", "a\r\nb\r\nc\nd\n", "b", "b\nnew", "a\r\nb\r\nnew\r\nc\nd\n", false},
		{"mixed, inserted in lf region", "a\r\nb\nc\nd\n", "c\n", "c\nnew\n", "a\r\nb\nc\nnew\nd\n", false},
		{"mixed, removed", "a\r\nb\nc\r\nd\n", "b\nc\n", "", "a\r\nd\n", false},
		{"mixed, replaced lines keep theirs", "a\r\nb\nc\r\nd\n", "b\nc\nd", "x\ny\nz", "a\r\nx\ny\r\nz\n", false},
		{"mixed, all", "x\r\nx\nx\r\n", "x\n", "y\nz\n", "y\r\nz\r\ny\nz\ny\r\nz\r\n", true},
		{"old mac", "a\rb\rc", "b\nc", "b\nd", "a\rb\rd", false},
		{"cr cr lf stays", "a\r\r\nb\r\n", "b", "c", "a\r\r\nc\r\n", false},
		{"dollar", "x = 1", "1", "'^x+$' $$ $& ${1} $`", "x = '^x+$' $$ $& ${1} $`", false},
		{"backslash", "x", "x", `\1 \n \\`, `\1 \n \\`, false},
		{"trailing blanks", "a\nb\n", "b", "line two  ", "a\nline two  \n", false},
		{"curly quotes", "it’s\n", "it’s", "it‘s", "it‘s\n", false},
		{"no final newline", "a\nb", "b", "c", "a\nc", false},
		{"empty file", "", "", "a\r\nb", "a\r\nb", false},
		{"delete all", "abc", "abc", "", "", false},
		{"all", "aXbXc", "X", "XX", "aXXbXXc", true},
		{"bom kept", "\xef\xbb\xbfa", "a", "b", "\xef\xbb\xbfb", false},
		{"u2028", "a\u2028b\n", "b", "c", "a\u2028c\n", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n, counts, err := Edit(load(t, c.file), []Replacement{{c.old, c.new, c.all}})
			if err != nil {
				t.Fatal(err)
			}
			if string(n.Bytes()) != c.want {
				t.Errorf("%q, want %q", n.Bytes(), c.want)
			}
			if len(counts) != 1 || counts[0] < 1 {
				t.Errorf("counts %v", counts)
			}
		})
	}
}

func TestEditErrors(t *testing.T) {
	text := load(t, "one\ntwo\none\nthree\none\n")
	var nu *NotUniqueError
	_, _, err := Edit(text, []Replacement{{Old: "two", New: "2"}, {Old: "one", New: "1"}})
	if !errors.As(err, &nu) || nu.Count != 3 || len(nu.Lines) != 3 || nu.Lines[2] != 5 || !strings.Contains(err.Error(), "edit 2 of 2") {
		t.Errorf("%v", err)
	}
	if _, _, err := Edit(load(t, "aaa"), []Replacement{{Old: "aa", New: "b"}}); !errors.As(err, &nu) || nu.Count != 2 {
		t.Errorf("overlapping matches: %v", err)
	}
	if _, _, err := Edit(text, []Replacement{{Old: "two\n", New: "two\r\n"}}); !errors.Is(err, ErrSame) {
		t.Errorf("%v", err)
	}
	if _, _, err := Edit(text, []Replacement{{Old: "", New: "x"}}); !errors.Is(err, ErrEmptyOld) {
		t.Errorf("%v", err)
	}
	if _, _, err := Edit(Text{}, []Replacement{{}}); !errors.Is(err, ErrSame) {
		t.Errorf("%v", err)
	}
	big := load(t, strings.Repeat("a", 1<<20))
	if _, _, err := Edit(big, []Replacement{{"a", strings.Repeat("b", 1<<20), true}}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestWithContent(t *testing.T) {
	for _, c := range [][3]string{
		{"a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"}, {"a\n", "x\r\n", "x\n"}, {"a\r\nb\r\nc\n", "x\n", "x\r\n"},
		{"\xef\xbb\xbfa", "b", "\xef\xbb\xbfb"}, {"", "x\r\ny\n", "x\r\ny\n"}, {"caf\xe9", "é", "\xe9"}, {"abc", "a\nb", "a\nb"},
	} {
		n, err := load(t, c[0]).WithContent(c[1])
		if err != nil || string(n.Bytes()) != c[2] {
			t.Errorf("%q with %q: %q %v, want %q", c[0], c[1], n.Bytes(), err, c[2])
		}
	}
}

// Any sequence of edits is the same sequence of operations on strings, and what lies
// before and after the only edited place stays as it is, byte for byte.
func TestEditProperties(t *testing.T) {
	piece := rapid.StringOfN(rapid.SampledFrom([]rune("ab\nß$")), 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		endings := rapid.SliceOfN(rapid.SampledFrom([]string{"\n", "\r\n"}), 1, 8).Draw(t, "endings")
		lf := rapid.StringOfN(rapid.SampledFrom([]rune("ab\n\nß")), 0, 40, -1).Draw(t, "text")
		var raw strings.Builder
		for i, l := range strings.Split(lf, "\n") {
			if i > 0 {
				raw.WriteString(endings[i%len(endings)])
			}
			raw.WriteString(l)
		}
		text, err := Load([]byte(raw.String()))
		if err != nil || text.String() != lf {
			t.Fatalf("%q %v", text.String(), err)
		}
		model := lf
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			r := Replacement{piece.Draw(t, "old"), piece.Draw(t, "new"), rapid.Bool().Draw(t, "all")}
			n, _, err := Edit(text, []Replacement{r})
			ok := r.Old != r.New && (r.Old != "" && strings.Contains(model, r.Old) || r.Old == "" && model == "")
			if ok && !r.All && r.Old != "" && strings.Contains(model[strings.Index(model, r.Old)+1:], r.Old) {
				ok = false
			}
			if ok != (err == nil) {
				t.Fatalf("%q %+v: %v", model, r, err)
			}
			if err != nil {
				continue
			}
			before := model
			model = strings.Replace(model, r.Old, r.New, map[bool]int{true: -1, false: 1}[r.All && r.Old != ""])
			if n.String() != model {
				t.Fatalf("%q, want %q", n.String(), model)
			}
			if again, err := Load(n.Bytes()); err != nil || again.String() != model {
				t.Fatalf("loaded again: %q %v, want %q", again.String(), err, model)
			}
			if !r.All && r.Old != "" {
				at := strings.Index(before, r.Old)
				head, rest := strings.Count(before[:at], "\n"), strings.Count(before[at+len(r.Old):], "\n")
				pre, post := rawLines(text, head, true), rawLines(text, rest, false)
				if !bytes.HasPrefix(n.Bytes(), pre) || !bytes.HasSuffix(n.Bytes(), post) {
					t.Fatalf("%q became %q: bytes outside the edit changed", text.Bytes(), n.Bytes())
				}
			}
			text = n
		}
	})
}

// rawLines returns the first n line bodies with endings, or the last n after their first ending.
func rawLines(t Text, n int, first bool) []byte {
	l := bytes.SplitAfter(t.Bytes(), []byte{'\n'})
	if first {
		return bytes.Join(l[:n], nil)
	}
	return bytes.Join(l[len(l)-n:], nil)
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{"", "a\r\nb\n", "\xef\xbb\xbfx", "\xff\xfea\x00", "na\xefve", "a\rb", enc(f, ShiftJIS, jaText), enc(f, GBK, chinese), "\xff\xfe\x00\xd8"} {
		f.Add([]byte(s), "a", "b")
	}
	f.Fuzz(func(t *testing.T, data []byte, old, new string) {
		text, err := Load(data)
		if err != nil {
			return
		}
		if !bytes.Equal(text.Bytes(), data) {
			t.Fatal("loading changed the bytes")
		}
		if text.Undecodable() != nil {
			return
		}
		again, err := text.encode() // what every edit does in the end
		if err != nil || !bytes.Equal(again.Bytes(), data) {
			t.Fatalf("%q became %q in %s (%v)", data, again.Bytes(), text.Encoding(), err)
		}
		if n, _, err := Edit(text, []Replacement{{old, new, true}}); err == nil {
			if back := Unified("f", text.String(), n.String()); back == "" && text.String() != n.String() {
				t.Fatal("no patch for a change")
			}
		}
	})
}

func TestPatch(t *testing.T) {
	old := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n"
	got, _ := json.Marshal(Patch(old, strings.Replace(strings.Replace(old, "2\n", "two\n", 1), "13\n", "", 1)))
	want := `[{"oldStart":1,"oldLines":5,"newStart":1,"newLines":5,"lines":[" 1","-2","+two"," 3"," 4"," 5"]},` +
		`{"oldStart":10,"oldLines":5,"newStart":10,"newLines":4,"lines":[" 10"," 11"," 12","-13"," 14"]}]`
	if string(got) != want {
		t.Errorf("%s", got)
	}
	if Patch("a", "a") != nil || Unified("f", "a", "a") != "" {
		t.Error("a patch without a change")
	}
	p := Patch("", "a\n")
	if len(p) != 1 || p[0].OldStart != 0 || p[0].OldLines != 0 || p[0].NewStart != 1 || p[0].NewLines != 1 {
		t.Errorf("%+v", p)
	}
	p = Patch("a\n", "")
	if len(p) != 1 || p[0].NewStart != 0 || p[0].NewLines != 0 || p[0].OldStart != 1 {
		t.Errorf("%+v", p)
	}
}

func TestUnifiedAppliesWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "long line\n"})
	gen := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(line, 1, 30).Draw(t, "lines"), "")
		if rapid.Bool().Draw(t, "cut") {
			s += "end"
		}
		return s
	})
	for i := range 12 {
		old, new := gen.Example(2*i), gen.Example(2*i+1)
		if old == new {
			continue
		}
		os.WriteFile(filepath.Join(dir, "f"), []byte(old), 0o600)
		cmd := exec.Command("git", "apply", "-p0", "--unsafe-paths", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(Unified("f", old, new))
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		out, err := cmd.CombinedOutput()
		got, _ := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil || string(got) != new {
			t.Errorf("%v %s\n%s", err, out, Unified("f", old, new))
		}
	}
}
