package search

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sevengate/sevengate/tool"
)

func smallTree(b *bench) {
	b.put("README.md", "# read me\n")
	b.put("main.go", "package main\n")
	b.put("src/a.go", "package src\n")
	b.put("src/deep/b.go", "package deep\n")
	b.put("src/deep/c.ts", "let c\n")
	b.put("src/d.tsx", "let d\n")
	b.put(".hidden/e.go", "package e\n")
	b.put("dist/out.js", "out\n")
	b.put(".gitignore", "dist/\n*.log\n")
	b.put("run.log", "log\n")
	b.put(".git/config", "[core]\n")
	b.put(".git/hooks/f.go", "package f\n")
}

func TestGlobTexts(t *testing.T) {
	b := newBench(t, Deps{})
	smallTree(b)
	b.put("home/notes.md", "notes\n")
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"pattern": "*.go"}, "main.go"},
		{args{"pattern": "**/*.go"}, ".hidden/e.go\nsrc/deep/b.go\nsrc/a.go\nmain.go"},
		{args{"pattern": "**/*.{ts,tsx}"}, "src/d.tsx\nsrc/deep/c.ts"},
		{args{"pattern": "src/*.go"}, "src/a.go"},
		{args{"pattern": "./src/**/b.go"}, "src/deep/b.go"},
		{args{"pattern": "*.go", "path": "src"}, "src/a.go"},
		{args{"pattern": "src/deep/b.go"}, "src/deep/b.go"},
		{args{"pattern": "src/deep/"}, "src/deep/c.ts\nsrc/deep/b.go"},
		{args{"pattern": "../main.go", "path": "src"}, "main.go"},
		{args{"pattern": filepath.ToSlash(b.path("src")) + "/*.go"}, "src/a.go"},
		{args{"pattern": "~/*.md"}, "home/notes.md"},
		{args{"pattern": "*.md", "path": "~"}, "home/notes.md"},
		{args{"pattern": "dist/**/*.js"}, "dist/out.js"},
		{args{"pattern": "*.log"}, "run.log"},
		{args{"pattern": "[mR]*.*"}, "main.go\nREADME.md"},
		{args{"pattern": "*.rs"}, "No files found\n[only files directly in . were looked at; use **/*.rs for any depth]"},
		{args{"pattern": "s*"}, "No files found\n[1 folder matched, but only files are listed; add /** to the pattern for the files inside]"},
		{args{"pattern": "none/**/*.go"}, "No files found\n[there is no folder none]"},
		{args{"pattern": "none/*.go", "path": "src"}, "No files found\n[there is no folder src/none]"},
		{args{"pattern": "main.go/*"}, "No files found\n[main.go is a file, so nothing lies below it]"},
		{args{"pattern": "main.go/x/*"}, "No files found\n[there is no folder main.go/x]"},
		{args{"pattern": ".git/**"}, "No files found\n[.git is a version-control folder and not listed; give it as path to look inside]"},
		{args{"pattern": "*", "path": ".git"}, ".git/config"},
		{args{"glob": "*.go", "directory": "src"}, "src/a.go"},
	} {
		b.is("Glob", c.in, c.want)
	}
}

func TestGlobSettings(t *testing.T) {
	no := false
	b := newBench(t, Deps{GlobNoIgnore: &no})
	smallTree(b)
	b.is("Glob", args{"pattern": "**/*.js"}, "No files found\n[2 files or folders were left out because ignore files name them; give one as path to look there]")
	b.is("Glob", args{"pattern": "dist/*.js"}, "dist/out.js")
	b.is("Glob", args{"pattern": "*.js", "path": "dist"}, "dist/out.js")
	has(t, b.ok("Glob", args{"pattern": "*"}), ".gitignore")

	h := newBench(t, Deps{GlobHidden: &no})
	smallTree(h)
	h.is("Glob", args{"pattern": "**/*.go"}, "src/deep/b.go\nsrc/a.go\nmain.go")
	h.is("Glob", args{"pattern": ".hidden/*.go"}, ".hidden/e.go")
	has(t, h.tools["Glob"].Prompt(tool.PromptContext{}), "begin with a dot are left out")
}

