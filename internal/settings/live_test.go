package settings

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const oneAllow = `{"permissions": {"allow": ["A"], "deny": ["D"], "additionalDirectories": ["../x"], "defaultMode": "acceptEdits"}, "env": {"V": "1"}, "hooks": {"Stop": [{}]}}`

func TestProjectWaitsForTrust(t *testing.T) {
	w := newWorld(t)
	w.write("proj/.claude/settings.json", oneAllow)
	s := w.load()
	p := s.Settings.Permissions
	if texts(p.Allow, true) != "" || texts(p.AdditionalDirectories, true) != "" || texts(p.Allow, false) != "A" || texts(p.Deny, true) != "D" || p.DefaultMode != "" {
		t.Errorf("untrusted: %+v", p)
	}
	if !s.Settings.Env[0].Untrusted || !s.Settings.Hooks[0].Untrusted || !strings.Contains(s.Report(), "1 of permissions.allow") {
		t.Error(s.Report())
	}
	w.trust()
	s = w.load()
	p = s.Settings.Permissions
	if texts(p.Allow, true) != "A" || texts(p.AdditionalDirectories, true) != "../x" || p.DefaultMode != "acceptEdits" || s.Settings.Env[0].Untrusted || !s.Trust.Trusted {
		t.Errorf("trusted: %+v", p)
	}
	// Trust in a folder is not trust in one below it, nor in a name that merely starts alike.
	inner := w.o
	for _, name := range []string{"proj/inner", "proj2"} {
		inner.Dir = filepath.Join(filepath.Dir(w.o.Dir), name)
		w.write(name+"/.claude/settings.json", oneAllow)
		s, err := Load(context.Background(), inner)
		if err != nil {
			t.Fatal(err)
		}
		if s.Trust.Trusted || s.Trust.Parent != (name == "proj/inner") || texts(s.Settings.Permissions.Allow, true) != "" {
			t.Errorf("%s: %+v", name, s.Trust)
		}
	}
}

