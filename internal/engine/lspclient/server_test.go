package lspclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sevengate/sevengate/internal/engine/lspclient/fakeserver"
)

func config(t *testing.T, modes string) Config {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return Config{Name: "fake", Path: os.Args[0], Env: append(os.Environ(), fakeserver.Env+"="+modes), Root: root,
		Settings: json.RawMessage(`{"a":{"b":[1,2]}}`), StartupTimeout: 20 * time.Second, RequestTimeout: 20 * time.Second}
}

func start(t *testing.T, modes string) *Server {
	t.Helper()
	s, err := Start(context.Background(), config(t, modes))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func write(t *testing.T, s *Server, name, content string) string {
	t.Helper()
	path := filepath.Join(s.cfg.Root, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func sync_(t *testing.T, s *Server, path string) Document {
	t.Helper()
	doc, err := s.Sync(path, "fake")
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func hover(s *Server, doc Document, line, character int) (string, error) {
	raw, err := s.Request(context.Background(), "textDocument/hover", map[string]any{
		"textDocument": map[string]any{"uri": doc.URI}, "position": Position{line, character}})
	return string(raw), err
}

func TestFilesAreKeptInStep(t *testing.T) {
	s := start(t, "")
	a, b := write(t, s, "a", "one two\n"), write(t, s, "b ä%41", "three\n")
	docA := sync_(t, s, a)
	docB := sync_(t, s, b)
	for doc, want := range map[Document]string{docA: "the word one", docB: "the word three"} {
		if got, err := hover(s, doc, 0, 1); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s %v", got, err)
		}
	}
	if again := sync_(t, s, a); again.Changed || again.Version != docA.Version {
		t.Errorf("nothing changed, but %+v", again)
	}
	// An open file that changed is sent along when another one is asked about.
	write(t, s, "a", "changed\n")
	sync_(t, s, b)
	if got, err := hover(s, docA, 0, 1); err != nil || !strings.Contains(got, "the word changed") {
		t.Error(got, err)
	}
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	sync_(t, s, b)
	if len(s.docs.open) != 1 {
		t.Error("a removed file stays open")
	}
	for i := range MaxOpenFiles + 5 {
		sync_(t, s, write(t, s, fmt.Sprintf("f%d", i), "x"))
	}
	if n := s.docs.order.Len(); n != MaxOpenFiles {
		t.Errorf("%d files are open", n)
	}
	if _, err := s.Sync(s.cfg.Root, "fake"); err == nil {
		t.Error("a folder was shown to the server")
	}
	if _, err := s.Sync(write(t, s, "big", strings.Repeat("x", MaxFileBytes+1)), "fake"); err == nil {
		t.Error("a large file was shown to the server")
	}
}

func TestDiagnostics(t *testing.T) {
	for _, modes := range []string{"", "noversion", "steps", "flood"} {
		t.Run(modes, func(t *testing.T) {
			s := start(t, modes)
			path := write(t, s, "a", "fine\nERROR here\n")
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			list, fresh := s.Diagnostics(ctx, path, sync_(t, s, path), Quiet{200 * time.Millisecond, 200 * time.Millisecond})
			if !fresh || len(list) != 1 || list[0].Range.Start.Line != 1 {
				t.Fatal(list, fresh)
			}
			write(t, s, "a", "fine\n")
			list, fresh = s.Diagnostics(ctx, path, sync_(t, s, path), Quiet{200 * time.Millisecond, 200 * time.Millisecond})
			if !fresh || len(list) != 0 {
				t.Fatal(list, fresh)
			}
			if list, fresh = s.Diagnostics(ctx, path, sync_(t, s, path), Quiet{200 * time.Millisecond, 200 * time.Millisecond}); !fresh || len(list) != 0 {
				t.Fatal(list, fresh)
			}
			if n := len(s.diags.files); n > MaxDiagnosticFiles+1 {
				t.Fatal(n)
			}
		})
	}
}

func TestDiagnosticsThatNeverCome(t *testing.T) {
	s := start(t, "nodiag")
	path := write(t, s, "a", "ERROR\n")
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if list, fresh := s.Diagnostics(ctx, path, sync_(t, s, path), Quiet{200 * time.Millisecond, 200 * time.Millisecond}); fresh || list != nil {
		t.Fatal(list, fresh)
	}
}

func TestQuestionsOfTheServer(t *testing.T) {
	s := start(t, "asks")
	got, err := hover(s, sync_(t, s, write(t, s, "a", "x")), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`\"q0\\\"\":[[1,2],null,{\"a\"`, `applied\":false`, `success\":false`, `-32601`, `evil/method`, URIOf(s.cfg.Root)} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if busy := s.Busy(); len(busy) != 1 || busy[0] != "Loading" {
		t.Error(busy)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if s.WaitIdle(ctx) {
		t.Error("it is not idle")
	}
	s.progress(json.RawMessage(`{"token":7,"value":{"kind":"end"}}`))
	if !s.WaitIdle(context.Background()) {
		t.Error("it is idle")
	}
}

func TestServersThatDoNotStart(t *testing.T) {
	for modes, want := range map[string]string{
		"crash": "frobnicator", "garbage": "something else than a message", "header": "longer than", "longline": "longer than", "body": "at most",
		"negative": "Content-Length", "nolength": "without Content-Length", "notjson": "not JSON-RPC", "deep": "deeper than", "half": "ended after",
		"utf8": "utf-16", "silent": "did not answer within", "noread": "did not answer within", "die:initialize": "dying at initialize",
	} {
		t.Run(modes, func(t *testing.T) {
			t.Parallel()
			cfg := config(t, modes)
			if want == "did not answer within" {
				cfg.StartupTimeout = 300 * time.Millisecond
			}
			s, err := Start(context.Background(), cfg)
			if err == nil {
				s.Close()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), want) || len(err.Error()) > 2000 {
				t.Fatal(err)
			}
		})
	}
	cfg := config(t, "")
	cfg.Path = filepath.Join(cfg.Root, "missing")
	if _, err := Start(context.Background(), cfg); err == nil {
		t.Fatal("a missing program was started")
	}
}

func TestAnswers(t *testing.T) {
	s := start(t, "error,strange")
	doc := sync_(t, s, write(t, s, "a", "x"))
	var rpc *RPCError
	if _, err := hover(s, doc, 0, 0); !errors.As(err, &rpc) || len(err.Error()) > 1000 {
		t.Fatal(err)
	}
	if s.Has("implementationProvider") || !s.Has("referencesProvider") || s.Has("nothing") {
		t.Fatal("capabilities are read wrongly")
	}
}

func TestTimeoutAndCancellation(t *testing.T) {
	cfg := config(t, "mute")
	cfg.RequestTimeout = 100 * time.Millisecond
	s, err := Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Request(context.Background(), "x/y", nil); err == nil || !strings.Contains(err.Error(), "did not answer x/y within 100ms") {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Request(ctx, "x/y", nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if n := len(s.conn.pending); n != 0 {
		t.Fatalf("%d questions are remembered", n)
	}
}

func TestTheEndOfAServer(t *testing.T) {
	s := start(t, "die:textDocument/hover")
	doc := sync_(t, s, write(t, s, "a", "x"))
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if _, err := hover(s, doc, 0, 0); !errors.Is(err, ErrEnded) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	<-s.Done()
	if _, err := hover(s, doc, 0, 0); !errors.Is(err, ErrEnded) {
		t.Fatal(err)
	}
	s.Close()
	if !strings.Contains(s.LastWords(), "dying at textDocument/hover") {
		t.Fatal(s.LastWords())
	}
}

func TestManyQuestionsAtOnce(t *testing.T) {
	s := start(t, "")
	var wg sync.WaitGroup
	for i := range 20 {
		path := write(t, s, fmt.Sprint("f", i), strings.Repeat("a", i+1)+" \n")
		wg.Go(func() {
			for range 5 {
				doc, err := s.Sync(path, "fake")
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := hover(s, doc, 0, 0); err != nil || !strings.Contains(got, "word "+strings.Repeat("a", i+1)+`"`) {
					t.Error(got, err)
				}
			}
		})
	}
	wg.Wait()
}

// A server that neither ends nor lets its children end leaves nothing behind.
func TestNothingOutlivesClose(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sleep and signals")
	}
	file := filepath.Join(t.TempDir(), "pid")
	s := start(t, "stubborn,child:"+file)
	began := time.Now()
	s.Close()
	s.Close()
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("closing took %s", took)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Skip("the server had no child: ", err)
	}
	pid, _ := strconv.Atoi(string(raw))
	for range 100 {
		if p, err := os.FindProcess(pid); err != nil || p.Signal(syscall.Signal(0)) != nil || zombie(pid) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("process %d still runs", pid)
}

func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestLastWordsAreBounded(t *testing.T) {
	s := start(t, "chatter")
	s.Close()
	if words := s.LastWords(); len([]rune(words)) > maxWordsChars+1 || !strings.HasSuffix(words, "the last word") {
		t.Fatal(words)
	}
}