func TestGlobErrors(t *testing.T) {
	b := newBench(t, Deps{})
	smallTree(b)
	b.fails("Glob", args{"pattern": ""}, "empty", "**/*.go")
	b.fails("Glob", args{"pattern": "a\x00b"}, "pattern contains a NUL byte")
	b.fails("Glob", args{"pattern": "*", "path": "a\x00b"}, "path contains a NUL byte")
	b.fails("Glob", args{"pattern": "["}, "malformed")
	b.fails("Glob", args{"pattern": "{a,b"}, "malformed")
	b.fails("Glob", args{"pattern": "!*.go"}, "cannot exclude")
	b.fails("Glob", args{"pattern": "*/../x"}, `".." after a wildcard`)
	b.fails("Glob", args{"pattern": ".."}, "names a folder")
	b.fails("Glob", args{"pattern": "*", "path": "main.go"}, "is a file", "Read", "Grep")
	b.fails("Glob", args{"pattern": "*", "path": "nowhere"}, "nowhere does not exist", "working directory is "+b.dir)
	b.fails("Glob", args{"pattern": "*", "path": "SRC"}, "does not exist", "Did you mean "+b.path("src"))
	b.env.Cwd = ""
	if err := (&family{}).openError("x", tool.Place{}); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("a relative path without a working directory: %v", err)
	}
}

func (f *family) openError(path string, at tool.Place) error {
	_, err := f.open(path, at)
	return err
}

