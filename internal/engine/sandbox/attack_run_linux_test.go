//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const secretVar, secretValue = "SANDBOX_TEST_SECRET", "kept-from-commands-4711"

// leaked is the descriptor under which every attack inherits a directory outside.
const leaked = 5

// stage lays out on the machine what attacks reach for, and returns their arguments and the attacks that it cannot be
// laid out for, with the reason.
func stage(t *testing.T, dir, outside, hidden string) (args, skip map[string]string) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	stream, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	datagram, err := net.ListenPacket("unixgram", socket+"d")
	if err != nil {
		t.Fatal(err)
	}
	abstract := fmt.Sprintf("sandbox-test-%d", os.Getpid())
	nameless, err := net.Listen("unix", "@"+abstract)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tcp.Close(); stream.Close(); datagram.Close(); nameless.Close() })
	self := strconv.Itoa(os.Getpid())
	args = map[string]string{
		"signal-outside": self, "parent-memory": self, "pidfd-outside": self, "limits-outside": self, "root-of-outside": self,
		"unix-socket": socket, "unix-datagram-pair": socket + "d", "unix-stream-pair-reconnect": socket,
		"abstract-socket": abstract, "tcp": tcp.Addr().String(), "mptcp": tcp.Addr().String(),
		"inherited-descriptor": strconv.Itoa(leaked), "memfd-exec": outside + "/by-memfd",
		"unset-variable": backwards(secretValue), "inotify-hidden": hidden,
	}
	skip = map[string]string{}

	// A set-user-ID program, in a directory for all users: the tests run as other users, too.
	id := filepath.Join(dir, "id")
	if b, err := os.ReadFile("/usr/bin/id"); err == nil && os.Getuid() == 0 {
		write(t, id, string(b))
		if err := errors.Join(os.Chown(id, 1, 1), os.Chmod(id, 0o4755)); err != nil {
			t.Fatal(err)
		}
		args["setuid"] = id
	} else {
		skip["setuid"] = "only root can make a set-user-ID program of another user"
	}

	shm := fmt.Sprintf("/dev/shm/sandbox-test-%d", os.Getpid())
	if err := os.WriteFile(shm, []byte("x"), 0o666); err == nil {
		t.Cleanup(func() { os.Remove(shm) })
		args["shared-memory"] = shm
	} else {
		skip["shared-memory"] = err.Error()
	}
	key := int(rand.Int32N(1 << 30))
	if segment, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o600); err == nil {
		t.Cleanup(func() { _, _ = unix.SysvShmCtl(segment, unix.IPC_RMID, nil) })
		args["sysv-memory"] = strconv.Itoa(key)
	} else {
		skip["sysv-memory"] = "the kernel makes none: " + err.Error()
	}
	queue := fmt.Sprintf("sandbox-test-%d", os.Getpid())
	if err := messageQueue(queue, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL); err == nil {
		t.Cleanup(func() {
			p, _ := unix.BytePtrFromString(queue)
			_ = raw(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(p)), 0, 0)
		})
		args["message-queue"] = queue
	} else {
		skip["message-queue"] = "the kernel makes none: " + err.Error()
	}

	// Something happens in the hidden directory all the time.
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				_ = os.WriteFile(hidden+"/busy", nil, 0o600)
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped })
	return args, skip
}

// TestAttacks tries system calls and sockets, for real.
func TestAttacks(t *testing.T) {
	t.Setenv(secretVar, secretValue)
	exe := exePath(t)
	// Without the sandbox these get through, so the attacks are real ones.
	real := []string{"ptrace-sibling", "signal-outside", "parent-memory", "vm-readv", "unix-socket", "unix-datagram-pair",
		"abstract-socket", "tcp", "inherited-descriptor", "memfd-exec", "kill-all", "pidfd-outside", "limits-outside", "root-of-outside",
		"unset-variable", "inotify-hidden", "shared-memory", "sysv-memory", "message-queue"}
	all := maps.Clone(attacks)
	maps.Copy(all, kernelAttacks)
	first := true
	eachEngine(t, func(t *testing.T, bubblewrap string) {
		dir, outside, hidden := realTemp(t), realTemp(t), realTemp(t)
		s := prepared(t, Policy{Write: []string{dir}, ReadDeny: []string{hidden}, Unset: []string{secretVar}, Bubblewrap: bubblewrap})
		args, skip := stage(t, dir, outside, hidden)
		leak, err := os.Open(outside)
		if err != nil {
			t.Fatal(err)
		}
		defer leak.Close()
		run := func(cmd *exec.Cmd, name string) (string, int) {
			cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", attackVar+"="+name+"="+args[name])
			cmd.ExtraFiles = make([]*os.File, leaked-2)
			cmd.ExtraFiles[leaked-3] = leak
			out, _ := cmd.CombinedOutput()
			return string(out), cmd.ProcessState.ExitCode()
		}
		if first {
			first = false
			for _, name := range real {
				if skip[name] != "" {
					continue
				}
				if out, _ := run(exec.CommandContext(testContext(t), exe), name); out != escaped+"\n" {
					t.Logf("without sandbox, %s: %s", name, out)
					if os.Getuid() == 0 {
						t.Fail()
					}
				}
			}
			for _, name := range []string{"/by-descriptor", "/by-memfd"} {
				os.Remove(outside + name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			t.Run(name, func(t *testing.T) {
				if skip[name] != "" {
					t.Skip(skip[name])
				}
				words, err := s.Wrap()
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.CommandContext(testContext(t), words[0], append(words[1:], exe)...)
				cmd.Dir = dir
				out, code := run(cmd, name)
				if code != 0 || !strings.HasPrefix(out, "refused: ") {
					t.Errorf("exit code %d: %s", code, out)
				}
				t.Log(strings.TrimSpace(out))
			})
		}
		if left, _ := os.ReadDir(outside); len(left) > 0 {
			t.Errorf("left outside: %v", left)
		}
	})
}
