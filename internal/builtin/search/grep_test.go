package search

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

func grepTree(b *bench) {
	b.put("a.go", "package a\n\nfunc Alpha() {}\n// alpha calls\nfunc beta() { Alpha(); Alpha() }\n")
	b.put("b.txt", "one\ntwo Alpha\nthree\nfour\nfive\nsix\nAlpha seven\n")
	b.put("src/c.go", "package src\nvar x interface{}\n")
	b.put("src/d.ts", "const alpha = 1\r\nlet y = alpha\r\n")
	b.put(".gitignore", "dist/\n*.log\n")
	b.put("dist/out.js", "Alpha in dist\n")
	b.put("run.log", "Alpha in a log\n")
	b.put(".hidden/e.txt", "Alpha hidden\n")
	b.put(".git/config", "Alpha in git\n")
	b.put("bin.dat", "Alpha\x00\x01\x02\n")
}

func TestGrepTexts(t *testing.T) {
	b := newBench(t, Deps{})
	grepTree(b)
	for _, c := range []struct {
		name string
		in   args
		want string
	}{
		{"files, newest first", args{"pattern": "Alpha"}, "Found 3 files\n.hidden/e.txt\nb.txt\na.go"},
		{"one file", args{"pattern": "seven"}, "Found 1 file\nb.txt"},
		{"no case", args{"pattern": "ALPHA", "-i": true, "glob": "*.{go,ts}"}, "Found 2 files\nsrc/d.ts\na.go"},
		{"none", args{"pattern": "Omega"}, "No files found\n[1 binary file was not searched; give one as path to search it]\n[2 files or folders were left out because ignore files name them; give one as path to look there]"},
		{"none of a type", args{"pattern": "Alpha", "type": "rust", "path": "src"}, "No files found\n[no file was searched, since none fits glob and type; a glob with a slash is compared with the path below path]"},
		{"content", args{"pattern": "Alpha", "output_mode": "content", "type": "go"},
			"a.go:3:func Alpha() {}\na.go:5:func beta() { Alpha(); Alpha() }"},
		{"no numbers", args{"pattern": "Alpha", "output_mode": "content", "type": "go", "-n": false},
			"a.go:func Alpha() {}\na.go:func beta() { Alpha(); Alpha() }"},
		{"a file", args{"pattern": "Alpha", "output_mode": "content", "path": "b.txt"}, "2:two Alpha\n7:Alpha seven"},
		{"only matching", args{"pattern": `Al\w+`, "output_mode": "content", "-o": true, "path": "a.go"}, "3:Alpha\n5:Alpha\n5:Alpha"},
		{"context", args{"pattern": "Alpha", "output_mode": "content", "-C": 1, "glob": "*.txt,!.hidden"},
			"b.txt-1-one\nb.txt:2:two Alpha\nb.txt-3-three\n--\nb.txt-6-six\nb.txt:7:Alpha seven"},
		{"the narrower wins", args{"pattern": "four", "output_mode": "content", "context": 2, "-A": 0, "path": "b.txt"}, "2-two Alpha\n3-three\n4:four"},
		{"between files", args{"pattern": "package", "output_mode": "content", "-A": 1}, "a.go:1:package a\na.go-2-\n--\nsrc/c.go:1:package src\nsrc/c.go-2-var x interface{}"},
		{"carriage returns", args{"pattern": "alpha$", "output_mode": "content", "glob": "*.ts"}, "src/d.ts:2:let y = alpha"},
		{"count", args{"pattern": "Alpha", "output_mode": "count"}, ".hidden/e.txt:1\na.go:2\nb.txt:2\n\nFound 5 matching lines in 3 files."},
		{"count one", args{"pattern": "seven", "output_mode": "count"}, "b.txt:1\n\nFound 1 matching line in 1 file."},
		{"count none", args{"pattern": "Omega", "output_mode": "count", "path": "b.txt"}, "No matches found"},
		{"page", args{"pattern": "Alpha", "head_limit": 1, "offset": 1}, "Found 3 files\nb.txt\n[these are files 2 to 2 of 3; continue with offset=2]"},
		{"last page", args{"pattern": "Alpha", "head_limit": 2, "offset": 1}, "Found 3 files\nb.txt\na.go"},
		{"page of content", args{"pattern": "e", "output_mode": "content", "path": "b.txt", "head_limit": 2, "offset": 1}, "3:three\n5:five\n[these are lines 2 to 3; continue with offset=3]"},
		{"page of counts", args{"pattern": "Alpha", "output_mode": "count", "head_limit": 1, "offset": 1}, "a.go:2\n\nFound 5 matching lines in 3 files.\n[these are files 2 to 2 of 3; continue with offset=2]"},
		{"past the end", args{"pattern": "Alpha", "offset": 100, "head_limit": 5}, "No entries at this offset\n[offset is 100, but there are only 3 files]"},
		{"past the end of content", args{"pattern": "Alpha", "output_mode": "content", "offset": 100}, "No entries at this offset\n[offset is 100, but there are only 5 lines]"},
		{"past the end of counts", args{"pattern": "Alpha", "output_mode": "count", "offset": 3}, "No entries at this offset\n[offset is 3, but there are only 3 files]"},
		{"an ignored file", args{"pattern": "Alpha", "path": "run.log"}, "Found 1 file\nrun.log"},
		{"an ignored folder", args{"pattern": "Alpha", "path": "dist"}, "Found 1 file\ndist/out.js"},
		{"a glob brings nothing back", args{"pattern": "Alpha", "glob": "*.log"}, "No files found\n[no file was searched, since none fits glob and type; a glob with a slash is compared with the path below path]\n[2 files or folders were left out because ignore files name them; give one as path to look there]"},
		{"a binary file", args{"pattern": "Alpha", "path": "bin.dat", "output_mode": "content"}, "bin.dat: binary file matches"},
		{"braces", args{"pattern": "interface{}", "output_mode": "content"}, "src/c.go:2:var x interface{}"},
		{"multiline", args{"pattern": "two.*?three", "multiline": true, "output_mode": "content"}, "b.txt:2:two Alpha\nb.txt:3:three"},
		{"multiline only matching", args{"pattern": "Alpha.three", "multiline": true, "output_mode": "content", "-o": true, "path": "b.txt"}, "2:Alpha\n3:three"},
		{"not multiline", args{"pattern": "two.*?three", "path": "b.txt"}, "No files found"},
		{"a pattern like an option", args{"pattern": "--help"}, "No files found\n[1 binary file was not searched; give one as path to search it]\n[2 files or folders were left out because ignore files name them; give one as path to look there]"},
		{"context without content", args{"pattern": "seven", "-A": 2}, "Found 1 file\nb.txt\n[lines of context come only with output_mode \"content\" and were not given]"},
		{"near misses", args{"query": "seven", "directory": ".", "include": "*.txt", "ignore_case": true, "limit": "5"}, "Found 1 file\nb.txt"},
		{"two globs with a space", args{"pattern": "alpha", "glob": "*.go *.ts"}, "Found 2 files\nsrc/d.ts\na.go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			b.is("Grep", c.in, c.want)
		})
	}
}

