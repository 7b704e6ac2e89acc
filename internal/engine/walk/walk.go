// Package walk visits the files of a directory tree in parallel, with the ignore rules of git, globs, file types and a
// caller's own filter.
//
// The rules, in one place:
//
//   - Version-control folders (.git, .hg, .svn, .bzr, .jj, CVS, _darcs) are never visited, nor the .git file of a worktree.
//   - Unless NoIgnore: .rgignore, .ignore and .gitignore files, in this order of precedence, are read in every visited
//     directory, and in the directories above the root up to the top of the repository. Then $GIT_DIR/info/exclude, then
//     the file that core.excludesFile names (default $XDG_CONFIG_HOME/git/ignore). .gitignore counts without a repository
//     too, but then nothing above the root is read. Inside a nested repository only its own .gitignore files count.
//   - What lies in an ignored directory is ignored; a glob narrows the result and never brings an ignored file back.
//   - Unless Hidden: names that begin with a dot are left out, whatever the ignore files say.
//   - The root itself is visited always, also when it is hidden or ignored (only Skip can refuse it).
//   - Symbolic links are not followed unless asked for. Pipes, sockets and devices are never opened or visited.
//
// It does not read files, sort by time, or resolve a caller's relative paths against anything but the process's directory.
package walk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// LinkPolicy says what happens to symbolic links below the root. A root that is a link is followed always.
type LinkPolicy uint8

const (
	LinksSkip   LinkPolicy = iota // counted, not visited
	LinksList                     // visited as entries of type fs.ModeSymlink, not followed
	LinksFollow                   // followed; every real directory is visited once, so loops end
)

const (
	// MaxErrors is how many errors Stats keeps; all are counted.
	MaxErrors = 20
	// dirBatch is about how many entries of a directory are held at a time in an unsorted walk.
	dirBatch = 1024
)

// SkipAll, returned by a visit, ends the walk without an error. SkipDir, returned for a directory, leaves its content
// out (returned for a file it has no effect).
var (
	SkipAll = fs.SkipAll
	SkipDir = fs.SkipDir
)

// Options say what to visit. The zero value visits regular files that are neither hidden nor ignored.
type Options struct {
	Root string // file or directory; "" is "."

	Hidden   bool // visit names that begin with a dot
	NoIgnore bool // read no ignore files
	NoGlobal bool // do not read core.excludesFile

	Dirs  bool // visit directories too (before their content; the root directory itself is not visited)
	Links LinkPolicy

	// Globs narrow the result: "**", "{a,b}" and classes work; "!glob" excludes; the last glob that matches decides. A
	// glob without a slash is compared with the name at any depth, unless AnchorGlobs; one with a slash with the path
	// below the root. If there is a glob without "!", a file must match one. An excluded directory is not entered.
	Globs       []string
	AnchorGlobs bool

	Types    []string // names of file types (see Types); a file must be of one of them
	NotTypes []string // file types to leave out

	CaseInsensitive bool // compare globs, types and ignore patterns without regard to case

	// Skip leaves out a path that it reports true for; a directory's content too. It gets an absolute path (with
	// LinksFollow also the path that a link leads to), is asked before anything is opened, and must be safe for
	// concurrent use. The type is that of what is at the path itself, [fs.ModeIrregular] where it is not known.
	Skip func(path string, typ fs.FileMode) bool

	MaxDepth int // 1 visits the root's own entries only; 0 is no limit
	Workers  int // 0 is GOMAXPROCS
	// Sorted visits from one goroutine, names in byte order within each directory, which holds one directory's names in
	// memory at a time for each level.
	Sorted bool

	// Getenv is used to find git's configuration; nil is os.Getenv.
	Getenv func(string) string
}

// Entry is one visited file or directory.
type Entry struct {
	Path string      // absolute
	Rel  string      // relative to the root, with slashes; the base name if the root is a file
	Type fs.FileMode // type bits; of the target if a link was followed
	Link bool        // a symbolic link was followed to get here
	// Direct is true for a root that is itself a file.
	Direct bool
}

// Dir reports whether the entry is a directory.
func (e Entry) Dir() bool { return e.Type.IsDir() }

// Stats count what a walk saw. Left out entries are counted under the first rule that left them out; what lies in a
// directory that was left out is not counted.
type Stats struct {
	Files, Dirs int64 // visited files (and links), directories read
	Ignored     int64 // by ignore files
	Hidden      int64 // by a leading dot
	Filtered    int64 // by globs or types
	Skipped     int64 // by Options.Skip
	Links       int64 // symbolic links not followed, or leading where the walk had been
	Special     int64 // pipes, sockets, devices
	Unreadable  int64 // directories or entries that could not be read
	Errors      []error
}

