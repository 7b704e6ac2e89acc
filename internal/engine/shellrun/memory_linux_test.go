package shellrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMemoryLimit is the real thing.
func TestMemoryLimit(t *testing.T) {
	need(t, "awk")
	r := newRunner(t, func(o *Options) { o.MemoryLimit = 64 << 20 })
	if said := r.Unenforced(); said != "" {
		t.Skip(said)
	}
	const hungry = `awk 'BEGIN { s = "x"; while (length(s) < 536870912) s = s s; print length(s) }'`
	res, out := run(t, r, "echo begun; "+hungry+"; echo code $?", nil)
	if !res.OutOfMemory || !strings.HasPrefix(out, "begun\n") || !strings.HasSuffix(out, "\ncode 137\n") {
		t.Errorf("%+v %q", res, out)
	}
	if res, out := run(t, r, "echo small", nil); out != "small\n" || res.OutOfMemory {
		t.Errorf("%+v %q", res, out)
	}
	if said := r.Unenforced(); said != "" {
		t.Error(said)
	}
}

// TestMemoryLimitFiles plays the kernel's part with ordinary files: which cgroup is taken, and what is written there.
func TestMemoryLimitFiles(t *testing.T) {
	file := func(dir, name, text string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	dir := t.TempDir()
	for _, name := range []string{"memory.max", "memory.swap.max", "cgroup.subtree_control", "cgroup.kill"} {
		file(dir, name, "")
	}
	if err := limitMemory(dir, 1<<30); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"memory.max": "1073741824", "memory.swap.max": "0", "cgroup.subtree_control": "+memory"} {
		if got := text(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if err := os.Remove(dir + "/memory.swap.max"); err != nil {
		t.Fatal(err)
	}
	if err := limitMemory(dir, 1<<30); err != nil {
		t.Errorf("without swap: %v", err)
	}
	if err := os.Remove(dir + "/memory.max"); err != nil {
		t.Fatal(err)
	}
	if err := limitMemory(dir, 1<<30); err == nil {
		t.Error("limited without memory.max")
	}

	// Nobody hands the memory controller on; then one above does, but the new cgroup has no files, as there is no kernel.
	top := t.TempDir()
	own := top + "/slice/scope"
	file(own, "cgroup.procs", "")
	if dir, why := limited(top, own, "x", 1<<30); dir != "" || !strings.Contains(why, "hands the memory controller on") {
		t.Errorf("%q %q", dir, why)
	}
	if dir, why := limited("", "", "x", 1<<30); dir != "" || why != "there is no cgroup v2 here" {
		t.Errorf("%q %q", dir, why)
	}
	file(top+"/slice", "cgroup.subtree_control", "cpu memory pids\n")
	file(top+"/slice", "cgroup.procs", "")
	if dir, why := limited(top, own, "x", 1<<30); dir != "" || !strings.Contains(why, "/slice/x/memory.max") {
		t.Errorf("%q %q", dir, why)
	}
	if _, err := os.Stat(top + "/slice/x"); err == nil {
		t.Error("a cgroup that could not be limited was left")
	}
	// Of its own cgroup the Runner asks for the controller.
	file(own, "cgroup.controllers", "cpu memory\n")
	file(own, "cgroup.subtree_control", "")
	if _, why := limited(top, own, "x", 1<<30); text(own+"/cgroup.subtree_control") != "+memory" || !strings.Contains(why, "/x/memory.max") {
		t.Errorf("%q, %q", text(own+"/cgroup.subtree_control"), why)
	}

	g := &group{cgroup: dir}
	for events, want := range map[string]bool{"low 0\noom 3\noom_kill 0\n": false, "oom 3\noom_kill 2\noom_group_kill 0\n": true, "": false} {
		file(dir, "memory.events", events)
		if got := g.killedForMemory(); got != want {
			t.Errorf("%q: %v", events, got)
		}
	}
}
