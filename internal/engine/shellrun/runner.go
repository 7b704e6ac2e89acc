package shellrun

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is returned for commands started on a closed Runner.
var ErrClosed = errors.New("the shell runner is closed")

// Options configure a Runner. Only OutputDir is needed.
type Options struct {
	// Shell to use; the zero value asks FindShell with the variables of BaseEnv.
	Shell Shell
	// OutputDir holds the output files; it is created with mode 0700 if it does not exist.
	OutputDir string
	// CacheDir holds shell snapshots between runs; empty: snapshots are kept in OutputDir and not shared.
	CacheDir string
	// Home is the user's home directory, where the start-up files are; empty: HOME of BaseEnv.
	Home string
	// BaseEnv is what commands inherit, as "NAME=value"; nil: this process's environment.
	BaseEnv []string
	// Scrub names variables that commands must not inherit; a trailing * stands for any ending. OTEL_* always goes.
	Scrub []string
	// SessionID is told to commands as SEVENGATE_SESSION_ID and CLAUDE_CODE_SESSION_ID.
	SessionID string
	// EnvFile is a script sourced before each command, if it exists. Its output is dropped, its failure ignored.
	EnvFile string
	// Snapshot takes over functions, aliases, options and PATH of the user's interactive login shell.
	Snapshot bool
	// MemoryLimit is the memory that all commands together may use, in bytes; 0: no limit. Past it the kernel kills one of their
	// processes. It needs Linux with cgroup v2 and permission; see Runner.Unenforced.
	MemoryLimit int64
	// NoCgroup leaves cgroups alone (Linux).
	NoCgroup bool
}

// Runner starts commands and owns everything they start. It is safe for concurrent use. Close it.
type Runner struct {
	opts  Options
	shell Shell
	token string
	base  []string
	null  *os.File
	root  *groupRoot
	keep  keeper
	snap  *snapshots

	cgroupRefused atomic.Bool // no process can be started in a cgroup here

	wg      sync.WaitGroup
	closing chan struct{}

	mu       sync.Mutex
	closed   bool
	seq      int64
	procs    map[*Process]bool // not yet over
	left     []*group          // shell gone, members perhaps not
	tasks    map[string]*Process
	taskList []*Process // in the order of their start
}

// New returns a Runner. It starts no process; the first command does.
func New(opts Options) (*Runner, error) {
	if opts.BaseEnv == nil {
		opts.BaseEnv = os.Environ()
	}
	if !filepath.IsAbs(opts.OutputDir) {
		return nil, fmt.Errorf("shell runner: output directory %q refused: an absolute path is needed", opts.OutputDir)
	}
	if opts.MemoryLimit < 0 || opts.MemoryLimit > 0 && opts.MemoryLimit < MinMemoryLimit {
		return nil, fmt.Errorf("shell runner: memory limit of %d bytes refused: at least %d are accepted, or 0 for none", opts.MemoryLimit, MinMemoryLimit)
	}
	r := &Runner{
		opts: opts, shell: opts.Shell,
		closing: make(chan struct{}),
		procs:   map[*Process]bool{}, tasks: map[string]*Process{},
	}
	if r.opts.Home == "" {
		r.opts.Home = lookupEnv(opts.BaseEnv, "HOME")
	}
	if r.shell.Path == "" {
		sh, err := FindShell(func(name string) string { return lookupEnv(opts.BaseEnv, name) })
		if err != nil {
			return nil, fmt.Errorf("shell runner: %w", err)
		}
		r.shell = sh
	}
	if err := privateDir(opts.OutputDir); err != nil {
		return nil, fmt.Errorf("shell runner: preparing the output directory: %w", err)
	}
	var raw [8]byte
	_, _ = rand.Read(raw[:]) // never fails
	r.token = hex.EncodeToString(raw[:])
	session := fixedEnv
	if opts.SessionID != "" {
		session = append(slices.Clip(session), "SEVENGATE_SESSION_ID="+opts.SessionID, "CLAUDE_CODE_SESSION_ID="+opts.SessionID)
	}
	r.base = environment(opts.BaseEnv, opts.Scrub, session)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("shell runner: %w", err)
	}
	r.null = null
	r.root = newGroupRoot(r.token, !opts.NoCgroup, opts.MemoryLimit)
	r.keep = keeper{token: r.token, cgroup: r.root.dir, null: null}
	if opts.Snapshot {
		r.snap = newSnapshots(r)
	}
	return r, nil
}

