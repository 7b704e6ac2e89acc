package grep

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/sevengate/sevengate/internal/engine/walk"
)

// Mode says what a search reports.
type Mode uint8

const (
	ModeFiles   Mode = iota // each file with a match, once
	ModeContent             // matching lines, and those around them
	ModeCount               // each file with a match, with its number of matching lines
)

// BinaryMode says what happens to files with a NUL byte in their first BinaryCheckBytes.
type BinaryMode uint8

const (
	// BinarySkip leaves them out and counts them; a root that is itself a file is treated as by BinaryReport.
	BinarySkip   BinaryMode = iota
	BinaryReport            // in ModeContent, one event of KindBinary stands for all matches of the file
	BinaryText              // as text
)

const (
	BinaryCheckBytes    = 64 << 10
	DefaultMaxLineBytes = 16 << 10
	// MaxLineMemory is the longest line that is held in memory. A longer one is searched as a stream: it counts as one
	// match, has no spans, and bytes of invalid UTF-8 in it match nothing.
	MaxLineMemory = 2 << 20
	// MaxMultilineMemory is the part of a file that a multiline pattern sees at once: a match may be a quarter of it long.
	MaxMultilineMemory = 4 << 20
	// MaxWorkers limits goroutines, and thereby memory, on machines with many cores.
	MaxWorkers = 12
)

// Kind is the kind of an Event.
type Kind uint8

const (
	KindFile    Kind = iota // ModeFiles, ModeCount: a file with a match
	KindMatch               // a matching line, or with OnlyMatching one match
	KindContext             // a line before or after
	KindGap                 // lines are left out between two groups of a file; only with Before or After
	KindBinary              // the file is binary and matches
)

// Event is one piece of a result. Text is valid only during the call that gets it.
type Event struct {
	Kind    Kind
	Path    string // absolute
	Rel     string // relative to its root, with slashes
	Root    int    // index in SearchOptions.Roots
	ModTime time.Time

	Line      int    // 1-based
	Offset    int64  // of Text in the (decoded) file, in bytes
	Text      []byte // without the line's terminator; at most MaxLineBytes
	Truncated bool   // Text is the beginning of something longer

	Lines, Matches int64 // KindFile in ModeCount; they differ for multiline patterns only
}

// SearchOptions say where to search and what to report.
type SearchOptions struct {
	Roots []string // files or directories; none is "."
	Walk  walk.Options
	Mode  Mode

	Before, After int  // lines of context in ModeContent
	OnlyMatching  bool // the matches, not their lines; without context

	// Offset events are left out first, then at most Limit (0: no limit) reported. Gaps do not count.
	Offset, Limit int
	// Totals goes on after the limit, counting only, so that Stats hold for the whole; otherwise the search ends early.
	Totals bool

	MaxLineBytes int // of Event.Text; 0 is DefaultMaxLineBytes
	Binary       BinaryMode
	// Unordered reports files as they are done; otherwise they come in the order of Roots and of names (walk's Sorted).
	Unordered bool
	Workers   int // 0 is GOMAXPROCS; at most MaxWorkers
}

// Stats are the totals of a search. After an early end they cover what was searched.
type Stats struct {
	Files        int64 // searched
	Bytes        int64
	FilesMatched int64
	Lines        int64 // matching lines (ModeFiles stops at the first of each file)
	Matches      int64 // matches in them: counted with OnlyMatching and by multiline patterns, else equal to Lines
	Events       int64 // that there were before Offset and Limit, gaps not counted
	Reported     int64
	LimitReached bool // there was more than Limit
	Binary       int64
	Unreadable   int64 // files that could not be read; directories are in Walk
	Errors       []error
	Walk         walk.Stats
}

// maxBatchFiles is how many files of an ordered search a worker takes at once.
const maxBatchFiles = 32

var errEnough = errors.New("enough")

