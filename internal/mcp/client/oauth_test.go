package client

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sevengate/sevengate/internal/mcp/config"
)

// provider is an authorization server and the MCP server that trusts it.
type provider struct {
	t   *testing.T
	url string
	mcp http.Handler

	mu        sync.Mutex
	clients   int
	challenge string          // PKCE, of the last authorization
	valid     map[string]bool // access tokens
	refresh   string          // the one refresh token that is good
	refreshes int
	n         int
	expires   int
	refuse    bool
	shy       bool // nothing is found by discovery
}

func newProvider(t *testing.T) *provider {
	p := &provider{t: t, mcp: streamable(t), valid: map[string]bool{}, expires: 3600}
	srv := httptest.NewServer(p)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	p.url = srv.URL
	return p
}

func (p *provider) json(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shy && strings.Contains(r.URL.Path, "/.well-known/") {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if r.URL.Path == "/about" {
		r.URL.Path = "/.well-known/oauth-authorization-server"
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp":
		p.json(w, map[string]any{"resource": p.url + "/mcp", "authorization_servers": []string{p.url}, "scopes_supported": []string{"read"}})
	case "/.well-known/oauth-authorization-server":
		p.json(w, map[string]any{"issuer": p.url, "authorization_endpoint": p.url + "/authorize", "token_endpoint": p.url + "/token", "registration_endpoint": p.url + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "scopes_supported": []string{"read", "offline_access"}})
	case "/register":
		p.clients++
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		in["client_id"] = fmt.Sprint("client-", p.clients)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(in)
	case "/authorize":
		q := r.URL.Query()
		if q.Get("resource") != p.url+"/mcp" || !strings.Contains(q.Get("scope"), "offline_access") {
			p.t.Errorf("authorize: %v", q)
		}
		p.challenge = q.Get("code_challenge")
		back, _ := url.Parse(q.Get("redirect_uri"))
		answer := url.Values{"state": {q.Get("state")}, "code": {"the-code"}}
		if p.refuse {
			answer = url.Values{"state": {q.Get("state")}, "error": {"access_denied"}}
		}
		back.RawQuery = answer.Encode()
		http.Redirect(w, r, back.String(), http.StatusFound)
	case "/token":
		_ = r.ParseForm()
		switch r.Form.Get("grant_type") {
		case "authorization_code":
			sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
			if r.Form.Get("code") != "the-code" || base64.RawURLEncoding.EncodeToString(sum[:]) != p.challenge {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
		case "refresh_token":
			p.refreshes++
			if r.Form.Get("refresh_token") != p.refresh || r.Form.Get("resource") != p.url+"/mcp" || r.Form.Get("client_id") == "" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
		}
		p.n++
		token := fmt.Sprint("access-", p.n)
		p.valid[token], p.refresh = true, fmt.Sprint("refresh-", p.n) // the old one is used up
		p.json(w, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": p.expires, "refresh_token": p.refresh})
	case "/mcp":
		if !p.valid[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")] {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+p.url+`/.well-known/oauth-protected-resource"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		p.mu.Unlock()
		p.mcp.ServeHTTP(w, r)
		p.mu.Lock()
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// browser follows the way that a person's browser would.
func browser(t *testing.T) func(string) error {
	return func(address string) error {
		tr := &http.Transport{DisableKeepAlives: true}
		go func() {
			resp, err := (&http.Client{Transport: tr, Timeout: hang}).Get(address)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		}()
		return nil
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	state := t.TempDir()
	s := remote("web", p.url+"/mcp")
	keep := func(c *Config) { c.StateDir = state }
	m := start(t, keep, s)
	up(t, m)
	if st, _ := state2(m); st != NeedsAuth {
		t.Fatal(m.Status())
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	if err := m.Authenticate(ctx, "web", browser(t)); err != nil {
		t.Fatal(err)
	}
	up(t, m)
	if _, _, err := run(t, m, "mcp__web__echo", `{"text":"a"}`); err != nil {
		t.Fatal(err, m.Status())
	}
	files, err := filepath.Glob(filepath.Join(state, "auth", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	m.Close()

	// Another session uses the same sign-in, and renews it when it is refused.
	m = start(t, keep, s)
	up(t, m)
	if st, why := state2(m); st != Connected {
		t.Fatal(st, why)
	}
	p.mu.Lock()
	clear(p.valid)
	p.mu.Unlock()
	if _, _, err := run(t, m, "mcp__web__echo", `{"text":"a"}`); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	if p.refreshes != 1 || p.clients != 1 {
		t.Errorf("%d renewals, %d registrations", p.refreshes, p.clients)
	}
	clear(p.valid)
	p.refresh = "none any more"
	p.mu.Unlock()
	_, _, err = run(t, m, "mcp__web__echo", `{"text":"a"}`)
	var gone *UnavailableError
	if !errors.As(err, &gone) || gone.State != NeedsAuth {
		t.Error(err)
	}
	if err := m.SignOut("web"); err != nil {
		t.Error(err)
	}
	if files, _ := filepath.Glob(filepath.Join(state, "auth", "*.json")); len(files) != 0 {
		t.Error("the sign-in was not forgotten")
	}
	m.Close()
}

func state2(m *Manager) (State, string) { return state(m, "web") }

func TestTokenIsForOneAddress(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	stateDir := t.TempDir()
	keep := func(c *Config) { c.StateDir = stateDir }
	m := start(t, keep, remote("web", p.url+"/mcp"))
	up(t, m)
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	if err := m.Authenticate(ctx, "web", browser(t)); err != nil {
		t.Fatal(err)
	}
	m.Close()
	got := make(chan string, 10)
	other := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	m = start(t, keep, remote("web", other))
	up(t, m)
	if a := <-got; a != "" {
		t.Errorf("the token of one address went to another: %q", a)
	}
	m.Close()
}

func TestTokenIsRenewedInTime(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.expires = 1
	m := start(t, nil, remote("web", p.url+"/mcp"))
	up(t, m)
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	if err := m.Authenticate(ctx, "web", browser(t)); err != nil {
		t.Fatal(err)
	}
	up(t, m)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refreshes == 0 {
		t.Error("a token that is about to end was not renewed")
	}
}

func TestSignInThatFails(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.refuse = true
	open := serve(t, streamable(t))
	local := stdio(t, "local", "good")
	static := remote("static", p.url+"/mcp")
	static.Headers = map[string]string{"Authorization": "Bearer x"}
	m := start(t, nil, remote("web", p.url+"/mcp"), remote("open", open), local, static, config.Server{Name: "bad", Type: config.HTTP, Invalid: "why"})
	up(t, m)
	for name, want := range map[string]string{"web": "access_denied", "open": "asks for no sign-in", "local": "local process", "static": "Authorization header", "bad": "not started", "nobody": "no MCP server"} {
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		if err := m.Authenticate(ctx, name, browser(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
	// Nobody comes, and somebody else's answer does not count.
	p.mu.Lock()
	p.refuse = false
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	forge := make(chan int, 1)
	err := m.Authenticate(ctx, "web", func(address string) error {
		u, _ := url.Parse(address)
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(u.Query().Get("redirect_uri") + "?code=evil&state=guess")
		if err != nil {
			return err
		}
		resp.Body.Close()
		forge <- resp.StatusCode
		return nil
	})
	if !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(fmt.Sprint(err), "deadline") {
		t.Error(err)
	}
	if code := <-forge; code != http.StatusNotFound {
		t.Error(code)
	}
	m.Close()
}

// Two sessions share a sign-in whose refresh token can be used once: the second
// takes what the first has got.
func TestTwoSessionsOneSignIn(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	stateDir := t.TempDir()
	keep := func(c *Config) { c.StateDir = stateDir }
	first := start(t, keep, remote("web", p.url+"/mcp"))
	up(t, first)
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	if err := first.Authenticate(ctx, "web", browser(t)); err != nil {
		t.Fatal(err)
	}
	up(t, first)
	second := start(t, keep, remote("web", p.url+"/mcp"))
	up(t, second)
	p.mu.Lock()
	clear(p.valid)
	p.mu.Unlock()
	for _, m := range []*Manager{first, second} {
		if _, _, err := run(t, m, "mcp__web__echo", `{"text":"a"}`); err != nil {
			t.Error(err)
		}
	}
	p.mu.Lock()
	if p.refreshes != 1 {
		t.Errorf("%d renewals", p.refreshes)
	}
	p.mu.Unlock()
	first.Close()
	second.Close()
}

func TestNamedMetadata(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.shy = true
	right, wrong := remote("web", p.url+"/mcp"), remote("wrong", p.url+"/mcp")
	right.OAuth.AuthServerMetadataURL, wrong.OAuth.AuthServerMetadataURL = p.url+"/about", p.url+"/nothing"
	m := start(t, nil, right, wrong)
	up(t, m)
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	if err := m.Authenticate(ctx, "wrong", browser(t)); err == nil || !strings.Contains(err.Error(), "authServerMetadataUrl") {
		t.Error(err)
	}
	if err := m.Authenticate(ctx, "web", browser(t)); err != nil {
		t.Fatal(err)
	}
	up(t, m)
	if st, why := state2(m); st != Connected {
		t.Error(st, why)
	}
	m.Close()
}
