package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sevengate/sevengate/internal/engine/walk"
	"github.com/sevengate/sevengate/tool"
)

// deny hides the given paths and all below them.
func deny(paths *[]string) func(string, fs.FileMode) bool {
	return func(path string, _ fs.FileMode) bool {
		for _, p := range *paths {
			if path == p || strings.HasPrefix(path, p+string(filepath.Separator)) {
				return true
			}
		}
		return false
	}
}

// always is the same answer for every call.
func always(denied func(string, fs.FileMode) bool) func() func(string, fs.FileMode) bool {
	return func() func(string, fs.FileMode) bool { return denied }
}

func TestReadDenied(t *testing.T) {
	var hidden []string
	b := newBench(t, Deps{ReadDenials: always(deny(&hidden))})
	b.put("open/a.txt", "needle\n")
	b.put("open/.env", "needle\n")
	b.put("closed/b.txt", "needle\n")
	b.put("closed/deep/c.txt", "needle\n")
	b.link(b.path("open"), "way")
	b.link(b.path("closed/deep"), "shortcut")
	b.link(b.path("closed/b.txt"), "alias.txt")
	hidden = []string{b.path("open/.env"), b.path("closed")}

	b.is("Glob", args{"pattern": "**/*"}, "open/a.txt")
	b.is("Grep", args{"pattern": "needle"}, "Found 1 file\nopen/a.txt")
	b.is("Grep", args{"pattern": "needle", "output_mode": "count"}, "open/a.txt:1\n\nFound 1 matching line in 1 file.")
	// Through a link, where only the place that it leads to is named by a rule.
	b.is("Glob", args{"pattern": "*", "path": "way"}, "way/a.txt")
	b.is("Glob", args{"pattern": "way/{a.txt,.env}"}, "way/a.txt")
	b.is("Grep", args{"pattern": "needle", "path": "way"}, "Found 1 file\nway/a.txt")
	for _, path := range []string{"closed", "closed/deep", "closed/b.txt", "closed/none", "shortcut", "alias.txt", "way/.env", "open/.env"} {
		b.fails("Grep", args{"pattern": "needle", "path": path}, "is not searched", "permission rule")
	}
	for _, pattern := range []string{"closed/*", "closed/deep/*", "shortcut/*"} {
		b.fails("Glob", args{"pattern": pattern}, "is not searched", "permission rule")
	}
	// Where a rule names the link and not what it leads to.
	hidden = []string{b.path("way")}
	b.fails("Grep", args{"pattern": "needle", "path": "way/a.txt"}, "is not searched")
	has(t, b.ok("Grep", args{"pattern": "needle"}), "open/a.txt", "closed/b.txt")
	// Another spelling is not offered for a hidden one.
	hidden = []string{b.path("closed")}
	_, _, err := b.runCtx(t.Context(), "Glob", args{"pattern": "*", "path": "CLOSED"})
	if err == nil {
		t.Skip("names are the same in any case here")
	}
	hasNot(t, err.Error(), "Did you mean")
}

