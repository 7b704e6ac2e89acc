package pathrule

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// TestResolveProperty compares Resolve with what the kernel does on random trees of folders and links.
func TestResolveProperty(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	names := []string{"a", "b", "c"}
	rapid.Check(t, func(rt *rapid.T) {
		root := tree(t)
		defer os.RemoveAll(root)
		part := rapid.SampledFrom([]string{"a", "b", "c", "..", "."})
		for range rapid.IntRange(1, 8).Draw(rt, "entries") {
			dir := filepath.Join(root, filepath.Join(rapid.SliceOfN(rapid.SampledFrom(names), 0, 2).Draw(rt, "dir")...))
			if os.MkdirAll(dir, 0o755) != nil {
				continue
			}
			path := filepath.Join(dir, rapid.SampledFrom(names).Draw(rt, "name"))
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				_ = os.WriteFile(path, nil, 0o644)
			case 1:
				_ = os.Mkdir(path, 0o755)
			default:
				target := strings.Join(rapid.SliceOfN(part, 1, 3).Draw(rt, "target"), "/")
				if rapid.Bool().Draw(rt, "absolute") {
					target = root + "/" + target
				}
				_ = os.Symlink(target, path)
			}
		}
		given := strings.Join(rapid.SliceOfN(part, 1, 5).Draw(rt, "path"), "/")
		raw := root + "/" + given
		r, err := Resolve(given, root, "")
		if err != nil {
			if _, kernel := os.Stat(raw); !errors.Is(kernel, syscall.ELOOP) && !errors.Is(kernel, os.ErrNotExist) && !errors.Is(kernel, syscall.ENOTDIR) {
				rt.Fatalf("%v, but the kernel says %v", err, kernel)
			}
			return
		}
		if !filepath.IsAbs(r.Given) || filepath.Clean(r.Given) != r.Given || !filepath.IsAbs(r.Real) || filepath.Clean(r.Real) != r.Real {
			rt.Fatalf("not clean: %+v", r)
		}
		// Nothing on the way to Real may be a link.
		for p := r.Real; p != "/"; p = filepath.Dir(p) {
			if info, err := os.Lstat(p); err == nil && info.Mode()&os.ModeSymlink != 0 {
				rt.Fatalf("%s: %s is a link", given, p)
			}
		}
		if want, err := filepath.EvalSymlinks(raw); err == nil {
			// EvalSymlinks cleans text first where the kernel does not; trust it only if it names the same file.
			a, errA := os.Stat(raw)
			b, errB := os.Stat(want)
			if errA == nil && errB == nil && os.SameFile(a, b) && r.Real != want {
				rt.Fatalf("%s: real %s, want %s", given, r.Real, want)
			}
		}
		opened, err := os.Stat(raw)
		if err != nil {
			return
		}
		for _, p := range []string{r.Given, r.Real} {
			got, err := os.Stat(p)
			if err != nil || !os.SameFile(opened, got) || !r.Exists {
				rt.Fatalf("%s: %s is another file than the kernel opens (%v)", given, p, err)
			}
		}
	})
}

// TestResolveCreates checks that a file created through a spelling that does not exist yet appears at Real.
func TestResolveCreates(t *testing.T) {
	root := tree(t, "out/", "in/", "in/dangling -> ../out/new", "in/dir -> ../out", "in/far -> dangling2", "in/dangling2 -> ROOT/out/other")
	for _, path := range []string{"in/dangling", "in/dir/x", "in/dir/../y", "in/far", "z"} {
		r := resolve(t, path, root)
		if r.Exists {
			t.Fatalf("%s exists already", path)
		}
		if err := os.WriteFile(root+"/"+path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(r.Real); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: nothing at %s: %v", path, r.Real, err)
		}
	}
}

