package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/sevengate/sevengate/internal/mcp/config"
)

// Words of token exchange (RFC 8693) and of grants between applications.
const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	grantBearer   = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	typeIDToken   = "urn:ietf:params:oauth:token-type:id_token"
	typeIDGrant   = "urn:ietf:params:oauth:token-type:id-jag"
)

// machine tells whether a token can be had without a person.
func (s *server) machine() bool {
	o := &s.cfg.OAuth
	return o.Grant == config.ClientCredentials || o.IDP.Issuer != "" && o.IDP.TokenHelper != ""
}

// obtain gets a token without a person. before is what was granted until now,
// or nil.
func (s *server) obtain(ctx context.Context, plain *http.Client, a *authority, before *grant) (*grant, error) {
	if s.cfg.OAuth.IDP.Issuer != "" {
		out, err := s.runShell(ctx, s.cfg.OAuth.IDP.TokenHelper, "the helper oauth.idp.tokenHelper")
		if err != nil {
			return nil, err
		}
		return s.crossApp(ctx, plain, a, before, strings.TrimSpace(string(out)))
	}
	client := s.known(a.meta.TokenEndpointAuthMethodsSupported)
	if client.method == methodNone {
		return nil, errors.New("the grant client_credentials needs a secret (MCP_CLIENT_SECRET) or oauth.privateKeyFile")
	}
	scopes := s.wanted(a, before)
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {a.resource}}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	answer, err := client.request(ctx, plain, a.meta.TokenEndpoint, a.meta.Issuer, form)
	if err != nil {
		return nil, err
	}
	answer.Refresh = "" // a new one is had in the same way
	return s.grant(a, client, answer, scopes), nil
}

// crossApp exchanges the word of an organisation's identity provider for a
// token of the server: first for a grant that names the server, then for the
// token.
func (s *server) crossApp(ctx context.Context, plain *http.Client, a *authority, before *grant, identity string) (*grant, error) {
	if identity == "" {
		return nil, errors.New("the identity provider gave no ID token")
	}
	idp, err := s.provider(ctx, plain)
	if err != nil {
		return nil, err
	}
	scopes := s.wanted(a, before)
	form := url.Values{"grant_type": {grantExchange}, "requested_token_type": {typeIDGrant}, "audience": {a.meta.Issuer}, "resource": {a.resource},
		"subject_token": {identity}, "subject_token_type": {typeIDToken}}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	named, err := s.atProvider(idp).request(ctx, plain, idp.meta.TokenEndpoint, idp.meta.Issuer, form)
	if err != nil {
		return nil, fmt.Errorf("exchanging the ID token: %w", err)
	}
	if named.Issued != typeIDGrant {
		return nil, errors.New("exchanging the ID token: the identity provider gave a token of another kind")
	}
	client := s.known(a.meta.TokenEndpointAuthMethodsSupported)
	form = url.Values{"grant_type": {grantBearer}, "assertion": {named.Access}}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	answer, err := client.request(ctx, plain, a.meta.TokenEndpoint, a.meta.Issuer, form)
	if err != nil {
		return nil, err
	}
	return s.grant(a, client, answer, scopes), nil
}

// provider reads what the identity provider says of itself.
func (s *server) provider(ctx context.Context, plain *http.Client) (*authority, error) {
	issuer := s.cfg.OAuth.IDP.Issuer
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, errors.New("oauth.idp.issuer is no address")
	}
	d := discovery{client: plain, local: isLocal(u.Hostname())}
	a := &authority{}
	found, err := d.authServer(ctx, issuer, &a.meta)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the identity provider: %w", err)
	case !found:
		return nil, errors.New("the identity provider does not describe itself (oauth.idp.issuer)")
	}
	return a, d.check(&a.meta)
}

// atProvider is who we are to the identity provider.
func (s *server) atProvider(idp *authority) clientAuth {
	c := clientAuth{id: s.cfg.OAuth.IDP.ClientID, secret: s.m.vars.text("MCP_IDP_CLIENT_SECRET")}
	c.method = chooseMethod(idp.meta.TokenEndpointAuthMethodsSupported, c)
	return c
}

// identity signs the person in at the identity provider.
func (f flow) identity(ctx context.Context) (string, error) {
	idp, err := f.s.provider(ctx, f.plain)
	if err != nil {
		return "", err
	}
	answer, err := f.code(ctx, idp, f.s.atProvider(idp), []string{"openid"})
	if err != nil {
		return "", fmt.Errorf("at the identity provider: %w", err)
	}
	return answer.ID, nil
}

// reauthorize gets another token than the refused one without a person, where
// that can be done.
func (h *httpClient) reauthorize(ctx context.Context, resp *http.Response, refused string) error {
	s := h.s
	plain := h.plain()
	if resp.StatusCode == http.StatusUnauthorized {
		if s.m.tokens.refresh(ctx, s.cfg.Name, s.cfg.URL, refused, plain) == nil {
			return nil
		}
	} else if !demandOf(resp.Header).more {
		return errors.New("another token would not help")
	}
	if !s.machine() {
		return errors.New("the person must sign in")
	}
	ctx, cancel := context.WithTimeout(ctx, authTimeout)
	defer cancel()
	return s.m.tokens.replace(s.cfg.Name, s.cfg.URL, refused, func(before *grant) (*grant, error) {
		a, err := s.discover(ctx, plain, resp.Header, true)
		if err != nil {
			return nil, err
		}
		return s.obtain(ctx, plain, a, before)
	})
}
