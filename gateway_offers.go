package sevengate

//lint:file-ignore SA1019 logging is deprecated since 2026-07-28, and still what clients and servers speak

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/internal/gate"
	"github.com/sevengate/sevengate/internal/mcp/client"
	mcpserver "github.com/sevengate/sevengate/internal/mcp/server"
	"github.com/sevengate/sevengate/tool"
)

// Names of the tools whose rules hold for what clients list and read.
const (
	listTool = "ListMcpResourcesTool"
	readTool = "ReadMcpResourceTool"
)

// codeRefused is the code of errors that are refusals of the gates.
const codeRefused = -32001

// Times of what is known of the servers.
const (
	// offersFresh is how long a miss is believed without asking again.
	offersFresh = 5 * time.Second
	// tellTime bounds telling the servers what is wanted of them.
	tellTime = 10 * time.Second
)

// offers is what the servers let be read, in the order of their names. Where two
// offer the same address, the first counts.
type offers struct {
	all  []client.Offer
	read time.Time
}

func refused(text string) error { return &jsonrpc.Error{Code: codeRefused, Message: text} }

// fetch asks all servers what they let be read. Rules that deny listing a
// server's resources leave them out.
func (g *Gateway) fetch(ctx context.Context) *offers {
	var names []string
	for _, s := range g.runtime.mcp.Status() {
		if s.State == client.Connected && s.Resources {
			names = append(names, s.Name)
		}
	}
	found := make([]client.Offer, len(names))
	var wait sync.WaitGroup
	for i, name := range names {
		wait.Go(func() {
			if g.denies(ctx, listTool, map[string]string{"server": name}) != nil {
				return
			}
			o, err := g.runtime.mcp.Offer(ctx, name)
			if err != nil && g.runtime.opts.Log != nil {
				g.runtime.opts.Log.Warn("Resources cannot be listed", "server", name, "error", err)
			}
			found[i] = o
		})
	}
	wait.Wait()
	now := &offers{found, time.Now()}
	if ctx.Err() == nil {
		g.mu.Lock()
		g.offers = now
		g.mu.Unlock()
	}
	return now
}

// denies tells, as an error, that the rules deny a call outright.
func (g *Gateway) denies(ctx context.Context, name string, input any) error {
	raw, err := json.Marshal(input)
	if err != nil {
		return err
	}
	if e := g.runtime.Explain(ctx, name, raw, false); e.Behavior == tool.Deny {
		return refused(e.Reason.Message)
	}
	return nil
}

// Resources implements [mcpserver.Resources].
func (g *Gateway) Resources(ctx context.Context) ([]*sdk.Resource, error) {
	var out []*sdk.Resource
	seen := map[string]bool{}
	for _, o := range g.fetch(ctx).all {
		for _, r := range o.Resources {
			if !seen[r.URI] {
				seen[r.URI] = true
				out = append(out, r)
			}
		}
	}
	return out, ctx.Err()
}

// Templates implements [mcpserver.Resources].
func (g *Gateway) Templates(ctx context.Context) ([]*sdk.ResourceTemplate, error) {
	var out []*sdk.ResourceTemplate
	seen := map[string]bool{}
	for _, o := range g.fetch(ctx).all {
		for _, t := range o.Templates {
			if !seen[t.URITemplate] {
				seen[t.URITemplate] = true
				out = append(out, t)
			}
		}
	}
	return out, ctx.Err()
}

// route finds the server that an address, or a template, is of: the first that
// lists it, then the first with a template that it fits, then the only one that
// has resources at all.
func (g *Gateway) route(ctx context.Context, uri string) (string, error) {
	g.mu.Lock()
	now := g.offers
	g.mu.Unlock()
	if now == nil {
		now = g.fetch(ctx)
	}
	name, ok := now.owner(uri)
	if !ok && time.Since(now.read) > offersFresh {
		name, ok = g.fetch(ctx).owner(uri)
	}
	if !ok {
		return "", mcpserver.ErrNotFound
	}
	return name, nil
}

func (o *offers) owner(uri string) (string, bool) {
	for _, s := range o.all {
		if slices.ContainsFunc(s.Resources, func(r *sdk.Resource) bool { return r.URI == uri }) {
			return s.Server, true
		}
	}
	var some []string
	for _, s := range o.all {
		if slices.ContainsFunc(s.Templates, func(t *sdk.ResourceTemplate) bool { return t.URITemplate == uri || fits(t.URITemplate, uri) }) {
			return s.Server, true
		}
		if s.Server != "" {
			some = append(some, s.Server)
		}
	}
	if len(some) == 1 {
		return some[0], true
	}
	return "", false
}

