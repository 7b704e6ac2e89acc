package sevengate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/sevengate/sevengate/internal/engine/atomicfile"
	"github.com/sevengate/sevengate/internal/session"
	"github.com/sevengate/sevengate/internal/session/history"
)

type (
	// Checkpoint is a moment of a session that its files can be brought back to.
	Checkpoint = history.Checkpoint
	// FileChange is what going back does to one file.
	FileChange = history.Change
	// RewindReport says what going back did.
	RewindReport = history.Report
)

// historyDir is where the file history of a session is kept.
func (r *Runtime) historyDir(id string) string {
	return filepath.Join(r.store.Dir(), id, "file-history")
}

// openHistory opens the file history of the session. Without one, files are changed
// all the same.
func (r *Runtime) openHistory() {
	if r.opts.Ephemeral {
		return
	}
	h, err := history.Open(r.historyDir(r.id))
	if err != nil {
		r.log().Warn("file history is off", "error", err)
		return
	}
	r.history = h
}

func (r *Runtime) log() *slog.Logger {
	if r.opts.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return r.opts.Log
}

// beforeChange keeps a file before a tool changes it.
func (r *Runtime) beforeChange(path string) error {
	if r.history == nil {
		return nil
	}
	err := r.history.Before(path)
	if errors.Is(err, history.ErrInUse) {
		r.log().Warn("a change is not kept in the file history", "path", path, "error", err)
		return nil
	}
	return err
}

// afterChange notes what a tool made of a file, and gives notes for the model.
func (r *Runtime) afterChange(ctx context.Context, out atomicfile.Outcome) (notes []string) {
	if r.history != nil {
		fp := out.Fingerprint
		if err := r.history.After(out.Path, history.State{Exists: true, Size: fp.Size, SHA256: fp.SHA256}); err != nil {
			r.log().Warn("file history", "error", err) // the change will count as somebody else's
		}
	}
	if r.lsp != nil {
		if text := r.lsp.DiagnosticsAfter(ctx, out.Path, 0); text != "" {
			notes = append(notes, text)
		}
	}
	return notes
}

// markHistory sets a checkpoint before a prompt is worked on.
func (r *Runtime) markHistory(title string) error {
	if r.history == nil {
		return nil
	}
	return r.history.Mark(session.NewID(), title)
}

// withHistory hands a session's file history to use: the runtime's own, or that of
// another session of the project, which must not be in use.
func (r *Runtime) withHistory(id string, use func(*history.History) error) error {
	if id == r.id && r.history != nil {
		return use(r.history)
	}
	if !session.ValidID(id) {
		return fmt.Errorf("%w: %q", session.ErrNotFound, id)
	}
	if _, err := os.Stat(filepath.Join(r.store.Dir(), id+".jsonl")); err != nil {
		return fmt.Errorf("%w: %s", session.ErrNotFound, id)
	}
	h, err := history.Open(r.historyDir(id))
	if err != nil {
		return err
	}
	return errors.Join(use(h), h.Close())
}

// Checkpoints lists the moments that a session's files can be brought back to, the
// oldest first.
func (r *Runtime) Checkpoints(id string) (out []Checkpoint, err error) {
	err = r.withHistory(id, func(h *history.History) error {
		out = h.Checkpoints()
		return nil
	})
	return out, err
}

// PlanRewind says what [Runtime.Rewind] would do. Nothing is changed.
func (r *Runtime) PlanRewind(ctx context.Context, id string, to int) (at Checkpoint, changes []FileChange, err error) {
	err = r.withHistory(id, func(h *history.History) error {
		if at, err = chooseCheckpoint(h, to); err != nil {
			return err
		}
		changes, err = h.Plan(ctx, at.N)
		return err
	})
	return at, changes, err
}

// Rewind brings the files that a session's tools changed back to a checkpoint; 0
// means the last one after which files were changed. The conversation stays as it is,
// but what it has read of these files is forgotten. Without force nothing is done if
// a file was changed by something else since, or cannot be brought back. The report
// counts also beside an error.
func (r *Runtime) Rewind(ctx context.Context, id string, to int, force bool) (rep RewindReport, err error) {
	err = r.withHistory(id, func(h *history.History) error {
		at, err := chooseCheckpoint(h, to)
		if err != nil {
			return err
		}
		rep, err = h.Rewind(ctx, at.N, history.RewindOptions{Force: force, Replace: replaceFile})
		return err
	})
	for _, path := range slices.Concat(rep.Done, slices.Collect(maps.Keys(rep.Failed))) {
		r.conv.Files().Forget(path)
	}
	return rep, err
}

func chooseCheckpoint(h *history.History, n int) (Checkpoint, error) {
	if n != 0 {
		return h.Find(n, "")
	}
	for _, c := range slices.Backward(h.Checkpoints()) {
		if c.Files > 0 && c.Kind != history.KindRewind {
			return c, nil
		}
	}
	return Checkpoint{}, fmt.Errorf("%w: no file was changed through the tools in this session", history.ErrNoCheckpoint)
}

func replaceFile(ctx context.Context, path string, data []byte, now history.State) error {
	_, err := atomicfile.Replace(ctx, path, data, atomicfile.Options{
		Expect: &atomicfile.Fingerprint{Exists: now.Exists, Size: now.Size, SHA256: now.SHA256}, ResolvedMustBe: path})
	return err
}
