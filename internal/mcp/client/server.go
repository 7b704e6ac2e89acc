package client

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and still what servers speak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/internal/mcp/config"
	"github.com/sevengate/sevengate/internal/mcp/form"
	"github.com/sevengate/sevengate/tool"
)

// Limits of connecting again.
const (
	// maxInitialTries is how often a remote server is tried at first. A process
	// that does not come up is not tried again.
	maxInitialTries = 3
	// maxRetries is how often a connection that was lost is made again before
	// the server counts as failed.
	maxRetries = 5
	// steadyAfter is how long a connection must last for earlier failures to be
	// forgotten.
	steadyAfter = time.Minute
	// resourceTimeout bounds a request that only reads.
	resourceTimeout = 2 * time.Minute
	// readyWait is how long a call waits for a server that is connected to again.
	readyWait = 10 * time.Second
	// refreshDelay joins notifications of changed lists.
	refreshDelay = 200 * time.Millisecond
	// refreshAfterCall is how often, at most, lists are read again after calls,
	// for servers that change them and do not always say so.
	refreshAfterCall = 15 * time.Second
)

// server is one configured server and its connection.
type server struct {
	m       *Manager
	cfg     config.Server
	segment string // its part of tool names
	times   Timeouts
	log     *ring
	kick    chan struct{} // asks run to connect anew
	refresh chan struct{} // asks run to read the lists again

	calls    sync.Map     // progress token to *callState
	asking   atomic.Int32 // questions of the server that are open
	tokenSeq atomic.Int64

	mu          sync.Mutex
	state       State
	reason      string
	verdict     config.Verdict
	running     bool
	stop        context.CancelFunc // ends run
	link        *link              // nil unless connected
	lists       lists
	challenge   *challenge // of the last refusal
	signIns     int        // in a row, after which it still refused
	lastRefresh time.Time
}

// link is one live connection.
type link struct {
	session *sdk.ClientSession
	client  *sdk.Client
	done    chan struct{} // closed when the connection ended
	err     error         // why; read after done
	how     func() string // in words
	close   func()

	// calls is the context that the calls of this connection end with.
	calls    context.Context
	endCalls context.CancelCauseFunc

	mu    sync.Mutex
	roots []*sdk.Root
}

// lists are what a server offers.
type lists struct {
	info         *sdk.InitializeResult
	defs         map[string]toolDef // by our name
	tools        []tool.Tool
	problems     []Problem
	prompts      []*sdk.Prompt
	instructions string
}

// challenge is how a server refused.
type challenge struct {
	status int
	header http.Header
}

func newServer(m *Manager, cfg config.Server, segment string) *server {
	return &server{m: m, cfg: cfg, segment: segment, times: m.vars.timeouts(&cfg), log: &ring{},
		kick: make(chan struct{}, 1), refresh: make(chan struct{}, 1)}
}

// judge applies the policy, and tells whether the server is to be launched.
func (s *server) judge() (launch bool) {
	verdict, why := s.m.cfg.Judge(&s.cfg)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdict = verdict
	if verdict == config.Start {
		if !s.running {
			s.state, s.reason = Pending, "it is not started yet"
		}
		return !s.running
	}
	switch verdict {
	case config.PendingApproval:
		s.state = PendingApproval
	case config.Rejected:
		s.state = Rejected
	case config.Invalid:
		s.state = Failed
	default:
		s.state = Disabled
	}
	s.reason = why
	if s.stop != nil {
		s.stop()
	}
	return false
}

// begin marks the server as running; false when it is, or may not.
func (s *server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running || s.verdict != config.Start {
		return false
	}
	s.running, s.state, s.reason = true, Pending, ""
	return true
}

func (s *server) set(state State, reason string) {
	s.mu.Lock()
	if s.verdict == config.Start {
		s.state, s.reason = state, reason
	}
	s.mu.Unlock()
	s.m.changed()
}