func TestGrepErrors(t *testing.T) {
	b := newBench(t, Deps{})
	grepTree(b)
	b.fails("Grep", args{"pattern": ""}, "pattern is empty", "Glob")
	b.fails("Grep", args{"pattern": "(a"}, "pattern: ", "(a")
	b.fails("Grep", args{"pattern": "a(?=b)"}, "pattern: ")
	b.fails("Grep", args{"pattern": "a\x00"}, "NUL")
	b.fails("Grep", args{"pattern": "a", "glob": "{a"}, "glob: ", "malformed")
	b.fails("Grep", args{"pattern": "a", "type": "golang"}, `type "golang" is unknown; did you mean go`)
	b.fails("Grep", args{"pattern": "a", "type": "xyzzy"}, "known are for example", "*.ext")
	b.fails("Grep", args{"pattern": "a", "-A": -1, "head_limit": -2, "offset": -3}, "-A is -1", "head_limit is -2", "offset is -3")
	b.fails("Grep", args{"pattern": "a", "-C": MaxContextLines + 1}, "at most 1000 lines")
	b.fails("Grep", args{"pattern": "a", "-o": true}, `-o works only with output_mode "content"`)
	b.fails("Grep", args{"pattern": "a", "path": "nowhere"}, "does not exist", b.dir)
	if os.Getuid() > 0 {
		b.put("secret/x", "Alpha\n")
		for _, p := range []string{"secret", "a.go"} {
			if err := os.Chmod(b.path(p), 0); err != nil {
				t.Fatal(err)
			}
			b.fails("Grep", args{"pattern": "a", "path": p}, "cannot begin", "permission denied")
		}
		_ = os.Chmod(b.path("secret"), 0o755)
	}
	if _, err := schema.For(b.tools["Grep"]).Check(json.RawMessage(`{"pattern":"a","output_mode":"lines"}`)); err == nil {
		t.Error("an unknown mode passes the schema")
	}
	if _, err := schema.For(b.tools["Grep"]).Check(json.RawMessage(`{"pattern":"a","glob":5}`)); err == nil {
		t.Error("a number passes as a glob")
	}
}

