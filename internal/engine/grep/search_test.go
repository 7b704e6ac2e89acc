package grep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

func TestPatternErrorsNamePlaceAndFix(t *testing.T) {
	for expr, want := range map[string]string{
		`interface{}`: `character 10: the { begins no repetition such as {2,5}; write \{`,
		`{`:           `character 1`,
		`foo(?=bar)`:  `character 4: look-ahead is not supported`,
		`(?<!a)b`:     `look-behind is not supported`,
		`(a)\1`:       `character 4: backreferences`,
		`\<word`:      `use \b`,
		`a(b`:         `character 2: a ( is not closed`,
		`a)b`:         `character 2: a ) closes nothing`,
		`a)(b`:        `a ) closes nothing`,
		`[a`:          `a [ is not closed`,
		`*a`:          `nothing before it to repeat`,
		`a**`:         `repeats a repetition`,
		`x{2000}`:     `at most 1000`,
		`a\nb`:        `turn on multiline`,
		"a\nb":        `turn on multiline`,
		`[z-a]`:       `no range`,
		`\`:           `lone backslash`,
		"\xff":        `not valid UTF-8`,
		`\y`:          `no known escape`,
		`é(?=x)`:      `character 2`,
		`a{,3}`:       `begins no repetition`,
		`[a-z&&[^b]]`: `intersection`,
		`\Z`:          `use \z`,
	} {
		p, err := Compile(expr, Options{})
		var pe *PatternError
		if err == nil || !errors.As(err, &pe) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", expr, p, err, want)
		}
	}
	for _, expr := range []string{`--pre=./x.sh`, `-foo`, `a}`, `[{]`, `\{\}`, `a{2}`, `a{2,}`, `(?P<n>a)`, `(?<n>a)`, `(?i)x`, `\p{Greek}`, `\x{1F600}`, `[[:alpha:]]`, `[]a]`, `\Q{}(\E`, ``, `\u00e9`, `\u{e9}`, `a|`} {
		if _, err := Compile(expr, Options{}); err != nil {
			t.Errorf("%q: %v", expr, err)
		}
	}
	if p := compile(t, `interface{}`, Options{LiteralBraces: true}); !p.re.MatchString("interface{}") {
		t.Error("literal braces do not match themselves")
	}
	if p := compile(t, `a\u{e9}`, Options{}); !p.re.MatchString("aé") {
		t.Error(`\u{} does not stand for its character`)
	}
}

func TestContextGroups(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "1\n2\nX\n4\n5\n6\n7\nX\nX\n10\n11\n12\n13\nX")
	o := under(dir)
	o.Before, o.After = 1, 2
	got, st := run(t, compile(t, "X", Options{}), o)
	want := "f-2-2\nf:3:X\nf-4-4\nf-5-5\n--\nf-7-7\nf:8:X\nf:9:X\nf-10-10\nf-11-11\n--\nf-13-13\nf:14:X\n"
	if got != want || st.Lines != 4 || st.Events != 11 {
		t.Errorf("got\n%s\nwant\n%s%+v", got, want, st)
	}
	o.Before, o.After = 2, 2
	if got, _ = run(t, compile(t, "X", Options{}), o); strings.Count(got, "--") != 0 || strings.Count(got, "\n") != 14 {
		t.Errorf("adjacent groups are not merged:\n%s", got)
	}
}

func TestPagingAndTotals(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		write(t, filepath.Join(dir, fmt.Sprintf("f%02d", i)), strings.Repeat("hit\n", 10))
	}
	p := compile(t, "hit", Options{})
	o := under(dir)
	o.Offset, o.Limit, o.Totals = 25, 10, true
	for range 10 {
		got, st := run(t, p, o)
		lines := strings.Split(strings.TrimSpace(got), "\n")
		if len(lines) != 10 || lines[0] != "f02:6:hit" || lines[9] != "f03:5:hit" {
			t.Fatalf("wrong page:\n%s", got)
		}
		if st.Lines != 500 || st.Events != 500 || st.FilesMatched != 50 || !st.LimitReached {
			t.Fatalf("wrong totals: %+v", st)
		}
	}
	o.Totals = false
	if got, st := run(t, p, o); strings.Count(got, "\n") != 10 || !st.LimitReached {
		t.Errorf("wrong page without totals: %s %+v", got, st)
	}
	o.Offset = 1000
	if got, st := run(t, p, o); got != "" || st.Events != 500 || st.LimitReached {
		t.Errorf("past the end: %q %+v", got, st)
	}
	o.Offset, o.Limit, o.Mode = 0, 0, ModeCount
	if got, st := run(t, p, o); !strings.HasPrefix(got, "f00:10:10\n") || st.Lines != 500 {
		t.Errorf("counts: %s %+v", got, st)
	}
	o.Unordered, o.Mode = true, ModeFiles
	if got, _ := run(t, p, o); strings.Count(got, "\n") != 50 {
		t.Errorf("unordered: %s", got)
	}
}

func TestEncodings(t *testing.T) {
	dir := t.TempDir()
	text := "first\nsécond 😀 line\r\nlast"
	for name, big := range map[string]bool{"be": true, "le": false} {
		var b bytes.Buffer
		put := func(u uint16) {
			if big {
				b.Write([]byte{byte(u >> 8), byte(u)})
			} else {
				b.Write([]byte{byte(u), byte(u >> 8)})
			}
		}
		put(0xfeff)
		for range 20000 { // so that characters lie across reads and buffers
			for _, u := range utf16.Encode([]rune("é日😀\n")) {
				put(u)
			}
		}
		for _, u := range utf16.Encode([]rune(text)) {
			put(u)
		}
		write(t, filepath.Join(dir, name), b.String())
	}
	write(t, filepath.Join(dir, "bom"), "\xef\xbb\xbf"+text)
	got, _ := run(t, compile(t, "^sécond .* line$|^first", Options{}), under(dir))
	want := "be:20001:first\nbe:20002:sécond 😀 line\nbom:1:first\nbom:2:sécond 😀 line\nle:20001:first\nle:20002:sécond 😀 line\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, st := run(t, compile(t, "\ufffd", Options{}), under(dir)); got != "" || st.Binary != 0 {
		t.Errorf("decoding lost characters: %.200q", got)
	}
}

func TestBinary(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b"), "x\x00y\nhit\n")
	write(t, filepath.Join(dir, "t"), "hit\n")
	p := compile(t, "hit", Options{})
	o := under(dir)
	for mode, want := range map[BinaryMode]string{BinarySkip: "t:1:hit\n", BinaryReport: "b: binary\nt:1:hit\n", BinaryText: "b:2:hit\nt:1:hit\n"} {
		o.Binary = mode
		if got, st := run(t, p, o); got != want || mode != BinaryText && st.Binary != 1 {
			t.Errorf("mode %d: %q, want %q; %+v", mode, got, want, st)
		}
	}
	o = under(filepath.Join(dir, "b"))
	if got, _ := run(t, p, o); got != "b: binary\n" {
		t.Errorf("a binary file named directly: %q", got)
	}
}

func TestNamedFileIsSearchedThoughIgnored(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".gitignore"), "*.log\n")
	write(t, filepath.Join(dir, "a.log"), "hit\n")
	p := compile(t, "hit", Options{})
	if got, _ := run(t, p, under(dir)); got != "" {
		t.Errorf("ignored file was searched: %q", got)
	}
	if got, _ := run(t, p, under(filepath.Join(dir, "a.log"))); got != "a.log:1:hit\n" {
		t.Errorf("named file was not searched: %q", got)
	}
	o := under(dir)
	o.Roots = []string{filepath.Join(dir, "missing"), filepath.Join(dir, "a.log")}
	n := 0
	_, err := Search(context.Background(), p, o, func(Event) error { n++; return nil })
	if !errors.Is(err, os.ErrNotExist) || n != 1 {
		t.Errorf("a missing root: error %v, %d events", err, n)
	}
}

func TestMultiline(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "a\nfunc x(\n\tb,\n)\nc\nfunc y()\n")
	p := compile(t, `func \w+\([^)]*\)`, Options{Multiline: true})
	got, st := run(t, p, under(dir))
	if want := "f:2:func x(\nf:3:\tb,\nf:4:)\nf:6:func y()\n"; got != want || st.Matches != 2 || st.Lines != 4 {
		t.Errorf("got %q %+v", got, st)
	}
	o := under(dir)
	o.OnlyMatching = true
	if got, _ = run(t, p, o); got != "f:2:func x(\n\tb,\n)\nf:6:func y()\n" {
		t.Errorf("only matching: %q", got)
	}
	// Larger than the window, matches everywhere, one of them across each place where the window could move.
	var b strings.Builder
	want := int64(0)
	for b.Len() < 2*MaxMultilineMemory {
		fmt.Fprintf(&b, "begin %d\n%s\nend\n", want, strings.Repeat("x", 500))
		want++
	}
	write(t, filepath.Join(dir, "f"), b.String())
	o = under(dir)
	o.Mode = ModeCount
	if got, st = run(t, compile(t, `(?s)begin \d+\n.*?end\n`, Options{Multiline: true}), o); st.Matches != want || st.Lines != 3*want {
		t.Errorf("%s: matches %d lines %d, want %d and %d", got, st.Matches, st.Lines, want, 3*want)
	}
	if _, st = run(t, compile(t, `\Abegin`, Options{Multiline: true}), o); st.Matches != 1 {
		t.Errorf(`\A matched %d times`, st.Matches)
	}
	if _, st = run(t, compile(t, `end\n\z`, Options{Multiline: true}), o); st.Matches != 1 {
		t.Errorf(`\z matched %d times`, st.Matches)
	}
}

func TestWholeWordSpans(t *testing.T) {
	for _, c := range []struct{ expr, text, want string }{
		{"foo", "foo foo-foo food", "foo foo foo"},
		{"-bar", "-bar foo-bar -bar", "-bar -bar"},
		{`\w+`, "ab cd", "ab cd"},
		{`[a-z.]+`, "x.y z.", "x.y z."},
	} {
		p := compile(t, c.expr, Options{WholeWord: true})
		var got []string
		for _, m := range p.Spans([]byte(c.text), -1) {
			got = append(got, c.text[m[0]:m[1]])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q in %q: %q, want %q", c.expr, c.text, got, c.want)
		}
	}
}

func TestCancelAndEmitError(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		write(t, filepath.Join(dir, fmt.Sprintf("f%03d", i)), strings.Repeat("hit\n", 100))
	}
	p := compile(t, "hit", Options{})
	for _, unordered := range []bool{false, true} {
		o := under(dir)
		o.Unordered = unordered
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		_, err := Search(ctx, p, o, func(Event) error {
			if n++; n == 50 {
				cancel()
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) || n >= 30000 {
			t.Errorf("cancelled: %v after %d events", err, n)
		}
		boom := errors.New("boom")
		if _, err = Search(context.Background(), p, o, func(Event) error { return boom }); err != boom {
			t.Errorf("error of emit: %v", err)
		}
	}
}

// A search ends soon after it is cancelled, whatever it is at. The limit is a generous guard; with -v the times are shown.
func TestCancelIsPrompt(t *testing.T) {
	size := int64(32 << 20)
	if os.Getenv("SEVENGATE_GREP_BIG") != "" {
		size = 1 << 30
	}
	dir := t.TempDir()
	var b strings.Builder
	for i := range 64 << 10 {
		fmt.Fprintf(&b, "line %d of some text (without what is looked for)\n", i)
	}
	big := filepath.Join(dir, "big")
	for n := int64(0); n < size; n += int64(b.Len()) {
		f, err := os.OpenFile(big, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(b.String())
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	long := filepath.Join(dir, "long")
	longLine(t, long, size, "")
	for i := range 2000 {
		write(t, filepath.Join(dir, "many", fmt.Sprint(i%50), fmt.Sprint(i)), b.String()[:1000])
	}
	for _, c := range []struct {
		root, expr string
		opts       Options
	}{
		{big, "nothing_of_this", Options{}},
		{big, `[x-z]{3}[0-9]{2}`, Options{}},
		{big, `line (\d+ ){3}`, Options{Multiline: true}},
		{big, `\d+ of [^(]*\(with.*\)\n.*[xyz]`, Options{Multiline: true}},
		{big, `(?s)some.*nothing`, Options{Multiline: true}},
		{long, "b+$", Options{}},
		{filepath.Join(dir, "many"), "nothing", Options{}},
	} {
		p := compile(t, c.expr, c.opts)
		for _, after := range []time.Duration{0, 2 * time.Millisecond, 20 * time.Millisecond} {
			ctx, cancel := context.WithCancel(context.Background())
			cancelled := make(chan time.Time, 1)
			timer := time.AfterFunc(after, func() { cancelled <- time.Now(); cancel() })
			_, err := Search(ctx, p, SearchOptions{Roots: []string{c.root}, Mode: ModeCount, Binary: BinaryText}, func(Event) error { return nil })
			ended := time.Now()
			if timer.Stop() {
				cancel()
				continue // the search was faster
			}
			took := ended.Sub(<-cancelled)
			t.Logf("%s in %s: ended %v after the end of its context: %v", c.expr, filepath.Base(c.root), took, err)
			if took > 2*time.Second {
				t.Errorf("%s in %s: went on for %v", c.expr, filepath.Base(c.root), took)
			}
		}
	}
}

// longLine writes a file of n bytes 'a' without a line feed, made without holding it.
func longLine(t testing.TB, path string, n int64, tail string) {
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	chunk := bytes.Repeat([]byte("a"), 1<<20)
	for ; n > 0; n -= int64(len(chunk)) {
		if _, err := f.Write(chunk[:min(n, int64(len(chunk)))]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.WriteString(tail); err != nil {
		t.Fatal(err)
	}
}

func peak(f func()) uint64 {
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	done, top := make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		for {
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse)
			select {
			case <-done:
				top <- most
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	f()
	close(done)
	if m := <-top; m > before.HeapInuse {
		return m - before.HeapInuse
	}
	return 0
}

func TestLongLineInBoundedMemory(t *testing.T) {
	size := int64(48 << 20)
	if os.Getenv("SEVENGATE_GREP_BIG") != "" {
		size = 2 << 30
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "long")
	longLine(t, path, size, "needle\nsecond\nthird needle")
	for _, expr := range []string{"needle$", `[n-o]e+dle`, "needle"} {
		p := compile(t, expr, Options{})
		o := under(dir)
		o.MaxLineBytes, o.Before = 10, 1
		var got string
		used := peak(func() { got, _ = run(t, p, o) })
		if want := "long:1:aaaaaaaaaa\nlong-2-second\nlong:3:third need\n"; got != want {
			t.Errorf("%s: got %q", expr, got)
		}
		if used > 64<<20 {
			t.Errorf("%s: %d MiB of memory", expr, used>>20)
		}
	}
	o := under(dir)
	o.Mode = ModeCount
	used := peak(func() { run(t, compile(t, "a", Options{Multiline: true}), o) })
	if used > 64<<20 {
		t.Errorf("multiline: %d MiB of memory", used>>20)
	}
}

// What a file yields does not depend on where its buffers end.
func TestBuffersDoNotShow(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	var want []string
	re := regexp.MustCompile(`k[0-9]+z`)
	for i := 0; b.Len() < 5*bufferBytes; i++ {
		line := fmt.Sprintf("%s k%dz", strings.Repeat("y", i*7919%3000), i)
		if i%3 == 0 {
			line = strings.Replace(line, "z", "w", 1)
		}
		if re.MatchString(line) {
			want = append(want, fmt.Sprintf("f:%d:%s", i+1, line))
		}
		b.WriteString(line + "\n")
	}
	write(t, filepath.Join(dir, "f"), b.String())
	got, st := run(t, compile(t, re.String(), Options{}), under(dir))
	if got != strings.Join(want, "\n")+"\n" || st.Bytes != int64(b.Len()) {
		t.Errorf("%s", firstDifference(got, strings.Join(want, "\n")+"\n"))
	}
	o := under(dir)
	o.Before, o.After = 3, 3
	got, _ = run(t, compile(t, re.String(), Options{}), o)
	if n := strings.Count(got, "\n"); n != strings.Count(b.String(), "\n") {
		t.Errorf("with context %d lines of %d", n, strings.Count(b.String(), "\n"))
	}
}

// A line that no window holds is one line, in all modes, also where a match of several lines may begin in it.
func TestLongLinesCountOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	line := strings.Repeat("hit and something else "+strings.Repeat("x", 4000), 5*MaxMultilineMemory/2/4000)
	const short = 3000 // lines, more than fit in a window
	write(t, filepath.Join(dir, "f"), "first hit\n"+line+"\nno\nlast hit\n"+strings.Repeat("short hit"+strings.Repeat("x", 2000)+"\n", short)+line)
	for _, o := range []Options{{}, {Multiline: true}} {
		p := compile(t, "hit", o)
		so := under(dir)
		so.Mode = ModeCount
		if _, st := run(t, p, so); st.Lines != 4+short {
			t.Errorf("%+v: counted %d lines, want %d", o, st.Lines, 4+short)
		}
		so = under(dir)
		so.Limit, so.MaxLineBytes, so.After = 6, 20, 1
		want := "f:1:first hit\nf:2:hit and something el\nf-3-no\nf:4:last hit\nf:5:short hitxxxxxxxxxxx\nf:6:short hitxxxxxxxxxxx\n"
		if got, _ := run(t, p, so); got != want {
			t.Errorf("%+v: got %q, want %q", o, got, want)
		}
	}
}

// An empty match right after a match counts for its line, as in ripgrep.
func TestEmptyMatchesBehindMatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "a\n\nb\na\n\n\nc\naa\n")
	for _, expr := range []string{`a\n|`, `a\n|x*`, `a\n|^`, `\n|x*`} {
		if _, st := run(t, compile(t, expr, Options{Multiline: true}), under(dir)); st.Lines != 8 {
			t.Errorf("%s: %d lines", expr, st.Lines)
		}
	}
	if got, st := run(t, compile(t, `a\n|\A`, Options{Multiline: true}), under(dir)); st.Lines != 3 {
		t.Errorf("%d lines: %s", st.Lines, got)
	}
}
