//go:build unix

package shellrun

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// spawn starts the process with its pipes and its group.
func (p *Process) spawn(argv []string, snap snapshot, seq int64) (err error) {
	r := p.r
	var opened []*os.File // of the child; ours are closed here only on failure
	defer func() {
		for _, f := range opened {
			f.Close()
		}
		if err != nil {
			p.closePipes()
		}
	}()
	pipe := func() (*os.File, *os.File, error) {
		ours, theirs, err := os.Pipe()
		if err != nil {
			return nil, nil, fmt.Errorf("making a pipe: %w", err)
		}
		opened = append(opened, theirs)
		return ours, theirs, nil
	}
	var outW, statusW *os.File
	if p.out, outW, err = pipe(); err != nil {
		return err
	}
	if p.status, statusW, err = pipe(); err != nil {
		return err
	}
	script, err := scriptFile(r.opts.OutputDir, p.spec.Command)
	if err != nil {
		return fmt.Errorf("handing the command to the shell: %w", err)
	}
	opened = append(opened, script)

	files := make([]*os.File, statusFD+1)
	files[0], files[1], files[2] = r.null, outW, outW
	copy(files[3:], p.spec.ExtraFiles)
	files[scriptFD], files[statusFD] = script, statusW
	if len(p.spec.Program) > 0 {
		files = files[:3+len(p.spec.ExtraFiles)]
		files[0] = script
	}
	if p.spec.Stdout != nil {
		files[1] = p.spec.Stdout
	}

	if tty := p.spec.TTY; tty != nil {
		files[0], files[1], files[2] = tty, tty, tty
	}

	useCgroup := !r.cgroupRefused.Load()
	for retry := false; ; retry = true {
		g := r.root.newGroup(seq, useCgroup)
		attr := &os.ProcAttr{Dir: p.spec.Dir, Files: files, Sys: &syscall.SysProcAttr{}, Env: r.environment(p.spec, snap, g.marker)}
		g.attr(attr.Sys)
		if p.spec.TTY != nil { // a leader of a session it is already
			attr.Sys.Setctty, attr.Sys.Ctty = true, 0
		}
		p.start = time.Now()
		proc, err := os.StartProcess(argv[0], argv, attr)
		if err != nil {
			inCgroup := g.inCgroup()
			g.release()
			if inCgroup { // perhaps that was the reason: the kernel or a filter may refuse it
				useCgroup = false
				continue
			}
			return err
		}
		if retry || r.root.dir != "" && !g.inCgroup() {
			r.cgroupRefused.Store(true)
		}
		p.proc, p.group = proc, g
		g.started(proc.Pid)
		r.keep.watch(g)
		return nil
	}
}

func (r *Runner) environment(spec Spec, snap snapshot, marker string) []string {
	own := []string{"PWD=" + spec.Dir}
	if outer := lookupEnv(r.base, markerVar); outer != "" {
		marker = outer + ":" + marker
	}
	own = append(own, markerVar+"="+marker)
	if snap.path != "" {
		own = append(own, "PATH="+mergePath(lookupEnv(r.base, "PATH"), snap.path))
		if path := lookupEnv(spec.Env, "PATH"); path != "" {
			own[len(own)-1] = "PATH=" + path
		}
	}
	return environment(r.base, nil, spec.Env, own)
}

// mergePath adds what only the login shell has behind what the host has: an activated environment stays in front.
func mergePath(host, login string) string {
	seen := map[string]bool{}
	var out []string
	for _, dir := range append(strings.Split(host, ":"), strings.Split(login, ":")...) {
		if dir != "" && !seen[dir] {
			seen[dir] = true
			out = append(out, dir)
		}
	}
	return strings.Join(out, ":")
}

func (p *Process) closePipes() {
	for _, f := range []*os.File{p.out, p.status} {
		if f != nil {
			f.Close()
		}
	}
}

// reap waits for the shell's end.
func (p *Process) reap() exit {
	state, err := p.proc.Wait()
	p.group.shellReaped()
	e := exit{code: -1, at: time.Now()}
	if err != nil {
		return e
	}
	ws, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && ws.Signaled():
		e.signal = unix.SignalName(ws.Signal())
		e.code = 128 + int(ws.Signal())
	default:
		e.code = state.ExitCode()
	}
	return e
}

// readStatus takes what the wrapper wrote, without waiting for those that still hold the pipe.
func (p *Process) readStatus() []byte {
	defer p.status.Close()
	buf := make([]byte, 64<<10)
	total := 0
	for total < len(buf) {
		n := readNow(p.status, buf[total:])
		if n <= 0 {
			break
		}
		total += n
	}
	return buf[:total]
}

// readNow reads what is there: a number of bytes, readNothing or readEnd. A closed file has ended.
func readNow(f *os.File, buf []byte) int {
	conn, err := f.SyscallConn()
	if err != nil {
		return readEnd
	}
	result := readEnd
	_ = conn.Read(func(fd uintptr) bool {
		for {
			n, err := unix.Read(int(fd), buf)
			switch {
			case errors.Is(err, unix.EINTR):
				continue
			case errors.Is(err, unix.EAGAIN):
				result = readNothing
			case err == nil && n > 0:
				result = n
			}
			return true
		}
	})
	return result
}

// unlinkedScript puts the command into a file without a name.
func unlinkedScript(dir, command string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".command-*")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name())
	return fillScript(f, command)
}

func fillScript(f *os.File, command string) (*os.File, error) {
	_, err := io.WriteString(f, command)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
