package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sevengate/sevengate/internal/engine/atomicfile"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/internal/engine/textedit"
	"github.com/sevengate/sevengate/tool"
)

// Bounds of a preview.
const (
	maxPreviewFiles = 5
	maxPreviewBytes = 1 << 20
	// maxShownEdits and maxShownBytes bound the edits that are remembered as shown,
	// shownAge how long.
	maxShownEdits = 32
	maxShownBytes = 32 << 20
	shownAge      = time.Hour
)

// sedEdit is what a sed -i would do to files.
type sedEdit struct {
	files []fileEdit
	diff  string
}

// fileEdit is the change of one file.
type fileEdit struct {
	path    string // to open
	name    string // to show
	old     atomicfile.Fingerprint
	content string
	changed bool
}

// preview shows a person what a sed -i would change, as the edit of files that it
// is, and remembers that it was shown. Of anything else there is nothing to see but
// the command.
func (f *family) preview(in BashInput, at tool.Place) tool.Rendering {
	r := tool.Rendering{Summary: visible(in.Description), Detail: visible(in.Command)}
	m := in.understood()
	edit, ok := editOf(m.script)
	if !ok {
		return r
	}
	f.edits.put(shownEdit{command: in.Command, cwd: at.Cwd, call: m, edit: edit, at: time.Now()})
	if edit.diff == "" {
		r.Summary = "the command would change nothing"
		return r
	}
	return tool.Rendering{Summary: shown(in.Command), Detail: edit.diff, Format: tool.FormatDiff}
}

// editOf works out the edit that a command line is. ok is false for all that is
// more, or less, than a sed -i whose work is understood.
func editOf(script *shellscan.Script) (sedEdit, bool) {
	if script.Class != shellscan.Simple || len(script.Commands) != 1 {
		return sedEdit{}, false
	}
	c := &script.Commands[0]
	edit := c.FileEdit
	if edit == nil || c.Nesting != 0 || len(c.Redirs) > 0 || len(c.Assigns) > 0 || len(c.Wrappers) > 0 || edit.Suffix != "" {
		return sedEdit{}, false
	}
	steps, ok := parseSed(edit.Script, edit.Extended)
	if !ok || edit.Quiet || len(edit.Files) == 0 || len(edit.Files) > maxPreviewFiles {
		return sedEdit{}, false
	}
	var out sedEdit
	var diff strings.Builder
	for _, p := range edit.Files {
		if p.Known != shellscan.Literal || slices.ContainsFunc(out.files, func(e fileEdit) bool { return e.path == p.Raw }) {
			return sedEdit{}, false
		}
		// sed puts a file in the place of a link; that is not the edit of a file.
		if info, err := os.Lstat(p.Raw); err != nil || !info.Mode().IsRegular() || !filepath.IsAbs(p.Raw) {
			return sedEdit{}, false
		}
		data, print, err := atomicfile.Read(p.Raw, maxPreviewBytes)
		if err != nil {
			return sedEdit{}, false
		}
		old := string(data)
		changed, ok := applySed(old, steps)
		if !ok {
			return sedEdit{}, false
		}
		e := fileEdit{path: p.Raw, name: p.Text, old: print, content: changed, changed: changed != old}
		if e.changed {
			diff.WriteString(textedit.Unified(p.Text, old, changed))
		}
		out.files = append(out.files, e)
	}
	out.diff = diff.String()
	return out, true
}

// shownEdit is an edit that a person was shown for a call.
type shownEdit struct {
	command, cwd string
	call         *meaning // tells bound calls apart
	edit         sedEdit
	at           time.Time
}

func (e *shownEdit) of(command, cwd string) bool { return e.command == command && e.cwd == cwd }

// same tells whether both start from the same files.
func (e *shownEdit) same(o *shownEdit) bool {
	return slices.EqualFunc(e.edit.files, o.edit.files, func(a, b fileEdit) bool { return a.path == b.path && a.old.SameContent(b.old) })
}

// shownEdits remembers what was shown until its call runs. A model cannot reach it
// by any input: it holds what previews put into it only. It is safe for concurrent
// use and bounded; what is forgotten runs as a command.
type shownEdits struct {
	mu   sync.Mutex
	list []shownEdit // the newest last
}

// put remembers what was shown last for a call. What was shown before, of files
// that have changed since, is forgotten.
func (s *shownEdits) put(e shownEdit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(o shownEdit) bool {
		return o.call == e.call || o.of(e.command, e.cwd) && !o.same(&e) || e.at.Sub(o.at) > shownAge
	})
	s.list = append(s.list, e)
	size := 0
	for i := len(s.list) - 1; i >= 0; i-- {
		for _, f := range s.list[i].edit.files {
			size += len(f.content)
		}
		if len(s.list)-i > maxShownEdits || size > maxShownBytes {
			s.list = slices.Delete(s.list, 0, i+1)
			return
		}
	}
}

// take gives the edit that was shown for a call, once.
func (s *shownEdits) take(command, cwd string) (sedEdit, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.list) - 1; i >= 0; i-- {
		if e := s.list[i]; e.of(command, cwd) {
			s.list = slices.Delete(s.list, i, i+1)
			return e.edit, time.Since(e.at) <= shownAge
		}
	}
	return sedEdit{}, false
}

// applyShown makes an edit as it was shown: the files are as they were then, or
// nothing is changed.
func (f *family) applyShown(ctx context.Context, edit sedEdit) (BashOutput, error) {
	var none BashOutput
	stale := func(name string) error {
		return fmt.Errorf("%s has changed since the edit was shown to the person who agreed to it; look at it again and call again", name)
	}
	for _, e := range edit.files {
		_, now, err := atomicfile.Read(e.path, maxPreviewBytes)
		if err != nil || !now.SameContent(e.old) {
			return none, fmt.Errorf("the command was not run: %w", stale(e.name))
		}
	}
	var done, notes []string
	for _, e := range edit.files {
		if !e.changed {
			continue
		}
		if f.deps.BeforeChange != nil {
			real, err := filepath.EvalSymlinks(e.path)
			if err == nil {
				err = f.deps.BeforeChange(real)
			}
			if err != nil {
				return none, fmt.Errorf("the edit was not made: keeping the file as it was: %w", err)
			}
		}
		out, err := atomicfile.Replace(ctx, e.path, []byte(e.content), atomicfile.Options{Expect: &e.old, NoParents: true})
		if err != nil {
			if errors.Is(err, atomicfile.ErrChanged) {
				err = stale(e.name)
			}
			if len(done) > 0 {
				return none, fmt.Errorf("only %s was edited: %w", strings.Join(done, ", "), err)
			}
			return none, fmt.Errorf("the edit was not made: %w", err)
		}
		done, notes = append(done, e.name), append(notes, out.Warnings...)
		if f.deps.AfterChange != nil {
			notes = append(notes, f.deps.AfterChange(ctx, out)...)
		}
	}
	what := "The edit was made as it was shown to the person who agreed to it: " + strings.Join(done, ", ")
	if len(done) == 0 {
		what = "The command changes nothing in these files"
	}
	return BashOutput{Stderr: joinNotes(append([]string{what}, notes...)...), NoOutputExpected: true}, nil
}
