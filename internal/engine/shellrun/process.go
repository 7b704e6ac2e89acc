package shellrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Spec describes a command.
type Spec struct {
	// ID names the process among the Runner's tasks and names its output file; empty: one is made.
	ID string
	// Command is shell text.
	Command string
	// Dir is the absolute directory to run in.
	Dir string
	// Env are variables in addition to the Runner's, as "NAME=value".
	Env []string
	// Timeout kills the command; 0: no limit.
	Timeout time.Duration
	// OutputFile is created with mode 0600 and must not exist; empty: a file named after the ID in the Runner's OutputDir.
	OutputFile string
	// MaxOutput kills the command when its output is larger, in bytes; 0 or more than MaxOutputBytes: MaxOutputBytes.
	MaxOutput int64
	// Wrap is put before the shell's own arguments: a sandbox. It must pass on descriptors 198 and 199.
	Wrap []string
	// ExtraFiles become descriptors 3, 4, … of the command. The caller closes its own copies after Start.
	ExtraFiles []*os.File
	// Background makes the command a task from the start: ctx does not end it.
	Background bool
	// KillLeftovers ends, on a normal exit too, what the shell left running.
	KillLeftovers bool
	// NoSnapshot runs the command without the shell snapshot.
	NoSnapshot bool
	// Label is for the caller's own use; see Process.Label.
	Label string
	// Program runs in place of the shell, with its arguments, and is given the command's text as standard input. Its path is
	// absolute. Neither snapshot nor EnvFile count then, and the directory in which it ended is not known.
	Program []string
	// Stdout takes the standard output in place of the output file, which gets standard error only. The caller closes its own
	// copy after Start.
	Stdout *os.File
	// TTY is a terminal that takes the place of standard input, output and error, and becomes the command's controlling
	// terminal. The output file stays empty then. The caller closes its own copy after Start. Unix only.
	TTY *os.File
	// OnTaskEnd is called once when the command has ended and is in the background, after its result is there and before Stop
	// and Runner.Close return. It must return soon, and not wait for either.
	OnTaskEnd func(*Process)
	// Progress is called at most once in ProgressInterval, never concurrently, while the command is in the foreground, and
	// not after Wait has returned. It should return soon.
	Progress func(Progress)
}

func (s *Spec) check() error {
	switch {
	case strings.TrimSpace(s.Command) == "":
		return errors.New("empty command refused: shell text is needed")
	case len(s.Command) > MaxCommandBytes:
		return fmt.Errorf("command of %d bytes refused: at most %d are accepted", len(s.Command), MaxCommandBytes)
	case strings.IndexByte(s.Command, 0) >= 0:
		return errors.New("command refused: it contains a NUL character")
	case !filepath.IsAbs(s.Dir):
		return fmt.Errorf("directory %q refused: an absolute path is needed", s.Dir)
	case len(s.Program) > 0 && !filepath.IsAbs(s.Program[0]):
		return fmt.Errorf("program %q refused: an absolute path is needed", s.Program[0])
	case s.TTY != nil && (s.Stdout != nil || len(s.Program) > 0):
		return errors.New("a terminal beside another standard output or program refused")
	case len(s.ExtraFiles) > scriptFD-3:
		return fmt.Errorf("%d extra files refused: at most %d are accepted", len(s.ExtraFiles), scriptFD-3)
	case strings.ContainsAny(s.ID, "/\\\x00") || strings.HasPrefix(s.ID, "."):
		return fmt.Errorf("task id %q refused: it must be usable as a file name", s.ID)
	}
	if s.MaxOutput <= 0 || s.MaxOutput > MaxOutputBytes {
		s.MaxOutput = MaxOutputBytes
	}
	return nil
}

// KillReason tells why a command was killed by the Runner; empty: it was not.
type KillReason string

// The reasons.
const (
	KilledTimeout     KillReason = "timeout"      // Spec.Timeout or the limit given to MoveToBackground passed
	KilledCancelled   KillReason = "cancelled"    // the context of a foreground command ended
	KilledStopped     KillReason = "stopped"      // Process.Stop
	KilledOutputLimit KillReason = "output limit" // Spec.MaxOutput passed
	KilledClosed      KillReason = "closed"       // Runner.Close
)

// Progress is what a running command has done so far.
type Progress struct {
	Tail    string        // newest output, cleaned as View does, at most ProgressTailBytes
	Bytes   int64         // output so far
	Lines   int64         // output so far, an unfinished line included
	Elapsed time.Duration // since the start
}

