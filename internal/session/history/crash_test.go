package history

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const childEnv = "HISTORY_TEST_CHILD"

func TestMain(m *testing.M) {
	if root := os.Getenv(childEnv); root != "" {
		child(root)
		return
	}
	os.Exit(m.Run())
}

// child changes files until it is killed.
func child(root string) {
	h, err := Open(filepath.Join(root, "session", "file-history"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		if i%3 == 0 {
			err = h.Mark(fmt.Sprint(i), "")
		}
		path, data := filepath.Join(root, "project", fmt.Sprint(i%4)), fmt.Appendf(nil, "content %d", i)
		if err == nil {
			err = h.Before(path)
		}
		if err == nil {
			err = os.WriteFile(path+".tmp", data, 0o644)
		}
		if err == nil {
			err = os.Rename(path+".tmp", path)
		}
		if err == nil {
			err = h.After(path, StateOf(data))
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// Killed at any moment, the earlier contents are all there.
func TestKilled(t *testing.T) {
	for round := range 8 {
		b := newBench(t, t.TempDir())
		b.outside("0", "zero")
		b.outside("1", "one")
		n := b.mark("first")
		b.write("3", "made in the first turn")
		b.ok(b.h.Close())
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+filepath.Dir(b.dir))
		out, err := cmd.StdoutPipe()
		b.ok(err)
		b.ok(cmd.Start())
		time.Sleep(time.Duration(30+round*17) * time.Millisecond)
		b.ok(cmd.Process.Kill())
		said := make([]byte, 200)
		if k, _ := out.Read(said); k > 0 {
			t.Fatalf("%s", said[:k])
		}
		cmd.Wait()
		os.Remove(b.path("0.tmp"))
		for i := range 4 {
			os.Remove(b.path(fmt.Sprint(i) + ".tmp"))
		}
		b.open()
		if all := b.h.Checkpoints(); all[0].N != n {
			t.Skip("the child was too quick: its first checkpoint is gone")
		}
		// At most the one change that was under way counts as somebody else's.
		rep, err := b.rewind(n, true)
		if err != nil {
			t.Fatalf("%v %+v", err, rep)
		}
		conflicts := 0
		for _, c := range rep.Changes {
			if c.Conflict {
				conflicts++
			}
		}
		if got := b.tree(); conflicts > 1 || len(got) != 2 || got["0"] != "zero" || got["1"] != "one" {
			t.Fatal(conflicts, got)
		}
		b.ok(b.h.Close())
	}
}
