package sevengate

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and still what clients and servers speak

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// upstream is an MCP server that is offered through a gateway.
type upstream struct {
	*sdk.Server
	url     string
	watched chan string // "+uri" and "-uri"
}

func newUpstream(t *testing.T, name string) *upstream {
	t.Helper()
	u := &upstream{watched: make(chan string, 10)}
	u.Server = sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, &sdk.ServerOptions{
		Capabilities:       &sdk.ServerCapabilities{Logging: &sdk.LoggingCapabilities{}},
		SubscribeHandler:   func(_ context.Context, r *sdk.SubscribeRequest) error { u.watched <- "+" + r.Params.URI; return nil },
		UnsubscribeHandler: func(_ context.Context, r *sdk.UnsubscribeRequest) error { u.watched <- "-" + r.Params.URI; return nil },
		CompletionHandler: func(_ context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			res := &sdk.CompleteResult{}
			res.Completion.Values = []string{name, r.Params.Ref.Type, r.Params.Ref.Name + r.Params.Ref.URI, r.Params.Argument.Value}
			return res, nil
		},
	})
	read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "application/x-test", Blob: []byte(name + "\x00" + r.Params.URI)}}}, nil
	}
	u.AddResource(&sdk.Resource{URI: "x://shared", Name: "shared of " + name}, read)
	u.AddResource(&sdk.Resource{URI: "x://" + name, Name: "own"}, read)
	u.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: name + "://{id}/data", Name: "by id"}, read)
	u.AddPrompt(&sdk.Prompt{Name: "re view", Description: "Review.", Arguments: []*sdk.PromptArgument{{Name: "what", Required: true}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.AudioContent{MIMEType: "audio/wav", Data: []byte(name + r.Params.Arguments["what"])}}}}, nil
		})
	text := func(format string, args ...any) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
	}
	add := func(tool string, f func(context.Context, *sdk.CallToolRequest) *sdk.CallToolResult) {
		u.AddTool(&sdk.Tool{Name: tool, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return f(ctx, r), nil
		})
	}
	add("log", func(ctx context.Context, r *sdk.CallToolRequest) *sdk.CallToolResult {
		_ = r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "warning", Logger: "part", Data: "hot"})
		_ = r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "debug", Data: "too fine"})
		return text("logged")
	})
	add("count", func(ctx context.Context, r *sdk.CallToolRequest) *sdk.CallToolResult {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(50 * i), Total: 100, Message: "step"})
			time.Sleep(80 * time.Millisecond)
		}
		return text("counted")
	})
	add("ask", func(ctx context.Context, r *sdk.CallToolRequest) *sdk.CallToolResult {
		res, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		if err != nil {
			return text("error: %v", err)
		}
		return text("%s %v", res.Action, res.Content)
	})
	add("think", func(ctx context.Context, r *sdk.CallToolRequest) *sdk.CallToolResult {
		res, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 5, SystemPrompt: "be brief", Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "hello"}}}})
		if err != nil {
			return text("error: %v", err)
		}
		return text("%s %s", res.Model, res.Content.(*sdk.TextContent).Text)
	})
	h := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return u.Server }, nil))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	u.url = h.URL
	return u
}

// gatewayOver serves upstreams and gives a function that connects clients.
func gatewayOver(t *testing.T, change func(*Options), servers ...*upstream) (dial func(*sdk.ClientOptions) *sdk.ClientSession) {
	t.Helper()
	return gatewayWith(t, NewGateway(), change, servers...)
}

