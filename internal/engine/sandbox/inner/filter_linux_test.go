//go:build amd64 || arm64

package inner

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// play runs a filter as the kernel does.
func play(t *testing.T, f []syscall.SockFilter, arch, nr uint32, args ...uint64) uint32 {
	t.Helper()
	var a uint32
	load := func(off uint32) uint32 {
		switch off {
		case offNr:
			return nr
		case offArch:
			return arch
		}
		if i := int(off-offArg0) / 8; i < len(args) {
			return uint32(args[i])
		}
		return 0
	}
	for pc := 0; ; pc++ {
		if pc >= len(f) {
			t.Fatal("the filter runs over its end")
		}
		in := f[pc]
		jump := func(yes bool) {
			if yes {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		}
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = load(in.K)
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= in.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == in.K)
		case unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K:
			jump(a > in.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			jump(a&in.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		default:
			t.Fatalf("unknown instruction %x", in.Code)
		}
	}
}

func TestFilter(t *testing.T) {
	const socket, pair = unix.SYS_SOCKET, unix.SYS_SOCKETPAIR
	for _, c := range []struct {
		name           string
		unixOK, noInet bool
		nr             uint32
		args           []uint64
		want           uint32
	}{
		{"read", false, false, unix.SYS_READ, nil, retAllow},
		{"execve", false, false, unix.SYS_EXECVE, nil, retAllow},
		{"ptrace", false, false, unix.SYS_PTRACE, nil, retEPERM},
		{"new call", false, false, lastSyscall + 1, nil, retENOSYS},
		{"x32", false, false, 0x40000000 | unix.SYS_READ, nil, retENOSYS},
		{"clone3", false, false, unix.SYS_CLONE3, nil, retENOSYS},
		{"fork", false, false, unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, retAllow},
		{"thread", false, false, unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND | unix.CLONE_FS}, retAllow},
		{"clone user", false, false, unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER}, retEPERM},
		{"clone high bits", false, false, unix.SYS_CLONE, []uint64{1<<40 | unix.CLONE_NEWNET}, retEPERM},
		{"unshare time", false, false, unix.SYS_UNSHARE, []uint64{unix.CLONE_NEWTIME}, retEPERM},
		{"unshare files", false, false, unix.SYS_UNSHARE, []uint64{unix.CLONE_FILES}, retAllow},
		{"ioctl", false, false, unix.SYS_IOCTL, []uint64{0, unix.TCGETS}, retAllow},
		{"tiocsti", false, false, unix.SYS_IOCTL, []uint64{0, 1<<32 | unix.TIOCSTI}, retEPERM},
		{"tcp", false, false, socket, []uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, retAllow},
		{"tcp6", false, false, socket, []uint64{unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP}, retAllow},
		{"udp", false, false, socket, []uint64{unix.AF_INET, unix.SOCK_DGRAM, 0}, retAllow},
		{"mptcp", false, false, socket, []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, retEPERM},
		{"mptcp6", true, false, socket, []uint64{unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, retEPERM},
		{"raw", false, false, socket, []uint64{unix.AF_INET, unix.SOCK_RAW | unix.SOCK_NONBLOCK, 1}, retEPERM},
		{"no inet", false, true, socket, []uint64{unix.AF_INET, unix.SOCK_STREAM, 0}, retEPERM},
		{"no inet6", false, true, socket, []uint64{unix.AF_INET6, unix.SOCK_DGRAM, 0}, retEPERM},
		{"unix", false, false, socket, []uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, retEPERM},
		{"unix ok", true, true, socket, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, retAllow},
		{"route", false, true, socket, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, retAllow},
		{"audit", false, false, socket, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, retEPERM},
		{"vsock", true, false, socket, []uint64{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, retEPERM},
		{"alg", true, false, socket, []uint64{unix.AF_ALG, unix.SOCK_SEQPACKET, 0}, retEPERM},
		{"packet", true, false, socket, []uint64{unix.AF_PACKET, unix.SOCK_DGRAM, 0}, retEPERM},
		{"old packet", true, false, socket, []uint64{unix.AF_INET, unix.SOCK_PACKET, 0}, retEPERM},
		{"stream pair", false, false, pair, []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, retAllow},
		{"datagram pair", false, false, pair, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM}, retEPERM},
		{"datagram pair ok", true, false, pair, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM}, retAllow},
	} {
		if got := play(t, filter(c.unixOK, c.noInet), auditArch, c.nr, c.args...); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
	if got := play(t, filter(true, false), auditArch^1, unix.SYS_READ); got != retENOSYS {
		t.Errorf("another architecture: %#x", got)
	}
	for _, nr := range refused() {
		if got := play(t, filter(true, false), auditArch, nr); got != retEPERM {
			t.Errorf("call %d: %#x", nr, got)
		}
	}
}