func TestInsideProperty(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the reference speaks Unix paths")
	}
	part := rapid.SampledFrom([]string{"a", "ab", "b", "..", ".", "", "a b", "A"})
	path := rapid.Custom(func(rt *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(part, 0, 5).Draw(rt, "parts"), "/")
	})
	rapid.Check(t, func(rt *rapid.T) {
		root, p := path.Draw(rt, "root"), path.Draw(rt, "path")
		rel, err := filepath.Rel(root, p)
		want := err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
		if Inside(root, p) != want {
			rt.Fatalf("Inside(%q, %q) = %v", root, p, !want)
		}
		if want && !InsideFold(root, p) {
			rt.Fatalf("InsideFold(%q, %q) is stricter than Inside", root, p)
		}
	})
}

// TestEscapeProperty: an escaped path matches itself, for every kind of rule, and no other name beside it.
func TestEscapeProperty(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("these names cannot exist on Windows")
	}
	name := rapid.StringMatching(`[a-c*?\[\]!\\(){} ~$#-]{1,6}`).Filter(func(s string) bool { return s != "." && s != ".." })
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(name, 1, 3).Draw(rt, "parts")
		path := "/none-such/" + strings.Join(parts, "/")
		a := Anchor{SourceDir: "/none-such", Cwd: "/none-such"}
		for _, text := range []string{path, strings.TrimPrefix(path, "/none-such/")} {
			for _, k := range []Kind{Allow, DenyAsk} {
				rule, err := Compile(Escape(text), a, k)
				if err != nil {
					rt.Fatalf("%q: %v", Escape(text), err)
				}
				r := Resolved{Given: path, Real: path}
				if !rule.Match(r) {
					rt.Fatalf("%q does not match %q", Escape(text), path)
				}
				if other := path + "x"; rule.Match(Resolved{Given: other, Real: other}) {
					rt.Fatalf("%q matches %q", Escape(text), other)
				}
			}
		}
	})
}

// TestLooseCoversStrict: whatever an allow rule covers, the same text as a deny rule covers too.
func TestLooseCoversStrict(t *testing.T) {
	pattern := rapid.StringMatching(`(//|/|~/|\./)?([a-cA-C*?.]{1,3}|\*\*|\[a-b\]|\[!a\])(/([a-cA-C*?.]{1,3}|\*\*|\[[a-c]\])){0,3}/?`)
	path := rapid.StringMatching(`/w(/[a-cA-C]{1,3}){0,4}`)
	rapid.Check(t, func(rt *rapid.T) {
		a := Anchor{SourceDir: "/w", Cwd: "/w/a", Home: "/w/b"}
		text, p := pattern.Draw(rt, "pattern"), path.Draw(rt, "path")
		allow, err := Compile(text, a, Allow)
		if err != nil {
			return
		}
		deny, err := Compile(text, a, DenyAsk)
		if err != nil {
			rt.Fatal(err)
		}
		r := Resolved{Given: p, Real: p}
		if allow.Match(r) && !deny.Match(r) {
			rt.Fatalf("%q covers %s as allow but not as deny", text, p)
		}
		for q := p; allow.Match(r) && q != "/w"; q = filepath.Dir(q) {
			if deeper := p + "/x/y"; !allow.Match(Resolved{Given: deeper, Real: deeper}) {
				rt.Fatalf("%q covers %s but not %s", text, p, deeper)
			}
		}
		if list := NewList(deny); (list.Match(r) != nil) != deny.Match(r) {
			rt.Fatal("a list of one rule differs from the rule")
		}
	})
}

