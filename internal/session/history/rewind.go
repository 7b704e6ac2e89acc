package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

// maxCountBytes is the largest content whose changed lines are counted.
const maxCountBytes = 1 << 20

// Action is what going back does to a file.
type Action string

// The actions.
const (
	Restore Action = "restore" // it gets its earlier content
	Delete  Action = "delete"  // it did not exist
	Keep    Action = "keep"    // nothing is done
)

// Change is what going back does, or would do, to one file.
type Change struct {
	Path   string
	Action Action
	// Note says in a sentence what a person should know; often empty.
	Note string
	// Conflict: the file is not as the session's tools left it, so that something
	// of somebody else's would be lost. It is done only with force.
	Conflict bool
	// Unable: the file cannot be brought back, with or without force.
	Unable bool
	// Insertions and Deletions count the lines of the change; 0 for binary and large
	// files.
	Insertions, Deletions int

	now, to image
}

// ReplaceFunc gives a file a new content, whole or not at all, and creates missing
// folders. path is absolute and real and must still lead to itself. now is what the
// file holds at present; if it does not, nothing must be written.
type ReplaceFunc func(ctx context.Context, path string, data []byte, now State) error

// RewindOptions say how to go back.
type RewindOptions struct {
	// Force goes back also where a file was changed by somebody else since, and
	// where other files cannot be brought back.
	Force bool
	// Replace writes a file. Required.
	Replace ReplaceFunc
}

// Report says what going back did.
type Report struct {
	Checkpoint Checkpoint
	Changes    []Change // all files that were changed since, by path
	// Done are the paths that were brought back or deleted, and Failed those that
	// were not, with the reason.
	Done   []string
	Failed map[string]string
	// Insertions and Deletions count the lines of what was done.
	Insertions, Deletions int
	// Undo is the checkpoint to go back to in order to undo this; 0 if nothing was
	// done.
	Undo int
}

// Plan says what going back to a checkpoint would do. Nothing is changed.
func (h *History) Plan(ctx context.Context, n int) ([]Change, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, changes, err := h.plan(ctx, n)
	return changes, err
}

func (h *History) plan(ctx context.Context, n int) (*point, []Change, error) {
	if h.closed {
		return nil, nil, ErrClosed
	}
	from := slices.IndexFunc(h.points, func(p *point) bool { return p.N == n })
	if from < 0 {
		return nil, nil, fmt.Errorf("%w: %d", ErrNoCheckpoint, n)
	}
	first := map[string]image{}
	for _, p := range h.points[from:] {
		for path, img := range p.images {
			if _, ok := first[path]; !ok {
				first[path] = img
			}
		}
	}
	var out []Change
	for _, path := range slices.Sorted(maps.Keys(first)) {
		if err := ctx.Err(); err != nil {
			return nil, nil, context.Cause(ctx)
		}
		out = append(out, h.changeOf(path, first[path]))
	}
	return h.points[from], out, nil
}

// changeOf decides what becomes of one file.
func (h *History) changeOf(path string, to image) Change {
	c := Change{Path: path, Action: Keep, to: to}
	unable := func(format string, args ...any) Change {
		c.Action, c.Unable, c.Note = Keep, true, fmt.Sprintf(format, args...)
		return c
	}
	if to.notKept == notRegular {
		return unable("its earlier state was not kept, since %s", to.notKept)
	}
	if real, ok := leadsToItself(path); !ok {
		return unable("a folder above it is a link now, and leads to %s", real)
	}
	now, data, err := look(path, h.limits.file)
	switch {
	case err != nil:
		return unable("it cannot be looked at: %v", err)
	case now.notKept == notRegular:
		return unable("there is something else in its place now: a folder, a link or a device")
	}
	c.now = now
	if now.State == to.State {
		c.Note = "it is already as it was"
		return c
	}
	if !to.kept() {
		return unable("its earlier content was not kept, since %s", to.notKept)
	}
	c.Action = Delete
	var earlier []byte
	if to.Exists {
		c.Action = Restore
		if earlier, err = h.loadBlob(to.State); err != nil {
			return unable("%v", err)
		}
	}
	if now.kept() {
		c.Insertions, c.Deletions = countLines(data, earlier)
	}
	var notes []string
	if now.State != h.known[path] {
		c.Conflict = true
		what := "it was changed by a command or another program since the last change through the tools"
		switch {
		case !now.Exists:
			what = "it was removed by a command or another program"
		case !h.known[path].Exists:
			what = "it was created by a command or another program since"
		}
		notes = append(notes, what)
	}
	if to.foreign {
		notes = append(notes, "another program had changed it before the tools did; it comes back as the tools found it")
	}
	if now.links > 1 {
		notes = append(notes, fmt.Sprintf("the file has %d names (hard links)", now.links))
	}
	c.Note = strings.Join(notes, "; ")
	return c
}