func TestUnreadableFolders(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("this user can read every folder")
	}
	b := newBench(t, Deps{})
	b.put("a.txt", "needle\n")
	b.put("shut/b.txt", "needle\n")
	if err := os.Chmod(b.path("shut"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(b.path("shut"), 0o755)
	for _, c := range []struct {
		tool string
		in   args
	}{{"Glob", args{"pattern": "**/*.txt"}}, {"Grep", args{"pattern": "needle"}}} {
		has(t, b.ok(c.tool, c.in), "a.txt", "1 file or folder could not be read", "shut")
	}
	b.fails("Glob", args{"pattern": "*", "path": "shut"}, "cannot begin")
}

// wide makes a tree of folders that takes a while to walk.
func wide(b *bench, folders, files int) {
	for i := range folders {
		dir := b.path(fmt.Sprintf("d%03d", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.t.Fatal(err)
		}
		for j := range files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", j)), []byte("needle\n"), 0o644); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// gatekeeper is asked whether a path is denied and waits, from a certain question
// on, until it is let go: so a search is known to be under way.
type gatekeeper struct {
	mu      sync.Mutex
	calls   int
	from    int
	reached chan struct{}
	release chan struct{}
}

func (g *gatekeeper) denied(string, fs.FileMode) bool {
	g.mu.Lock()
	g.calls++
	n := g.calls
	g.mu.Unlock()
	if n == g.from {
		close(g.reached)
	}
	if n >= g.from {
		<-g.release
	}
	return false
}

func TestCancel(t *testing.T) {
	for _, c := range []struct {
		tool string
		in   args
	}{
		{"Glob", args{"pattern": "**/*.txt"}},
		{"Grep", args{"pattern": "needle"}},
		{"Grep", args{"pattern": "needle", "output_mode": "content"}},
		{"Grep", args{"pattern": "needle", "output_mode": "count"}},
	} {
		g := &gatekeeper{from: 60, reached: make(chan struct{}), release: make(chan struct{})}
		b := newBench(t, Deps{ReadDenials: always(g.denied)})
		wide(b, 20, 20)
		why := errors.New("enough of it")
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, _, err := b.runCtx(ctx, c.tool, c.in)
			ended <- err
		}()
		<-g.reached
		cancel(why)
		before := time.Now()
		close(g.release)
		err := <-ended
		if !errors.Is(err, why) {
			t.Errorf("%s %v: %v", c.tool, c.in, err)
		}
		if took := time.Since(before); took > 5*time.Second { // a hang guard
			t.Errorf("%s %v took %v to stop", c.tool, c.in, took)
		}
		g.mu.Lock()
		if g.calls > 300 {
			t.Errorf("%s %v: the walk went on for %d entries", c.tool, c.in, g.calls)
		}
		g.mu.Unlock()
		cancelled, cancelNow := context.WithCancel(t.Context())
		cancelNow()
		if _, _, err := b.runCtx(cancelled, c.tool, c.in); !errors.Is(err, context.Canceled) {
			t.Errorf("%s %v, cancelled before: %v", c.tool, c.in, err)
		}
	}
}

// A file system that does not answer holds no call up; what waits for it ends when it answers.
func TestStopWhileNothingAnswers(t *testing.T) {
	for name, in := range map[string]args{"Glob": {"pattern": "**/*.txt"}, "Grep": {"pattern": "needle"}} {
		for _, from := range []int{1, 60} { // at the search root; in the tree
			g := &gatekeeper{from: from, reached: make(chan struct{}), release: make(chan struct{})}
			b := newBench(t, Deps{ReadDenials: always(g.denied)})
			wide(b, 20, 20)
			why := errors.New("enough of it")
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, _, err := b.runCtx(ctx, name, in)
				ended <- err
			}()
			<-g.reached
			before := time.Now()
			cancel(why)
			select {
			case err := <-ended:
				if !errors.Is(err, why) {
					t.Errorf("%s: %v", name, err)
				}
				t.Logf("%s stopped after %v", name, time.Since(before))
			case <-time.After(10 * time.Second): // a hang guard
				t.Errorf("%s waits for what does not answer", name)
			}
			close(g.release) // the test's end finds goroutines that stay
		}
	}
	limit := 10 * time.Millisecond
	g := &gatekeeper{from: 60, reached: make(chan struct{}), release: make(chan struct{})}
	b := newBench(t, Deps{ReadDenials: always(g.denied), GlobTimeout: limit})
	wide(b, 20, 20)
	b.fails("Glob", args{"pattern": "**/*.txt"}, "does not answer", "given up")
	close(g.release)
}

func TestPanicsReachTheCaller(t *testing.T) {
	defer func() {
		if text, ok := recover().(string); !ok || !strings.Contains(text, "boom") || !strings.Contains(text, "limits_test.go") {
			t.Errorf("got %q", text)
		}
	}()
	answered(t.Context(), time.Minute, func() (int, error) { panic("boom") })
	t.Error("no panic")
}

func TestTimeoutGivesWhatWasFound(t *testing.T) {
	const limit = 300 * time.Millisecond
	// The first half comes at once, and what follows not before the limit is over,
	// however busy the machine is.
	var asked atomic.Int64
	slow := func(string, fs.FileMode) bool {
		if asked.Add(1) > 1_800 {
			time.Sleep(limit)
		}
		return false
	}
	b := newBench(t, Deps{ReadDenials: always(slow), GlobTimeout: limit})
	wide(b, 60, 60)
	out := b.globbed(args{"pattern": "**/*.txt"})
	if out.CountIsComplete || !out.Truncated || out.NumFiles == 0 {
		t.Errorf("complete %v, truncated %v, %d files", out.CountIsComplete, out.Truncated, out.NumFiles)
	}
	has(t, globText(out), "timed out after 300ms")

	f := &family{denials: always(slow), grepTimeout: limit}
	b.tools["Grep"] = f.grepTool()
	for _, mode := range []Mode{FilesWithMatches, Content, Count} {
		asked.Store(0)
		out := b.grepped(args{"pattern": "needle", "output_mode": string(mode), "head_limit": 0})
		if out.NumFiles == 0 || out.NumFiles >= 3600 {
			t.Errorf("%s: %d files", mode, out.NumFiles)
		}
		has(t, grepText(out), "timed out after 300ms")
	}
}

func TestDefaultGlobTimeout(t *testing.T) {
	if d := defaultGlobTimeout(); d != DefaultGlobTimeout && d != DefaultGlobTimeoutWSL {
		t.Errorf("%v", d)
	}
}

// naive turns a glob into a regular expression by the letter of its description.
func naive(glob string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case strings.HasPrefix(glob[i:], "**/"):
			b.WriteString("(?:[^/]+/)*")
			i += 2
		case strings.HasPrefix(glob[i:], "/**") && i+3 == len(glob):
			b.WriteString("/.*")
			i += 2
		case glob == "**":
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '{':
			b.WriteString("(?:")
		case c == '}':
			b.WriteString(")")
		case c == ',':
			b.WriteString("|")
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return regexp.MustCompile(b.String() + "$")
}

func TestGlobFindsExactlyWhatMatches(t *testing.T) {
	b := newBench(t, Deps{})
	var all []string
	names := []string{"a", "b.go", "ab.ts", "c"}
	for _, x := range names {
		for _, y := range names {
			for _, z := range []string{"a.go", "b", ".c.ts"} {
				for _, p := range []string{"x" + x + "/" + y + "d/" + z, "x" + x + "/" + z, z} {
					if !slices.Contains(all, p) {
						b.put(p, "")
						all = append(all, p)
					}
				}
			}
		}
	}
	piece := rapid.SampledFrom([]string{"*", "?", "a", "b", "x", "*.go", "*.ts", "{a,b}", "{xa,xb.go,xc}", "*.{go,ts}", "x*", "*d", "**"})
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(piece, 1, 4).Draw(t, "parts")
		pattern := strings.Join(parts, "/")
		re := naive(pattern)
		var want []string
		for _, p := range all {
			if re.MatchString(p) {
				want = append(want, p)
			}
		}
		slices.Sort(want)
		out := b.globbed(args{"pattern": pattern})
		got := slices.Clone(out.Filenames)
		for i := range got {
			got[i] = filepath.ToSlash(got[i])
		}
		slices.Sort(got)
		if out.Truncated || !slices.Equal(got, want) {
			t.Fatalf("%s: %q, want %q", pattern, got, want)
		}
	})
}

