package sevengate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/result"
	"github.com/sevengate/sevengate/tool"
)

// inputs has a right input for every registered tool. Paths are below the
// project that conform makes.
var inputs = map[string]string{
	"Read":            `{"file_path":"a.txt"}`,
	"Write":           `{"file_path":"new.txt","content":"x\n"}`,
	"Edit":            `{"file_path":"a.txt","old_string":"alpha","new_string":"omega"}`,
	"NotebookEdit":    `{"notebook_path":"n.ipynb","cell_id":"c1","new_source":"2"}`,
	"Glob":            `{"pattern":"*.txt"}`,
	"Grep":            `{"pattern":"alpha"}`,
	"Bash":            `{"command":"cat a.txt"}`,
	"TaskOutput":      `{"task_id":"none","block":false,"timeout":10}`,
	"TaskStop":        `{"task_id":"none"}`,
	"Monitor":         `{"command":"cat a.txt","description":"look","timeout_ms":2000}`,
	"Sleep":           `{"seconds":0.01}`,
	"TodoWrite":       `{"todos":[{"content":"a","status":"pending","activeForm":"b"}]}`,
	"AskUserQuestion": `{"questions":[{"question":"Which?","header":"h","options":[{"label":"a"},{"label":"b"}]}]}`,
	"ToolSearch":      `{"query":"file"}`,
	"Terminal":        `{"action":"start","command":"true","timeout_ms":500}`,
	"TerminalCapture": `{"id":"none"}`,
	"REPL":            `{"code":"(await Read({file_path: \"a.txt\"})).length"}`,
	"LSP":             `{"operation":"documentSymbol","filePath":"a.txt"}`,
}

// gates are the feature gates of tools, all switched on here.
var gates = map[string]bool{"monitor": true, "sleep": true, "lsp": true, "terminal": true, "repl": true}

// hooksAt are hooks that write what they are told into files.
func hooksAt(dir, pre string) string {
	command := func(file string) string {
		raw, _ := json.Marshal("cat >> " + filepath.Join(dir, file))
		return string(raw)
	}
	return fmt.Sprintf(`{"permissions":{"allow":["*"]},"hooks":{
		"PreToolUse":[{"hooks":[{"type":"command","command":%s}%s]}],
		"PostToolUse":[{"hooks":[{"type":"command","command":%s}]}],
		"PostToolUseFailure":[{"hooks":[{"type":"command","command":%s}]}]}}`, command("pre"), pre, command("post"), command("failure"))
}

type answering struct{}

// Prompt agrees to everything, and answers the questions of a call that is one.
func (answering) Prompt(_ context.Context, q Question) (Answer, error) {
	a := Answer{Behavior: tool.Allow}
	if q.Call.RequiresUserInteraction() {
		var in map[string]any
		if err := json.Unmarshal(q.Call.Observed(), &in); err != nil {
			return Answer{}, err
		}
		in["answers"] = map[string]string{"Which?": "a"}
		a.UpdatedInput, _ = json.Marshal(in)
	}
	return a, nil
}