// run connects, and connects again, until ctx is done or the server is stopped.
func (s *server) run(life context.Context) {
	ctx, cancel := context.WithCancel(life)
	s.mu.Lock()
	s.stop = cancel
	s.mu.Unlock()
	defer func() {
		cancel()
		s.mu.Lock()
		s.running, s.stop, s.link, s.lists = false, nil, nil, lists{}
		s.mu.Unlock()
		if life.Err() == nil { // it may have been allowed again meanwhile
			s.m.mu.Lock()
			s.m.launch(s)
			s.m.mu.Unlock()
		}
		s.m.changed()
	}()
	tries, ever := 0, false
	for ctx.Err() == nil {
		began := time.Now()
		connected, err := s.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		ever = ever || connected
		if connected && time.Since(began) > steadyAfter || errors.Is(err, errRestart) {
			tries = 0
		}
		if errors.Is(err, errRestart) {
			continue
		}
		tries++
		var refused *AuthError
		limit := maxInitialTries
		switch {
		case ever:
			limit = maxRetries
		case s.cfg.Type == config.Stdio:
			limit = 1
		}
		switch {
		case errors.As(err, &refused):
			s.refused(refused)
		case tries >= limit || permanent(err):
			s.mu.Lock()
			s.lists = lists{}
			s.mu.Unlock()
			s.set(Failed, err.Error())
		default:
			pause := s.m.cfg.RetryDelay << min(tries-1, 6)
			s.set(Pending, fmt.Sprintf("%v; it is tried again in %s (try %d of %d)", err, pause, tries+1, limit))
			if !s.pause(ctx, pause) {
				return
			}
			continue
		}
		s.m.cfg.Log.Info("MCP server is not available", "server", s.cfg.Name, "reason", err)
		select {
		case <-ctx.Done():
		case <-s.kick:
			tries = 0
			s.set(Pending, "")
		}
	}
}

// pause waits for the next try, or until someone asks for it.
func (s *server) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	case <-s.kick:
	}
	return true
}

var errRestart = errors.New("the connection is made anew")

// serve makes one connection and keeps it until it ends.
func (s *server) serve(ctx context.Context) (connected bool, err error) {
	slots := s.m.remote
	if s.cfg.Type == config.Stdio {
		slots = s.m.stdio
	}
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	l, got, err := s.connect(ctx)
	<-slots
	if err != nil {
		return false, err
	}
	defer l.close()
	s.mu.Lock()
	s.link, s.lists, s.lastRefresh, s.challenge, s.signIns = l, got, time.Now(), nil, 0
	s.mu.Unlock()
	s.set(Connected, "")
	for {
		select {
		case <-ctx.Done():
			s.unlink()
			return true, ctx.Err()
		case <-s.kick:
			s.unlink()
			s.set(Pending, "")
			return true, errRestart
		case <-l.done:
			s.unlink()
			s.set(Pending, "the connection was lost")
			var refused *AuthError
			if errors.As(l.err, &refused) {
				return true, refused
			}
			return true, fmt.Errorf("the connection was lost: %s", l.how())
		case <-s.refresh:
			if !sleep(ctx, refreshDelay) {
				continue
			}
			select {
			case <-s.refresh:
			default:
			}
			s.reload(ctx, l)
		}
	}
}

func (s *server) unlink() {
	s.mu.Lock()
	s.link = nil
	s.mu.Unlock()
}

// reload reads the lists again; where that fails the old ones stay.
func (s *server) reload(ctx context.Context, l *link) {
	ctx, cancel := context.WithTimeout(ctx, s.times.Connect)
	defer cancel()
	got, err := s.readLists(ctx, l)
	if err != nil {
		s.log.line("[sevengate] the lists could not be read again: " + err.Error())
		return
	}
	s.mu.Lock()
	same := sameLists(s.lists, got)
	if !same {
		s.lists = got
	}
	s.lastRefresh = time.Now()
	s.mu.Unlock()
	if !same {
		s.m.changed()
	}
}

// stale asks for the lists to be read again.
func (s *server) stale() {
	select {
	case s.refresh <- struct{}{}:
	default:
	}
}

// afterCall asks for it where a server may have changed its lists by a call.
func (s *server) afterCall() {
	s.mu.Lock()
	info := s.lists.info
	due := info != nil && info.Capabilities != nil && info.Capabilities.Tools != nil && info.Capabilities.Tools.ListChanged &&
		time.Since(s.lastRefresh) > refreshAfterCall
	s.mu.Unlock()
	if due {
		s.stale()
	}
}