func FuzzGlobPlan(f *testing.F) {
	for _, s := range []string{"**/*.go", "/a/b", "~/x", "../..", "a/../b", "{a/b,c}/*", "a//b/./c/", "\\!x", ".git/x", "[", "C:/x"} {
		f.Add(s, "")
		f.Add(s, "/p/q")
	}
	cwd, err := filepath.Abs("work")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		at := tool.Place{Cwd: cwd, Home: filepath.Join(cwd, "home")}
		plan, err := planGlob(GlobInput{pattern, path}, at)
		if err != nil {
			return
		}
		if !filepath.IsAbs(plan.root) || plan.root != filepath.Clean(plan.root) {
			t.Fatalf("%q in %q: root %q", pattern, path, plan.root)
		}
		if err := walk.ValidGlob(plan.pattern); err != nil || strings.HasPrefix(plan.pattern, "!") {
			t.Fatalf("%q in %q: pattern %q: %v", pattern, path, plan.pattern, err)
		}
		if !plan.outside && plan.root != plan.folder && !strings.HasPrefix(plan.root, strings.TrimSuffix(plan.folder, string(filepath.Separator))+string(filepath.Separator)) {
			t.Fatalf("%q in %q leads to %q unseen", pattern, path, plan.root)
		}
		// What permissions see must come to the same search.
		seen := backfillGlob(GlobInput{pattern, path}, at)
		again, err := planGlob(seen, at)
		if err != nil || again.root != plan.root || again.pattern != plan.pattern {
			t.Fatalf("%q in %q: root %q, pattern %q; observed as %+v: root %q, pattern %q, error %v", pattern, path, plan.root, plan.pattern, seen, again.root, again.pattern, err)
		}
	})
}

func TestSpecialFilesAreNotOpened(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no pipes in folders here")
	}
	b := newBench(t, Deps{})
	b.put("a.txt", "needle\n")
	if err := mkfifo(b.path("pipe")); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	b.is("Grep", args{"pattern": "needle"}, "Found 1 file\na.txt")
	b.is("Glob", args{"pattern": "*"}, "a.txt")
	b.fails("Grep", args{"pattern": "needle", "path": "pipe"}, "neither a file nor a folder")
}
