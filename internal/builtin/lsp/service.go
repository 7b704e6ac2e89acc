package lsp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sevengate/sevengate/internal/engine/lspclient"
)

// Limits of the servers of one session.
const (
	// MaxServers is how many run at once; the one that was not used for the longest
	// time is ended first.
	MaxServers = 6
	// DefaultMaxRestarts is how often a server that ended is started again.
	DefaultMaxRestarts = 3
	// firstBackoff is how long the second restart waits after the first; it doubles.
	firstBackoff = time.Second
	// stable is how long a server must run for its restarts to be forgotten.
	stable = 5 * time.Minute
)

// Deps is what the family needs from the program around it. The zero value is
// usable: the default servers, the environment of nobody.
type Deps struct {
	// Servers replace [DefaultServers]; nil keeps them. The first that knows a file's
	// extension and can be found is used.
	Servers []Server
	// ReadDenied tells whether a rule keeps an absolute path from being read. It is
	// asked for paths as given and for where they lead. Nil hides nothing.
	ReadDenied func(path string) bool
	// Environ is the environment of the servers (NAME=value); PATH in it is where
	// they are looked for.
	Environ []string
	// Home is the home directory, which is never taken for a project.
	Home string
}

// Service owns the language servers of a session. It is safe for concurrent use.
type Service struct {
	deps    Deps
	backoff time.Duration // tests shorten it

	mu      sync.Mutex
	entries map[key]*entry
	clock   uint64 // counts uses
	closed  bool
	ctx     context.Context // of the starts
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

type key struct{ server, root string }

// entry is one server of one project, running or not.
type entry struct {
	spec  Server
	root  string
	used  uint64
	files *watch

	starting chan struct{} // closed when the start is over; nil when there is none
	server   *lspclient.Server
	since    time.Time
	starts   int       // since it was last stable
	retry    time.Time // not before
	err      error     // why it does not run
}

// New makes a service. Nothing is started before the first question.
func New(d Deps) *Service {
	ctx, cancel := context.WithCancel(context.Background())
	return &Service{deps: d, backoff: firstBackoff, entries: map[key]*entry{}, ctx: ctx, cancel: cancel}
}

// Close ends all servers and waits for their end. It may be called more than once.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	s.cancel()
	s.mu.Unlock()
	s.wg.Wait() // the starts
	s.mu.Lock()
	defer s.mu.Unlock()
	var wg sync.WaitGroup
	for _, e := range s.entries {
		if e.server != nil {
			wg.Go(e.server.Close)
		}
	}
	wg.Wait()
	clear(s.entries)
	return nil
}

var errClosed = errors.New("the language servers were ended with the session")

// choose finds the server for a file, and the program.
func (s *Service) choose(path string) (spec Server, program string, err error) {
	servers := s.deps.Servers
	if servers == nil {
		servers = DefaultServers()
	}
	var missing, known []string
	for _, spec := range servers {
		if _, ok := spec.language(path); !ok {
			for ext := range spec.Languages {
				known = append(known, ext)
			}
			continue
		}
		if program, ok := lookPath(s.deps.Environ, spec.Command); ok {
			return spec, program, nil
		}
		missing = append(missing, spec.Command)
	}
	if len(missing) > 0 {
		return spec, "", fmt.Errorf("no language server for %s files is installed: %s was not found on PATH", filepath.Ext(path), strings.Join(missing, " nor "))
	}
	slices.Sort(known)
	return spec, "", fmt.Errorf("no language server is known for %s; those that are serve %s", filepath.Base(path), strings.Join(slices.Compact(known), ", "))
}

// session is a running server and what it is asked about.
type session struct {
	*lspclient.Server
	entry *entry
	since time.Time // of its start
}

