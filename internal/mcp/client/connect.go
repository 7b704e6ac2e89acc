package client

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and still what servers speak

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/internal/mcp/config"
)

// Protocol revisions.
const (
	// protocolHandshake is the latest that begins with a handshake, which every
	// server knows.
	protocolHandshake = "2025-11-25"
	// protocolLatest is asked for where a server can be probed without harm.
	protocolLatest = ""
)

// closeWait bounds how long the polite end of a connection may take.
const closeWait = 3 * time.Second

// stuckTime is how long after the end of a connection a call of it may still
// be trying to be sent.
const stuckTime = time.Second

// permanentError is a failure that trying again does not mend.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

func permanent(err error) bool {
	var p permanentError
	return errors.As(err, &p)
}

// connect makes a connection and reads what the server offers.
func (s *server) connect(ctx context.Context) (*link, lists, error) {
	var l *link
	var err error
	switch s.cfg.Type {
	case config.Stdio:
		l, err = s.connectProcess(ctx)
	default:
		l, err = s.connectRemote(ctx)
	}
	if err != nil {
		return nil, lists{}, err
	}
	limited, cancel := context.WithTimeout(ctx, s.times.Connect)
	defer cancel()
	got, err := s.readLists(limited, l)
	if err != nil {
		l.close()
		return nil, lists{}, fmt.Errorf("what the server offers cannot be read: %w", err)
	}
	return l, got, nil
}

func (s *server) connectProcess(ctx context.Context) (*link, error) {
	versions := []string{protocolHandshake, protocolLatest}
	for i, version := range versions {
		p, err := startProcess(&s.cfg, s.m.processEnv(&s.cfg), s.log)
		if err != nil {
			return nil, permanentError{err}
		}
		l, err := s.open(ctx, p, version, p.close, p.how)
		if err == nil {
			return l, nil
		}
		var rpc *jsonrpc.Error
		if i == 0 && errors.As(err, &rpc) && (rpc.Code == jsonrpc.CodeMethodNotFound || rpc.Code == sdk.CodeUnsupportedProtocolVersion) {
			continue // it knows the newer beginning only
		}
		var late *connectTimeError
		if errors.As(err, &late) {
			return nil, err
		}
		select {
		case <-p.exited:
			return nil, fmt.Errorf("%s before it was connected; see: sevengate mcp logs %s", p.how(), s.cfg.Name)
		default:
		}
		return nil, err
	}
	return nil, errors.New("the server does not know the protocol")
}

func (s *server) connectRemote(ctx context.Context) (*link, error) {
	hc := s.newHTTP()
	version := protocolLatest
	if s.m.vars.text("MCP_PROTOCOL_NEGOTIATION") == "legacy" {
		version = protocolHandshake
	}
	if err := hc.prepare(ctx); err != nil {
		hc.close()
		return nil, err
	}
	client := &http.Client{Transport: hc, CheckRedirect: hc.redirect}
	how := func() string { return "the server ended it" }
	var l *link
	var err error
	if s.cfg.Type == config.WebSocket {
		if l, err = s.open(ctx, &socketTransport{hc, s.cfg.URL, s.log}, protocolHandshake, hc.close, how); err != nil {
			hc.close()
		}
		return l, err
	}
	if s.cfg.Type == config.HTTP {
		l, err = s.open(ctx, &sdk.StreamableClientTransport{Endpoint: s.cfg.URL, HTTPClient: client, MaxRetries: 2, MaxEventSize: MaxMessageBytes},
			version, hc.close, how)
	}
	// A server of the older transport refuses the newer one's first request.
	if status := int(hc.status.Load()); s.cfg.Type == config.SSE || err != nil && status >= 400 && status < 500 && status != 401 && status != 403 && status != 429 {
		old, errOld := s.open(ctx, &sdk.SSEClientTransport{Endpoint: s.cfg.URL, HTTPClient: client, MaxEventSize: MaxMessageBytes},
			protocolHandshake, hc.close, how)
		if errOld == nil || s.cfg.Type == config.SSE {
			l, err = old, errOld
		} else if status == http.StatusNotFound {
			err = permanentError{fmt.Errorf("there is no MCP server at this address (status %d)", status)}
		}
	}
	if err != nil {
		hc.close()
		return nil, err
	}
	return l, nil
}

// errLinkClosed is why a call ends when we close its connection.
var errLinkClosed = errors.New("the connection is being closed")

// connectTimeError says that a connection was not made in time.
type connectTimeError struct{ limit time.Duration }

func (e *connectTimeError) Error() string {
	return fmt.Sprintf("no connection within %s (MCP_TIMEOUT)", e.limit)
}

var errConnectTime = errors.New("timeout")

