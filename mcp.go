package sevengate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/agent"
	"github.com/sevengate/sevengate/internal/builtin/mcpres"
	"github.com/sevengate/sevengate/internal/mcp/client"
	"github.com/sevengate/sevengate/internal/mcp/config"
	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/internal/session"
	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// MCP is the session's connections to MCP servers.
type MCP = client.Manager

// ServerFiles are the files in which MCP servers are written down.
type ServerFiles = config.Files

// findServers reads which MCP servers are configured. Nothing is started.
func (r *Runtime) findServers(ctx context.Context) error {
	if r.opts.NoMCP {
		return nil
	}
	files := r.ServerFiles()
	o := config.Options{Dir: files.Dir, Home: files.Home, StateDir: files.StateDir, ManagedDirs: files.ManagedDirs, Flags: r.opts.MCPConfig, Strict: r.opts.StrictMCP, Environ: r.env}
	if s := r.opts.SettingSources; s != nil {
		o.NoProject = !strings.Contains(*s, "project")
		o.NoUser = !strings.Contains(*s, "user")
	}
	now := r.settingsNow(ctx)
	if raw, ok := now.Settings.Raw("managedMcpServers"); ok {
		o.ManagedServers = raw
	}
	o.NoFlags = managedSays(now, "disableSideloadFlags", "true")
	o.NoPersonal = managedSays(now, "strictPluginOnlyCustomization", "true") || managedSays(now, "strictPluginOnlyCustomization", `"mcp"`)
	found, err := config.Load(o)
	if err != nil {
		return err
	}
	for _, w := range found.Warnings {
		r.mcpWarnings = append(r.mcpWarnings, w.String())
	}
	r.servers = found.Servers
	r.choices = config.OpenChoices(r.state, r.dir)
	if len(found.Servers) == 0 {
		return nil
	}
	r.mcp = client.New(client.Config{
		Servers: found.Servers, Judge: r.judgeServer(ctx), Dir: r.dir, StateDir: r.state, Environ: environment(r.env).forTools(),
		SessionID: r.id, Version: Version, Log: r.opts.Log, OnChange: r.serversChanged,
		Trusted:  func() bool { return r.settingsNow(ctx).Trust.Trusted },
		Roots:    func() []string { return r.conv.Context().Roots },
		Elicitor: r.elicitor(), Sampler: r.sampler(),
	})
	return nil
}

// managedSays tells whether an administrator's settings hold a word: as the value of
// a key, or in its list.
func managedSays(s *settings.Snapshot, key, word string) bool {
	for _, v := range s.Values(key) {
		var list []json.RawMessage
		if v.Source != settings.PolicySettings {
			continue
		}
		if json.Unmarshal(v.JSON, &list) != nil {
			list = []json.RawMessage{v.JSON}
		}
		if slices.ContainsFunc(list, func(raw json.RawMessage) bool { return string(raw) == word }) {
			return true
		}
	}
	return false
}

// serverKeys are the settings about servers, with the administrator's own allow list
// beside the merged one.
func serverKeys(s *settings.Snapshot) map[string]json.RawMessage {
	keys := s.Settings.MCP()
	keys[config.ManagedAllowKey] = json.RawMessage("null")
	for _, v := range s.Values("allowedMcpServers") {
		if v.Source == settings.PolicySettings {
			keys[config.ManagedAllowKey] = v.JSON
			break
		}
	}
	return keys
}

// judgeServer decides which servers may be started, by the settings and the
// person's own choices as they are now.
func (r *Runtime) judgeServer(ctx context.Context) func(*config.Server) (config.Verdict, string) {
	return func(s *config.Server) (config.Verdict, string) {
		p, trusted := r.serverPolicy(ctx)
		p.NoQuestions = p.NoQuestions || r.opts.Prompter == nil && trusted
		return p.Judge(s)
	}
}

