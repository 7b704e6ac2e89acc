//go:build amd64 || arm64

package inner

import (
	"errors"
	"syscall"
	"unsafe"

	"github.com/sevengate/sevengate/internal/engine/sandbox/inner/sys"
)

var errUnexpected = errors.New("an answer that was not expected")

// devices are what a command may open in /dev, beside terminals of its own.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// keptCapabilities are what root keeps inside: to be the owner of any file that it can reach, and to change who it is.
const keptCapabilities = 1<<sys.CAP_CHOWN | 1<<sys.CAP_DAC_OVERRIDE | 1<<sys.CAP_FOWNER | 1<<sys.CAP_FSETID |
	1<<sys.CAP_KILL | 1<<sys.CAP_SETGID | 1<<sys.CAP_SETUID | 1<<sys.CAP_NET_BIND_SERVICE

// descriptors are the helper's own, all above MaxFD. The last three are reserved for what the child opens.
type descriptors struct {
	statusR, statusW, syncR, syncW int
	rules                          int
	listener, connection, path     int
}

func (d *descriptors) all() []*int {
	return []*int{&d.statusR, &d.statusW, &d.syncR, &d.syncW, &d.rules, &d.listener, &d.connection, &d.path}
}

func (d *descriptors) open(plan *Plan) error {
	for _, p := range d.all() {
		*p = -1
	}
	high := func(fd int) (int, error) {
		if fd > MaxFD {
			return fd, nil
		}
		defer syscall.Close(fd)
		n, err := sys.Fcntl(fd, syscall.F_DUPFD_CLOEXEC, MaxFD+1)
		if err != nil {
			return -1, fail("moving a descriptor", err)
		}
		return n, nil
	}
	for _, ends := range [][2]*int{{&d.statusR, &d.statusW}, {&d.syncR, &d.syncW}} {
		var p [2]int
		err := syscall.Pipe2(p[:], syscall.O_CLOEXEC)
		if err != nil {
			return fail("making a pipe", err)
		}
		if *ends[0], err = high(p[0]); err != nil {
			syscall.Close(p[1])
			return err
		}
		if *ends[1], err = high(p[1]); err != nil {
			return err
		}
	}
	for _, p := range []*int{&d.listener, &d.connection, &d.path} {
		fd, err := sys.Fcntl(d.statusW, syscall.F_DUPFD_CLOEXEC, MaxFD+1)
		if err != nil {
			return fail("reserving a descriptor", err)
		}
		*p = fd
	}
	if plan.Landlock > 0 {
		fd, err := ruleset(plan)
		if err != nil {
			return err
		}
		if d.rules, err = high(fd); err != nil {
			return err
		}
	}
	return nil
}

// closeChilds closes what only the child needs; closeAll the rest.
func (d *descriptors) closeChilds() {
	for _, p := range []*int{&d.statusW, &d.syncR, &d.syncW, &d.rules, &d.listener, &d.connection, &d.path} {
		if *p >= 0 {
			syscall.Close(*p)
			*p = -1
		}
	}
}

func (d *descriptors) closeAll() {
	d.closeChilds()
	if d.statusR >= 0 {
		syscall.Close(d.statusR)
	}
}