// open runs the handshake over a transport. end releases what lies beneath the
// connection; it is called when the link is closed, also after an error.
func (s *server) open(ctx context.Context, t sdk.Transport, version string, end func(), how func() string) (*link, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "sevengate", Version: s.m.cfg.Version}, s.clientOptions())
	roots := s.roots()
	client.AddRoots(roots...)
	// The context of an SSE connection lasts as long as the connection, so the
	// time is bounded beside it.
	life, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(s.times.Connect, func() { cancel(errConnectTime); end() })
	session, err := client.Connect(life, t, &sdk.ClientSessionOptions{ProtocolVersion: version})
	inTime := timer.Stop()
	if err == nil && !inTime {
		_ = session.Close()
		err = errConnectTime
	}
	if err != nil {
		late := errors.Is(context.Cause(life), errConnectTime)
		cancel(nil)
		if s.cfg.Type == config.Stdio {
			end()
		}
		if late && ctx.Err() == nil {
			return nil, &connectTimeError{s.times.Connect}
		}
		return nil, connectError(err)
	}
	l := &link{session: session, client: client, done: make(chan struct{}), how: how, roots: roots}
	l.calls, l.endCalls = context.WithCancelCause(context.WithoutCancel(ctx))
	s.m.wg.Go(func() {
		l.err = session.Wait()
		close(l.done)
	})
	l.close = func() {
		select {
		case <-l.done:
			// The calls fail by themselves, each with its reason; only those that
			// are stuck are ended.
			time.AfterFunc(stuckTime, func() { l.endCalls(errLinkClosed) })
		default:
			l.endCalls(errLinkClosed)
		}
		// The polite way waits for the server; what lies beneath does not.
		closed := make(chan struct{})
		s.m.wg.Go(func() {
			defer close(closed)
			_ = session.Close()
		})
		select {
		case <-closed:
		case <-time.After(closeWait):
		}
		cancel(nil)
		end()
		<-closed
		<-l.done
	}
	return l, nil
}

// connectError words an error of the first exchange.
func connectError(err error) error {
	var refused *AuthError
	if errors.As(err, &refused) {
		return refused
	}
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		return &rpcError{code: rpc.Code, text: fmt.Sprintf("the server refused to be connected: %s", oneLine(rpc.Message)), err: rpc}
	}
	return fmt.Errorf("the server cannot be connected to: %s", withoutAddress(err))
}

type rpcError struct {
	code int64
	text string
	err  error
}

func (e *rpcError) Error() string { return e.text }
func (e *rpcError) Unwrap() error { return e.err }

// clientOptions says what we offer a server.
func (s *server) clientOptions() *sdk.ClientOptions {
	stale := func() { s.stale() }
	o := &sdk.ClientOptions{
		Logger:                      s.m.cfg.Log,
		Capabilities:                &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{ListChanged: true}},
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { stale() },
		PromptListChangedHandler:    func(context.Context, *sdk.PromptListChangedRequest) { stale() },
		LoggingMessageHandler:       s.logged,
		ProgressNotificationHandler: s.progressed,
	}
	if s.m.cfg.Elicitor != nil {
		o.ElicitationHandler = s.elicit
		o.Capabilities.Elicitation = &sdk.ElicitationCapabilities{}
		if !s.cfg.BareElicitation {
			o.Capabilities.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}
		}
	}
	if s.m.cfg.Sampler != nil {
		o.CreateMessageHandler = s.sample
	}
	return o
}

func (s *server) logged(_ context.Context, req *sdk.LoggingMessageRequest) {
	p := req.Params
	if p == nil {
		return
	}
	s.log.line(fmt.Sprintf("[%s] %s", p.Level, oneLine(fmt.Sprint(p.Data))))
}

// roots are the directories of the session, as servers are told.
func (s *server) roots() []*sdk.Root {
	dirs := []string{s.m.cfg.Dir}
	if s.m.cfg.Roots != nil {
		dirs = s.m.cfg.Roots()
	}
	var out []*sdk.Root
	for _, d := range dirs {
		if d != "" {
			out = append(out, &sdk.Root{URI: fileURI(d), Name: filepath.Base(d)})
		}
	}
	return out
}

// RootsChanged tells the connected servers what the directories of the session
// are now.
func (m *Manager) RootsChanged() {
	for _, name := range m.names {
		s := m.servers[name]
		s.mu.Lock()
		l := s.link
		s.mu.Unlock()
		if l == nil {
			continue
		}
		now := s.roots()
		var gone []string
		l.mu.Lock()
		for _, r := range l.roots {
			if !slices.ContainsFunc(now, func(n *sdk.Root) bool { return n.URI == r.URI }) {
				gone = append(gone, r.URI)
			}
		}
		l.roots = now
		l.mu.Unlock()
		l.client.RemoveRoots(gone...)
		l.client.AddRoots(now...)
	}
}

// printable drops what could steer a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// oneLine makes text of a server fit into a message.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(printable(s)), " ")
	if r := []rune(s); len(r) > 500 {
		return string(r[:499]) + "…"
	}
	return s
}
