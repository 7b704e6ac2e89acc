package client

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/sevengate/sevengate/internal/mcp/config"
)

// Limits of signing in.
const (
	// SignInTimeout bounds how long a sign-in waits for the person.
	SignInTimeout = 10 * time.Minute
	// MaxSignIns is how often in a row a person signs in at a server that goes on
	// refusing, before it is no longer tried.
	MaxSignIns = 2
)

// Authenticate signs in at a server with OAuth: it finds the server's
// authorization server, registers where that is needed, gives the address that
// the person is to open to open, and waits for the answer on a port of this
// machine. What comes of it is kept for later sessions, and the server is
// connected to again where it is not. An error of open does not end the wait:
// the person may open the address by hand. Where the configuration says how to
// get a token without a person, open is not called.
func (m *Manager) Authenticate(ctx context.Context, name string, open func(address string) error) error {
	s, err := m.server(name)
	if err != nil {
		return err
	}
	if s.cfg.Type == config.Stdio {
		return fmt.Errorf("MCP server %s is a local process: there is nothing to sign in to", name)
	}
	if s.cfg.Type == config.WebSocket {
		return fmt.Errorf("MCP server %s is of type ws, which is authenticated by headers only: set headers or headersHelper in its entry", name)
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
	s.mu.Lock()
	tries := s.signIns
	s.mu.Unlock()
	if tries >= MaxSignIns {
		return fmt.Errorf("MCP server %s still refuses after %d sign-ins; it is not tried again before: sevengate mcp logout %s", name, tries, name)
	}
	got, err := s.signIn(ctx, hc.plain(), open)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("signing in to MCP server %s: %w", name, err)
	}
	if err := m.tokens.save(s.cfg.Name, s.cfg.URL, got); err != nil {
		return err
	}
	s.mu.Lock()
	s.signIns++
	s.challenge = nil
	linked := s.link != nil
	s.mu.Unlock()
	if linked { // the next request goes with the new token
		s.set(Connected, "")
		s.stale()
		return nil
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
	s.mu.Lock()
	s.signIns = 0
	s.mu.Unlock()
	_ = s.restart() // one that may not run has no connection to drop
	return nil
}

// signIn goes the way from a refusal to a token.
func (s *server) signIn(ctx context.Context, plain *http.Client, open func(string) error) (*grant, error) {
	refusal, asked, err := s.probe(ctx, plain)
	if err != nil {
		return nil, err
	}
	a, err := s.discover(ctx, plain, refusal, asked)
	if err != nil {
		return nil, err
	}
	before := s.m.tokens.current(s.cfg.Name, s.cfg.URL)
	if s.machine() {
		return s.obtain(ctx, plain, a, before)
	}
	back, err := s.m.listenBack(s.cfg.OAuth.CallbackPort)
	if err != nil {
		return nil, err
	}
	defer back.close()
	f := flow{s: s, plain: plain, back: back, open: open}
	if s.cfg.OAuth.IDP.Issuer != "" {
		token, err := f.identity(ctx)
		if err != nil {
			return nil, err
		}
		return s.crossApp(ctx, plain, a, before, token)
	}
	client, err := f.client(ctx, a)
	if err != nil {
		return nil, err
	}
	scopes := s.wanted(a, before)
	if slices.Contains(a.meta.ScopesSupported, offlineAccess) && !slices.Contains(scopes, offlineAccess) {
		scopes = append(scopes, offlineAccess)
	}
	answer, err := f.code(ctx, a, client, scopes)
	if err != nil {
		return nil, err
	}
	return s.grant(a, client, answer, scopes), nil
}

// offlineAccess is the scope that renewing without the person needs.
const offlineAccess = "offline_access"

// grant puts together what a token endpoint gave.
func (s *server) grant(a *authority, c clientAuth, answer *tokenAnswer, scopes []string) *grant {
	if answer.Scope != "" {
		scopes = strings.Fields(answer.Scope)
	}
	return &grant{Server: s.cfg.Name, URL: s.cfg.URL, Resource: a.resource, Issuer: a.meta.Issuer, TokenEndpoint: a.meta.TokenEndpoint,
		ClientID: c.id, ClientSecret: c.secret, Method: c.method, KeyFile: c.keyFile,
		Access: answer.Access, Refresh: answer.Refresh, Expiry: answer.expiry(), Scopes: scopes}
}

// probe makes the server say how it wants to be signed in to: a refusal from
// before, or a new one. asked is false where it lets everybody in.
func (s *server) probe(ctx context.Context, plain *http.Client) (header http.Header, asked bool, err error) {
	s.mu.Lock()
	wait := s.running && s.state == Pending && s.challenge == nil
	s.mu.Unlock()
	if wait { // it is being asked just now
		limited, cancel := context.WithTimeout(ctx, s.times.Connect)
		s.m.Wait(limited, s.cfg.Name)
		cancel()
	}
	s.mu.Lock()
	c := s.challenge
	s.mu.Unlock()
	if c != nil {
		return c.header, true, nil
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + protocolHandshake + `","capabilities":{},"clientInfo":{"name":"sevengate","version":"0"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, strings.NewReader(hello))
	if err != nil {
		return nil, false, errors.New("its address cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range s.cfg.Headers {
		req.Header.Set(name, value)
	}
	resp, err := plain.Do(req)
	if err != nil {
		return nil, false, errors.New(withoutAddress(err))
	}
	_ = resp.Body.Close()
	switch {
	case refusal(resp):
		return resp.Header, true, nil
	case resp.StatusCode == http.StatusOK:
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("it answered with status %d and asked for no sign-in", resp.StatusCode)
}

// flow is one sign-in with a person.
type flow struct {
	s     *server
	plain *http.Client
	back  *callback
	open  func(string) error
}

// client gives who we are to the authorization server, and registers where
// nothing else is agreed.
func (f flow) client(ctx context.Context, a *authority) (clientAuth, error) {
	s := f.s
	if s.cfg.OAuth.ClientID != "" {
		return s.known(a.meta.TokenEndpointAuthMethodsSupported), nil
	}
	if u := s.m.cfg.ClientMetadataURL; u != "" && a.meta.ClientIDMetadataDocumentSupported {
		return clientAuth{id: u, method: methodNone}, nil
	}
	if a.meta.RegistrationEndpoint == "" {
		return clientAuth{}, errors.New("its authorization server takes no registrations; ask its provider for a client and set oauth.clientId")
	}
	grants := []string{"authorization_code"}
	if g := a.meta.GrantTypesSupported; len(g) == 0 || slices.Contains(g, "refresh_token") {
		grants = append(grants, "refresh_token")
	}
	method := methodNone
	if m := a.meta.TokenEndpointAuthMethodsSupported; len(m) > 0 && !slices.Contains(m, methodNone) {
		method = chooseMethod(m, clientAuth{secret: "to come"})
	}
	got, err := oauthex.RegisterClient(ctx, a.meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		ClientName: "Sevengate (" + s.cfg.Name + ")", RedirectURIs: []string{f.back.address}, TokenEndpointAuthMethod: method, ApplicationType: "native",
		GrantTypes: grants, ResponseTypes: []string{"code"}, Scope: strings.Join(s.cfg.OAuth.Scopes, " "),
	}, f.plain)
	if err != nil {
		return clientAuth{}, registrationError(err)
	}
	c := clientAuth{id: got.ClientID, secret: got.ClientSecret, method: got.TokenEndpointAuthMethod}
	switch {
	case c.secret == "":
		c.method = methodNone
	case c.method != methodBasic && c.method != methodPost:
		c.method = chooseMethod(a.meta.TokenEndpointAuthMethodsSupported, c)
	}
	return c, nil
}

// registrationError words a refused registration without the answer, which may
// hold secrets.
func registrationError(err error) error {
	var told *oauthex.ClientRegistrationError
	if errors.As(err, &told) {
		return errors.New("the authorization server refused the registration: " + oneLine(strings.TrimSpace(told.ErrorCode+" "+told.ErrorDescription)))
	}
	var u *url.Error
	if errors.As(err, &u) {
		return errors.New("registering at the authorization server: " + withoutAddress(err))
	}
	return errors.New("the authorization server refused the registration, or its answer cannot be read")
}

// known is the client that the configuration names.
func (s *server) known(supported []string) clientAuth {
	c := clientAuth{id: s.cfg.OAuth.ClientID, secret: s.m.vars.text("MCP_CLIENT_SECRET"), keyFile: s.cfg.OAuth.PrivateKeyFile}
	if c.secret == "" {
		c.secret = s.m.tokens.secret(s.cfg.Name, s.cfg.URL)
	}
	c.method = chooseMethod(supported, c)
	return c
}

// code sends the person to the authorization server and turns what comes back
// into a token.
func (f flow) code(ctx context.Context, a *authority, c clientAuth, scopes []string) (*tokenAnswer, error) {
	if !slices.Contains(a.meta.CodeChallengeMethodsSupported, "S256") {
		return nil, errors.New("the authorization server does not say that it supports PKCE with S256, without which a sign-in is not safe")
	}
	u, err := url.Parse(a.meta.AuthorizationEndpoint)
	if err != nil || u.Host == "" {
		return nil, errors.New("the authorization server names no authorization endpoint")
	}
	verifier, state := rand.Text()+rand.Text(), rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	q := u.Query()
	q.Set("response_type", "code")
	q.Set("client_id", c.id)
	q.Set("redirect_uri", f.back.address)
	q.Set("state", state)
	q.Set("code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]))
	q.Set("code_challenge_method", "S256")
	if a.resource != "" {
		q.Set("resource", a.resource)
	}
	if len(scopes) > 0 {
		q.Set("scope", strings.Join(scopes, " "))
	}
	if slices.Contains(scopes, offlineAccess) {
		q.Set("prompt", "consent") // without which OpenID providers ignore that scope
	}
	u.RawQuery = q.Encode()
	f.back.expect(state)
	if err := f.open(u.String()); err != nil {
		f.s.m.cfg.Log.Info("the address for signing in could not be opened", "server", f.s.cfg.Name, "error", withoutAddress(err))
	}
	back, err := f.back.wait(ctx)
	if err != nil {
		return nil, err
	}
	// The answer must come from where the person was sent to (RFC 9207).
	if iss := back.Get("iss"); iss != a.meta.Issuer && (iss != "" || a.meta.AuthorizationResponseIssParameterSupported) {
		return nil, errors.New("the answer came from another authorization server than the person was sent to")
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {back.Get("code")}, "redirect_uri": {f.back.address}, "code_verifier": {verifier}}
	if a.resource != "" {
		form.Set("resource", a.resource)
	}
	return c.request(ctx, f.plain, a.meta.TokenEndpoint, a.meta.Issuer, form)
}
