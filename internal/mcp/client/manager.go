package client

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sevengate/sevengate/internal/mcp/config"
	"github.com/sevengate/sevengate/internal/mcp/form"
	"github.com/sevengate/sevengate/tool"
)

// Config is what a manager needs.
type Config struct {
	// Servers are all that are configured, also those that may not run.
	Servers []config.Server
	// Judge decides which may run; it is asked again by [Manager.Rejudge]. Nil
	// judges by the zero policy: all run but those of a repository.
	Judge func(*config.Server) (config.Verdict, string)
	// Dir is the project's directory, StateDir the state folder; without one no
	// tokens are kept.
	Dir, StateDir string
	// Environ is the environment of the servers' processes and of the settings
	// in variables, as from os.Environ.
	Environ   []string
	SessionID string
	// Version of this program, as servers are told.
	Version string
	// Trusted tells whether the person trusts Dir: only then helper commands run
	// that stand in entries of the project, its repository's or the person's. Nil
	// means no.
	Trusted func() bool
	// Roots gives the directories of the session; nil means Dir.
	Roots func() []string
	// Elicitor and Sampler answer servers' questions to the person and to the
	// model. Where one is nil servers are told that there is none.
	Elicitor Elicitor
	Sampler  Sampler
	// OnChange is called, from one goroutine at a time, when tools, prompts or
	// states changed. May be nil.
	OnChange func()
	// ClientMetadataURL is where this program describes itself to authorization
	// servers that take such a description instead of a registration. May be
	// empty.
	ClientMetadataURL string
	// RetryDelay is the first pause before a server is connected to again; it
	// doubles. 0 means a second.
	RetryDelay time.Duration
	// Log may be nil.
	Log *slog.Logger
}

// State is how a server stands.
type State string

// The states.
const (
	Pending         State = "pending" // it is being connected to
	Connected       State = "connected"
	NeedsAuth       State = "needs-auth"
	Failed          State = "failed"
	Disabled        State = "disabled"
	PendingApproval State = "pending-approval"
	Rejected        State = "rejected"
)

// Status describes a server for people and programs. It holds no secret.
type Status struct {
	Name     string           `json:"name"`
	Scope    config.Scope     `json:"scope"`
	Type     config.Transport `json:"type"`
	Endpoint string           `json:"endpoint,omitempty"`
	State    State            `json:"status"`
	// Reason says why the server is not connected, and what to do.
	Reason        string   `json:"error,omitempty"`
	ServerName    string   `json:"serverName,omitempty"`
	ServerVersion string   `json:"serverVersion,omitempty"`
	Protocol      string   `json:"protocol,omitempty"`
	Instructions  string   `json:"instructions,omitempty"`
	Tools         []string `json:"tools,omitempty"` // as models call them
	Prompts       int      `json:"prompts,omitempty"`
	Resources     bool     `json:"resources,omitempty"`
	Timeouts      Timeouts `json:"timeouts"`
}

// Problem is a tool that is left out, and why.
type Problem struct {
	Server, Tool, Text string
}

// Manager holds the connections. Its methods are safe for concurrent use.
type Manager struct {
	cfg     Config
	vars    variables
	servers map[string]*server // never changes
	names   []string           // sorted
	stdio   chan struct{}      // slots for connecting
	remote  chan struct{}
	tokens  *tokenStore

	mu      sync.Mutex
	ctx     context.Context // set by Start
	cancel  context.CancelFunc
	closed  bool
	waiting chan struct{} // closed and replaced whenever a state changes
	notify  chan struct{}
	wg      sync.WaitGroup
}

// New makes a manager. It starts nothing.
func New(cfg Config) *Manager {
	if cfg.Judge == nil {
		var p config.Policy
		cfg.Judge = p.Judge
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.RetryDelay <= 0 {
		cfg.RetryDelay = time.Second
	}
	m := &Manager{cfg: cfg, vars: newVariables(cfg.Environ), servers: map[string]*server{}, waiting: make(chan struct{}),
		notify: make(chan struct{}, 1)}
	m.stdio = make(chan struct{}, m.vars.number("MCP_SERVER_CONNECTION_BATCH_SIZE", 1, DefaultStdioBatch))
	m.remote = make(chan struct{}, m.vars.number("MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", 1, DefaultRemoteBatch))
	m.tokens = newTokenStore(cfg.StateDir)
	for _, s := range cfg.Servers {
		m.names = append(m.names, s.Name)
	}
	slices.Sort(m.names)
	m.names = slices.Compact(m.names)
	segments := form.Segments(m.names)
	for _, s := range cfg.Servers {
		if _, taken := m.servers[s.Name]; taken {
			continue
		}
		m.servers[s.Name] = newServer(m, s, segments[s.Name])
	}
	for _, s := range m.servers {
		s.judge()
	}
	return m
}

// Start connects to the servers that may run, in the background, and returns
// at once. The connections last until Close or the end of ctx.
func (m *Manager) Start(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.ctx != nil {
		return
	}
	m.ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, m.cancel)
	context.AfterFunc(m.ctx, func() { stop() })
	m.wg.Go(func() { m.announce(m.ctx) })
	for _, name := range m.names {
		m.launch(m.servers[name])
	}
}

