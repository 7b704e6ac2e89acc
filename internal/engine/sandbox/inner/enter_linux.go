//go:build amd64 || arm64

package inner

import (
	"bytes"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The helper starts before every command. An ordinary main function is reached only after all packages of the program
// have been initialised, which can take several times as long as all the rest; so this package, which depends on next to
// nothing and is therefore initialised among the first, looks at the arguments itself. It must stay that way: no import
// of fmt, regexp, encoding/json or anything that imports them.
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
	fd, err := unix.Open("/proc/self/cmdline", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	buf := make([]byte, 4<<10)
	n := readAll(fd, buf)
	_, rest, _ := bytes.Cut(buf[:n], []byte{0})
	if !bytes.HasPrefix(rest, []byte(Arg+"\x00")) {
		return nil
	}
	for n == len(buf) {
		buf = append(buf, make([]byte, len(buf))...)
		n += readAll(fd, buf[n:])
	}
	args := strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00")
	return args[2:]
}

func readAll(fd int, buf []byte) (n int) {
	for n < len(buf) {
		m, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
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
	fd, err := unix.Open("/proc/self/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	n := readAll(fd, buf)
	unix.Close(fd)
	i := bytes.LastIndexByte(buf[:n], ')')
	f := strings.Fields(string(buf[i+1 : n]))
	const argStart, argEnd = 48 - 3, 49 - 3 // of man 5 proc, counted from the field behind the name
	if len(f) <= argEnd {
		return
	}
	start, err1 := strconv.ParseInt(f[argStart], 10, 64)
	end, err2 := strconv.ParseInt(f[argEnd], 10, 64)
	name := "sevengate sandbox"
	if err1 != nil || err2 != nil || end-start <= int64(len(name)) {
		return
	}
	fd, err = unix.Open("/proc/self/mem", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	cover := make([]byte, end-start)
	copy(cover, name)
	_, _ = unix.Pwrite(fd, cover, start)
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
	_, _ = unix.Write(2, []byte("sandbox: "+err.Error()+"\n"))
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
		_, _ = unix.Write(plan.Link.Tell, unsafe.Slice((*byte)(unsafe.Pointer(&end)), unsafe.Sizeof(end)))
		return 0
	}
	return leave(&plan, end)
}

// leave ends as the command has ended, or returns the exit code that says so.
func leave(plan *Plan, end syscall.WaitStatus) int {
	if plan.Check {
		if end == 0 {
			_, _ = unix.Write(1, []byte(CheckAnswer))
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
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	setAction(sig, 0)
	var none uint64
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&none)), 0, 8, 0, 0)
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), sig)
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
	setMask(unix.SIG_SETMASK, &all, &mask)
	var flags uintptr
	if plan.Namespaces {
		flags |= unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC
	}
	if plan.NetNS {
		flags |= unix.CLONE_NEWNET
	}
	if !plan.Namespaces { // the new process is no namespace's first, which would be spared
		forked()
	}
	pid, errno := p.fork(flags)
	setMask(unix.SIG_SETMASK, &mask, nil)
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
		_, err = unix.Write(fds.syncW, []byte{1})
	}
	if err != nil {
		_ = unix.Kill(r.pid, unix.SIGKILL)
		r.reap()
		return nil, err
	}
	return r, nil
}

// wait returns how the command ended. If others that it started still run, they go on without this process.
func (r *running) wait() (syscall.WaitStatus, error) {
	defer unix.Close(r.status)
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
	if unix.Geteuid() == 0 {
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
	if err := writeFile(dir+"/uid_map", one(unix.Geteuid())); err != nil {
		return fail("giving the sandbox its user", err)
	}
	if err := writeFile(dir+"/gid_map", one(unix.Getegid())); err != nil {
		return fail("giving the sandbox its group", err)
	}
	return nil
}

func one(id int) string { return itoa(id) + " " + itoa(id) + " 1\n" }

// identity turns a map into one that gives each number that is known here the same number.
func identity(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := make([]byte, 16<<10)
	var out strings.Builder
	for line := range strings.SplitSeq(string(buf[:readAll(fd, buf)]), "\n") {
		if f := strings.Fields(line); len(f) == 3 {
			out.WriteString(f[0] + " " + f[0] + " " + f[2] + "\n")
		}
	}
	return out.String(), nil
}

func writeFile(path, text string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text))
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
