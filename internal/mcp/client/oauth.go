package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/sevengate/sevengate/internal/mcp/config"
)

// SignInTimeout bounds how long a sign-in waits for the person.
const SignInTimeout = 10 * time.Minute

// Authenticate signs in at a server with OAuth: it finds the server's
// authorization server, registers where that is needed, gives the address that
// the person is to open to open, and waits for the answer on a port of this
// machine. What comes of it is kept for later sessions, and the server is
// connected to again. An error of open does not end the wait: the person may
// open the address by hand.
func (m *Manager) Authenticate(ctx context.Context, name string, open func(address string) error) error {
	s, err := m.server(name)
	if err != nil {
		return err
	}
	if s.cfg.Type == config.Stdio {
		return fmt.Errorf("MCP server %s is a local process: there is nothing to sign in to", name)
	}
	if verdict, why := m.cfg.Judge(&s.cfg); verdict != config.Start {
		return fmt.Errorf("MCP server %s is not started: %s", name, why)
	}
	ctx, cancel := context.WithTimeout(ctx, SignInTimeout)
	defer cancel()
	hc := s.newHTTP()
	defer hc.close()
	if hc.static() {
		return fmt.Errorf("MCP server %s has an Authorization header in its configuration, which is used instead of a sign-in", name)
	}
	plain := hc.plain()
	refusal, err := s.probe(ctx, plain)
	if err != nil {
		return fmt.Errorf("signing in to MCP server %s: %w", name, err)
	}
	if u := s.cfg.OAuth.AuthServerMetadataURL; u != "" {
		if plain, err = pinMetadata(ctx, plain, u, s.cfg.URL); err != nil {
			return fmt.Errorf("signing in to MCP server %s: %w", name, err)
		}
	}
	back, err := m.listenBack(s.cfg.OAuth.CallbackPort)
	if err != nil {
		return fmt.Errorf("signing in to MCP server %s: %w", name, err)
	}
	defer back.close()
	var got *grant
	handler, err := auth.NewAuthorizationCodeHandler(s.signIn(back, plain, open, func(g *grant) { got = g }))
	if err != nil {
		return fmt.Errorf("signing in to MCP server %s: %w", name, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, nil)
	if err != nil {
		return fmt.Errorf("signing in to MCP server %s: its address cannot be used", name)
	}
	if err := handler.Authorize(ctx, req, refusal); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("signing in to MCP server %s: %s", name, secretFree(err))
	}
	if got == nil {
		return fmt.Errorf("signing in to MCP server %s: there is no token", name)
	}
	if err := m.tokens.save(s.cfg.Name, s.cfg.URL, got); err != nil {
		return err
	}
	return s.restart()
}

// SignOut forgets the sign-in at a server.
func (m *Manager) SignOut(name string) error {
	s, err := m.server(name)
	if err != nil {
		return err
	}
	if err := m.tokens.forget(s.cfg.Name, s.cfg.URL); err != nil {
		return err
	}
	_ = s.restart() // one that may not run has no connection to drop
	return nil
}

// probe makes the server say how it wants to be signed in to: a refusal from
// before, or a new one.
func (s *server) probe(ctx context.Context, plain *http.Client) (*http.Response, error) {
	s.mu.Lock()
	c := s.challenge
	s.mu.Unlock()
	if c != nil {
		return &http.Response{StatusCode: c.status, Header: c.header, Body: http.NoBody}, nil
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + protocolHandshake + `","capabilities":{},"clientInfo":{"name":"sevengate","version":"0"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, strings.NewReader(hello))
	if err != nil {
		return nil, errors.New("its address cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range s.cfg.Headers {
		req.Header.Set(name, value)
	}
	resp, err := plain.Do(req)
	if err != nil {
		return nil, errors.New(withoutAddress(err))
	}
	_ = resp.Body.Close()
	resp.Body = http.NoBody
	if resp.StatusCode == http.StatusOK {
		return nil, errors.New("it asks for no sign-in")
	}
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return nil, fmt.Errorf("it answered with status %d and asked for no sign-in", resp.StatusCode)
	}
	resp.StatusCode = http.StatusUnauthorized // what is asked for is the whole way, not a retry
	return resp, nil
}

// signIn is the configuration of one sign-in.
func (s *server) signIn(back *callback, plain *http.Client, open func(string) error, keep func(*grant)) *auth.AuthorizationCodeHandlerConfig {
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:           back.address,
		Client:                plain,
		RequestRefreshToken:   true,
		AcceptUnadvertisedIss: true,
		AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			back.expect(a.URL)
			if err := open(a.URL); err != nil {
				s.m.cfg.Log.Info("the address for signing in could not be opened", "server", s.cfg.Name, "error", err)
			}
			return back.wait(ctx)
		},
		NewTokenSource: func(_ context.Context, oc *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			keep(&grant{Server: s.cfg.Name, URL: s.cfg.URL, TokenEndpoint: oc.Endpoint.TokenURL, ClientID: oc.ClientID, ClientSecret: oc.ClientSecret,
				SecretInBody: oc.Endpoint.AuthStyle == oauth2.AuthStyleInParams, Access: t.AccessToken, Refresh: t.RefreshToken, Expiry: t.Expiry, Scopes: oc.Scopes})
			return oauth2.StaticTokenSource(t), nil
		},
	}
	if pinned := s.cfg.OAuth.Scopes; len(pinned) > 0 {
		c.ScopeFilter = func([]string) []string { return slices.Clone(pinned) }
	}
	if id := s.cfg.OAuth.ClientID; id != "" {
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: id}
		if secret := s.m.vars.text("MCP_CLIENT_SECRET"); secret != "" {
			c.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: secret}
		}
		return c
	}
	if u := s.m.cfg.ClientMetadataURL; u != "" {
		c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: u}
	}
	c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
		ClientName: "Sevengate (" + s.cfg.Name + ")", RedirectURIs: []string{back.address}, TokenEndpointAuthMethod: "none",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, Scope: strings.Join(s.cfg.OAuth.Scopes, " "),
	}}
	return c
}

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
func (c *callback) expect(address string) {
	if u, err := url.Parse(address); err == nil {
		c.mu.Lock()
		c.state = u.Query().Get("state")
		c.mu.Unlock()
	}
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

func (c *callback) wait(ctx context.Context) (*auth.AuthorizationResult, error) {
	select {
	case q := <-c.answers:
		if e := q.Get("error"); e != "" {
			return nil, fmt.Errorf("it was refused: %s", oneLine(strings.TrimSpace(e+" "+q.Get("error_description"))))
		}
		if q.Get("code") == "" {
			return nil, errors.New("the answer has no code")
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// secretFree words an error of a sign-in without what servers answered, which
// may hold tokens.
func secretFree(err error) string {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		if refused.ErrorCode != "" {
			return "the authorization server refused: " + oneLine(strings.TrimSpace(refused.ErrorCode+" "+refused.ErrorDescription))
		}
		return "the authorization server refused the code"
	}
	return withoutAddress(err)
}
