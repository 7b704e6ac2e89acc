//go:build amd64 || arm64

package inner

import (
	"errors"
	"syscall"
	"unsafe"
)

// Between fork and exec there is no Go: no allocation, no growing stack, no scheduler. What the child does is therefore
// written down beforehand as a list of system calls, and the child is a loop over that list.

// op is one system call.
type op struct {
	nr   uintptr
	args [6]uintptr
	from [6]uint16 // if not 0, the argument is the value saved under this number
	save uint16    // if not 0, the result is saved under this number
	want uintptr   // if not 0, any other result is a failure
	soft bool      // failure is no failure
}

// maxSaved is one more than the highest number that a result can be saved under. One file descriptor each.
const maxSaved = 2048

// script is a list of ops with what their pointers point to.
type script struct {
	ops   []op
	what  []string // what each does, for messages
	keep  []any
	saved uint16
}

// add appends a system call. An argument is an integer, a string, a slot, or a pointer.
func (s *script) add(what string, nr uintptr, args ...any) *op {
	o := op{nr: nr}
	for i, a := range args {
		switch v := a.(type) {
		case int:
			o.args[i] = uintptr(v)
		case uintptr:
			o.args[i] = v
		case slot:
			o.from[i] = uint16(v)
		case string:
			b := append([]byte(v), 0)
			s.keep = append(s.keep, b)
			o.args[i] = uintptr(unsafe.Pointer(&b[0]))
		case unsafe.Pointer:
			s.keep = append(s.keep, v)
			o.args[i] = uintptr(v)
		default:
			panic("an argument of a type that does not fit: " + what)
		}
	}
	s.ops = append(s.ops, o)
	s.what = append(s.what, what)
	return &s.ops[len(s.ops)-1]
}

// slot is the number under which a result is saved.
type slot uint16

var errTooManyLayers = errors.New("too many paths to treat specially")

func (s *script) slot() (slot, error) {
	if s.saved >= maxSaved-1 {
		return 0, errTooManyLayers
	}
	s.saved++
	return slot(s.saved), nil
}

// record is what the child tells through the status pipe: a failed op, or how the command ended.
type record struct {
	kind uint32 // recordSetup, recordStart or recordEnd
	a, b uint32 // number of the op and errno; wait status and whether others still run
	_    uint32
}

const (
	recordSetup = 1
	recordStart = 2
	recordEnd   = 3
)

// program is all that the child needs after the fork.
type program struct {
	setup, shell, init *op
	nsetup, nshell     int
	ninit              int
	saved              [maxSaved]uintptr
	rec                record
	status             uintptr // the pipe's descriptor
	wait               int32   // wait status
	reap               bool    // stay and reap what the command leaves behind
}

// run makes the calls of a list and returns the index of the one that failed, or -1.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (p *program) run(list *op, n int) (failed int, errno uintptr) {
	for i := 0; i < n; i++ {
		o := (*op)(unsafe.Add(unsafe.Pointer(list), uintptr(i)*unsafe.Sizeof(op{})))
		var a [6]uintptr
		for k := 0; k < 6; k++ {
			a[k] = o.args[k]
			if f := o.from[k]; f != 0 && f < maxSaved {
				a[k] = p.saved[f]
			}
		}
		r, _, e := syscall.RawSyscall6(o.nr, a[0], a[1], a[2], a[3], a[4], a[5])
		if e != 0 || o.want != 0 && r != o.want {
			if o.soft {
				continue
			}
			return i, uintptr(e)
		}
		if s := o.save; s != 0 && s < maxSaved {
			p.saved[s] = r
		}
	}
	return -1, 0
}

//go:nosplit
//go:norace
//go:nocheckptr
func (p *program) tell(kind, a, b uint32) {
	p.rec.kind, p.rec.a, p.rec.b = kind, a, b
	syscall.RawSyscall6(syscall.SYS_WRITE, p.status, uintptr(unsafe.Pointer(&p.rec)), unsafe.Sizeof(p.rec), 0, 0, 0)
}

// fork makes the process that becomes the command, and returns its number as the caller sees it. The new process never
// returns from here.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (p *program) fork(flags uintptr) (pid uintptr, errno syscall.Errno) {
	// clone's last arguments are in another order on some architectures; all of them are 0.
	pid, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, flags|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	p.child()
	return 0, 0
}

// child builds the walls, starts the command behind them, and waits for everything that it started.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (p *program) child() {
	if i, e := p.run(p.setup, p.nsetup); i >= 0 {
		p.tell(recordSetup, uint32(i), uint32(e))
		p.exit(ExitFailed)
	}
	shell, _, e := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 {
		p.tell(recordStart, 0, uint32(e))
		p.exit(ExitFailed)
	}
	if shell == 0 {
		if i, e := p.run(p.shell, p.nshell); i >= 0 {
			p.tell(recordStart, uint32(i), uint32(e))
		}
		p.exit(ExitFailed)
	}
	if i, e := p.run(p.init, p.ninit); i >= 0 {
		p.tell(recordSetup, 0, uint32(e))
		p.exit(ExitFailed)
	}
	var ended bool
	var options uintptr
	for {
		pid, _, e := syscall.RawSyscall6(syscall.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&p.wait)), options, 0, 0, 0)
		switch {
		case e == syscall.EINTR:
		case pid == shell && e == 0:
			p.rec.a = uint32(p.wait)
			ended, options = true, syscall.WNOHANG // is there anyone else?
		case e != 0: // no child is left
			if ended && options != 0 {
				p.tell(recordEnd, p.rec.a, 0)
			}
			p.exit(0)
		case pid == 0: // others run
			// From here on the life of this process is not tied to that of the helper.
			syscall.RawSyscall6(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, 0, 0, 0, 0, 0)
			p.tell(recordEnd, p.rec.a, 1)
			if !p.reap {
				p.exit(0)
			}
			syscall.RawSyscall6(syscall.SYS_CLOSE, p.status, 0, 0, 0, 0, 0)
			options = 0
		}
	}
}

//go:nosplit
//go:norace
//go:nocheckptr
func (p *program) exit(code uintptr) {
	for {
		syscall.RawSyscall6(syscall.SYS_EXIT_GROUP, code, 0, 0, 0, 0, 0)
	}
}

// newProgram returns a program for the three lists.
func newProgram(setup, shell, init *script, status int, reap bool) *program {
	p := &program{nsetup: len(setup.ops), nshell: len(shell.ops), ninit: len(init.ops), status: uintptr(status), reap: reap}
	first := func(s *script) *op {
		if len(s.ops) == 0 {
			return nil
		}
		return &s.ops[0]
	}
	p.setup, p.shell, p.init = first(setup), first(shell), first(init)
	return p
}
