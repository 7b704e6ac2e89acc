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
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelAttacks go on attacks: more of the kernel's back doors, and what the test has laid out on the machine.
var kernelAttacks = map[string]func(arg string) error{
	"inherited-descriptor": func(arg string) error { // of a directory outside
		fd, _ := strconv.Atoi(arg)
		f, err := unix.Openat(fd, "by-descriptor", unix.O_CREAT|unix.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		return unix.Close(f)
	},
	"memfd-exec": func(arg string) error { // a program that is in no file
		shell, err := os.ReadFile("/bin/sh")
		if err != nil {
			return err
		}
		fd, err := unix.MemfdCreate("x", 0)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), "x")
		if _, err := f.Write(shell); err != nil {
			return err
		}
		out, err := exec.Command(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), "-c", "echo x >"+arg).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
		}
		return nil
	},
	"kill-all": func(string) error { // all but those inside
		if err := unix.Kill(-1, 0); err != nil {
			return err
		}
		dirs, err := filepath.Glob("/proc/[0-9]*")
		if err == nil && len(dirs) <= 8 {
			err = fmt.Errorf("it reaches its own %d processes", len(dirs))
		}
		return err
	},
	"pidfd-outside": func(arg string) error {
		pid, _ := strconv.Atoi(arg)
		_, err := unix.PidfdOpen(pid, 0)
		return err
	},
	"pidfd-getfd": func(string) error {
		fd, err := unix.PidfdOpen(os.Getpid(), 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(fd, 0, 0)
		return err
	},
	"limits-outside": func(arg string) error {
		pid, _ := strconv.Atoi(arg)
		var now unix.Rlimit
		err1 := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &now)
		var set unix.CPUSet
		err2 := unix.SchedGetaffinity(pid, &set)
		_, err3 := unix.Getpriority(unix.PRIO_PROCESS, pid)
		if err1 != nil && err2 != nil && err3 != nil {
			return err1
		}
		return nil
	},
	"root-of-outside": func(arg string) error {
		_, err := os.ReadDir("/proc/" + arg + "/root")
		return err
	},
	"unset-variable": func(arg string) error { // in the environments and memories of all processes
		secret := []byte(backwards(arg))
		dirs, _ := filepath.Glob("/proc/[0-9]*")
		for _, dir := range dirs {
			if filepath.Base(dir) == strconv.Itoa(os.Getpid()) {
				continue
			}
			if b, _ := os.ReadFile(dir + "/environ"); bytes.Contains(b, secret) {
				return nil
			}
			if memoryHolds(dir, secret) {
				return nil
			}
		}
		return fmt.Errorf("not in sight of %d processes", len(dirs))
	},
	"inotify-hidden": func(arg string) error { // the test touches it all the time
		fd, err := unix.InotifyInit1(unix.IN_NONBLOCK)
		if err != nil {
			return err
		}
		if _, err := unix.InotifyAddWatch(fd, arg, unix.IN_ALL_EVENTS); err != nil {
			return err
		}
		time.Sleep(300 * time.Millisecond)
		n, err := unix.Read(fd, make([]byte, 4096))
		if n > 0 {
			return nil
		}
		return err
	},
	"shared-memory": func(arg string) error {
		_, err := os.ReadFile(arg)
		return err
	},
	"sysv-memory": func(arg string) error {
		key, _ := strconv.Atoi(arg)
		_, err := unix.SysvShmGet(key, 0, 0)
		return err
	},
	"message-queue": func(arg string) error { return messageQueue(arg, unix.O_RDWR) },
	"perf": func(string) error {
		return raw(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&[128]byte{})), 0, ^uintptr(0))
	},
	"kexec":         func(string) error { return raw(unix.SYS_KEXEC_LOAD, 0, 0, 0) },
	"reboot":        func(string) error { return raw(unix.SYS_REBOOT, 0, 0, 0) }, // with the wrong magic numbers
	"swap":          func(string) error { return raw(unix.SYS_SWAPON, 0, 0, 0) },
	"kernel-module": func(string) error { return raw(unix.SYS_INIT_MODULE, 0, 0, 0) },
	"kernel-log":    func(string) error { return raw(unix.SYS_SYSLOG, 10, 0, 0) },
	"accounting":    func(string) error { return raw(unix.SYS_ACCT, 0, 0, 0) },
	"add-key": func(string) error {
		_, err := unix.AddKey("user", "sandbox-test", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	},
	"clock": func(string) error {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
			return err
		}
		return raw(unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME, uintptr(unsafe.Pointer(&now)), 0)
	},
	"clock-speed": func(string) error { // asks for nothing, even that is refused
		return raw(unix.SYS_ADJTIMEX, uintptr(unsafe.Pointer(&[256]byte{})), 0, 0)
	},
	"host-name": func(string) error {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		return unix.Sethostname([]byte(name))
	},
	"mount-overlay": func(string) error {
		return unix.Mount("overlay", "/tmp", "overlay", 0, "lowerdir=/usr:/etc")
	},
	"new-mount":  func(string) error { _, err := unix.Fsopen("tmpfs", 0); return err },
	"open-tree":  func(string) error { _, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE); return err },
	"pivot-root": func(string) error { return unix.PivotRoot("/", "/") },
	"setns": func(string) error {
		for _, kind := range []string{"mnt", "net", "pid", "user"} {
			fd, err := unix.Open("/proc/1/ns/"+kind, unix.O_RDONLY, 0)
			if err != nil {
				if fd, err = unix.Open("/proc/self/ns/"+kind, unix.O_RDONLY, 0); err != nil {
					return err
				}
			}
			if err := unix.Setns(fd, 0); err == nil {
				return nil
			}
		}
		return errors.New("no namespace can be entered")
	},
	"unshare-mounts": func(string) error { return unix.Unshare(unix.CLONE_NEWNS) },
	"unshare-time":   func(string) error { return unix.Unshare(unix.CLONE_NEWTIME) },
	"fanotify":       func(string) error { _, err := unix.FanotifyInit(0, 0); return err },
	"af-alg":         func(string) error { _, err := unix.Socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0); return err },
	"netlink-events": func(string) error {
		_, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT)
		return err
	},
	"netlink-firewall": func(string) error {
		_, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER)
		return err
	},
	"ping": func(string) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)
		if err != nil {
			return err
		}
		return unix.Sendto(fd, []byte{8, 0, 0, 0, 0, 0, 0, 0}, 0, &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 1}})
	},
	"ipv6": func(string) error {
		c, err := net.DialTimeout("tcp", "[2001:db8::1]:80", time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	},
	"dns-packet": func(string) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		query := append([]byte{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 7}, "example\x03com\x00\x00\x01\x00\x01"...)
		return unix.Sendto(fd, query, 0, &unix.SockaddrInet4{Port: 53, Addr: [4]byte{8, 8, 8, 8}})
	},
	"add-address": func(string) error { // give the network an interface to leave by
		return exec.Command("ip", "link", "add", "x0", "type", "dummy").Run()
	},
	"sysrq":         func(string) error { return overwrite("/proc/sysrq-trigger") },
	"init-oom":      func(string) error { return overwrite("/proc/1/oom_score_adj") },
	"sysctl-limits": func(string) error { return overwrite("/proc/sys/user/max_user_namespaces") },
	"binfmt":        func(string) error { return overwrite("/proc/sys/fs/binfmt_misc/register") },
	"sys-switches": func(string) error {
		return overwrite("/sys/kernel/mm/transparent_hugepage/enabled", "/sys/power/state", "/sys/kernel/profiling", "/sys/fs/cgroup/*/release_agent", "/sys/fs/cgroup/cgroup.procs")
	},
}