// Result tells how a command ended.
type Result struct {
	// ExitCode of the shell; 128 + the signal's number if one ended it; -1 if it could not be learnt.
	ExitCode int
	// Signal that ended the shell, like "SIGTERM"; else empty. A shell reports a signal to a program of its own as 128+n.
	Signal string
	// Killed is set if and only if the Runner ended the command.
	Killed KillReason
	// Duration from start to the end of the shell.
	Duration time.Duration
	// Dir is the physical working directory in which the shell ended. If it is not known (after exec, a signal that left no
	// time, or a replaced exit trap) DirKnown is false and Dir is the directory in which it started.
	Dir      string
	DirKnown bool
	// OutputFile holds standard output and error, interleaved; OutputSize and Lines are its size when the result was made.
	OutputFile string
	OutputSize int64
	Lines      int64
	// OutputOpen: something that the shell left behind still holds the output; the file may grow.
	OutputOpen bool
	// LeftBehind: something that the shell started (or may have started) still runs.
	LeftBehind bool
	// NotRun: a start-up file (Options.EnvFile or the snapshot) ended the shell before the command was reached.
	NotRun bool
	// OutOfMemory: the kernel has killed something of the command because Options.MemoryLimit was reached.
	OutOfMemory bool
	// Err is trouble of the Runner's own: output that could not be written, processes that would not end.
	Err error
}

// TimedOut reports whether the command's own time limit ended it; an exit code of 143 or 124 says nothing about that.
func (r Result) TimedOut() bool { return r.Killed == KilledTimeout }

// Process is a started command. Its methods are safe for concurrent use.
type Process struct {
	r     *Runner
	spec  Spec
	file  string
	start time.Time
	group *group
	cap   *capture

	proc   *os.Process
	out    *os.File // our end of the output pipe
	status *os.File // our end of the status pipe
	//lint:ignore U1000 used where an open file cannot be removed
	script string // file to remove at the end, where an open one cannot be

	stop chan struct{}
	once sync.Once // closes stop
	back chan time.Duration
	done chan struct{} // res is set
	gone chan struct{} // nothing left to wait for
	res  Result

	mu         sync.Mutex
	background bool
	cursor     int64 // of ReadNew
}

func newProcess(r *Runner, spec Spec, file string, out *os.File) *Process {
	return &Process{
		r: r, spec: spec, file: file, cap: newCapture(out, spec.MaxOutput), background: spec.Background,
		stop: make(chan struct{}), back: make(chan time.Duration), done: make(chan struct{}), gone: make(chan struct{}),
	}
}

// ID returns the name under which the Runner knows the process as a task.
func (p *Process) ID() string { return p.spec.ID }

// PID returns the process id of the shell (or of Spec.Wrap's program), which is the id of its group and session, too.
func (p *Process) PID() int { return p.proc.Pid }

// Command returns the shell text.
func (p *Process) Command() string { return p.spec.Command }

// Label returns what the caller gave as Spec.Label.
func (p *Process) Label() string { return p.spec.Label }

// OutputFile returns the path of the file that gets the output.
func (p *Process) OutputFile() string { return p.file }

// Started returns when the command was started.
func (p *Process) Started() time.Time { return p.start }

// Done is closed when the result is there.
func (p *Process) Done() <-chan struct{} { return p.done }

// Result returns the result, and false while the command runs.
func (p *Process) Result() (Result, bool) {
	select {
	case <-p.done:
		return p.res, true
	default:
		return Result{}, false
	}
}

// Wait returns the result when the shell has ended and its output has been collected, or is held by others for longer than
// PipeGrace. When ctx ends first it returns the context's error and does nothing to the command.
func (p *Process) Wait(ctx context.Context) (Result, error) {
	select {
	case <-p.done:
		return p.res, nil
	case <-ctx.Done():
		return Result{}, fmt.Errorf("waiting for command %s: %w", p.spec.ID, ctx.Err())
	}
}

// Stop kills the command, and what it left behind if its shell has ended, and waits for that at most until ctx ends.
func (p *Process) Stop(ctx context.Context) error {
	p.Halt()
	select {
	case <-p.gone:
	case <-ctx.Done():
		return fmt.Errorf("stopping command %s: %w", p.spec.ID, ctx.Err())
	}
	if p.res.LeftBehind {
		if err := p.group.kill(); err != nil {
			return fmt.Errorf("stopping command %s: %w", p.spec.ID, err)
		}
	}
	return nil
}

// Progress returns what the command has done so far.
func (p *Process) Progress() Progress {
	s := p.cap.state()
	elapsed := time.Since(p.start)
	if res, over := p.Result(); over {
		elapsed = res.Duration
	}
	return Progress{Tail: CleanText(p.cap.newest()), Bytes: s.size, Lines: s.lines, Elapsed: elapsed}
}

// exit is how the shell ended.
type exit struct {
	code   int
	signal string
	at     time.Time
}

// main owns the process from start to end.
func (p *Process) main(ctx context.Context) {
	defer p.r.wg.Done()
	defer close(p.gone)
	go p.cap.run(p.out) // waited for below: cap.done
	exited := make(chan exit, 1)
	go func() { exited <- p.reap() }() // waited for below, unless the kernel does not let go of the shell

	e, reason, err := p.watch(ctx, exited)
	p.r.keep.forget(p.group)
	p.finish(e, reason, err)
	if p.spec.OnTaskEnd != nil && p.Background() {
		p.spec.OnTaskEnd(p)
	}
	if p.res.OutputOpen {
		p.linger()
	}
	p.out.Close()
	<-p.cap.done
	left := p.group.leftBehind()
	if !left {
		p.group.release()
	}
	p.r.over(p, left)
}

