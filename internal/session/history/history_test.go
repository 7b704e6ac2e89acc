package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// bench is a project with a history of it.
type bench struct {
	t   testing.TB
	dir string // of the project
	hd  string // of the history
	h   *History
	// lazy leaves out flushing, which only a power failure could tell.
	lazy bool
}

func newBench(t testing.TB, root string) *bench {
	t.Helper()
	b := openBench(t, root)
	b.open()
	return b
}

func openBench(t testing.TB, root string) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: filepath.Join(root, "project"), hd: filepath.Join(root, "session", "file-history")}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) open() {
	b.t.Helper()
	h, err := Open(b.hd)
	if err != nil {
		b.t.Fatal(err)
	}
	b.h = h
	if b.lazy {
		h.sync = func(*os.File) error { return nil }
	}
}

func (b *bench) reopen() {
	b.t.Helper()
	b.ok(b.h.Close())
	b.open()
}

func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

// write changes a file as the tools do.
func (b *bench) write(name, content string) {
	b.t.Helper()
	b.ok(b.h.Before(b.path(name)))
	b.outside(name, content)
	b.ok(b.h.After(b.path(name), StateOf([]byte(content))))
}

// outside changes a file as another program does.
func (b *bench) outside(name, content string) {
	b.t.Helper()
	b.ok(os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	b.ok(os.WriteFile(b.path(name), []byte(content), 0o644))
}

func (b *bench) mark(id string) int {
	b.t.Helper()
	b.ok(b.h.Mark(id, "prompt "+id))
	all := b.h.Checkpoints()
	return all[len(all)-1].N
}

func replace(_ context.Context, path string, data []byte, now State) error {
	img, _, err := look(path, MaxFileBytes)
	if err != nil {
		return err
	}
	if img.State != now {
		return errors.New("changed")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

func (b *bench) rewind(n int, force bool) (Report, error) {
	return b.h.Rewind(context.Background(), n, RewindOptions{Force: force, Replace: replace})
}

func (b *bench) tree() map[string]string {
	b.t.Helper()
	out := map[string]string{}
	b.ok(filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == b.dir {
			return err
		}
		name, _ := filepath.Rel(b.dir, path)
		if d.IsDir() {
			out[name+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(path)
		out[name] = string(data)
		return err
	}))
	return out
}

// A random program of changes, checkpoints, ways back and new starts: every way
// back gives exactly the tree of that moment, also one that undoes a way back.
func TestGoingBackGivesTheEarlierTree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := openBench(t, tempDir(t))
		b.lazy = true
		b.open()
		defer func() { b.h.Close() }()
		b.outside("old", "from before\n")
		trees := map[int]map[string]string{}
		names := []string{"old", "a", "b", "d/c", "d/e/f"}
		trees[b.mark("first")] = b.tree()
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			default:
				b.write(rapid.SampledFrom(names).Draw(rt, "name"), rapid.SampledFrom([]string{"", "x", "x\ny\n", "z\n"}).Draw(rt, "content"))
			case 0, 1:
				trees[b.mark("id")] = b.tree()
			case 2:
				b.reopen()
			case 3:
				all := b.h.Checkpoints()
				if len(all) == 0 {
					continue // marks of a session without changes are not kept
				}
				c := rapid.SampledFrom(all).Draw(rt, "checkpoint")
				now := b.tree()
				rep, err := b.rewind(c.N, false)
				if err != nil {
					rt.Fatalf("going back to %d: %v %+v", c.N, err, rep)
				}
				if rep.Undo != 0 {
					trees[rep.Undo] = now
				}
				if got := b.tree(); !maps.Equal(got, trees[c.N]) {
					rt.Fatalf("checkpoint %d\n got %v\nwant %v", c.N, got, trees[c.N])
				}
			}
		}
		b.reopen()
		for _, c := range b.h.Checkpoints() {
			if _, err := b.rewind(c.N, false); err != nil {
				rt.Fatal(err)
			}
			if got := b.tree(); !maps.Equal(got, trees[c.N]) {
				rt.Fatalf("checkpoint %d in the end\n got %v\nwant %v", c.N, got, trees[c.N])
			}
		}
	})
}

