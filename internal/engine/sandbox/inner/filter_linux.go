//go:build amd64 || arm64

package inner

import "golang.org/x/sys/unix"

// Offsets into struct seccomp_data. Arguments are 64 bit wide, little endian here; what is looked at fits their low half.
const (
	offNr   = 0
	offArch = 4
	offArg0 = 16
	offArg1 = 24
	offArg2 = 32
)

const (
	retAllow  = unix.SECCOMP_RET_ALLOW
	retEPERM  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	retENOSYS = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// lastSyscall is the newest system call that this list was made for. Newer ones do not exist for the command: what is
// not known is not let through.
const lastSyscall = unix.SYS_FILE_SETATTR

// sysUretprobe and sysUprobe have numbers of their own among the common ones on amd64 (335 and 336): the kernel's private
// trampolines, which stay allowed.

// namespaceFlags are the flags of clone and unshare that make namespaces.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET

// refused are the system calls that a command has no business with: other processes' memory, the kernel's keys, programs
// and modules, mounts and namespaces, files by handle, and the rings that carry system calls past this filter.
func refused() []uint32 {
	return append([]uint32{
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PIDFD_GETFD,
		unix.SYS_KCMP, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
		unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
		unix.SYS_SETNS,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
		unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX,
		unix.SYS_CLOCK_ADJTIME, unix.SYS_NFSSERVCTL,
	}, refusedArch...)
}

// Filter returns the seccomp program.
func filter(unixOK, noInet bool) []unix.SockFilter {
	var f []unix.SockFilter
	stmt := func(code uint16, k uint32) { f = append(f, unix.SockFilter{Code: code, K: k}) }
	load := func(off uint32) { stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, off) }
	ret := func(k uint32) { stmt(unix.BPF_RET|unix.BPF_K, k) }
	// unless jumps over n instructions unless the accumulator passes the test.
	unless := func(test uint16, k uint32, n uint8) {
		f = append(f, unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jf: n})
	}
	// If the accumulator equals k, return value.
	on := func(k, value uint32) { unless(unix.BPF_JEQ, k, 1); ret(value) }
	// call compiles the checks of one system call, which must end in a return.
	call := func(nr uint32, body func()) {
		at := len(f)
		unless(unix.BPF_JEQ, nr, 0)
		body()
		f[at].Jf = uint8(len(f) - at - 1)
	}

	load(offArch)
	f = append(f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: auditArch, Jt: 1})
	ret(retENOSYS)
	load(offNr)
	unless(unix.BPF_JGT, lastSyscall, 1) // the x32 numbers of amd64 are among these
	ret(retENOSYS)
	for _, nr := range refused() {
		on(nr, retEPERM)
	}
	on(unix.SYS_CLONE3, retENOSYS) // its flags are out of a filter's sight; C libraries then use clone
	flags := func(mask uint32) func() {
		return func() {
			load(offArg0)
			unless(unix.BPF_JSET, mask, 1)
			ret(retEPERM)
			ret(retAllow)
		}
	}
	call(unix.SYS_CLONE, flags(namespaceFlags))
	call(unix.SYS_UNSHARE, flags(namespaceFlags|unix.CLONE_NEWTIME))
	call(unix.SYS_IOCTL, func() {
		load(offArg1)
		on(unix.TIOCSTI, retEPERM) // types into a terminal
		on(unix.TIOCLINUX, retEPERM)
		ret(retAllow)
	})
	call(unix.SYS_SOCKET, func() {
		load(offArg1)
		stmt(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xf)
		on(unix.SOCK_PACKET, retEPERM)
		load(offArg0)
		if unixOK {
			on(unix.AF_UNIX, retAllow)
		}
		unless(unix.BPF_JEQ, unix.AF_NETLINK, 4) // which interfaces there are
		load(offArg2)
		unless(unix.BPF_JEQ, unix.NETLINK_ROUTE, 1)
		ret(retAllow)
		ret(retEPERM)
		if noInet {
			ret(retEPERM)
			return
		}
		on2 := func(domain uint32) {
			unless(unix.BPF_JEQ, domain, 8)
			load(offArg1)
			stmt(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xf)
			on(unix.SOCK_RAW, retEPERM)
			load(offArg2)
			on(unix.IPPROTO_MPTCP, retEPERM)
			ret(retAllow)
		}
		on2(unix.AF_INET)
		on2(unix.AF_INET6)
		ret(retEPERM)
	})
	if !unixOK {
		call(unix.SYS_SOCKETPAIR, func() {
			// Of a pair of datagram sockets each can still send to any path.
			load(offArg1)
			stmt(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xf)
			on(unix.SOCK_STREAM, retAllow)
			on(unix.SOCK_SEQPACKET, retAllow)
			ret(retEPERM)
		})
	}
	ret(retAllow)
	return f
}