// refused takes a refusal for want of authentication.
func (s *server) refused(e *AuthError) {
	s.mu.Lock()
	s.challenge = &challenge{e.Status, e.Header}
	s.mu.Unlock()
	want := demandOf(e.Header)
	switch {
	case e.Static:
		s.set(Failed, fmt.Sprintf("the server refused the configured Authorization header (status %d); correct it in the configuration", e.Status))
	case e.Cause != nil:
		s.set(Failed, fmt.Sprintf("the server asks for authentication (status %d), and no token could be got: %v", e.Status, e.Cause))
	case want.more && len(want.scopes) > 0:
		s.set(NeedsAuth, fmt.Sprintf("the server asks for more rights (%s); run: sevengate mcp login %s", oneLine(strings.Join(want.scopes, " ")), s.cfg.Name))
	default:
		s.set(NeedsAuth, fmt.Sprintf("the server asks for authentication (status %d); run: sevengate mcp login %s", e.Status, s.cfg.Name))
	}
}

// restart asks for a new connection.
func (s *server) restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.verdict != config.Start {
		return fmt.Errorf("MCP server %s is not started: %s", s.cfg.Name, s.reason)
	}
	select {
	case s.kick <- struct{}{}:
	default:
	}
	s.link = nil // what is called from now on waits for the new one
	s.state, s.reason = Pending, ""
	return nil
}

func (s *server) connecting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == Pending
}

// ready gives the connection, waiting for one that is being made. A server that
// will not come is an error at once.
func (s *server) ready(ctx context.Context) (*link, error) {
	wait, cancel := context.WithTimeout(ctx, max(readyWait, s.times.Connect))
	defer cancel()
	for {
		change := s.m.nextChange()
		s.mu.Lock()
		l, state, reason, started := s.link, s.state, s.reason, s.running
		s.mu.Unlock()
		if l != nil {
			return l, nil
		}
		if state != Pending || !started {
			return nil, &UnavailableError{s.cfg.Name, state, reason}
		}
		select {
		case <-change:
		case <-wait.Done():
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return nil, &UnavailableError{s.cfg.Name, state, "it is still being connected to; " + reason}
		}
	}
}

// UnavailableError says that a server cannot be used, and what would help.
type UnavailableError struct {
	Server string
	State  State
	Reason string
}

func (e *UnavailableError) Error() string {
	switch e.State {
	case NeedsAuth:
		return fmt.Sprintf("MCP server %s needs authentication: ask the user to run \"sevengate mcp login %s\"; the call was not made", e.Server, e.Server)
	case PendingApproval:
		return fmt.Sprintf("MCP server %s is waiting for the user's approval; the call was not made", e.Server)
	}
	if e.Reason == "" {
		return fmt.Sprintf("MCP server %s is not connected (%s); the call was not made", e.Server, e.State)
	}
	return fmt.Sprintf("MCP server %s is not connected (%s): %s; the call was not made", e.Server, e.State, e.Reason)
}

func (s *server) status() (st Status, show bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st = Status{Name: s.cfg.Name, Scope: s.cfg.Scope, Type: s.cfg.Type, Endpoint: s.cfg.Endpoint(), State: s.state, Reason: s.reason,
		Prompts: len(s.lists.prompts), Instructions: s.lists.instructions, Timeouts: s.times}
	for _, t := range s.lists.tools {
		st.Tools = append(st.Tools, t.Name())
	}
	if i := s.lists.info; i != nil {
		st.Protocol = i.ProtocolVersion
		st.Resources = i.Capabilities != nil && i.Capabilities.Resources != nil
		if i.ServerInfo != nil {
			st.ServerName, st.ServerVersion = form.Description(i.ServerInfo.Name, 100), form.Description(i.ServerInfo.Version, 50)
		}
	}
	return st, s.verdict != config.Blocked
}

func (s *server) currentTools() []tool.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lists.tools)
}

func (s *server) problems() []Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lists.problems)
}

func (s *server) apiSchema(name string) (json.RawMessage, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.lists.defs[name]
	return d.api, ok
}