// tempDir is a folder for one of many runs of one test.
func tempDir(t *testing.T) string {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPlanCountsAndChangesNothing(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.outside("a", "1\n2\n3\n")
	n := b.mark("one")
	b.write("a", "1\nB\n3\n4\n")
	b.write("new/deep/file", "x\ny\n")
	before := b.tree()
	plan, err := b.h.Plan(context.Background(), n)
	b.ok(err)
	if len(plan) != 2 || plan[0].Action != Restore || plan[0].Insertions != 1 || plan[0].Deletions != 2 ||
		plan[1].Action != Delete || plan[1].Deletions != 2 || plan[1].Insertions != 0 {
		t.Fatalf("%+v", plan)
	}
	if !maps.Equal(before, b.tree()) || len(b.h.Checkpoints()) != 1 {
		t.Fatal("a plan changed something")
	}
	rep, err := b.rewind(n, false)
	b.ok(err)
	if rep.Insertions != 1 || rep.Deletions != 4 || len(rep.Done) != 2 || rep.Undo != n+1 {
		t.Fatalf("%+v", rep)
	}
	if got := b.tree(); !maps.Equal(got, map[string]string{"a": "1\n2\n3\n"}) {
		t.Fatalf("folders that were made are to go too: %v", got)
	}
	if _, err := b.h.Plan(context.Background(), 77); !errors.Is(err, ErrNoCheckpoint) {
		t.Fatal(err)
	}
}

func TestChangesBySomebodyElse(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(b *bench)
		note   string
	}{
		{"changed", func(b *bench) { b.outside("a", "theirs") }, "changed by a command"},
		{"removed", func(b *bench) { b.ok(os.Remove(b.path("a"))) }, "removed by a command"},
		{"change without After", func(b *bench) { b.ok(b.h.Before(b.path("a"))); b.outside("a", "half") }, "changed by a command"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, t.TempDir())
			b.outside("a", "first")
			b.outside("b", "first")
			n := b.mark("one")
			b.write("a", "second")
			b.write("b", "second")
			c.change(b)
			before := b.tree()
			rep, err := b.rewind(n, false)
			if !errors.Is(err, ErrRefused) || !maps.Equal(before, b.tree()) || len(rep.Changes) != 2 {
				t.Fatalf("%v %+v", err, rep)
			}
			if ch := rep.Changes[0]; !ch.Conflict || !strings.Contains(ch.Note, c.note) {
				t.Fatalf("%+v", ch)
			}
			if rep.Changes[1].Conflict {
				t.Fatal("the other file has no conflict")
			}
			rep, err = b.rewind(n, true)
			b.ok(err)
			if got := b.tree(); got["a"] != "first" || got["b"] != "first" {
				t.Fatal(got)
			}
			// What was overwritten is not lost.
			_, err = b.rewind(rep.Undo, false)
			b.ok(err)
			if !maps.Equal(before, b.tree()) {
				t.Fatal(b.tree())
			}
		})
	}
}

func TestForeignChangeBeforeOurs(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.mark("one")
	b.write("a", "ours")
	n := b.mark("two")
	b.outside("a", "theirs")
	b.write("a", "ours again")
	plan, err := b.h.Plan(context.Background(), n)
	b.ok(err)
	if len(plan) != 1 || plan[0].Conflict || !strings.Contains(plan[0].Note, "another program had changed it") {
		t.Fatalf("%+v", plan)
	}
}

func TestAChangeThatWasNotMadeIsNoConflict(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.outside("a", "first")
	n := b.mark("one")
	b.write("a", "second")
	b.ok(b.h.Before(b.path("a"))) // and then the disk was full
	_, err := b.rewind(n, false)
	b.ok(err)
	if b.tree()["a"] != "first" {
		t.Fatal(b.tree())
	}
}

