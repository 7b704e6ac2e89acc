package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sevengate/sevengate/internal/mcp/config"
)

// AuthError says that a server refused for want of authentication.
type AuthError struct {
	Status int
	Header http.Header // the challenges
	// Static: the configuration has an Authorization header, which was refused.
	Static bool
	// Cause is why no other token could be got where the configuration says how
	// to get one without a person; else nil.
	Cause error
}

func (e *AuthError) Error() string {
	return fmt.Sprintf("the server asks for authentication (status %d)", e.Status)
}

// httpClient is the way to one remote server: it adds the configured headers
// and the token, tries once more with fresh ones when it is refused, and bounds
// answers.
type httpClient struct {
	s      *server
	host   string
	base   *http.Transport
	status atomic.Int32 // of the last answer to a POST

	mu     sync.Mutex
	helped map[string]string // what the headers helper said
}

func (s *server) newHTTP() *httpClient {
	h := &httpClient{s: s, base: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: 15 * time.Second,
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     60 * time.Second,
		ForceAttemptHTTP2:   true,
	}}
	if u, err := url.Parse(s.cfg.URL); err == nil {
		h.host = u.Host
	}
	return h
}

func (h *httpClient) close() { h.base.CloseIdleConnections() }

// redirect keeps headers and calls from going elsewhere.
func (h *httpClient) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > 5 || req.URL.Host != h.host {
		return http.ErrUseLastResponse
	}
	return nil
}

// prepare runs the headers helper before the first request.
func (h *httpClient) prepare(ctx context.Context) error {
	if h.s.cfg.HeadersHelper == "" || !h.s.helps() { // then only the written headers go
		return nil
	}
	headers, err := h.s.runHelper(ctx)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.helped = headers
	h.mu.Unlock()
	return nil
}

// RoundTrip implements [http.RoundTripper].
func (h *httpClient) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, sent, err := h.send(req)
	if err != nil {
		return nil, err
	}
	var cause error
	if refusal(resp) && req.URL.Host == h.host {
		if h.s.cfg.HeadersHelper != "" && h.s.helps() {
			cause = h.prepare(req.Context())
		} else if cause = errors.New("it is refused"); !h.static() && h.s.cfg.Type != config.WebSocket {
			cause = h.reauthorize(req.Context(), resp, sent)
		}
		if again, ok := rewind(req); cause == nil && ok {
			discard(resp)
			if resp, _, err = h.send(again); err != nil {
				return nil, err
			}
		}
	}
	if req.Method == http.MethodPost {
		h.status.Store(int32(resp.StatusCode))
		if refusal(resp) {
			discard(resp)
			refused := &AuthError{Status: resp.StatusCode, Header: http.Header{"Www-Authenticate": resp.Header["Www-Authenticate"]}, Static: h.static()}
			if h.s.machine() && !refused.Static {
				refused.Cause = cmp.Or(cause, errors.New("the token that it was given is refused"))
			}
			return nil, refused
		}
		return bounded(req, resp)
	}
	return resp, nil
}

func refusal(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
}

// discard reads a little of what is left, so that the connection can be used
// again, and closes it.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
}

// rewind makes a request that can be sent a second time.
func rewind(req *http.Request) (*http.Request, bool) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	again := req.Clone(req.Context())
	again.Body = body
	return again, true
}

// send makes one request; token is the one that went with it.
func (h *httpClient) send(req *http.Request) (resp *http.Response, token string, err error) {
	r := req.Clone(req.Context())
	if r.URL.Host == h.host {
		for name, value := range h.s.cfg.Headers {
			r.Header.Set(name, value)
		}
		h.mu.Lock()
		for name, value := range h.helped {
			r.Header.Set(name, value)
		}
		h.mu.Unlock()
		if r.Header.Get("Authorization") == "" {
			if token = h.s.m.tokens.access(r.Context(), h.s.cfg.Name, h.s.cfg.URL, h.plain()); token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
		}
	}
	resp, err = h.base.RoundTrip(r)
	return resp, token, err
}

// static tells whether the configuration itself says how to authenticate.
func (h *httpClient) static() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, headers := range []map[string]string{h.s.cfg.Headers, h.helped} {
		for name := range headers {
			if strings.EqualFold(name, "Authorization") {
				return true
			}
		}
	}
	return false
}

// plain is a client without any of the server's headers, for its authorization
// server.
func (h *httpClient) plain() *http.Client {
	return &http.Client{Transport: h.base, Timeout: authTimeout, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) > 5 || req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
			return http.ErrUseLastResponse // what is sent there is for nobody else
		}
		return nil
	}}
}

// bounded replaces an answer that is too large by an error of its call.
func bounded(req *http.Request, resp *http.Response) (*http.Response, error) {
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media != "application/json" {
		return resp, nil
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, MaxMessageBytes+1))
	_ = resp.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("the server's answer broke off: %w", err)
	}
	if len(data) > MaxMessageBytes {
		data = nil
		if again, ok := rewind(req); ok && again.Body != nil {
			sent, _ := io.ReadAll(again.Body)
			var m struct {
				ID json.RawMessage `json:"id"`
			}
			if json.Unmarshal(sent, &m) == nil && len(m.ID) > 0 {
				data = tooLarge(m.ID)
			}
		}
		if data == nil {
			return nil, fmt.Errorf("the server's answer has more than %d bytes", MaxMessageBytes)
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	resp.ContentLength = int64(len(data))
	return resp, nil
}

// withoutAddress drops the address from an error: it may hold a token.
func withoutAddress(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return oneLine(u.Err.Error())
	}
	return oneLine(err.Error())
}

func fileURI(path string) string {
	path = strings.ReplaceAll(path, `\`, "/")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
