//go:build amd64 || arm64

package inner

import (
	"runtime"
	"syscall"
	"unsafe"

	"github.com/sevengate/sevengate/internal/engine/sandbox/inner/sys"
)

// The helper starts before every command. An ordinary main function is reached only after all packages of the program
// have been initialised, which can take several times as long as all the rest; so this package looks at the arguments
// itself. Of the packages that are ready the one whose path sorts first is initialised next, and a package is ready once
// all that it imports are: one import of a path behind "github.com", such as strings, would put it behind the heaviest
// ones. The tests keep the list short.
func init() {
	args := hiddenArgs()
	if args == nil {
		return
	}
	runtime.LockOSThread()
	syscall.Exit(enter(args))
}

// hiddenArgs returns what follows Arg on the command line, or nil if it is not there.
func hiddenArgs() []string {
	fd, err := syscall.Open("/proc/self/cmdline", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	buf := make([]byte, 4<<10)
	n := readAll(fd, buf)
	_, rest, _ := cut(string(buf[:n]), 0)
	if first, _, ended := cut(rest, 0); first != Arg || !ended {
		return nil
	}
	for n == len(buf) {
		buf = append(buf, make([]byte, len(buf))...)
		n += readAll(fd, buf[n:])
	}
	if n > 0 && buf[n-1] == 0 {
		n--
	}
	return split(string(buf[:n]), 0)[2:]
}

func readAll(fd int, buf []byte) (n int) {
	for n < len(buf) {
		m, err := syscall.Read(fd, buf[n:])
		if err == syscall.EINTR {
			continue
		}
		if m <= 0 || err != nil {
			break
		}
		n += m
	}
	return n
}

// coverArgs makes this process look, to ps and pkill, like what it is and not like the command and its plan.
func coverArgs() {
	buf := make([]byte, 4<<10)
	fd, err := syscall.Open("/proc/self/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	n := readAll(fd, buf)
	syscall.Close(fd)
	i := n
	for i > 0 && buf[i-1] != ')' { // the name may hold some
		i--
	}
	f := fields(string(buf[i:n]))
	const argStart, argEnd = 48 - 3, 49 - 3 // of man 5 proc, counted from the field behind the name
	if len(f) <= argEnd {
		return
	}
	start, err1 := atoi(f[argStart])
	end, err2 := atoi(f[argEnd])
	name := "sevengate sandbox"
	if err1 != nil || err2 != nil || end-start <= len(name) {
		return
	}
	fd, err = syscall.Open("/proc/self/mem", syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	cover := make([]byte, end-start)
	copy(cover, name)
	_, _ = syscall.Pwrite(fd, cover, int64(start))
}

// failure is an error with what was being done.
type failure struct {
	what string
	err  error
}

func (f *failure) Error() string { return f.what + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(what string, err error) error { return &failure{what, err} }

func complain(err error) {
	_, _ = syscall.Write(2, []byte("sandbox: "+err.Error()+"\n"))
}

// enter runs a command behind the walls of a plan and returns its exit code.
func enter(args []string) int {
	plan, command, err := parse(args)
	if err != nil {
		complain(err)
		return ExitUsage
	}
	if plan.Bubblewrap != "" {
		code, err := outside(&plan, command)
		if err != nil {
			complain(err)
			return ExitFailed
		}
		return code
	}
	if plan.Link != nil {
		plan.Link.takeDown()
	}
	coverArgs()
	r, err := launch(&plan, command, ignoreSignals)
	if err != nil {
		complain(err)
		return ExitFailed
	}
	if plan.Link != nil {
		plan.Link.watch(r.status)
	}
	end, err := r.wait()
	if err != nil {
		complain(err)
		return ExitFailed
	}
	if plan.Link != nil {
		_, _ = syscall.Write(plan.Link.Tell, unsafe.Slice((*byte)(unsafe.Pointer(&end)), unsafe.Sizeof(end)))
		return 0
	}
	return leave(&plan, end)
}

// leave ends as the command has ended, or returns the exit code that says so.
func leave(plan *Plan, end syscall.WaitStatus) int {
	if plan.Check {
		if end == 0 {
			_, _ = syscall.Write(1, []byte(CheckAnswer))
		}
		return int(end.ExitStatus())
	}
	if end.Signaled() {
		die(end.Signal())
		return 128 + int(end.Signal())
	}
	return end.ExitStatus()
}

// die ends this process with the signal that ended the command, so that whoever waits for it sees the same.
func die(sig syscall.Signal) {
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	setAction(sig, 0)
	var none uint64
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, sys.SIG_SETMASK, uintptr(unsafe.Pointer(&none)), 0, 8, 0, 0)
	_ = syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), sig)
}

// running is a started command.
type running struct {
	pid    int
	status int // reading end
	setup  script
	shell  script
}

// launch forks the process that becomes the command.
func launch(plan *Plan, command []string, forked func()) (_ *running, err error) {
	r := &running{status: -1}
	var fds descriptors
	defer fds.closeChilds()
	defer func() {
		if err != nil {
			fds.closeAll()
		}
	}()
	if err := fds.open(plan); err != nil {
		return nil, err
	}
	var init script
	if err := setupScript(&r.setup, plan, &fds); err != nil {
		return nil, err
	}
	var mask uint64
	shellScript(&r.shell, plan, command, &fds, &mask)
	initScript(&init, &fds)
	p := newProgram(&r.setup, &r.shell, &init, fds.statusW, true)

	all := ^uint64(0)
	setMask(sys.SIG_SETMASK, &all, &mask)
	var flags uintptr
	if plan.Namespaces {
		flags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC
	}
	if plan.NetNS {
		flags |= syscall.CLONE_NEWNET
	}
	if !plan.Namespaces { // the new process is no namespace's first, which would be spared
		forked()
	}
	pid, errno := p.fork(flags)
	setMask(sys.SIG_SETMASK, &mask, nil)
	runtime.KeepAlive(p)
	runtime.KeepAlive(&r.setup)
	runtime.KeepAlive(&init)
	if errno != 0 {
		return nil, fail("making namespaces", errno)
	}
	r.pid, r.status = int(pid), fds.statusR
	if plan.Namespaces {
		err = writeMaps(r.pid)
	}
	if err == nil {
		forked()
		_, err = syscall.Write(fds.syncW, []byte{1})
	}
	if err != nil {
		_ = syscall.Kill(r.pid, syscall.SIGKILL)
		r.reap()
		return nil, err
	}
	return r, nil
}

// wait returns how the command ended. If others that it started still run, they go on without this process.
func (r *running) wait() (syscall.WaitStatus, error) {
	defer syscall.Close(r.status)
	var rec record
	n := readAll(r.status, unsafe.Slice((*byte)(unsafe.Pointer(&rec)), unsafe.Sizeof(rec)))
	if n < int(unsafe.Sizeof(rec)) { // the first process was killed, and all others with it
		return r.reap(), nil
	}
	step := func(s *script) error {
		what := "starting"
		if int(rec.a) < len(s.what) {
			what = s.what[rec.a]
		}
		if rec.b == 0 {
			return fail(what, errUnexpected)
		}
		return fail(what, syscall.Errno(rec.b))
	}
	switch rec.kind {
	case recordSetup:
		r.reap()
		return 0, step(&r.setup)
	case recordStart:
		r.reap()
		return 0, step(&r.shell)
	}
	if rec.b == 0 {
		r.reap()
	}
	return syscall.WaitStatus(rec.a), nil
}

func (r *running) reap() (ws syscall.WaitStatus) {
	for {
		if _, err := syscall.Wait4(r.pid, &ws, 0, nil); err != syscall.EINTR {
			return ws
		}
	}
}

// writeMaps gives the new user namespace its users: all that this process may give, else this one alone.
func writeMaps(pid int) error {
	dir := "/proc/" + itoa(pid)
	if syscall.Geteuid() == 0 {
		uids, err1 := identity("/proc/self/uid_map")
		gids, err2 := identity("/proc/self/gid_map")
		if err1 == nil && err2 == nil && writeFile(dir+"/uid_map", uids) == nil {
			if err := writeFile(dir+"/gid_map", gids); err != nil {
				return fail("giving the sandbox its groups", err)
			}
			return nil
		}
	}
	if err := writeFile(dir+"/setgroups", "deny"); err != nil {
		return fail("fixing the groups of the sandbox", err)
	}
	if err := writeFile(dir+"/uid_map", one(syscall.Geteuid())); err != nil {
		return fail("giving the sandbox its user", err)
	}
	if err := writeFile(dir+"/gid_map", one(syscall.Getegid())); err != nil {
		return fail("giving the sandbox its group", err)
	}
	return nil
}

func one(id int) string { return itoa(id) + " " + itoa(id) + " 1\n" }

// identity turns a map into one that gives each number that is known here the same number.
func identity(path string) (string, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer syscall.Close(fd)
	buf := make([]byte, 16<<10)
	out := ""
	for _, line := range split(string(buf[:readAll(fd, buf)]), '\n') {
		if f := fields(line); len(f) == 3 {
			out += f[0] + " " + f[0] + " " + f[2] + "\n"
		}
	}
	return out, nil
}

func writeFile(path, text string) error {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	_, err = syscall.Write(fd, []byte(text))
	return err
}

// Probe tries to build a plan's walls in a process that does nothing else. The plan should have Check.
func Probe(plan *Plan) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r, err := launch(plan, nil, func() {})
	if err != nil {
		return err
	}
	end, err := r.wait()
	if err == nil && end != 0 {
		err = errUnexpected
	}
	return err
}
