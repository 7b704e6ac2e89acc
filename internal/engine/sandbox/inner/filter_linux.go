//go:build amd64 || arm64

package inner

import (
	"syscall"

	"github.com/sevengate/sevengate/internal/engine/sandbox/inner/sys"
)

// Offsets into struct seccomp_data. Arguments are 64 bit wide, little endian here; what is looked at fits their low half.
const (
	offNr   = 0
	offArch = 4
	offArg0 = 16
	offArg1 = 24
	offArg2 = 32
)

const (
	retAllow  = sys.SECCOMP_RET_ALLOW
	retEPERM  = sys.SECCOMP_RET_ERRNO | uint32(syscall.EPERM)
	retENOSYS = sys.SECCOMP_RET_ERRNO | uint32(syscall.ENOSYS)
)

// lastSyscall is the newest system call that this list was made for. Newer ones do not exist for the command: what is
// not known is not let through.
const lastSyscall = sys.SYS_FILE_SETATTR

// sysUretprobe and sysUprobe have numbers of their own among the common ones on amd64 (335 and 336): the kernel's private
// trampolines, which stay allowed.

// namespaceFlags are the flags of clone and unshare that make namespaces.
const namespaceFlags = syscall.CLONE_NEWNS | syscall.CLONE_NEWCGROUP | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUSER |
	syscall.CLONE_NEWPID | syscall.CLONE_NEWNET

// refused are the system calls that a command has no business with: other processes' memory, the kernel's keys, programs
// and modules, mounts and namespaces, files by handle, and the rings that carry system calls past this filter.
func refused() []uint32 {
	return append([]uint32{
		syscall.SYS_PTRACE, sys.SYS_PROCESS_VM_READV, sys.SYS_PROCESS_VM_WRITEV, sys.SYS_PROCESS_MADVISE, sys.SYS_PIDFD_GETFD,
		sys.SYS_KCMP, syscall.SYS_MOVE_PAGES, syscall.SYS_MIGRATE_PAGES,
		syscall.SYS_KEYCTL, syscall.SYS_ADD_KEY, syscall.SYS_REQUEST_KEY,
		sys.SYS_BPF, syscall.SYS_PERF_EVENT_OPEN, sys.SYS_USERFAULTFD, syscall.SYS_FANOTIFY_INIT,
		syscall.SYS_KEXEC_LOAD, sys.SYS_KEXEC_FILE_LOAD, syscall.SYS_INIT_MODULE, sys.SYS_FINIT_MODULE, syscall.SYS_DELETE_MODULE,
		syscall.SYS_MOUNT, syscall.SYS_UMOUNT2, syscall.SYS_PIVOT_ROOT, syscall.SYS_CHROOT, sys.SYS_OPEN_TREE, sys.SYS_OPEN_TREE_ATTR,
		sys.SYS_MOVE_MOUNT, sys.SYS_FSOPEN, sys.SYS_FSCONFIG, sys.SYS_FSMOUNT, sys.SYS_FSPICK, sys.SYS_MOUNT_SETATTR,
		sys.SYS_SETNS,
		sys.SYS_IO_URING_SETUP, sys.SYS_IO_URING_ENTER, sys.SYS_IO_URING_REGISTER,
		sys.SYS_OPEN_BY_HANDLE_AT,
		syscall.SYS_SWAPON, syscall.SYS_SWAPOFF, syscall.SYS_REBOOT, syscall.SYS_ACCT, syscall.SYS_QUOTACTL, sys.SYS_QUOTACTL_FD,
		syscall.SYS_SYSLOG, syscall.SYS_VHANGUP, syscall.SYS_SETTIMEOFDAY, syscall.SYS_CLOCK_SETTIME, syscall.SYS_ADJTIMEX,
		sys.SYS_CLOCK_ADJTIME, syscall.SYS_NFSSERVCTL,
	}, refusedArch...)
}

