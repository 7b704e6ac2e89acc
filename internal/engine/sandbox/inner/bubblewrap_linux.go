//go:build amd64 || arm64

package inner

import (
	"runtime"
	"syscall"
	"unsafe"

	"github.com/sevengate/sevengate/internal/engine/sandbox/inner/sys"
)

// coverSize bounds what can be made in a directory that covers another, before it is closed.
const coverSize = 1 << 20

// capabilityNames are keptCapabilities as bubblewrap wants them.
var capabilityNames = []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID",
	"CAP_NET_BIND_SERVICE"}

// bubblewrapOptions says in bubblewrap's words what mountScript and launch do themselves: namespaces and mounts. cwd is the
// working directory, without which the command must not run.
func bubblewrapOptions(plan *Plan, cwd string, root bool) []string {
	o := []string{"--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"}
	add := func(words ...string) { o = append(o, words...) }
	if plan.UserNS {
		add("--unshare-user")
	}
	if plan.NetNS {
		add("--unshare-net")
	}
	if root {
		for _, name := range capabilityNames {
			add("--cap-add", name)
		}
	}
	if plan.RootWrite {
		add("--bind", "/", "/")
	} else {
		add("--ro-bind", "/", "/")
	}
	for _, l := range plan.Layers {
		switch l.Kind {
		case Writable:
			add("--bind", l.Path, l.Path)
		case ReadOnly:
			add("--ro-bind", l.Path, l.Path)
		case HideFile: // a device where no devices are allowed: nobody can open it
			add("--ro-bind", "/dev/null", l.Path)
		case HideDir:
			add("--perms", "0111", "--size", itoa(coverSize), "--tmpfs", l.Path)
		case CloseDir:
			add("--remount-ro", l.Path)
		case MakeDir:
			add("--perms", "0711", "--dir", l.Path)
		case MakeFile: // made when something is mounted on it
		}
	}
	add("--dev", "/dev", "--perms", "1777", "--size", itoa(shmBytes), "--tmpfs", "/dev/shm", "--remount-ro", "/dev")
	if plan.HostProc {
		add("--ro-bind", "/proc", "/proc")
	} else {
		add("--proc", "/proc", "--remount-ro", "/proc")
	}
	add("--chdir", cwd)
	return o
}

// Bubblewrap's own first process, which reaps what the command leaves behind, keeps the standard descriptors that it is
// started with. So it gets none of the command's: those travel at higher numbers, and the process inside takes them down.