// raw makes a system call and returns an error if it was refused.
func raw(nr, a, b, c uintptr) error {
	_, _, e := syscall.RawSyscall(nr, a, b, c)
	return refusal(e)
}

// overwrite opens files, which patterns name, for writing.
func overwrite(patterns ...string) error {
	last := errors.New("there is none")
	for _, pattern := range patterns {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err == nil {
				f.Close()
				return nil
			}
			last = err
		}
	}
	return last
}

func messageQueue(name string, flags int) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	fd, _, e := syscall.RawSyscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(p)), uintptr(flags), 0o600, 0, 0, 0)
	runtime.KeepAlive(p)
	if e != 0 {
		return e
	}
	return unix.Close(int(fd))
}

// memoryHolds looks for bytes in the memory of the process whose folder in /proc is dir.
func memoryHolds(dir string, what []byte) bool {
	maps, err := os.ReadFile(dir + "/maps")
	if err != nil {
		return false
	}
	f, err := os.Open(dir + "/mem")
	if err != nil {
		return false
	}
	defer f.Close()
	for line := range strings.Lines(string(maps)) {
		from, to, ok := strings.Cut(strings.Fields(line)[0], "-")
		start, err1 := strconv.ParseInt(from, 16, 64)
		end, err2 := strconv.ParseInt(to, 16, 64)
		if !ok || err1 != nil || err2 != nil || !strings.Contains(line, "rw") || end-start > 256<<20 {
			continue
		}
		buf := make([]byte, end-start)
		if n, _ := f.ReadAt(buf, start); bytes.Contains(buf[:n], what) {
			return true
		}
	}
	return false
}

func backwards(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}
