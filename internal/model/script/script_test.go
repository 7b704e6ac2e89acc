package script

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/tool"
)

func must(t *testing.T, text string) *Provider {
	t.Helper()
	p, err := New("demo.jsonl", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func play(p *Provider, r model.Request) (events []model.Event, err error) {
	for event, e := range p.Stream(context.Background(), r) {
		if e != nil {
			return events, e
		}
		events = append(events, event)
	}
	return events, nil
}

func TestPlaysInOrder(t *testing.T) {
	p := must(t, "\ufeff"+`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s<&>"},{"type":"text","text":"I look at the file, then I tell – größer als vorher."},{"type":"tool_use","name":"Read","input":{"file_path":"/a"}},{"type":"tool_use","id":"mine","name":"Stop"}]}

{"role":"assistant","content":"Done.","usage":{"input_tokens":3,"output_tokens":4}}
`)
	if p.Len() != 2 {
		t.Fatalf("Len is %d", p.Len())
	}
	events, err := play(p, model.Request{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []model.EventKind
	var text strings.Builder
	for _, e := range events {
		if len(kinds) == 0 || kinds[len(kinds)-1] != e.Kind {
			kinds = append(kinds, e.Kind)
		}
		if e.Kind == model.EventText {
			text.WriteString(e.Text)
		}
	}
	end := events[len(events)-1]
	if events[0].Kind != model.EventStart || end.Kind != model.EventEnd || events[0].Message.Model != "m" {
		t.Fatalf("events are framed by %+v and %+v", events[0], end)
	}
	if got := end.Message.Text(); got != text.String() {
		t.Errorf("the pieces are %q, the block %q", text.String(), got)
	}
	if end.Message.StopReason != "tool_use" {
		t.Errorf("stop reason %q", end.Message.StopReason)
	}
	uses := end.Message.ToolUses()
	if len(uses) != 2 || uses[0].ID != "toolu_script_1_2" || uses[1].ID != "mine" || string(uses[1].Input) != "{}" || string(uses[0].Input) != `{"file_path":"/a"}` {
		t.Errorf("tool uses %+v", uses)
	}
	raw, err := end.Message.Content[0].MarshalJSON()
	if err != nil || string(raw) != `{"type":"thinking","thinking":"hm","signature":"s<&>"}` {
		t.Errorf("the thinking block became %s, %v", raw, err)
	}
	events, err = play(p, model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	end = events[len(events)-1]
	if end.Message.Text() != "Done." || end.Message.StopReason != "end_turn" || end.Message.Usage.OutputTokens != 4 {
		t.Errorf("second message %+v", end.Message)
	}
	_, err = play(p, model.Request{})
	if err == nil || !strings.Contains(err.Error(), "demo.jsonl: request 3, but it has 2 messages") {
		t.Errorf("past the end: %v", err)
	}
}

func TestExpect(t *testing.T) {
	line := `{"role":"assistant","content":"ok","expect":"(?i)permission denied"}`
	result := tool.Message{Role: tool.RoleUser, Content: []tool.Block{tool.ToolResult("x", true, tool.TextBlock("Permission denied by rule"))}}
	if _, err := play(must(t, line), model.Request{Messages: []tool.Message{tool.UserText("go"), result}}); err != nil {
		t.Error(err)
	}
	_, err := play(must(t, line), model.Request{Messages: []tool.Message{result, tool.UserText("go")}})
	if err == nil || !strings.Contains(err.Error(), `demo.jsonl, line 1: expected the last user message to match "(?i)permission denied", but it is "go"`) {
		t.Errorf("unmet: %v", err)
	}
}

func TestRefusesMalformed(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "\n \n", "has no messages"},
		{"json", "{\"role\":\"assistant\",\"content\":\"x\"}\n{\"role\":", "line 2: no valid JSON"},
		{"array", "[]", "must be a JSON object"},
		{"null", "null", "must be a JSON object"},
		{"role", `{"role":"user","content":"x"}`, `field "role" is "user"`},
		{"norole", `{"content":"x"}`, `field "role" is ""`},
		{"unknown", `{"role":"assistant","content":"x","expct":"y"}`, `field "expct" is unknown`},
		{"content", `{"role":"assistant"}`, `field "content" is missing`},
		{"contenttype", `{"role":"assistant","content":5}`, `field "content" must be a string or a list`},
		{"block", `{"role":"assistant","content":[{"type":"text","text":"a"},{"text":"b"}]}`, `content[1]: field "type" is missing`},
		{"text", `{"role":"assistant","content":[{"type":"text"}]}`, `field "text" is missing`},
		{"result", `{"role":"assistant","content":[{"type":"tool_result"}]}`, "belongs into a user message"},
		{"name", `{"role":"assistant","content":[{"type":"tool_use","input":{}}]}`, `field "name" is missing`},
		{"input", `{"role":"assistant","content":[{"type":"tool_use","name":"A","input":"{}"}]}`, `field "input" of a tool_use must be an object`},
		{"delay", `{"role":"assistant","content":[{"type":"text","text":"","delay_ms":-1}]}`, `field "delay_ms" is -1`},
		{"long delay", `{"role":"assistant","content":[{"type":"text","text":"","delay_ms":1e300}]}`, `from 0 to 600000`},
		{"expect", `{"role":"assistant","content":"x","expect":"("}`, `field "expect" is no regular expression`},
		{"usage", `{"role":"assistant","content":"x","usage":[]}`, `field "usage" must be`},
		{"twice", `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"A"},{"type":"tool_use","id":"a","name":"A"}]}`, `field "id" is "a", as in line 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New("demo.jsonl", strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %v, want it to say %s", err, c.want)
			}
		})
	}
}

func TestDelayEndsWithContext(t *testing.T) {
	p := must(t, `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s","delay_ms":300000}]}`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last error
	for event, err := range p.Stream(ctx, model.Request{}) {
		if err == nil && event.Kind == model.EventStart {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("ended with %v", last)
	}
}

func TestDelayWaits(t *testing.T) {
	p := must(t, `{"role":"assistant","content":[{"type":"redacted_thinking","data":"x","delay_ms":30}]}`)
	start := time.Now()
	events, err := play(p, model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 30*time.Millisecond {
		t.Errorf("took %v", took)
	}
	raw, _ := events[1].Block.MarshalJSON()
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil || len(fields) != 2 {
		t.Errorf("delay_ms is still in %s", raw)
	}
}

func TestLoadAndParallel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "many.jsonl")
	if err := os.WriteFile(path, []byte(strings.Repeat(`{"role":"assistant","content":"x"}`+"\n", 50)), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := play(p, model.Request{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := play(p, model.Request{}); err == nil {
		t.Error("message 51 was played")
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file was loaded")
	}
}

func FuzzNew(f *testing.F) {
	f.Add(`{"role":"assistant","content":[{"type":"text","text":"a","delay_ms":0},{"type":"tool_use","name":"A","input":{"x":[1]}}]}`)
	f.Add(`{"role":"assistant","content":"x","expect":"a+"}` + "\n{}")
	f.Add(`{"role":"assistant","content":[null,{"type":"x","content":{}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := New("fuzz", strings.NewReader(text))
		if err != nil {
			return
		}
		for range p.Len() {
			for event, err := range p.Stream(context.Background(), model.Request{}) {
				if err != nil {
					break
				}
				if event.Kind == model.EventEnd {
					if _, err := json.Marshal(event.Message); err != nil {
						t.Fatalf("cannot be encoded: %v", err)
					}
				}
			}
		}
	})
}
