package ignore

import (
	"strings"
	"testing"
	"time"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		dir, want     bool
	}{
		{"*.go", "a/b.go", false, true},
		{"/a", "b/a", false, false},
		{"a/", "a", false, false},
		{"a/", "x/a", true, true},
		{"a/**/b", "a/b", false, true},
		{"a/**/b", "a/x/y/b", false, true},
		{"a/**", "a", true, false},
		{"a/**", "a/b/c", false, true},
		{"**/b/*", "x/b/c", false, true},
		{"a**b/c", "axx/b/c", false, false},
		{"[!a]x", "bx", false, true},
		{"[[:digit:]]", "7", false, true},
		{"[", "[", false, false},
		{`\#a`, "#a", false, true},
		{`a\ `, "a ", false, true},
		{"a  ", "a", false, true},
	} {
		p, ok := Parse(c.pattern, Options{})
		if !ok || p.Match(c.path, c.dir) != c.want {
			t.Errorf("%q on %q: %v (parsed %v), want %v", c.pattern, c.path, !c.want, ok, c.want)
		}
	}
	p, _ := Parse("src/[A-C]*", Options{CaseInsensitive: true})
	if !p.Match("SRC/bx", false) || !p.Covers("src/a/deep/file", false) || p.Covers("srcs/a", false) {
		t.Error("case or cover")
	}
}

// A hostile pattern costs no more than pattern times path.
func TestHostilePatternsEnd(t *testing.T) {
	begin := time.Now()
	for _, s := range []string{strings.Repeat("**/", 200) + "x", strings.Repeat("*a", 100) + "b", strings.Repeat("**/*a*/", 50) + "b"} {
		p, _ := Parse(s, Options{})
		if p.Match(strings.Repeat("aaaa/", 400)+strings.Repeat("a", 2000), false) {
			t.Errorf("%.20q matches", s)
		}
	}
	if d := time.Since(begin); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
}

func FuzzList(f *testing.F) {
	f.Add("*.go\n!a[b\n/x/**/y\\ ", "x/a/y ", true)
	f.Fuzz(func(t *testing.T, list, path string, dir bool) {
		l := ParseList([]byte(list), Options{CaseInsensitive: dir})
		if d, p := l.DecideTree(path, dir); (d == None) != (p == nil) {
			t.Errorf("decision %v with pattern %v", d, p)
		}
	})
}
