//go:build unix

package file

import (
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// specialFiles reads what could wait or go on forever.
func specialFiles(t *testing.T, b *bench) {
	if err := syscall.Mkfifo(b.path("pipe"), 0o644); err != nil {
		t.Error(err)
		return
	}
	b.failsSoon("Read", "pipe", "named pipe")
	b.failsSoon("Write", "pipe", "only regular files")
	if err := os.Symlink("/dev/zero", b.path("zero.txt")); err != nil {
		t.Error(err)
	}
	b.failsSoon("Read", "zero.txt", "is a device")
	// A short name: the path of a socket is bounded.
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Error(err)
		return
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", dir+"/s")
	if err != nil {
		t.Error(err)
		return
	}
	defer l.Close()
	b.failsSoon("Read", dir+"/s", "socket")
	if runtime.GOOS != "linux" {
		return
	}
	text, _, err := b.run("Read", args{"file_path": "/proc/self/status"})
	if err != nil || !strings.Contains(text, "Name:") {
		t.Errorf("/proc/self/status: %q, %v", text, err)
	}
	for _, p := range []string{"/proc/kmsg", "/proc/self/pagemap", "/proc/self/mem", "/proc/self/fd/0"} {
		if _, _, err := b.run("Read", args{"file_path": p}); err != nil {
			t.Logf("%s: %v", p, err)
		}
	}
}

// failsSoon is fails for goroutines other than the test's own.
func (b *bench) failsSoon(name, path, word string) {
	in := args{"file_path": path}
	if name == "Write" {
		in["content"] = "x"
	}
	_, _, err := b.run(name, in)
	if err == nil || !strings.Contains(err.Error(), word) {
		b.t.Errorf("%s %s: %v", name, path, err)
	}
}
