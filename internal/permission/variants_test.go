package permission

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

// testdata/variants.txt holds commands and their verdicts, under headings of the
// form "# kind mode {rules}". A verdict may be several, joined by "|", where the
// first is best and the others are as safe.
func TestShellVariants(t *testing.T) {
	dir := workspace(t)
	f, err := os.Open("testdata/variants.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	shell := shellTool("Bash", nil)
	cwd := filepath.Join(dir, "ws")
	at := tool.Place{Cwd: cwd, Home: filepath.Join(dir, "home"), Roots: []string{cwd}}
	var (
		p             *Policy
		mode          Mode
		heading, text string
		n             int
	)
	lines := bufio.NewScanner(f)
	for line := 1; lines.Scan(); line++ {
		text = lines.Text()
		if text == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(text, "# "); ok {
			fields := strings.SplitN(rest, " ", 3)
			var rules struct{ Allow, Ask, Deny []string }
			if len(fields) != 3 {
				t.Fatalf("line %d: %q is no heading", line, text)
			}
			if err := json.Unmarshal([]byte(fields[2]), &rules); err != nil {
				t.Fatalf("line %d: %v", line, err)
			}
			heading, mode = rest, Mode(fields[1])
			p = New(Config{Settings: rulesOf(cwd, rules.Allow, rules.Ask, rules.Deny), Cwd: cwd, Home: at.Home})
			continue
		}
		verdicts, quoted, _ := strings.Cut(text, " ")
		var command string
		if err := json.Unmarshal([]byte(quoted), &command); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		n++
		d := p.Decide(context.Background(), Request{Call: bind(t, shell, at, shellInput{Command: command}), Mode: mode, BypassAvailable: true, Interactive: true})
		if !slices.Contains(strings.Split(verdicts, "|"), string(d.Behavior)) {
			t.Errorf("line %d: %q: got %s, want %s: %s\n%.300s", line, command, d.Behavior, verdicts, d.Reason.Message, heading)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if n < 3000 {
		t.Fatalf("only %d cases were read", n)
	}
}
