package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A server that says strange things harms its own call at most.
func TestStrangeAnswers(t *testing.T) {
	t.Parallel()
	m := start(t, nil, stdio(t, "r", "raw:bad"))
	up(t, m)
	for name, want := range map[string]string{"stranger": "ours", "notes": "noted", "asks": `"code":-32601`, "ok": "ok"} {
		if _, blocks, err := run(t, m, "mcp__r__"+name, `{}`); err != nil || !strings.Contains(blocks[0].Text, want) {
			t.Errorf("%s: %v %v", name, blocks, err)
		}
	}
	for _, name := range []string{"strange", "empty"} {
		if o, blocks, err := run(t, m, "mcp__r__"+name, `{}`); err == nil && !o.IsError && len(blocks) > 0 {
			t.Errorf("%s: %+v", name, blocks)
		}
		eventually(t, "a connection", func() bool { s, _ := state(m, "r"); return s == Connected })
		if _, blocks, err := run(t, m, "mcp__r__ok", `{}`); err != nil || blocks[0].Text != "ok" {
			t.Errorf("after %s: %v %v", name, blocks, err)
		}
	}
	if log, dropped, _ := m.Logs("r"); len(log) > maxLogBytes || dropped == 0 {
		t.Error(len(log), dropped)
	}
}

// stream answers tool calls with a stream of events: what write writes.
func stream(t *testing.T, write func(w io.Writer, id json.RawMessage)) string {
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		switch {
		case len(m.ID) == 0:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "tools/call" && m.Params.Name == "bad":
			w.Header().Set("Content-Type", "text/event-stream")
			write(w, m.ID)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch m.Method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"0"}}}`, m.ID)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"bad","inputSchema":{}},{"name":"ok","inputSchema":{}}]}}`, m.ID)
		case "tools/call":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ok"}]}}`, m.ID)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
	}))
}

// Streams of events that are too large, broken or without an end.
func TestHostileStreams(t *testing.T) {
	t.Parallel()
	chunk := strings.Repeat("y", 1<<20)
	for name, c := range map[string]struct {
		write func(w io.Writer, id json.RawMessage)
	}{
		"100 MB in one event": {func(w io.Writer, id json.RawMessage) {
			fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
			for range 100 {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
			fmt.Fprint(w, "\"}]}}\n\n")
		}},
		"no answer":     {func(w io.Writer, _ json.RawMessage) { fmt.Fprint(w, ": nothing\n\n") }},
		"a broken line": {func(w io.Writer, _ json.RawMessage) { fmt.Fprint(w, "data: {\"jsonrpc\"\n\n") }},
		"cut off":       {func(w io.Writer, id json.RawMessage) { fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"res`, id) }},
		"another's": {func(w io.Writer, _ json.RawMessage) {
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"none\",\"result\":{}}\n\n")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := remote("web", stream(t, c.write))
			s.Timeout = 10 * time.Second
			m := start(t, nil, s)
			up(t, m)
			if _, blocks, err := run(t, m, "mcp__web__bad", `{}`); err == nil {
				t.Error(len(blocks))
			}
			eventually(t, "a connection", func() bool { s, _ := state2(m); return s == Connected })
			if _, blocks, err := run(t, m, "mcp__web__ok", `{}`); err != nil || blocks[0].Text != "ok" {
				t.Error(blocks, err)
			}
			m.Close()
		})
	}
}