func gatewayWith(t *testing.T, g *Gateway, change func(*Options), servers ...*upstream) (dial func(*sdk.ClientOptions) *sdk.ClientSession) {
	t.Helper()
	entries := map[string]any{}
	for i, u := range servers {
		entries[string(rune('a'+i))] = map[string]any{"type": "http", "url": u.url}
	}
	raw, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	o := Options{Dir: t.TempDir(), Home: home, Environ: []string{"HOME=" + home, "PATH=/usr/bin:/bin"}, ManagedDirs: []string{},
		MCPConfig: []string{string(raw)}, StrictMCP: true, Ephemeral: true, Only: []string{"ListMcpResourcesTool", "ReadMcpResourceTool"},
		Allowed: []string{"mcp__a", "mcp__b"}}
	if change != nil {
		change(&o)
	}
	g.Prepare(&o)
	r, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s := g.Serve(r, nil)
	r.StartMCP(t.Context(), 20*time.Second)
	for _, st := range r.MCPServers().Status() {
		if st.State != "connected" {
			t.Fatalf("%+v", st)
		}
	}
	t.Cleanup(func() { _ = r.Close() })
	return func(o *sdk.ClientOptions) *sdk.ClientSession {
		t.Helper()
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- s.ServeStdio(context.Background(), inR, outW) }()
		c, err := sdk.NewClient(&sdk.Implementation{Name: "c"}, o).Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(); <-ended })
		return c
	}
}

func callText(t *testing.T, c *sdk.ClientSession, name string) string {
	t.Helper()
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*sdk.TextContent).Text
}

func within[T any](t *testing.T, ch <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not come", what)
	}
	return v
}

func TestGatewayHandsOnWhatServersOffer(t *testing.T) {
	a, b := newUpstream(t, "alpha"), newUpstream(t, "beta")
	c := gatewayOver(t, nil, a, b)(nil)
	caps := c.InitializeResult().Capabilities
	if caps.Resources == nil || !caps.Resources.Subscribe || caps.Prompts == nil || caps.Completions == nil || caps.Logging == nil {
		t.Errorf("%+v", caps)
	}
	list, err := c.ListResources(t.Context(), nil)
	var got []string
	for _, r := range list.Resources {
		got = append(got, r.URI+" "+r.Name)
	}
	if want := []string{"x://alpha own", "x://beta own", "x://shared shared of alpha"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q %v", got, err)
	}
	templates, err := c.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 2 {
		t.Errorf("%v %v", templates, err)
	}
	for uri, want := range map[string]string{"x://shared": "alpha\x00x://shared", "x://beta": "beta\x00x://beta", "beta://7/data": "beta\x00beta://7/data"} {
		res, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil || len(res.Contents) != 1 || string(res.Contents[0].Blob) != want || res.Contents[0].MIMEType != "application/x-test" {
			t.Errorf("%s: %+v %v", uri, res, err)
		}
	}
	if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "x://nothing"}); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Error(err)
	}
	prompts, err := c.ListPrompts(t.Context(), nil)
	if err != nil || len(prompts.Prompts) != 2 || prompts.Prompts[0].Name != "mcp__a__re_view" || prompts.Prompts[1].Name != "mcp__b__re_view" || len(prompts.Prompts[0].Arguments) != 1 {
		t.Fatalf("%+v %v", prompts, err)
	}
	filled, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "mcp__b__re_view", Arguments: map[string]string{"what": "!"}})
	if err != nil || string(filled.Messages[0].Content.(*sdk.AudioContent).Data) != "beta!" {
		t.Errorf("%+v %v", filled, err)
	}
	if _, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "re view"}); err == nil {
		t.Error("a prompt by another name")
	}
	for _, x := range []struct {
		ref  *sdk.CompleteReference
		want string
	}{
		{&sdk.CompleteReference{Type: "ref/prompt", Name: "mcp__b__re_view"}, "beta ref/prompt re view v"},
		{&sdk.CompleteReference{Type: "ref/resource", URI: "alpha://{id}/data"}, "alpha ref/resource alpha://{id}/data v"},
		{&sdk.CompleteReference{Type: "ref/prompt", Name: "nothing"}, ""},
		{&sdk.CompleteReference{Type: "ref/resource", URI: "zeta://{id}"}, ""},
	} {
		res, err := c.Complete(t.Context(), &sdk.CompleteParams{Ref: x.ref, Argument: sdk.CompleteParamsArgument{Name: "what", Value: "v"}})
		if x.want == "" && err == nil || x.want != "" && (err != nil || strings.Join(res.Completion.Values, " ") != x.want) {
			t.Errorf("%+v: %+v %v", x.ref, res, err)
		}
	}
}