func TestGlobLimit(t *testing.T) {
	b := newBench(t, Deps{})
	const files = 5_000
	for i := range files {
		p := b.path(fmt.Sprintf("d%02d/f%04d.txt", i%50, i))
		if i < 50 {
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(p, []byte("needle\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		when := b.clock.Add(time.Duration(i%1000) * time.Second)
		if err := os.Chtimes(p, when, when); err != nil {
			t.Fatal(err)
		}
	}
	out := b.globbed(args{"pattern": "**/*.txt"})
	if out.NumFiles != MaxGlobFiles || len(out.Filenames) != MaxGlobFiles || !out.Truncated || out.TotalMatches != files || !out.CountIsComplete {
		t.Fatalf("%d files, truncated %v, total %d, complete %v", out.NumFiles, out.Truncated, out.TotalMatches, out.CountIsComplete)
	}
	// The newest are those with i%1000 at its highest: five of each, ties by path.
	var want []string
	for rest := 999; len(want) < MaxGlobFiles; rest-- {
		var tie []string
		for i := rest; i < files; i += 1000 {
			tie = append(tie, filepath.Join(fmt.Sprintf("d%02d", i%50), fmt.Sprintf("f%04d.txt", i)))
		}
		slices.Sort(tie)
		want = append(want, tie...)
	}
	if !slices.Equal(out.Filenames, want) {
		t.Errorf("files:\n%q\nwant:\n%q", out.Filenames, want)
	}
	text := b.ok("Glob", args{"pattern": "**/*.txt"})
	has(t, text, "[these are the 100 most recently changed of 5,000 files;")
	if n := strings.Count(text, "\n"); n != MaxGlobFiles {
		t.Errorf("%d lines", n)
	}

	grep := b.grepped(args{"pattern": "needle"})
	if grep.NumFiles != DefaultHeadLimit || grep.TotalFiles != files || grep.AppliedLimit != DefaultHeadLimit || !slices.Equal(grep.Filenames[:len(want)], want) {
		t.Errorf("Grep gives %d of %d files, limit %d, first %q", grep.NumFiles, grep.TotalFiles, grep.AppliedLimit, grep.Filenames[0])
	}
	content := b.grepped(args{"pattern": "needle", "output_mode": "content"})
	if content.NumLines != DefaultHeadLimit || content.AppliedLimit != DefaultHeadLimit {
		t.Errorf("content: %d lines", content.NumLines)
	}
	count := b.grepped(args{"pattern": "needle", "output_mode": "count"})
	if count.NumMatches != files || count.TotalFiles != files || count.NumFiles != DefaultHeadLimit {
		t.Errorf("count: %d matches in %d files, %d shown", count.NumMatches, count.TotalFiles, count.NumFiles)
	}
	all := b.grepped(args{"pattern": "needle", "head_limit": 0})
	if all.NumFiles != files || len(all.Notes) != 0 {
		t.Errorf("no limit: %d files, notes %q", all.NumFiles, all.Notes)
	}
}

func TestGlobLinks(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("real/x.txt", "x\n")
	b.link(b.path("real"), "real/loop")
	b.link(b.path("real"), "dir")
	b.link(b.path("real/x.txt"), "file.txt")
	b.link(b.path("nothing"), "broken.txt")
	b.is("Glob", args{"pattern": "**/*.txt"}, "file.txt\nreal/x.txt")
	b.is("Glob", args{"pattern": "dir/*.txt"}, "dir/x.txt")
	b.is("Glob", args{"pattern": "*.txt", "path": "dir"}, "dir/x.txt")
}

func TestGlobOddNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("such names cannot be made here")
	}
	b := newBench(t, Deps{})
	b.put("a\nb.txt", "")
	b.put("!c.txt", "")
	b.put("[d].txt", "")
	b.put("~", "")
	b.is("Glob", args{"pattern": "*"}, "~\n[d].txt\n!c.txt\n\"a\\nb.txt\"")
	b.is("Glob", args{"pattern": `\!*`}, "!c.txt")
	b.is("Glob", args{"pattern": b.dir + "/!*"}, "!c.txt")
	b.is("Glob", args{"pattern": `\[d].txt`}, "[d].txt")
	b.is("Glob", args{"pattern": "./~"}, "~")
	b.is("Glob", args{"pattern": b.dir + "/~"}, "~")
}

func TestGlobSubjects(t *testing.T) {
	b := newBench(t, Deps{})
	b.env.Cwd = b.path("work")
	for _, c := range []struct{ pattern, path, root, seenPath, seenPattern string }{
		{"**/*.go", "", "work", "work", "**/*.go"},
		{"src/*.go", "", "work/src", "work", "src/*.go"},
		{"src/*.go", "sub", "work/sub/src", "work/sub", "src/*.go"},
		{"../x/*.go", "", "x", "x", "*.go"},
		{"../../../x", "a/b", "x", "", "x"},
		{"~/x/*.go", "", "home/x", "home/x", "*.go"},
		{b.dir + "/abs/*.go", "sub", "abs", "abs", "*.go"},
		{b.dir + "/~", "", "", "", "./~"},
		{".git/*", "", "work", "work", ".git/*"},
	} {
		if runtime.GOOS == "windows" {
			t.Skip("the paths of this table are not those of this system")
		}
		call := b.bind("Glob", args{"pattern": c.pattern, "path": c.path})
		if c.pattern == "../../../x" {
			c.root = "" // the folder of a plain name
		}
		subjects, err := call.Subjects()
		if err != nil || len(subjects) != 1 || subjects[0] != tool.ReadOf(b.path(c.root)) {
			t.Errorf("%v: subjects %v, error %v, want %s", c, subjects, err, b.path(c.root))
		}
		if reads := call.Effects().ReadPaths(); !slices.Equal(reads, []string{b.path(c.root)}) || len(call.Effects().WritePaths()) != 0 {
			t.Errorf("%v: reads %q", c, reads)
		}
		want := fmt.Sprintf(`{"pattern":%q,"path":%q}`, c.seenPattern, b.path(c.seenPath))
		if got := string(call.Observed()); got != want {
			t.Errorf("%v: observed %s, want %s", c, got, want)
		}
		if !call.ReadOnly() || !call.ConcurrencySafe() || call.Kind() != tool.KindSearch || call.Path() != b.path(c.root) {
			t.Errorf("%v: facts", c)
		}
	}
}
