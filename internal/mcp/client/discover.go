package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// maxMetadata bounds what a server says of itself or of a client, in bytes.
const maxMetadata = 1 << 20

// Where servers describe themselves.
const (
	resourcePlace = "/.well-known/oauth-protected-resource"
	oauthPlace    = "/.well-known/oauth-authorization-server"
	openidPlace   = "/.well-known/openid-configuration"
)

// authority is the authorization server of an MCP server, and what it is to be
// asked for.
type authority struct {
	resource string // the MCP server, as tokens are to name it
	meta     oauthex.AuthServerMeta
	scopes   []string
}

// discovery reads what servers say of themselves.
type discovery struct {
	client *http.Client
	// local: the MCP server is on this machine, so its authorization server may
	// be too.
	local bool
}

// demand is what a server's refusal asks for.
type demand struct {
	metadata string // address of its description
	scopes   []string
	more     bool // the token is good, but not for this
}

// demandOf reads the challenges of a refusal. One that cannot be read asks for
// nothing particular.
func demandOf(header http.Header) (d demand) {
	for _, line := range header["Www-Authenticate"] {
		challenges, err := oauthex.ParseWWWAuthenticate([]string{line})
		if err != nil {
			continue
		}
		for _, c := range challenges {
			if c.Scheme != "bearer" {
				continue
			}
			if d.metadata == "" {
				d.metadata = c.Params["resource_metadata"]
			}
			if len(d.scopes) == 0 {
				d.scopes = strings.Fields(c.Params["scope"])
			}
			d.more = d.more || c.Params["error"] == "insufficient_scope"
		}
	}
	return d
}

// discover finds the authorization server of a server that refused. A server
// that did not (asked is false) must at least describe itself.
func (s *server) discover(ctx context.Context, client *http.Client, refusal http.Header, asked bool) (*authority, error) {
	home, err := url.Parse(s.cfg.URL)
	if err != nil || home.Host == "" {
		return nil, errors.New("its address cannot be used")
	}
	d := discovery{client: client, local: isLocal(home.Hostname())}
	want := demandOf(refusal)
	// Neither a query nor a user name belongs to the resource, and both may be
	// secrets.
	a := &authority{resource: (&url.URL{Scheme: home.Scheme, Host: home.Host, Path: home.Path, RawPath: home.RawPath}).String(), scopes: want.scopes}
	if named := s.cfg.OAuth.AuthServerMetadataURL; named != "" {
		found, err := d.get(ctx, named, &a.meta)
		switch {
		case err != nil:
			return nil, fmt.Errorf("reading oauth.authServerMetadataUrl: %w", err)
		case !found || a.meta.Issuer == "":
			return nil, errors.New("oauth.authServerMetadataUrl does not lead to the metadata of an authorization server")
		}
		if len(a.meta.ScopesSupported) > 0 {
			a.scopes = a.meta.ScopesSupported
		}
		return a, d.check(&a.meta)
	}
	about, err := d.resource(ctx, home, want.metadata)
	if err != nil {
		return nil, err
	}
	if about == nil && !asked {
		return nil, errors.New("it asks for no sign-in")
	}
	if about == nil { // a server from before resources described themselves
		if err := d.legacy(ctx, home, &a.meta); err != nil {
			return nil, err
		}
		return a, d.check(&a.meta)
	}
	a.resource = about.Resource
	if len(a.scopes) == 0 {
		a.scopes = about.ScopesSupported
	}
	for _, issuer := range about.AuthorizationServers {
		found, err := d.authServer(ctx, issuer, &a.meta)
		if err != nil {
			return nil, err
		}
		if found {
			return a, d.check(&a.meta)
		}
	}
	// It may be one that describes itself nowhere and has its parts where the
	// protocol once said.
	usual(about.AuthorizationServers[0], &a.meta)
	return a, d.check(&a.meta)
}

// resource reads a server's description of itself; nil when it has none.
func (d discovery) resource(ctx context.Context, home *url.URL, named string) (*oauthex.ProtectedResourceMetadata, error) {
	root := &url.URL{Scheme: home.Scheme, Host: home.Host}
	var places []string
	if named != "" {
		places = append(places, named)
	}
	if path := strings.Trim(home.EscapedPath(), "/"); path != "" {
		places = append(places, root.String()+resourcePlace+"/"+path)
	}
	places = append(places, root.String()+resourcePlace)
	for _, place := range places {
		var about oauthex.ProtectedResourceMetadata
		found, err := d.get(ctx, place, &about)
		switch {
		case err != nil:
			return nil, fmt.Errorf("reading what the server says of itself: %w", err)
		case !found:
			continue
		case !covers(about.Resource, home):
			return nil, fmt.Errorf("the server says that it is %s, which is another address than the configured one", oneLine(about.Resource))
		case len(about.AuthorizationServers) == 0:
			return nil, errors.New("the server names no authorization server")
		}
		return &about, nil
	}
	return nil, nil
}

