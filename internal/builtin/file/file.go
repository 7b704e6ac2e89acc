// Package file is the family of tools that read and change single files: Read,
// Write, Edit and NotebookEdit.
//
// A change is made only of what the conversation has seen: a file is read before
// it is edited or overwritten, and what changed on disk since then is noticed by
// its content, not by a clock. Files are replaced whole or not at all, in their
// own encoding and with their own line endings.
//
// The family decides nothing about permission except that what may not be read
// may not be edited either, and that a path must still lead where it led when the
// permission was decided. Finding files and searching in them is not its work.
package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sevengate/sevengate/internal/engine/atomicfile"
	"github.com/sevengate/sevengate/tool"
)

// Limits of the family.
const (
	// DefaultMaxReadTokens bounds the text that one Read returns, in estimated tokens.
	DefaultMaxReadTokens = 25_000
	// MaxLineChars is how many characters of one line are shown.
	MaxLineChars = 2_000
	// MaxEditBytes is the largest file that is edited or overwritten.
	MaxEditBytes = 256 << 20
	// maxHashBytes is the largest file that Read identifies by its whole content;
	// larger ones are known by size and time.
	maxHashBytes = 64 << 20
	// maxPatchBytes is the largest text of which a patch is computed.
	maxPatchBytes = 16 << 20
	// maxOriginalBytes is the largest old text that goes into an output.
	maxOriginalBytes = 1 << 20
	// maxPreviewBytes is the largest file that a preview for a person looks at.
	maxPreviewBytes = 1 << 20
	// updateTries is how often a change is tried when somebody else writes the
	// file at the same moment.
	updateTries = 4
)

// Deps is what the family needs from the program around it. The zero value is
// usable.
type Deps struct {
	// ReadDenied tells whether a rule forbids reading an absolute path. It is asked
	// for the path as given and for the real one. Nil forbids nothing.
	ReadDenied func(path string) bool
	// MaxReadTokens replaces [DefaultMaxReadTokens]; 0 keeps it.
	MaxReadTokens int
	// BeforeChange is called with the real path just before a file is created or
	// replaced, while no other call can write it; an error stops the change. It must
	// not write files of the same directory. May be nil.
	BeforeChange func(path string) error
	// AfterChange is called when a file was created or replaced. What it returns is
	// added to the result as notes. May be nil.
	AfterChange func(ctx context.Context, out atomicfile.Outcome) (notes []string)
}

// New makes the tools: Read, Write, Edit and NotebookEdit.
func New(d Deps) []tool.Tool {
	if d.MaxReadTokens <= 0 {
		d.MaxReadTokens = DefaultMaxReadTokens
	}
	f := &family{deps: d}
	return []tool.Tool{f.readTool(), f.writeTool(), f.editTool(), f.notebookTool()}
}

type family struct {
	deps    Deps
	checked checkedPaths
}

// target is a path of a call and where it leads.
type target struct {
	given string // absolute
	real  string // with every link followed
}

// locate finds where a path leads now. The path is refused where it led elsewhere
// when the permission for this call was decided.
func (f *family) locate(path string, env *tool.Env) (target, error) {
	t := target{given: env.Abs(path)}
	if !filepath.IsAbs(t.given) {
		return t, fmt.Errorf("%s is a relative path and no working directory is known; give an absolute path", path)
	}
	var err error
	if t.real, err = atomicfile.Resolve(t.given); err != nil {
		return t, err
	}
	if was, ok := f.checked.get(env, t.given); ok && was != t.real {
		return t, fmt.Errorf("%s leads to %s now, but to %s when permission was given; nothing was done, make the call again if this is meant", t.given, t.real, was)
	}
	return t, nil
}

// denied tells whether reading the target is forbidden, by either of its names.
func (f *family) denied(t target) bool {
	d := f.deps.ReadDenied
	return d != nil && (d(t.given) || d(t.real))
}

// remember is the CheckPermissions of the family: it has no opinion, but notes
// where the path leads, so that a link planted while a person thinks is not
// followed.
func (f *family) remember(path string, env *tool.Env) tool.Verdict {
	if env != nil && env.ToolUseID != "" {
		given := env.Abs(path)
		if real, err := atomicfile.Resolve(given); err == nil {
			f.checked.put(env, given, real)
		}
	}
	return tool.Verdict{}
}

