package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Times of serving over HTTP.
const (
	// sessionIdle ends the session of a client that is not heard of.
	sessionIdle = time.Hour
	// shutdownWait is how long open requests may take at the end.
	shutdownWait = 2 * time.Second
	// maxReplayBytes is how much of what was sent is kept in all, for clients
	// that lost a connection and ask for the rest.
	maxReplayBytes = 64 << 20
	// MinToken is the least length of a token, in bytes.
	MinToken = 16
)

// NewToken makes a token that cannot be guessed.
func NewToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Handler serves clients over streamable HTTP. Every request must come to an
// address of this machine and carry the token as a bearer token. Responses that
// are streams can be taken up again after their connection was lost.
func (s *Server) Handler(token string) (http.Handler, error) {
	if len(token) < MinToken {
		return nil, fmt.Errorf("the token must have at least %d bytes", MinToken)
	}
	events := sdk.NewMemoryEventStore(nil)
	events.SetMaxBytes(maxReplayBytes)
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
		Logger: s.cfg.Log, SessionTimeout: sessionIdle, MaxRequestBodyBytes: MaxRequestBytes, EventStore: events,
	})
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A page on the web can make a browser call us, under a name of its own that
		// leads here, so both headers must name this machine.
		if !local(r.Host) {
			http.Error(w, "the Host header must name this machine", http.StatusForbidden)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			if u, err := url.Parse(origin); err != nil || !local(u.Host) {
				http.Error(w, "the Origin header must name this machine", http.StatusForbidden)
				return
			}
		}
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(given)))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
			return
		}
		s.agree(r)
		inner.ServeHTTP(w, r)
	}), nil
}

// local tells whether a host, with or without a port, is this machine.
func local(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// replayable is the revision of the protocol from which on a stream begins with
// an event to come back to.
const replayable = "2025-11-25"

// agree makes what a session agreed on hold for a request that names an older
// revision of the protocol: how its stream may be taken up depends on it.
func (s *Server) agree(r *http.Request) {
	const header = "Mcp-Protocol-Version"
	id := r.Header.Get("Mcp-Session-Id")
	if v := r.Header.Get(header); id == "" || v == "" || v >= replayable {
		return
	}
	for session := range s.sdk.Sessions() {
		if session.ID() != id {
			continue
		}
		if p := session.InitializeParams(); p != nil && p.ProtocolVersion >= replayable {
			r.Header.Set(header, replayable)
		}
	}
}

// ListenHTTP serves over HTTP on an address of this machine, such as
// 127.0.0.1:0, until ctx is done; ready is told the address of the endpoint.
// Addresses that others can reach are refused.
func (s *Server) ListenHTTP(ctx context.Context, address, token string, ready func(url string)) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address %q: it must be host:port, such as 127.0.0.1:0", address)
	}
	if !local(host) {
		return fmt.Errorf("address %q: only addresses of this machine are served, such as 127.0.0.1:0", address)
	}
	h, err := s.Handler(token)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	if ready != nil {
		ready("http://" + l.Addr().String() + "/mcp")
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		s.Disconnect()
		wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownWait)
		defer cancel()
		if srv.Shutdown(wait) != nil {
			_ = srv.Close()
		}
		err = <-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return ctx.Err()
	}
	return fmt.Errorf("serving HTTP on %s: %w", address, err)
}

// Disconnect ends the sessions of all clients.
func (s *Server) Disconnect() {
	for session := range s.sdk.Sessions() {
		_ = session.Close()
		s.watches.wait(session)
	}
}
