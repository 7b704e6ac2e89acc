package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// CheckTimeout bounds the trial run that Prepare makes.
const CheckTimeout = 10 * time.Second

// ErrClosed is returned for a Sandbox that is closed.
var ErrClosed = errors.New("the sandbox is closed")

// Sandbox puts commands behind the walls of one Policy. It is safe for concurrent use. Close it when its commands have
// ended: what still runs then has no network any more, and the same walls as before.
type Sandbox struct {
	policy Policy
	roots  roots
	exe    string
	lost   []Status
	engine engine // what the walls are built with, by operating system
	proxy  *proxyServer

	mu      sync.Mutex
	closed  bool
	watched map[string]string
}

// Prepare finds out whether the machine can enforce the policy, tries it, and starts the proxy if there is one. It
// returns an *UnavailableError if something is missing that the policy does not Accept to lose.
func Prepare(ctx context.Context, policy Policy) (*Sandbox, error) {
	return prepare(ctx, policy, Available())
}

func prepare(ctx context.Context, policy Policy, report Report) (_ *Sandbox, err error) {
	if policy, err = policy.check(); err != nil {
		return nil, err
	}
	s := &Sandbox{policy: policy, watched: map[string]string{}}
	missing := s.engine.choose(policy, report)
	var fatal []Status
	for _, m := range missing {
		if policy.accepts(m.Part) {
			s.lost = append(s.lost, m)
		} else {
			fatal = append(fatal, m)
		}
	}
	if len(fatal) > 0 {
		return nil, &UnavailableError{Missing: fatal}
	}
	if s.exe, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("finding this program to start it inside the sandbox: %w", err)
	}
	s.roots = policy.roots()
	s.roots.programs = append(s.roots.programs, s.exe)
	if policy.Bubblewrap != "" {
		s.roots.programs = append(s.roots.programs, policy.Bubblewrap)
	}
	if policy.Network.Mode == NetworkProxy {
		if s.proxy, err = startProxy(policy.Network, s.engine.proxyOnTCP()); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, CheckTimeout)
	defer cancel()
	if err := s.try(ctx); err != nil {
		return nil, fmt.Errorf("trying the sandbox: %w", err)
	}
	return s, nil
}

// Lost returns the parts that are missing although the policy wants them, all of them accepted by it.
func (s *Sandbox) Lost() []Status { return slices.Clone(s.lost) }

// Wrap returns the words to put before a command's own (whose first must be an absolute path), for the file system as
// it is now: call it for each command.
func (s *Sandbox) Wrap() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	v := makeView(s.policy, s.roots)
	for path, real := range v.watched {
		if _, ok := s.watched[path]; !ok {
			s.watched[path] = real
		}
	}
	return s.engine.words(s, v), nil
}

// Appeared returns paths of WriteDeny that lead elsewhere than when the command was wrapped, most of them because
// they did not exist then: they could not be protected. Each change is told once.
func (s *Sandbox) Appeared() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for path, was := range s.watched {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			real = ""
		}
		if _, err := os.Lstat(path); real == "" && err == nil {
			real = path // a link that leads nowhere yet
		}
		if real != was && real != "" {
			out = append(out, path)
		}
		s.watched[path] = real
	}
	slices.Sort(out)
	return out
}

// Forget drops the proxy's memory of which hosts were decided how.
func (s *Sandbox) Forget() {
	if s.proxy != nil {
		s.proxy.forget()
	}
}

// Close ends the proxy and waits for its goroutines. Later calls do nothing.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed || s.proxy == nil {
		return nil
	}
	return s.proxy.close()
}

// environment returns the variables that a command gets: those that lead to the proxy, TMPDIR, and the policy's.
func (s *Sandbox) environment() []string {
	var env []string
	if s.policy.TmpDir != "" {
		env = append(env, "TMPDIR="+s.policy.TmpDir)
	}
	if s.proxy != nil {
		url := "http://127.0.0.1:" + strconv.Itoa(s.proxy.port)
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
			env = append(env, name+"="+url)
		}
		for _, name := range []string{"NO_PROXY", "no_proxy"} {
			env = append(env, name+"=localhost,127.0.0.1,::1")
		}
		env = append(env, "NODE_USE_ENV_PROXY=1")
	}
	return append(env, s.policy.Env...)
}