// serverPolicy is what settings and choices say, as they are now.
func (r *Runtime) serverPolicy(ctx context.Context) (p config.Policy, trusted bool) {
	now := r.settingsNow(ctx)
	p = config.PolicyFrom(serverKeys(now), now.Trust.Trusted, config.Lookup(r.env))
	choices := r.choices
	if choices == nil { // servers were not looked for
		choices = config.OpenChoices(r.state, r.dir)
	}
	if err := choices.Apply(&p); err != nil && r.opts.Log != nil {
		r.opts.Log.Warn("MCP choices cannot be read", "error", err)
	}
	return p, now.Trust.Trusted
}

// elicitor puts servers' questions to the person, where the prompter can.
func (r *Runtime) elicitor() client.Elicitor {
	e, ok := r.opts.Prompter.(client.Elicitor)
	if !ok {
		return nil
	}
	return e
}

// confirmer is a prompter that can put a yes-or-no question.
type confirmer interface {
	Confirm(ctx context.Context, question string) (bool, error)
}

// sampler lets servers ask the model, after the person agreed to each request.
type sampler struct {
	r   *Runtime
	ask confirmer
}

func (r *Runtime) sampler() client.Sampler {
	if s, ok := r.opts.Prompter.(client.Sampler); ok {
		return s
	}
	ask, ok := r.opts.Prompter.(confirmer)
	if !ok {
		return nil
	}
	return sampler{r, ask}
}

// maxSampleShown bounds what the person is shown of a server's request, in
// characters.
const maxSampleShown = 2_000

func (s sampler) Sample(ctx context.Context, q client.Sampling) (tool.Message, error) {
	var text strings.Builder
	for _, m := range q.Messages {
		fmt.Fprintf(&text, "%s: %s\n", m.Role, m.Text())
	}
	shown := []rune(text.String())
	if len(shown) > maxSampleShown {
		shown = append(shown[:maxSampleShown], []rune("… (cut)\n")...)
	}
	yes, err := s.ask.Confirm(ctx, fmt.Sprintf("The MCP server %s wants the model to answer this:\n%sLet it?", q.Server, string(shown)))
	if err != nil || !yes {
		return tool.Message{}, errors.New("the user refused")
	}
	provider, name, err := s.r.classifierModel()
	if err != nil {
		return tool.Message{}, err
	}
	for e, err := range provider.Stream(ctx, model.Request{Model: name, System: q.System, Messages: q.Messages, MaxTokens: q.MaxTokens}) {
		if err != nil {
			return tool.Message{}, err
		}
		if e.Kind == model.EventEnd {
			return e.Message, nil
		}
	}
	return tool.Message{}, errors.New("the model gave no answer")
}

