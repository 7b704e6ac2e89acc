package inner

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a=b=c", "0", "-12", "+1", "-", " a\tb \n", "999999999999999999", "1000000000000000000", "-0", "٣", "a\x00b"} {
		f.Add(s, byte('='), 7)
	}
	f.Fuzz(func(t *testing.T, s string, sep byte, n int) {
		if n > -1<<62 && itoa(n) != strconv.Itoa(n) {
			t.Errorf("itoa(%d) = %s", n, itoa(n))
		}
		got, err := atoi(s)
		if want, wantErr := strconv.Atoi(s); err == nil && (wantErr != nil || got != want) {
			t.Errorf("atoi(%q) = %d, must be %d, %v", s, got, want, wantErr)
		} else if err != nil && wantErr == nil && s[0] != '+' && len(strings.TrimLeft(s, "-")) <= 18 {
			t.Errorf("atoi(%q): %v", s, err)
		}
		before, after, found := cut(s, sep)
		if b, a, ok := strings.Cut(s, string([]byte{sep})); before != b || after != a || found != ok {
			t.Errorf("cut(%q, %q) = %q, %q, %v", s, sep, before, after, found)
		}
		if got, want := split(s, sep), strings.Split(s, string([]byte{sep})); !slices.Equal(got, want) {
			t.Errorf("split(%q, %q) = %q", s, sep, got)
		}
		if got, want := fields(s), strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }); !slices.Equal(got, want) {
			t.Errorf("fields(%q) = %q", s, got)
		}
		if q := quote(s); strings.ContainsFunc(q, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("quote(%q) = %q", s, q)
		}
	})
}

func TestNumbersOfWords(t *testing.T) {
	for n := -12_000; n < 12_000; n++ {
		if back, err := atoi(itoa(n)); err != nil || back != n || itoa(n) != strconv.Itoa(n) {
			t.Fatal(n, back, err)
		}
	}
}