func TestGrepSchemaNames(t *testing.T) {
	raw, err := schema.For(newBench(t, Deps{}).tools["Grep"]).JSON()
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Properties map[string]struct {
			Type        string
			Description string
		}
		Required []string
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	var names []string
	for n, p := range s.Properties {
		names = append(names, n)
		if p.Type == "" || n != "output_mode" && p.Description == "" {
			t.Errorf("%s has type %q and description %q", n, p.Type, p.Description)
		}
	}
	slices.Sort(names)
	want := strings.Fields("-A -B -C -i -n -o context glob head_limit multiline offset output_mode path pattern type")
	if !slices.Equal(names, want) || !slices.Equal(s.Required, []string{"pattern"}) {
		t.Errorf("fields %q, required %q", names, s.Required)
	}
}

func TestGrepLongLines(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("min.js", strings.Repeat("x", 3000)+"needle"+strings.Repeat("y", 2000)+"\n"+strings.Repeat("é", 400)+"needle\n")
	b.put("huge.js", "needle"+strings.Repeat("z", 100_000)+"\n")
	text := b.ok("Grep", args{"pattern": "needle", "output_mode": "content", "glob": "min.js"})
	has(t, text, "…"+strings.Repeat("x", 100)+"needle"+strings.Repeat("y", 394)+"… [line of 5,006 characters]\n", "min.js:2:"+strings.Repeat("é", 400)+"needle")
	hasNot(t, text, strings.Repeat("x", 101))
	text = b.ok("Grep", args{"pattern": "needle", "output_mode": "content", "glob": "huge.js"})
	has(t, text, "huge.js:1:needle"+strings.Repeat("z", 494)+"… [line of more than 16,384 bytes]")
}

func TestGrepTextIsBounded(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("big.txt", strings.Repeat(strings.Repeat("w", 400)+"\n", 30_000))
	out := b.grepped(args{"pattern": "w", "output_mode": "content", "head_limit": 0})
	if len(out.Content) < maxContentBytes || len(out.Content) > maxContentBytes+1000 {
		t.Errorf("content of %d bytes", len(out.Content))
	}
	has(t, strings.Join(out.Notes, "\n"), "cut at 4 MB", fmt.Sprintf("continue with offset=%d", out.NumLines))
	next := b.grepped(args{"pattern": "w", "output_mode": "content", "offset": out.NumLines, "head_limit": 1})
	has(t, next.Content, fmt.Sprintf("big.txt:%d:", out.NumLines+1))
}

func TestGrepFacts(t *testing.T) {
	b := newBench(t, Deps{})
	call := b.bind("Grep", args{"pattern": "x<y", "path": "src", "-n": false, "head_limit": 0})
	subjects, err := call.Subjects()
	if err != nil || !slices.Equal(subjects, []tool.Subject{tool.ReadOf(b.path("src"))}) {
		t.Errorf("subjects %v, error %v", subjects, err)
	}
	if got := call.Effects().ReadPaths(); !slices.Equal(got, []string{b.path("src")}) {
		t.Errorf("reads %q", got)
	}
	if !call.ReadOnly() || !call.ConcurrencySafe() || call.Destructive() || call.OpenWorld() || call.Kind() != tool.KindSearch {
		t.Error("facts")
	}
	if got, want := string(call.Observed()), fmt.Sprintf(`{"pattern":"x<y","path":%q,"-n":false,"head_limit":0}`, b.path("src")); got != want {
		t.Errorf("observed %s, want %s", got, want)
	}
	if got, want := call.ViewUse(), "x<y in "+b.path("src"); got != want {
		t.Errorf("view %q, want %q", got, want)
	}
	if s, ok := tool.ViewGrouped([]*tool.Call{call, call}); !ok || s != "searching for 2 patterns" {
		t.Errorf("grouped %q", s)
	}
	for _, name := range []string{"Glob", "Grep"} {
		if p := b.tools[name].Prompt(tool.PromptContext{}); len(p) < 100 || len(p) > 1500 {
			t.Errorf("%s: a prompt of %d bytes", name, len(p))
		}
		if b.tools[name].Facts().PrimaryField != "path" {
			t.Errorf("%s: primary field", name)
		}
	}
}