// setupScript is what the first process inside does before the command is started.
func setupScript(s *script, plan *Plan, d *descriptors) error {
	s.add("ending with the helper", syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, int(syscall.SIGKILL))
	s.add("closing a pipe", syscall.SYS_CLOSE, d.syncW)
	b := new([8]byte)
	s.add("waiting for the user map", syscall.SYS_READ, d.syncR, unsafe.Pointer(b), 1).want = 1
	s.add("collecting children", syscall.SYS_PRCTL, sys.PR_SET_CHILD_SUBREAPER, 1)
	if plan.NetNS || plan.Connection > 0 {
		networkScript(s, plan, d)
	}
	if plan.Namespaces {
		if err := mountScript(s, plan, d); err != nil {
			return err
		}
	}
	privilegeScript(s, plan)
	if len(plan.Unset) > 0 { // what the command must not know stands in the memory of this process, its neighbour
		s.add("closing this process's memory", syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0)
	}
	s.add("giving up new privileges", syscall.SYS_PRCTL, sys.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if plan.Landlock > 0 {
		s.add("switching Landlock on", sys.SYS_LANDLOCK_RESTRICT_SELF, d.rules, 0)
	}
	if plan.Seccomp {
		code := filter(plan.UnixOK, plan.NoInet)
		prog := &syscall.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
		s.add("switching the system call filter on", sys.SYS_SECCOMP, sys.SECCOMP_SET_MODE_FILTER, 0, unsafe.Pointer(prog))
	}
	return nil
}

// networkScript raises the loopback interface and hands a listening socket to the proxy outside.
func networkScript(s *script, plan *Plan, d *descriptors) {
	sock := slot(maxSaved - 1)
	if plan.NetNS {
		s.add("opening a socket", syscall.SYS_SOCKET, syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0).save = uint16(sock)
		var ifreq [40]byte
		copy(ifreq[:], "lo")
		ifreq[16] = syscall.IFF_UP | syscall.IFF_RUNNING
		s.add("raising the loopback interface", syscall.SYS_IOCTL, sock, syscall.SIOCSIFFLAGS, unsafe.Pointer(&ifreq))
		s.add("closing a socket", syscall.SYS_CLOSE, sock)
	}
	if plan.Register == "" && plan.Connection == 0 {
		return
	}
	addr := &syscall.RawSockaddrInet4{Family: syscall.AF_INET, Port: uint16(plan.Port>>8 | plan.Port&0xff<<8), Addr: [4]byte{127, 0, 0, 1}}
	s.add("opening a socket", syscall.SYS_SOCKET, syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0).save = uint16(sock)
	s.add("binding the proxy's port", syscall.SYS_BIND, sock, unsafe.Pointer(addr), int(unsafe.Sizeof(*addr)))
	s.add("listening on the proxy's port", syscall.SYS_LISTEN, sock, 128)
	s.add("moving a descriptor", syscall.SYS_DUP3, sock, d.listener, syscall.O_CLOEXEC)
	s.add("closing a socket", syscall.SYS_CLOSE, sock)
	if plan.Connection > 0 {
		s.add("moving a descriptor", syscall.SYS_FCNTL, plan.Connection, syscall.F_DUPFD_CLOEXEC, MaxFD+1).save = uint16(sock)
	} else {
		proxy := &syscall.RawSockaddrUnix{Family: syscall.AF_UNIX}
		for i := 0; i < len(plan.Register) && i < len(proxy.Path)-1; i++ {
			proxy.Path[i] = int8(plan.Register[i])
		}
		s.add("opening a socket", syscall.SYS_SOCKET, syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0).save = uint16(sock)
		s.add("connecting to the proxy", syscall.SYS_CONNECT, sock, unsafe.Pointer(proxy), int(unsafe.Sizeof(*proxy)))
	}
	byteToSend := &[1]byte{1}
	iov := &syscall.Iovec{Base: &byteToSend[0]}
	iov.SetLen(1)
	control := make([]byte, syscall.CmsgSpace(4))
	h := (*syscall.Cmsghdr)(unsafe.Pointer(&control[0]))
	h.Level, h.Type = syscall.SOL_SOCKET, syscall.SCM_RIGHTS
	h.SetLen(syscall.CmsgLen(4))
	*(*int32)(unsafe.Pointer(&control[syscall.CmsgLen(0)])) = int32(d.listener)
	msg := &syscall.Msghdr{Iov: iov, Iovlen: 1, Control: &control[0]}
	msg.SetControllen(len(control))
	s.add("handing a socket to the proxy", syscall.SYS_SENDMSG, sock, unsafe.Pointer(msg), 0).want = 1
	s.add("moving a descriptor", syscall.SYS_DUP3, sock, d.connection, syscall.O_CLOEXEC)
	s.add("closing a socket", syscall.SYS_CLOSE, sock)
	s.add("closing a socket", syscall.SYS_CLOSE, d.listener)
}

// privilegeScript takes away what is more than the owner of files can do.
func privilegeScript(s *script, plan *Plan) {
	root := syscall.Geteuid() == 0
	if plan.Namespaces || root {
		for c := 0; c <= 63; c++ {
			if !root || keptCapabilities>>c&1 == 0 {
				// Within, bubblewrap has done so.
				s.add("dropping a capability", syscall.SYS_PRCTL, syscall.PR_CAPBSET_DROP, c, 0, 0, 0).soft = c > sys.CAP_LAST_CAP || plan.Within
			}
		}
	}
	keep := uint32(0)
	if root {
		keep = keptCapabilities
	}
	header := &sys.CapUserHeader{Version: sys.LINUX_CAPABILITY_VERSION_3}
	data := &[2]sys.CapUserData{{Effective: keep, Permitted: keep}}
	s.add("dropping capabilities", syscall.SYS_CAPSET, unsafe.Pointer(header), unsafe.Pointer(data)).soft = root && !plan.Namespaces
	s.add("dropping ambient capabilities", syscall.SYS_PRCTL, sys.PR_CAP_AMBIENT, sys.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}

// kernelSigaction is struct sigaction as the kernel has it.
type kernelSigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

func setAction(sig syscall.Signal, handler uintptr) {
	act := kernelSigaction{handler: handler}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
}

func setMask(how int, set, old *uint64) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, uintptr(how), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
}

// shellScript is what the command's process does before it becomes the command.
func shellScript(s *script, plan *Plan, command []string, d *descriptors, mask *uint64) {
	if plan.Check {
		s.add("ending", syscall.SYS_EXIT_GROUP, 0)
		return
	}
	if plan.OpenFiles > 0 {
		var lim syscall.Rlimit
		if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim) == nil && uint64(plan.OpenFiles) <= lim.Max {
			lim.Cur = uint64(plan.OpenFiles)
			s.add("setting the limit of open files", syscall.SYS_PRLIMIT64, 0, syscall.RLIMIT_NOFILE, unsafe.Pointer(&lim), 0)
		}
	}
	s.add("starting a session", syscall.SYS_SETSID)
	for sig := 1; sig < 65; sig++ {
		var act kernelSigaction
		_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&act)), 8, 0, 0)
		if e == 0 && act.handler > 1 { // neither default nor ignored
			s.add("resetting a signal", syscall.SYS_RT_SIGACTION, sig, unsafe.Pointer(&kernelSigaction{}), 0, 8)
		}
	}
	for _, sig := range plan.Default {
		s.add("resetting a signal", syscall.SYS_RT_SIGACTION, sig, unsafe.Pointer(&kernelSigaction{}), 0, 8)
	}
	s.add("unblocking signals", syscall.SYS_RT_SIGPROCMASK, sys.SIG_SETMASK, unsafe.Pointer(mask), 0, 8)
	next := 3
	for _, fd := range append(append([]int(nil), plan.Pass...), d.statusW) {
		if fd > next {
			s.add("closing descriptors", sys.SYS_CLOSE_RANGE, next, fd-1, 0)
		}
		next = fd + 1
	}
	s.add("closing descriptors", sys.SYS_CLOSE_RANGE, next, int(^uint32(0)), 0)
	argv, envv := pointers(command), pointers(environment(plan))
	s.keep = append(s.keep, argv, envv)
	s.add("running "+command[0], syscall.SYS_EXECVE, command[0], unsafe.Pointer(&argv[0]), unsafe.Pointer(&envv[0]))
}

