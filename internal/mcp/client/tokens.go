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

	mu     sync.Mutex
	grants map[string]*grant // by key; nil: there is none
}

func newTokenStore(stateDir string) *tokenStore {
	t := &tokenStore{grants: map[string]*grant{}}
	if stateDir != "" {
		t.dir = filepath.Join(stateDir, "auth")
	}
	return t
}

// key names a server by name and address: a token never goes to another
// address that has taken the name over.
func (t *tokenStore) key(name, address string) string {
	sum := sha256.Sum256([]byte(name + "\x00" + address))
	return "mcp-" + hex.EncodeToString(sum[:12])
}

func (t *tokenStore) path(key string) string { return filepath.Join(t.dir, key+".json") }

// load gives the grant for a server; the caller holds the lock.
func (t *tokenStore) load(key string, fresh bool) *grant {
	if g, ok := t.grants[key]; ok && !fresh {
		return g
	}
	var g *grant
	if t.dir != "" {
		if data, err := os.ReadFile(t.path(key)); err == nil {
			var read grant
			if json.Unmarshal(data, &read) == nil && read.Access != "" {
				g = &read
			}
		}
	}
	if g == nil && fresh {
		g = t.grants[key]
	}
	t.grants[key] = g
	return g
}

func (t *tokenStore) save(key string, g *grant) error {
	t.grants[key] = g
	if t.dir == "" {
		return nil
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return fmt.Errorf("keeping the sign-in: %w", err)
	}
	data, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("keeping the sign-in: %w", err)
	}
	f, err := os.CreateTemp(t.dir, ".mcp-*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("keeping the sign-in: %w", err)
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), t.path(key))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("keeping the sign-in: %w", err)
	}
	return nil
}

// forget drops the grant for a server.
func (t *tokenStore) forget(name, address string) error {
	key := t.key(name, address)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.grants[key] = nil
	if t.dir == "" {
		return nil
	}
	if err := os.Remove(t.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting the sign-in: %w", err)
	}
	return nil
}

// access gives the token for a server, renewed where it is about to end; empty
// when there is none.
func (t *tokenStore) access(ctx context.Context, name, address string, client *http.Client) string {
	key := t.key(name, address)
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.load(key, false)
	if g == nil {
		return ""
	}
	if !g.Expiry.IsZero() && time.Until(g.Expiry) < tokenMargin && g.Refresh != "" {
		if renewed, err := t.renew(ctx, key, g, client); err == nil {
			g = renewed
		}
	}
	return g.Access
}

// refresh renews the token after it was refused.
func (t *tokenStore) refresh(ctx context.Context, name, address string, client *http.Client) error {
	key := t.key(name, address)
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.load(key, false)
	if g == nil {
		return errors.New("there is no sign-in")
	}
	_, err := t.renew(ctx, key, g, client)
	return err
}

// renew gets a new token. Another process may have done so already, which with
// rotating tokens makes ours worthless: its result is taken instead. The caller
// holds the lock.
func (t *tokenStore) renew(ctx context.Context, key string, old *grant, client *http.Client) (*grant, error) {
	g := t.load(key, true)
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
	return &next, t.save(key, &next)
}
