// Package server offers tools to MCP clients, over standard input and output or
// over HTTP on this machine. It neither knows where the tools come from nor
// decides what may run: whoever implements [Dispatcher] does. Questions to a
// person go to the client's person where the client can ask one.
package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/tool"
)

// Times and limits.
const (
	// Heartbeat is how often a running call shows that it is alive, to clients
	// that asked for progress.
	Heartbeat = 30 * time.Second
	// minProgress is the least time between two pieces of news of one call.
	minProgress = 100 * time.Millisecond
	// MaxRequestBytes bounds one message of a client.
	MaxRequestBytes = 32 << 20
	// pageSize is how many tools one page of the list holds.
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
	// use, and never nil.
	Progress func(tool.Progress)
}

// Result is what became of a call.
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

// Question asks a client's person for leave to make a call.
type Question struct {
	CallID  string
	Message string
	// Rules would answer the question for good, the narrowest first.
	Rules []tool.Suggestion
}

// Answer is what was said. Rule is one of the question's, where it was chosen.
type Answer struct {
	Allow   bool
	Rule    string
	Message string // why not; for the model
}

// Config is what a server needs.
type Config struct {
	Dispatcher   Dispatcher
	Name         string // empty means sevengate
	Version      string
	Instructions string
	Log          *slog.Logger // may be nil
	// heartbeat replaces Heartbeat in tests.
	heartbeat time.Duration
}

// Server serves any number of clients. Its methods are safe for concurrent use.
type Server struct {
	cfg   Config
	sdk   *sdk.Server
	seq   atomic.Int64
	calls sync.Map // call id to *sdk.ServerSession
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
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: cfg.Name, Version: cfg.Version}, &sdk.ServerOptions{
		Instructions: cfg.Instructions, Logger: cfg.Log,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}},
	})
	s.sdk.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			switch r := req.(type) {
			case *sdk.ListToolsRequest:
				return s.list(r)
			case *sdk.CallToolRequest:
				return s.call(ctx, r)
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

// Changed tells the clients that the list of tools changed.
func (s *Server) Changed() {
	// The SDK announces what it sees change itself: a tool that is never listed.
	const nothing = "sevengate-list-changed"
	s.sdk.AddTool(&sdk.Tool{Name: nothing, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, errors.New("no such tool")
	})
	s.sdk.RemoveTools(nothing)
}

func (s *Server) list(r *sdk.ListToolsRequest) (sdk.Result, error) {
	tools := slices.Clone(s.cfg.Dispatcher.Tools())
	slices.SortFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	if r.Params != nil && r.Params.Cursor != "" {
		// The cursor is the last name that was listed: right also when the list
		// changes meanwhile.
		after, err := base64.RawURLEncoding.DecodeString(r.Params.Cursor)
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the cursor is not one of ours"}
		}
		tools = slices.DeleteFunc(tools, func(t Tool) bool { return t.Name <= string(after) })
	}
	res := &sdk.ListToolsResult{Tools: []*sdk.Tool{}}
	for i, t := range tools {
		if i == pageSize {
			res.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(tools[i-1].Name))
			break
		}
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

// objectSchema is the schema as it is, but for the type at its root, which the
// protocol demands: one client-side check of it would refuse the whole list.
func objectSchema(raw json.RawMessage) json.RawMessage {
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil || root == nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	if string(root["type"]) == `"object"` {
		return raw
	}
	root["type"] = json.RawMessage(`"object"`)
	out, err := json.Marshal(root)
	if err != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return out
}

func (s *Server) call(ctx context.Context, r *sdk.CallToolRequest) (sdk.Result, error) {
	if r.Params == nil || r.Params.Name == "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the name of the tool is missing"}
	}
	id := fmt.Sprintf("toolu_mcp_%d", s.seq.Add(1))
	s.calls.Store(id, r.Session)
	defer s.calls.Delete(id)
	news := newReporter(ctx, r, s.cfg.heartbeat)
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

