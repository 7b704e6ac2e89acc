package fakeapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sevengate/sevengate/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, h Handler) (*Server, *http.Client) {
	t.Helper()
	s, err := New(h)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() { transport.CloseIdleConnections(); _ = s.Close() })
	return s, &http.Client{Transport: transport}
}

func post(t *testing.T, c *http.Client, url, body string) (int, string, error) {
	t.Helper()
	res, err := c.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

// dataLines returns the decoded data of a stream; every line must be valid.
func dataLines(t *testing.T, stream string) (out []map[string]any) {
	t.Helper()
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			t.Fatalf("data %q: %v", data, err)
		}
		out = append(out, v)
	}
	return out
}

func sample() tool.Message {
	thinking, err := tool.Opaque(json.RawMessage(`{"type":"thinking","thinking":"let me think about that","signature":"sig"}`))
	if err != nil {
		panic(err)
	}
	return tool.Message{Content: []tool.Block{thinking, tool.TextBlock("Schöne Grüße, ein längerer Text"),
		tool.ToolUse("toolu_1", "Read", json.RawMessage(`{"file_path":"/tmp/a.txt"}`))}}
}

func TestMessagesStream(t *testing.T) {
	s, c := start(t, Script(Reply{Message: sample()}))
	_, body, err := post(t, c, s.URL+"/v1/messages", `{"a":1}`)
	if err != nil {
		t.Fatal(err)
	}
	var text, input, types strings.Builder
	for _, event := range dataLines(t, body) {
		types.WriteString(event["type"].(string) + " ")
		if delta, ok := event["delta"].(map[string]any); ok {
			if v, ok := delta["text"].(string); ok {
				text.WriteString(v)
			}
			if v, ok := delta["partial_json"].(string); ok {
				input.WriteString(v)
			}
		}
	}
	if text.String() != "Schöne Grüße, ein längerer Text" || input.String() != `{"file_path":"/tmp/a.txt"}` {
		t.Errorf("text %q, input %q", text.String(), input.String())
	}
	if !strings.HasPrefix(types.String(), "message_start ping content_block_start") || !strings.HasSuffix(types.String(), "message_delta message_stop ") {
		t.Errorf("events: %s", types.String())
	}
	if got := s.Requests(); len(got) != 1 || string(got[0].Body) != `{"a":1}` || got[0].API != Messages {
		t.Errorf("recorded %+v", got)
	}
	if status, _, _ := post(t, c, s.URL+"/v1/messages", "{}"); status != http.StatusBadRequest {
		t.Errorf("past the script: %d", status)
	}
	if status, _, _ := post(t, c, s.URL+"/other", "{}"); status != http.StatusNotFound {
		t.Errorf("other path: %d", status)
	}
}

func TestChatStream(t *testing.T) {
	s, c := start(t, Script(Reply{Message: sample(), Garbage: true}))
	_, body, err := post(t, c, s.URL+"/v1/chat/completions", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(body, "data: [DONE]\n\n") || !strings.Contains(body, `"finish_reason":"tool_calls"`) || !strings.Contains(body, "reasoning_content") {
		t.Errorf("stream:\n%s", body)
	}
	dataLines(t, body)
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply Reply
		check func(t *testing.T, status int, body string, err error)
	}{
		{"cut after bytes", Reply{Message: sample(), CutAfter: 100}, func(t *testing.T, _ int, body string, err error) {
			if len(body) != 100 || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d bytes, %v", len(body), err)
			}
		}},
		{"clean cut", Reply{Message: sample(), CutAfter: 100, CleanCut: true, WriteSize: 7}, func(t *testing.T, _ int, body string, err error) {
			if len(body) != 100 || err != nil {
				t.Errorf("%d bytes, %v", len(body), err)
			}
		}},
		{"cut in tool", Reply{Message: sample(), CutInTool: 1}, func(t *testing.T, _ int, body string, err error) {
			if !strings.Contains(body, `file_path`) || strings.Contains(body, "a.txt") || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%v: %s", err, body)
			}
		}},
		{"429", Reply{Status: 429, ErrorType: "rate_limit_error", Header: map[string]string{"retry-after": "3"}}, func(t *testing.T, status int, body string, err error) {
			if status != 429 || !strings.Contains(body, "rate_limit_error") || err != nil {
				t.Errorf("%d %v: %s", status, err, body)
			}
		}},
		{"error event", Reply{Message: sample(), ErrorBefore: 2, ErrorType: "overloaded_error"}, func(t *testing.T, status int, body string, err error) {
			if status != 200 || !strings.HasSuffix(body, "\"type\":\"error\"}\n\n") || err != nil {
				t.Errorf("%d %v: %s", status, err, body)
			}
		}},
		{"stall with pings", Reply{Message: sample(), StallBefore: 2, Stall: 60 * time.Millisecond, PingEvery: 10 * time.Millisecond}, func(t *testing.T, _ int, body string, err error) {
			if strings.Count(body, "event: ping") < 2 || !strings.Contains(body, "message_stop") || err != nil {
				t.Errorf("%v: %s", err, body)
			}
		}},
		{"garbage", Reply{Message: sample(), Garbage: true}, func(t *testing.T, _ int, body string, err error) {
			if !strings.Contains(body, "from_the_future") || !strings.Contains(body, "message_stop") || err != nil {
				t.Errorf("%v: %s", err, body)
			}
		}},
		{"raw", Reply{Raw: "<html>", Header: map[string]string{"Content-Type": "text/html"}}, func(t *testing.T, _ int, body string, err error) {
			if body != "<html>" || err != nil {
				t.Errorf("%v: %s", err, body)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, client := start(t, Script(c.reply))
			status, body, err := post(t, client, s.URL+"/v1/messages", "{}")
			c.check(t, status, body, err)
		})
	}
}

func TestClientGoesAway(t *testing.T) {
	s, c := start(t, Script(Reply{Message: sample(), StallBefore: 1}))
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/messages", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if s.Active() != 1 {
		t.Errorf("%d active", s.Active())
	}
	cancel()
	for deadline := time.Now().Add(10 * time.Second); s.Active() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the handler still stalls")
		}
	}
}
