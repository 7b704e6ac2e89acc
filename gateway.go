package sevengate

//lint:file-ignore SA1019 sampling and logging are deprecated since 2026-07-28, and still what clients and servers speak

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/internal/disclose"
	"github.com/sevengate/sevengate/internal/gate"
	"github.com/sevengate/sevengate/internal/mcp/client"
	mcpserver "github.com/sevengate/sevengate/internal/mcp/server"
	"github.com/sevengate/sevengate/internal/session"
	"github.com/sevengate/sevengate/tool"
)

// MCPServer serves MCP clients.
type MCPServer = mcpserver.Server

// MCPServerConfig says what MCP clients are offered.
type MCPServerConfig = mcpserver.Config

// Gateway serves MCP clients with a runtime. Every call, and every resource that
// is read, passes the gates; prompts, completions, subscriptions and log
// messages of the runtime's own MCP servers are handed on. Questions of the
// gates and of those servers go to the client whose call they belong to.
//
// It is made with [NewGateway], prepares the options of its runtime, and then
// serves with it. Its methods are safe for concurrent use.
type Gateway struct {
	runtime *Runtime
	line    *Line
	server  *mcpserver.Server
	tap     *client.Tap // nil where there are no servers

	progress sync.Map // id of a call to func(tool.Progress)
	search   bool     // tools are listed when they were found

	mu     sync.Mutex
	active map[string]map[string]bool // ids of the requests that a server works on
	reads  map[address][]*rawRead     // that wait for what a server says
	offers *offers                    // nil: not known, or stale
	watch  map[string]string          // the server that watches an address
	found  map[string]bool            // tools that a search has found
	level  int                        // from which on log messages are wanted; 0: none
}

// NewGateway makes a gateway.
func NewGateway() *Gateway {
	return &Gateway{active: map[string]map[string]bool{}, reads: map[address][]*rawRead{}, watch: map[string]string{}}
}

// Prepare makes the options of the runtime that the gateway will serve with:
// the gateway answers its questions and watches its calls.
func (g *Gateway) Prepare(o *Options) {
	o.Prompter = g
	also := o.ObserveCalls
	o.ObserveCalls = func(e CallEvent) {
		g.observe(e)
		if also != nil {
			also(e)
		}
	}
}

// Serve makes the server for a runtime whose options were prepared. The function,
// if any, changes what clients are offered.
func (g *Gateway) Serve(r *Runtime, change func(*MCPServerConfig)) *MCPServer {
	g.runtime, g.line = r, r.Line()
	g.beginSearch()
	cfg := mcpserver.Config{Dispatcher: g, Version: Version, Log: r.opts.Log,
		Instructions: "Every call is checked by the user's permission rules. A refusal is final unless the user says otherwise."}
	if r.mcp != nil {
		cfg.Resources, cfg.Subscriptions, cfg.Prompts, cfg.Completer, cfg.Logging = g, g, g, g, g
	}
	if change != nil {
		change(&cfg)
	}
	g.server = mcpserver.New(cfg)
	if r.mcp != nil {
		g.tap = r.mcp.Tap(client.Listener{Logged: g.logged, ResourceUpdated: g.resourceUpdated, ResourcesChanged: func(string) { g.resourcesChanged() }})
		r.OnServersChanged(g.serversChanged)
	}
	return g.server
}

// notServed are tools that mean nothing to somebody else's agent: it has a person of
// its own, and nothing to search for unless the gateway keeps tools back.
var notServed = []string{"ToolSearch", "AskUserQuestion"}

// Tools implements [mcpserver.Dispatcher].
func (g *Gateway) Tools() []mcpserver.Tool {
	tools, _, _ := g.runtime.Tools()
	api := g.runtime.InputSchemas()
	var out []mcpserver.Tool
	for _, t := range tools {
		f := t.Facts()
		schema, ok := api[f.Name]
		if !ok || slices.Contains(notServed, f.Name) && !(g.search && f.Name == disclose.SearchTool) {
			continue
		}
		// What depends on the input is given carefully: not read-only, may destroy.
		out = append(out, mcpserver.Tool{Name: f.Name, Title: f.Title, Description: t.Prompt(tool.PromptContext{}), InputSchema: schema,
			OutputSchema: nil, Destructive: true, OpenWorld: f.Origin != nil})
	}
	return g.listed(out)
}

// Call implements [mcpserver.Dispatcher].
func (g *Gateway) Call(ctx context.Context, c mcpserver.Call) mcpserver.Result {
	g.progress.Store(c.ID, c.Progress)
	defer g.progress.Delete(c.ID)
	res := g.line.Call(ctx, c.ID, c.Name, c.Input)
	content := g.foundTools(res, res.Block.Content)
	for _, text := range res.Context {
		content = append(content, tool.TextBlock(text))
	}
	return mcpserver.Result{Content: content, IsError: res.Block.IsError, Structured: res.Outcome.Structured, Meta: res.Outcome.Meta}
}