func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	notebook := `{"cells":[{"cell_type":"code","id":"c1","metadata":{},"source":["1"],"outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}`
	for name, text := range map[string]string{"a.txt": "alpha\nbeta\n", "n.ipynb": notebook} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func conform(t *testing.T, dir, settings string, prompter Prompter) *Runtime {
	t.Helper()
	home := t.TempDir()
	none := ""
	r, err := New(context.Background(), Options{Dir: dir, Home: home, ManagedDirs: []string{}, SettingSources: &none, Settings: settings,
		Environ: append(os.Environ(), "HOME="+home, EnvHome+"="+filepath.Join(home, "state"), "SEVENGATE_NO_SHELL_SNAPSHOT=1"), Ephemeral: true, Prompter: prompter, Features: gates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

func heard(t *testing.T, dir, file string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(raw)
}

// Every registered tool is walked through all phases.
func TestConformance(t *testing.T) {
	all, _, problems := conform(t, project(t), "", answering{}).Tools()
	if len(problems) > 0 || len(all) < 12 {
		t.Fatalf("%d tools, %v", len(all), problems)
	}
	for _, tl := range all {
		name := tl.Name()
		input, ok := inputs[name]
		if !ok {
			t.Errorf("%s has no input in this test", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Run("all phases", func(t *testing.T) {
				dir, logs := project(t), t.TempDir()
				r := conform(t, dir, hooksAt(logs, ""), answering{})
				if name == "Edit" || name == "NotebookEdit" {
					raw, _ := json.Marshal(map[string]string{"file_path": map[string]string{"Edit": "a.txt", "NotebookEdit": "n.ipynb"}[name]})
					if res := r.Call(context.Background(), "Read", raw); res.Block.IsError {
						t.Fatalf("reading first: %+v", res.Block)
					}
				}
				res := r.Call(context.Background(), name, json.RawMessage(input))
				if res.Block.Type != tool.BlockToolResult || res.Block.ToolUseID != res.Use.ID || len(res.Block.Content) == 0 {
					t.Fatalf("the result is %+v", res.Block)
				}
				if !res.Ran || res.Denied {
					t.Fatalf("it did not run: %+v", res.Block)
				}
				var phases []string
				for _, s := range res.Trace {
					phases = append(phases, string(s.Phase))
				}
				if got := strings.Join(phases, " "); got != "extract validate pre-hooks permit execute post-hooks map" {
					t.Errorf("it went through %s", got)
				}
				if !strings.Contains(heard(t, logs, "pre"), `"tool_name":"`+name+`"`) {
					t.Error("the hook before it did not fire")
				}
				after := "post"
				if res.Block.IsError && res.Trace[4].Outcome == "error" && heard(t, logs, "post") == "" {
					after = "failure"
				}
				if !strings.Contains(heard(t, logs, after), `"tool_name":"`+name+`"`) {
					t.Errorf("the %s hook did not fire (%+v)", after, res.Block)
				}
				if _, err := json.Marshal(res.Outcome.Data); err != nil {
					t.Errorf("its output is not JSON: %v", err)
				}
			})
			t.Run("deny", func(t *testing.T) {
				dir, logs := project(t), t.TempDir()
				r := conform(t, dir, hooksAt(logs, `,{"type":"command","command":"echo no >&2; exit 2"}`), answering{})
				res := r.Call(context.Background(), name, json.RawMessage(input))
				if res.Ran || !res.Denied || !res.Block.IsError || heard(t, logs, "post")+heard(t, logs, "failure") != "" {
					t.Errorf("a hook's no was not final: %+v", res.Block)
				}
				rule := conform(t, project(t), `{"permissions":{"allow":["*"],"deny":["`+name+`"]}}`, answering{})
				if res := rule.Call(context.Background(), name, json.RawMessage(input)); res.Ran || !res.Block.IsError {
					t.Errorf("a deny rule was not final: %+v", res.Block)
				}
			})
			t.Run("invalid input", func(t *testing.T) {
				logs := t.TempDir()
				r := conform(t, project(t), hooksAt(logs, ""), answering{})
				for _, bad := range []string{`{"no_such_field_xyz":1}`, `[]`, `"x"`, `null`, `{"`, `5`, strings.Replace(input, `{"`, `{"no_such_field_xyz":{},"`, 1)} {
					res := r.Call(context.Background(), name, json.RawMessage(bad))
					if res.Ran || !res.Block.IsError || res.Decision.Reason.Layer != tool.LayerSchema {
						t.Errorf("input %s: ran %v, %+v", bad, res.Ran, res.Block)
					}
				}
				if heard(t, logs, "pre") != "" {
					t.Error("an invalid input reached the hooks")
				}
			})
			t.Run("facts", func(t *testing.T) {
				at := tool.Place{Cwd: "/w", Home: "/h", Roots: []string{"/w"}}
				call, err := tl.Bind(json.RawMessage(input), at)
				if err != nil {
					t.Fatal(err)
				}
				if call.ReadOnly() && call.Destructive() {
					t.Error("it says that it is read-only and destructive")
				}
				if call.ConcurrencySafe() && !call.ReadOnly() {
					t.Error("it says that it is safe to run beside others and not read-only")
				}
				if subjects, err := call.Subjects(); err != nil {
					t.Errorf("subjects: %v", err)
				} else {
					for _, s := range subjects {
						if s.Kind == tool.SubjectPath && !filepath.IsAbs(s.Value) {
							t.Errorf("the path %q of a subject is not absolute", s.Value)
						}
					}
				}
				if tl.Prompt(tool.PromptContext{}) == "" || tl.Facts().SearchHint == "" {
					t.Error("it has no prompt or search hint")
				}
				if !json.Valid(call.Observed()) {
					t.Errorf("what hooks see is not JSON: %s", call.Observed())
				}
			})
			t.Run("budget", func(t *testing.T) {
				store := result.NewStore(t.TempDir(), "")
				content := []tool.Block{tool.TextBlock(strings.Repeat("x", 5<<20))}
				limit := tl.Facts().MaxResultChars
				if limit == tool.Unlimited {
					if name != "Read" {
						t.Errorf("only Read may bound its results itself")
					}
					return
				}
				out, saved := store.Fit("x", content, limit)
				if saved == nil || result.Chars(out) > limit {
					t.Errorf("5 MB became %d characters, saved %v", result.Chars(out), saved)
				}
			})
		})
	}
}

// Results of real tools that are far too large reach the model as previews.
func TestLargeResultsOfRealTools(t *testing.T) {
	dir := project(t)
	var big bytes.Buffer
	for i := range 300_000 {
		fmt.Fprintf(&big, "line %d with alpha in it\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "big.txt"), big.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	r := conform(t, dir, `{"permissions":{"allow":["*","Bash(cat big.txt)"]}}`, answering{})
	for name, input := range map[string]string{
		"Read": `{"file_path":"big.txt"}`,
		"Bash": `{"command":"cat big.txt"}`,
		"Grep": `{"pattern":"alpha","output_mode":"content","head_limit":0}`,
	} {
		res := r.Call(context.Background(), name, json.RawMessage(input))
		if res.Block.IsError {
			t.Errorf("%s: %.300s", name, res.Block.Content[0].Text)
		}
		if n := result.Chars(res.Block.Content); n > 200_000 {
			t.Errorf("%s: the model gets %d characters", name, n)
		}
	}
}

func TestExecAnswersInOrderWhateverHappens(t *testing.T) {
	r := conform(t, project(t), `{"permissions":{"allow":["Bash(exit 3)"]}}`, nil)
	m := tool.Message{Role: tool.RoleAssistant, Content: []tool.Block{
		tool.TextBlock("several"),
		tool.ToolUse("1", "Read", json.RawMessage(`{"file_path":"a.txt"}`)),
		tool.ToolUse("2", "Nope", json.RawMessage(`{}`)),
		tool.ToolUse("3", "Bash", json.RawMessage(`{"command":"exit 3"}`)),
		tool.ToolUse("4", "Bash", json.RawMessage(`{"command":"touch x"}`)),
		tool.ToolUse("5", "Grep", json.RawMessage(`{"pattern":"("}`)),
		tool.ToolUse("6", "Glob", json.RawMessage(`{"pattern":"*.txt"}`)),
	}}
	answer, results, ok := r.Exec(context.Background(), m)
	if !ok || len(results) != 6 {
		t.Fatalf("%d results", len(results))
	}
	if err := paired([]tool.Message{m, answer}); err != nil {
		t.Error(err)
	}
	for i, want := range []bool{false, true, true, true, true, false} {
		if answer.Content[i].IsError != want {
			t.Errorf("result %d: is_error = %v: %+v", i+1, answer.Content[i].IsError, answer.Content[i].Content)
		}
	}
	if _, _, ok := r.Exec(context.Background(), tool.Message{Role: tool.RoleAssistant, Content: []tool.Block{tool.TextBlock("none")}}); ok {
		t.Error("a message without calls has results")
	}
}
