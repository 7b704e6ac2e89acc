//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attacks are tried inside the sandbox by this very program. Each returns nil if it got through.
var attacks = map[string]func(arg string) error{
	"ptrace-sibling": func(string) error {
		cmd := exec.Command("/bin/sleep", "20")
		if err := cmd.Start(); err != nil {
			return err
		}
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		runtime.LockOSThread()
		return unix.PtraceSeize(cmd.Process.Pid)
	},
	"signal-outside": func(arg string) error { // by the number that the process has outside
		pid, _ := strconv.Atoi(arg)
		return unix.Kill(pid, 0)
	},
	"signal-helper": func(string) error { // no process but those inside is in sight
		names, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			return err
		}
		for _, dir := range names {
			if b, _ := os.ReadFile(dir + "/stat"); bytes.Contains(b, []byte("(systemd)")) || len(names) > 8 {
				return nil
			}
		}
		return fmt.Errorf("%d processes in sight", len(names))
	},
	"parent-memory": func(arg string) error {
		f, err := os.OpenFile("/proc/"+arg+"/mem", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return f.Close()
	},
	"init-memory": func(string) error {
		f, err := os.OpenFile("/proc/1/mem", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return f.Close()
	},
	"vm-readv": func(string) error {
		buf := make([]byte, 8)
		local := []unix.Iovec{{Base: &buf[0]}}
		local[0].SetLen(8)
		_, err := unix.ProcessVMReadv(os.Getpid(), local, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&buf[0])), Len: 8}}, 0)
		return err
	},
	"unix-socket": func(arg string) error {
		c, err := net.Dial("unix", arg)
		if err != nil {
			return err
		}
		return c.Close()
	},
	"unix-datagram-pair": func(arg string) error {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(fds[0], []byte("x"), 0, &unix.SockaddrUnix{Name: arg})
	},
	"unix-stream-pair-reconnect": func(arg string) error {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Connect(fds[0], &unix.SockaddrUnix{Name: arg})
	},
	"abstract-socket": func(arg string) error {
		c, err := net.Dial("unix", "@"+arg)
		if err != nil {
			return err
		}
		return c.Close()
	},
	"tcp": func(arg string) error { // of the machine's own loopback
		c, err := net.DialTimeout("tcp", arg, time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	},
	"mptcp": func(arg string) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
		if err != nil {
			return err
		}
		port, _ := strconv.Atoi(arg[strings.LastIndex(arg, ":")+1:])
		return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	},
	"udp": func(string) error {
		c, err := net.Dial("udp", "192.0.2.1:53")
		if err != nil {
			return err
		}
		_, err = c.Write([]byte("x"))
		return err
	},
	"dns": func(string) error {
		_, err := net.LookupHost("example.com")
		return err
	},
	"raw-socket": func(string) error {
		_, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
		return err
	},
	"packet-socket": func(string) error {
		_, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		return err
	},
	"vsock": func(string) error {
		_, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
		return err
	},
	"unshare-user": func(string) error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"clone-user": func(string) error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		return cmd.Run()
	},
	"clone3": func(string) error {
		var args [11]uint64
		args[0] = unix.CLONE_NEWUSER
		pid, _, e := syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), 88, 0)
		if e != 0 {
			return e
		}
		if pid == 0 {
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return nil
	},
	"mount":        func(string) error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
	"umount-proc":  func(string) error { return unix.Unmount("/proc", unix.MNT_DETACH) },
	"remount-root": func(string) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
	"chroot":       func(string) error { return unix.Chroot("/") },
	"bpf": func(string) error {
		_, _, e := syscall.RawSyscall(unix.SYS_BPF, 0, 0, 0)
		return refusal(e)
	},
	"io_uring": func(string) error {
		var params [120]byte
		_, _, e := syscall.RawSyscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
		return refusal(e)
	},
	"keyctl": func(string) error {
		_, err := unix.KeyctlInt(unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_USER_KEYRING, 1, 0, 0)
		return err
	},
	"userfaultfd": func(string) error {
		_, _, e := syscall.RawSyscall(unix.SYS_USERFAULTFD, 1, 0, 0)
		return refusal(e)
	},
	"file-handle": func(string) error {
		h, id, err := unix.NameToHandleAt(unix.AT_FDCWD, "/etc", 0)
		_ = id
		if err != nil {
			return err
		}
		fd, err := unix.Open("/", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		_, err = unix.OpenByHandleAt(fd, h, unix.O_RDONLY)
		return err
	},
	"unknown-syscall": func(string) error {
		_, _, e := syscall.RawSyscall(lastKnown+1, 0, 0, 0)
		return e
	},
	"tiocsti": func(string) error {
		c := byte('x')
		_, _, e := syscall.RawSyscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
		if e == unix.EPERM {
			return e
		}
		return nil
	},
	"sysctl": func(string) error {
		return os.WriteFile("/proc/sys/kernel/core_pattern", []byte("|/tmp/x"), 0)
	},
	"block-device": func(string) error {
		names, _ := filepath.Glob("/dev/[vsn][dv]*")
		for _, name := range append(names, "/dev/loop0", "/dev/mem", "/dev/kmsg") {
			if f, err := os.Open(name); err == nil {
				f.Close()
				return nil
			}
		}
		return errors.New("no device can be opened")
	},
	"mknod": func(string) error {
		err := unix.Mknod("dev", unix.S_IFCHR|0o666, 1<<8|11)
		if err != nil {
			return err
		}
		_, err = os.Open("dev")
		return err
	},
	"setuid": func(arg string) error { // arg: a set-user-ID copy of id
		out, err := exec.Command(arg, "-u").Output()
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(out)) == strconv.Itoa(os.Getuid()) {
			return errors.New("the bit has no effect")
		}
		return nil
	},
	"descriptors": func(string) error {
		for fd := 3; fd < 1024; fd++ {
			var st unix.Stat_t
			flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
			if err == nil && flags&unix.FD_CLOEXEC == 0 && unix.Fstat(fd, &st) == nil {
				return nil
			}
		}
		return errors.New("none")
	},
	"cgroup": func(string) error {
		for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
			if err := os.WriteFile(root+"/cgroup.procs", []byte("0"), 0); err == nil {
				return nil
			}
		}
		return errors.New("no cgroup can be written")
	},
}

// lastKnown is the newest system call that the filter lets through.
const lastKnown = unix.SYS_FILE_SETATTR

// refusal returns an error if a system call was refused, not if it was merely badly made.
func refusal(e syscall.Errno) error {
	if e == unix.EPERM || e == unix.ENOSYS {
		return e
	}
	return nil
}

const escaped = "ESCAPED"

func attack(name string) int {
	name, arg, _ := strings.Cut(name, "=")
	f := attacks[name]
	if f == nil {
		f = kernelAttacks[name]
	}
	if f == nil {
		fmt.Println("no such attack")
		return 2
	}
	if err := f(arg); err != nil {
		fmt.Println("refused:", err)
		return 0
	}
	fmt.Println(escaped)
	return 1
}

func exePath(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}
