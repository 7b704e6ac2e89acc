//go:build unix

package atomicfile

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var bg = context.Background()

func put(t *testing.T, path, s string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, path, s string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != s {
		t.Fatalf("%s holds %q (%v), want %q", path, got, err, s)
	}
}

// realTemp is a temporary directory without links in its own path.
func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestModes(t *testing.T) {
	dir := realTemp(t)
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	for _, mode := range []fs.FileMode{0o755, 0o640, 0o600, 0o666, 0o200 | 0o400} {
		path := filepath.Join(dir, "f")
		put(t, path, "old", mode)
		if _, err := Replace(bg, path, []byte("new"), Options{}); err != nil {
			t.Fatal(err)
		}
		if info, _ := os.Stat(path); info.Mode() != mode {
			t.Errorf("mode %v became %v", mode, info.Mode())
		}
	}
	for umask, mode := range map[int]fs.FileMode{0o022: 0o644, 0o077: 0o600, 0o002: 0o664} {
		syscall.Umask(umask)
		path := filepath.Join(dir, "deep", "er", umaskName(umask))
		out, err := Replace(bg, path, []byte("x"), Options{})
		if err != nil || !out.Created || out.Path != path {
			t.Fatalf("%+v %v", out, err)
		}
		if info, _ := os.Stat(path); info.Mode() != mode {
			t.Errorf("umask %o: %v, want %v", umask, info.Mode(), mode)
		}
	}
	if _, err := Replace(bg, filepath.Join(dir, "no", "f"), nil, Options{NoParents: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("NoParents: %v", err)
	}
}

func umaskName(u int) string { return string(rune('a'+u%26)) + ".txt" }

func TestSetIDBitsAreDropped(t *testing.T) {
	path := filepath.Join(realTemp(t), "f")
	put(t, path, "old", 0o755|fs.ModeSetuid)
	out, err := Replace(bg, path, []byte("new"), Options{})
	if err != nil || len(out.Warnings) != 1 {
		t.Fatalf("%+v %v", out, err)
	}
	if info, _ := os.Stat(path); info.Mode() != 0o755 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestOwnerIsKept(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	path := filepath.Join(realTemp(t), "f")
	put(t, path, "old", 0o644)
	if err := os.Chown(path, 12345, 54321); err != nil {
		t.Skip("chown: ", err)
	}
	if _, err := Replace(bg, path, []byte("new"), Options{}); err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(path)
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 12345 || st.Gid != 54321 {
		t.Errorf("owner %d:%d", st.Uid, st.Gid)
	}
}

func TestRefused(t *testing.T) {
	dir := realTemp(t)
	ro := filepath.Join(dir, "ro")
	put(t, ro, "keep", 0o444)
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	loop := filepath.Join(dir, "loop")
	os.Symlink(loop, loop)
	cases := []struct {
		path string
		is   error
		says string
	}{
		{ro, ErrReadOnly, "mode"},
		{dir, ErrNotRegular, "directory"},
		{pipe, ErrNotRegular, "pipe"},
		{"/dev/null", ErrNotRegular, "device"},
		{ro + "/x", nil, "not a directory"},
		{loop, nil, "symbolic links"},
		{"", nil, "empty"},
		{dir + "/a\x00b", nil, "null byte"},
		{dir + "/new/", ErrNotRegular, "separator"},
		{dir + "/no/../f", nil, ""},
	}
	for _, c := range cases {
		_, err := Replace(bg, c.path, []byte("bad"), Options{})
		if c.says == "" {
			if err != nil { // filepath.Abs cleans what the caller spelled
				t.Errorf("%q: %v", c.path, err)
			}
			continue
		}
		if err == nil || (c.is != nil && !errors.Is(err, c.is)) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want one with %q", c.path, err, c.says)
		}
	}
	want(t, ro, "keep")
	if left := leftovers(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestLinks(t *testing.T) {
	dir := realTemp(t)
	os.Mkdir(filepath.Join(dir, "real"), 0o755)
	os.Mkdir(filepath.Join(dir, "out"), 0o755)
	target := filepath.Join(dir, "real", "t")
	put(t, target, "old", 0o750)
	os.Symlink("real", filepath.Join(dir, "dirlink"))
	os.Symlink("../real/t", filepath.Join(dir, "out", "l1"))
	os.Symlink(filepath.Join(dir, "out", "l1"), filepath.Join(dir, "l2"))
	os.Symlink(filepath.Join(dir, "out", "missing"), filepath.Join(dir, "dangling"))
	os.Symlink("out/../real/more/new", filepath.Join(dir, "dangling2"))
	for path, real := range map[string]string{
		"dirlink/t": "real/t", "out/l1": "real/t", "l2": "real/t", "dangling": "out/missing", "dangling2": "real/more/new",
		"dirlink/n": "real/n", "nothing/n": "nothing/n",
	} {
		path, real = filepath.Join(dir, path), filepath.Join(dir, real)
		if got, err := Resolve(path); err != nil || got != real {
			t.Errorf("Resolve(%s) = %s, %v", path, got, err)
		}
		out, err := Replace(bg, path, []byte(path), Options{ResolvedMustBe: real})
		if err != nil || out.Path != real {
			t.Errorf("Replace(%s): %+v %v", path, out, err)
		}
		want(t, real, path)
	}
	for _, l := range []string{"dirlink", "out/l1", "l2", "dangling"} {
		if info, _ := os.Lstat(filepath.Join(dir, l)); info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no longer a link", l)
		}
	}
	if info, _ := os.Stat(target); info.Mode() != 0o750 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestSwappedLinkIsRefused(t *testing.T) {
	for _, when := range []string{"before", "resolved", "before-rename"} {
		for _, what := range []string{"file", "dir"} {
			t.Run(when+" "+what, func(t *testing.T) {
				dir := realTemp(t)
				in, secret := filepath.Join(dir, "in"), filepath.Join(dir, "secret")
				os.Mkdir(in, 0o755)
				os.Mkdir(secret, 0o755)
				path := filepath.Join(in, "f")
				put(t, path, "old", 0o644)
				put(t, filepath.Join(secret, "f"), "precious", 0o644)
				checked, err := Resolve(path)
				if err != nil {
					t.Fatal(err)
				}
				swap := func() {
					if what == "file" {
						os.Remove(path)
						os.Symlink(filepath.Join(secret, "f"), path)
					} else {
						os.Rename(in, in+"2")
						os.Symlink(secret, in)
					}
				}
				opt := Options{ResolvedMustBe: checked, fault: func(step string) error {
					if step == when {
						swap()
					}
					return nil
				}}
				if when == "before" {
					swap()
				}
				_, err = Replace(bg, path, []byte("evil"), opt)
				if when != "before-rename" && !errors.Is(err, ErrMoved) {
					t.Errorf("error %v, want ErrMoved", err)
				}
				want(t, filepath.Join(secret, "f"), "precious")
			})
		}
	}
}

func TestHardLinksStayLinked(t *testing.T) {
	dir := realTemp(t)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, next := range []string{"longer than before", "s", ""} {
		os.Remove(a)
		os.Remove(b)
		put(t, a, "old text", 0o640)
		if err := os.Link(a, b); err != nil {
			t.Skip("no hard links here: ", err)
		}
		out, err := Replace(bg, a, []byte(next), Options{})
		if err != nil || !out.InPlace {
			t.Fatalf("%+v %v", out, err)
		}
		want(t, b, next)
		// A failure at any step puts the old content back.
		for _, step := range []string{"backup-written", "backup-synced", "in-place-piece", "in-place-cut", "in-place-synced"} {
			_, err := Replace(bg, a, []byte("a new and long content"), Options{fault: failAt(step)})
			if !errors.Is(err, errFault) {
				t.Errorf("%s: %v", step, err)
			}
			want(t, b, next)
		}
	}
	if left := leftovers(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

var errFault = errors.New("fault")

func failAt(name string) func(string) error {
	return func(step string) error {
		if step == name {
			return errFault
		}
		return nil
	}
}

func TestFailureLeavesOldContent(t *testing.T) {
	dir := realTemp(t)
	path := filepath.Join(dir, "f")
	put(t, path, "old", 0o644)
	for _, step := range []string{"resolved", "compared", "temp-created", "first-piece", "written", "meta", "temp-synced", "before-rename"} {
		if _, err := Replace(bg, path, []byte("new"), Options{fault: failAt(step)}); !errors.Is(err, errFault) {
			t.Errorf("%s: %v", step, err)
		}
		want(t, path, "old")
		if left := leftovers(t, dir); len(left) > 0 {
			t.Errorf("%s: left behind: %v", step, left)
		}
	}
}

func TestRenameRefusedFallsBack(t *testing.T) {
	for _, exists := range []bool{true, false} {
		path := filepath.Join(realTemp(t), "f")
		if exists {
			put(t, path, "old", 0o755)
		}
		noRename := func(step string) error {
			if step == "before-rename" {
				return unix.EXDEV
			}
			return nil
		}
		out, err := Replace(bg, path, []byte("new"), Options{fault: noRename})
		if err != nil || !out.InPlace || out.Created == exists {
			t.Fatalf("%+v %v", out, err)
		}
		want(t, path, "new")
		if left := leftovers(t, filepath.Dir(path)); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		both := func(step string) error {
			if step == "in-place-cut" || step == "written" {
				return unix.EIO
			}
			return noRename(step)
		}
		if !exists {
			os.Remove(path)
		}
		if _, err := Replace(bg, path, []byte("newer"), Options{fault: both}); err == nil {
			t.Error("a failed write was reported as success")
		}
		if exists {
			want(t, path, "new")
		} else if _, err := os.Stat(path); err == nil {
			t.Error("half a new file was left")
		}
	}
}

func TestDiskFull(t *testing.T) {
	path := filepath.Join(realTemp(t), "f")
	put(t, path, "old", 0o644)
	full := func(step string) error {
		if step == "first-piece" {
			return unix.ENOSPC
		}
		return nil
	}
	if _, err := Replace(bg, path, content('q'), Options{fault: full}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("%v", err)
	}
	want(t, path, "old")
}

func TestCompareAndSwap(t *testing.T) {
	dir := realTemp(t)
	path := filepath.Join(dir, "f")
	put(t, path, "one", 0o644)
	data, fp, err := Read(path, 100)
	if err != nil || string(data) != "one" || !fp.Exists || fp.Size != 3 {
		t.Fatalf("%q %+v %v", data, fp, err)
	}
	// A touched file is the same file.
	if err := os.Chtimes(path, time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	out, err := Replace(bg, path, []byte("two"), Options{Expect: &fp})
	if err != nil {
		t.Fatal(err)
	}
	// Same size, same time, other content: not the same.
	var conflict *ConflictError
	_, err = Replace(bg, path, []byte("three"), Options{Expect: &fp})
	if !errors.As(err, &conflict) || !errors.Is(err, ErrChanged) || !conflict.Got.SameContent(out.Fingerprint) {
		t.Fatalf("%v", err)
	}
	want(t, path, "two")
	if _, err = Replace(bg, path, []byte("three"), Options{Expect: &Fingerprint{}}); !errors.Is(err, ErrChanged) {
		t.Errorf("created over a file: %v", err)
	}
	if _, err = Replace(bg, filepath.Join(dir, "gone"), nil, Options{Expect: &fp}); !errors.Is(err, ErrChanged) {
		t.Errorf("edited a missing file: %v", err)
	}
	// Somebody writes while the temporary file is being written.
	for _, exists := range []bool{true, false} {
		if !exists {
			os.Remove(path)
		}
		expect := Fingerprint{}
		if exists {
			expect = out.Fingerprint
		}
		_, err = Replace(bg, path, []byte("mine"), Options{Expect: &expect, fault: func(step string) error {
			if step == "temp-synced" {
				put(t, path, "theirs", 0o644)
			}
			return nil
		}})
		if !errors.Is(err, ErrChanged) {
			t.Errorf("exists=%v: %v", exists, err)
		}
		want(t, path, "theirs")
	}
	// And at the very last moment, for a new file.
	os.Remove(path)
	_, err = Replace(bg, path, []byte("mine"), Options{fault: func(step string) error {
		if step == "before-rename" {
			put(t, path, "theirs", 0o644)
		}
		return nil
	}})
	if !errors.Is(err, ErrChanged) {
		t.Errorf("%v", err)
	}
	want(t, path, "theirs")
	if left := leftovers(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestParallelUpdates(t *testing.T) {
	path := filepath.Join(realTemp(t), "f")
	put(t, path, "", 0o644)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				_, err := Update(bg, path, Options{}, func(old []byte, _ bool) ([]byte, error) {
					return append(bytes.Clone(old), 'a'+byte(i), '\n'), nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got, _ := os.ReadFile(path); len(got) != 160 {
		t.Errorf("%d bytes, want 160", len(got))
	}
	if len(pathLocks.held) != 0 {
		t.Error("locks were not forgotten")
	}
}

func TestLockCanBeCancelled(t *testing.T) {
	path := filepath.Join(realTemp(t), "f")
	put(t, path, "old", 0o644)
	_, err := Update(bg, path, Options{}, func([]byte, bool) ([]byte, error) {
		ctx, cancel := context.WithTimeout(bg, 20*time.Millisecond)
		defer cancel()
		if _, err := Replace(ctx, path, nil, Options{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		// Another file of the directory waits for the directory's lock.
		if _, err := Replace(ctx, path+"2", nil, Options{}); err == nil {
			t.Error("the directory was not locked")
		}
		return nil, errFault
	})
	if !errors.Is(err, errFault) {
		t.Error(err)
	}
	want(t, path, "old")
}

func TestReadRefuses(t *testing.T) {
	dir := realTemp(t)
	path := filepath.Join(dir, "f")
	put(t, path, "12345", 0o644)
	if _, _, err := Read(path, 4); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if _, _, err := Read(dir, 0); !errors.Is(err, ErrNotRegular) {
		t.Error(err)
	}
	if _, _, err := Read(path+"x", 0); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	pipe := filepath.Join(dir, "p")
	unix.Mkfifo(pipe, 0o600)
	if _, _, err := Read(pipe, 0); !errors.Is(err, ErrNotRegular) {
		t.Error(err)
	}
}

func TestLongName(t *testing.T) {
	path := filepath.Join(realTemp(t), strings.Repeat("n", 255))
	for range 2 {
		if _, err := Replace(bg, path, []byte("x"), Options{}); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkReplace1MB(b *testing.B) {
	path := filepath.Join(b.TempDir(), "f")
	data := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Replace(bg, path, data, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
