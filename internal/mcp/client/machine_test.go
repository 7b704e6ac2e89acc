package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sevengate/sevengate/internal/mcp/config"
	"github.com/sevengate/sevengate/tool"
)

// guarded is an MCP server, its authorization server and an identity provider,
// all at one address. Each token carries scopes; each method needs some.
type guarded struct {
	t   *testing.T
	url string
	mcp http.Handler

	mu     sync.Mutex
	tokens map[string]string            // to their scopes
	need   func(call string) (s string) // the scope that a call needs
	forms  []url.Values                 // of the token requests
	asked  []string                     // scopes of the authorizations
	moved  string                       // where the token endpoint sends on to
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{t: t, mcp: streamable(t), tokens: map[string]string{}, need: func(string) string { return "" }}
	srv := httptest.NewServer(g)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	g.url = srv.URL
	return g
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	say := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch r.URL.Path {
	case resourcePlace + "/mcp":
		say(map[string]any{"resource": g.url + "/mcp", "authorization_servers": []string{g.url}, "scopes_supported": []string{"basic"}})
	case oauthPlace:
		say(map[string]any{"issuer": g.url, "authorization_endpoint": g.url + "/authorize", "token_endpoint": g.url + "/token", "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{methodBasic}})
	case "/authorize":
		q := r.URL.Query()
		g.asked = append(g.asked, q.Get("scope"))
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=c&state="+q.Get("state"), http.StatusFound)
	case "/token":
		if g.moved != "" {
			http.Redirect(w, r, g.moved, http.StatusTemporaryRedirect)
			return
		}
		_ = r.ParseForm()
		id, secret, ok := r.BasicAuth()
		if !ok || id != "me" && id != "me-at-idp" || secret != "s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			say(map[string]any{"error": "invalid_client", "error_description": "who are you?"})
			return
		}
		g.forms = append(g.forms, r.PostForm)
		token := fmt.Sprint("token-", len(g.forms))
		answer := map[string]any{"access_token": token, "token_type": "Bearer"}
		scope := r.Form.Get("scope")
		if r.Form.Get("grant_type") == "authorization_code" {
			scope = g.asked[len(g.asked)-1]
		}
		if r.Form.Get("grant_type") == grantExchange {
			answer["issued_token_type"] = typeIDGrant
		} else {
			g.tokens[token] = scope
		}
		if r.Form.Get("code") != "" && r.Form.Get("code_verifier") != "" {
			answer["id_token"] = "the person"
		}
		say(answer)
	case "/mcp":
		var m struct {
			Method string
			Params struct{ Name string }
		}
		body, _ := readAgain(r)
		_ = json.Unmarshal(body, &m)
		scopes, known := g.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		if need := g.need(m.Method + " " + m.Params.Name); !known {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.url+resourcePlace+`/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		} else if need != "" && !strings.Contains(" "+scopes+" ", " "+need+" ") {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+need+`", resource_metadata="`+g.url+resourcePlace+`/mcp"`)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		g.mu.Unlock()
		g.mcp.ServeHTTP(w, r)
		g.mu.Lock()
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// readAgain reads a body and leaves it to be read.
func readAgain(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

func (g *guarded) server(change func(*config.OAuth)) config.Server {
	s := remote("web", g.url+"/mcp")
	s.OAuth.ClientID = "me"
	if change != nil {
		change(&s.OAuth)
	}
	return s
}

func withSecret(c *Config) { c.Environ = append(c.Environ, "MCP_CLIENT_SECRET=s3cret") }

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.need = func(call string) string {
		if call == "tools/call echo" {
			return "more"
		}
		return ""
	}
	s := g.server(func(o *config.OAuth) { o.Grant = config.ClientCredentials })
	m := start(t, withSecret, s)
	up(t, m) // nobody signs in
	if st, why := state2(m); st != Connected {
		t.Fatal(st, why)
	}
	if _, _, err := run(t, m, "mcp__web__echo", `{"text":"a"}`); err != nil {
		t.Error("more rights are had in the same way:", err)
	}
	g.mu.Lock()
	clear(g.tokens)
	g.mu.Unlock()
	if _, _, err := run(t, m, "mcp__web__echo", `{"text":"a"}`); err != nil {
		t.Error("a token that is over is replaced:", err)
	}
	g.mu.Lock()
	var got []string
	for _, f := range g.forms {
		got = append(got, f.Get("grant_type")+" "+f.Get("scope")+" "+fmt.Sprint(f.Get("resource") == g.url+"/mcp"))
	}
	if fmt.Sprint(got) != "[client_credentials basic true client_credentials more basic true client_credentials basic more true]" {
		t.Error(got)
	}
	// It goes on being refused: that is tried once, not again and again.
	before := len(g.forms)
	g.need = func(string) string { clear(g.tokens); return "never" }
	clear(g.tokens)
	g.mu.Unlock()
	if _, _, err := run(t, m, "mcp__web__echo", `{"text":"a"}`); err == nil || !strings.Contains(err.Error(), "no token could be got") {
		t.Error(err)
	}
	g.mu.Lock()
	if n := len(g.forms) - before; n != 1 {
		t.Errorf("%d tries", n)
	}
	g.mu.Unlock()
	m.Close()
}

func TestClientCredentialsThatFail(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	none := g.server(func(o *config.OAuth) { o.Grant = config.ClientCredentials })
	m := start(t, nil, none)
	up(t, m)
	if st, why := state2(m); st != Failed || !strings.Contains(why, "MCP_CLIENT_SECRET") {
		t.Error(st, why)
	}
	m.Close()
	m = start(t, func(c *Config) { c.Environ = append(c.Environ, "MCP_CLIENT_SECRET=wrong") }, none)
	up(t, m)
	if st, why := state2(m); st != Failed || !strings.Contains(why, "invalid_client who are you?") || strings.Contains(why, "wrong") {
		t.Error(st, why)
	}
	if err := m.Authenticate(t.Context(), "web", nil); err == nil || !strings.Contains(err.Error(), "invalid_client") {
		t.Error(err)
	}
	m.Close()
	// The secret follows no redirect to another host.
	stolen := make(chan string, 10)
	thief := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := readAgain(r)
		stolen <- r.Header.Get("Authorization") + string(body)
	}))
	g.mu.Lock()
	g.moved = thief
	g.mu.Unlock()
	m = start(t, withSecret, none)
	up(t, m)
	if st, why := state2(m); st != Failed || !strings.Contains(why, "status 307") {
		t.Error(st, why)
	}
	m.Close()
	select {
	case got := <-stolen:
		t.Error("the thief got", got)
	default:
	}
}

func TestCrossApp(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no /bin/sh")
	}
	g := newGuarded(t)
	idp := func(helper string) config.Server {
		return g.server(func(o *config.OAuth) { o.IDP = config.IDP{Issuer: g.url, ClientID: "me-at-idp", TokenHelper: helper} })
	}
	secrets := func(c *Config) {
		withSecret(c)
		c.Environ = append(c.Environ, "MCP_IDP_CLIENT_SECRET=s3cret")
	}
	m := start(t, secrets, idp("echo the person"))
	up(t, m)
	if st, why := state2(m); st != Connected {
		t.Fatal(st, why)
	}
	m.Close()
	check := func(exchange, bearer url.Values) {
		t.Helper()
		if exchange.Get("subject_token") != "the person" || exchange.Get("audience") != g.url || exchange.Get("resource") != g.url+"/mcp" || exchange.Get("requested_token_type") != typeIDGrant {
			t.Error(exchange)
		}
		if bearer.Get("grant_type") != grantBearer || bearer.Get("assertion") == "" {
			t.Error(bearer)
		}
	}
	g.mu.Lock()
	check(g.forms[0], g.forms[1])
	g.forms = nil
	g.mu.Unlock()
	// Without a helper the person signs in at the identity provider.
	m = start(t, secrets, idp(""))
	up(t, m)
	if st, why := state2(m); st != NeedsAuth {
		t.Fatal(st, why)
	}
	if err := m.Authenticate(t.Context(), "web", browser(t)); err != nil {
		t.Fatal(err)
	}
	up(t, m)
	if st, why := state2(m); st != Connected {
		t.Error(st, why)
	}
	g.mu.Lock()
	if fmt.Sprint(g.asked) != "[openid]" || len(g.forms) != 3 {
		t.Error(g.asked, g.forms)
	} else {
		check(g.forms[1], g.forms[2])
	}
	g.mu.Unlock()
	m.Close()
	m = start(t, secrets, idp("exit 3"))
	up(t, m)
	if st, why := state2(m); st != Failed || !strings.Contains(why, "oauth.idp.tokenHelper failed") {
		t.Error(st, why)
	}
	m.Close()
}

