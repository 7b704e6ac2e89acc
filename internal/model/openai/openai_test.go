package openai

//lint:file-ignore SA1019 max_tokens is what servers of this protocol understand; the newer field is not known to most

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/internal/model/fakeapi"
	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func setup(t testing.TB, h fakeapi.Handler) (*Provider, *fakeapi.Server) {
	t.Helper()
	server, err := fakeapi.New(h)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() { transport.CloseIdleConnections(); _ = server.Close() })
	p, err := New(Options{BaseURL: server.URL + "/v1/", HTTP: model.HTTPOptions{Transport: transport}, Retry: model.Retry{MaxAttempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return p, server
}

func ask(p *Provider, r model.Request) (events []model.Event, end tool.Message, err error) {
	for event, failed := range p.Stream(context.Background(), r) {
		if failed != nil {
			return events, end, failed
		}
		events = append(events, event)
		if event.Kind == model.EventEnd {
			end = event.Message
		}
	}
	return events, end, nil
}

func hello() model.Request {
	return model.Request{Model: "m", Messages: []tool.Message{tool.UserText("x")}}
}

func apiTool(t testing.TB, name, input string, strict, deferred bool) schema.APITool {
	t.Helper()
	made, err := schema.NewAPITool(name, "does it", json.RawMessage(input), strict, deferred)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestGoldenRequest(t *testing.T) {
	p, server := setup(t, fakeapi.Script(fakeapi.Text("ok")))
	thinking, err := tool.Opaque(json.RawMessage(`{"type":"thinking","thinking":"secret thoughts","signature":""}`))
	if err != nil {
		t.Fatal(err)
	}
	closed := `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	open := `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`
	_, _, err = ask(p, model.Request{Model: "some-model", System: "sys", MaxTokens: 9,
		Tools: []schema.APITool{apiTool(t, "A", closed, true, false), apiTool(t, "B", open, true, false), apiTool(t, "C", open, false, true)},
		Messages: []tool.Message{
			tool.UserText("first"),
			{Role: tool.RoleAssistant, Content: []tool.Block{thinking, tool.TextBlock("I look."),
				tool.ToolUse("c1", "A", json.RawMessage(`{"a": "b"}`)), tool.ToolUse("c2", "B", json.RawMessage(`{"cut`))}},
			{Role: tool.RoleUser, Content: []tool.Block{
				tool.ToolResult("c1", false, tool.TextBlock("one"), tool.ImageBlock("image/png", "AAAA"), tool.ToolReference("C")),
				tool.ToolResult("c2", true, tool.TextBlock("denied")),
				tool.ToolResult("c3", false),
				tool.TextBlock("go on"), tool.DocumentBlock("application/pdf", "BBBB", "paper"),
			}},
			{Role: tool.RoleAssistant, Content: []tool.Block{thinking}},
			{Role: tool.RoleUser, Content: []tool.Block{tool.TextBlock("a"), tool.TextBlock("b")}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(server.Requests()[0].Body, &got); err != nil {
		t.Fatal(err)
	}
	var want any
	if err := json.Unmarshal([]byte(`{
		"model": "some-model", "max_tokens": 9, "stream": true, "stream_options": {"include_usage": true},
		"tools": [
			{"type": "function", "function": {"name": "A", "description": "does it", "strict": true, "parameters": `+closed+`}},
			{"type": "function", "function": {"name": "B", "description": "does it", "parameters": `+open+`}}],
		"messages": [
			{"role": "system", "content": "sys"},
			{"role": "user", "content": "first"},
			{"role": "assistant", "content": "I look.", "tool_calls": [
				{"id": "c1", "type": "function", "function": {"name": "A", "arguments": "{\"a\":\"b\"}"}},
				{"id": "c2", "type": "function", "function": {"name": "B", "arguments": "{}"}}]},
			{"role": "tool", "tool_call_id": "c1", "content": "one\nFound tool: C\n(1 image(s) of this result follow in the next user message)"},
			{"role": "tool", "tool_call_id": "c2", "content": "Error: denied"},
			{"role": "tool", "tool_call_id": "c3", "content": "(no output)"},
			{"role": "user", "content": [
				{"type": "text", "text": "Image(s) of the result of c1:"},
				{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
				{"type": "text", "text": "go on"},
				{"type": "text", "text": "(document paper, application/pdf: this model takes no documents; read it as text or as images)"}]},
			{"role": "user", "content": "a\nb"}]
	}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if path := server.Requests()[0].Path; path != "/v1/chat/completions" {
		t.Error(path)
	}
	if auth := server.Requests()[0].Header.Get("Authorization"); auth != "" {
		t.Errorf("no key was given, but %q was sent", auth)
	}
}

func TestLimitsName(t *testing.T) {
	for _, c := range []struct {
		model, url string
		want       bool
	}{{"m", "", true}, {"m", "https://api.openai.com/v1", true}, {"gpt-5-mini", "http://x/v1", true}, {"o3", "http://x/v1", true}, {"qwen3", "http://x/v1", false}} {
		r := convert(model.Request{Model: c.model}, Options{BaseURL: c.url})
		if (r.MaxCompletionTokens == model.DefaultMaxTokens) != c.want || (r.MaxTokens == model.DefaultMaxTokens) == c.want {
			t.Errorf("%+v: %d and %d", c, r.MaxTokens, r.MaxCompletionTokens)
		}
	}
}

func TestStyles(t *testing.T) {
	inputs := []string{`{"path":"/a/b/c/d/e/f/g/h","n":1}`, `{"command":"ls -la /tmp/somewhere"}`, `{}`}
	var blocks []tool.Block
	for i, input := range inputs {
		blocks = append(blocks, tool.ToolUse(fmt.Sprintf("call_%d", i), fmt.Sprintf("T%d", i), json.RawMessage(input)))
	}
	for _, style := range []fakeapi.ChatStyle{
		{}, {WholeCalls: true}, {NoIDs: true}, {WholeCalls: true, NoIDs: true, NoIndex: true}, {WholeCalls: true, NoIndex: true}, {NoIndex: true},
		{NoIDs: true, NoIndex: true}, {Interleave: true}, {Interleave: true, NoIDs: true}, {FinishReason: "stop"}, {FinishReason: "function_call"},
		{FinishReason: "eos"}, {NoDone: true, NoUsage: true},
	} {
		t.Run(fmt.Sprintf("%+v", style), func(t *testing.T) {
			p, _ := setup(t, fakeapi.Script(fakeapi.Reply{Chat: style, Message: tool.Message{Content: blocks}}))
			_, end, err := ask(p, hello())
			if err != nil {
				t.Fatal(err)
			}
			uses := end.ToolUses()
			if len(uses) != len(inputs) || end.StopReason != "tool_use" {
				t.Fatalf("%s: %+v", end.StopReason, uses)
			}
			seen := map[string]bool{}
			for i, use := range uses {
				if string(use.Input) != inputs[i] || use.Name != fmt.Sprintf("T%d", i) || use.ID == "" || seen[use.ID] {
					t.Errorf("call %d: %+v", i, use)
				}
				if !style.NoIDs && use.ID != fmt.Sprintf("call_%d", i) {
					t.Errorf("call %d has id %s", i, use.ID)
				}
				seen[use.ID] = true
			}
		})
	}
}

// TestCallsAreReportedEarly: the first call is complete when the second begins.
func TestCallsAreReportedEarly(t *testing.T) {
	p, _ := setup(t, fakeapi.Script(fakeapi.Blocks(tool.ToolUse("a", "A", json.RawMessage(`{"x":1}`)), tool.ToolUse("b", "B", json.RawMessage(`{"x":2}`)))))
	events, _, err := ask(p, hello())
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, e := range events {
		switch e.Kind {
		case model.EventToolStart:
			order = append(order, "start "+e.Block.ID)
		case model.EventBlock:
			order = append(order, "block "+e.Block.ID)
		}
	}
	if diff := cmp.Diff([]string{"start a", "block a", "start b", "block b"}, order); diff != "" {
		t.Error(diff)
	}
}

func chunks(lines ...string) string {
	var out strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&out, "data: %s\n\n", line)
	}
	return out.String()
}

func delta(fields string) string {
	return `{"id":"x","model":"m","choices":[{"index":0,"delta":{` + fields + `}}]}`
}

func TestOddStreams(t *testing.T) {
	finish := func(reason string) string {
		return `{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
	}
	call := func(index, id, name, arguments string) string {
		quoted, _ := json.Marshal(arguments)
		return delta(`"tool_calls":[{"index":` + index + `,"id":` + id + `,"function":{"name":` + name + `,"arguments":` + string(quoted) + `}}]`)
	}
	const done = "[DONE]"
	for _, c := range []struct{ name, stream, want, wantStop, wantErr string }{
		{"thinking", chunks(delta(`"reasoning_content":"hm <x>"`), delta(`"content":"hi"`), finish("stop"), done),
			`[{"type":"thinking","thinking":"hm \u003cx\u003e","signature":""} {"type":"text","text":"hi"}]`, "end_turn", ""},
		{"other thinking", chunks(delta(`"reasoning":"hm","content":null`), finish("stop"), done), `[{"type":"thinking","thinking":"hm","signature":""}]`, "end_turn", ""},
		{"all calls index 0", chunks(call("0", `"a"`, `"A"`, `{"x":1}`), call("0", `"b"`, `"B"`, `{"x":2}`), finish("tool_calls"), done),
			`[{"type":"tool_use","id":"a","name":"A","input":{"x":1}} {"type":"tool_use","id":"b","name":"B","input":{"x":2}}]`, "tool_use", ""},
		{"id and name in every fragment", chunks(call("0", `"a"`, `"A"`, `{"x"`), call("0", `"a"`, `"A"`, `:1}`), finish("tool_calls"), done),
			`[{"type":"tool_use","id":"a","name":"A","input":{"x":1}}]`, "tool_use", ""},
		{"arguments as object", chunks(delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":{"x":1}}}]`), finish("stop"), done),
			`[{"type":"tool_use","id":"a","name":"A","input":{"x":1}}]`, "tool_use", ""},
		{"null arguments", chunks(call("0", `"a"`, `"A"`, "null"), finish("tool_calls"), done), `[{"type":"tool_use","id":"a","name":"A","input":{}}]`, "tool_use", ""},
		{"same id twice", chunks(call("0", `"a"`, `"A"`, `{}`), call("1", `"a"`, `"A"`, `{}`), finish("tool_calls"), done), "", "tool_use", ""},
		{"text after a call", chunks(delta(`"content":"a"`), call("0", `"a"`, `"A"`, `{}`), delta(`"content":"b"`), finish("stop"), done),
			`[{"type":"text","text":"a"} {"type":"tool_use","id":"a","name":"A","input":{}} {"type":"text","text":"b"}]`, "tool_use", ""},
		{"length", chunks(delta(`"content":"a"`), finish("length"), done), `[{"type":"text","text":"a"}]`, "max_tokens", ""},
		{"filter", chunks(delta(`"refusal":"no"`), finish("content_filter"), done), `[{"type":"text","text":"no"}]`, "refusal", ""},
		{"second choice", chunks(`{"id":"x","choices":[{"index":1,"delta":{"content":"no"}}]}`, delta(`"content":"yes"`), finish("stop"), done), `[{"type":"text","text":"yes"}]`, "end_turn", ""},
		{"more after a whole call", chunks(call("0", `"a"`, `"A"`, `{}`), call("1", `"b"`, `"B"`, `{`), call("0", `"a"`, `""`, `{"x":1}`), finish("tool_calls")), "", "", "no JSON object"},
		{"done without finish", chunks(delta(`"content":"a"`), done), "", "", "ended before"},
		{"no chunk", chunks(`nonsense`), "", "", "no chunk"},
		{"finish error", chunks(delta(`"content":"a"`), finish("error")), "", "", "reports an error"},
		{"error object", chunks(`{"error":{"message":"context too long","type":"invalid_request_error","code":"context_length_exceeded"}}`), "", "", "400 (invalid_request_error): context too long"},
		{"error text", chunks(`{"error":"out of memory"}`), "", "", "500: out of memory"},
		{"error with code", chunks(`{"error":{"message":["a","b"],"code":413}}`), "", "", `413: ["a","b"]`},
		{"no line end", strings.TrimSpace(chunks(delta(`"content":"a"`), finish("stop"))), `[{"type":"text","text":"a"}]`, "end_turn", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := setup(t, fakeapi.Script(fakeapi.Reply{Raw: c.stream}))
			_, end, err := ask(p, hello())
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Fatalf("error %v, want %s", err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range end.Content {
				raw, _ := b.MarshalJSON()
				got = append(got, string(raw))
			}
			if c.want != "" && fmt.Sprint(got) != c.want {
				t.Errorf("got  %v\nwant %s", got, c.want)
			}
			if end.StopReason != c.wantStop {
				t.Errorf("stop reason %s", end.StopReason)
			}
			ids := map[string]bool{}
			for _, use := range end.ToolUses() {
				if ids[use.ID] {
					t.Errorf("id %s twice", use.ID)
				}
				ids[use.ID] = true
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	p, server := setup(t, fakeapi.Script(fakeapi.Reply{Status: 429, Raw: `{"error":{"message":"You exceeded your quota","type":"insufficient_quota","code":"insufficient_quota"}}`},
		fakeapi.Reply{Status: 422, Raw: `{"detail":[{"msg":"bad"}]}`}))
	p.options.Retry = model.Retry{}
	var refused *model.APIError
	if _, _, err := ask(p, hello()); !errors.As(err, &refused) || refused.Type != "insufficient_quota" || len(server.Requests()) != 1 {
		t.Errorf("quota: %v after %d requests", err, len(server.Requests()))
	}
	if _, _, err := ask(p, hello()); !errors.As(err, &refused) || !strings.Contains(refused.Message, "bad") {
		t.Errorf("detail: %v", err)
	}
	if _, err := New(Options{}); !errors.Is(err, model.ErrNoKey) {
		t.Errorf("no key: %v", err)
	}
}

func BenchmarkConvert1000(b *testing.B) {
	r := model.Request{Model: "m"}
	for i := range 500 {
		id := fmt.Sprint(i)
		r.Messages = append(r.Messages,
			tool.Message{Role: tool.RoleAssistant, Content: []tool.Block{tool.ToolUse(id, "Read", json.RawMessage(`{"file_path":"/a/b"}`))}},
			tool.Message{Role: tool.RoleUser, Content: []tool.Block{tool.ToolResult(id, false, tool.TextBlock(strings.Repeat("line of <code>\n", 120)))}})
	}
	for b.Loop() {
		if _, err := json.Marshal(convert(r, Options{})); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":"{\"x\""}}]`) + "\n" + delta(`"tool_calls":[{"function":{"arguments":":1}"}}]`))
	f.Add(`{"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]}`)
	f.Fuzz(func(t *testing.T, stream string) {
		d := decoder{
			emit: func(e model.Event) error {
				if e.Kind == model.EventBlock && e.Block.Type == tool.BlockToolUse && (!json.Valid(e.Block.Input) || e.Block.ID == "") {
					t.Fatalf("a broken call: %+v", e.Block)
				}
				return nil
			},
			refuse: model.Refused,
		}
		for line := range strings.Lines(stream) {
			if d.chunk([]byte(line)) != nil {
				return
			}
		}
		_ = d.end(model.ErrCut)
	})
}
