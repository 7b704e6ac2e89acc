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
	// MinToken is the least length of a token, in bytes.
	MinToken = 16
)

// NewToken makes a token that cannot be guessed.
func NewToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Handler serves clients over streamable HTTP. Every request must carry the
// token as a bearer token.
func (s *Server) Handler(token string) (http.Handler, error) {
	if len(token) < MinToken {
		return nil, fmt.Errorf("the token must have at least %d bytes", MinToken)
	}
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
		Logger: s.cfg.Log, SessionTimeout: sessionIdle, MaxRequestBodyBytes: MaxRequestBytes,
	})
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(given)))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}), nil
}

// ListenHTTP serves over HTTP on an address of this machine, such as
// 127.0.0.1:0, until ctx is done; ready is told the address of the endpoint.
// Addresses that others can reach are refused.
func (s *Server) ListenHTTP(ctx context.Context, address, token string, ready func(url string)) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address %q: it must be host:port, such as 127.0.0.1:0", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
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
		for session := range s.sdk.Sessions() {
			_ = session.Close()
		}
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