// Filter returns the seccomp program.
func filter(unixOK, noInet bool) []syscall.SockFilter {
	var f []syscall.SockFilter
	stmt := func(code uint16, k uint32) { f = append(f, syscall.SockFilter{Code: code, K: k}) }
	load := func(off uint32) { stmt(syscall.BPF_LD|syscall.BPF_W|syscall.BPF_ABS, off) }
	ret := func(k uint32) { stmt(syscall.BPF_RET|syscall.BPF_K, k) }
	// unless jumps over n instructions unless the accumulator passes the test.
	unless := func(test uint16, k uint32, n uint8) {
		f = append(f, syscall.SockFilter{Code: syscall.BPF_JMP | test | syscall.BPF_K, K: k, Jf: n})
	}
	// If the accumulator equals k, return value.
	on := func(k, value uint32) { unless(syscall.BPF_JEQ, k, 1); ret(value) }
	// call compiles the checks of one system call, which must end in a return.
	call := func(nr uint32, body func()) {
		at := len(f)
		unless(syscall.BPF_JEQ, nr, 0)
		body()
		f[at].Jf = uint8(len(f) - at - 1)
	}

	load(offArch)
	f = append(f, syscall.SockFilter{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, K: auditArch, Jt: 1})
	ret(retENOSYS)
	load(offNr)
	unless(syscall.BPF_JGT, lastSyscall, 1) // the x32 numbers of amd64 are among these
	ret(retENOSYS)
	for _, nr := range refused() {
		on(nr, retEPERM)
	}
	on(sys.SYS_CLONE3, retENOSYS) // its flags are out of a filter's sight; C libraries then use clone
	flags := func(mask uint32) func() {
		return func() {
			load(offArg0)
			unless(syscall.BPF_JSET, mask, 1)
			ret(retEPERM)
			ret(retAllow)
		}
	}
	call(syscall.SYS_CLONE, flags(namespaceFlags))
	call(syscall.SYS_UNSHARE, flags(namespaceFlags|syscall.CLONE_NEWTIME))
	call(syscall.SYS_IOCTL, func() {
		load(offArg1)
		on(syscall.TIOCSTI, retEPERM) // types into a terminal
		on(syscall.TIOCLINUX, retEPERM)
		ret(retAllow)
	})
	call(syscall.SYS_SOCKET, func() {
		load(offArg1)
		stmt(syscall.BPF_ALU|syscall.BPF_AND|syscall.BPF_K, 0xf)
		on(syscall.SOCK_PACKET, retEPERM)
		load(offArg0)
		if unixOK {
			on(syscall.AF_UNIX, retAllow)
		}
		unless(syscall.BPF_JEQ, syscall.AF_NETLINK, 4) // which interfaces there are
		load(offArg2)
		unless(syscall.BPF_JEQ, syscall.NETLINK_ROUTE, 1)
		ret(retAllow)
		ret(retEPERM)
		if noInet {
			ret(retEPERM)
			return
		}
		on2 := func(domain uint32) {
			unless(syscall.BPF_JEQ, domain, 8)
			load(offArg1)
			stmt(syscall.BPF_ALU|syscall.BPF_AND|syscall.BPF_K, 0xf)
			on(syscall.SOCK_RAW, retEPERM)
			load(offArg2)
			on(sys.IPPROTO_MPTCP, retEPERM)
			ret(retAllow)
		}
		on2(syscall.AF_INET)
		on2(syscall.AF_INET6)
		ret(retEPERM)
	})
	if !unixOK {
		call(syscall.SYS_SOCKETPAIR, func() {
			// Of a pair of datagram sockets each can still send to any path.
			load(offArg1)
			stmt(syscall.BPF_ALU|syscall.BPF_AND|syscall.BPF_K, 0xf)
			on(syscall.SOCK_STREAM, retAllow)
			on(syscall.SOCK_SEQPACKET, retAllow)
			ret(retEPERM)
		})
	}
	ret(retAllow)
	return f
}
