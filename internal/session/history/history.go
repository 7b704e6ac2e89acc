// Package history keeps what files were like before a session's tools changed
// them, and brings them back.
//
// Whoever changes a file calls [History.Before] just before and [History.After]
// just after; a prompt sets a checkpoint with [History.Mark]. Going back to a
// checkpoint gives each file that was changed since then the content that it had
// when it was first changed after the checkpoint, and deletes files that were
// created. Going back is itself recorded, so that it can be undone in the same way.
//
// The package knows only changes that it was told of: what commands and other
// programs did to a file is not undone, but it is noticed, and not overwritten
// unless that is asked for. It replaces no file itself: the caller hands it a
// function that does. It knows nothing of conversations.
//
// Layout of its folder (0700; files 0600): index.jsonl, append-only, one change or
// checkpoint a line; blobs/<sha256>, each content once; lock.
package history

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of what is kept.
const (
	// MaxCheckpoints is how many checkpoints are kept; with the oldest its contents
	// are forgotten.
	MaxCheckpoints = 100
	// MaxFileBytes is the largest file whose content is kept.
	MaxFileBytes = 16 << 20
	// MaxTotalBytes bounds all contents together; the oldest checkpoints make room.
	MaxTotalBytes = 1 << 30
	// MaxTitleChars bounds the title of a checkpoint.
	MaxTitleChars = 80
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrInUse: another process keeps the history of this session.
	ErrInUse = errors.New("the file history is in use by another process")
	// ErrNoCheckpoint: there is no such checkpoint, or it is too old.
	ErrNoCheckpoint = errors.New("no such checkpoint")
	// ErrRefused: nothing was changed, since something would be lost or cannot be
	// brought back; see the report, and [RewindOptions.Force].
	ErrRefused = errors.New("not all files can be brought back")
	// ErrIncomplete: some files were brought back and some were not; see the report.
	ErrIncomplete = errors.New("not all files were brought back")
	// ErrClosed: the history was closed.
	ErrClosed = errors.New("the file history is closed")
)

// State is what a file held at one moment. The zero State is "no file".
type State struct {
	Exists bool
	Size   int64 // bytes
	SHA256 [sha256.Size]byte
}

// StateOf is the state of a file that holds data.
func StateOf(data []byte) State {
	return State{Exists: true, Size: int64(len(data)), SHA256: sha256.Sum256(data)}
}

// Kind says what set a checkpoint.
type Kind string

// The kinds of checkpoints.
const (
	KindPrompt Kind = "prompt" // set by Mark
	KindStart  Kind = "start"  // set by the first change, when nothing was marked before
	KindRewind Kind = "rewind" // set by Rewind, right before it changed files
)

// Checkpoint is a moment that can be gone back to.
type Checkpoint struct {
	N     int    // 1, 2, 3 … in order; never used twice in a session
	ID    string // as given to Mark; empty for the other kinds
	Title string
	Kind  Kind
	Time  time.Time
	Files int // how many files were changed after it and before the next one
}

// History is the file history of one session. It is safe for concurrent use.
type History struct {
	dir string

	mu     sync.Mutex
	closed bool
	lock   *os.File
	index  *os.File // nil until there is something to write
	size   int64    // of the index
	floor  int64    // its size after it was last made smaller
	err    error    // the index cannot be written any more

	pending []record // checkpoints from before the folder was made
	points  []*point // oldest first
	last    int      // the highest N
	known   map[string]State
	limits  limits
	sync    func(*os.File) error
	hold    bool // nothing is dropped now
}

type limits struct {
	points      int
	file, total int64
	index       int64
}

// point is a checkpoint with the images of the files first changed after it.
type point struct {
	Checkpoint
	images map[string]image
}

// image is a file as it was before a change.
type image struct {
	State
	mode    os.FileMode
	links   uint64 // its number of names, where more than one
	notKept string // why its content is not kept; empty if it is
	made    string // for no file: the topmost folder that had to be made for it
	foreign bool   // it was not what the tools had left
}

// kept tells whether the image can be brought back.
func (i image) kept() bool { return i.notKept == "" }

