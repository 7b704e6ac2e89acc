package grep

import (
	"bytes"
	"math/rand"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var (
	atoms = []string{"a", "b", "ab", "foo", "é", "K", "s", ".", `\w`, `\d`, "[a-c]", "[^a]", `[^\n]`, `\b`, "^", "$", "x*", "a+", "b?", "a{2,3}",
		"(?:ab|c)", "(?i:k)", "(?i:s)", "(?i:foo)", `\B`, `\s`, "日", "[é-ü]", " ", `\.`, "[[:upper:]]", `\p{L}`, "(foo|bar|baz)", `\x{FFFD}`, `\A`, `\z`, "[^x]+", ".*", `\r`, "(?:a?b)"}
	pieces = []string{"a", "b", "c", "A", "K", "\u212a", "ſ", "s", "é", "日", " ", "\n", "1", "_", ".", "x", "\xff", "\xe6\x97", "ü", "-", "\r\n", "\r", "foo", "FOO", "bar", "baz", "\ufffd", "k", "S"}
)

func randomFrom(r *rand.Rand, from []string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(from[r.Intn(len(from))])
	}
	return b.String()
}

func randomPattern(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.Intn(5) {
		b.WriteString(atoms[r.Intn(len(atoms))])
		if r.Intn(6) == 0 {
			b.WriteByte('|')
		}
	}
	return b.String()
}

// linesOf splits as the search does: without "\n" and a "\r" before it.
func linesOf(data []byte) [][]byte {
	if len(data) == 0 {
		return nil
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	for i := range lines {
		lines[i] = trimCR(lines[i])
	}
	return lines
}

// check compares the scanner's lines with those in which package regexp sees a match.
func check(t interface{ Errorf(string, ...any) }, p *Pattern, oracle *regexp.Regexp, data []byte) {
	var want, got []string
	for _, l := range linesOf(data) {
		if oracle.Match(l) {
			want = append(want, string(l))
		}
	}
	s := newScanner(p)
	s.begin(data)
	for pos := 0; pos < len(data); {
		start, end := s.next(pos)
		if start < 0 {
			break
		}
		if start < pos {
			t.Errorf("pattern %q text %q: line at %d before %d", p, data, start, pos)
			return
		}
		got = append(got, string(trimCR(data[start:end])))
		pos = end + 1
	}
	if !slices.Equal(got, want) {
		t.Errorf("pattern %q (finder %+v exact %v) text %q: got %q want %q", p, p.finder, p.exact, data, got, want)
	}
}

func TestScannerAgainstRegexp(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewSource(7))
	cases := 0
	for range 8000 {
		expr := randomPattern(r)
		o := Options{CaseInsensitive: r.Intn(4) == 0}
		p, err := Compile(expr, o)
		if err != nil {
			continue
		}
		flags := "(?m)"
		if o.CaseInsensitive {
			flags = "(?mi)"
		}
		oracle := regexp.MustCompile(flags + expr)
		for range 8 {
			check(t, p, oracle, []byte(randomFrom(r, pieces, r.Intn(30))))
			cases++
		}
		if t.Failed() {
			return
		}
	}
	if cases < 20000 {
		t.Errorf("only %d cases: the generator makes too few valid patterns", cases)
	}
}

func TestScannerProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr := strings.Join(rapid.SliceOfN(rapid.SampledFrom(atoms), 1, 6).Draw(t, "pattern"), "")
		data := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "text"), ""))
		p, err := Compile(expr, Options{})
		if err != nil {
			t.Skip("not a pattern: ", err)
		}
		check(t, p, regexp.MustCompile("(?m)"+expr), data)
	})
}

func FuzzMatch(f *testing.F) {
	f.Add(`a.*b|c`, []byte("xaab\r\ncc\n"), false)
	f.Add(`(?i)k\b`, []byte("\u212a\n\xffk"), true)
	f.Add(`^\w+$`, []byte("日本\nabc\r\n"), false)
	f.Fuzz(func(t *testing.T, expr string, data []byte, fold bool) {
		if len(expr) > 200 || len(data) > 4096 {
			return
		}
		p, err := Compile(expr, Options{CaseInsensitive: fold})
		if err != nil {
			return
		}
		if !utf8.ValidString(expr) || strings.Contains(expr, `\u`) || strings.Contains(expr, `\U`) {
			return
		}
		flags := "(?m)"
		if fold {
			flags = "(?mi)"
		}
		oracle, err := regexp.Compile(flags + expr)
		if err != nil {
			t.Fatalf("%q compiles here and not in regexp: %v", expr, err)
		}
		check(t, p, oracle, data)
	})
}
