package atomicfile

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestXattrsAreKept(t *testing.T) {
	path := filepath.Join(realTemp(t), "f")
	put(t, path, "old", 0o644)
	if err := unix.Setxattr(path, "user.note", []byte("kept"), 0); err != nil {
		t.Skip("no extended attributes here: ", err)
	}
	if _, err := Replace(bg, path, []byte("new"), Options{}); err != nil {
		t.Fatal(err)
	}
	val := make([]byte, 16)
	n, err := unix.Getxattr(path, "user.note", val)
	if err != nil || string(val[:n]) != "kept" {
		t.Errorf("%q %v", val[:max(n, 0)], err)
	}
	want(t, path, "new")
}

func TestUnwritableForUs(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everything")
	}
	if _, err := Replace(bg, "/etc/hostname", nil, Options{}); err == nil {
		t.Error("no error")
	}
}