// maxTemplate bounds the templates that addresses are compared with.
const maxTemplate = 2000

var templatePart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[^{}]*\}`) })

// fits tells whether an address can come of a template.
func fits(template, uri string) bool {
	if len(template) > maxTemplate {
		return false
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	last := 0
	for _, at := range templatePart().FindAllStringIndex(template, -1) {
		b.WriteString(regexp.QuoteMeta(template[last:at[0]]))
		if part := template[at[0]+1 : at[1]-1]; part != "" && strings.IndexByte("+#./;?&", part[0]) >= 0 {
			b.WriteString(`.*`)
		} else {
			b.WriteString(`[^/?#]*`)
		}
		last = at[1]
	}
	b.WriteString(regexp.QuoteMeta(template[last:]) + `\z`)
	re, err := regexp.Compile(b.String())
	return err == nil && last > 0 && re.MatchString(uri)
}

// address is a resource of a server.
type address struct{ server, uri string }

// rawRead waits for what a server says when a resource is read.
type rawRead struct {
	res *sdk.ReadResourceResult
	err error
}

// readFor reads a resource for the tool that reads resources, and lets the
// requests of clients for the same have it as the server gave it.
func (g *Gateway) readFor(ctx context.Context, m *client.Manager, name, uri, dir string) ([]tool.Block, error) {
	res, err := m.ReadRaw(ctx, name, uri)
	g.mu.Lock()
	waiting := g.reads[address{name, uri}]
	for _, w := range waiting {
		w.res, w.err = res, err
	}
	g.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if len(waiting) > 0 {
		dir = "" // who reads it takes it whole; nothing need be kept
	}
	return client.ResourceBlocks(name, dir, res), nil
}

// Read implements [mcpserver.Resources]: it is a call of the tool that reads
// resources, so the same rules and hooks hold. Unless a hook changed it, the
// client gets what the server gave, whole.
func (g *Gateway) Read(ctx context.Context, id, uri string) (*sdk.ReadResourceResult, error) {
	name, err := g.route(ctx, uri)
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(map[string]string{"server": name, "uri": uri})
	if err != nil {
		return nil, err
	}
	raw, key := &rawRead{}, address{name, uri}
	g.mu.Lock()
	g.reads[key] = append(g.reads[key], raw)
	g.mu.Unlock()
	g.begin(name, id)
	res := g.line.Call(ctx, id, readTool, input)
	g.end(name, id)
	g.mu.Lock()
	g.reads[key] = slices.DeleteFunc(g.reads[key], func(r *rawRead) bool { return r == raw })
	if len(g.reads[key]) == 0 {
		delete(g.reads, key)
	}
	got := *raw
	g.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if res.Block.IsError {
		if res.Ran && got.err != nil {
			return nil, got.err
		}
		return nil, refused(textOf(res.Block.Content))
	}
	changed := slices.ContainsFunc(res.Trace, func(s gate.Step) bool { return s.Phase == gate.PhasePostHook && s.Outcome == "changed" })
	if got.res != nil && !changed {
		return got.res, nil
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: textOf(res.Block.Content)}}}, nil
}

