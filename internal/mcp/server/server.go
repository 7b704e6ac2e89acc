// Package server offers tools to MCP clients, and whatever resources, prompts,
// completions and log messages it is given beside them, over standard input and
// output or over HTTP on this machine. It neither knows where they come from
// nor decides what may run: whoever implements [Dispatcher] and its likes does.
// Questions to a person or a model go to the client's, where it has one.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/tool"
)

// Times and limits.
const (
	// Heartbeat is how often a running call shows that it is alive, to clients
	// that asked for progress.
	Heartbeat = 30 * time.Second
	// MaxRequestBytes bounds one message of a client.
	MaxRequestBytes = 32 << 20
	// pageSize is how many entries one page of a list holds.
	pageSize = 500
)

// Tool is a tool as clients see it.
type Tool struct {
	Name        string
	Title       string
	Description string
	// InputSchema is what inputs are validated with, as it is.
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage // may be nil
	// Hints of what calls do; those that depend on the input are given
	// carefully.
	ReadOnly, Destructive, OpenWorld bool
	Meta                             map[string]any
}

// Call is one call of a client.
type Call struct {
	// ID names the call; questions about it come back with it.
	ID    string
	Name  string
	Input json.RawMessage
	// Progress takes news of the running call. It is quick, safe for concurrent
	// use, and never nil. News whose data are a map with the numbers "progress"
	// and "total" and the text "message" reach the client as these.
	Progress func(tool.Progress)
}

// Result is what became of a call. Blocks of the types audio, resource and
// resource_link that were decoded from JSON reach the client as they are.
type Result struct {
	Content    []tool.Block
	IsError    bool
	Structured json.RawMessage
	Meta       json.RawMessage
}

// Dispatcher makes the calls. Its methods are called from several goroutines at
// once.
type Dispatcher interface {
	// Tools lists the tools that are offered now.
	Tools() []Tool
	// Call makes one call. A tool that does not exist, and a refusal, are
	// results with IsError. It ends soon after ctx is done.
	Call(ctx context.Context, c Call) Result
}

// Config is what a server needs. Only what is given is announced to clients.
type Config struct {
	Dispatcher Dispatcher
	// The rest may be nil. Subscriptions need Resources.
	Resources     Resources
	Subscriptions Subscriptions
	Prompts       Prompts
	Completer     Completer
	Logging       Logging

	Name         string // empty means sevengate
	Version      string
	Instructions string
	Log          *slog.Logger // may be nil
	// heartbeat replaces Heartbeat in tests.
	heartbeat time.Duration
}

// Server serves any number of clients. Its methods are safe for concurrent use.
type Server struct {
	cfg      Config
	sdk      *sdk.Server
	seq      atomic.Int64
	requests sync.Map // id to *request
	watches  watches
}

// New makes a server. It serves nobody yet.
func New(cfg Config) *Server {
	if cfg.Name == "" {
		cfg.Name = "sevengate"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.heartbeat <= 0 {
		cfg.heartbeat = Heartbeat
	}
	s := &Server{cfg: cfg}
	o := &sdk.ServerOptions{Instructions: cfg.Instructions, Logger: cfg.Log, Capabilities: cfg.capabilities()}
	if cfg.Completer != nil {
		o.CompletionHandler = s.complete
	}
	if cfg.Resources != nil && cfg.Subscriptions != nil {
		o.SubscribeHandler, o.UnsubscribeHandler = s.subscribe, s.unsubscribe
	}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: cfg.Name, Version: cfg.Version}, o)
	s.sdk.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			switch r := req.(type) {
			case *sdk.ListToolsRequest:
				return s.list(r)
			case *sdk.CallToolRequest:
				return s.call(ctx, r)
			}
			if res, ok, err := s.offered(ctx, req); ok {
				return res, err
			}
			return next(ctx, method, req)
		}
	})
	return s
}

// handshakeOnly keeps clients to the revisions of the protocol in which a server
// can ask a client.
type handshakeOnly struct{ sdk.Transport }

// SupportsProtocolVersion implements [sdk.ProtocolVersionSupporter].
func (handshakeOnly) SupportsProtocolVersion(version string) bool { return version < "2026" }

// ServeStdio serves one client over two streams until the client hangs up or
// ctx is done. Nothing else may be written to out.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	session, err := s.sdk.Connect(ctx, handshakeOnly{&sdk.IOTransport{Reader: in, Writer: out, MaxLineLength: MaxRequestBytes}}, nil)
	if err != nil {
		return fmt.Errorf("serving MCP: %w", err)
	}
	defer func() { s.watches.wait(session) }()
	defer context.AfterFunc(ctx, func() { _ = session.Close() })()
	err = session.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("serving MCP: %w", err)
	}
	return nil
}

func (s *Server) list(r *sdk.ListToolsRequest) (sdk.Result, error) {
	cursor := ""
	if r.Params != nil {
		cursor = r.Params.Cursor
	}
	tools, next, err := page(s.cfg.Dispatcher.Tools(), func(t Tool) string { return t.Name }, cursor)
	if err != nil {
		return nil, err
	}
	res := &sdk.ListToolsResult{Tools: []*sdk.Tool{}, NextCursor: next}
	for _, t := range tools {
		destructive, open := t.Destructive, t.OpenWorld
		out := &sdk.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: objectSchema(t.InputSchema),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: t.ReadOnly, DestructiveHint: &destructive, OpenWorldHint: &open}, Meta: t.Meta}
		if t.OutputSchema != nil {
			out.OutputSchema = t.OutputSchema
		}
		res.Tools = append(res.Tools, out)
	}
	return res, nil
}

// emptySchema allows any object.
var emptySchema = json.RawMessage(`{"type":"object"}`)

// objectSchema is the schema as it is, but for the type at its root, which the
// protocol demands: one client-side check of it would refuse the whole list.
func objectSchema(raw json.RawMessage) json.RawMessage {
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil || root == nil {
		return emptySchema
	}
	if string(root["type"]) == `"object"` {
		return raw
	}
	root["type"] = json.RawMessage(`"object"`)
	out, err := json.Marshal(root)
	if err != nil {
		return emptySchema
	}
	return out
}

func (s *Server) call(ctx context.Context, r *sdk.CallToolRequest) (sdk.Result, error) {
	if r.Params == nil || r.Params.Name == "" {
		return nil, invalid("the name of the tool is missing")
	}
	id, end := s.begin(ctx, r.Session, r.Extra)
	defer end()
	news := newReporter(ctx, r.Session, r.Params.GetProgressToken(), s.cfg.heartbeat)
	defer news.end()
	input := json.RawMessage(r.Params.Arguments)
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	res := s.cfg.Dispatcher.Call(ctx, Call{ID: id, Name: r.Params.Name, Input: input, Progress: news.report})
	out := &sdk.CallToolResult{IsError: res.IsError, Content: content(res.Content)}
	if len(res.Structured) > 0 {
		out.StructuredContent = res.Structured
	}
	if len(res.Meta) > 0 {
		_ = json.Unmarshal(res.Meta, &out.Meta)
	}
	return out, nil
}
