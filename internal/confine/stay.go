package confine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Stay is one command's time in the sandbox.
type Stay struct {
	// Words come before the command's own; the first is an absolute path.
	Words []string

	k     *Keeper
	w     *walls
	held  []string
	bare  []string // working directories that are repositories by themselves
	since int
	once  sync.Once
	found Findings
}

// Findings is what should be told when a command has ended.
type Findings struct {
	// Refused are hosts, each with the reason.
	Refused []string
	// Removed are paths that the command made and that no command may make, each
	// with the place where it is now.
	Removed []string
}

// Enter lets a command into the sandbox: the caller starts it with Words, and calls
// Leave when it has ended. An error means that the command must not run.
func (k *Keeper) Enter(ctx context.Context) (*Stay, error) {
	w := k.now(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case w.err != nil:
		return nil, fmt.Errorf("the command was not run: it was to run in the sandbox, but there is none: %w", w.err)
	case w.sandbox == nil:
		return nil, errors.New("the command was not run: it was to run in the sandbox, but sandbox.enabled has just been switched off; call again")
	}
	s := &Stay{k: k, w: w, since: k.refused.now()}
	if !w.options.filesOpen {
		var err error
		if s.held, err = k.holds.take(w.roots); err != nil {
			return nil, fmt.Errorf("the command was not run: %w", err)
		}
		for _, root := range w.roots {
			if isRepository(root) {
				s.bare = append(s.bare, root)
			}
		}
	}
	words, err := w.sandbox.Wrap()
	if err != nil {
		k.holds.release(s.held)
		return nil, fmt.Errorf("the command was not run: %w", err)
	}
	s.Words = words
	w.users++
	return s, nil
}

// Leave ends the stay and tells what came of it. Where something that the command
// started still runs, the walls stay up for it. Later calls give the same answer.
func (s *Stay) Leave(stillRuns bool) Findings {
	if s == nil {
		return Findings{}
	}
	s.once.Do(func() {
		s.k.mu.Lock()
		defer s.k.mu.Unlock()
		s.found.Refused = s.k.refused.since(s.since)
		if !s.w.options.filesOpen {
			s.found.Removed = s.k.sweep(s.w, s.bare)
		}
		if !stillRuns {
			s.k.holds.release(s.held)
			s.w.users--
			s.k.dropOld()
		}
	})
	return s.found
}

// Worth drops what the settings call not worth telling about a command.
func (s *Stay) Worth(command string, f Findings) Findings {
	if s != nil {
		f.Refused = s.w.options.ignores(command, slices.Clone(f.Refused))
	}
	return f
}

// holds are empty folders under the names of our own settings where those do not
// exist: what is there can be covered, so no command can make them. They are
// removed when no command needs them any more.
type holds struct {
	count map[string]int
}

// take holds the names in the working directories.
func (h *holds) take(roots []string) (held []string, err error) {
	if h.count == nil {
		h.count = map[string]int{}
	}
	for _, root := range roots {
		for _, name := range ownSettings {
			path := filepath.Join(root, name)
			if h.count[path] == 0 {
				ours, err := hold(path)
				if err != nil {
					h.release(held)
					return nil, fmt.Errorf("keeping the name %s free: %w", path, err)
				}
				if !ours {
					continue
				}
			}
			h.count[path]++
			held = append(held, path)
		}
	}
	return held, nil
}

// hold makes an empty folder; false: something of the user's is there, or nothing
// can be made there.
func hold(path string) (bool, error) {
	err := os.Mkdir(path, 0o755)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrPermission), isReadOnly(err), errors.Is(err, fs.ErrNotExist):
		return false, nil
	case !errors.Is(err, fs.ErrExist):
		return false, err
	}
	// An empty folder in place of a file was left by a program that was killed.
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && filepath.Base(path) == ".mcp.json", nil
}

func (h *holds) release(held []string) {
	for _, path := range held {
		if h.count[path]--; h.count[path] <= 0 {
			delete(h.count, path)
			_ = os.Remove(path) // an empty folder, or nothing
		}
	}
}

func (h *holds) releaseAll() {
	for path := range h.count {
		delete(h.count, path)
		_ = os.Remove(path)
	}
}

// sweep puts aside what appeared under names that are closed. k.mu is held.
func (k *Keeper) sweep(w *walls, bare []string) (removed []string) {
	for _, path := range w.sandbox.Appeared() {
		if k.holds.count[path] > 0 || harmless(path) {
			continue
		}
		removed = append(removed, k.putAside(path))
	}
	for _, root := range w.roots {
		if !slices.Contains(bare, root) && isRepository(root) {
			removed = append(removed, k.putAside(filepath.Join(root, "HEAD")))
		}
		for _, link := range gitLinks(root) {
			if slices.Contains(w.repos, link) {
				continue
			}
			if !harmlessRepository(link) {
				removed = append(removed, k.putAside(link))
				continue
			}
			w.repos = append(w.repos, link)
			w.stale = true // from now on its hooks and configuration are closed
		}
	}
	return removed
}

// putAside moves a path to where nothing reads it, and says where.
func (k *Keeper) putAside(path string) string {
	dir := filepath.Join(k.cfg.State, "sandbox-leftovers")
	if err := os.MkdirAll(dir, 0o700); err == nil {
		if into, err := os.MkdirTemp(dir, ""); err == nil {
			target := filepath.Join(into, filepath.Base(path))
			if err := os.Rename(path, target); err == nil {
				return path + " (now " + target + ")"
			}
			_ = os.Remove(into)
		}
	}
	// Another file system.
	for i := 1; i < 1000; i++ {
		target := fmt.Sprintf("%s.from-sandbox-%d", path, i)
		if _, err := os.Lstat(target); err == nil {
			continue
		}
		if err := os.Rename(path, target); err != nil {
			k.cfg.Log.Error("putting aside what a sandboxed command made", "path", path, "error", err)
			return path + " (it could not be moved away: " + err.Error() + ")"
		}
		return path + " (now " + target + ")"
	}
	return path + " (it could not be moved away)"
}