// A call needs more than was granted: the person agrees to it, what was granted
// stays, and the calls that run go on.
func TestStepUp(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.need = func(call string) string {
		if call == "tools/call echo" {
			return "more"
		}
		return ""
	}
	stateDir := t.TempDir()
	s := g.server(nil)
	if err := KeepClientSecret(stateDir, "web", s.URL, "s3cret"); err != nil {
		t.Fatal(err)
	}
	m := start(t, func(c *Config) { c.StateDir = stateDir }, s)
	up(t, m)
	if err := m.Authenticate(t.Context(), "web", browser(t)); err != nil {
		t.Fatal(err)
	}
	up(t, m)
	long := make(chan error)
	c := bind(t, m, "mcp__web__progress", `{}`)
	go func() { _, err := c.Run(t.Context(), &tool.Env{}); long <- err }()
	_, _, err := run(t, m, "mcp__web__echo", `{"text":"a"}`)
	var gone *UnavailableError
	if !errors.As(err, &gone) || gone.State != NeedsAuth {
		t.Fatal(err)
	}
	if _, why := state2(m); !strings.Contains(why, "more rights (more)") {
		t.Error(why)
	}
	if err := m.Authenticate(t.Context(), "web", browser(t)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, m, "mcp__web__echo", `{"text":"a"}`); err != nil {
		t.Error(err)
	}
	if err := <-long; err != nil {
		t.Error("a call that ran was ended:", err)
	}
	g.mu.Lock()
	if fmt.Sprint(g.asked) != "[basic more basic]" {
		t.Error(g.asked)
	}
	// A server that is never content is not signed in to again and again.
	g.need = func(call string) string {
		if call == "tools/call echo" {
			return "everything"
		}
		return ""
	}
	clear(g.tokens)
	g.mu.Unlock()
	for i := range MaxSignIns + 1 {
		g.mu.Lock()
		for token := range g.tokens {
			g.tokens[token] = "nothing"
		}
		g.mu.Unlock()
		if _, _, err := run(t, m, "mcp__web__echo", `{"text":"a"}`); !errors.As(err, &gone) {
			t.Fatal(err)
		}
		err := m.Authenticate(t.Context(), "web", browser(t))
		if (i < MaxSignIns) != (err == nil) {
			t.Error(i, err)
		}
	}
	if err := m.SignOut("web"); err != nil {
		t.Fatal(err)
	}
	up(t, m)
	if err := m.Authenticate(t.Context(), "web", browser(t)); err != nil {
		t.Error("after signing out it is tried again:", err)
	}
	m.Close()
}

func TestClientSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := KeepClientSecret(dir, "a", "https://h/a", "s3cret"); err != nil {
		t.Fatal(err)
	}
	store := newTokenStore(dir)
	if store.secret("a", "https://h/a") != "s3cret" || store.secret("a", "https://evil/a") != "" || store.secret("b", "https://h/a") != "" {
		t.Error("a secret is for one server at one address")
	}
	files, err := filepath.Glob(filepath.Join(dir, "auth", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	for range 2 {
		if err := KeepClientSecret(dir, "a", "https://h/a", ""); err != nil || store.secret("a", "https://h/a") != "" {
			t.Error(err)
		}
	}
	if err := KeepClientSecret("", "a", "https://h/a", "x"); err == nil {
		t.Error("there is no place for it")
	}
}

// An authorization server that does not do PKCE, or whose answer comes from
// another one, is not trusted.
func TestUnsafeSignIns(t *testing.T) {
	t.Parallel()
	var with string
	var self string
	self = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case oauthPlace:
			fmt.Fprintf(w, `{"issuer":"%[1]s","authorization_endpoint":"%[1]s/authorize","token_endpoint":"%[1]s/token"%[2]s}`, self, with)
		case "/authorize":
			http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?code=c&iss=https://evil.example&state="+r.URL.Query().Get("state"), http.StatusFound)
		case "/token":
			t.Error("the code was given away")
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	s := remote("web", self)
	s.OAuth.ClientID = "me"
	for extra, want := range map[string]string{"": "PKCE", `,"code_challenge_methods_supported":["plain"]`: "PKCE", `,"code_challenge_methods_supported":["S256"]`: "another authorization server"} {
		with = extra
		m := start(t, nil, s)
		up(t, m)
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		if err := m.Authenticate(ctx, "web", browser(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", extra, err)
		}
		cancel()
		m.Close()
	}
}