// TestGitignore compares lists of patterns with git itself, where both mean the same.
func TestGitignore(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("needs git to compare with")
	}
	root := tree(t, "none")
	run := func(stdin string, args ...string) string {
		cmd := exec.Command(git, args...)
		cmd.Dir = root
		cmd.Stdin = strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	run("", "init", "-q")
	component := `(a|b|ab|\*|a\*|\*b|\?|\[ab\]|\[!a\]|\*\*|a\*b|\\a|\\\*)`
	pattern := rapid.StringMatching(`!?/?` + component + `(/` + component + `){0,3}`)
	path := rapid.StringMatching(`(a|b|ab|ba|aab|\*)(/(a|b|ab|ba|aab)){0,3}`)
	a := Anchor{SourceDir: root, Cwd: root}
	rapid.Check(t, func(rt *rapid.T) {
		patterns := rapid.SliceOfN(pattern, 1, 4).Draw(rt, "patterns")
		paths := rapid.SliceOfNDistinct(path, 1, 12, rapid.ID[string]).Draw(rt, "paths")
		var rules []*Rule
		for _, p := range patterns {
			text := p
			if rest, _ := strings.CutPrefix(p, "!"); singleBelow(rest) {
				// Stated difference: dir/** closes at any depth; pin it for the comparison.
				text = strings.Replace(p, rest, "/"+rest, 1)
			}
			r, err := Compile(text, a, DenyAsk)
			if err != nil {
				rt.Fatal(err)
			}
			rules = append(rules, r)
		}
		if err := os.WriteFile(filepath.Join(root, ".gitignore"), []byte(strings.Join(patterns, "\n")+"\n"), 0o644); err != nil {
			rt.Fatal(err)
		}
		ignored := map[string]bool{}
		for line := range strings.Lines(run(strings.Join(paths, "\n")+"\n", "check-ignore", "--no-index", "--stdin")) {
			ignored[strings.TrimSpace(line)] = true
		}
		list := NewList(rules...)
		for _, p := range paths {
			full := filepath.Join(root, p)
			got := list.Match(Resolved{Given: full, Real: full}) != nil
			if got == ignored[p] {
				continue
			}
			// Stated difference: a pattern ending in /** covers the folder itself.
			if got && len(rules) > 0 && coversItself(rules, full) {
				continue
			}
			rt.Fatalf("patterns %q, path %q: we say %v, git says %v", patterns, p, got, ignored[p])
		}
	})
}

func singleBelow(pattern string) bool {
	head, ok := strings.CutSuffix(pattern, "/**")
	if !ok || head == "" {
		return false
	}
	return !strings.Contains(head, "/") || strings.HasSuffix(head, "/**") && singleBelow(head)
}

// coversItself tells whether some rule with a trailing /** names the path as its own folder.
func coversItself(rules []*Rule, native string) bool {
	segs := rootedSegments(native)
	for _, r := range rules {
		if r.below && r.names(segs, true, r.exact) != r.names(segs, false, r.exact) {
			return true
		}
	}
	return false
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{"src/**", "//**/.env", "~/x", "[!a-]b]", `\`, "!", "a(b", "../..", "[[:alpha:]]", "\xff*", "**/**/**/a", "!!x", "$HOME"} {
		f.Add(s, "/w/src/a")
	}
	a := Anchor{SourceDir: "/w", Cwd: "/w", Home: "/h"}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if strings.ContainsRune(path, 0) || len(path) > MaxPath/4 {
			return
		}
		path = filepath.Join("/w", path)
		r := Resolved{Given: path, Real: path}
		deny, err := Compile(pattern, a, DenyAsk)
		if err != nil {
			if len(pattern) <= MaxPattern && trimBlanks(pattern) != "" {
				t.Fatalf("deny %q: %v", pattern, err)
			}
			return
		}
		allow, err := Compile(pattern, a, Allow)
		if err == nil && !allow.Negated() && allow.Match(r) && !deny.Match(r) {
			t.Fatalf("%q covers %q as allow but not as deny", pattern, path)
		}
		NewList(deny).Match(r)
		if rule, err := Compile(Escape(path), a, Allow); err != nil || !rule.Match(r) {
			t.Fatalf("escaped %q does not match: %v", path, err)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	a := Anchor{SourceDir: "/w", Cwd: "/w", Home: "/h"}
	rule := compile(b, "**/node_modules/**", a, DenyAsk)
	r := resolve(b, "/w/src/deep/folder/of/things/main.go", "/w")
	for b.Loop() {
		rule.Match(r)
	}
}

func BenchmarkResolve(b *testing.B) {
	root := tree(b, "a/b/c/d")
	for b.Loop() {
		if _, err := Resolve("a/b/c/d", root, ""); err != nil {
			b.Fatal(err)
		}
	}
}
