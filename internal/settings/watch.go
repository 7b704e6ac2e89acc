package settings

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

const (
	// PollInterval is how often Run looks for changes.
	PollInterval = time.Second
	// racyWindow is how long after a change a file's time alone proves nothing: a second change within the clock's
	// grain may leave it as it is. Until then contents are compared.
	racyWindow = 2 * time.Second
)

// Watcher keeps the settings of a session current. Every call of Current makes sure that nothing changed, by asking the
// kernel (Linux) or by looking at the files themselves (a stat each, some ten in all), so a change counts from the next
// call on and folders that appear later are seen. It runs nothing in the background by itself. It is safe for
// concurrent use. Close it.
type Watcher struct {
	layout *layout

	mu      sync.Mutex
	current *Snapshot
	prints  []fingerprint
	quiet   quiet
}

// Close gives back what the watcher holds of the system. Current may still be called.
func (w *Watcher) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quiet.close()
}

// NewWatcher loads the settings for the first time; errors are those of Load.
func NewWatcher(ctx context.Context, o Options) (*Watcher, error) {
	s, err := Load(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Watcher{layout: s.layout, current: s, prints: s.prints}, nil
}

// Current returns what the files say now; the same snapshot as long as nothing changed. Where they could not be loaded
// at the start of a session (a managed file that does not parse), the last good snapshot stays, with the problem added
// and the source of it broken.
func (w *Watcher) Current(ctx context.Context) *Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.quiet.still(time.Now()) {
		return w.current
	}
	w.quiet.arm(w.layout.dependencies(), time.Now())
	now := w.layout.fingerprints(w.prints)
	if !changed(w.prints, now) {
		w.prints = now
		return w.current
	}
	if next, err := w.layout.load(ctx, w.current); err == nil {
		w.current, w.prints = next, next.prints
	} else if ctx.Err() == nil {
		w.current, w.prints = w.current.stale(w.layout, err), now
	}
	return w.current
}

// Run calls onChange with the snapshot before and after each change, until ctx ends; it returns once the last call has.
// A snapshot that Current found first is reported too.
func (w *Watcher) Run(ctx context.Context, onChange func(before, after *Snapshot)) {
	w.mu.Lock()
	before := w.current
	w.mu.Unlock()
	tick := time.NewTicker(PollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if after := w.Current(ctx); after != before {
			onChange(before, after)
			before = after
		}
	}
}

// Trust returns the record of trusted folders that the watcher uses.
func (w *Watcher) Trust() *TrustStore { return w.layout.Trust }

// stale is the snapshot with the reason why there is no newer one.
func (s *Snapshot) stale(l *layout, err error) *Snapshot {
	next := *s
	next.broken = map[Source]bool{PolicySettings: true}
	for src := range s.broken {
		next.broken[src] = true
	}
	p := Problem{Source: PolicySettings, Text: fmt.Sprintf("settings were not read again: %v", err)}
	if l.Flag != "" {
		next.broken[FlagSettings] = true
	}
	next.Problems = append(slices.DeleteFunc(slices.Clone(s.Problems), func(q Problem) bool { return q.Source == PolicySettings }), p)
	return &next
}

// fingerprint is what a look at a file shows.
type fingerprint struct {
	path string
	info fs.FileInfo // nil: absent
	sum  [sha256.Size]byte
	racy bool
}

// dependencies lists every path that a snapshot depends on.
func (l *layout) dependencies() []string {
	paths := []string{l.Trust.path}
	for _, dir := range l.ManagedDirs {
		paths = append(paths, filepath.Join(dir, managedDropins))
	}
	places, err := l.places()
	if err != nil {
		paths = append(paths, err.Error()) // a folder that cannot be listed is a state of its own
	}
	for _, p := range places {
		if p.path != "" {
			paths = append(paths, p.path)
		}
	}
	return paths
}

// fingerprints looks at everything that a snapshot depends on. last is the look before.
func (l *layout) fingerprints(last []fingerprint) []fingerprint {
	paths := l.dependencies()
	out := make([]fingerprint, 0, len(paths))
	for i, p := range paths {
		f := fingerprint{path: p}
		compare := i < len(last) && last[i].path == p && last[i].racy
		if info, err := os.Stat(p); err == nil {
			f.info = info
			f.racy = time.Since(info.ModTime()) < racyWindow && info.Mode().IsRegular()
			if f.racy || compare {
				if data, err := readLimited(p, MaxFile); err == nil {
					f.sum = sha256.Sum256(data)
				}
			}
		}
		out = append(out, f)
	}
	return out
}

func changed(before, after []fingerprint) bool {
	return !slices.EqualFunc(before, after, func(a, b fingerprint) bool {
		if a.path != b.path || (a.info == nil) != (b.info == nil) {
			return false
		}
		if a.info == nil {
			return true
		}
		if !os.SameFile(a.info, b.info) || !a.info.ModTime().Equal(b.info.ModTime()) || a.info.Size() != b.info.Size() || a.info.Mode() != b.info.Mode() {
			return false
		}
		return !a.racy || a.sum == b.sum
	})
}