func TestGatewayTellsWhatServersSay(t *testing.T) {
	a := newUpstream(t, "alpha")
	updated, changed, logs, news := make(chan string, 10), make(chan bool, 20), make(chan string, 10), make(chan sdk.ProgressNotificationParams, 10)
	dial := gatewayOver(t, nil, a)
	c := dial(&sdk.ClientOptions{
		ResourceUpdatedHandler:     func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { changed <- true },
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
			logs <- fmt.Sprintf("%s %s %v", r.Params.Level, r.Params.Logger, r.Params.Data)
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { news <- *r.Params },
	})
	other := dial(nil)
	for _, x := range []*sdk.ClientSession{c, other} {
		if err := x.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "x://alpha"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "y://nothing/there"}); err != nil {
		t.Error("the only server may know more than it lists:", err)
	}
	for _, want := range []string{"+x://alpha", "+y://nothing/there"} {
		if got := within(t, a.watched, "the subscription"); got != want {
			t.Error(got)
		}
	}
	_ = a.ResourceUpdated(t.Context(), &sdk.ResourceUpdatedNotificationParams{URI: "x://alpha"})
	if got := within(t, updated, "the update"); got != "x://alpha" {
		t.Error(got)
	}
	if err := c.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: "x://alpha"}); err != nil {
		t.Error(err)
	}
	_ = other.Close() // the last that watched it is gone
	if got := within(t, a.watched, "the end of the subscription"); got != "-x://alpha" {
		t.Error(got)
	}
	for len(changed) > 0 {
		<-changed
	}
	a.RemoveResources("x://shared")
	within(t, changed, "the change of the list")

	if err := c.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "loud"}); err == nil {
		t.Error("a level that does not exist")
	}
	if err := c.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "info"}); err != nil {
		t.Fatal(err)
	}
	callText(t, c, "mcp__a__log")
	if got := within(t, logs, "the message"); got != "warning a/part hot" || len(logs) > 0 {
		t.Error(got, len(logs))
	}
	params := &sdk.CallToolParams{Name: "mcp__a__count"}
	params.SetProgressToken("tok")
	if _, err := c.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if p := within(t, news, "progress"); p.Progress != float64(50*i) || p.Total != 100 || p.Message != "step" {
			t.Errorf("%+v", p)
		}
	}
}

func TestGatewayHandsOnQuestions(t *testing.T) {
	dial := gatewayOver(t, nil, newUpstream(t, "alpha"))
	var asked, sampled string
	c := dial(&sdk.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			asked = r.Params.Message
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		CreateMessageHandler: func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			sampled = fmt.Sprint(r.Params.SystemPrompt, " ", r.Params.MaxTokens, " ", r.Params.Messages[0].Content.(*sdk.TextContent).Text)
			return &sdk.CreateMessageResult{Role: "assistant", Model: "m", Content: &sdk.TextContent{Text: "hi"}}, nil
		},
	})
	if got := callText(t, c, "mcp__a__ask"); got != "accept map[name:Ada]" || asked != "The MCP server a asks: who?" {
		t.Error(got, asked)
	}
	if got := callText(t, c, "mcp__a__think"); got != "m hi" || sampled != "be brief 5 hello" {
		t.Error(got, sampled)
	}
	mute := dial(nil)
	if got := callText(t, mute, "mcp__a__ask"); !strings.Contains(got, "cannot ask its person") {
		t.Error(got)
	}
	if got := callText(t, mute, "mcp__a__think"); !strings.Contains(got, "does not let servers use its model") {
		t.Error(got)
	}
}

