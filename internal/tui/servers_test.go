package tui

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/mcp/client"
	"github.com/sevengate/sevengate/internal/settings"
)

// talk plays a conversation in a project with these servers; what the person
// types is given.
func talk(t *testing.T, home, project, typed string) (shown string, states map[string]string) {
	t.Helper()
	return talkAfter(t, home, project, typed, func(*sevengate.Runtime) {})
}

// later is what a person types after something happened.
type later struct {
	first func()
	io.Reader
}

func (l *later) Read(p []byte) (int, error) {
	if l.first != nil {
		l.first()
		l.first = nil
	}
	return l.Reader.Read(p)
}

func talkAfter(t *testing.T, home, project, typed string, first func(*sevengate.Runtime)) (shown string, states map[string]string) {
	t.Helper()
	script := filepath.Join(home, "script.jsonl")
	if err := os.WriteFile(script, []byte(`{"role":"assistant","content":"Hi."}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	in := &later{Reader: strings.NewReader(typed)}
	term := NewTerminal(in, &out)
	r, err := sevengate.New(t.Context(), sevengate.Options{Dir: project, Home: home, ManagedDirs: []string{}, Ephemeral: true, Model: "script:" + script,
		Environ: append(os.Environ(), "HOME="+home, sevengate.EnvHome+"="+filepath.Join(home, "state")), Prompter: term.Prompter(), Observe: term.Observe})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	in.first = func() { first(r) }
	if err := term.Talk(t.Context(), r, ""); err != nil {
		t.Fatal(err)
	}
	states = map[string]string{}
	for _, s := range r.MCPServers().Status() {
		states[s.Name] = string(s.State)
	}
	return out.String(), states
}

func TestOtherServersDoNotWaitForTheAnswer(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(project, ".mcp.json"), []byte(`{"mcpServers":{"a":{"command":"no-such-program-a"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".claude.json"), []byte(`{"mcpServers":{"mine":{"command":"no-such-program-mine"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := settings.OpenTrust(filepath.Join(home, "state"), home).SetTrust(project, true); err != nil {
		t.Fatal(err)
	}
	shown, _ := talkAfter(t, home, project, "3\n", func(r *sevengate.Runtime) {
		for range 3_000 { // the question is open meanwhile
			for _, s := range r.MCPServers().Status() {
				if s.Name == "mine" && s.State == client.Failed {
					return
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Error("a server of the person's own was not started while a question was open")
	})
	if !strings.Contains(shown, "a is not started; the next conversation asks again.") {
		t.Error(shown)
	}
}

func TestServersOfTheRepositoryAreAskedAbout(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	file := filepath.Join(project, ".mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{
		"a":{"command":"no-such-program-a","args":["x\u001b[2J\u202e","b c"],"env":{"NODE_OPTIONS":"--require ${Y}"}},
		"b":{"command":"no-such-program-b"},
		"c":{"type":"http","url":"http://127.0.0.1:1/?k=${HOME}"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	shown, states := talk(t, home, project, "n\n")
	if !strings.Contains(shown, "each of which is shown to you first: a, b, c") || !strings.Contains(shown, "not started, since it is not trusted: a, b, c") || strings.Contains(shown, "Answer [1-3]") {
		t.Errorf("in a project that is not trusted:\n%s", shown)
	}
	if states["a"] != "pending-approval" {
		t.Errorf("%v", states)
	}

	shown, states = talk(t, home, project, "y\nwhat\n1\n2\n3\n")
	for _, want := range []string{
		`no-such-program-a "x\x1b[2J\u202e" "b c"`, "NODE_OPTIONS=--require ${Y}", "filled in from your environment", "http://127.0.0.1:1/?k=${HOME}",
		"Please answer with one of the numbers.", "a may run.", "b will not run.", "c is not started; the next conversation asks again.",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not shown:\n%s", want, shown)
		}
	}
	if strings.ContainsAny(shown, "\x1b\u202e") {
		t.Errorf("what is shown steers the terminal: %q", shown)
	}
	if states["a"] != "failed" && states["a"] != "pending" || states["b"] != "rejected" || states["c"] != "pending-approval" {
		t.Errorf("%v", states)
	}

	// Only what is open is asked again; the end of the input answers nothing.
	shown, states = talk(t, home, project, "")
	if strings.Count(shown, "brings the MCP server") != 1 || !strings.Contains(shown, "MCP server c ") || states["c"] != "pending-approval" {
		t.Errorf("%v\n%s", states, shown)
	}

	// An approval holds for the entry as it was.
	if err := os.WriteFile(file, []byte(`{"mcpServers":{"a":{"command":"no-such-program-else"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if shown, _ = talk(t, home, project, "3\n"); !strings.Contains(shown, "MCP server a ") {
		t.Errorf("a changed entry is not asked about:\n%s", shown)
	}
}