func environment(plan *Plan) []string {
	gone := map[string]bool{}
	for _, name := range plan.Unset {
		gone[name] = true
	}
	for _, kv := range plan.Env {
		name, _, _ := cut(kv, '=')
		gone[name] = true
	}
	var out []string
	for _, kv := range syscall.Environ() {
		if name, _, _ := cut(kv, '='); !gone[name] {
			out = append(out, kv)
		}
	}
	return append(out, plan.Env...)
}

func pointers(words []string) []*byte {
	out := make([]*byte, 0, len(words)+1)
	for _, w := range words {
		b := append([]byte(w), 0)
		out = append(out, &b[0])
	}
	return append(out, nil)
}

// initScript is what the first process does once the command has been started: it holds on to nothing but the pipe that
// tells how the command ended, and the proxy's sign that the sandbox lives.
func initScript(s *script, d *descriptors) {
	low, high := min(d.statusW, d.connection), max(d.statusW, d.connection)
	s.add("closing descriptors", sys.SYS_CLOSE_RANGE, 0, low-1, 0)
	if high > low+1 {
		s.add("closing descriptors", sys.SYS_CLOSE_RANGE, low+1, high-1, 0)
	}
	s.add("closing descriptors", sys.SYS_CLOSE_RANGE, high+1, int(^uint32(0)), 0)
}

// passedSignals are meant for the command when they reach the helper.
var passedSignals = []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM}

// ignoreSignals lets the helper outlive what is meant for the command: it ends when the command has.
func ignoreSignals() {
	for _, sig := range passedSignals {
		setAction(sig, 1)
	}
}
