package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// TrustStore is the record of which folders a person trusts, in trust.json of the state folder. Trusting a folder puts
// the allow rules and additional directories of its committed settings in force. It is safe for concurrent use, also by
// several processes.
type TrustStore struct {
	path string
	home string

	mu      sync.Mutex
	session map[string]bool // the home directory, for this process only
}

type trustRecord struct {
	Folders map[string]trustedFolder `json:"folders"`
}

type trustedFolder struct {
	Trusted bool      `json:"trusted"`
	Since   time.Time `json:"since"`
}

// OpenTrust returns the record in stateDir; nothing needs to exist. home is the home directory, trust in which lasts
// for the session only: nearly everything lies below it.
func OpenTrust(stateDir, home string) *TrustStore {
	return &TrustStore{path: filepath.Join(stateDir, trustFile), home: realPath(home), session: map[string]bool{}}
}

// TrustKey returns the folder that trust in dir is recorded for: the root of the main checkout of the git repository
// that dir is in (a linked worktree belongs to its main checkout), or dir itself. Links are followed.
func TrustKey(dir string) string { return trustKey(dir, findRepository(dir)) }

func trustKey(dir string, r repository) string {
	if r.main != "" {
		return r.main
	}
	return realPath(dir)
}

// Trusted reports whether the folder that dir belongs to (TrustKey) is trusted. When the record cannot be read it is
// not, and the error says why.
func (t *TrustStore) Trusted(dir string) (bool, error) {
	trusted, _, err := t.lookup(TrustKey(dir))
	return trusted, err
}

// lookup reports whether key is trusted, and whether a folder above it is.
func (t *TrustStore) lookup(key string) (trusted, parent bool, err error) {
	record, err := t.read()
	if err != nil {
		return false, false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	is := func(dir string) bool {
		if dir == t.home {
			return t.session[dir]
		}
		return record.Folders[dir].Trusted
	}
	for dir := filepath.Dir(key); ; dir = filepath.Dir(dir) {
		if is(dir) {
			parent = true
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return is(key), parent, nil
}

// SetTrust records whether the folder that dir belongs to is trusted. A record that cannot be read is not overwritten.
func (t *TrustStore) SetTrust(dir string, trusted bool) error {
	key := TrustKey(dir)
	if key == t.home {
		t.mu.Lock()
		t.session[key] = trusted
		t.mu.Unlock()
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return fmt.Errorf("record trust: %w", err)
	}
	unlock, err := lockFile(t.path + ".lock")
	if err != nil {
		return fmt.Errorf("record trust: %w", err)
	}
	defer unlock()
	record, err := t.read()
	if err != nil {
		return err
	}
	if trusted {
		record.Folders[key] = trustedFolder{Trusted: true, Since: time.Now().UTC().Truncate(time.Second)}
	} else {
		delete(record.Folders, key)
	}
	data, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("record trust: %w", err)
	}
	return replaceFile(t.path, append(data, '\n'), 0o600)
}

// Folders lists the trusted folders.
func (t *TrustStore) Folders() ([]string, error) {
	record, err := t.read()
	if err != nil {
		return nil, err
	}
	var out []string
	for dir, f := range record.Folders {
		if f.Trusted {
			out = append(out, dir)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for dir, trusted := range t.session {
		if trusted {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (t *TrustStore) read() (trustRecord, error) {
	empty := trustRecord{Folders: map[string]trustedFolder{}}
	data, err := readLimited(t.path, MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, fmt.Errorf("read the record of trusted folders: %w", err)
	}
	var record trustRecord
	if err := json.Unmarshal(data, &record); err != nil {
		return empty, fmt.Errorf("read the record of trusted folders: %s: %w; nothing is trusted until it is mended or removed", t.path, err)
	}
	if record.Folders == nil {
		record.Folders = empty.Folders
	}
	return record, nil
}
