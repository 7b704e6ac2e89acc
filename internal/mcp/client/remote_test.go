package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/internal/mcp/config"
	"github.com/sevengate/sevengate/tool"
)

func streamable(t *testing.T) http.Handler {
	s := goodServer("good")
	t.Cleanup(func() {
		for session := range s.Sessions() { // those that nobody ended
			session.Close()
		}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

func remote(name, url string) config.Server {
	return config.Server{Name: name, Scope: config.ScopeUser, Type: config.HTTP, URL: url}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"MCP_PROTOCOL_NEGOTIATION=", "MCP_PROTOCOL_NEGOTIATION=legacy"} {
		m := start(t, func(c *Config) { c.Environ = append(c.Environ, env) }, remote("web", serve(t, streamable(t))+"/mcp?token=s3cret"))
		up(t, m)
		if s, why := state(m, "web"); s != Connected {
			t.Fatal(s, why)
		}
		if _, blocks, err := run(t, m, "mcp__web__echo", `{"text":"a"}`); err != nil || blocks[0].Text != `{"text":"a"}` {
			t.Error(blocks, err)
		}
		if _, _, err := run(t, m, "mcp__web__grow", `{}`); err != nil {
			t.Error(err)
		}
		eventually(t, "the new tool", func() bool { return strings.Contains(fmt.Sprint(m.Status()[0].Tools), "grown") })
		if raw, _ := json.Marshal(m.Status()); strings.Contains(string(raw), "s3cret") {
			t.Error("a status shows a secret")
		}
		m.Close()
	}
}

func TestSSEAndFallback(t *testing.T) {
	t.Parallel()
	s := goodServer("good")
	url := serve(t, sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return s }, nil))
	old := remote("old", url)
	old.Type = config.SSE
	m := start(t, nil, old, remote("auto", url))
	up(t, m)
	for _, name := range []string{"old", "auto"} {
		if _, blocks, err := run(t, m, "mcp__"+name+"__echo", `{"text":"a"}`); err != nil || blocks[0].Text != `{"text":"a"}` {
			t.Error(name, blocks, err, fmt.Sprint(m.Status()))
		}
	}
	m.Close()
}