func TestWhatCannotBeBroughtBack(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.h.limits.file = 10
	b.outside("big", strings.Repeat("x", 11))
	b.outside("lost", "lost")
	b.outside("bad", "bad!")
	b.outside("good", "good")
	n := b.mark("one")
	for _, name := range []string{"big", "lost", "bad", "good"} {
		b.write(name, "new")
	}
	b.ok(os.Remove(b.h.blobPath(StateOf([]byte("lost")).SHA256)))
	b.ok(os.WriteFile(b.h.blobPath(StateOf([]byte("bad!")).SHA256), []byte("BAD!"), 0o600))
	rep, err := b.rewind(n, false)
	if !errors.Is(err, ErrRefused) || len(rep.Failed) != 3 || b.tree()["good"] != "new" {
		t.Fatalf("%v %+v", err, rep)
	}
	rep, err = b.rewind(n, true)
	if !errors.Is(err, ErrIncomplete) || len(rep.Failed) != 3 || len(rep.Done) != 1 {
		t.Fatalf("%v %+v", err, rep)
	}
	for name, want := range map[string]string{"big": "only files of up to 10", "lost": "missing", "bad": "damaged"} {
		if got := rep.Failed[b.path(name)]; !strings.Contains(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := b.tree(); got["good"] != "good" || got["lost"] != "new" {
		t.Fatal(got)
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.outside("elsewhere/f", "precious")
	b.outside("d/f", "first")
	n := b.mark("one")
	b.write("d/f", "second")
	if err := os.Symlink(b.path("elsewhere/f"), b.path("link")); err != nil {
		t.Skip("no links here: ", err)
	}
	b.ok(b.h.Before(b.path("link")))
	b.ok(os.RemoveAll(b.path("d")))
	b.ok(os.Symlink(b.path("elsewhere"), b.path("d")))
	rep, err := b.rewind(n, true)
	if !errors.Is(err, ErrIncomplete) || len(rep.Failed) != 2 || len(rep.Done) != 0 {
		t.Fatalf("%v %+v", err, rep)
	}
	if got, _ := os.ReadFile(b.path("elsewhere/f")); string(got) != "precious" {
		t.Fatalf("%q", got)
	}
	b.ok(os.Remove(b.path("d")))
	b.ok(os.Symlink(b.path("nowhere"), b.path("d")))
	if _, err := b.rewind(n, true); !errors.Is(err, ErrIncomplete) {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.path("nowhere")); err == nil {
		t.Fatal("a link that leads nowhere was followed")
	}
}

func TestHardLinksAreNoted(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.outside("a", "first")
	if err := os.Link(b.path("a"), b.path("b")); err != nil || runtime.GOOS == "windows" {
		t.Skip("no hard links here: ", err)
	}
	n := b.mark("one")
	b.write("a", "second")
	plan, err := b.h.Plan(context.Background(), n)
	b.ok(err)
	if !strings.Contains(plan[0].Note, "2 names") {
		t.Fatalf("%+v", plan)
	}
}

func TestTheModeOfARemovedFileComesBack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean little here")
	}
	b := newBench(t, t.TempDir())
	b.outside("a", "#!/bin/sh\n")
	b.ok(os.Chmod(b.path("a"), 0o755))
	n := b.mark("one")
	b.write("a", "x")
	b.ok(os.Remove(b.path("a")))
	_, err := b.rewind(n, true)
	b.ok(err)
	if info, err := os.Stat(b.path("a")); err != nil || info.Mode().Perm() != 0o755 {
		t.Fatal(info, err)
	}
}

func TestCheckpointsAndContentsAreBounded(t *testing.T) {
	b := newBench(t, t.TempDir())
	for i := range MaxCheckpoints + 30 {
		b.mark(fmt.Sprint(i))
		b.write("a", fmt.Sprint(i))
	}
	all := b.h.Checkpoints()
	if len(all) != MaxCheckpoints || all[0].ID != "30" {
		t.Fatal(len(all), all[0])
	}
	blobs, err := os.ReadDir(b.h.blobsPath())
	b.ok(err)
	if len(blobs) != MaxCheckpoints {
		t.Fatalf("%d contents", len(blobs))
	}
	if _, err := b.h.Find(0, "29"); !errors.Is(err, ErrNoCheckpoint) {
		t.Fatal(err)
	}
	b.reopen()
	c, err := b.h.Find(0, "30")
	b.ok(err)
	_, err = b.rewind(c.N, false)
	b.ok(err)
	if b.tree()["a"] != "29" {
		t.Fatal(b.tree())
	}
}

func TestTheOldestMakeRoom(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.h.limits.total = 1000
	for i := range 10 {
		b.mark(fmt.Sprint(i))
		b.write("a", strings.Repeat(fmt.Sprint(i), 300))
	}
	if all := b.h.Checkpoints(); len(all) != 3 {
		t.Fatal(all)
	}
}

func TestTheIndexDoesNotGrowForEver(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.h.limits.index = 4000
	b.outside("a", "zero")
	n := b.mark("one")
	for i := range 200 {
		b.write("a", fmt.Sprint(i))
	}
	if b.h.size > 8000 {
		t.Fatal(b.h.size)
	}
	info, err := os.Stat(b.h.indexPath())
	b.ok(err)
	if info.Size() != b.h.size {
		t.Fatal(info.Size(), b.h.size)
	}
	b.reopen()
	_, err = b.rewind(n, false)
	b.ok(err)
	if b.tree()["a"] != "zero" {
		t.Fatal(b.tree())
	}
}

func TestAnIndexCutAnywhereCanBeUsed(t *testing.T) {
	b := openBench(t, t.TempDir())
	b.lazy = true
	b.open()
	b.outside("a", "zero")
	b.mark("one")
	b.write("a", "first")
	b.mark("two")
	b.write("a", "second")
	b.ok(b.h.Close())
	whole, err := os.ReadFile(b.h.indexPath())
	b.ok(err)
	for cut := range len(whole) {
		b.ok(os.WriteFile(b.h.indexPath(), whole[:cut], 0o600))
		b.open()
		n := b.mark("after")
		b.write("b", "x")
		b.reopen()
		_, err := b.rewind(n, false)
		b.ok(err)
		if got := b.tree(); len(got) != 1 || got["a"] != "second" {
			t.Fatal(cut, got)
		}
		b.ok(b.h.Close())
	}
}

func TestADamagedLineDropsWhatItMakesDoubtful(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.mark("one")
	b.write("a", "first")
	b.mark("two")
	b.write("a", "second")
	b.ok(b.h.Close())
	data, err := os.ReadFile(b.h.indexPath())
	b.ok(err)
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines[2] = []byte("{\"t\":\"bef\x00\n")
	b.ok(os.WriteFile(b.h.indexPath(), bytes.Join(lines, nil), 0o600))
	b.open()
	if all := b.h.Checkpoints(); len(all) != 1 || all[0].ID != "two" {
		t.Fatal(all)
	}
}

func TestANewerFormatIsRefused(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.ok(os.MkdirAll(b.hd, 0o700))
	b.ok(os.WriteFile(b.h.indexPath(), []byte(`{"t":"history","version":99}`+"\n"), 0o600))
	if _, err := Open(b.hd); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Fatal(err)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.write("a", "x")
	if _, err := Open(b.hd); runtime.GOOS != "plan9" && !errors.Is(err, ErrInUse) {
		t.Fatal(err)
	}
	b.reopen()
}

// Marks made before there was a folder come after what another process left in it.
func TestLateOpening(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.mark("mine")
	other, err := Open(b.hd)
	b.ok(err)
	b.ok(other.Mark("theirs", ""))
	b.ok(other.Before(b.path("x")))
	b.ok(other.Close())
	b.write("a", "x")
	all := b.h.Checkpoints()
	if len(all) != 2 || all[0].ID != "theirs" || all[1].ID != "mine" || all[1].N != 2 {
		t.Fatalf("%+v", all)
	}
}

func TestNothingIsLeftWithoutChanges(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.mark("one")
	b.reopen()
	if _, err := os.Lstat(b.hd); err == nil {
		t.Fatal("a folder was made")
	}
	b.write("a", "x")
	if all := b.h.Checkpoints(); len(all) != 1 || all[0].Kind != KindStart {
		t.Fatal(all)
	}
}

func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes here")
	}
	b := newBench(t, t.TempDir())
	b.outside("a", "secret")
	b.write("a", "x")
	b.ok(filepath.WalkDir(b.hd, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return err
	}))
}

