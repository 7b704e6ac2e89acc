package session

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sevengate/sevengate/tool"
)

func create(t *testing.T, s *Store) *Session {
	t.Helper()
	out, err := s.Create(Header{ID: NewID(), Cwd: "/w", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func uses(ids ...string) tool.Message {
	m := tool.Message{Role: tool.RoleAssistant}
	for _, id := range ids {
		m.Content = append(m.Content, tool.ToolUse(id, "Bash", json.RawMessage(`{"command":"x"}`)))
	}
	return m
}

func TestRoundTrip(t *testing.T) {
	store := NewStore(t.TempDir(), "/home/u/my project")
	s := create(t, store)
	must(t, s.AppendMessage("", tool.UserText("do\u2028it \x00")))
	thinking, err := tool.Opaque(json.RawMessage(`{"type":"thinking","thinking":"h<m>","signature":"s=="}`))
	must(t, err)
	must(t, s.AppendMessage("", tool.Message{Role: tool.RoleAssistant, StopReason: "end_turn", Content: []tool.Block{thinking, tool.TextBlock("ok")}}))
	must(t, s.AppendMessage("sub", tool.UserText("a subagent's")))
	must(t, s.Append(Entry{Type: TypeContext, Context: &Context{Cwd: "/w/sub", Mode: "plan"}}))
	files := &tool.FileState{}
	files.Put("/w/a", tool.FileView{Size: 3, Partial: true})
	raw, err := json.Marshal(files)
	must(t, err)
	must(t, s.Append(Entry{Type: TypeFiles, Files: raw}))
	must(t, s.Close("done"))

	st, err := store.Load(s.ID())
	must(t, err)
	if !st.Clean || len(st.Messages) != 2 || st.Messages[0].Text() != "do\u2028it \x00" || st.Context.Cwd != "/w/sub" {
		t.Errorf("read back %+v", st)
	}
	if got, _ := json.Marshal(st.Messages[1].Content[0]); string(got) != `{"type":"thinking","thinking":"h\u003cm\u003e","signature":"s=="}` && string(got) != `{"type":"thinking","thinking":"h<m>","signature":"s=="}` {
		t.Errorf("a thinking block came back as %s", got)
	}
	if v, ok := st.Files.Get("/w/a"); !ok || v.Size != 3 || !v.Partial {
		t.Errorf("file state came back as %+v, %v", v, ok)
	}
	list, err := store.List()
	must(t, err)
	if len(list) != 1 || list[0].Title != "do it \x00" || list[0].Messages != 2 || !list[0].Clean {
		t.Errorf("list is %+v", list)
	}
	for path, mode := range map[string]os.FileMode{s.Path(): 0o600, store.Dir(): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, want %v (%v)", path, info.Mode().Perm(), mode, err)
		}
	}
}

func TestResumeAnswersWhatACrashLeftOpen(t *testing.T) {
	store := NewStore(t.TempDir(), "/w")
	s := create(t, store)
	must(t, s.AppendMessage("", tool.UserText("go")))
	must(t, s.AppendMessage("", uses("a", "b", "c")))
	must(t, s.Starting("a", "Bash", json.RawMessage(`{}`)))
	s.Finished("a")
	must(t, s.Starting("b", "Bash", json.RawMessage(`{}`)))
	// The process dies here, in the middle of a line.
	_, err := s.file.WriteString(`{"type":"message","mess`)
	must(t, err)

	again, st, err := store.Resume(s.ID())
	must(t, err)
	if st.Clean || len(st.Messages) != 3 {
		t.Fatalf("read back %d messages, clean %v", len(st.Messages), st.Clean)
	}
	for i, want := range []string{"was carried out", "not known", "not carried out"} {
		b := st.Messages[2].Content[i]
		if b.ToolUseID != string("abc"[i]) || !b.IsError || !strings.Contains(b.Content[0].Text, want) {
			t.Errorf("result %d is %+v, want %q", i, b, want)
		}
	}
	must(t, again.AppendMessage("", tool.UserText("and on")))
	must(t, again.Close("done"))
	final, err := store.Load(s.ID())
	must(t, err)
	if len(final.Messages) != 4 || len(final.Repaired) != 0 {
		t.Errorf("after going on: %d messages, %d repaired", len(final.Messages), len(final.Repaired))
	}
	if _, err := os.Stat(journalPath(store.Dir(), s.ID())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal outlived a clean end: %v", err)
	}
}

func TestRepairPutsResultsBeforeLaterText(t *testing.T) {
	store := NewStore(t.TempDir(), "/w")
	s := create(t, store)
	must(t, s.AppendMessage("", uses("a", "b")))
	must(t, s.AppendMessage("", tool.Message{Role: tool.RoleUser, Content: []tool.Block{tool.ToolResult("b", false, tool.TextBlock("ok")), tool.TextBlock("note")}}))
	st, err := store.Load(s.ID())
	must(t, err)
	if c := st.Messages[1].Content; len(c) != 3 || c[0].ToolUseID != "a" || c[2].Text != "note" {
		t.Errorf("content is %+v", c)
	}
}

func TestIDsCannotLeaveTheFolder(t *testing.T) {
	store := NewStore(t.TempDir(), "/w")
	for _, id := range []string{"../x", "", ".", "a/b", "a\x00", strings.Repeat("a", 100), "-x"} {
		if _, err := store.Create(Header{ID: id}); err == nil {
			t.Errorf("id %q was taken", id)
		}
		if _, err := store.Load(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("Load(%q) = %v", id, err)
		}
	}
}

func TestSlugsAreReadableAndDifferent(t *testing.T) {
	a, b := Slug("/home/u/x-y"), Slug("/home/u/x/y")
	if a == b || !strings.HasPrefix(a, "home-u-x-y-") {
		t.Errorf("slugs %s and %s", a, b)
	}
	if s := Slug("/" + strings.Repeat("ü", 5000)); len(s) > maxSlug+10 || strings.ContainsAny(s, "/\\") {
		t.Errorf("slug of a long path: %d bytes", len(s))
	}
}

func TestWritingAfterAFailureIsRefused(t *testing.T) {
	s := create(t, NewStore(t.TempDir(), "/w"))
	must(t, s.file.Close())
	if s.AppendMessage("", tool.UserText("x")) == nil {
		t.Fatal("a closed file was written")
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "other"))
	must(t, err)
	defer f.Close()
	s.file = f
	if s.AppendMessage("", tool.UserText("y")) == nil {
		t.Error("the transcript went on after a hole")
	}
}

func TestCallsThatOnlyTheJournalKnowsAreTold(t *testing.T) {
	store := NewStore(t.TempDir(), "/w")
	s := create(t, store)
	must(t, s.AppendMessage("", tool.UserText("go")))
	must(t, s.Starting("x", "Bash", json.RawMessage(`{"command":"make"}`)))
	must(t, s.Starting("y", "Write", json.RawMessage(`{}`)))
	s.Finished("y")
	// The process dies before the model has finished its message.
	st, err := store.Load(s.ID())
	must(t, err)
	if len(st.Orphans) != 2 || st.Orphans[0].String() != `Bash {"command":"make"} (it was running)` || !st.Orphans[1].Ended {
		t.Errorf("orphans are %v", st.Orphans)
	}
}

func TestPruneRemovesWhatIsOld(t *testing.T) {
	store := NewStore(t.TempDir(), "/w")
	old, young := create(t, store), create(t, store)
	must(t, os.MkdirAll(old.ResultsDir(), 0o700))
	must(t, old.Starting("x", "Bash", nil))
	past := time.Now().Add(-48 * time.Hour)
	must(t, os.Chtimes(old.Path(), past, past))
	store.Prune(time.Now().Add(-24 * time.Hour))
	for path, want := range map[string]bool{old.Path(): false, old.Folder(): false, journalPath(store.Dir(), old.ID()): false, young.Path(): true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", filepath.Base(path), err, want)
		}
	}
}
