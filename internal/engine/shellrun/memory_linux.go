package shellrun

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limited makes a cgroup for all commands of a Runner whose memory is limited. It needs a place of the version 2 hierarchy
// that hands the memory controller on and that processes may be started in from own, this process's cgroup: own itself,
// which can only hand it on if it is the root or has no processes, or one above it, up to top. The answer is its directory,
// or why there is none.
func limited(top, own, name string, limit int64) (dir, why string) {
	if own == "" {
		return "", "there is no cgroup v2 here"
	}
	why = "no cgroup v2 that may be written hands the memory controller on; a program started by systemd-run --user --scope may find one"
	for at := own; ; at = filepath.Dir(at) {
		if at == own && !handsOn(at) && hasWord(filepath.Join(at, "cgroup.controllers"), "memory") {
			_ = writeControl(filepath.Join(at, "cgroup.subtree_control"), "+memory")
		}
		if handsOn(at) && unix.Access(filepath.Join(at, "cgroup.procs"), unix.W_OK) == nil {
			dir := filepath.Join(at, name)
			err := os.Mkdir(dir, 0o755)
			if err == nil {
				if err = limitMemory(dir, limit); err == nil {
					return dir, ""
				}
				os.Remove(dir)
			}
			why = fmt.Sprintf("limiting a cgroup: %v", err)
		}
		if at == top || !strings.HasPrefix(at, top) {
			return "", why
		}
	}
}

func handsOn(dir string) bool { return hasWord(filepath.Join(dir, "cgroup.subtree_control"), "memory") }

// limitMemory limits a cgroup that has no processes yet, and makes the kernel count for each one below by itself.
func limitMemory(dir string, limit int64) error {
	if err := writeControl(filepath.Join(dir, "memory.max"), strconv.FormatInt(limit, 10)); err != nil {
		return err
	}
	// Without accounting for swap there is no such file; then nothing is swapped that counts.
	if err := writeControl(filepath.Join(dir, "memory.swap.max"), "0"); err != nil && !os.IsNotExist(err) {
		return err
	}
	_ = writeControl(filepath.Join(dir, "cgroup.subtree_control"), "+memory") // for killedForMemory
	f, err := os.OpenFile(filepath.Join(dir, "cgroup.kill"), os.O_WRONLY, 0)
	if err == nil {
		f.Close()
	}
	return err
}

// killedForMemory reports whether the kernel has ended a process of the group for want of memory.
func (g *group) killedForMemory() bool {
	if !g.inCgroup() {
		return false
	}
	b, err := os.ReadFile(filepath.Join(g.cgroup, "memory.events"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok {
			return n != "0"
		}
	}
	return false
}

// writeControl writes to a file that the kernel has made.
func writeControl(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func hasWord(path, word string) bool {
	b, err := os.ReadFile(path)
	return err == nil && slices.Contains(strings.Fields(string(b)), word)
}
