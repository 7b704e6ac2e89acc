package sevengate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sevengate/sevengate/internal/session/history"
	"github.com/sevengate/sevengate/tool"
)

// What two prompts changed through the tools can be brought back, from the same
// runtime and from a later one, but not over somebody else's work.
func TestFilesOfASessionCanBeBroughtBack(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	script := filepath.Join(home, "script.jsonl")
	file := filepath.Join(dir, "sub", "a.txt")
	lines := `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"` + file + `","content":"one\n"}}],"stop_reason":"tool_use"}
{"role":"assistant","content":"done","stop_reason":"end_turn"}
{"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"Edit","input":{"file_path":"` + file + `","old_string":"one","new_string":"two"}}],"stop_reason":"tool_use"}
{"role":"assistant","content":"done","stop_reason":"end_turn"}
`
	if err := os.WriteFile(script, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	options := Options{Dir: dir, Home: home, ManagedDirs: []string{}, Mode: "acceptEdits", Model: "script:" + script, Environ: []string{"HOME=" + home}}
	r, err := New(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, prompt := range []string{"make it", "change it"} {
		if _, err := r.Run(ctx, prompt); err != nil {
			t.Fatal(err)
		}
	}
	want := func(content string) {
		t.Helper()
		if got, _ := os.ReadFile(file); string(got) != content {
			t.Fatalf("the file holds %q, not %q", got, content)
		}
	}
	want("two\n")
	all, err := r.Checkpoints(r.SessionID())
	if err != nil || len(all) != 2 || all[1].Title != "change it" || all[1].Files != 1 {
		t.Fatalf("%+v %v", all, err)
	}
	if rep, err := r.Rewind(ctx, r.SessionID(), 0, false); err != nil || len(rep.Done) != 1 || rep.Insertions != 1 || rep.Deletions != 1 {
		t.Fatalf("%+v %v", rep, err)
	}
	want("one\n")
	if _, ok := r.conv.Files().Get(file); ok {
		t.Error("the conversation still believes that it knows the file")
	}
	id := r.SessionID()
	options.Ephemeral = true
	other, err := New(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Rewind(ctx, id, 1, false); !errors.Is(err, history.ErrInUse) {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("theirs\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Rewind(ctx, id, 1, false); !errors.Is(err, history.ErrRefused) {
		t.Fatal(err)
	}
	want("theirs\n")
	rep, err := other.Rewind(ctx, id, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("the file that was made is still there")
	}
	if _, err := other.Rewind(ctx, id, rep.Undo, false); err != nil {
		t.Fatal(err)
	}
	want("theirs\n")
	if _, err := other.Checkpoints("no-such-session"); err == nil {
		t.Fatal("a session that is not there has checkpoints")
	}
}

// shower is a person who looks at what a call would do before agreeing to it.
type shower struct{}

func (shower) Prompt(_ context.Context, q Question) (Answer, error) {
	q.Call.ViewPreview()
	return Answer{Behavior: tool.Allow}, nil
}

// An edit by a command that is made as it was shown can be brought back, too.
func TestShownEditsAreKept(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	script, file := filepath.Join(home, "script.jsonl"), filepath.Join(dir, "a.txt")
	for path, text := range map[string]string{file: "one\n", script: `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"sed -i s/one/two/ a.txt"}}],"stop_reason":"tool_use"}
{"role":"assistant","content":"done","stop_reason":"end_turn"}
`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	r, err := New(ctx, Options{Dir: dir, Home: home, ManagedDirs: []string{}, Prompter: shower{}, Model: "script:" + script, Environ: append(os.Environ(), "HOME="+home, EnvHome+"="+home+"/state", "SEVENGATE_NO_SHELL_SNAPSHOT=1")})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Run(ctx, "change it"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != "two\n" {
		t.Fatalf("the file holds %q", got)
	}
	if rep, err := r.Rewind(ctx, r.SessionID(), 0, false); err != nil || len(rep.Done) != 1 {
		t.Fatalf("%+v %v", rep, err)
	}
	if got, _ := os.ReadFile(file); string(got) != "one\n" {
		t.Errorf("brought back: %q", got)
	}
}
