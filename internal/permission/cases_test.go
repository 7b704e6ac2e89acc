package permission

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// shellCase is one line of testdata/shell.jsonl: a command, rules, and the right
// verdict.
type shellCase struct {
	ID          string          `json:"id"`
	Tool        string          `json:"tool"`
	Input       json.RawMessage `json:"input"`
	Mode        Mode            `json:"mode"`
	Cwd         string          `json:"cwd"`
	Permissions struct {
		Allow, Ask, Deny []string
	} `json:"permissions"`
	Expect     string   `json:"expect"`
	Acceptable []string `json:"acceptable"`
	Why        string   `json:"why"`
}

func shellCases(tb testing.TB) []shellCase {
	tb.Helper()
	f, err := os.Open("testdata/shell.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var out []shellCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c shellCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			tb.Fatal(err)
		}
		out = append(out, c)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return out
}

// rulesOf makes settings that hold the given rules as those of a trusted project.
func rulesOf(dir string, allow, ask, deny []string) func() *settings.Snapshot {
	entries := func(list []string) []settings.Entry {
		out := make([]settings.Entry, len(list))
		for i, text := range list {
			out[i] = settings.Entry{Text: text, Source: settings.ProjectSettings, File: filepath.Join(dir, ".claude/settings.json"), Line: i + 1, Dir: dir}
		}
		return out
	}
	snap := &settings.Snapshot{Settings: settings.Settings{Permissions: settings.Permissions{
		Allow: entries(allow), Ask: entries(ask), Deny: entries(deny)}}}
	return func() *settings.Snapshot { return snap }
}

func TestShellCases(t *testing.T) {
	dir := workspace(t)
	cases := shellCases(t)
	if len(cases) < 250 {
		t.Fatalf("only %d cases were read", len(cases))
	}
	shell := shellTool("Bash", nil)
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			cwd := filepath.Join(dir, c.Cwd)
			at := tool.Place{Cwd: cwd, Home: filepath.Join(dir, "home"), Roots: []string{cwd}}
			p := New(Config{Settings: rulesOf(cwd, c.Permissions.Allow, c.Permissions.Ask, c.Permissions.Deny), Cwd: cwd, Home: at.Home})
			call, err := shell.Bind(c.Input, at)
			if err != nil {
				t.Fatal(err)
			}
			d := p.Decide(context.Background(), Request{Call: call, Mode: c.Mode, BypassAvailable: true, Interactive: true})
			got := string(d.Behavior)
			if got != c.Expect && !slices.Contains(c.Acceptable, got) {
				t.Errorf("%s\nallow %q ask %q deny %q mode %s\ngot %s, want %s: %s\nreason: %+v", c.Input,
					c.Permissions.Allow, c.Permissions.Ask, c.Permissions.Deny, c.Mode, got, c.Expect, c.Why, d.Reason)
			}
			if d.Reason.Layer == "" || d.Reason.Message == "" || len(d.Steps) == 0 {
				t.Errorf("the decision does not explain itself: %+v", d)
			}
		})
	}
}
