package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// callback waits on a port of this machine for the answer that the browser
// brings.
type callback struct {
	address string
	servers []*http.Server
	done    sync.WaitGroup
	answers chan url.Values

	mu    sync.Mutex
	state string // of the sign-in that is waited for
}

func (m *Manager) listenBack(port int) (*callback, error) {
	if port == 0 {
		port = m.vars.number("MCP_OAUTH_CALLBACK_PORT", 1, 0)
	}
	first, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listening for the answer of the browser: %w", err)
	}
	port = first.Addr().(*net.TCPAddr).Port
	c := &callback{address: fmt.Sprintf("http://localhost:%d/callback", port), answers: make(chan url.Values, 1)}
	listeners := []net.Listener{first}
	// localhost may mean the other kind of address first.
	if second, err := net.Listen("tcp", net.JoinHostPort("::1", strconv.Itoa(port))); err == nil {
		listeners = append(listeners, second)
	}
	for _, l := range listeners {
		srv := &http.Server{Handler: http.HandlerFunc(c.serve), ReadHeaderTimeout: 5 * time.Second}
		c.servers = append(c.servers, srv)
		c.done.Go(func() { _ = srv.Serve(l) })
	}
	return c, nil
}

func (c *callback) close() {
	for _, s := range c.servers {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) // lets the last page be read
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
		cancel()
	}
	c.done.Wait()
}

// expect notes which sign-in is waited for: other answers are not ours.
func (c *callback) expect(state string) {
	c.mu.Lock()
	c.state = state
	c.mu.Unlock()
}

func (c *callback) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	q := r.URL.Query()
	c.mu.Lock()
	state := c.state
	c.mu.Unlock()
	if r.Method != http.MethodGet || r.URL.Path != "/callback" || state == "" || q.Get("state") != state {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "This is not the sign-in that is waited for.\n")
		return
	}
	select {
	case c.answers <- q:
	default: // it was brought already
	}
	if q.Get("error") != "" {
		_, _ = io.WriteString(w, "The sign-in was refused. You can close this page.\n")
		return
	}
	_, _ = io.WriteString(w, "You are signed in. You can close this page.\n")
}

func (c *callback) wait(ctx context.Context) (url.Values, error) {
	select {
	case q := <-c.answers:
		if e := q.Get("error"); e != "" {
			return nil, fmt.Errorf("it was refused: %s", oneLine(strings.TrimSpace(e+" "+q.Get("error_description"))))
		}
		if q.Get("code") == "" {
			return nil, errors.New("the answer has no code")
		}
		return q, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