// serversChanged takes over what the servers offer now.
func (r *Runtime) serversChanged() {
	r.registry.SetOthers(r.mcp.Tools(), r.mcp.APISchema)
	r.mu.Lock()
	tell := r.onServers
	r.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// OnServersChanged asks to be told when the tools of MCP servers change.
func (r *Runtime) OnServersChanged(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onServers = f
}

// InputSchemas gives, by name, the schemas that inputs are validated with.
func (r *Runtime) InputSchemas() map[string]json.RawMessage {
	p := r.pool()
	out := map[string]json.RawMessage{}
	for _, name := range p.Names() {
		if _, s, ok := p.Lookup(name); ok {
			if raw, err := s.JSON(); err == nil {
				out[name] = raw
			}
		}
	}
	return out
}

// mcpCaller lets hooks call tools of MCP servers.
type mcpCaller struct{ r *Runtime }

func (c mcpCaller) CallTool(ctx context.Context, server, name string, input json.RawMessage) (string, bool, error) {
	if c.r.mcp == nil {
		return "", false, fmt.Errorf("there is no MCP server %q", server)
	}
	c.r.StartMCP(ctx, 0)
	return c.r.mcp.CallTool(ctx, server, name, input)
}

// MCPServers gives the connections to MCP servers; nil when none is configured.
func (r *Runtime) MCPServers() *MCP { return r.mcp }

// MCPWarnings are what is wrong with the configuration of servers.
func (r *Runtime) MCPWarnings() []string { return r.mcpWarnings }

// ApproveServer records that the person lets a server of the repository run, or
// turns it down.
func (r *Runtime) ApproveServer(ctx context.Context, name string, yes bool) error {
	if r.mcp == nil {
		return fmt.Errorf("there is no MCP server %q", name)
	}
	s, err := r.mcp.Server(name)
	if err != nil {
		return err
	}
	if yes {
		err = r.choices.Approve(ctx, s)
	} else {
		err = r.choices.Reject(ctx, name)
	}
	if err == nil {
		r.mcp.Rejudge()
	}
	return err
}

// ServerFiles are the files in which MCP servers are written down. What is changed
// in them counts for the next runtime.
func (r *Runtime) ServerFiles() ServerFiles {
	managed := r.opts.ManagedDirs
	if managed == nil {
		managed = config.SystemDirs()
	}
	return ServerFiles{Dir: r.dir, Home: r.home, StateDir: r.state, ManagedDirs: managed, Environ: r.env}
}

// JudgeServer says whether a conversation with a person would start a server, and
// why not.
func (r *Runtime) JudgeServer(ctx context.Context, s *config.Server) (config.Verdict, string) {
	p, _ := r.serverPolicy(ctx)
	return p.Judge(s)
}

// EnableServer records that a server is switched on, or off, for this project.
func (r *Runtime) EnableServer(ctx context.Context, name string, on bool) (*config.Server, error) {
	if r.mcp == nil {
		return nil, fmt.Errorf("there is no MCP server %q", name)
	}
	s, err := r.mcp.Server(name)
	if err != nil {
		return nil, err
	}
	if err := r.choices.SetEnabled(ctx, s.Name, on); err != nil {
		return nil, err
	}
	r.mcp.Rejudge()
	return s, nil
}

// ForgetServerChoices forgets which of the repository's servers were approved or
// turned down.
func (r *Runtime) ForgetServerChoices(ctx context.Context) error {
	if err := config.OpenChoices(r.state, r.dir).Reset(ctx); err != nil {
		return err
	}
	if r.mcp != nil {
		r.mcp.Rejudge()
	}
	return nil
}

// PendingServers are the repository's servers that nobody has approved or turned
// down yet. trusted tells whether the project is trusted.
func (r *Runtime) PendingServers(ctx context.Context) (pending []*config.Server, trusted bool) {
	trusted = r.settingsNow(ctx).Trust.Trusted
	if r.mcp == nil {
		return nil, trusted
	}
	r.mcp.Rejudge()
	for _, st := range r.mcp.Status() {
		if s, err := r.mcp.Server(st.Name); err == nil && st.State == client.PendingApproval {
			pending = append(pending, s)
		}
	}
	return pending, trusted
}

// StartMCP starts the MCP servers in the background. Run does it by itself; for
// single calls it is done on demand. Wait, if longer than zero, waits so long
// for their tools.
func (r *Runtime) StartMCP(ctx context.Context, wait time.Duration) {
	if r.mcp == nil {
		return
	}
	r.startMCP.Do(func() { r.mcp.Start(context.WithoutCancel(ctx)) })
	if wait > 0 {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		r.mcp.Wait(ctx)
		r.serversChanged()
	}
}

// searchWait is how long a search for tools waits for servers.
const searchWait = 5 * time.Second

// waitForTools lets a search that found too little wait for servers that are
// still being connected to.
func (r *Runtime) waitForTools(ctx context.Context, _ *tool.Env) (connecting []string, changed bool) {
	if r.mcp == nil {
		return nil, false
	}
	before := len(r.mcp.Tools())
	wait, cancel := context.WithTimeout(ctx, searchWait)
	defer cancel()
	connecting = r.mcp.Wait(wait)
	if changed = len(r.mcp.Tools()) != before; changed {
		r.serversChanged()
		p := r.pool()
		api, _ := p.API()
		r.disclose.Update(p.Tools(), api)
	}
	return connecting, changed
}

// expand makes a message of a prompt. A prompt that is a command of an MCP
// server, such as /mcp__github__review 5, becomes what the server makes of it;
// resources that it mentions, such as @docs:file://a.md, are added.
func (r *Runtime) expand(ctx context.Context, prompt string) tool.Message {
	m := tool.UserText(prompt)
	if r.mcp == nil {
		return m
	}
	r.StartMCP(ctx, 0)
	words := strings.Fields(prompt)
	if len(words) > 0 && strings.HasPrefix(words[0], "/mcp__") {
		r.mcp.WaitAtStart(ctx, true)
		if p, args, ok := r.mcp.FindPrompt(strings.TrimPrefix(words[0], "/"), words[1:]); ok {
			filled, err := r.mcp.GetPrompt(ctx, p.Server, p.Name, args)
			if err != nil {
				return tool.UserText(fmt.Sprintf("%s\n(The prompt could not be had from the MCP server: %v)", prompt, err))
			}
			m.Content = nil
			for _, part := range filled {
				m.Content = append(m.Content, part.Content...)
			}
			return m
		}
	}
	for _, w := range words {
		server, uri, ok := r.mcp.Mention(strings.TrimRight(w, ".,;:!?)"))
		if !strings.HasPrefix(w, "@") || !ok {
			continue
		}
		content, err := r.mcp.ReadResource(ctx, server, uri, r.results.Dir())
		if err != nil {
			content = []tool.Block{tool.TextBlock(fmt.Sprintf("(%s could not be read: %v)", w, err))}
		}
		m.Content = append(append(m.Content, tool.TextBlock(w+":")), content...)
	}
	return m
}

// mcpResources is what the resource tools need of the connections.
type mcpResources struct {
	m       *client.Manager
	gateway *Gateway // nil unless MCP clients are served
}

func (r *Runtime) mcpServers() mcpres.Servers {
	if r.mcp == nil {
		return nil
	}
	g, _ := r.opts.Prompter.(*Gateway)
	return mcpResources{r.mcp, g}
}

func (s mcpResources) List(ctx context.Context, server string) ([]mcpres.Resource, []string, error) {
	found, problems, err := s.m.ListResources(ctx, server)
	out := make([]mcpres.Resource, len(found))
	for i, f := range found {
		out[i] = mcpres.Resource{Server: f.Server, URI: f.URI, Name: f.Name, Description: f.Description, MIMEType: f.MIMEType, Size: f.Size, Template: f.Template}
	}
	return out, problems, err
}

func (s mcpResources) Read(ctx context.Context, server, uri, dir string) ([]tool.Block, error) {
	if s.gateway != nil {
		return s.gateway.readFor(ctx, s.m, server, uri, dir)
	}
	return s.m.ReadResource(ctx, server, uri, dir)
}

func (s mcpResources) Parts(ctx context.Context, server, uri string) ([]mcpres.Part, error) {
	res, err := s.m.ReadRaw(ctx, server, uri)
	if err != nil {
		return nil, err
	}
	var out []mcpres.Part
	for _, c := range res.Contents {
		if c == nil || strings.HasPrefix(c.URI, "ui://") {
			continue
		}
		out = append(out, mcpres.Part{URI: c.URI, MIMEType: c.MIMEType, Text: c.Text, Size: int64(len(c.Text) + len(c.Blob))})
	}
	return out, nil
}

func (s mcpResources) Wait(ctx context.Context, servers []string) { s.m.Wait(ctx, servers...) }

func (s mcpResources) States() []mcpres.Server {
	var out []mcpres.Server
	for _, st := range s.m.Status() {
		out = append(out, mcpres.Server{Name: st.Name, State: string(st.State), Reason: st.Reason, Tools: len(st.Tools)})
	}
	return out
}

// Line makes calls that come one by one, from several goroutines, scheduled
// against each other.
type Line struct {
	r    *Runtime
	line *agent.Line
}

// Line gives a line of calls.
func (r *Runtime) Line() *Line {
	return &Line{r, agent.NewLine(r.gate, r.conv, r.schedule, r.max)}
}

// Call makes one call. An empty id gets one. When ctx ends, the call is stopped,
// and its result says so.
func (l *Line) Call(ctx context.Context, id, name string, input json.RawMessage) *Result {
	if id == "" {
		id = "toolu_" + session.NewID()
	}
	res := l.line.Do(ctx, tool.ToolUse(id, name, input))
	l.r.gate.MessageOf([]*Result{res})
	l.r.keepIfNamed([]*Result{res})
	return res
}
