package client

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and still what servers speak

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/sevengate/sevengate/internal/mcp/config"
	"github.com/sevengate/sevengate/tool"
)

// The test binary is also the server that it tests with: this variable says
// which one.
const serverVar = "SEVENGATE_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	switch kind := os.Getenv(serverVar); {
	case kind == "":
		goleak.VerifyTestMain(m)
	case strings.HasPrefix(kind, "raw:"):
		rawServer(strings.TrimPrefix(kind, "raw:"))
	default:
		if err := goodServer(kind).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, "server:", err)
		}
	}
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

var onePixel = func() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1)))
	return b.Bytes()
}()

// goodServer is a server made with the SDK; kind "many" has a thousand tools.
func goodServer(kind string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1.2"}, &sdk.ServerOptions{
		Instructions: "Use echo.", PageSize: 300,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}, Logging: &sdk.LoggingCapabilities{}},
	})
	add := func(name string, h sdk.ToolHandler, change ...func(*sdk.Tool)) {
		t := &sdk.Tool{Name: name, Description: "does " + name, InputSchema: json.RawMessage(`{"type":"object"}`)}
		for _, c := range change {
			c(t)
		}
		s.AddTool(t, h)
	}
	add("echo", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(string(r.Params.Arguments)), nil
	}, func(t *sdk.Tool) {
		t.InputSchema = json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"text":{"$ref":"#/definitions/T"}},"required":["text"],"definitions":{"T":{"type":"string"}}}`)
		t.Annotations = &sdk.ToolAnnotations{ReadOnlyHint: true, Title: "Echo"}
		t.Meta = sdk.Meta{metaResultChars: 1000, metaAlwaysLoad: true}
	})
	add("env", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(strings.Join(os.Environ(), "\n")), nil
	})
	add("wait", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "waiting")
		select {
		case <-ctx.Done():
			fmt.Fprintln(os.Stderr, "cancelled")
			return nil, ctx.Err()
		case <-time.After(time.Minute):
			return text("late"), nil
		}
	})
	add("progress", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for i := range 6 { // longer than the idle time in all
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 6, Message: "step"})
			time.Sleep(400 * time.Millisecond)
		}
		return text("done"), nil
	})
	add("crash", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "about to crash")
		os.Exit(7)
		return nil, nil
	})
	add("flood", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		line := strings.Repeat("x", 1000)
		for range 5000 {
			fmt.Fprintln(os.Stderr, line)
		}
		fmt.Fprintln(os.Stderr, "end of flood")
		return text("flooded"), nil
	})
	add("grow", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		add("grown", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("new"), nil })
		return text("ok"), nil
	})
	add("media", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "first"}, &sdk.ImageContent{MIMEType: "image/png", Data: onePixel},
			&sdk.ImageContent{MIMEType: "image/svg+xml", Data: []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)},
			&sdk.ImageContent{MIMEType: "image/png", Data: onePixel[:40]}, &sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF")},
			&sdk.ResourceLink{URI: "test://a", Name: "A", MIMEType: "text/plain"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "test://b", Text: "inside"}},
		}}, nil
	})
	add("fails", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "one"},
			&sdk.ImageContent{MIMEType: "image/png", Data: onePixel}, &sdk.TextContent{Text: "two"}}}, nil
	})
	add("structured", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: map[string]any{"n": 1}, Content: []sdk.Content{}}, nil
	})
	add("roots", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, err
		}
		out := ""
		for _, root := range res.Roots {
			out += root.URI + "\n"
		}
		return text(out), nil
	})
	add("ask", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Mode: "form", Message: "name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		if err != nil {
			return nil, err
		}
		return text(fmt.Sprint(res.Action, " ", res.Content["name"])), nil
	})
	add("sample", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 10, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "hi"}}}})
		if err != nil {
			return nil, err
		}
		return text(res.Content.(*sdk.TextContent).Text), nil
	})
	if kind == "many" {
		for i := range 1000 {
			add(fmt.Sprintf("tool_%04d", i), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("x"), nil })
		}
	}
	s.AddPrompt(&sdk.Prompt{Name: "greet me", Arguments: []*sdk.PromptArgument{{Name: "who", Required: true}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Hello " + r.Params.Arguments["who"]}}}}, nil
	})
	for i := range 7 {
		uri := fmt.Sprintf("test://doc/%d", i)
		s.AddResource(&sdk.Resource{URI: uri, Name: fmt.Sprint("doc ", i), MIMEType: "text/plain"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, Text: "text of " + uri}, {URI: uri, MIMEType: "application/pdf", Blob: []byte("%PDF-1.4 x")}}}, nil
		})
	}
	return s
}

// rawServer speaks the protocol by hand, and wrongly.
func rawServer(kind string) {
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	answer := func(id json.RawMessage, result string) { say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result) }
	if kind == "deaf" {
		time.Sleep(time.Hour)
	}
	if kind == "dies" {
		fmt.Fprintln(os.Stderr, "bad configuration")
		os.Exit(3)
	}
	if kind == "stubborn" { // ends neither by itself nor when asked to, and has a child
		ignoreTerm()
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), serverVar+"=raw:deaf")
		if err := child.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		fmt.Fprintf(os.Stderr, "pids %d %d\n", os.Getpid(), child.Process.Pid)
		defer time.Sleep(time.Hour)
	}
	say("Welcome to the server!")
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Cursor, Name string
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || len(m.ID) == 0 {
			continue
		}
		switch m.Method {
		case "initialize":
			answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"0"}}`)
		case "tools/list":
			rawTools(kind, m.Params.Cursor, func(result string) { answer(m.ID, strings.ReplaceAll(result, "\n", "")) })
		case "tools/call":
			switch m.Params.Name {
			case "twice":
				answer(m.ID, `{"content":[{"type":"text","text":"first"}]}`)
				answer(m.ID, `{"content":[{"type":"text","text":"second"}]}`)
				say(`{"jsonrpc":"2.0","id":4711,"result":{}}`)
				say(`{"jsonrpc":"2.0","broken`)
			case "never":
			case "strange": // an answer of no known shape
				answer(m.ID, `{"content":"text","isError":"maybe"}`)
			case "empty":
				say(`{"jsonrpc":"2.0","id":%s}`, m.ID)
			case "stranger": // an answer to a question that nobody asked, and then ours
				say(`{"jsonrpc":"2.0","id":"never asked","result":{"content":[]}}`)
				say(`{"jsonrpc":"2.0","id":null,"error":{"code":"x"}}`)
				say(`[]`)
				answer(m.ID, `{"content":[{"type":"text","text":"ours"}]}`)
			case "notes": // a flood of notifications and of what is none
				for i := range 2_000 {
					say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
					say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"call-%d","progress":%d}}`, i, i)
					say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%s"}}`, strings.Repeat("n", 100))
					say("%s", strings.Repeat("no message ", 10))
				}
				answer(m.ID, `{"content":[{"type":"text","text":"noted"}]}`)
			case "asks": // for what we do not do
				say(`{"jsonrpc":"2.0","id":"q","method":"server/explode","params":{}}`)
				for in.Scan() {
					if strings.Contains(in.Text(), `"id":"q"`) {
						break
					}
				}
				answer(m.ID, `{"content":[{"type":"text","text":`+strconv.Quote(in.Text())+`}]}`)
			case "huge":
				fmt.Printf(`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"`)
				chunk := strings.Repeat("y", 1<<20)
				for range 100 {
					fmt.Print(chunk)
				}
				say(`"}]},"id":%s}`, m.ID)
			case "leave":
				_ = os.Stdout.Close()
				time.Sleep(time.Hour)
			default:
				answer(m.ID, `{"content":[{"type":"text","text":"ok"}]}`)
			}
		default:
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		}
	}
}