// Walk visits what opts selects. visit is called from up to Workers goroutines at a time (from one if Sorted) and must be
// quick to return when ctx ends. An error that visit returns ends the walk and is returned. Unreadable directories are
// counted, and do not end it; a root that does not exist is an error. All goroutines have ended when Walk returns.
// Memory is bounded by depth and workers, not by the number of files.
func Walk(ctx context.Context, opts Options, visit func(Entry) error) (Stats, error) {
	w, err := newWalker(opts, visit)
	if err != nil {
		return Stats{}, err
	}
	if err := ctx.Err(); err != nil {
		return Stats{}, fmt.Errorf("walk %s: %w", w.root, err)
	}
	stopWatch := context.AfterFunc(ctx, func() { w.end(nil) })
	defer stopWatch()

	info, err := os.Stat(w.root)
	if err != nil {
		return Stats{}, fmt.Errorf("walk: %w", err)
	}
	if w.skipRoot() {
		w.stats.Skipped++
		return w.stats, nil
	}
	if !info.IsDir() {
		err = w.visitRootFile(info)
	} else {
		err = w.walkTree()
	}
	if ctxErr := ctx.Err(); err == nil && ctxErr != nil {
		err = fmt.Errorf("walk %s: %w", w.root, ctxErr)
	}
	return w.stats, err
}

type walker struct {
	opts   Options
	root   string // absolute, with slashes
	relOff int    // where Rel begins in a path with slashes
	visit  func(Entry) error
	filter *filter
	rules  *rules

	stopped atomic.Bool
	mu      sync.Mutex
	wake    *sync.Cond
	pending []*dirTask // a stack, so that memory follows depth
	active  int
	err     error
	stats   Stats
	levels  []*scratch      // of a sorted walk
	seen    map[string]bool // real paths of visited directories, only when links are followed
}

// dirTask is a directory to read, or the rest of one.
type dirTask struct {
	path  string // absolute, with slashes
	level *level // ignore rules in force for its entries; of the parent until opened
	depth int
	link  bool
	real  string // where path leads, if a link was followed to it and Skip must be asked for that place too

	opened bool // partly read
	dir    directory
}

func newWalker(opts Options, visit func(Entry) error) (*walker, error) {
	if strings.IndexByte(opts.Root, 0) >= 0 {
		return nil, errors.New("walk: the root contains a NUL byte; give a plain path")
	}
	if opts.Root == "" {
		opts.Root = "."
	}
	root, err := filepath.Abs(opts.Root)
	if err != nil {
		return nil, fmt.Errorf("walk: make the root absolute: %w", err)
	}
	if opts.Workers <= 0 {
		opts.Workers = runtime.GOMAXPROCS(0)
	}
	if opts.Sorted {
		opts.Workers = 1
	}
	f, err := newFilter(opts)
	if err != nil {
		return nil, err
	}
	w := &walker{opts: opts, root: filepath.ToSlash(root), visit: visit, filter: f}
	w.wake = sync.NewCond(&w.mu)
	w.relOff = len(w.root) + 1
	if strings.HasSuffix(w.root, "/") {
		w.relOff--
	}
	if opts.Links == LinksFollow {
		w.seen = make(map[string]bool)
	}
	return w, nil
}

func (w *walker) skipRoot() bool {
	if w.opts.Skip == nil {
		return false
	}
	path := filepath.FromSlash(w.root)
	if w.opts.Skip(path, fs.ModeIrregular) {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	return err == nil && real != path && w.opts.Skip(real, fs.ModeIrregular)
}

func (w *walker) visitRootFile(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		w.stats.Special++
		return nil
	}
	w.stats.Files++
	path := filepath.FromSlash(w.root)
	err := w.visit(Entry{Path: path, Rel: filepath.Base(path), Direct: true})
	if errors.Is(err, SkipAll) || errors.Is(err, SkipDir) {
		return nil
	}
	return err
}

func (w *walker) walkTree() error {
	start := &dirTask{path: w.root}
	if w.opts.Skip != nil {
		if real, err := filepath.EvalSymlinks(filepath.FromSlash(w.root)); err == nil && filepath.ToSlash(real) != w.root {
			start.real = real
		}
	}
	if !w.opts.NoIgnore {
		w.rules = newRules(w.opts)
		start.level = w.rules.above(w.root)
	}
	w.firstVisit(w.root)
	if w.opts.Sorted {
		var s Stats
		w.sorted(start, &s)
		w.add(&s)
	} else {
		w.pending = append(w.pending, start)
		var wg sync.WaitGroup
		for range w.opts.Workers {
			wg.Go(w.work)
		}
		wg.Wait()
		for _, t := range w.pending {
			if t.opened {
				t.dir.close()
			}
		}
	}
	return w.err
}

// end stops the walk; the first error is kept.
func (w *walker) end(err error) {
	w.stopped.Store(true)
	w.mu.Lock()
	if w.err == nil && err != nil && !errors.Is(err, SkipAll) {
		w.err = err
	}
	w.wake.Broadcast()
	w.mu.Unlock()
}

