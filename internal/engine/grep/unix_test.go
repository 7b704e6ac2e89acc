//go:build unix

package grep

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestPipesAreNotOpenedAndUnreadableFilesAreCounted(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "hit\n")
	write(t, filepath.Join(dir, "secret"), "hit\n")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	if err := os.Symlink("f", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "secret"), 0); err != nil {
		t.Fatal(err)
	}
	p := compile(t, "hit", Options{})
	got, st := run(t, p, under(dir))
	want, unreadable := "f:1:hit\n", int64(1)
	if os.Getuid() == 0 { // root reads everything
		want, unreadable = "f:1:hit\nsecret:1:hit\n", 0
	}
	if got != want || st.Unreadable != unreadable || st.Walk.Special != 1 || st.Walk.Links != 1 {
		t.Errorf("got %q %+v", got, st)
	}
	if got, st = run(t, p, under(filepath.Join(dir, "pipe"))); got != "" || st.Walk.Special != 1 {
		t.Errorf("a pipe as root: %q %+v", got, st)
	}
	if got, _ = run(t, p, under(filepath.Join(dir, "link"))); got != "link:1:hit\n" {
		t.Errorf("a link as root: %q", got)
	}
}
