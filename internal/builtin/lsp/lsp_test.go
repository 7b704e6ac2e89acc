package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sevengate/sevengate/internal/engine/lspclient/fakeserver"
	"github.com/sevengate/sevengate/tool"
)

func TestMain(m *testing.M) {
	if modes, ok := os.LookupEnv(fakeserver.Env); ok {
		fakeserver.Main(modes)
		return
	}
	goleak.VerifyTestMain(m)
}

// bench is a project with a fake language server for *.fk files.
type bench struct {
	t    testing.TB
	dir  string
	s    *Service
	tool tool.Tool
	deny string
	cwd  string // and the only root; empty means dir
}

func newBench(t testing.TB, modes string, change ...func(*Server)) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir}
	spec := Server{Name: "fake", Command: os.Args[0], Languages: map[string]string{".fk": "fake"}, RootMarkers: []string{"project.fake"},
		Env: []string{fakeserver.Env + "=" + modes}, StartupTimeout: 20 * time.Second, RequestTimeout: 20 * time.Second}
	for _, c := range change {
		c(&spec)
	}
	b.s = New(Deps{Servers: []Server{spec}, Environ: os.Environ(), ReadDenied: func(path string) bool {
		return b.deny != "" && strings.Contains(path, b.deny)
	}})
	b.s.backoff = 50 * time.Millisecond
	t.Cleanup(func() { b.s.Close() })
	b.tool = Tools(b.s)[0]
	b.write("project.fake", "")
	return b
}

func (b *bench) write(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) ask(in Input) (Output, string, error) {
	b.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	cwd := cmp.Or(b.cwd, b.dir)
	place := tool.Place{Cwd: cwd, Roots: []string{cwd}}
	call, err := b.tool.Bind(raw, place)
	if err != nil {
		b.t.Fatal(err)
	}
	env := &tool.Env{Place: place}
	if err := call.Validate(context.Background(), env); err != nil {
		return Output{}, "", err
	}
	o, err := call.Run(context.Background(), env)
	if err != nil {
		return Output{}, "", err
	}
	blocks, err := call.Map(o)
	if err != nil {
		b.t.Fatal(err)
	}
	return o.Data.(Output), blocks[0].Text, nil
}

func (b *bench) must(in Input) (Output, string) {
	b.t.Helper()
	out, text, err := b.ask(in)
	if err != nil {
		b.t.Fatalf("%+v: %v", in, err)
	}
	return out, text
}

func TestOperations(t *testing.T) {
	b := newBench(t, "")
	b.write("a.fk", "alpha beta\n  😀 alpha ERROR\ngamma HINT\n")
	b.write("sub/b.fk", "x alpha\n")
	b.must(Input{Operation: Hover, FilePath: "sub/b.fk", Line: 1, Character: 3}) // opens it
	for _, c := range []struct {
		in   Input
		want string
	}{
		{Input{Operation: Definition, FilePath: "a.fk", Line: 2, Character: 6}, "1 definition:\na.fk:1:1: alpha beta"},
		{Input{Operation: References, FilePath: "a.fk", Line: 1, Character: 1}, "3 references:\na.fk:1:1: alpha beta\na.fk:2:5: 😀 alpha ERROR\nsub/b.fk:1:3: x alpha"},
		{Input{Operation: Hover, FilePath: "a.fk", Line: 2, Character: 7}, "the word alpha"},
		{Input{Operation: DocumentSymbol, FilePath: "a.fk"}, "2 symbols:\na.fk:1:1: class outer (to line 3)\n  a.fk:2:1: method inner func()"},
		{Input{Operation: WorkspaceSymbol, FilePath: "a.fk", Query: "gamma"}, "1 symbol:\na.fk:3:1: function gamma (in pkg)"},
		{Input{Operation: PrepareCalls, FilePath: "a.fk", Line: 1, Character: 8}, "1 function:\na.fk:1:1: function beta"},
		{Input{Operation: IncomingCalls, FilePath: "a.fk", Line: 1, Character: 8}, "1 caller:\na.fk:1:1: function caller (call at line 3, 5)"},
		{Input{Operation: OutgoingCalls, FilePath: "a.fk", Line: 1, Character: 8}, "The language server found nothing (outgoingCalls). Line and character must be those of a symbol's name."},
		{Input{Operation: Diagnostics, FilePath: "a.fk"}, "2 diagnostics:\na.fk:2:1: error: found: 😀 alpha ERROR [fake E1]\na.fk:3:1: hint: a hint"},
		{Input{Operation: Diagnostics, FilePath: "sub/b.fk"}, "The language server reports nothing for this file."},
		{Input{Operation: Definition, FilePath: "a.fk", Line: 2, Character: 1}, "The language server found nothing (definition). Line and character must be those of a symbol's name."},
	} {
		if _, text := b.must(c.in); text != c.want {
			t.Errorf("%+v\n got %s\nwant %s", c.in, text, c.want)
		}
	}
	out, _ := b.must(Input{Operation: References, FilePath: "a.fk", Line: 1, Character: 1})
	if out.Total != 3 || out.Root != b.dir || out.Server != "fake" || out.Items[1].Character != 5 {
		t.Errorf("%+v", out)
	}
}

