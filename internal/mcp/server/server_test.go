package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/sevengate/sevengate/internal/mcp/client"
	"github.com/sevengate/sevengate/internal/mcp/config"
	"github.com/sevengate/sevengate/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hang = 20 * time.Second // a guard only

// pool is a dispatcher with tools of every kind.
type pool struct {
	s     *Server
	extra int
	ended chan error // of calls that were cancelled
}

func (p *pool) Tools() []Tool {
	tools := []Tool{
		{Name: "zebra", Description: "last", InputSchema: json.RawMessage(`{"type":"object","oneOf":[{"required":["a"]}]}`), ReadOnly: true},
		{Name: "Bash", Title: "Bash", InputSchema: json.RawMessage(`{"anyOf":[{"type":"object"}]}`), OutputSchema: json.RawMessage(`{"type":"object"}`), Destructive: true},
		{Name: "anything", InputSchema: json.RawMessage(`true`)},
	}
	for i := range p.extra {
		tools = append(tools, Tool{Name: fmt.Sprintf("extra_%04d", i), InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return tools
}

func (p *pool) Call(ctx context.Context, c Call) Result {
	text := func(s string) Result { return Result{Content: []tool.Block{tool.TextBlock(s)}} }
	switch c.Name {
	case "echo":
		return Result{Content: []tool.Block{tool.TextBlock(string(c.Input)), tool.ImageBlock("image/png", "AAAA"),
			tool.DocumentBlock("application/pdf", "AAAA", "a b"), tool.ToolReference("X")},
			Structured: json.RawMessage(`{"n":1}`), Meta: json.RawMessage(`{"k":"v"}`)}
	case "slow":
		c.Progress(tool.Progress{Text: "line one\nline two\n"})
		select {
		case <-ctx.Done():
			p.ended <- ctx.Err()
			return Result{IsError: true}
		case <-time.After(600 * time.Millisecond):
		}
		return text("done")
	case "hang":
		<-ctx.Done()
		p.ended <- ctx.Err()
		return Result{IsError: true}
	case "ask":
		a, err := p.s.Ask(ctx, Question{CallID: c.ID, Message: "run it?", Rules: []tool.Suggestion{{Rule: "Bash(ls)"}}})
		return text(fmt.Sprint(a.Allow, "|", a.Rule, "|", a.Message, "|", err))
	}
	return Result{IsError: true, Content: []tool.Block{tool.TextBlock("no such tool")}}
}

func newServer(extra int) (*Server, *pool) {
	p := &pool{extra: extra, ended: make(chan error, 10)}
	p.s = New(Config{Dispatcher: p, Version: "9", Instructions: "Be kind.", heartbeat: 100 * time.Millisecond})
	return p.s, p
}

// dial connects an SDK client over streams.
func dial(t *testing.T, s *Server, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStdio(context.Background(), inR, outW) }()
	c := sdk.NewClient(&sdk.Implementation{Name: "c"}, o)
	session, err := c.Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return session
}

func TestList(t *testing.T) {
	s, _ := newServer(1200)
	changed := make(chan struct{}, 10)
	c := dial(t, s, &sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} }})
	if i := c.InitializeResult(); i.Instructions != "Be kind." || i.ServerInfo.Name != "sevengate" || i.ProtocolVersion >= "2026" {
		t.Errorf("%+v", i)
	}
	var names []string
	schemas := map[string]string{}
	for tl, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tl.Name)
		raw, _ := json.Marshal(tl.InputSchema)
		schemas[tl.Name] = string(raw)
	}
	if len(names) != 1203 || names[0] != "Bash" || names[1202] != "zebra" {
		t.Error(len(names), names[0], names[len(names)-1])
	}
	for name, want := range map[string]string{"zebra": `{"oneOf":[{"required":["a"]}],"type":"object"}`, "Bash": `{"anyOf":[{"type":"object"}],"type":"object"}`, "anything": `{"type":"object"}`} {
		if schemas[name] != want {
			t.Errorf("%s: %s", name, schemas[name])
		}
	}
	if _, err := c.ListTools(t.Context(), &sdk.ListToolsParams{Cursor: "?"}); err == nil {
		t.Error("a cursor of somebody else's")
	}
	s.Changed()
	select {
	case <-changed:
	case <-time.After(hang):
		t.Error("nobody was told of the change")
	}
}

