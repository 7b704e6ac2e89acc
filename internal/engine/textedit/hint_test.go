package textedit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

const program = "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfor i := range 3 {\n\t\tfmt.Println(\"it's\", i)\n\t}\n}\n"

func miss(t *testing.T, file, old string) *NotFoundError {
	t.Helper()
	var e *NotFoundError
	if _, _, err := Edit(load(t, file), []Replacement{{Old: old, New: "something else"}}); !errors.As(err, &e) {
		t.Fatalf("%q: %v", old, err)
	}
	return e
}

func TestHints(t *testing.T) {
	cases := []struct {
		name, file, old string
		line            int
		says, not       string
	}{
		{"tabs", program, "    for i := range 3 {\n        fmt.Println", 6, "the file has 1 tab where the old text has 4 spaces", "blanks at the end"},
		{"indent", "if x:\n    y = 1\n", "  y = 1", 2, "", ""},
		{"indent depth", "a:\n  b:\n    c: 1\n", "\n    b:\n      c: 1", 1, "the file has 2 spaces where the old text has 4 spaces", ""},
		{"trailing in file", "alpha beta  \ngamma\n", "alpha beta\ngamma", 1, "blanks at the end of lines", "indentation"},
		{"trailing in old", "alpha beta\ngamma\n", "alpha beta  \ngamma", 1, "blanks at the end of lines", ""},
		{"curly", "say ‘hello’ to “them”\n", "say 'hello' to \"them\"", 1, "typographic", ""},
		{"nbsp", "ten\u00a0km\n", "ten km", 1, "typographic", ""},
		{"zero width", "pass\u200bword = 1\n", "password = 1", 1, "invisible", ""},
		{"nfd", "cafe\u0301 noir\n", "caf\u00e9 noir", 1, "NFC", ""},
		{"numbers", program, "     5\tfunc main() {\n     6\t\tfor i := range 3 {", 5, "line numbers", "indentation"},
		{"arrow numbers", program, "  5→func main() {\n  6→\tfor i", 5, "line numbers", ""},
		{"escaped", program, `package main\n\nimport \"fmt\"`, 1, "escapes", ""},
		{"case", "Hello World\n", "hello world", 1, "case", ""},
		{"inner", "a  =  b + c\n", "a = b + c", 1, "blanks inside", ""},
		{"two habits", "\tsay “x”\n", "    say \"x\"", 1, "typographic", ""},
		{"changed word", program, "func main() {\n\tfor j := range 3 {", 5, "the file has \"\\tfor i := range 3 {\" where", ""},
		{"changed line only", program, "fmt.Println(\"it was\", i)", 7, "first difference at line 7", ""},
		{"nothing", program, "SELECT zz FROM qq WHERE kk", 0, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.file, c.old) {
				t.Skip("it is there")
			}
			e := miss(t, c.file, c.old)
			if e.Line != c.line {
				t.Errorf("line %d, want %d: %v", e.Line, c.line, e)
			}
			if !strings.Contains(e.Error(), c.says) || c.not != "" && strings.Contains(e.Error(), c.not) {
				t.Errorf("%v; want %q, not %q", e, c.says, c.not)
			}
		})
	}
}

func bigFile(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "\tline %d has some “text” that is like the other lines\n", i)
	}
	return b.String()
}

func TestHintIsBounded(t *testing.T) {
	big := bigFile(20 << 20)
	oneLine := strings.Repeat("var a=1;", 2<<20)
	for _, file := range []string{big, oneLine} {
		text := load(t, file)
		for _, old := range []string{"line 77 has other text than the file", strings.Repeat("x y\n", 10_000), "var  b=2", "\n\n\n\n\n\n\n\n\n" + strings.Repeat(" ", 1000)} {
			start := time.Now()
			_, _, err := Edit(text, []Replacement{{Old: old, New: "n"}})
			if err == nil {
				t.Fatal("found")
			}
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("%.20q: %v", old, d)
			}
		}
	}
}

func FuzzHint(f *testing.F) {
	f.Add(program, "     5\tfunc main() {")
	f.Add("a\n\n\nb", `\n\n`)
	f.Add("", "\n")
	f.Fuzz(func(t *testing.T, text, old string) {
		e, ok := notFound(text, old).(*NotFoundError)
		if !ok || e.Line < 0 || e.Line > strings.Count(text, "\n")+1 {
			t.Fatalf("%+v", e)
		}
		_ = e.Error()
	})
}

func BenchmarkEdit1MB(b *testing.B) {
	for name, file := range map[string]string{"lf": bigFile(1 << 20), "crlf": strings.ReplaceAll(bigFile(1<<20), "\n", "\r\n"), "mixed": strings.Replace(bigFile(1<<20), "\n", "\r\n", 500)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				text, err := Load([]byte(file))
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := Edit(text, []Replacement{{Old: "line 9000 has", New: "line 9000 had\nand"}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMiss1MB(b *testing.B) {
	text := load(b, bigFile(1<<20))
	b.SetBytes(1 << 20)
	for b.Loop() {
		if _, _, err := Edit(text, []Replacement{{Old: "line 9000 had no text", New: "x"}}); err == nil {
			b.Fatal("found")
		}
	}
}

func BenchmarkPatch1MB(b *testing.B) {
	old := bigFile(1 << 20)
	new := strings.Replace(old, "line 9000 has", "line 9000 had", 1)
	for b.Loop() {
		if len(Patch(old, new)) != 1 {
			b.Fatal("hunks")
		}
	}
}