func TestUnauthorized(t *testing.T) {
	t.Parallel()
	var locked atomic.Bool
	locked.Store(true)
	inner := streamable(t)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if locked.Load() {
			w.Header().Set("WWW-Authenticate", `Bearer scope="a"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	static := remote("static", url)
	static.Headers = map[string]string{"authorization": "Bearer wrong"}
	m := start(t, nil, remote("web", url), static)
	up(t, m)
	if s, why := state(m, "web"); s != NeedsAuth || !strings.Contains(why, "sevengate mcp login web") {
		t.Error(s, why)
	}
	if s, why := state(m, "static"); s != Failed || !strings.Contains(why, "Authorization header") || strings.Contains(why, "wrong") {
		t.Error(s, why)
	}
	_, _, err := m.CallTool(t.Context(), "web", "echo", nil)
	var gone *UnavailableError
	if !errors.As(err, &gone) || gone.State != NeedsAuth || !strings.Contains(err.Error(), "mcp login web") {
		t.Error(err)
	}
	locked.Store(false)
	if err := m.Reconnect("web"); err != nil {
		t.Fatal(err)
	}
	up(t, m)
	if s, why := state(m, "web"); s != Connected {
		t.Fatal(s, why)
	}
	// It is refused during a call: the state changes with it.
	locked.Store(true)
	_, _, err = run(t, m, "mcp__web__echo", `{"text":"a"}`)
	if !errors.As(err, &gone) || gone.State != NeedsAuth {
		t.Error(err)
	}
	if s, _ := state(m, "web"); s != NeedsAuth {
		t.Error(s)
	}
	locked.Store(false)
	if _, _, err = run(t, m, "mcp__web__echo", `{"text":"a"}`); err != nil {
		t.Error(err)
	}
	if s, _ := state(m, "web"); s != Connected {
		t.Error(s)
	}
	m.Close()
}

func TestHeadersHelper(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no /bin/sh")
	}
	inner := streamable(t)
	var want atomic.Value
	want.Store("first")
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != want.Load() || r.Header.Get("X-Static") != "s" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	file := filepath.Join(t.TempDir(), "key")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	s := remote("web", url)
	s.Headers = map[string]string{"X-Static": "s", "X-Key": "overridden"}
	s.HeadersHelper = `printf '{"X-Key":"%s"}' "$(cat ` + file + `)"`
	bad := remote("bad", url)
	bad.HeadersHelper = "echo no json"
	m := start(t, nil, s, bad)
	up(t, m)
	if st, why := state(m, "web"); st != Connected {
		t.Fatal(st, why)
	}
	want.Store("second")
	write("second") // the key is rotated: the helper is asked again
	if _, _, err := run(t, m, "mcp__web__echo", `{"text":"a"}`); err != nil {
		t.Error(err)
	}
	if st, why := state(m, "bad"); st != Failed || !strings.Contains(why, "JSON object") {
		t.Error(st, why)
	}
	m.Close()
}

// Helpers of a project's entries run only where the person trusts the folder;
// before that what is written in the entry goes alone.
func TestHelperOfAProject(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no /bin/sh")
	}
	inner := streamable(t)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "k" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	for _, scope := range []config.Scope{config.ScopeProject, config.ScopeLocal, config.ScopeUser} {
		for trusted, want := range map[bool]State{true: Connected, false: NeedsAuth} {
			ran := filepath.Join(t.TempDir(), "ran")
			s := remote("web", url)
			s.Scope, s.HeadersHelper = scope, `touch `+ran+`; echo '{"X-Key":"k"}'`
			m := start(t, func(c *Config) {
				c.Judge = func(*config.Server) (config.Verdict, string) { return config.Start, "" }
				c.Trusted = func() bool { return trusted }
			}, s)
			up(t, m)
			if scope == config.ScopeUser {
				want = Connected
			}
			if st, why := state2(m); st != want {
				t.Errorf("%s, trusted %v: %s %s", scope, trusted, st, why)
			}
			if _, err := os.Stat(ran); (err == nil) != (want == Connected) {
				t.Errorf("%s, trusted %v: %v", scope, trusted, err)
			}
			m.Close()
		}
	}
}

// The server forgets its sessions: the call was refused before it ran, so it is
// made again in a new one, once.
func TestForgottenSession(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	inner := streamable(t)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now := inner
		mu.Unlock()
		now.ServeHTTP(w, r)
	})
	m := start(t, func(c *Config) { c.Environ = append(c.Environ, "MCP_PROTOCOL_NEGOTIATION=legacy") }, remote("web", serve(t, h)))
	up(t, m)
	mu.Lock()
	inner = streamable(t)
	mu.Unlock()
	if _, blocks, err := run(t, m, "mcp__web__echo", `{"text":"a"}`); err != nil || blocks[0].Text != `{"text":"a"}` {
		t.Error(blocks, err, m.Status())
	}
	m.Close()
}

func TestWrongAddresses(t *testing.T) {
	t.Parallel()
	none := httptest.NewServer(nil)
	none.Close()
	var elsewhere atomic.Int32
	thief := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "" {
			elsewhere.Add(1)
		}
	}))
	moved := remote("moved", serve(t, http.RedirectHandler(thief, http.StatusTemporaryRedirect)))
	moved.Headers = map[string]string{"X-Key": "secret"}
	m := start(t, nil, remote("none", none.URL), remote("missing", serve(t, http.NotFoundHandler())), moved)
	up(t, m)
	for _, name := range []string{"none", "missing", "moved"} {
		if s, why := state(m, name); s != Failed || why == "" || strings.Contains(why, "http://") {
			t.Errorf("%s: %s %s", name, s, why)
		}
	}
	if elsewhere.Load() > 0 {
		t.Error("headers went to another host")
	}
	m.Close()
}

func TestHugeJSONAnswer(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var msg struct {
			ID     json.RawMessage
			Method string
		}
		data, _ := io.ReadAll(r.Body)
		if json.Unmarshal(data, &msg) != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if len(msg.ID) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch msg.Method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"0"}}}`, msg.ID)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"huge","inputSchema":{}}]}}`, msg.ID)
		case "tools/call":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, msg.ID)
			chunk := []byte(strings.Repeat("y", 1<<20))
			for range 100 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
			fmt.Fprint(w, `"}]}}`)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, msg.ID)
		}
	})
	m := start(t, nil, remote("web", serve(t, h)))
	up(t, m)
	if _, _, err := run(t, m, "mcp__web__huge", `{}`); err == nil || !strings.Contains(err.Error(), "was dropped") {
		t.Error(err)
	}
	if s, why := state(m, "web"); s != Connected {
		t.Error(s, why)
	}
	m.Close()
}

func TestResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	m := start(t, nil, stdio(t, "good", "good"), stdio(t, "p", "raw:pages"))
	up(t, m)
	list, problems, err := m.ListResources(t.Context(), "")
	if err != nil || len(list) != 7 || len(problems) > 0 || list[0].Server != "good" || list[0].URI != "test://doc/0" {
		t.Error(list, problems, err)
	}
	if list, _, err := m.ListResources(t.Context(), "p"); err != nil || len(list) != 0 {
		t.Error("a server without resources has none:", list, err)
	}
	if _, _, err := m.ListResources(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), "good, p") {
		t.Error(err)
	}
	server, uri, ok := m.Mention("@good:test://doc/3")
	if !ok || server != "good" || uri != "test://doc/3" {
		t.Error(server, uri, ok)
	}
	if _, _, ok := m.Mention("@src/main.go:12"); ok {
		t.Error("a file is no resource")
	}
	blocks, err := m.ReadResource(t.Context(), server, uri, t.TempDir())
	if err != nil || len(blocks) != 2 || !strings.Contains(blocks[0].Text, "text of test://doc/3") || !strings.Contains(blocks[1].Text, ".pdf]") {
		t.Error(blocks, err)
	}
	if _, err := m.ReadResource(t.Context(), "good", "test://none", ""); err == nil || !strings.Contains(err.Error(), "good") {
		t.Error(err)
	}
	prompts := m.Prompts()
	if len(prompts) != 1 || prompts[0].Command != "mcp__good__greet_me" {
		t.Fatal(prompts)
	}
	p, args, ok := m.FindPrompt("mcp__good__greet_me", []string{"big", "world"})
	if !ok {
		t.Fatal("not found")
	}
	msgs, err := m.GetPrompt(t.Context(), p.Server, p.Name, args)
	if err != nil || len(msgs) != 1 || msgs[0].Role != tool.RoleUser || msgs[0].Text() != "Hello big world" {
		t.Error(msgs, err)
	}
	if _, err := m.GetPrompt(t.Context(), p.Server, p.Name, nil); err == nil || !strings.Contains(err.Error(), "missing: who") {
		t.Error(err)
	}
}

func TestCallAfterClose(t *testing.T) {
	t.Parallel()
	m := start(t, nil, stdio(t, "good", "good"))
	up(t, m)
	c := bind(t, m, "mcp__good__wait", `{}`)
	done := make(chan error)
	go func() { _, err := c.Run(context.Background(), &tool.Env{}); done <- err }()
	eventually(t, "a waiting call", func() bool { log, _, _ := m.Logs("good"); return strings.Contains(log, "waiting") })
	m.Close()
	var ce *CallError
	if err := <-done; !errors.As(err, &ce) {
		t.Error(err)
	}
	if _, err := c.Run(t.Context(), &tool.Env{}); err == nil {
		t.Error("a call after the end")
	}
}