// launch runs a server where it may run and does not run. The caller holds the
// lock.
func (m *Manager) launch(s *server) {
	if m.ctx == nil || m.closed || !s.begin() {
		return
	}
	ctx := m.ctx
	m.wg.Go(func() { s.run(ctx) })
}

// announce tells of changes, one after the other, and joins those that come
// close together.
func (m *Manager) announce(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.notify:
			if m.cfg.OnChange != nil {
				m.cfg.OnChange()
			}
		}
	}
}

// changed wakes those that wait for a state.
func (m *Manager) changed() {
	m.mu.Lock()
	close(m.waiting)
	m.waiting = make(chan struct{})
	m.mu.Unlock()
	select {
	case m.notify <- struct{}{}:
	default:
	}
}

func (m *Manager) nextChange() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting
}

// Rejudge asks again which servers may run: what may not any more is ended,
// what may now is started.
func (m *Manager) Rejudge() {
	for _, name := range m.names {
		s := m.servers[name]
		if s.judge() {
			m.mu.Lock()
			m.launch(s)
			m.mu.Unlock()
		}
	}
	m.changed()
}

// Reconnect drops a server's connection and makes it again.
func (m *Manager) Reconnect(name string) error {
	s, err := m.server(name)
	if err != nil {
		return err
	}
	return s.restart()
}

// Close ends all connections and processes, and waits for them. It may be
// called more than once.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.closed = true
	if m.cancel != nil {
		m.cancel()
	}
	m.mu.Unlock()
	m.wg.Wait()
	return nil
}

func (m *Manager) server(name string) (*server, error) {
	if s := m.servers[name]; s != nil {
		return s, nil
	}
	for _, s := range m.servers { // as it stands in tool names
		if s.segment == name {
			return s, nil
		}
	}
	known := "none is configured"
	if len(m.names) > 0 {
		known = "there are: " + strings.Join(m.names, ", ")
	}
	return nil, fmt.Errorf("there is no MCP server %q; %s", name, known)
}

// Status describes all servers, sorted by name. Servers that the policy blocks
// are left out.
func (m *Manager) Status() []Status {
	var out []Status
	for _, name := range m.names {
		if st, show := m.servers[name].status(); show {
			out = append(out, st)
		}
	}
	return out
}

// Tools gives the tools of all servers. A server that is being connected to
// again keeps its tools; one that failed has none.
func (m *Manager) Tools() []tool.Tool {
	var out []tool.Tool
	for _, name := range m.names {
		out = append(out, m.servers[name].currentTools()...)
	}
	return out
}

// APISchema gives the schema of one of the tools in the form that model APIs
// accept, which may differ from the one that inputs are validated with.
func (m *Manager) APISchema(name string) (json.RawMessage, bool) {
	for _, s := range m.servers {
		if raw, ok := s.apiSchema(name); ok {
			return raw, true
		}
	}
	return nil, false
}

// Problems lists the tools that are left out.
func (m *Manager) Problems() []Problem {
	var out []Problem
	for _, name := range m.names {
		out = append(out, m.servers[name].problems()...)
	}
	return out
}

// Logs gives, without control characters, the last of what a server wrote to its standard error and logged,
// and how many lines came before that.
func (m *Manager) Logs(name string) (text string, dropped int, err error) {
	s, err := m.server(name)
	if err != nil {
		return "", 0, err
	}
	text, dropped = s.log.text()
	return printable(text), dropped, nil
}

// Wait waits until none of the named servers (all, where none is named) is
// being connected to, or ctx is done, and names those that still are.
func (m *Manager) Wait(ctx context.Context, names ...string) (pending []string) {
	if len(names) == 0 {
		names = m.names
	}
	for {
		change := m.nextChange()
		pending = nil
		for _, name := range names {
			if s, err := m.server(name); err == nil && s.connecting() {
				pending = append(pending, name)
			}
		}
		if len(pending) == 0 {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return pending
		}
	}
}