func TestSummaries(t *testing.T) {
	for want, out := range map[string]GrepOutput{
		"1 file":               {Mode: FilesWithMatches, NumFiles: 1},
		"2,000 files":          {Mode: FilesWithMatches, NumFiles: 250, TotalFiles: 2000},
		"3 lines":              {Mode: Content, NumLines: 3, TotalLine: 3},
		"3 of 9 lines":         {Mode: Content, NumLines: 3, TotalLine: 9},
		"2 matches in 1 file":  {Mode: Count, NumMatches: 2, TotalFiles: 1},
		"1 match in 1 file":    {Mode: Count, NumMatches: 1, TotalFiles: 1},
		"0 matches in 0 files": {Mode: Count},
	} {
		if got := grepSummary(out); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSplitGlobs(t *testing.T) {
	for in, want := range map[string][]string{
		"":                 nil,
		"*.go":             {"*.go"},
		"*.go, *.ts":       {"*.go", "*.ts"},
		"*.{go,ts},!x":     {"*.{go,ts}", "!x"},
		"[a,b]*,c":         {"[a,b]*", "c"},
		`a\,b`:             {`a\,b`},
		"*.go *.ts":        {"*.go", "*.ts"},
		"My Docs/**":       {"My Docs/**"},
		"**/*.go !**/x.go": {"**/*.go", "!**/x.go"},
		" , ":              nil,
	} {
		if got := splitGlobs(in); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// rg gives the lines of the other program, sorted; its exit code 1 means none.
func rg(t *testing.T, dir string, argv ...string) []string {
	t.Helper()
	cmd := exec.Command("rg", append([]string{"--no-config", "--color=never", "--no-heading", "--hidden", "--glob=!.git", "--no-require-git"}, argv...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() != 1 || err != nil && !ok {
		t.Fatalf("rg %q: %v", argv, err)
	}
	lines := strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
	for i := range lines {
		lines[i] = strings.TrimSuffix(strings.TrimPrefix(lines[i], "./"), "\r")
	}
	slices.Sort(lines)
	return lines
}

func TestGrepLikeRipgrep(t *testing.T) {
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("rg is not installed, so there is nothing to compare with")
	}
	b := newBench(t, Deps{})
	grepTree(b)
	lines := func(s string) []string {
		out := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
		slices.Sort(out)
		return out
	}
	for _, c := range []struct {
		in   args
		argv []string
	}{
		{args{"pattern": "Alpha", "output_mode": "content"}, []string{"-n", "-e", "Alpha", "."}},
		{args{"pattern": "alpha", "-i": true, "output_mode": "content", "-n": false}, []string{"-i", "-e", "alpha", "."}},
		{args{"pattern": "Alpha", "output_mode": "content", "-C": 1}, []string{"-n", "-C1", "-e", "Alpha", "."}},
		{args{"pattern": "three|six", "output_mode": "content", "-B": 2, "path": "b.txt"}, []string{"-n", "-B2", "-e", "three|six", "b.txt"}},
		{args{"pattern": `\w+\(`, "output_mode": "content", "-o": true}, []string{"-n", "-o", "-e", `\w+\(`, "."}},
		{args{"pattern": "^$", "output_mode": "content"}, []string{"-n", "-e", "^$", "."}},
		{args{"pattern": "alpha$", "output_mode": "content", "type": "ts"}, []string{"-n", "--crlf", "-t", "ts", "-e", "alpha$", "."}},
		{args{"pattern": "two.*three", "multiline": true, "output_mode": "content"}, []string{"-n", "-U", "--multiline-dotall", "-e", "two.*three", "."}},
		{args{"pattern": "Alpha", "output_mode": "count"}, []string{"-c", "-e", "Alpha", "."}},
		{args{"pattern": "a", "output_mode": "count", "glob": "*.{go,ts}"}, []string{"-c", "-g", "*.{go,ts}", "-e", "a", "."}},
		{args{"pattern": "Alpha"}, []string{"-l", "-e", "Alpha", "."}},
		{args{"pattern": "Alpha", "path": "run.log", "output_mode": "content"}, []string{"-n", "-e", "Alpha", "run.log"}},
	} {
		out := b.grepped(c.in)
		got := lines(out.Content)
		if out.Mode == FilesWithMatches {
			got = slices.Sorted(slices.Values(out.Filenames))
		}
		if want := rg(t, b.dir, c.argv...); !slices.Equal(got, want) {
			t.Errorf("%v:\n%q\nrg %q:\n%q", c.in, got, c.argv, want)
		}
	}
}
