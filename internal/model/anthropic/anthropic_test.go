package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/internal/model/fakeapi"
	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func setup(t testing.TB, o Options, h fakeapi.Handler) (*Provider, *fakeapi.Server) {
	t.Helper()
	server, err := fakeapi.New(h)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() { transport.CloseIdleConnections(); _ = server.Close() })
	o.BaseURL, o.HTTP.Transport = server.URL, transport
	o.Retry = model.Retry{MaxAttempts: 1}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p, server
}

func ask(t testing.TB, p *Provider, r model.Request) tool.Message {
	t.Helper()
	var end tool.Message
	for event, err := range p.Stream(context.Background(), r) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Kind == model.EventEnd {
			end = event.Message
		}
	}
	return end
}

func apiTool(t testing.TB, name string, deferred bool) schema.APITool {
	t.Helper()
	made, err := schema.NewAPITool(name, "does <it> & more", json.RawMessage(`{"type": "object", "properties": {}}`), false, deferred)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func opaque(t testing.TB, raw string) tool.Block {
	t.Helper()
	b, err := tool.Opaque(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGoldenRequest(t *testing.T) {
	p, server := setup(t, Options{APIKey: "key", Beta: []string{"b1", "b2"}, Extra: map[string]json.RawMessage{"thinking": json.RawMessage(`{"type":"adaptive"}`)}},
		fakeapi.Script(fakeapi.Text("ok")))
	ask(t, p, model.Request{
		Model: "some-model", System: "sys", MaxTokens: 77,
		Tools: []schema.APITool{apiTool(t, "A", false), apiTool(t, "B", true)},
		Messages: []tool.Message{
			tool.UserText("first"),
			{Role: tool.RoleAssistant, Content: []tool.Block{
				opaque(t, `{"type":"thinking",  "thinking":"<&>","signature":"s/+"}`),
				opaque(t, `{"type":"thinking","thinking":"foreign","signature":""}`),
				tool.TextBlock(" \n"),
				opaque(t, `{"type":"from_the_future","x":[1, 2]}`),
				tool.ToolUse("toolu_1", "A", json.RawMessage(`{"p": 1}`)),
				tool.ToolUse("toolu_2", "A", json.RawMessage(`{"cut`)),
			}},
			{Role: tool.RoleUser, Content: []tool.Block{
				tool.TextBlock("and"),
				tool.ToolResult("toolu_1", false, tool.TextBlock("one"), tool.TextBlock("")),
				tool.ToolResult("toolu_2", true, tool.ToolReference("B")),
			}},
			{Role: tool.RoleAssistant, Content: []tool.Block{tool.TextBlock("")}},
			tool.UserText("last"),
		},
	})
	got := server.Requests()[0]
	want := `{"model":"some-model","max_tokens":77,"stream":true,"thinking":{"type":"adaptive"}` +
		`,"tools":[{"name":"A","description":"does <it> & more","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}` +
		`,{"name":"B","description":"does <it> & more","input_schema":{"type":"object","properties":{}},"defer_loading":true}]` +
		`,"system":[{"type":"text","text":"sys","cache_control":{"type":"ephemeral"}}]` +
		`,"messages":[{"role":"user","content":[{"type":"text","text":"first"}]}` +
		`,{"role":"assistant","content":[{"type":"thinking",  "thinking":"<&>","signature":"s/+"}` +
		`,{"type":"from_the_future","x":[1, 2]}` +
		`,{"type":"tool_use","id":"toolu_1","name":"A","input":{"p":1}},{"type":"tool_use","id":"toolu_2","name":"A","input":{}}]}` +
		`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"one"}]}` +
		`,{"type":"tool_result","tool_use_id":"toolu_2","is_error":true,"content":[{"type":"tool_reference","tool_name":"B"}]}` +
		`,{"type":"text","text":"and","cache_control":{"type":"ephemeral"}}]}` +
		`,{"role":"user","content":[{"type":"text","text":"last","cache_control":{"type":"ephemeral"}}]}]}`
	if diff := cmp.Diff(want, string(got.Body)); diff != "" {
		t.Error(diff)
	}
	if got.Length != int64(len(want)) {
		t.Errorf("announced %d bytes of %d", got.Length, len(want))
	}
	if !json.Valid(got.Body) || got.Path != "/v1/messages" {
		t.Errorf("path %s", got.Path)
	}
	for name, want := range map[string]string{"Authorization": "Bearer key", "Anthropic-Beta": "b1,b2", "Content-Type": "application/json"} {
		if got.Header.Get(name) != want {
			t.Errorf("%s is %q", name, got.Header.Get(name))
		}
	}
	if got.Header.Get("Anthropic-Version") == "" {
		t.Error("no version")
	}
}

// TestEnvironmentIsNotRead: what the environment says must not leak into
// requests of a provider that was told otherwise.
func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "from-the-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "from-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	p, server := setup(t, Options{APIKey: "key", AuthToken: "token"}, fakeapi.Script(fakeapi.Text("ok")))
	ask(t, p, model.Request{Model: "m", Messages: []tool.Message{tool.UserText("x")}})
	header := fmt.Sprint(server.Requests()[0].Header)
	if strings.Contains(header, "environment") || !strings.Contains(header, "Bearer token") {
		t.Error(header)
	}
	if _, err := New(Options{}); !errors.Is(err, model.ErrNoKey) {
		t.Errorf("no key: %v", err)
	}
}

func TestExtraIsChecked(t *testing.T) {
	for _, extra := range []map[string]json.RawMessage{{"tools": json.RawMessage(`[]`)}, {"x": json.RawMessage(`{`)}, {"x": nil}} {
		if _, err := New(Options{APIKey: "key", Extra: extra}); err == nil {
			t.Errorf("%v was taken", extra)
		}
	}
}

// TestSession plays a conversation and compares its requests: the tools and all
// messages that were sent before keep their bytes.
func TestSession(t *testing.T) {
	thinking := opaque(t, `{"type":"thinking","thinking":"<tags> & \"quotes\" \u2028 größer","signature":"EqQB/+=="}`)
	redacted := opaque(t, `{"type":"redacted_thinking","data":"abc=="}`)
	future := opaque(t, `{"type":"from_the_future","inner":{"z":1,"a":"<>"}}`)
	p, server := setup(t, Options{APIKey: "key"}, func(_ context.Context, r fakeapi.Request) fakeapi.Reply {
		return fakeapi.Blocks(thinking, redacted, future, tool.ToolUse(fmt.Sprintf("toolu_%d", r.N), "A", json.RawMessage(`{"f":"<a>"}`)))
	})
	r := model.Request{Model: "m", System: "s", Tools: []schema.APITool{apiTool(t, "A", false), apiTool(t, "B", true)}, Messages: []tool.Message{tool.UserText("go")}}
	for i := range 6 {
		m := ask(t, p, r)
		if len(m.Content) != 4 {
			t.Fatalf("turn %d: %+v", i, m)
		}
		r.Messages = append(r.Messages, m, tool.Message{Role: tool.RoleUser, Content: []tool.Block{tool.ToolResult(m.ToolUses()[0].ID, false, tool.TextBlock("fine"))}})
	}
	cut := func(body []byte, from, to string) string {
		_, rest, _ := strings.Cut(string(body), from)
		middle, _, _ := strings.Cut(rest, to)
		return middle
	}
	unmarked := func(body []byte) string {
		_, rest, _ := strings.Cut(strings.ReplaceAll(string(body), ","+cacheMark, ""), `"messages":[`)
		return strings.TrimSuffix(rest, "]}")
	}
	requests := server.Requests()
	for i, one := range requests[1:] {
		before := requests[i]
		if a, b := cut(before.Body, `"tools":`, `,"messages":`), cut(one.Body, `"tools":`, `,"messages":`); a != b || a == "" {
			t.Errorf("the tools changed:\n%s\n%s", a, b)
		}
		if !strings.HasPrefix(unmarked(one.Body), unmarked(before.Body)) {
			t.Errorf("request %d does not continue the one before", i+2)
		}
		if n := strings.Count(string(one.Body), cacheMark); n > 4 {
			t.Errorf("%d cache marks", n)
		}
	}
	last := string(requests[5].Body)
	for _, b := range []tool.Block{redacted, future} {
		raw, _ := b.MarshalJSON()
		if !strings.Contains(last, string(raw)) {
			t.Errorf("%s is not in the request", raw)
		}
	}
	// The thinking came in pieces: its text and signature must be the same.
	var body struct {
		Messages []struct {
			Content []struct{ Type, Thinking, Signature string }
		}
	}
	if err := json.Unmarshal(requests[5].Body, &body); err != nil {
		t.Fatal(err)
	}
	got := body.Messages[1].Content[0]
	if got.Thinking != "<tags> & \"quotes\" \u2028 größer" || got.Signature != "EqQB/+==" {
		t.Errorf("thinking %+v", got)
	}
}

func sse(events ...string) string {
	var out strings.Builder
	for _, e := range events {
		fmt.Fprintf(&out, "data: %s\r\n\r\n", e)
	}
	return out.String()
}

// TestOddStreams feeds streams that only some servers send.
func TestOddStreams(t *testing.T) {
	const start = `{"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":5}}}`
	const stop = `{"type":"message_stop"}`
	const endTool = `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`
	for _, c := range []struct {
		name, stream string
		want         []string // blocks
		wantErr      string
	}{
		{"input in the start", sse(start, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"A","input":{"a":1}}}`,
			`{"type":"content_block_stop","index":0}`, endTool, stop), []string{`{"type":"tool_use","id":"t","name":"A","input":{"a":1}}`}, ""},
		{"server tool", sse(start, `{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"search","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"q\":\"<x>\"}"}}`,
			`{"type":"content_block_stop","index":0}`, endTool, stop), []string{`{"id":"srvtoolu_1","input":{"q":"<x>"},"name":"search","type":"server_tool_use"}`}, ""},
		{"no message_stop", sse(start, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}`, `{"type":"content_block_stop","index":0}`, endTool),
			[]string{`{"type":"text","text":"hi"}`}, ""},
		{"text never closed", sse(start, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}`, endTool, stop),
			[]string{`{"type":"text","text":"hi"}`}, ""},
		{"call never closed", sse(start, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"A","input":{}}}`, endTool, stop),
			nil, "a tool_use block never ended"},
		{"broken data", sse(start, `{"type":"content_block_start","index":0`), nil, "data that is no JSON"},
		{"no start", sse(`{"type":"content_block_stop","index":0}`), nil, "before message_start"},
		{"delta of nothing", sse(start, `{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}`), nil, "not open"},
		{"stop at once", sse(start, stop), nil, "ended before"},
		{"nothing", ": hello\n\n", nil, "ended before"},
		{"error without reason", sse(`{"type":"error"}`), nil, "without its reason"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := setup(t, Options{APIKey: "key"}, fakeapi.Script(fakeapi.Reply{Raw: c.stream}))
			var end tool.Message
			var failed error
			for event, err := range p.Stream(context.Background(), model.Request{Model: "m", Messages: []tool.Message{tool.UserText("x")}}) {
				end, failed = event.Message, err
			}
			if c.wantErr != "" {
				if failed == nil || !strings.Contains(failed.Error(), c.wantErr) {
					t.Fatalf("error %v, want %s", failed, c.wantErr)
				}
				return
			}
			if failed != nil {
				t.Fatal(failed)
			}
			var got []string
			for _, b := range end.Content {
				raw, _ := b.MarshalJSON()
				got = append(got, string(raw))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIDsAreMadeUnique(t *testing.T) {
	use := func(id string) tool.Block { return tool.ToolUse(id, "A", json.RawMessage(`{}`)) }
	p, _ := setup(t, Options{APIKey: "key"}, fakeapi.Script(fakeapi.Blocks(use("c1"), use("c1"), use(""))))
	seen := map[string]bool{}
	for _, u := range ask(t, p, model.Request{Model: "m", Messages: []tool.Message{tool.UserText("x")}}).ToolUses() {
		if u.ID == "" || seen[u.ID] {
			t.Errorf("id %q", u.ID)
		}
		seen[u.ID] = true
	}
	if !seen["c1"] || len(seen) != 3 {
		t.Error(seen)
	}
}

func conversation(n int) []tool.Message {
	messages := make([]tool.Message, 0, n+1)
	for i := range n {
		id := fmt.Sprintf("toolu_%d", i/2)
		if i%2 == 0 {
			messages = append(messages, tool.Message{Role: tool.RoleAssistant, Content: []tool.Block{tool.TextBlock(strings.Repeat("reading the file ", 10)), tool.ToolUse(id, "Read", json.RawMessage(`{"file_path":"/a/b"}`))}})
		} else {
			messages = append(messages, tool.Message{Role: tool.RoleUser, Content: []tool.Block{tool.ToolResult(id, false, tool.TextBlock(strings.Repeat("line of <code>\n", 120)))}})
		}
	}
	return messages
}

func TestCacheIsRightAndLetsGo(t *testing.T) {
	e, err := newEncoder(nil)
	if err != nil {
		t.Fatal(err)
	}
	blocks := []tool.Block{tool.TextBlock("a"), tool.TextBlock("b")}
	for _, c := range []struct {
		m    tool.Message
		want string
	}{
		{tool.Message{Role: tool.RoleUser, Content: blocks[:1]}, `{"role":"user","content":[{"type":"text","text":"a"}]}`},
		{tool.Message{Role: tool.RoleUser, Content: blocks}, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`},
		{tool.Message{Role: tool.RoleAssistant, Content: blocks[:1]}, `{"role":"assistant","content":[{"type":"text","text":"a"}]}`},
	} {
		for range 2 {
			if one, err := e.message(c.m); err != nil || string(one.body) != c.want {
				t.Errorf("%s, %v; want %s", one.body, err, c.want)
			}
		}
	}
	runtime.KeepAlive(blocks)
	if _, err := e.encode(model.Request{Messages: conversation(100)}); err != nil {
		t.Fatal(err)
	}
	// The next request of another conversation lets go of the last one's.
	if _, err := e.encode(model.Request{Messages: conversation(2)}); err != nil {
		t.Fatal(err)
	}
	size := func() int { e.mu.Lock(); defer e.mu.Unlock(); return len(e.messages) }
	for deadline := time.Now().Add(20 * time.Second); size() > 5; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d messages are still remembered", size())
		}
		runtime.GC()
	}
}

// A request that goes on from the last one, or from part of it, has the bytes of one
// that is encoded anew.
func TestRequestsThatGoOnAreTheSame(t *testing.T) {
	e, err := newEncoder(nil)
	if err != nil {
		t.Fatal(err)
	}
	all := conversation(9)
	other := slices.Clone(all)
	other[3] = tool.UserText("something else")
	other[5].Content = other[5].Content[:0]
	shorter := slices.Clone(all)
	shorter[4].Content = shorter[4].Content[:1]
	for i, messages := range [][]tool.Message{all[:4], all[:6], all, other, all[2:], shorter, all, nil, all} {
		fresh, err := newEncoder(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err1 := e.encode(model.Request{Messages: messages})
		want, err2 := fresh.encode(model.Request{Messages: messages})
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if a, b := bytes.Join(got.parts, nil), bytes.Join(want.parts, nil); !bytes.Equal(a, b) {
			t.Errorf("request %d:\n%s\n%s", i, a, b)
		}
	}
}

func BenchmarkEncode1000(b *testing.B) {
	e, err := newEncoder(nil)
	if err != nil {
		b.Fatal(err)
	}
	r := model.Request{Model: "m", System: strings.Repeat("s", 8000), Messages: conversation(1000)}
	for i := range 40 {
		r.Tools = append(r.Tools, apiTool(b, fmt.Sprintf("T%d", i), false))
	}
	var made *body
	for b.Loop() {
		if made, err = e.encode(r); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(made.size), "body-bytes")
}

func BenchmarkTurn(b *testing.B) {
	p, _ := setup(b, Options{APIKey: "key"}, func(context.Context, fakeapi.Request) fakeapi.Reply {
		return fakeapi.Text("a short answer")
	})
	r := model.Request{Model: "m", Messages: []tool.Message{tool.UserText("x")}}
	for b.Loop() {
		ask(b, p, r)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(sse(`{"type":"message_start","message":{}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","input":{}}}`,
		`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`, `{"type":"message_stop"}`))
	f.Fuzz(func(t *testing.T, stream string) {
		d := decoder{
			emit: func(e model.Event) error {
				if e.Kind == model.EventBlock && e.Block.Type == tool.BlockToolUse && !json.Valid(e.Block.Input) {
					t.Fatalf("a broken call: %+v", e.Block)
				}
				return nil
			},
			refuse: model.Refused,
		}
		for line := range strings.Lines(stream) {
			data, _ := strings.CutPrefix(strings.TrimSpace(line), "data: ")
			if done, err := d.event(event(data)); done || err != nil {
				return
			}
		}
		_ = d.end(model.ErrCut)
	})
}

func event(data string) ssestream.Event { return ssestream.Event{Data: []byte(data)} }
