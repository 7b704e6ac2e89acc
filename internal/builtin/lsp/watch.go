package lsp

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sevengate/sevengate/internal/engine/lspclient"
)

// Limits of the look at a project's files before a question. Beyond them changes of
// files that are not open may stay unknown to the server.
const (
	maxWatched  = 20_000
	maxScanTime = 2 * time.Second
)

// watch remembers the files of a project that its server cares for, so that the
// server can be told what changed: servers leave watching to their clients.
type watch struct {
	mu    sync.Mutex
	files map[string]stamp
}

type stamp struct {
	size int64
	time int64
}

// skipped are folders that no server is told of.
var skipped = []string{".git", "node_modules", "target", "__pycache__", ".venv", "venv"}

// scan looks at the files and tells what changed since the last time.
func (w *watch) scan(ctx context.Context, root string, spec Server) map[string]lspclient.FileChange {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, maxScanTime)
	defer cancel()
	now := map[string]stamp{}
	complete := true
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil || len(now) >= maxWatched {
			complete = false
			return fs.SkipAll
		}
		if err != nil {
			return nil // what cannot be entered is left out
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && slices.Contains(skipped, name) {
				return fs.SkipDir
			}
			return nil
		}
		_, ours := spec.Languages[strings.ToLower(filepath.Ext(name))]
		if !ours && !slices.Contains(spec.RootMarkers, name) || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			now[path] = stamp{info.Size(), info.ModTime().UnixNano()}
		}
		return nil
	})
	changes := map[string]lspclient.FileChange{}
	for path, st := range now {
		if old, ok := w.files[path]; !ok {
			changes[path] = lspclient.Created
		} else if old != st {
			changes[path] = lspclient.Changed
		}
	}
	for path, st := range w.files {
		if _, ok := now[path]; ok {
			continue
		}
		if complete {
			changes[path] = lspclient.Deleted
		} else {
			now[path] = st
		}
	}
	w.files = now
	return changes
}