func TestRefusedQuestions(t *testing.T) {
	b := newBench(t, "")
	b.write("a.fk", "alpha\n")
	b.write("a.other", "")
	b.deny = "secret"
	b.write("secret.fk", "")
	if err := os.Symlink(filepath.Join(b.dir, "secret.fk"), filepath.Join(b.dir, "link.fk")); err != nil {
		t.Skip("no links here: ", err)
	}
	for want, in := range map[string]Input{
		"filePath is empty":               {Operation: Hover, Line: 1, Character: 1},
		"must be one of":                  {Operation: "dance", FilePath: "a.fk"},
		"needs line and character":        {Operation: Hover, FilePath: "a.fk"},
		"needs query":                     {Operation: WorkspaceSymbol, FilePath: "a.fk"},
		"does not exist":                  {Operation: Diagnostics, FilePath: "b.fk"},
		"lines 1 to 2":                    {Operation: Hover, FilePath: "a.fk", Line: 9, Character: 1},
		"characters 1 to 6":               {Operation: Hover, FilePath: "a.fk", Line: 1, Character: 9},
		"those that are serve .fk":        {Operation: Diagnostics, FilePath: "a.other"},
		"does not offer implementation":   {Operation: Implementation, FilePath: "a.fk", Line: 1, Character: 1},
		"secret.fk may not be read":       {Operation: Diagnostics, FilePath: "secret.fk"},
		"link.fk may not be read, since ": {Operation: Diagnostics, FilePath: "link.fk"},
	} {
		if _, text, err := b.ask(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v %s", want, err, text)
		}
	}
}

func TestWhatMayNotBeReadIsNotShown(t *testing.T) {
	b := newBench(t, "")
	b.write("a.fk", "alpha\n")
	b.write("secret.fk", "alpha\n")
	b.must(Input{Operation: Hover, FilePath: "secret.fk", Line: 1, Character: 1}) // the server knows it
	b.deny = "secret"
	for _, in := range []Input{{Operation: References, FilePath: "a.fk", Line: 1, Character: 1}, {Operation: WorkspaceSymbol, FilePath: "a.fk", Query: "alpha"}} {
		out, text := b.must(in)
		if out.Total != 1 || strings.Contains(text, "secret") {
			t.Error(text)
		}
	}
}