// watch waits for the shell's end or a reason to bring it about.
func (p *Process) watch(ctx context.Context, exited <-chan exit) (exit, KillReason, error) {
	cancelled := ctx.Done()
	var limit <-chan time.Time
	var limitTimer *time.Timer
	setLimit := func(d time.Duration) {
		if limitTimer != nil {
			limitTimer.Stop()
		}
		limitTimer, limit = nil, nil
		if d > 0 {
			limitTimer = time.NewTimer(d)
			limit = limitTimer.C
		}
	}
	defer setLimit(0)
	setLimit(p.spec.Timeout)
	var tick <-chan time.Time
	if p.spec.Progress != nil && !p.spec.Background {
		t := time.NewTicker(ProgressInterval)
		defer t.Stop()
		tick = t.C
	}
	if p.spec.Background {
		cancelled = nil
	}
	var last Progress
	for {
		var reason KillReason
		select {
		case e := <-exited:
			return e, "", nil
		case <-cancelled:
			reason = KilledCancelled
		case <-limit:
			reason = KilledTimeout
		case <-p.stop:
			reason = KilledStopped
		case <-p.cap.over:
			reason = KilledOutputLimit
		case <-p.r.closing:
			reason = KilledClosed
		case d := <-p.back:
			cancelled, tick = nil, nil
			setLimit(d)
			continue
		case <-tick:
			if s := p.cap.state(); s.size != last.Bytes || time.Since(p.start)-last.Elapsed >= ProgressIdle {
				last = p.Progress()
				p.spec.Progress(last)
			}
			continue
		}
		e, err := p.terminate(exited, reason)
		return e, reason, err
	}
}

// terminate ends the command and everything that it started: politely first, then not.
func (p *Process) terminate(exited <-chan exit, reason KillReason) (exit, error) {
	grace, closing := TermGrace, p.r.closing
	if reason == KilledClosed {
		grace, closing = CloseGrace, nil
	}
	var e *exit
	p.group.term()
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	wait := 2 * time.Millisecond
	poll := time.NewTimer(wait)
	defer poll.Stop()
	for polite := true; polite; {
		select {
		case got := <-exited:
			e = &got
		case <-poll.C:
			polite = e == nil || p.group.alive()
			wait = min(2*wait, 80*time.Millisecond)
			poll.Reset(wait)
		case <-closing:
			closing = nil
			deadline.Reset(CloseGrace)
		case <-deadline.C:
			polite = false
		}
	}
	err := p.group.kill()
	if e == nil {
		select {
		case got := <-exited:
			e = &got
		case <-time.After(killTimeout):
			e = &exit{code: -1, at: time.Now()}
			err = errors.Join(err, fmt.Errorf("process %d does not end although killed", p.proc.Pid))
		}
	}
	return *e, err
}

// finish makes the result once the shell has ended.
func (p *Process) finish(e exit, reason KillReason, err error) {
	grace := time.NewTimer(PipeGrace)
	defer grace.Stop()
	open := false
	select {
	case <-p.cap.done:
	case <-grace.C:
		open = !p.cap.drain(p.out) && reason == ""
	}
	left := reason == "" && (open || p.group.leftBehind())
	if left && p.spec.KillLeftovers {
		err = errors.Join(err, p.group.kill())
		left, open = false, false
	}
	if !open {
		p.out.Close() // what still holds the other end is out of our reach
		<-p.cap.done
	}
	ready, dir := parseStatus(p.readStatus())
	s := p.cap.state()
	if s.err != nil {
		err = errors.Join(err, fmt.Errorf("writing the output file: %w", s.err))
	}
	p.res = Result{
		ExitCode: e.code, Signal: e.signal, Killed: reason, Duration: e.at.Sub(p.start),
		Dir: dir, DirKnown: dir != "", OutputFile: p.file, OutputSize: s.size, Lines: s.lines,
		OutputOpen: open, LeftBehind: left, NotRun: !ready && len(p.spec.Program) == 0 && reason == "" && e.signal == "", Err: err,
		OutOfMemory: p.r.opts.MemoryLimit > 0 && p.group.killedForMemory(),
	}
	if dir == "" {
		p.res.Dir = p.spec.Dir
	}
	close(p.done)
}

// linger goes on collecting the output of what the shell left behind.
func (p *Process) linger() {
	select {
	case <-p.cap.done:
	case <-p.stop:
		_ = p.group.kill()
	case <-p.cap.over:
		_ = p.group.kill()
	case <-p.r.closing:
		_ = p.group.kill()
	}
}