func TestCall(t *testing.T) {
	s, p := newServer(0)
	news := make(chan string, 100)
	c := dial(t, s, &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { news <- r.Params.Message }})
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: json.RawMessage(`{"a":"<"}`)})
	if err != nil || len(res.Content) != 4 || res.Content[0].(*sdk.TextContent).Text != `{"a":"<"}` || res.Meta["k"] != "v" || fmt.Sprint(res.StructuredContent) != "map[n:1]" {
		t.Errorf("%+v %v", res, err)
	}
	if res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "nothing"}); err != nil || !res.IsError {
		t.Error(res, err)
	}
	params := &sdk.CallToolParams{Name: "slow"}
	params.SetProgressToken("tok")
	if _, err := c.CallTool(t.Context(), params); err != nil {
		t.Error(err)
	}
	if first, second := <-news, <-news; first != "line two" || !strings.Contains(second, "still running") {
		t.Error(first, second)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "hang"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case <-p.ended:
	case <-time.After(hang):
		t.Error("the call was not cancelled")
	}
}

func TestAsk(t *testing.T) {
	s, _ := newServer(0)
	ask := func(c *sdk.ClientSession) string {
		t.Helper()
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "ask"})
		if err != nil {
			t.Fatal(err)
		}
		return res.Content[0].(*sdk.TextContent).Text
	}
	if got := ask(dial(t, s, nil)); !strings.HasPrefix(got, "false||") || !strings.Contains(got, `"Bash(ls)"`) {
		t.Error(got)
	}
	for _, c := range []struct {
		action, decision, want string
	}{{"accept", "allow once", "true|||<nil>"}, {"accept", "allow Bash(ls)", "true|Bash(ls)||<nil>"}, {"accept", "deny", "false||the person said no|<nil>"}, {"decline", "", "false||the person said no|<nil>"}} {
		got := ask(dial(t, s, &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			out := &sdk.ElicitResult{Action: c.action}
			if c.action == "accept" {
				out.Content = map[string]any{"decision": c.decision}
			}
			return out, nil
		}}))
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if s.CanAsk("unknown") {
		t.Error("a call that does not exist")
	}
}

func TestHTTP(t *testing.T) {
	s, _ := newServer(0)
	for _, bad := range []string{"0.0.0.0:0", "example.com:80", "nonsense", ":0"} {
		if err := s.ListenHTTP(t.Context(), bad, NewToken(), nil); err == nil {
			t.Errorf("%s was served", bad)
		}
	}
	if err := s.ListenHTTP(t.Context(), "127.0.0.1:0", "short", nil); err == nil {
		t.Error("a short token was accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	token, where, ended := NewToken(), make(chan string, 1), make(chan error, 1)
	go func() { ended <- s.ListenHTTP(ctx, "127.0.0.1:0", token, func(u string) { where <- u }) }()
	url := <-where
	for _, auth := range []string{"", "Bearer wrong", "Basic " + token} {
		req, _ := http.NewRequest(http.MethodPost, url, strings.NewReader("{}"))
		req.Header.Set("Authorization", auth)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Error(auth, resp.StatusCode)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	// Our own client and our own server understand each other.
	m := client.New(client.Config{Servers: []config.Server{{Name: "self", Scope: config.ScopeUser, Type: config.HTTP, URL: url, Headers: map[string]string{"Authorization": "Bearer " + token}}}, Dir: t.TempDir()})
	m.Start(t.Context())
	wait, stop := context.WithTimeout(t.Context(), hang)
	defer stop()
	if p := m.Wait(wait); len(p) > 0 {
		t.Fatal(m.Status())
	}
	text, isError, err := m.CallTool(wait, "self", "echo", json.RawMessage(`{"x":1}`))
	if err != nil || isError || !strings.HasPrefix(text, `{"x":1}`) {
		t.Error(text, isError, err, m.Status())
	}
	if n := len(m.Tools()); n != 3 {
		t.Error(n, m.Problems())
	}
	m.Close()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