// Where a file lies is told, but reading lines outside the working directories is a
// matter of its own.
func TestLinesFromElsewhereAreNotShown(t *testing.T) {
	b := newBench(t, "")
	outside := b.write("a.fk", "alpha\n")
	b.must(Input{Operation: Hover, FilePath: "a.fk", Line: 1, Character: 1})
	b.write("sub/b.fk", "x alpha\n")
	b.cwd = filepath.Join(b.dir, "sub")
	_, text := b.must(Input{Operation: References, FilePath: "b.fk", Line: 1, Character: 3})
	if want := "2 references:\n" + outside + ":1:1:\nb.fk:1:3: x alpha"; text != want {
		t.Fatalf("%s\nwant %s", text, want)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	b := newBench(t, "many,odd")
	b.write("a.fk", strings.Repeat("x", 5000)+" alpha\n")
	out, text := b.must(Input{Operation: References, FilePath: "a.fk", Line: 1, Character: 5003})
	if len(out.Items) != MaxResults || out.Total < maxRaw-10 || len(text) > MaxResults*(MaxLineChars+50) || !strings.Contains(text, "more are not shown") {
		t.Fatal(len(out.Items), out.Total, len(text))
	}
	b = newBench(t, "odd")
	b.write("a.fk", "alpha\n")
	if _, text := b.must(Input{Operation: References, FilePath: "a.fk", Line: 1, Character: 1}); !strings.Contains(text, "jdt://contents/Thing.class:1:1:") {
		t.Fatal(text)
	}
}

func TestServersThatMisbehave(t *testing.T) {
	for modes, want := range map[string]string{
		"crash":                    "frobnicator",
		"garbage":                  "something else than a message",
		"error":                    "answered with an error",
		"badshape":                 "cannot be read",
		"die:textDocument/hover":   "dying at textDocument/hover",
		"die:textDocument/didOpen": "connection to the language server is over",
	} {
		t.Run(modes, func(t *testing.T) {
			b := newBench(t, modes)
			b.write("a.fk", "alpha\n")
			_, _, err := b.ask(Input{Operation: Hover, FilePath: "a.fk", Line: 1, Character: 1})
			if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 2500 {
				t.Fatal(err)
			}
		})
	}
	b := newBench(t, "mute", func(s *Server) { s.RequestTimeout = 100 * time.Millisecond })
	b.write("a.fk", "alpha\n")
	if _, _, err := b.ask(Input{Operation: Hover, FilePath: "a.fk", Line: 1, Character: 1}); err == nil || !strings.Contains(err.Error(), "did not answer textDocument/hover within 100ms") {
		t.Fatal(err)
	}
	b = newBench(t, "modified")
	b.write("a.fk", "alpha\n")
	if _, text := b.must(Input{Operation: Hover, FilePath: "a.fk", Line: 1, Character: 1}); text != "the word alpha" {
		t.Fatal(text)
	}
}

func TestAServerThatIsStillLoadingIsAskedAgain(t *testing.T) {
	b := newBench(t, "loading")
	b.write("a.fk", "alpha\n")
	if _, text := b.must(Input{Operation: Definition, FilePath: "a.fk", Line: 1, Character: 1}); text != "1 definition:\na.fk:1:1: alpha" {
		t.Fatal(text)
	}
}

func TestAServerThatEndedIsStartedAgain(t *testing.T) {
	b := newBench(t, "once:"+filepath.Join(t.TempDir(), "once"))
	b.write("a.fk", "alpha\n")
	in := Input{Operation: Hover, FilePath: "a.fk", Line: 1, Character: 1}
	if _, _, err := b.ask(in); err == nil || !strings.Contains(err.Error(), "the next call starts it again") {
		t.Fatal(err)
	}
	b.must(in)
}

func TestStartsAreBounded(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	b := newBench(t, "crash,count:"+count, func(s *Server) { s.MaxRestarts = 2 })
	b.write("a.fk", "alpha\n")
	waited := false
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		_, _, err := b.ask(Input{Operation: Diagnostics, FilePath: "a.fk"})
		if err == nil {
			t.Fatal("it cannot have started")
		}
		if strings.Contains(err.Error(), "at the earliest") {
			waited = true
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if strings.Contains(err.Error(), "not started again in this session") {
			data, _ := os.ReadFile(count)
			if n := strings.Count(string(data), "\n"); n != 3 || !waited {
				t.Fatalf("%d starts, waited %v", n, waited)
			}
			return
		}
	}
	t.Fatal("it was started again and again")
}

func TestOneServerForManyQuestions(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	b := newBench(t, "count:"+count)
	for i := range 10 {
		b.write(fmt.Sprintf("%d.fk", i), "alpha\n")
	}
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			if _, _, err := b.ask(Input{Operation: Hover, FilePath: fmt.Sprintf("%d.fk", i), Line: 1, Character: 1}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if data, _ := os.ReadFile(count); strings.Count(string(data), "\n") != 1 {
		t.Fatalf("servers: %s", data)
	}
}

func TestTheNumberOfServersIsBounded(t *testing.T) {
	b := newBench(t, "")
	for i := range MaxServers + 2 {
		b.write(fmt.Sprintf("p%d/project.fake", i), "")
		b.write(fmt.Sprintf("p%d/a.fk", i), "alpha\n")
		b.must(Input{Operation: Hover, FilePath: fmt.Sprintf("p%d/a.fk", i), Line: 1, Character: 1})
	}
	running := 0
	for _, e := range b.s.entries {
		if e.server != nil {
			running++
		}
	}
	if running != MaxServers {
		t.Fatal(running)
	}
}

func TestTheServerHearsOfChangedFiles(t *testing.T) {
	b := newBench(t, "log")
	b.write("a.fk", "alpha\n")
	in := Input{Operation: Hover, FilePath: "a.fk", Line: 1, Character: 1}
	if _, text := b.must(in); strings.Contains(text, "didChangeWatchedFiles") {
		t.Fatal(text)
	}
	b.write("b.fk", "new")
	b.write("node_modules/x/c.fk", "not looked at")
	if _, text := b.must(in); strings.Count(text, "didChangeWatchedFiles") != 1 {
		t.Fatal(text)
	}
	if _, text := b.must(in); strings.Count(text, "didChangeWatchedFiles") != 1 {
		t.Fatal(text)
	}
	os.Remove(filepath.Join(b.dir, "b.fk"))
	if _, text := b.must(in); strings.Count(text, "didChangeWatchedFiles") != 2 {
		t.Fatal(text)
	}
}

func TestAfterAnEdit(t *testing.T) {
	b := newBench(t, "")
	ctx := context.Background()
	path := b.write("a.fk", "ERROR old\n")
	if got := b.s.DiagnosticsAfter(ctx, path, 0); got != "" {
		t.Fatalf("the server cannot have run yet: %s", got)
	}
	b.must(Input{Operation: Diagnostics, FilePath: "a.fk"}) // waits for the start
	b.write("a.fk", "\nERROR old\nERROR new\nHINT\n")
	got := b.s.DiagnosticsAfter(ctx, path, 0)
	if !strings.HasPrefix(got, "New diagnostics from fake") || !strings.Contains(got, "a.fk:3:1: error: found: ERROR new") || strings.Contains(got, "old") || strings.Contains(got, "HINT") {
		t.Fatal(got)
	}
	b.write("a.fk", "fine\n")
	if got := b.s.DiagnosticsAfter(ctx, path, 0); got != "" {
		t.Fatal(got)
	}
	other := b.write("b.fk", strings.Repeat("ERROR\n", 30))
	if got := b.s.DiagnosticsAfter(ctx, other, 0); !strings.HasPrefix(got, "Diagnostics from fake") || strings.Count(got, "\n") != MaxEditDiagnostics+1 {
		t.Fatal(got)
	}
	b.deny = "b.fk"
	b.write("b.fk", "ERROR more")
	if got := b.s.DiagnosticsAfter(ctx, other, 0); got != "" {
		t.Fatal(got)
	}
	if got := b.s.DiagnosticsAfter(ctx, filepath.Join(b.dir, "x.unknown"), 0); got != "" {
		t.Fatal(got)
	}
}

func TestASlowServerDoesNotHoldUpAnEdit(t *testing.T) {
	for _, modes := range []string{"nodiag", "silent"} {
		b := newBench(t, modes)
		path := b.write("a.fk", "ERROR\n")
		began := time.Now()
		for range 3 {
			b.s.DiagnosticsAfter(context.Background(), path, 50*time.Millisecond)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: %s", modes, took)
		}
		b.s.Close()
		if _, _, err := b.ask(Input{Operation: Diagnostics, FilePath: "a.fk"}); err == nil || !strings.Contains(err.Error(), "ended with the session") {
			t.Error(err)
		}
	}
}

func TestRootsOfProjects(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"home/.git/x", "home/code/repo/.git/x", "home/code/repo/sub/go.mod", "home/code/repo/sub/pkg/a.go", "home/code/repo/b.go", "home/c.go", "home/go.mod", "out/d.go"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		os.MkdirAll(filepath.Dir(path), 0o755)
		os.WriteFile(path, nil, 0o644)
	}
	spec := DefaultServers()[0]
	for file, want := range map[string]string{
		"home/code/repo/sub/pkg/a.go": "home/code/repo/sub", "home/code/repo/b.go": "home/code/repo", "home/c.go": "home", "home/x/y.go": "home/x", "out/d.go": "out",
	} {
		if got := spec.root(filepath.Join(dir, file), filepath.Join(dir, "home"), nil); got != filepath.Join(dir, want) {
			t.Errorf("%s: %s", file, got)
		}
	}
	if got := spec.root(filepath.Join(dir, "out/e/f.go"), "", []string{filepath.Join(dir, "out")}); got != filepath.Join(dir, "out") {
		t.Error(got)
	}
}

func TestPrograms(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "server"), []byte("x"), 0o755)
	os.WriteFile(filepath.Join(dir, "text"), []byte("x"), 0o644)
	t.Chdir(dir)
	for command, ok := range map[string]bool{"server": true, "text": false, "": false, "./server": false, "missing": false, filepath.Join(dir, "server"): true} {
		if path, got := lookPath([]string{"PATH=." + string(os.PathListSeparator) + dir}, command); got != ok || ok && path != filepath.Join(dir, "server") {
			t.Errorf("%q: %s %v", command, path, got)
		}
	}
	if _, ok := lookPath([]string{"PATH=.:"}, "server"); ok {
		t.Error("a program of the working directory was taken")
	}
	b := newBench(t, "", func(s *Server) { s.Command = "no-such-server" })
	b.write("a.fk", "")
	if _, _, err := b.ask(Input{Operation: Diagnostics, FilePath: "a.fk"}); err == nil || !strings.Contains(err.Error(), "no-such-server was not found on PATH") {
		t.Error(err)
	}
}

func TestDeclaration(t *testing.T) {
	b := newBench(t, "")
	path := b.write("a.fk", "")
	if b.tool.Enabled(tool.Features{}) || !b.tool.Enabled(tool.Features{Flags: map[string]bool{"lsp": true}}) {
		t.Error("the gate does not hold")
	}
	call, err := b.tool.Bind(json.RawMessage(`{"operation":"hover","filePath":"a.fk","line":1,"character":1}`), tool.Place{Cwd: b.dir})
	if err != nil {
		t.Fatal(err)
	}
	subjects, _ := call.Subjects()
	if !call.ReadOnly() || !call.ConcurrencySafe() || len(subjects) != 1 || subjects[0] != tool.ReadOf(path) {
		t.Error(subjects)
	}
	if e := call.Effects(); len(e.WritePaths()) != 0 || len(e.ReadPaths()) != 1 || e.ReadPaths()[0] != b.dir {
		t.Error(e)
	}
	if Tools(nil) != nil {
		t.Error("no service, but a tool")
	}
}
