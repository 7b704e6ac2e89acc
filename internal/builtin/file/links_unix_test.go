//go:build unix

package file

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

// C8: modes stay, and new files get what the umask leaves.
func TestModes(t *testing.T) {
	b := newBench(t, Deps{})
	p := b.put("s.sh", "echo 1\n")
	if err := os.Chmod(p, 0o755); err != nil {
		t.Fatal(err)
	}
	b.ok("Read", args{"file_path": "s.sh"})
	b.ok("Edit", args{"file_path": "s.sh", "old_string": "1", "new_string": "2"})
	b.ok("Write", args{"file_path": "s.sh", "content": "echo 3\n"})
	if info, _ := os.Stat(p); info.Mode().Perm() != 0o755 {
		t.Errorf("mode is %v", info.Mode())
	}
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	b.ok("Write", args{"file_path": "new", "content": ""})
	if info, _ := os.Stat(b.path("new")); info.Mode().Perm() != os.FileMode(0o666&^mask) {
		t.Errorf("mode of a new file is %v", info.Mode())
	}
}

func TestEditThroughALink(t *testing.T) {
	b := newBench(t, Deps{})
	real := b.put("real.txt", "x\n")
	if err := os.Symlink("real.txt", b.path("link.txt")); err != nil {
		t.Fatal(err)
	}
	b.ok("Read", args{"file_path": "link.txt"})
	b.ok("Edit", args{"file_path": "real.txt", "old_string": "x", "new_string": "y"}) // the same file
	b.ok("Edit", args{"file_path": "link.txt", "old_string": "y", "new_string": "z"})
	if info, err := os.Lstat(b.path("link.txt")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if data, _ := os.ReadFile(real); string(data) != "z\n" {
		t.Errorf("content %q", data)
	}
	// A link that leads to what is not there yet makes its target (B4).
	if err := os.Symlink("later.txt", b.path("dangling")); err != nil {
		t.Fatal(err)
	}
	b.ok("Write", args{"file_path": "dangling", "content": "made"})
	if b.get("later.txt") != "made" {
		t.Error("the target was not written")
	}
}

// A link swapped in between the permission and the call is not followed.
func TestSwappedLinkIsRefused(t *testing.T) {
	for _, name := range []string{"Read", "Edit", "Write"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Deps{})
			outside := b.put("outside/secret.txt", "secret\n")
			b.put("in/a.txt", "secret\n")
			b.ok("Read", args{"file_path": "in/a.txt"})
			b.ok("Read", args{"file_path": outside})
			in := map[string]args{
				"Read":  {"file_path": "in/a.txt"},
				"Edit":  {"file_path": "in/a.txt", "old_string": "secret", "new_string": "x"},
				"Write": {"file_path": "in/a.txt", "content": "x"},
			}[name]
			raw, _ := json.Marshal(in)
			call, err := b.tools[name].Bind(raw, b.env.Place)
			if err != nil {
				t.Fatal(err)
			}
			env := *b.env
			env.ToolUseID = "t1"
			if v := call.CheckPermissions(t.Context(), &env); v.Behavior != "" {
				t.Fatalf("the tool has an opinion: %+v", v)
			}
			os.Remove(b.path("in/a.txt"))
			if err := os.Symlink(outside, b.path("in/a.txt")); err != nil {
				t.Fatal(err)
			}
			if _, err := call.Run(t.Context(), &env); err == nil || !strings.Contains(err.Error(), "when permission was given") {
				t.Errorf("error %v", err)
			}
			if b.get("outside/secret.txt") != "secret\n" {
				t.Error("the link was followed")
			}
		})
	}
}

func TestCheckedPathsAreForgotten(t *testing.T) {
	var c checkedPaths
	for i := range 3 * maxChecked {
		c.put(&tool.Env{ToolUseID: fmt.Sprint(i)}, "/a", "/b")
	}
	if len(c.paths) != maxChecked || len(c.order) != maxChecked {
		t.Errorf("%d paths are remembered", len(c.paths))
	}
	if _, ok := c.get(&tool.Env{ToolUseID: fmt.Sprint(3*maxChecked - 1)}, "/a"); !ok {
		t.Error("the last one is forgotten")
	}
}

func TestReadOnlyFileIsNotChanged(t *testing.T) {
	b := newBench(t, Deps{})
	p := b.put("ro.txt", "x\n")
	if err := os.Chmod(p, 0o444); err != nil {
		t.Fatal(err)
	}
	b.ok("Read", args{"file_path": "ro.txt"})
	b.fails("Edit", args{"file_path": "ro.txt", "old_string": "x", "new_string": "y"}, "gives no right to write")
}
