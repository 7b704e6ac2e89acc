package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	URL           string    `json:"url"` // the server it is for
	TokenEndpoint string    `json:"tokenEndpoint"`
	ClientID      string    `json:"clientId"`
	ClientSecret  string    `json:"clientSecret,omitempty"`
	SecretInBody  bool      `json:"secretInBody,omitempty"`
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
	sum := sha256.Sum256([]byte(name + "\x00" + address))
	key := "mcp-" + hex.EncodeToString(sum[:12])
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
	fail := func(err error) error { return fmt.Errorf("keeping the sign-in: %w", err) }
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fail(err)
	}
	data, err := json.Marshal(g)
	if err != nil {
		return fail(err)
	}
	f, err := os.CreateTemp(dir, ".mcp-*") // made with mode 0600
	if err != nil {
		return fail(err)
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fail(err)
	}
	return nil
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
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Refresh}, "client_id": {g.ClientID}, "resource": {g.URL}}
	if g.ClientSecret != "" && g.SecretInBody {
		form.Set("client_secret", g.ClientSecret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.TokenEndpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the address for renewing the sign-in cannot be used")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if g.ClientSecret != "" && !g.SecretInBody {
		req.SetBasicAuth(url.QueryEscape(g.ClientID), url.QueryEscape(g.ClientSecret))
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("renewing the sign-in: %s", withoutAddress(err))
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("renewing the sign-in was refused (status %d)", resp.StatusCode)
	}
	var answer struct {
		Access  string  `json:"access_token"`
		Refresh string  `json:"refresh_token"`
		Expires float64 `json:"expires_in"`
	}
	if json.Unmarshal(data, &answer) != nil || answer.Access == "" {
		return nil, errors.New("the answer to renewing the sign-in cannot be read")
	}
	next := *g
	next.Access, next.Expiry = answer.Access, time.Time{}
	if answer.Refresh != "" {
		next.Refresh = answer.Refresh
	}
	if answer.Expires > 0 {
		next.Expiry = time.Now().Add(time.Duration(answer.Expires * float64(time.Second)))
	}
	return &next, s.keep(&next)
}