// leadsToItself tells whether no folder above a path is a link. Missing folders are
// none.
func leadsToItself(path string) (real string, ok bool) {
	dir := filepath.Dir(path)
	for {
		real, err := filepath.EvalSymlinks(dir)
		switch {
		case err == nil:
			return real, real == dir
		case !absent(err):
			return "a place that cannot be entered", false
		}
		// A link that leads nowhere is not a missing folder.
		if _, err := os.Lstat(dir); err == nil {
			return "nowhere", false
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", true
		}
		dir = up
	}
}

// countLines counts the lines that a change puts in and takes out.
func countLines(now, to []byte) (insertions, deletions int) {
	if len(now) > maxCountBytes || len(to) > maxCountBytes || bytes.IndexByte(now, 0) >= 0 || bytes.IndexByte(to, 0) >= 0 {
		return 0, 0
	}
	lines := func(s string) int {
		n := strings.Count(s, "\n")
		if s != "" && !strings.HasSuffix(s, "\n") {
			n++
		}
		return n
	}
	before := string(now)
	for _, e := range udiff.Lines(before, string(to)) {
		deletions += lines(before[e.Start:e.End])
		insertions += lines(e.New)
	}
	return insertions, deletions
}

// Rewind goes back to a checkpoint. Without force, nothing is done if any file has
// a conflict or cannot be brought back: then the error is [ErrRefused]. Where some
// files were not brought back, the error is [ErrIncomplete]. The report counts in
// both cases. A checkpoint is set first, so that going back can be undone.
func (h *History) Rewind(ctx context.Context, n int, o RewindOptions) (Report, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o.Replace == nil {
		return Report{}, errors.New("going back: RewindOptions.Replace is missing")
	}
	p, changes, err := h.plan(ctx, n)
	if err != nil {
		return Report{}, err
	}
	rep := Report{Checkpoint: p.Checkpoint, Changes: changes, Failed: map[string]string{}}
	rep.Checkpoint.Files = len(p.images)
	conflicts, unable, todo := 0, 0, 0
	for _, c := range changes {
		switch {
		case c.Unable:
			unable++
			rep.Failed[c.Path] = c.Note
		case c.Conflict:
			conflicts++
		}
		if c.Action != Keep {
			todo++
		}
	}
	if !o.Force && conflicts+unable > 0 {
		return rep, fmt.Errorf("%w: %d changed by something else since, %d without earlier content; nothing was done (force goes back with the rest)", ErrRefused, conflicts, unable)
	}
	if todo > 0 {
		if err := h.openFiles(); err != nil {
			return rep, err
		}
		// The new checkpoint must not push out the one to go back to.
		h.hold = true
		defer func() {
			h.hold = false
			_ = h.tidy() // the next change tries again
		}()
		title := fmt.Sprintf("before going back to %d", n)
		if err := h.mark(KindRewind, "", title); err != nil {
			return rep, err
		}
		rep.Undo = h.last
	}
	// What was made for any of the files was not there, whichever file is deleted now.
	var emptied []string
	for _, c := range changes {
		emptied = append(emptied, madeFolders(c.Path, c.to.made)...)
	}
	for _, c := range changes {
		if c.Action == Keep {
			continue
		}
		err := context.Cause(ctx)
		if err == nil {
			err = h.carryOut(ctx, c, o.Replace)
		}
		if err != nil {
			rep.Failed[c.Path] = err.Error()
			continue
		}
		rep.Done = append(rep.Done, c.Path)
		rep.Insertions += c.Insertions
		rep.Deletions += c.Deletions
	}
	// The deepest first; what is not empty stays.
	slices.SortFunc(emptied, func(a, b string) int { return len(b) - len(a) })
	for _, dir := range slices.Compact(emptied) {
		if len(rep.Done) > 0 {
			_ = os.Remove(dir)
		}
	}
	if len(rep.Failed) > 0 {
		return rep, fmt.Errorf("%w: %d of %d were not", ErrIncomplete, len(rep.Failed), len(rep.Failed)+len(rep.Done))
	}
	return rep, nil
}

// carryOut changes one file and records it.
func (h *History) carryOut(ctx context.Context, c Change, replace ReplaceFunc) error {
	if err := h.before(c.Path); err != nil {
		return err
	}
	if h.known[c.Path] != c.now.State {
		return errors.New("it was changed at this very moment by another program")
	}
	if c.Action == Restore {
		data, err := h.loadBlob(c.to.State)
		if err != nil {
			return err
		}
		if err := replace(ctx, c.Path, data, c.now.State); err != nil {
			return err
		}
		if !c.now.Exists {
			if err := os.Chmod(c.Path, c.to.mode); err != nil {
				return fmt.Errorf("its content is back, but not its mode: %w", err)
			}
		}
		return h.after(c.Path, c.to.State)
	}
	if err := os.Remove(c.Path); err != nil {
		return fmt.Errorf("it could not be deleted: %w", err)
	}
	return h.after(c.Path, State{})
}

// madeFolders lists the folders that were made for a file.
func madeFolders(path, made string) (out []string) {
	if made == "" {
		return nil
	}
	for dir := filepath.Dir(path); len(dir) >= len(made); dir = filepath.Dir(dir) {
		out = append(out, dir)
	}
	return out
}