// content turns blocks into content of the protocol.
func content(blocks []tool.Block) []sdk.Content {
	out := []sdk.Content{}
	for _, b := range blocks {
		switch {
		case b.Type == tool.BlockText:
			out = append(out, &sdk.TextContent{Text: b.Text})
		case b.Type == tool.BlockToolReference:
			out = append(out, &sdk.TextContent{Text: "tool: " + b.ToolName})
		case b.Source != nil && b.Source.Type == "base64":
			data, err := base64.StdEncoding.DecodeString(b.Source.Data)
			if err != nil {
				out = append(out, &sdk.TextContent{Text: fmt.Sprintf("[%s that cannot be read]", b.Type)})
				continue
			}
			if b.Type == tool.BlockImage {
				out = append(out, &sdk.ImageContent{MIMEType: b.Source.MediaType, Data: data})
				continue
			}
			out = append(out, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "document:" + strings.ReplaceAll(b.Title, " ", "%20"), MIMEType: b.Source.MediaType, Blob: data}})
		case b.Source != nil && b.Source.URL != "":
			out = append(out, &sdk.TextContent{Text: b.Source.URL})
		default:
			out = append(out, &sdk.TextContent{Text: fmt.Sprintf("[%s]", b.Type)})
		}
	}
	return out
}

// reporter passes news of one call to the client that asked for it, and shows
// that the call is alive where there is none.
type reporter struct {
	ctx   context.Context
	r     *sdk.CallToolRequest
	token any
	began time.Time
	stop  chan struct{}
	done  sync.WaitGroup

	mu   sync.Mutex
	last time.Time
	n    float64
}

func newReporter(ctx context.Context, r *sdk.CallToolRequest, every time.Duration) *reporter {
	p := &reporter{ctx: ctx, r: r, token: r.Params.GetProgressToken(), began: time.Now(), stop: make(chan struct{})}
	if p.token == nil {
		return p
	}
	p.done.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-ctx.Done():
				return
			case <-t.C:
				p.send(fmt.Sprintf("still running after %s", time.Since(p.began).Round(time.Second)))
			}
		}
	})
	return p
}

func (p *reporter) report(news tool.Progress) {
	if p.token == nil {
		return
	}
	p.mu.Lock()
	early := time.Since(p.last) < minProgress
	p.mu.Unlock()
	if early {
		return
	}
	text := news.Text
	if i := strings.LastIndexByte(strings.TrimRight(text, "\n"), '\n'); i >= 0 {
		text = text[i+1:]
	}
	p.send(strings.TrimSpace(text))
}

func (p *reporter) send(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
	p.n++
	_ = p.r.Session.NotifyProgress(p.ctx, &sdk.ProgressNotificationParams{ProgressToken: p.token, Progress: p.n, Message: text})
}

func (p *reporter) end() {
	close(p.stop)
	p.done.Wait()
}

// CanAsk tells whether the client that made a call can ask its person.
func (s *Server) CanAsk(callID string) bool {
	_, ok := s.asker(callID)
	return ok
}

func (s *Server) asker(callID string) (*sdk.ServerSession, bool) {
	v, ok := s.calls.Load(callID)
	if !ok {
		return nil, false
	}
	session := v.(*sdk.ServerSession)
	p := session.InitializeParams()
	return session, p != nil && p.Capabilities != nil && p.Capabilities.Elicitation != nil
}

// Ask puts a question about a call to the person behind its client. Where the
// client cannot ask, the answer is no and names the rule that would allow it.
func (s *Server) Ask(ctx context.Context, q Question) (Answer, error) {
	session, ok := s.asker(q.CallID)
	if !ok {
		why := "this call needs a person's leave, and the client cannot ask one"
		if len(q.Rules) > 0 {
			why += fmt.Sprintf("; the rule %q in permissions.allow would allow it", q.Rules[0].Rule)
		}
		return Answer{Message: why}, nil
	}
	const once, no = "allow once", "deny"
	options := []any{once}
	for _, r := range q.Rules[:min(len(q.Rules), tool.MaxSuggestions)] {
		options = append(options, "allow "+r.Rule)
	}
	options = append(options, no)
	res, err := session.Elicit(ctx, &sdk.ElicitParams{Mode: "form", Message: q.Message, RequestedSchema: map[string]any{
		"type": "object", "required": []any{"decision"},
		"properties": map[string]any{"decision": map[string]any{"type": "string", "title": "Decision", "enum": options}},
	}})
	if err != nil {
		return Answer{Message: "the client could not ask its person"}, fmt.Errorf("asking through the MCP client: %w", err)
	}
	choice, _ := res.Content["decision"].(string)
	if res.Action != "accept" || choice == no || !slices.Contains(options, any(choice)) {
		return Answer{Message: "the person said no"}, nil
	}
	a := Answer{Allow: true}
	for _, r := range q.Rules {
		if choice == "allow "+r.Rule {
			a.Rule = r.Rule
		}
	}
	return a, nil
}
