package walk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func tree(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		name, content, _ := strings.Cut(f, "=")
		write(t, filepath.Join(dir, name), content)
	}
	return dir
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q want %q", what, got, want)
	}
}

func TestRulesOutsideOfARepository(t *testing.T) {
	dir := tree(t, "up/.gitignore=*", "up/r/.gitignore=*.log\n", "up/r/a.log", "up/r/b.go", "up/r/.hid", "up/r/.git/config", "up/r/sub/.ignore=!c.log", "up/r/sub/c.log", "up/r/sub/.rgignore=d*", "up/r/sub/d.go")
	os.RemoveAll(filepath.Join(dir, "up/r/.git"))
	root := filepath.Join(dir, "up/r")
	o := Options{Root: root, Getenv: noEnv(dir)}
	got, st := collect(t, o)
	same(t, "default", got, "b.go", "sub/c.log")
	if st.Ignored != 2 || st.Hidden != 4 {
		t.Errorf("stats %+v", st)
	}
	o.NoIgnore, o.Hidden = true, true
	got, _ = collect(t, o)
	same(t, "all", got, ".gitignore", ".hid", "a.log", "b.go", "sub/.ignore", "sub/.rgignore", "sub/c.log", "sub/d.go")
}

func TestRootInsideARepositoryAndWorkTrees(t *testing.T) {
	dir := tree(t, "r/.git/info/exclude=x*\n", "r/.gitignore=*.log\n/sub/deep/anchored\n", "r/sub/.gitignore=!keep.log",
		"r/sub/deep/a.log", "r/sub/deep/keep.log", "r/sub/deep/anchored", "r/sub/deep/x1", "r/sub/deep/y",
		"r/sub/deep/nested/.git/config", "r/sub/deep/nested/b.log",
		"wt/.git=gitdir: ../r/.git/worktrees/wt\n", "r/.git/worktrees/wt/commondir=../..\n", "wt/x2", "wt/y2")
	got, _ := collect(t, Options{Root: filepath.Join(dir, "r/sub/deep"), Getenv: noEnv(dir)})
	same(t, "below", got, "keep.log", "nested/b.log", "y")
	got, _ = collect(t, Options{Root: filepath.Join(dir, "wt"), Getenv: noEnv(dir), Hidden: true})
	same(t, "work tree", got, "y2")
	got, _ = collect(t, Options{Root: filepath.Join(dir, "r/sub/deep/a.log"), Getenv: noEnv(dir)})
	same(t, "ignored file as root", got, "a.log")
}

func TestGlobsAndTypes(t *testing.T) {
	dir := tree(t, "a.go", "b.ts", "c.tsx", "src/d.go", "src/x/e.tsx", "vendor/f.go", "G.GO")
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Globs: []string{"**/*.{ts,tsx}"}}, "b.ts c.tsx src/x/e.tsx"},
		{Options{Globs: []string{"*.go", "!vendor/**"}}, "a.go src/d.go"},
		{Options{Globs: []string{"!vendor"}, Types: []string{"go"}}, "a.go src/d.go"},
		{Options{Globs: []string{"*.go"}, AnchorGlobs: true}, "a.go"},
		{Options{Globs: []string{"src/**/*.tsx"}}, "src/x/e.tsx"},
		{Options{Globs: []string{"src/*"}}, "src/d.go"},
		{Options{Globs: []string{"src/d.go"}}, "src/d.go"},
		{Options{Globs: []string{"*.go"}, CaseInsensitive: true}, "G.GO a.go src/d.go vendor/f.go"},
		{Options{NotTypes: []string{"go"}}, "G.GO b.ts c.tsx src/x/e.tsx"},
		{Options{Types: []string{"ts"}, MaxDepth: 2}, "b.ts c.tsx"},
		{Options{Globs: []string{"[ab].*"}}, "a.go b.ts"},
	} {
		c.o.Root, c.o.NoGlobal = dir, true
		got, _ := collect(t, c.o)
		same(t, fmt.Sprintf("%+v", c.o.Globs), got, strings.Fields(c.want)...)
	}
	for _, o := range []Options{{Globs: []string{"a\x00b"}}, {Globs: []string{"["}}, {Globs: []string{"{a"}}, {Globs: []string{""}}, {Types: []string{"nope"}}, {Root: "a\x00"}} {
		if _, err := Walk(context.Background(), o, func(Entry) error { return nil }); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	if _, err := Walk(context.Background(), Options{Root: filepath.Join(dir, "missing")}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing root: %v", err)
	}
}