func TestTrustStore(t *testing.T) {
	w := newWorld(t)
	state := filepath.Join(w.o.Home, ownFolder)
	store := OpenTrust(state, w.o.Home)
	is := func(s *TrustStore, dir string) bool {
		t.Helper()
		ok, err := s.Trusted(dir)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if is(store, w.o.Dir) {
		t.Error("trusted from the start")
	}
	if err := store.SetTrust(w.o.Dir, true); err != nil || !is(store, w.o.Dir) || !is(OpenTrust(state, w.o.Home), w.o.Dir) {
		t.Error("trust is not kept", err)
	}
	if info, err := os.Stat(filepath.Join(state, trustFile)); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Error("others may read or write the record", err)
	}
	if err := store.SetTrust(w.o.Dir, false); err != nil || is(store, w.o.Dir) {
		t.Error("trust is not taken back", err)
	}
	if err := store.SetTrust(w.o.Home, true); err != nil || !is(store, w.o.Home) || is(OpenTrust(state, w.o.Home), w.o.Home) {
		t.Error("trust in the home directory outlives the session", err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			dir := filepath.Join(w.o.Home, fmt.Sprint("p", i))
			if err := errors.Join(os.Mkdir(dir, 0o755), OpenTrust(state, w.o.Home).SetTrust(dir, true)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if folders, err := store.Folders(); err != nil || len(folders) != 9 {
		t.Errorf("concurrent writers lost something: %v %v", folders, err)
	}
	w.write("home/.sevengate/trust.json", "{")
	if ok, err := store.Trusted(w.o.Dir); ok || err == nil {
		t.Error("a broken record trusts")
	}
	if err := store.SetTrust(w.o.Dir, true); err == nil {
		t.Error("a broken record was overwritten")
	}
	w.write("proj/.claude/settings.json", oneAllow)
	if s := w.load(); texts(s.Settings.Permissions.Allow, true) != "" || !strings.Contains(notes(s.Warnings), "trust.json") {
		t.Error(s.Report())
	}
}

func TestWorktrees(t *testing.T) {
	w := newWorld(t)
	w.git("init", "-q")
	w.git("commit", "-q", "--allow-empty", "-m", "x")
	w.git("worktree", "add", "-q", "../linked")
	main := w.o.Dir
	linked := filepath.Join(filepath.Dir(main), "linked")
	sub := filepath.Join(linked, "a/b")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := TrustKey(sub); got != main {
		t.Errorf("a linked worktree is keyed by %s", got)
	}
	w.trust()
	w.o.Dir = sub
	w.write("proj/.sevengate/settings.local.json", `{"permissions": {"allow": ["Root"]}, "model": "root"}`)
	w.write("linked/a/b/.sevengate/settings.local.json", `{"permissions": {"allow": ["Start"]}, "model": "start"}`)
	s := w.load()
	if got := texts(s.Settings.Permissions.Allow, true); got != "Root Start" || s.Settings.Model != "root" {
		t.Errorf("%s %s\n%s", got, s.Settings.Model, s.Report())
	}
	for _, e := range s.Settings.Permissions.Allow {
		if e.Dir != sub {
			t.Errorf("%s starts from %s", e.Text, e.Dir)
		}
	}
	// A folder that claims to be a worktree of a trusted repository, unknown to it, is its own.
	fake := filepath.Join(filepath.Dir(main), "fake")
	if err := os.MkdirAll(fake, 0o755); err != nil {
		t.Fatal(err)
	}
	pointer, err := os.ReadFile(filepath.Join(linked, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("fake/.git", string(pointer))
	if got := TrustKey(fake); got != fake {
		t.Errorf("a forged worktree is keyed by %s", got)
	}
	// A repository inside a trusted one is its own.
	nested := filepath.Join(main, "nested")
	if err := os.MkdirAll(filepath.Join(nested, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := TrustKey(nested); got != nested {
		t.Errorf("a nested repository is keyed by %s", got)
	}
}

func TestLocalFileOfTheRepository(t *testing.T) {
	const local = "proj/.claude/settings.local.json"
	held := func(w *world) bool { return texts(w.load().Settings.Permissions.Allow, true) == "" }
	w := newWorld(t)
	w.write(local, oneAllow)
	if held(w) {
		t.Error("outside git a local file is the person's own")
	}
	w.git("init", "-q")
	if !held(w) {
		t.Error("in an untrusted repository nobody knows yet")
	}
	w.o.WiderTrust = true
	if held(w) {
		t.Error("git does not track it")
	}
	w.git("add", "-f", ".")
	if !held(w) {
		t.Error("git tracks it")
	}
	w.trust()
	if held(w) {
		t.Error("the folder is trusted")
	}

	w = newWorld(t)
	w.write("proj/real/settings.local.json", oneAllow)
	if err := os.Symlink("real", filepath.Join(w.o.Dir, ".claude")); err != nil {
		t.Skip("no symbolic links here")
	}
	if !held(w) {
		t.Error("a linked folder may come from anywhere")
	}
}

func watch(t *testing.T, w *world) *Watcher {
	t.Helper()
	watcher, err := NewWatcher(context.Background(), w.o)
	if err != nil {
		t.Fatal(err)
	}
	return watcher
}

func TestChangesCountFromTheNextCall(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	watcher := watch(t, w)
	first := watcher.Current(ctx)
	if watcher.Current(ctx) != first {
		t.Error("a new snapshot without a change")
	}
	deny := func() string { return texts(watcher.Current(ctx).Settings.Permissions.Deny, true) }
	// A folder that did not exist; then edits of the same size as fast as the machine can.
	for i := range 50 {
		rule := string(rune('A' + i%26))
		w.write("proj/.claude/settings.json", `{"permissions": {"deny": ["`+rule+`"]}}`)
		if got := deny(); got != rule {
			t.Fatalf("edit %d: deny %q, want %q", i, got, rule)
		}
	}
	// The same size at the same time, as a coarse clock may show it.
	stamp := time.Now().Add(-time.Second)
	for _, rule := range []string{"Y", "Z"} {
		path := w.write("proj/.claude/settings.json", `{"permissions": {"deny": ["`+rule+`"]}}`)
		if err := os.Chtimes(path, stamp, stamp); err != nil {
			t.Fatal(err)
		}
		if got := deny(); got != rule {
			t.Fatalf("same size, same time: deny %q, want %q", got, rule)
		}
	}
	w.write("etc/sevengate/managed-settings.d/1.json", `{"permissions": {"deny": ["M"]}}`)
	if got := deny(); !strings.HasPrefix(got, "M ") {
		t.Errorf("a new drop-in: %q", got)
	}
	if err := os.RemoveAll(filepath.Join(w.o.Dir, ".claude")); err != nil {
		t.Fatal(err)
	}
	if got := deny(); got != "M" {
		t.Errorf("after removal: %q", got)
	}
	w.write("proj/.claude/settings.json", oneAllow)
	if texts(watcher.Current(ctx).Settings.Permissions.Allow, true) != "" {
		t.Error("in force without trust")
	}
	if err := watcher.Trust().SetTrust(w.o.Dir, true); err != nil {
		t.Fatal(err)
	}
	if texts(watcher.Current(ctx).Settings.Permissions.Allow, true) != "A" {
		t.Error("trust does not count from the next call")
	}
}

func TestFilesThatBreakKeepTheirDenies(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	w.write("proj/.claude/settings.json", `{"permissions": {"deny": ["A", "B"], "allow": ["C"]}}`)
	w.write("etc/sevengate/managed-settings.json", `{"permissions": {"deny": ["M"]}}`)
	watcher := watch(t, w)
	w.write("proj/.claude/settings.json", `{"permissions": {"deny": ["A", "N"`)
	s := watcher.Current(ctx)
	if got := texts(s.Settings.Permissions.Deny, true); got != "M A N B" || !s.Broken(ProjectSettings) {
		t.Errorf("deny %q\n%s", got, s.Report())
	}
	w.write("proj/.claude/settings.json", `garbage`)
	if got := texts(watcher.Current(ctx).Settings.Permissions.Deny, true); got != "M A N B" {
		t.Errorf("deny %q after a second break", got)
	}
	w.write("etc/sevengate/managed-settings.json", `{"permissions": `)
	s = watcher.Current(ctx)
	if !s.Broken(PolicySettings) || texts(s.Settings.Permissions.Deny, true) != "M A N B" || len(s.Problems) < 2 {
		t.Errorf("a managed file that breaks: %s", s.Report())
	}
	if watcher.Current(ctx) != s {
		t.Error("read again without a change")
	}
	w.write("etc/sevengate/managed-settings.json", `{}`)
	w.write("proj/.claude/settings.json", `{}`)
	if s = watcher.Current(ctx); len(s.AnyBroken()) > 0 || len(s.Settings.Permissions.Deny) > 0 {
		t.Errorf("mended, but: %s", s.Report())
	}
}

func TestRunReports(t *testing.T) {
	w := newWorld(t)
	watcher := watch(t, w)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	got := make(chan string, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		watcher.Run(ctx, func(before, after *Snapshot) { got <- before.Settings.Model + ">" + after.Settings.Model })
	}()
	w.write("home/.sevengate/settings.json", `{"model": "m"}`)
	select {
	case text := <-got:
		if text != ">m" {
			t.Error(text)
		}
	case <-ctx.Done():
		t.Error("no report")
	}
	cancel()
	<-done
}

func TestAddRule(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	w.git("init", "-q")
	w.trust()
	w.o.Dir = filepath.Join(w.o.Dir, "sub")
	if err := os.Mkdir(w.o.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	watcher := watch(t, w)
	root := filepath.Dir(w.o.Dir)
	file := filepath.Join(root, ownFolder, localFile)
	for range 2 {
		saved, err := watcher.AddRule(LocalSettings, Allow, `Bash(echo "x" *)`)
		if err != nil || saved.File != file || saved.Note != "" {
			t.Fatalf("%+v %v", saved, err)
		}
	}
	if got := texts(watcher.Current(ctx).Settings.Permissions.Allow, true); got != `Bash(echo "x" *)` {
		t.Errorf("allow %q", got)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	cmd := exec.Command("git", "status", "--porcelain")
	cmd.Dir = root
	if out, err := cmd.Output(); err != nil || len(out) > 0 {
		t.Errorf("git sees the file: %s %v", out, err)
	}
	if exclude, err := os.ReadFile(filepath.Join(root, ".git/info/exclude")); err != nil || strings.Count(string(exclude), localFile) != 1 {
		t.Errorf("exclude: %s %v", exclude, err)
	}
	left, err := filepath.Glob(filepath.Join(root, ownFolder, "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestEditKeepsComments(t *testing.T) {
	for _, c := range [][2]string{
		{"", "{\n\t\"permissions\": {\n\t\t\"allow\": [\"R\"]\n\t}\n}"},
		{"// top\n{\n  // p\n  \"permissions\": {\n    \"allow\": [\n      \"A\", // first\n      \"B\" // second\n    ]\n  }\n} // end\n",
			"// top\n{\n  // p\n  \"permissions\": {\n    \"allow\": [\n      \"A\", // first\n      \"B\", // second\n      \"R\"\n    ]\n  }\n} // end\n"},
		{"{\"permissions\": {\"allow\": [\n  \"A\",\n  \"B\",\n  // more\n]}}", "{\"permissions\": {\"allow\": [\n  \"A\",\n  \"B\",\n  // more\n  \"R\",\n]}}"},
		{`{"permissions": {"allow": ["A"]}}`, `{"permissions": {"allow": ["A", "R"]}}`},
		{`{"permissions": {"allow": []}}`, `{"permissions": {"allow": ["R"]}}`},
	} {
		w := newWorld(t)
		path := filepath.Join(w.o.Home, ownFolder, sharedFile)
		if c[0] != "" {
			w.write("home/.sevengate/settings.json", c[0])
		}
		watcher := watch(t, w)
		if saved, err := watcher.AddRule(UserSettings, Allow, "R"); err != nil || !saved.Changed {
			t.Fatal(saved, err)
		}
		if got, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(got)) != strings.TrimSpace(c[1]) {
			t.Errorf("%s\nbecame\n%s\nwant\n%s", c[0], got, c[1])
		}
		if saved, err := watcher.RemoveRule(UserSettings, Allow, "R"); err != nil || !saved.Changed {
			t.Errorf("remove: %+v %v", saved, err)
		}
		got, _ := os.ReadFile(path)
		for line := range strings.Lines(c[0]) {
			if _, comment, ok := strings.Cut(line, "//"); ok && !strings.Contains(string(got), strings.TrimSpace(comment)) {
				t.Errorf("comment %q is lost in\n%s", comment, got)
			}
		}
		if s := watcher.Current(context.Background()); len(s.Problems) > 0 || strings.Contains(texts(s.Settings.Permissions.Allow, true), "R") {
			t.Errorf("after removal: %s", s.Report())
		}
	}
}

func TestAddRuleRefuses(t *testing.T) {
	w := newWorld(t)
	w.write("home/.sevengate/settings.json", `{"permissions": {"allow": "A"}}`)
	w.write("proj/.sevengate/settings.json", `{broken`)
	w.write("elsewhere/settings.local.json", `{}`)
	watcher := watch(t, w)
	for source, want := range map[Source]string{UserSettings: "left as it is", ProjectSettings: "left as it is", Session: "not saved to a file"} {
		if _, err := watcher.AddRule(source, Allow, "R"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", source, err)
		}
	}
	for _, rule := range []string{"", "a\x00b", strings.Repeat("x", MaxRule+1)} {
		if _, err := watcher.AddRule(LocalSettings, Allow, rule); err == nil {
			t.Errorf("rule %.10q was saved", rule)
		}
	}
	if _, err := watcher.AddRule(LocalSettings, "maybe", "R"); err == nil {
		t.Error("an unknown behavior was saved")
	}
	link := filepath.Join(w.o.Dir, ownFolder, localFile)
	if err := os.Symlink(filepath.Join(filepath.Dir(w.o.Dir), "elsewhere/settings.local.json"), link); err != nil {
		t.Skip("no symbolic links here")
	}
	if _, err := watcher.AddRule(LocalSettings, Allow, "R"); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("written through a link: %v", err)
	}
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	const writers, each = 4, 5
	for i := range writers {
		watcher := watch(t, w)
		wg.Go(func() {
			for j := range each {
				if _, err := watcher.AddRule(LocalSettings, Allow, fmt.Sprintf("Bash(%d %d)", i, j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(w.load().Settings.Permissions.Allow); got != writers*each {
		t.Errorf("%d of %d rules are left", got, writers*each)
	}
}

// TestMergeProperty: joining levels is associative, and idempotent, so that it does not matter how files are grouped.
func TestMergeProperty(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.Custom(func(rt *rapid.T) any { return rapid.SampledFrom([]any{"a", "b", true}).Draw(rt, "leaf") })
		list := rapid.Custom(func(rt *rapid.T) any {
			var l []any
			for range rapid.IntRange(0, 3).Draw(rt, "n") {
				l = append(l, rapid.SampledFrom([]any{"x", "y", "z"}).Draw(rt, "element"))
			}
			return distinct(append([]any{}, l...))
		})
		if depth == 0 {
			return rapid.OneOf(leaf, list)
		}
		// One kind a key, as the schema check makes sure.
		return rapid.Custom(func(rt *rapid.T) any {
			m := map[string]any{}
			for key, g := range map[string]*rapid.Generator[any]{"leaf": leaf, "list": list, "object": value(depth - 1)} {
				if key == "object" && depth == 1 {
					continue
				}
				if rapid.Bool().Draw(rt, key) {
					m[key] = g.Draw(rt, key)
				}
			}
			return m
		})
	}
	rapid.Check(t, func(rt *rapid.T) {
		g := value(2)
		a, b, c := g.Draw(rt, "a"), g.Draw(rt, "b"), g.Draw(rt, "c")
		if l, r := fmt.Sprint(merge(merge(a, b), c)), fmt.Sprint(merge(a, merge(b, c))); l != r {
			rt.Fatalf("%s and %s", l, r)
		}
		if l := fmt.Sprint(merge(a, a)); l != fmt.Sprint(a) {
			rt.Fatalf("%s is not %v", l, a)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{oneAllow, `{"permissions": {"deny": ["A", "B"`, "[", `{"a": 1, "a": [2], "a": {"b": null}}`, `{"permissions": {"deny": 5}}`,
		`{"hooks": {"X": [1]}}`, "// c\n{}", `{"permissions": {"deny": ["A" : "deny": ["`, `{"env": {"a": 1}}`, `{"sandbox": []}`, "\"\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, source := range FileSources() {
			d := &document{place: place{source: source, path: "/f", dir: "/"}}
			d.parse([]byte(text))
			if (d.state == Broken) != (len(d.problems) > 0) {
				t.Fatal("broken without a problem, or the other way round")
			}
			s := combine([]*document{d, d}, Trust{})
			if _, ok := s.Raw("permissions"); ok {
				t.Fatal("permissions are found raw")
			}
		}
		edit, changed, err := editList([]byte(text), Deny, appendRule("Zz"))
		if err != nil {
			return
		}
		d := &document{place: place{source: UserSettings, path: "/f", dir: "/"}}
		d.parse(edit)
		if d.state == Broken && changed && strings.Contains(notes(d.problems), "not valid JSON") {
			t.Fatalf("%q became %q: %s", text, edit, notes(d.problems))
		}
		if !strings.Contains(texts(d.lists[Deny], true)+" ", "Zz") {
			t.Fatalf("the rule is not in %q", edit)
		}
	})
}

func BenchmarkCurrent(b *testing.B) {
	dir := b.TempDir()
	w, err := NewWatcher(context.Background(), Options{Dir: dir, Home: dir + "/home", ManagedDirs: []string{dir + "/a", dir + "/b"}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		w.Current(context.Background())
	}
}
