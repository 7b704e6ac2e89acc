package grep

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// nearDir is a directory whose files are near, or the test is skipped.
func nearDir(t *testing.T) (string, *near) {
	dir := t.TempDir()
	n := &near{}
	n.open(dir)
	t.Cleanup(n.close)
	if n.fd == 0 {
		t.Skip("the test's directory is on a file system that is not taken for local")
	}
	write(t, filepath.Join(dir, "probe"), "x")
	var f nearFile
	if !f.open(n, "probe") {
		t.Skip("this kernel does not open only what it has in memory")
	}
	f.Close()
	return dir, n
}

func TestNearFilesAreReadWhole(t *testing.T) {
	dir, n := nearDir(t)
	long := strings.Repeat("some text that is longer than a page of memory\n", 20_000)
	for name, want := range map[string]string{"empty": "", "short": "one line", "d/long": long} {
		path := filepath.Join(dir, name)
		write(t, path, want)
		for _, forgotten := range []bool{false, true} { // by the page cache, so that a read has to wait
			if forgotten {
				forget(t, path)
			}
			var f nearFile
			if !f.open(n, name) {
				t.Fatalf("%s is not near", name)
			}
			got, err := io.ReadAll(&f)
			if err != nil || !bytes.Equal(got, []byte(want)) {
				t.Errorf("%s, forgotten %v: %d bytes, want %d (%v)", name, forgotten, len(got), len(want), err)
			}
			if modTime(f.fd).IsZero() {
				t.Errorf("%s has no time", name)
			}
			f.Close()
		}
	}
}

func forget(t *testing.T, path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
}

func TestNotNear(t *testing.T) {
	dir, n := nearDir(t)
	write(t, filepath.Join(dir, "f"), "x")
	write(t, filepath.Join(dir, "d/f"), "x")
	for target, name := range map[string]string{"f": "link", "d": "way", "/proc": "proc"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	var f nearFile
	for _, rel := range []string{"link", "way/f", "proc/self/status", "none", "f/f", "\x00f"} {
		if f.open(n, rel) {
			t.Errorf("%q is near", rel)
			f.Close()
		}
	}
	var none near
	if f.open(&none, "f") {
		t.Error("without a root something is near")
	}
	for _, path := range []string{"/proc", filepath.Join(dir, "f"), filepath.Join(dir, "none")} {
		var n near
		if n.open(path); n.fd != 0 {
			t.Errorf("%s is a near root", path)
			n.close()
		}
	}
}

// A file that came to be something else after the walk saw it gives nothing, and is not waited for.
func TestNearFileThatIsNone(t *testing.T) {
	dir, n := nearDir(t)
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	var f nearFile
	if !f.open(n, "pipe") {
		return
	}
	defer f.Close()
	if got, err := io.ReadAll(&f); len(got) > 0 {
		t.Errorf("read %q, %v", got, err)
	}
	var d nearFile
	if d.open(n, ".") {
		defer d.Close()
		if got, err := io.ReadAll(&d); len(got) > 0 || err == nil {
			t.Errorf("read %q of a directory, %v", got, err)
		}
	}
}