// outside runs bubblewrap, which builds the namespaces and mounts and starts this program again inside them for the rest
// of the plan. It returns the exit code.
func outside(plan *Plan, command []string) (int, error) {
	cwd, err := syscall.Getwd()
	if err != nil {
		return 0, fail("finding the working directory", err)
	}
	in := Plan{Within: true, Landlock: plan.Landlock, UnixOK: plan.UnixOK, OpenFiles: plan.OpenFiles, Pass: plan.Pass,
		Check: plan.Check, Port: plan.Port}
	if plan.Landlock > 0 {
		in.Roots = append(append([]string(nil), plan.Roots...), "/dev/pts", "/dev/shm")
	}
	options := bubblewrapOptions(plan, cwd, syscall.Geteuid() == 0)
	if plan.Seccomp { // by bubblewrap, so that its own first process is behind the filter, too
		code := filter(plan.UnixOK, plan.NoInet)
		fd, err := memory("filter", unsafe.Slice((*byte)(unsafe.Pointer(&code[0])), len(code)*int(unsafe.Sizeof(code[0]))))
		if err != nil {
			return 0, err
		}
		options = append(options, "--seccomp", itoa(fd))
	}
	if plan.Register != "" { // here, because the filter forbids it inside
		if in.Connection, err = connect(plan.Register); err != nil {
			return 0, err
		}
	}
	var list []byte
	for _, o := range options {
		list = append(append(list, o...), 0)
	}
	args, err := memory("options", list)
	if err != nil {
		return 0, err
	}
	exe, err := syscall.Open("/proc/self/exe", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err == nil {
		exe, err = inherited(exe)
	}
	if err != nil {
		return 0, fail("opening this program", err)
	}
	var tell, life, errs, started [2]int
	for _, p := range []*[2]int{&tell, &life, &errs, &started} {
		if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
			return 0, fail("making a pipe", err)
		}
	}
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, fail("opening /dev/null", err)
	}
	in.Link = &link{}
	for i := range in.Link.Stdio {
		if in.Link.Stdio[i], err = sys.Fcntl(i, syscall.F_DUPFD, MaxFD+1); err != nil {
			return 0, fail("moving a descriptor", err)
		}
	}
	if in.Link.Tell, err = inherited(tell[1]); err != nil {
		return 0, err
	}
	if in.Link.Life, err = inherited(life[0]); err != nil {
		return 0, err
	}
	// Bubblewrap must outlive what is meant for the command; an ignored signal stays ignored when it starts.
	for _, sig := range passedSignals {
		if !ignored(sig) {
			in.Default = append(in.Default, int(sig))
		}
	}
	ignoreSignals()
	words := append([]string{plan.Bubblewrap, "--args", itoa(args), "--", "/proc/self/fd/" + itoa(exe)}, in.Args()...)
	// Not by ForkExec, which would give the signals their default meaning again.
	var run, none script
	for i, fd := range [3]int{null, null, errs[1]} {
		run.add("giving bubblewrap its descriptors", syscall.SYS_DUP3, fd, i, 0)
	}
	argv, envv := pointers(append(words, command...)), pointers(environment(plan))
	var all, mask uint64
	run.add("unblocking signals", syscall.SYS_RT_SIGPROCMASK, sys.SIG_SETMASK, unsafe.Pointer(&mask), 0, 8)
	run.add("running "+plan.Bubblewrap, syscall.SYS_EXECVE, plan.Bubblewrap, unsafe.Pointer(&argv[0]), unsafe.Pointer(&envv[0]))
	p := newProgram(&run, &none, &none, started[1], false)
	all = ^uint64(0)
	setMask(sys.SIG_SETMASK, &all, &mask)
	pid, errno := p.fork(0)
	setMask(sys.SIG_SETMASK, &mask, nil)
	runtime.KeepAlive(p)
	runtime.KeepAlive(&run)
	if errno != 0 {
		return 0, fail("starting a process", errno)
	}
	syscall.Close(started[1])
	var rec record
	if readAll(started[0], unsafe.Slice((*byte)(unsafe.Pointer(&rec)), unsafe.Sizeof(rec))) > 0 {
		return 0, fail(run.what[rec.a], syscall.Errno(rec.b))
	}
	for _, fd := range []int{in.Link.Tell, in.Link.Life, in.Link.Stdio[0], in.Link.Stdio[1], errs[1]} {
		syscall.Close(fd)
	}
	var end syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(int(pid), &end, 0, nil); err != syscall.EINTR {
			break
		}
	}
	syscall.Close(life[1])
	var status [4]byte
	if readAll(tell[0], status[:]) == len(status) {
		return leave(plan, *(*syscall.WaitStatus)(unsafe.Pointer(&status))), nil
	}
	_ = syscall.SetNonblock(errs[0], true)
	text := make([]byte, 4<<10)
	_, _ = syscall.Write(2, text[:readAll(errs[0], text)])
	if end.Signaled() || end.ExitStatus() == 0 {
		return 0, fail("running "+plan.Bubblewrap, errUnexpected)
	}
	if code := end.ExitStatus(); code == ExitFailed || code == ExitUsage {
		return code, nil
	}
	return ExitFailed, nil
}

// takeDown gives this process the command's standard descriptors.
func (l *link) takeDown() {
	for i, fd := range l.Stdio {
		_ = syscall.Dup3(fd, i, 0)
		syscall.Close(fd)
	}
}

// watch waits until there is something to read from status. If the process outside ends before, so does everything here.
func (l *link) watch(status int) {
	for {
		fds := []sys.PollFd{{Fd: int32(status), Events: sys.POLLIN}, {Fd: int32(l.Life), Events: sys.POLLIN}}
		if err := sys.Poll(fds); err != nil {
			continue
		}
		if fds[0].Revents != 0 {
			return
		}
		if fds[1].Revents != 0 {
			_ = syscall.Kill(-1, syscall.SIGKILL)
			syscall.Exit(ExitFailed)
		}
	}
}

// ignored reports whether a signal is ignored.
func ignored(sig syscall.Signal) bool {
	var act kernelSigaction
	_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&act)), 8, 0, 0)
	return e == 0 && act.handler == 1
}

// memory returns a descriptor, to be inherited, of a file in memory.
func memory(name string, text []byte) (int, error) {
	fd, err := sys.MemfdCreate("sevengate-"+name, sys.MFD_CLOEXEC)
	if err != nil {
		return -1, fail("making a file in memory", err)
	}
	for n := 0; n < len(text); {
		m, err := syscall.Write(fd, text[n:])
		if err != nil {
			return -1, fail("writing a file in memory", err)
		}
		n += m
	}
	if _, err := syscall.Seek(fd, 0, sys.SEEK_SET); err != nil {
		return -1, fail("going back in a file in memory", err)
	}
	return inherited(fd)
}

// inherited moves a descriptor above those of the command, to where the next program finds it.
func inherited(fd int) (int, error) {
	defer syscall.Close(fd)
	n, err := sys.Fcntl(fd, syscall.F_DUPFD, MaxFD+1)
	if err != nil {
		return -1, fail("moving a descriptor", err)
	}
	return n, nil
}

// connect returns an inheritable connection to a Unix socket.
func connect(path string) (int, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fail("opening a socket", err)
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		return -1, fail("connecting to the proxy", err)
	}
	return inherited(fd)
}
