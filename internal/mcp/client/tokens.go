package client

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Times of authentication.
const (
	authTimeout = 30 * time.Second
	// tokenMargin is how long before its end a token is renewed.
	tokenMargin = 30 * time.Second
)

// grant is what a person's sign-in at a server came to. It is a secret.
type grant struct {
	Server        string    `json:"server"`
	URL           string    `json:"url"`      // the server it is for
	Resource      string    `json:"resource"` // as tokens name the server
	Issuer        string    `json:"issuer"`   // the authorization server
	TokenEndpoint string    `json:"tokenEndpoint"`
	ClientID      string    `json:"clientId"`
	ClientSecret  string    `json:"clientSecret,omitempty"`
	Method        string    `json:"method,omitempty"` // of showing who we are
	KeyFile       string    `json:"keyFile,omitempty"`
	Access        string    `json:"accessToken"`
	Refresh       string    `json:"refreshToken,omitempty"`
	Expiry        time.Time `json:"expiry,omitzero"`
	Scopes        []string  `json:"scopes,omitempty"`
}

// tokenStore keeps grants in files that only their owner can read, one a
// server.
type tokenStore struct {
	dir string // empty: nothing is kept

	mu    sync.Mutex
	slots map[string]*tokenSlot
}

// tokenSlot is the place of one server's grant. Its lock is held while the grant
// is renewed, so that this happens once; other servers do not wait for it.
type tokenSlot struct {
	path string // empty: nothing is kept

	mu    sync.Mutex
	known bool
	grant *grant // nil: there is none
}

func newTokenStore(stateDir string) *tokenStore {
	t := &tokenStore{slots: map[string]*tokenSlot{}}
	if stateDir != "" {
		t.dir = filepath.Join(stateDir, "auth")
	}
	return t
}

// slot gives a server's place, by name and address: a token never goes to
// another address that has taken the name over.
func (t *tokenStore) slot(name, address string) *tokenSlot {
	key := slotKey(name, address)
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.slots[key]
	if s == nil {
		s = &tokenSlot{}
		if t.dir != "" {
			s.path = filepath.Join(t.dir, key+".json")
		}
		t.slots[key] = s
	}
	return s
}

// slotKey names a server at an address.
func slotKey(name, address string) string {
	sum := sha256.Sum256([]byte(name + "\x00" + address))
	return "mcp-" + hex.EncodeToString(sum[:12])
}

// load gives the grant; fresh reads it again. The caller holds the lock.
func (s *tokenSlot) load(fresh bool) *grant {
	if s.known && !fresh || s.path == "" {
		return s.grant
	}
	s.known, s.grant = true, nil
	if data, err := os.ReadFile(s.path); err == nil {
		var g grant
		if json.Unmarshal(data, &g) == nil && g.Access != "" {
			s.grant = &g
		}
	}
	return s.grant
}

// keep writes a grant. The caller holds the lock.
func (s *tokenSlot) keep(g *grant) error {
	s.known, s.grant = true, g
	if s.path == "" {
		return nil
	}
	if err := keepSecret(s.path, g); err != nil {
		return fmt.Errorf("keeping the sign-in: %w", err)
	}
	return nil
}

// keepSecret writes what only the owner may read, whole or not at all.
func keepSecret(path string, v any) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".mcp-*") // made with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// clientSecret is what an authorization server's provider gave for a client.
type clientSecret struct {
	Secret string `json:"clientSecret"`
}

// KeepClientSecret keeps, in the state folder, the secret of the client that a
// server's entry names (oauth.clientId), since no secret stands in a
// configuration. It holds for that server at that address only; an empty one is
// forgotten. The variable MCP_CLIENT_SECRET goes before it.
func KeepClientSecret(stateDir, name, address, secret string) error {
	path := newTokenStore(stateDir).secretPath(name, address)
	if path == "" {
		return errors.New("keeping the client's secret: there is no state folder")
	}
	var err error
	if secret == "" {
		if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else {
		err = keepSecret(path, clientSecret{secret})
	}
	if err != nil {
		return fmt.Errorf("keeping the client's secret: %w", err)
	}
	return nil
}

// secretPath is where the secret of a server's client is kept.
func (t *tokenStore) secretPath(name, address string) string {
	if t.dir == "" {
		return ""
	}
	return filepath.Join(t.dir, slotKey(name, address)+"-client.json")
}

// secret reads the kept secret of a server's client; empty where there is none.
func (t *tokenStore) secret(name, address string) string {
	var c clientSecret
	if data, err := os.ReadFile(t.secretPath(name, address)); err == nil {
		_ = json.Unmarshal(data, &c)
	}
	return c.Secret
}

// save keeps a new grant for a server.
func (t *tokenStore) save(name, address string, g *grant) error {
	s := t.slot(name, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keep(g)
}

// forget drops the grant for a server.
func (t *tokenStore) forget(name, address string) error {
	s := t.slot(name, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.grant = true, nil
	if s.path == "" {
		return nil
	}
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting the sign-in: %w", err)
	}
	return nil
}

// access gives the token for a server, renewed where it is about to end; empty
// when there is none.
func (t *tokenStore) access(ctx context.Context, name, address string, client *http.Client) string {
	s := t.slot(name, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.load(false)
	if g == nil {
		return ""
	}
	if !g.Expiry.IsZero() && time.Until(g.Expiry) < tokenMargin && g.Refresh != "" {
		if renewed, err := s.renew(ctx, g, client); err == nil {
			g = renewed
		}
	}
	return g.Access
}

// refresh renews the token that was refused, unless that has happened since.
func (t *tokenStore) refresh(ctx context.Context, name, address, refused string, client *http.Client) error {
	s := t.slot(name, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.load(false)
	if g == nil {
		return errors.New("there is no sign-in")
	}
	if g.Access != refused {
		return nil
	}
	_, err := s.renew(ctx, g, client)
	return err
}

// replace keeps what get gives in the place of the refused token, unless that
// was replaced since. get runs for one caller at a time.
func (t *tokenStore) replace(name, address, refused string, get func(before *grant) (*grant, error)) error {
	s := t.slot(name, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.load(true)
	if before != nil && before.Access != refused {
		return nil
	}
	g, err := get(before)
	if err != nil {
		return err
	}
	return s.keep(g)
}

// current gives the grant for a server, nil where there is none.
func (t *tokenStore) current(name, address string) *grant {
	s := t.slot(name, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load(false)
}

// renew gets a new token. Another process may have done so already, which with
// rotating tokens makes ours worthless: its result is taken instead. The caller
// holds the lock.
func (s *tokenSlot) renew(ctx context.Context, old *grant, client *http.Client) (*grant, error) {
	g := s.load(true)
	if g == nil {
		return nil, errors.New("there is no sign-in any more")
	}
	if g.Access != old.Access {
		return g, nil
	}
	if g.Refresh == "" {
		return nil, errors.New("the sign-in cannot be renewed")
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Refresh}, "resource": {cmp.Or(g.Resource, g.URL)}}
	answer, err := clientAuth{g.ClientID, g.ClientSecret, g.Method, g.KeyFile}.request(ctx, client, g.TokenEndpoint, g.Issuer, form)
	if err != nil {
		return nil, fmt.Errorf("renewing the sign-in: %w", err)
	}
	next := *g
	next.Access, next.Expiry = answer.Access, answer.expiry()
	if answer.Refresh != "" {
		next.Refresh = answer.Refresh
	}
	if answer.Scope != "" {
		next.Scopes = strings.Fields(answer.Scope)
	}
	return &next, s.keep(&next)
}