func TestConcurrentChanges(t *testing.T) {
	b := newBench(t, t.TempDir())
	for i := range 8 {
		b.outside(fmt.Sprint(i), "zero")
	}
	n := b.mark("one")
	want := b.tree()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				path, data := b.path(fmt.Sprint(i)), fmt.Appendf(nil, "%d", j)
				if err := errors.Join(b.h.Before(path), os.WriteFile(path, data, 0o644), b.h.After(path, StateOf(data))); err != nil {
					t.Error(err)
				}
				if i == 0 {
					b.h.Mark("x", "")
				}
				b.h.Checkpoints()
			}
		})
	}
	wg.Wait()
	b.reopen()
	_, err := b.rewind(n, false)
	b.ok(err)
	if got := b.tree(); !maps.Equal(got, want) {
		t.Fatal(got)
	}
}

func TestPathsThatAreNotText(t *testing.T) {
	b := newBench(t, t.TempDir())
	name := "bad\xffname"
	if os.WriteFile(b.path(name), nil, 0o644) != nil {
		t.Skip("such names cannot be made here")
	}
	n := b.mark("one")
	b.write(name, "x")
	b.reopen()
	_, err := b.rewind(n, false)
	b.ok(err)
	if b.tree()[name] != "" {
		t.Fatal(b.tree())
	}
}

func TestMisuse(t *testing.T) {
	b := newBench(t, t.TempDir())
	if err := b.h.Before("relative"); err == nil {
		t.Error("a relative path was taken")
	}
	if err := b.h.After(b.path("a"), State{}); err == nil {
		t.Error("After without Before was taken")
	}
	n := b.mark("one")
	if _, err := b.h.Rewind(context.Background(), n, RewindOptions{}); err == nil {
		t.Error("no Replace was taken")
	}
	b.write("a", "x")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.h.Rewind(ctx, n, RewindOptions{Replace: replace}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	b.ok(b.h.Close())
	b.ok(b.h.Close())
	if err := b.h.Before(b.path("a")); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := b.h.Mark("", ""); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
