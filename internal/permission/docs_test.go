package permission

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

// TestDocumentedExamples runs the table of examples of docs/permissions.md.
func TestDocumentedExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, examples, found := strings.Cut(string(page), "\n## Examples\n")
	if !found {
		t.Fatal("the page has no examples")
	}
	dir := workspace(t)
	cwd := filepath.Join(dir, "ws")
	at := tool.Place{Cwd: cwd, Home: filepath.Join(dir, "home"), Roots: []string{cwd}}
	tools := map[string]tool.Tool{"Bash": shellTool("Bash", nil), "Read": readTool("Read"), "Edit": editTool("Edit"), "Write": editTool("Write"), "WebFetch": fetchTool()}
	rows := 0
	for line := range strings.Lines(examples) {
		cells := tableCells(line)
		if len(cells) != 4 || cells[0] == "settings" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		rows++
		rules := map[string][]string{}
		m := ModeDefault
		pieces := strings.Split(cells[0], "`")
		for i := 0; i+1 < len(pieces); i += 2 {
			switch what, text := strings.TrimSpace(pieces[i]), pieces[i+1]; what {
			case "mode":
				if m, err = ParseMode(text); err != nil {
					t.Error(err)
				}
			case "allow", "ask", "deny":
				rules[what] = SplitRules(text)
			default:
				t.Errorf("%s: %q is neither a list nor a mode", line, what)
			}
		}
		name, rest, _ := strings.Cut(strings.Trim(cells[1], "`"), " ")
		used, ok := tools[name]
		if !ok {
			t.Errorf("%s: no tool %q", line, name)
			continue
		}
		var call *tool.Call
		switch name {
		case "Bash":
			call = bind(t, used, at, shellInput{Command: rest})
		case "WebFetch":
			call = bind(t, used, at, anyInput{URL: rest})
		default:
			call = bind(t, used, at, anyInput{Path: rest})
		}
		p := New(Config{Settings: rulesOf(cwd, rules["allow"], rules["ask"], rules["deny"]), Cwd: cwd, Home: at.Home})
		if got := p.Decide(context.Background(), Request{Call: call, Mode: m, BypassAvailable: true}); string(got.Behavior) != cells[2] {
			t.Errorf("%sgot %s: %s", line, got.Behavior, got.Reason.Message)
		}
	}
	if rows < 30 {
		t.Errorf("only %d examples were found", rows)
	}
}

// tableCells gives the cells of a row of a Markdown table, "\|" as a bar.
func tableCells(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") || !strings.HasSuffix(line, "|") {
		return nil
	}
	const bar = "\x00"
	cells := strings.Split(strings.ReplaceAll(line[1:len(line)-1], `\|`, bar), "|")
	for i := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), bar, "|")
	}
	return cells
}