// Open reads the history in a folder, which need not exist: it is made by the
// first change. A last line that was being written when a process died is
// dropped. The error is [ErrInUse] while another process has it open.
func Open(dir string) (*History, error) {
	return open(dir, limits{MaxCheckpoints, MaxFileBytes, MaxTotalBytes, compactBytes})
}

func open(dir string, l limits) (*History, error) {
	h := &History{dir: dir, known: map[string]State{}, limits: l, sync: (*os.File).Sync}
	if _, err := os.Stat(h.indexPath()); err == nil {
		if err := h.openFiles(); err != nil {
			h.Close()
			return nil, err
		}
	}
	return h, nil
}

// Close ends the use of the history. It may be called more than once.
func (h *History) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	h.closed = true
	var errs []error
	if h.index != nil {
		errs = append(errs, h.index.Close())
	}
	if h.lock != nil {
		errs = append(errs, h.lock.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing the file history: %w", err)
	}
	return nil
}

// Mark sets a checkpoint. id is the caller's name for the moment, such as that of
// the prompt's message; title is shown to people.
func (h *History) Mark(id, title string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mark(KindPrompt, id, title)
}

func (h *History) mark(kind Kind, id, title string) error {
	if h.closed {
		return ErrClosed
	}
	r := record{T: recMark, N: h.last + 1, ID: id, Title: clip(title), Kind: kind, Time: time.Now().UTC()}
	if h.index == nil {
		// A session that changes no file leaves nothing on disk.
		h.pending = append(h.pending, r)
		if over := len(h.pending) - h.limits.points; over > 0 {
			h.pending = slices.Delete(h.pending, 0, over)
		}
		h.apply(r)
		h.trim()
		return nil
	}
	if err := h.append(false, r); err != nil {
		return err
	}
	return h.tidy()
}

// Before keeps the present state of a file that is about to be created, replaced
// or removed. path is absolute and real. When Before returns, what it kept is on
// disk; if it fails, the file must not be changed. A file that is too large, or not
// a regular file, is noted as not kept, which is no error. Folders that are missing
// now count as made for the file, and go with it; those made before the call stay.
func (h *History) Before(path string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.before(path)
}

func (h *History) before(path string) error {
	if h.closed {
		return ErrClosed
	}
	if !filepath.IsAbs(path) {
		return fmt.Errorf("file history: %s is not an absolute path", path)
	}
	if err := h.openFiles(); err != nil {
		return err
	}
	if len(h.points) == 0 {
		if err := h.mark(KindStart, "", ""); err != nil {
			return err
		}
	}
	_, have := h.points[len(h.points)-1].images[path]
	img, err := h.capture(path, !have)
	if err != nil {
		return fmt.Errorf("keeping the present content of %s: %w", path, err)
	}
	if err := h.append(true, recordOf(recBefore, path, img)); err != nil {
		return err
	}
	return h.tidy()
}

// After records what a change of a file left, so that a later change by somebody
// else is noticed. A change of which this is not told counts as somebody else's.
func (h *History) After(path string, now State) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.after(path, now)
}

func (h *History) after(path string, now State) error {
	if h.closed {
		return ErrClosed
	}
	if _, ok := h.known[path]; !ok {
		return fmt.Errorf("file history: After %s without Before", path)
	}
	return h.append(false, recordOf(recAfter, path, image{State: now}))
}

// Checkpoints lists what can be gone back to, the oldest first.
func (h *History) Checkpoints() []Checkpoint {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]Checkpoint, len(h.points))
	for i, p := range h.points {
		out[i] = p.Checkpoint
		out[i].Files = len(p.images)
	}
	return out
}

// Find gives the checkpoint with a number or, failing that, with an id.
func (h *History) Find(n int, id string) (Checkpoint, error) {
	for _, c := range slices.Backward(h.Checkpoints()) {
		if c.N == n || n == 0 && id != "" && c.ID == id {
			return c, nil
		}
	}
	if n == 0 {
		return Checkpoint{}, fmt.Errorf("%w: %q", ErrNoCheckpoint, id)
	}
	return Checkpoint{}, fmt.Errorf("%w: %d", ErrNoCheckpoint, n)
}

// clip makes one bounded line of a title.
func clip(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > MaxTitleChars {
		return string(r[:MaxTitleChars-1]) + "…"
	}
	return string(r)
}