func rawTools(kind, cursor string, answer func(string)) {
	switch kind {
	case "pages":
		switch cursor {
		case "":
			answer(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"2"}`)
		case "2":
			answer(`{"tools":[{"name":"b","inputSchema":{"type":"object"}}],"nextCursor":"3"}`)
		default:
			answer(`{"tools":[{"name":"c","inputSchema":{"type":"object"}}],"nextCursor":"2"}`) // round and round
		}
	case "schemas":
		answer(`{"tools":[
			{"name":"choice","inputSchema":{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"number"}},"required":["b"]}]}},
			{"name":"rootref","inputSchema":{"$ref":"#/$defs/In","$defs":{"In":{"type":"object","properties":{"x":{"$ref":"#/$defs/Node"}}},"Node":{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"}}}}}},
			{"name":"truth","inputSchema":true},
			{"name":"none"},
			{"name":"text","inputSchema":{"type":"string"}},
			{"name":"far","inputSchema":{"type":"object","properties":{"x":{"$ref":"http://127.0.0.1:1/x.json"}}}},
			{"name":"my.dot","inputSchema":{}},{"name":"my_dot","inputSchema":{}},
			{"name":"` + strings.Repeat("long", 30) + `","inputSchema":{}},
			{"name":"","inputSchema":{}},{"name":"none","inputSchema":{}}
		]}`)
	default:
		answer(`{"tools":[{"name":"twice","inputSchema":{}},{"name":"never","inputSchema":{}},{"name":"huge","inputSchema":{}},{"name":"leave","inputSchema":{}},{"name":"strange","inputSchema":{}},{"name":"empty","inputSchema":{}},{"name":"stranger","inputSchema":{}},{"name":"notes","inputSchema":{}},{"name":"asks","inputSchema":{}},{"name":"ok","inputSchema":{}}]}`)
	}
}

// stdio configures the test binary as a server.
func stdio(t *testing.T, name, kind string) config.Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return config.Server{Name: name, Scope: config.ScopeUser, Type: config.Stdio, Command: exe, Env: map[string]string{serverVar: kind}, Dir: t.TempDir()}
}

const hang = 20 * time.Second // a guard only

func start(t *testing.T, change func(*Config), servers ...config.Server) *Manager {
	t.Helper()
	c := Config{Servers: servers, Dir: t.TempDir(), StateDir: t.TempDir(), Environ: os.Environ(), Version: "0", RetryDelay: 20 * time.Millisecond}
	if change != nil {
		change(&c)
	}
	m := New(c)
	m.Start(t.Context())
	t.Cleanup(func() { m.Close() })
	return m
}

// up waits for the servers to have settled.
func up(t *testing.T, m *Manager) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	if p := m.Wait(ctx); len(p) > 0 {
		t.Fatalf("still pending: %v: %+v", p, m.Status())
	}
}

func state(m *Manager, name string) (State, string) {
	for _, s := range m.Status() {
		if s.Name == name {
			return s.State, s.Reason
		}
	}
	return "", ""
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(hang); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never came: %s", what)
}

func find(t *testing.T, m *Manager, name string) tool.Tool {
	t.Helper()
	for _, tl := range m.Tools() {
		if tl.Name() == name {
			return tl
		}
	}
	var names []string
	for _, tl := range m.Tools() {
		names = append(names, tl.Name())
	}
	t.Fatalf("no tool %s among %v; %+v", name, names, m.Status())
	return tool.Tool{}
}

func bind(t *testing.T, m *Manager, name, input string) *tool.Call {
	t.Helper()
	c, err := find(t, m, name).Bind(json.RawMessage(input), tool.Place{Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func run(t *testing.T, m *Manager, name, input string) (tool.Outcome, []tool.Block, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	c := bind(t, m, name, input)
	o, err := c.Run(ctx, &tool.Env{ResultsDir: t.TempDir()})
	if err != nil {
		return o, nil, err
	}
	blocks, err := c.Map(o)
	return o, blocks, err
}