// privateDir makes sure that dir exists and that only its owner can enter it.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// Shell returns the shell that runs the commands.
func (r *Runner) Shell() Shell { return r.shell }

// Run starts a command and waits for its end, as Process.Wait does.
func (r *Runner) Run(ctx context.Context, spec Spec) (Result, error) {
	p, err := r.Start(ctx, spec)
	if err != nil {
		return Result{}, err
	}
	<-p.done // ends soon after ctx does
	return p.res, nil
}

// Start starts a command. While it is in the foreground the end of ctx kills it. A non-nil error means that nothing runs.
func (r *Runner) Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("command not started: %w", err)
	}
	var snap snapshot
	if r.snap != nil && !spec.NoSnapshot && len(spec.Program) == 0 {
		snap = r.snap.get(ctx)
	}
	return r.start(ctx, spec, snap, nil)
}

// start runs argv, or the wrapped command if that is nil.
func (r *Runner) start(ctx context.Context, spec Spec, snap snapshot, argv []string) (*Process, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrClosed
	}
	r.seq++
	seq := r.seq
	if spec.ID == "" {
		spec.ID = fmt.Sprintf("b%s%d", r.token[:6], seq)
	}
	if _, dup := r.tasks[spec.ID]; dup {
		r.mu.Unlock()
		return nil, fmt.Errorf("task id %q refused: it is in use", spec.ID)
	}
	r.wg.Add(1) // under the lock: Close waits only after it has set closed
	r.mu.Unlock()

	p, err := r.launch(ctx, spec, snap, argv, seq)
	if err != nil {
		r.wg.Done()
		return nil, err
	}
	r.mu.Lock()
	r.procs[p] = true
	if spec.Background {
		r.addTask(p)
	}
	r.mu.Unlock()
	go p.main(ctx)
	return p, nil
}

func (r *Runner) launch(ctx context.Context, spec Spec, snap snapshot, argv []string, seq int64) (*Process, error) {
	file := spec.OutputFile
	if file == "" {
		file = filepath.Join(r.opts.OutputDir, spec.ID+".output")
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("command not started: creating its output file: %w", err)
	}
	_ = r.keep.ensure()
	p := newProcess(r, spec, file, out)
	switch {
	case argv != nil:
	case len(spec.Program) > 0:
		argv = slices.Concat(spec.Wrap, spec.Program)
	default:
		argv = append(slices.Clone(spec.Wrap), r.shell.Path, "--norc", "-c", wrapper(r.shell, snap.file, r.opts.EnvFile, len(spec.Command)))
		if r.shell.Kind != "bash" {
			argv = slices.DeleteFunc(argv, func(a string) bool { return a == "--norc" })
		}
		argv = append(argv, r.shell.Kind)
	}
	if err := p.spawn(argv, snap, seq); err != nil {
		out.Close()
		os.Remove(file)
		return nil, fmt.Errorf("command not started: %w", err)
	}
	return p, nil
}

// over is called when a process has nothing left to wait for. A group that may have silent members is kept for Close.
func (r *Runner) over(p *Process, leftBehind bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.procs, p)
	if leftBehind {
		r.left = append(r.left, p.group)
	}
}

// Close ends all commands and what they left behind, waits for it, and forgets the tasks. Output files stay. It returns an
// error if something could not be ended within CloseTimeout. Later calls do nothing.
func (r *Runner) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	close(r.closing)
	r.mu.Unlock()

	ended := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(ended)
	}()
	var err error
	select {
	case <-ended:
	case <-time.After(CloseTimeout):
		err = errors.New("closing the shell runner: a command does not end although killed")
	}
	r.mu.Lock()
	left := r.left
	r.left, r.tasks, r.taskList = nil, map[string]*Process{}, nil
	started := r.seq > 0
	r.mu.Unlock()
	if started {
		err = errors.Join(err, r.root.killAll(left))
	}
	for _, g := range left {
		g.release()
	}
	r.root.close()
	r.keep.close()
	return errors.Join(err, r.null.Close())
}