// covers tells whether a resource is the server, or a part of its address that
// contains it.
func covers(resource string, home *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || !strings.EqualFold(r.Scheme, home.Scheme) || authorityPart(r) != authorityPart(home) || r.User != nil || r.Fragment != "" {
		return false
	}
	outer, inner := strings.TrimSuffix(r.EscapedPath(), "/"), strings.TrimSuffix(home.EscapedPath(), "/")
	return outer == inner || strings.HasPrefix(inner, outer+"/")
}

// authorityPart is host and port, in one form.
func authorityPart(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// authServer reads the description of an authorization server from the places
// that its name leads to.
func (d discovery) authServer(ctx context.Context, issuer string, meta *oauthex.AuthServerMeta) (found bool, err error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" {
		return false, errors.New("the name of the authorization server is no address")
	}
	root := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	places := []string{root + oauthPlace, root + openidPlace}
	if path := strings.Trim(u.EscapedPath(), "/"); path != "" {
		places = []string{root + oauthPlace + "/" + path, root + openidPlace + "/" + path, root + "/" + path + openidPlace}
	}
	for _, place := range places {
		var m oauthex.AuthServerMeta
		found, err := d.get(ctx, place, &m)
		if err != nil {
			return false, fmt.Errorf("reading what the authorization server says of itself: %w", err)
		}
		if !found {
			continue
		}
		if strings.TrimSuffix(m.Issuer, "/") != strings.TrimSuffix(issuer, "/") {
			return false, fmt.Errorf("the authorization server %s calls itself %s", oneLine(issuer), oneLine(m.Issuer))
		}
		*meta = m
		return true, nil
	}
	return false, nil
}

// legacy takes the MCP server's own host for the authorization server, as
// revision 2025-03-26 has it.
func (d discovery) legacy(ctx context.Context, home *url.URL, meta *oauthex.AuthServerMeta) error {
	root := &url.URL{Scheme: home.Scheme, Host: home.Host}
	found, err := d.get(ctx, root.String()+oauthPlace, meta)
	if err != nil {
		return fmt.Errorf("reading what the authorization server says of itself: %w", err)
	}
	if !found {
		usual(root.String(), meta)
		return nil
	}
	// Its name had no meaning then, but it stays on its host.
	if named, err := url.Parse(meta.Issuer); err != nil || authorityPart(named) != authorityPart(root) {
		return fmt.Errorf("the authorization server %s calls itself %s", root, oneLine(meta.Issuer))
	}
	return nil
}

// usual is an authorization server that does not describe itself.
func usual(base string, meta *oauthex.AuthServerMeta) {
	base = strings.TrimSuffix(base, "/")
	*meta = oauthex.AuthServerMeta{Issuer: base, AuthorizationEndpoint: base + "/authorize", TokenEndpoint: base + "/token",
		RegistrationEndpoint: base + "/register", CodeChallengeMethodsSupported: []string{"S256"}}
}

// check refuses addresses that a secret must not go to.
func (d discovery) check(meta *oauthex.AuthServerMeta) error {
	if meta.TokenEndpoint == "" {
		return errors.New("the authorization server names no token endpoint")
	}
	for name, address := range map[string]string{"authorization": meta.AuthorizationEndpoint, "token": meta.TokenEndpoint, "registration": meta.RegistrationEndpoint} {
		if address != "" && !d.safe(address) {
			return fmt.Errorf("the %s endpoint of the authorization server must begin with https://", name)
		}
	}
	return nil
}

// safe tells whether an address keeps what is sent there from others.
func (d discovery) safe(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && d.local && isLocal(u.Hostname()))
}

// isLocal tells whether a host is this machine.
func isLocal(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}

// get reads a JSON object; found is false where there is none. Many servers
// answer every address with a page.
func (d discovery) get(ctx context.Context, address string, into any) (found bool, err error) {
	if !d.safe(address) {
		return false, errors.New("the address must begin with https://")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, errors.New("the address cannot be used")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("MCP-Protocol-Version", protocolHandshake)
	resp, err := d.client.Do(req)
	if err != nil {
		return false, errors.New(withoutAddress(err))
	}
	defer discard(resp)
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 500:
		return false, nil
	case resp.StatusCode != http.StatusOK:
		return false, fmt.Errorf("the answer was status %d", resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata))
	if err != nil {
		return false, errors.New(withoutAddress(err))
	}
	return json.Unmarshal(data, into) == nil, nil
}

// wanted are the scopes to ask for: what the configuration says, or else what
// the server asks for beside what was granted before.
func (s *server) wanted(a *authority, before *grant) []string {
	scopes := slices.Clone(s.cfg.OAuth.Scopes)
	if len(scopes) == 0 {
		scopes = slices.Clone(a.scopes)
		if before != nil && before.Issuer == a.meta.Issuer {
			for _, scope := range before.Scopes {
				if !slices.Contains(scopes, scope) {
					scopes = append(scopes, scope)
				}
			}
		}
	}
	return scopes
}