// observe hands on the news of calls, and notes which servers work on them.
func (g *Gateway) observe(e CallEvent) {
	switch e.Kind {
	case gate.EventProgress:
		if f, ok := g.progress.Load(e.ID); ok {
			f.(func(tool.Progress))(e.Progress)
		}
	case gate.EventExecuting, gate.EventDone:
		if e.Call == nil {
			return
		}
		origin := e.Call.Tool().Facts().Origin
		if origin == nil {
			return
		}
		if e.Kind == gate.EventExecuting {
			g.begin(origin.Server, e.ID)
		} else {
			g.end(origin.Server, e.ID)
		}
	}
}

// begin and end say that a server works on a request.
func (g *Gateway) begin(server, id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.active[server] == nil {
		g.active[server] = map[string]bool{}
	}
	g.active[server][id] = true
}

func (g *Gateway) end(server, id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.active[server], id)
}

// working lists the requests that a server works on.
func (g *Gateway) working(server string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var ids []string
	for id := range g.active[server] {
		ids = append(ids, id)
	}
	return ids
}

// Prompt puts a question of the gates to the person behind the client.
func (g *Gateway) Prompt(ctx context.Context, q Question) (Answer, error) {
	message := q.Decision.Reason.Message
	if use := q.Call.ViewUse(); use != "" {
		message = strings.TrimSpace(q.Call.Name()+": "+use) + "\n" + message
	}
	a, err := g.server.Ask(ctx, mcpserver.Question{CallID: q.ToolUseID, Message: message, Rules: q.Decision.Suggestions})
	if err != nil {
		return Answer{}, err
	}
	out := Answer{Behavior: tool.Deny, Message: a.Message}
	if a.Allow {
		out.Behavior = tool.Allow
		if a.Rule != "" {
			out.Grants = []Grant{{Behavior: tool.Allow, Rule: a.Rule}}
		}
	}
	return out, nil
}

// asker gives the request to whose client a question of a server goes. A server
// does not say which call a question is about, so it must be clear.
func (g *Gateway) asker(name string) (string, error) {
	ids := g.working(name)
	if len(ids) == 0 {
		return "", fmt.Errorf("no call of %s is under way, so nobody is there to be asked", name)
	}
	if !g.server.SameClient(ids...) {
		return "", fmt.Errorf("several clients have calls of %s under way, so it is not clear whom to ask", name)
	}
	return ids[0], nil
}

// Elicit puts a question of a server to the person behind the client whose call
// the server works on.
func (g *Gateway) Elicit(ctx context.Context, q client.Elicitation) (client.Reply, error) {
	id, err := g.asker(q.Server)
	if err != nil {
		return client.Reply{}, err
	}
	// The person must see that it is not the gates that ask.
	p := &sdk.ElicitParams{Mode: "form", Message: fmt.Sprintf("The MCP server %s asks: %s", q.Server, q.Message)}
	if q.URL != "" {
		p.Mode, p.URL, p.ElicitationID = "url", q.URL, session.NewID()
	} else if q.Schema != nil {
		p.RequestedSchema = q.Schema
	}
	res, err := g.server.Elicit(ctx, id, p)
	if err != nil {
		return client.Reply{}, fmt.Errorf("the question was not answered: %w", err)
	}
	return client.Reply{Action: res.Action, Content: res.Content}, nil
}

// Sample lets a server use the model of the client whose call it works on; the
// client asks its person.
func (g *Gateway) Sample(ctx context.Context, q client.Sampling) (tool.Message, error) {
	id, err := g.asker(q.Server)
	if err != nil {
		return tool.Message{}, err
	}
	p := &sdk.CreateMessageParams{SystemPrompt: q.System, MaxTokens: int64(q.MaxTokens)}
	for _, m := range q.Messages {
		p.Messages = append(p.Messages, &sdk.SamplingMessage{Role: sdk.Role(m.Role), Content: &sdk.TextContent{Text: m.Text()}})
	}
	res, err := g.server.Sample(ctx, id, p)
	if err != nil {
		return tool.Message{}, fmt.Errorf("the model was not asked: %w", err)
	}
	text, ok := res.Content.(*sdk.TextContent)
	if !ok {
		return tool.Message{}, errors.New("the model was asked for text and gave something else")
	}
	return tool.Message{Role: tool.RoleAssistant, Model: res.Model, Content: []tool.Block{tool.TextBlock(text.Text)}}, nil
}