func textOf(blocks []tool.Block) string {
	var parts []string
	for _, b := range blocks {
		if b.Type == tool.BlockText {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Subscribe implements [mcpserver.Subscriptions]. What may not be read may not be
// watched.
func (g *Gateway) Subscribe(ctx context.Context, uri string) error {
	name, err := g.route(ctx, uri)
	if err != nil {
		return sdk.ResourceNotFoundError(uri)
	}
	if err := g.denies(ctx, readTool, map[string]string{"server": name, "uri": uri}); err != nil {
		return err
	}
	g.mu.Lock()
	g.watch[uri] = name
	g.mu.Unlock()
	if err := g.tap.Subscribe(ctx, name, uri); err != nil {
		g.mu.Lock()
		delete(g.watch, uri)
		g.mu.Unlock()
		return err
	}
	return nil
}

// Unsubscribe implements [mcpserver.Subscriptions].
func (g *Gateway) Unsubscribe(ctx context.Context, uri string) error {
	g.mu.Lock()
	name := g.watch[uri]
	delete(g.watch, uri)
	g.mu.Unlock()
	if name == "" {
		return nil
	}
	return g.tap.Unsubscribe(ctx, name, uri)
}

func (g *Gateway) resourceUpdated(name, uri string) {
	g.mu.Lock()
	ours := g.watch[uri] == name
	g.mu.Unlock()
	if ours {
		g.server.ResourceUpdated(uri)
	}
}

func (g *Gateway) resourcesChanged() {
	g.mu.Lock()
	g.offers = nil
	g.mu.Unlock()
	g.server.ResourcesChanged()
}

// serversChanged tells the clients, and the servers that are new what is wanted
// of them.
func (g *Gateway) serversChanged() {
	g.resourcesChanged()
	g.server.Changed()
	g.server.PromptsChanged()
	ctx, cancel := context.WithTimeout(context.Background(), tellTime)
	defer cancel()
	g.tap.Refresh(ctx)
}

// prompts are those of the servers, by their commands; of two with one name the
// first counts. Rules that deny a server, or the prompt's own name, leave them
// out.
func (g *Gateway) prompts() map[string]client.RawPrompt {
	out := map[string]client.RawPrompt{}
	for _, p := range g.runtime.mcp.RawPrompts() {
		if _, taken := out[p.Command]; taken {
			continue
		}
		facts := &tool.Facts{Name: p.Command, Origin: &tool.Origin{Server: p.Server, Tool: p.Prompt.Name}}
		if _, denied := g.runtime.policy.DeniesTool(p.Command, facts); !denied {
			out[p.Command] = p
		}
	}
	return out
}

// Prompts implements [mcpserver.Prompts].
func (g *Gateway) Prompts(context.Context) ([]*sdk.Prompt, error) {
	var out []*sdk.Prompt
	for command, p := range g.prompts() {
		ours := *p.Prompt
		ours.Name = command
		out = append(out, &ours)
	}
	return out, nil
}

// GetPrompt implements [mcpserver.Prompts].
func (g *Gateway) GetPrompt(ctx context.Context, id string, params *sdk.GetPromptParams) (*sdk.GetPromptResult, error) {
	p, ok := g.prompts()[params.Name]
	if !ok {
		return nil, mcpserver.ErrNotFound
	}
	g.begin(p.Server, id)
	defer g.end(p.Server, id)
	return g.runtime.mcp.FillRaw(ctx, p.Server, p.Prompt.Name, params.Arguments)
}

// Complete implements [mcpserver.Completer].
func (g *Gateway) Complete(ctx context.Context, id string, params *sdk.CompleteParams) (*sdk.CompleteResult, error) {
	asked, ref := *params, *params.Ref
	var name string
	switch ref.Type {
	case "ref/prompt":
		p, ok := g.prompts()[ref.Name]
		if !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("there is no prompt %q", ref.Name)}
		}
		name, ref.Name = p.Server, p.Prompt.Name
	default:
		var err error
		if name, err = g.route(ctx, ref.URI); err != nil {
			return nil, sdk.ResourceNotFoundError(ref.URI)
		}
	}
	asked.Ref = &ref
	g.begin(name, id)
	defer g.end(name, id)
	return g.runtime.mcp.CompleteRaw(ctx, name, &asked)
}

// logLevels are the levels of log messages, the least first.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// Level implements [mcpserver.Logging]: the servers are asked for all that any
// client wanted.
func (g *Gateway) Level(ctx context.Context, level string) {
	n := slices.Index(logLevels, level) + 1
	g.mu.Lock()
	lower := n > 0 && (g.level == 0 || n < g.level)
	if lower {
		g.level = n
	}
	g.mu.Unlock()
	if lower {
		ctx, cancel := context.WithTimeout(ctx, tellTime)
		defer cancel()
		g.tap.SetLevel(ctx, level)
	}
}

// logged hands on a log message: to the client whose call the server works on
// or, where that is not clear, to all that want such messages.
func (g *Gateway) logged(name string, p *sdk.LoggingMessageParams) {
	ours := *p
	ours.Logger = strings.TrimSuffix(name+"/"+p.Logger, "/")
	id := ""
	if ids := g.working(name); len(ids) > 0 && g.server.SameClient(ids...) {
		id = ids[0]
	}
	g.server.Log(context.Background(), id, &ours)
}