// maxChecked bounds the calls of which the checked path is remembered. Calls wait
// for their turn in far smaller numbers.
const maxChecked = 512

// checkedPaths remembers where the paths of waiting calls led when permission was
// decided. It forgets the oldest.
type checkedPaths struct {
	mu    sync.Mutex
	paths map[checkedKey]string
	order []checkedKey
}

type checkedKey struct{ session, agent, call, given string }

func keyOf(env *tool.Env, given string) checkedKey {
	return checkedKey{env.SessionID, env.AgentID, env.ToolUseID, given}
}

func (c *checkedPaths) put(env *tool.Env, given, real string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paths == nil {
		c.paths = map[checkedKey]string{}
	}
	key := keyOf(env, given)
	if _, ok := c.paths[key]; !ok {
		if len(c.order) >= maxChecked {
			delete(c.paths, c.order[0])
			c.order = c.order[1:]
		}
		c.order = append(c.order, key)
	}
	c.paths[key] = real
}

func (c *checkedPaths) get(env *tool.Env, given string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	real, ok := c.paths[keyOf(env, given)]
	return real, ok
}

// change replaces the content of a target by what edit makes of it. edit may run
// several times: once more for each time that somebody else wrote the file in the
// last moment.
func (f *family) change(ctx context.Context, t target, edit func(old []byte, exists bool) ([]byte, error)) (atomicfile.Outcome, error) {
	if info, err := os.Lstat(t.real); err == nil {
		if info.IsDir() {
			return atomicfile.Outcome{}, fmt.Errorf("%s is a directory; give the path of a file in it", t.given)
		}
		if info.Mode().IsRegular() && info.Size() > MaxEditBytes {
			return atomicfile.Outcome{}, fmt.Errorf("%s has %s; files of up to %s are changed here, use a program for larger ones", t.given, human(info.Size()), human(MaxEditBytes))
		}
	}
	for try := 1; ; try++ {
		out, err := atomicfile.Update(ctx, t.given, atomicfile.Options{ResolvedMustBe: t.real}, func(old []byte, exists bool) ([]byte, error) {
			data, err := edit(old, exists)
			if err == nil && f.deps.BeforeChange != nil {
				if err := f.deps.BeforeChange(t.real); err != nil {
					return nil, fmt.Errorf("%s was not changed, since its present state could not be kept first: %w", t.given, err)
				}
			}
			return data, err
		})
		if err == nil && f.deps.AfterChange != nil {
			out.Warnings = append(out.Warnings, f.deps.AfterChange(ctx, out)...)
		}
		if err == nil || try == updateTries || !errors.Is(err, atomicfile.ErrChanged) {
			return out, err
		}
	}
}

// missing is the error for a file that is not there, with names that may be meant.
func (f *family) missing(t target, env *tool.Env) error {
	msg := fmt.Sprintf("%s does not exist.", t.given)
	if env.Cwd != "" {
		msg += fmt.Sprintf(" The working directory is %s.", env.Cwd)
	}
	if names := f.similar(t); len(names) > 0 {
		msg += " Did you mean " + strings.Join(names, " or ") + "?"
	}
	return &missingError{msg}
}

type missingError struct{ msg string }

func (e *missingError) Error() string { return e.msg }
func (e *missingError) Unwrap() error { return fs.ErrNotExist }

// Bounds of the search for similar names, which serves only the error's words.
const (
	maxSimilar     = 3
	maxSimilarScan = 5_000
)

// similar finds names beside the target that differ in letter case or extension.
func (f *family) similar(t target) []string {
	dir, err := os.Open(filepath.Dir(t.real))
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxSimilarScan)
	base := filepath.Base(t.given)
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	var out []string
	for _, name := range names {
		if !strings.EqualFold(name, base) && (stem == "" || !strings.EqualFold(strings.TrimSuffix(name, filepath.Ext(name)), stem)) {
			continue
		}
		found := target{filepath.Join(filepath.Dir(t.given), name), filepath.Join(filepath.Dir(t.real), name)}
		if info, err := os.Lstat(found.real); err != nil || !info.Mode().IsRegular() || f.denied(found) {
			continue
		}
		if out = append(out, found.given); len(out) == maxSimilar {
			break
		}
	}
	return out
}

// human writes a number of bytes for people and models.
func human(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}

// counted writes a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func isNotebook(path string) bool { return strings.EqualFold(filepath.Ext(path), ".ipynb") }