func (w *walker) add(s *Stats) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.stats
	t.Files += s.Files
	t.Dirs += s.Dirs
	t.Ignored += s.Ignored
	t.Hidden += s.Hidden
	t.Filtered += s.Filtered
	t.Skipped += s.Skipped
	t.Links += s.Links
	t.Special += s.Special
	t.Unreadable += s.Unreadable
	for _, e := range s.Errors {
		if len(t.Errors) < MaxErrors {
			t.Errors = append(t.Errors, e)
		}
	}
}

func (s *Stats) fail(err error) {
	s.Unreadable++
	if len(s.Errors) < MaxErrors {
		s.Errors = append(s.Errors, err)
	}
}

// firstVisit reports whether the directory was not visited yet; without following of links it is always true.
func (w *walker) firstVisit(path string) bool {
	if w.seen == nil {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[real] {
		return false
	}
	w.seen[real] = true
	return true
}

func (w *walker) work() {
	var s Stats
	var subs []*dirTask
	var b scratch
	defer func() { w.add(&s) }()
	w.mu.Lock()
	for {
		for len(w.pending) == 0 && w.active > 0 && !w.stopped.Load() {
			w.wake.Wait()
		}
		if len(w.pending) == 0 || w.stopped.Load() {
			w.wake.Broadcast()
			w.mu.Unlock()
			return
		}
		t := w.pending[len(w.pending)-1]
		w.pending[len(w.pending)-1] = nil
		w.pending = w.pending[:len(w.pending)-1]
		w.active++
		w.mu.Unlock()

		more := false
		more, subs = w.step(t, &s, &b, subs[:0])

		w.mu.Lock()
		w.active--
		if more {
			w.pending = append(w.pending, t)
		}
		w.pending = append(w.pending, subs...)
		if len(w.pending) > 1 || w.active == 0 {
			w.wake.Broadcast()
		}
	}
}

// step reads one batch of a directory and visits its entries; more says that the directory has further batches.
func (w *walker) step(t *dirTask, s *Stats, b *scratch, subs []*dirTask) (more bool, _ []*dirTask) {
	first := !t.opened
	if first && !w.open(t, s) {
		return false, subs
	}
	done, err := w.read(t, b, dirBatch)
	if first && w.rules != nil {
		t.level = w.rules.enter(t.level, t.path, b.entries, done)
	}
	for _, e := range b.entries {
		if w.stopped.Load() {
			done, err = true, nil
			break
		}
		if sub := w.entry(t, e, s); sub != nil {
			subs = append(subs, sub)
		}
	}
	if !done {
		return true, subs
	}
	w.finish(t, err, s)
	return false, subs
}

func (w *walker) open(t *dirTask, s *Stats) bool {
	d, err := openDir(t.path, t.depth == 0 || t.link)
	if err != nil {
		s.fail(fmt.Errorf("read directory: %w", err))
		return false
	}
	t.dir, t.opened = d, true
	s.Dirs++
	return true
}

// read fills b.entries with at least so many entries, or the rest of the directory.
func (w *walker) read(t *dirTask, b *scratch, atLeast int) (done bool, err error) {
	b.entries = b.entries[:0]
	for !done && len(b.entries) < atLeast && !w.stopped.Load() {
		done, err = t.dir.read(b)
	}
	return done, err
}

// finish closes a directory that was read, up to an error if there is one.
func (w *walker) finish(t *dirTask, err error, s *Stats) {
	if err != nil && !w.stopped.Load() {
		s.fail(fmt.Errorf("read directory %s: %w", filepath.FromSlash(t.path), err))
	}
	t.dir.close()
	t.opened = false
}

// sorted walks depth first in name order.
func (w *walker) sorted(t *dirTask, s *Stats) {
	if !w.open(t, s) {
		return
	}
	b := w.scratchAt(t.depth)
	_, err := w.read(t, b, math.MaxInt)
	w.finish(t, err, s)
	if w.rules != nil {
		t.level = w.rules.enter(t.level, t.path, b.entries, true)
	}
	slices.SortFunc(b.entries, func(a, b dirent) int { return strings.Compare(a.name, b.name) })
	for _, e := range b.entries {
		if w.stopped.Load() {
			return
		}
		if sub := w.entry(t, e, s); sub != nil {
			w.sorted(sub, s)
		}
	}
}

// scratchAt gives what a sorted walk keeps of the directory that it is in at a depth.
func (w *walker) scratchAt(depth int) *scratch {
	for len(w.levels) <= depth {
		s := &scratch{}
		if len(w.levels) > 0 {
			s.share(w.levels[0])
		}
		w.levels = append(w.levels, s)
	}
	return w.levels[depth]
}