func TestGatewayKeepsTheRules(t *testing.T) {
	a, b := newUpstream(t, "alpha"), newUpstream(t, "beta")
	c := gatewayOver(t, func(o *Options) {
		o.Disallowed = []string{"ReadMcpResourceTool(a)", "ListMcpResourcesTool(b)", "mcp__a__re_view"}
		o.Settings = `{"hooks":{"PreToolUse":[{"matcher":"ReadMcpResourceTool","hooks":[{"type":"command","command":"grep -q secret && echo no secrets >&2 && exit 2 || exit 0"}]}]}}`
	}, a, b)(nil)
	list, err := c.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 2 || list.Resources[0].URI != "x://alpha" {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "x://alpha"}); err == nil || !strings.Contains(err.Error(), "ReadMcpResourceTool(a)") {
		t.Error(err)
	}
	if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "x://alpha"}); err == nil || !strings.Contains(err.Error(), "ReadMcpResourceTool(a)") {
		t.Error(err)
	}
	prompts, err := c.ListPrompts(t.Context(), nil)
	if err != nil || len(prompts.Prompts) != 1 || prompts.Prompts[0].Name != "mcp__b__re_view" {
		t.Errorf("%+v %v", prompts, err)
	}
	if _, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "mcp__a__re_view"}); err == nil {
		t.Error("a denied prompt was filled in")
	}

	only := gatewayOver(t, func(o *Options) {
		o.Settings = `{"hooks":{"PreToolUse":[{"matcher":"ReadMcpResourceTool","hooks":[{"type":"command","command":"grep -q secret && echo no secrets >&2 && exit 2 || exit 0"}]}]}}`
	}, b)(nil)
	if _, err := only.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "beta://secret/data"}); err == nil || !strings.Contains(err.Error(), "no secrets") {
		t.Error(err)
	}
	if _, err := only.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "beta://open/data"}); err != nil {
		t.Error(err)
	}
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		template, uri string
		want          bool
	}{
		{"x://{id}/data", "x://7/data", true}, {"x://{id}/data", "x://7/8/data", false}, {"x://{+path}", "x://a/b?c", true},
		{"x://a{?q,r}", "x://a?q=1", true}, {"x://a{?q}", "x://a", true}, {"x://a", "x://a", false}, {"x://{id}.txt", "x://atxt", false},
		{"x://{id}", "zx://1", false}, {"x://{", "x://{", false}, {strings.Repeat("{a}", 1000), "aaa", false},
	} {
		if got := fits(c.template, c.uri); got != c.want {
			t.Errorf("%.40s %s: %v", c.template, c.uri, got)
		}
	}
}

// TestGatewaySearch: tools of servers are listed when they were found, and can be
// called before, too.
func TestGatewaySearch(t *testing.T) {
	g := NewGateway()
	g.WithSearch()
	dial := gatewayWith(t, g, func(o *Options) { o.Only = append(o.Only, "ToolSearch") }, newUpstream(t, "one"))
	changed := make(chan struct{}, 10)
	c := dial(&sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} }})
	names := func() (out []string) {
		t.Helper()
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list.Tools {
			out = append(out, x.Name)
		}
		return out
	}
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "mcp__a__log"}); err == nil && !res.IsError {
			break // callable without having been found
		} else if time.Now().After(until) {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	if got := names(); slices.Contains(got, "mcp__a__count") || !slices.Contains(got, "ToolSearch") {
		t.Fatalf("before the search: %q", got)
	}
	for len(changed) > 0 {
		<-changed
	}
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "ToolSearch", Arguments: map[string]any{"query": "select:count"}})
	if err != nil || res.IsError {
		t.Fatalf("%+v, %v", res, err)
	}
	text := ""
	for _, content := range res.Content {
		text += content.(*sdk.TextContent).Text + "\n"
	}
	if !strings.Contains(text, `{"name":"mcp__a__count","description":`) || !strings.Contains(text, `"inputSchema":{`) {
		t.Errorf("the answer of the search: %s", text)
	}
	select {
	case <-changed:
	case <-time.After(20 * time.Second):
		t.Error("nobody was told that the list has changed")
	}
	if got := names(); !slices.Contains(got, "mcp__a__count") || slices.Contains(got, "mcp__a__ask") {
		t.Errorf("after the search: %q", got)
	}
}