// server gives the running server for a file, and starts it where wait allows.
// Without wait it begins the start and gives nil.
func (s *Service) server(ctx context.Context, path string, roots []string, wait bool) (*session, error) {
	spec, program, err := s.choose(path)
	if err != nil {
		return nil, err
	}
	root := spec.root(path, s.deps.Home, roots)
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil, errClosed
		}
		k := key{spec.Name, root}
		e := s.entries[k]
		if e == nil {
			e = &entry{spec: spec, root: root}
			s.entries[k] = e
		}
		s.clock++
		e.used = s.clock
		running, starting, err := s.advance(e, program)
		since := e.since
		s.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case running != nil:
			return &session{running, e, since}, nil
		case !wait:
			return nil, nil
		}
		select {
		case <-starting:
			s.mu.Lock()
			err := e.err
			failed := e.server == nil && e.starting == nil && err != nil
			s.mu.Unlock()
			if failed {
				return nil, err // the next question tries again
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the start of %s: %w", spec.Name, context.Cause(ctx))
		}
	}
}

// advance looks at an entry and begins what is to be done next: exactly one result
// is set. The service is locked.
func (s *Service) advance(e *entry, program string) (*lspclient.Server, chan struct{}, error) {
	if e.starting != nil {
		return nil, e.starting, nil
	}
	if e.server != nil {
		select {
		case <-e.server.Done():
			if time.Since(e.since) > stable {
				e.starts = 0
			}
			e.fail(s.backoff, fmt.Errorf("%s ended: %w%s", e.spec.Name, e.server.Reason(), lastWords(e.server)))
			gone := e.server
			e.server = nil
			s.wg.Go(gone.Close)
		default:
			return e.server, nil, nil
		}
	}
	limit := e.spec.MaxRestarts
	if limit == 0 {
		limit = DefaultMaxRestarts
	}
	switch {
	case e.starts > 0 && e.starts > max(limit, 0):
		return nil, nil, fmt.Errorf("%w; it was started %d times and is not started again in this session", e.err, e.starts)
	case time.Now().Before(e.retry):
		return nil, nil, fmt.Errorf("%w; it is started again in %s at the earliest", e.err, time.Until(e.retry).Round(100*time.Millisecond))
	}
	s.makeRoom(e)
	e.starts++
	e.starting = make(chan struct{})
	s.wg.Go(func() { s.start(e, program) })
	return nil, e.starting, nil
}

// fail notes why a server does not run, and when it may be tried again: the first
// time at once, then after times that double.
func (e *entry) fail(backoff time.Duration, err error) {
	e.err, e.retry = err, time.Time{}
	if e.starts > 1 {
		e.retry = time.Now().Add(backoff << min(e.starts-2, 10))
	}
}

func lastWords(s *lspclient.Server) string {
	if words := s.LastWords(); words != "" {
		return "; its last words: " + words
	}
	return ""
}

func (s *Service) start(e *entry, program string) {
	server, err := lspclient.Start(s.ctx, lspclient.Config{
		Name: e.spec.Name, Path: program, Args: e.spec.Args, Env: slices.Concat(s.deps.Environ, e.spec.Env), Root: e.root,
		InitializationOptions: e.spec.InitializationOptions, Settings: e.spec.Settings,
		StartupTimeout: e.spec.StartupTimeout, RequestTimeout: e.spec.RequestTimeout,
	})
	files := &watch{}
	if err == nil {
		files.scan(s.ctx, e.root, e.spec) // what the server sees from now on is news
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.err = nil
	if err != nil {
		e.fail(s.backoff, err)
	}
	e.server, e.since, e.files = server, time.Now(), files
	close(e.starting)
	e.starting = nil
}

// makeRoom ends the server that was not used for the longest time.
func (s *Service) makeRoom(but *entry) {
	var oldest *entry
	running := 0
	for _, e := range s.entries {
		if e == but || e.server == nil && e.starting == nil {
			continue
		}
		running++
		if e.server != nil && (oldest == nil || e.used < oldest.used) {
			oldest = e
		}
	}
	if running < MaxServers || oldest == nil {
		return
	}
	gone := oldest.server
	oldest.server, oldest.starts = nil, 0
	s.wg.Go(gone.Close)
}

// hidden tells whether a path may not be shown.
func (s *Service) hidden(path string) bool {
	d := s.deps.ReadDenied
	if d == nil {
		return false
	}
	if d(path) {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	return err == nil && real != path && d(real)
}