func TestLinks(t *testing.T) {
	dir := tree(t, "r/a", "r/d/b", "out/secret", "out/open")
	for link, to := range map[string]string{"r/loop": "..", "r/d/self": ".", "r/file": "../out/open", "r/denied": "../out/secret", "r/gone": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	root, _ := filepath.EvalSymlinks(dir)
	o := Options{Root: filepath.Join(root, "r"), NoGlobal: true}
	got, st := collect(t, o)
	same(t, "skip", got, "a", "d/b")
	if st.Links != 5 {
		t.Errorf("links %d", st.Links)
	}
	o.Links = LinksList
	got, _ = collect(t, o)
	same(t, "list", got, "a", "d/b", "d/self", "denied", "file", "gone", "loop")
	o.Links, o.Sorted = LinksFollow, true
	o.Skip = func(p string, _ fs.FileMode) bool { return p == filepath.Join(root, "out/secret") }
	got, st = collect(t, o)
	same(t, "follow", got, "a", "d/b", "file", "loop/out/open")
	if st.Skipped != 2 || st.Unreadable != 1 {
		t.Errorf("follow: %+v", st)
	}
	if err := os.Symlink("out", filepath.Join(root, "way")); err != nil {
		t.Fatal(err)
	}
	o.Root, o.Links = filepath.Join(root, "way"), LinksSkip
	got, _ = collect(t, o)
	same(t, "a link as root", got, "open")
}

func TestSkipEndAndErrors(t *testing.T) {
	dir := tree(t, "a", "deny/b", "c/d")
	o := Options{Root: dir, NoGlobal: true, Skip: func(p string, typ fs.FileMode) bool { return typ.IsDir() && filepath.Base(p) == "deny" }}
	got, st := collect(t, o)
	same(t, "skip", got, "a", "c/d")
	if st.Skipped != 1 {
		t.Errorf("%+v", st)
	}
	o.Skip = func(string, fs.FileMode) bool { return true }
	got, _ = collect(t, o)
	same(t, "root refused", got)
	boom := errors.New("boom")
	if _, err := Walk(context.Background(), Options{Root: dir}, func(Entry) error { return boom }); err != boom {
		t.Errorf("error of visit: %v", err)
	}
	if _, err := Walk(context.Background(), Options{Root: dir}, func(Entry) error { return SkipAll }); err != nil {
		t.Errorf("SkipAll: %v", err)
	}
	o = Options{Root: dir, NoGlobal: true, Dirs: true, Sorted: true}
	got, _ = collect(t, o)
	same(t, "dirs", got, "a", "c", "c/d", "deny", "deny/b")
}

func TestLargeDirectoryAndCancel(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 * dirBatch {
		write(t, filepath.Join(dir, fmt.Sprintf("f%05d", i)), "")
	}
	write(t, filepath.Join(dir, ".gitignore"), "*7\n")
	got, st := collect(t, Options{Root: dir, NoGlobal: true})
	if want := 3*dirBatch - int(st.Ignored); len(got) != want || st.Ignored < 300 {
		t.Errorf("%d files, %+v", len(got), st)
	}
	for _, sorted := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		var n atomic.Int64
		_, err := Walk(ctx, Options{Root: dir, Sorted: sorted}, func(Entry) error {
			if n.Add(1) == 10 {
				cancel()
			}
			time.Sleep(time.Millisecond)
			return nil
		})
		if !errors.Is(err, context.Canceled) || n.Load() > 2000 {
			t.Errorf("cancelled: %v after %d files", err, n.Load())
		}
	}
}

func TestTypesTable(t *testing.T) {
	types := Types()
	if len(types) < 100 {
		t.Fatalf("%d types", len(types))
	}
	for _, ft := range types {
		for _, g := range ft.Globs {
			if err := ValidGlob(g); err != nil {
				t.Errorf("type %s: %v", ft.Name, err)
			}
		}
	}
	if !MatchGlob("*.rs", "src/main.rs") || MatchGlob("/*.rs", "src/main.rs") || !MatchGlob("!*.rs", "a.go") {
		t.Error("MatchGlob")
	}
}

func BenchmarkWalk(b *testing.B) {
	for b.Loop() {
		var n atomic.Int64
		if _, err := Walk(context.Background(), Options{Root: "/usr/local/go", NoGlobal: true}, func(Entry) error { n.Add(1); return nil }); err != nil {
			b.Skip(err)
		}
	}
}
