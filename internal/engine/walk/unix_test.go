//go:build unix

package walk

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestPipesAreCountedAndIgnoreFilesThatArePipesAreNotRead(t *testing.T) {
	dir := tree(t, "a", "sub/b")
	for _, p := range []string{"pipe", ".gitignore"} {
		if err := syscall.Mkfifo(filepath.Join(dir, p), 0o600); err != nil {
			t.Skipf("no named pipes here: %v", err)
		}
	}
	got, st := collect(t, Options{Root: dir, NoGlobal: true})
	same(t, "pipe", got, "a", "sub/b")
	if st.Special != 1 {
		t.Errorf("%+v", st)
	}
	if os.Getuid() == 0 {
		return // root reads every directory
	}
	if err := os.Chmod(filepath.Join(dir, "sub"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "sub"), 0o755) })
	if got, st = collect(t, Options{Root: dir, NoGlobal: true}); len(got) != 1 || st.Unreadable != 1 || len(st.Errors) != 1 {
		t.Errorf("%q %+v", got, st)
	}
}
