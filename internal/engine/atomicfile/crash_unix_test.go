//go:build unix

package atomicfile

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func helper(t *testing.T, mode string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), helperEnv+"="+mode)
	return cmd
}

func whole(b []byte) bool {
	return len(b) > 0 && bytes.Equal(b, content(b[0]))
}

func leftovers(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if IsLeftover(e.Name()) {
			out = append(out, e.Name())
		}
	}
	return out
}

func TestKilledAtRandomMoments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, content('a'), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		cmd := helper(t, "loop", path)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(5+rand.IntN(40)) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		if out.Len() > 0 {
			t.Fatal(out.String())
		}
		got, err := os.ReadFile(path)
		if err != nil || !whole(got) {
			t.Fatalf("round %d: torn file of %d bytes (%v)", i, len(got), err)
		}
	}
	if _, err := Replace(context.Background(), path, content('c'), Options{}); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, filepath.Dir(path)); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}

func TestKilledAtEachStep(t *testing.T) {
	type at struct {
		step string
		n    int
		link bool
		mix  bool // the file may be mixed, with a backup
	}
	cases := []at{}
	for _, s := range []string{"resolved", "compared", "temp-created", "first-piece", "written", "meta", "temp-synced", "before-rename", "renamed", "dir-synced"} {
		cases = append(cases, at{step: s, n: 1})
	}
	cases = append(cases, at{"backup-written", 1, true, false}, at{"backup-synced", 1, true, false}, at{"in-place-piece", 1, true, true},
		at{"in-place-cut", 1, true, false}, at{"in-place-synced", 1, true, false}, at{"backup-removed", 1, true, false})
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s link=%v", c.step, c.link), func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			if err := os.WriteFile(path, content('z'), 0o640); err != nil { // longer than b's
				t.Fatal(err)
			}
			if c.link {
				if err := os.Link(path, filepath.Join(dir, "other")); err != nil {
					t.Skip("no hard links here: ", err)
				}
			}
			out, err := helper(t, "step", path, c.step, strconv.Itoa(c.n)).CombinedOutput()
			if err == nil || len(out) > 0 {
				t.Fatalf("the helper was not killed: %v %s", err, out)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			inter, err := Interrupted(path)
			if err != nil {
				t.Fatal(err)
			}
			if whole(got) == c.mix {
				t.Fatalf("mixed content: %v", !whole(got))
			}
			if len(inter) > 0 != c.mix {
				t.Fatalf("interrupted writes reported: %v", inter)
			}
			if c.mix {
				if old, err := os.ReadFile(inter[0]); err != nil || !bytes.Equal(old, content('z')) {
					t.Fatalf("the backup does not hold the old content (%v)", err)
				}
			}
			o, err := Replace(context.Background(), path, content('c'), Options{})
			if err != nil {
				t.Fatal(err)
			}
			left := leftovers(t, dir)
			if c.mix {
				if len(left) != 1 || len(o.Backups) != 1 {
					t.Fatalf("the backup that matters must stay: %v %v", left, o.Backups)
				}
			} else if len(left) > 0 {
				t.Fatalf("left behind: %v", left)
			}
			if got, _ := os.ReadFile(path); !bytes.Equal(got, content('c')) {
				t.Fatal("the next replacement did not work")
			}
		})
	}
}

func TestTwoProcessesLoseNoUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	if err := os.WriteFile(path, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	const procs, each = 3, 40
	var cmds []*exec.Cmd
	for range procs {
		cmd := helper(t, "add", path, strconv.Itoa(each))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(path); string(got) != strconv.Itoa(procs*each) {
		t.Fatalf("%s, want %d: updates were lost", got, procs*each)
	}
}
