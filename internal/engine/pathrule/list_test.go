package pathrule

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAnExceptionHoldsWhateverCoversIt(t *testing.T) {
	root := tree(t, "src/x.go", "src/y.go", "src/sub/x.go", "lib/src/x.go", "src/keep/a", "secret/k")
	a := Anchor{SourceDir: root, Cwd: root, Home: root}
	for _, c := range []struct {
		rules string
		path  string
		want  bool
	}{
		{"src/** !src/x.go", "src/x.go", false},
		{"src/** !src/x.go", "src/y.go", true},
		{"src/** !src/x.go", "src/sub/x.go", true},
		{"src/** !src/x.go", "lib/src/x.go", true},
		{"/src/** !/src/x.go", "src/x.go", false},
		{"./src/** !./src/x.go", "src/x.go", false},
		{"src/** !x.go", "src/sub/x.go", true}, // src/sub itself is covered, and nothing in a covered folder is excepted
		{"src/** !src/keep/**", "src/keep/a", true},
		{"src/* !src/keep !src/keep/**", "src/keep/a", false},
		{"!src/x.go src/**", "src/x.go", true}, // the last one decides
		{"src !src/x.go", "src/x.go", true},    // the folder itself is covered
		{"secret/k !secret/k", "secret/k", false},
	} {
		for _, home := range []string{root, ""} { // with and without a second spelling of the same pattern
			var rules []*Rule
			for p := range strings.FieldsSeq(c.rules) {
				rules = append(rules, compile(t, p, Anchor{a.SourceDir, a.Cwd, home}, DenyAsk))
			}
			if got := NewList(rules...).Match(resolve(t, c.path, root)) != nil; got != c.want {
				t.Errorf("%s on %s = %v, want %v", c.rules, c.path, got, c.want)
			}
		}
	}
}

func TestIdentityIsLookedUpAnew(t *testing.T) {
	root := tree(t, "p/.env", "p/sub/f", "q/other", "vault/k")
	a := Anchor{SourceDir: root + "/p", Cwd: root + "/p", Home: root}
	few := NewList(compile(t, ".env", a, DenyAsk), compile(t, "current/**", a, DenyAsk))
	many := []*Rule{compile(t, ".env", a, DenyAsk), compile(t, "current/**", a, DenyAsk)}
	for i := range 3 * fewFolders {
		dir := fmt.Sprintf("%s/p/d%d", root, i)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		many = append(many, compile(t, fmt.Sprintf("d%d/key", i), a, DenyAsk))
	}
	lists := map[string]List{"few folders": few, "many folders": NewList(many...)}
	match := func(name, path string, want bool) {
		t.Helper()
		if got := lists[name].Match(resolve(t, path, root)) != nil; got != want {
			t.Errorf("%s, %s: %v, want %v", name, path, got, want)
		}
	}
	for name := range lists {
		match(name, "q/other", false)
		match(name, "vault/k", false)
	}
	// A file that is put in the place of the guarded one, and has another name as well.
	if err := os.Remove(filepath.Join(root, "p/.env")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(root, "q/other"), filepath.Join(root, "p/.env")); err != nil {
		t.Skipf("no hard links here: %v", err)
	}
	for name := range lists {
		match(name, "q/other", true)
	}
	// A link that is made later.
	if err := os.Symlink("../vault", filepath.Join(root, "p/current")); err != nil {
		t.Skip(err)
	}
	match("few folders", "vault/k", true)
	match("few folders", "vault/new", true)
}

// TestIndexProperty: a list finds what its rules match one by one.
func TestIndexProperty(t *testing.T) {
	root := tree(t, "a/b/c", "a/B", "b/a/c", "link -> a", "b/up -> ../a/b")
	a := Anchor{SourceDir: filepath.Join(root, "a"), Cwd: root, Home: filepath.Join(root, "b")}
	part := rapid.SampledFrom([]string{"a", "b", "c", "A", "B", "é", "É", "*", "**", "a*", "*c", "[ab]", "[A-Z]", "[!a]", "?", "link", "up", "x[", "[[:upper:]]"})
	name := rapid.SampledFrom([]string{"a", "b", "c", "A", "B", "é", "e\u0301", "link", "up", "new", "ac", "..", "x["})
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom([]Kind{Allow, DenyAsk}).Draw(rt, "kind")
		var rules []*Rule
		for range rapid.IntRange(1, 6).Draw(rt, "rules") {
			text := rapid.SampledFrom([]string{"", "./", "/", "~/", "/" + root + "/", "//**/", "../"}).Draw(rt, "anchor") +
				strings.Join(rapid.SliceOfN(part, 1, 4).Draw(rt, "pattern"), "/")
			if r, err := Compile(text, a, kind); err == nil {
				rules = append(rules, r)
			}
		}
		list := NewList(rules...)
		for range 4 {
			path, err := Resolve(strings.Join(rapid.SliceOfN(name, 1, 4).Draw(rt, "path"), "/"), root, a.Home)
			if err != nil {
				continue
			}
			var want *Rule
			for _, r := range rules {
				if r.Match(path) {
					want = r
					break
				}
			}
			got := list.Match(path)
			if (got == nil) != (want == nil) || got != nil && !got.Match(path) {
				rt.Fatalf("%+v: the list gives %v, the rules %v", path, pattern(got), pattern(want))
			}
		}
	})
}

func pattern(r *Rule) string {
	if r == nil {
		return "none"
	}
	return r.pattern
}