// Search searches with p and reports to emit, which is called from one goroutine at a time. An error that emit returns
// ends the search and is returned. Files that cannot be read are counted. When ctx ends, what was found has been
// reported, Stats hold, and the error wraps ctx.Err(). A root that does not exist is an error, after the other roots
// were searched. All goroutines have ended when Search returns.
func Search(ctx context.Context, p *Pattern, opts SearchOptions, emit func(Event) error) (Stats, error) {
	if len(opts.Roots) == 0 {
		opts.Roots = []string{"."}
	}
	if opts.MaxLineBytes <= 0 {
		opts.MaxLineBytes = DefaultMaxLineBytes
	}
	if opts.Workers <= 0 {
		opts.Workers = runtime.GOMAXPROCS(0)
	}
	opts.Workers = min(opts.Workers, MaxWorkers)
	if opts.Mode != ModeContent {
		opts.OnlyMatching = false
	}
	if opts.Mode != ModeContent || opts.OnlyMatching {
		opts.Before, opts.After = 0, 0
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &search{ctx: inner, cancel: cancel, p: p, opts: opts, out: newOutput(&opts, emit)}
	stop := context.AfterFunc(inner, s.out.stop)
	defer stop()
	err := s.run()
	s.out.mu.Lock()
	stats, ended := s.out.stats, s.out.err
	s.out.mu.Unlock()
	stats.Walk = s.walked
	for _, f := range s.free {
		addFiles(&stats, &f.total)
	}
	for _, r := range s.roots {
		r.near.close()
	}
	switch {
	case errors.Is(ended, errEnough):
		return stats, nil
	case ended != nil && !errors.Is(ended, context.Canceled) && !errors.Is(ended, context.DeadlineExceeded):
		return stats, ended
	case ctx.Err() != nil:
		return stats, fmt.Errorf("search: %w", ctx.Err())
	case ended != nil:
		return stats, ended
	}
	return stats, err
}

type search struct {
	ctx    context.Context
	cancel context.CancelFunc
	p      *Pattern
	opts   SearchOptions
	out    *output
	walked walk.Stats

	mu    sync.Mutex
	free  []*fileSearch // all of them when nothing is searched
	roots []*root       // to be closed
}

// job is one file to search.
type job struct {
	entry  walk.Entry
	root   *root
	direct bool // the root itself
}

// root is one of SearchOptions.Roots.
type root struct {
	index int
	near  near
}

// batch is some files of an ordered search; seq is its place in the order.
type batch struct {
	seq  int
	jobs []job
}

func (s *search) run() error {
	if s.opts.Unordered {
		return s.walkRoots(func(j job) error {
			f := s.take()
			defer s.give(f)
			f.slot.begin(s.out, 0)
			return s.files(f, []job{j})
		})
	}
	batches := make(chan batch, s.opts.Workers)
	spare := make(chan []job, 2*s.opts.Workers)
	var wg sync.WaitGroup
	for range s.opts.Workers {
		wg.Go(func() {
			f := s.take()
			defer s.give(f)
			for b := range batches {
				f.slot.begin(s.out, b.seq)
				if s.ctx.Err() == nil && s.files(f, b.jobs) != nil {
					s.cancel()
				}
				select {
				case spare <- b.jobs[:0]:
				default:
				}
			}
		})
	}
	// Handing over a file costs as much as searching a small one: while the workers are busy, files are gathered.
	b := batch{}
	send := func() error {
		if err := s.out.admit(b.seq); err != nil {
			return err
		}
		select {
		case batches <- b:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		b = batch{seq: b.seq + 1}
		return nil
	}
	err := s.walkRoots(func(j job) error {
		if b.jobs == nil {
			select {
			case b.jobs = <-spare:
			default:
				b.jobs = make([]job, 0, maxBatchFiles)
			}
		}
		if b.jobs = append(b.jobs, j); len(b.jobs) < maxBatchFiles && len(batches) > 0 {
			return s.ctx.Err()
		}
		return send()
	})
	if len(b.jobs) > 0 && s.ctx.Err() == nil {
		if e := send(); err == nil {
			err = e
		}
	}
	close(batches)
	wg.Wait()
	return err
}

func (s *search) walkRoots(visit func(job) error) error {
	var missing error
	for i, path := range s.opts.Roots {
		o := s.opts.Walk
		o.Root, o.Sorted, o.Dirs = path, !s.opts.Unordered, false
		if o.Links == walk.LinksList {
			o.Links = walk.LinksSkip
		}
		o.Workers = s.opts.Workers
		r := &root{index: i}
		s.roots = append(s.roots, r)
		st, err := walk.Walk(s.ctx, o, func(e walk.Entry) error {
			return visit(job{entry: e, root: r, direct: e.Direct})
		})
		addWalk(&s.walked, st)
		if err != nil {
			if s.ctx.Err() != nil || st.Files > 0 || errors.Is(err, errEnough) {
				return err
			}
			missing = errors.Join(missing, err)
		}
	}
	return missing
}

func addWalk(a *walk.Stats, b walk.Stats) {
	a.Files += b.Files
	a.Dirs += b.Dirs
	a.Ignored += b.Ignored
	a.Hidden += b.Hidden
	a.Filtered += b.Filtered
	a.Skipped += b.Skipped
	a.Links += b.Links
	a.Special += b.Special
	a.Unreadable += b.Unreadable
	if room := walk.MaxErrors - len(a.Errors); room > 0 {
		a.Errors = append(a.Errors, b.Errors[:min(room, len(b.Errors))]...)
	}
}

// take gives the caller what it needs to search files, until it is given back.
func (s *search) take() *fileSearch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		f := s.free[n-1]
		s.free = s.free[:n-1]
		return f
	}
	return newFileSearch(s)
}

func (s *search) give(f *fileSearch) {
	s.mu.Lock()
	s.free = append(s.free, f)
	s.mu.Unlock()
}

// files searches the files of one slot; an error ends the whole search.
func (s *search) files(f *fileSearch, jobs []job) error {
	for i := range jobs {
		if err := f.run(&jobs[i]); err != nil && !errors.Is(err, errStopFile) {
			s.out.fail(err)
			return err
		}
		if err := s.ctx.Err(); err != nil {
			break
		}
	}
	if err := f.slot.end(); err != nil {
		s.out.fail(err)
		return err
	}
	return nil
}
