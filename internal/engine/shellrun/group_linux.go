package shellrun

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// groupRoot is what all commands of a Runner have in common: a cgroup, or only the start of their markers.
type groupRoot struct {
	token string
	dir   string // cgroup of the Runner; empty: no cgroups
	// unlimited tells why there is no limit of memory although one is asked for.
	unlimited string
}

// group is everything that one command started.
type group struct {
	root   *groupRoot
	marker string
	cgroup string   // directory; empty: none
	fd     *os.File // the same, open until the command is started
	pid    int      // of the shell, which leads a session and a process group
	reaped atomic.Uint64

	mu   sync.Mutex
	seen map[int]uint64 // members found when it was asked to end, with their start: their parents may be gone since
}

func newGroupRoot(token string, useCgroup bool, memory int64) *groupRoot {
	g := &groupRoot{token: token}
	if !useCgroup {
		g.unlimited = "cgroups are switched off"
		return g
	}
	top, own := ownCgroup()
	if memory > 0 {
		if g.dir, g.unlimited = limited(top, own, "sevengate-"+token, memory); g.dir != "" {
			return g
		}
	}
	if own == "" {
		return g
	}
	dir := filepath.Join(own, "sevengate-"+token)
	if os.Mkdir(dir, 0o755) != nil {
		return g
	}
	if f, err := os.OpenFile(filepath.Join(dir, "cgroup.kill"), os.O_WRONLY, 0); err == nil {
		f.Close()
		g.dir = dir
	} else {
		os.Remove(dir)
	}
	return g
}

// ownCgroup returns the directory of this process's cgroup in the version 2 hierarchy, or "", and the one at its top.
func ownCgroup() (top, dir string) {
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", ""
	}
	own := ""
	for line := range strings.Lines(string(membership)) {
		if p, ok := strings.CutPrefix(line, "0::"); ok {
			own = strings.TrimSpace(p)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if own == "" || err != nil {
		return "", ""
	}
	for line := range strings.Lines(string(mounts)) {
		before, after, ok := strings.Cut(line, " - ")
		f := strings.Fields(before)
		if !ok || len(f) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		// A mount may show only a part of the hierarchy.
		rel, err := filepath.Rel(f[3], own)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			continue
		}
		return f[4], filepath.Join(f[4], rel)
	}
	return "", ""
}

func (r *groupRoot) newGroup(seq int64, useCgroup bool) *group {
	g := &group{root: r, marker: r.token + "." + strconv.FormatInt(seq, 10)}
	if r.dir == "" || !useCgroup {
		return g
	}
	dir := filepath.Join(r.dir, strconv.FormatInt(seq, 10))
	if os.Mkdir(dir, 0o755) != nil {
		return g
	}
	fd, err := os.Open(dir)
	if err != nil {
		os.Remove(dir)
		return g
	}
	g.cgroup, g.fd = dir, fd
	return g
}

func (g *group) attr(a *syscall.SysProcAttr) {
	a.Setsid = true
	if g.fd != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(g.fd.Fd())
	}
}

// inCgroup reports whether the kernel itself knows the members.
func (g *group) inCgroup() bool { return g.cgroup != "" }

func (g *group) started(pid int) {
	g.pid = pid
	if g.fd != nil {
		g.fd.Close()
		g.fd = nil
	}
}

// shellReaped notes that the shell's process number may be given to another process from now on.
func (g *group) shellReaped() { g.reaped.Store(max(clockTicks(), 1)) }

// term asks every member to end.
func (g *group) term() {
	members := g.members()
	g.mu.Lock()
	g.seen = make(map[int]uint64, len(members))
	for _, p := range members {
		g.seen[p.pid] = p.start
	}
	g.mu.Unlock()
	if g.reaped.Load() == 0 {
		_ = unix.Kill(-g.pid, unix.SIGTERM)
	}
	for _, p := range members {
		if p.pgid != g.pid || g.reaped.Load() != 0 {
			p.signal(unix.SIGTERM)
		}
	}
}

// kill ends every member and reports whether all were gone in time.
func (g *group) kill() error {
	deadline := time.Now().Add(killTimeout)
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		if g.inCgroup() {
			killCgroup(g.cgroup)
		} else {
			if g.reaped.Load() == 0 {
				_ = unix.Kill(-g.pid, unix.SIGKILL)
			}
			for _, p := range g.members() {
				p.signal(unix.SIGKILL)
			}
		}
		if !g.alive() {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes of the command do not end although killed: %s", pidList(g.members()))
		}
		time.Sleep(wait)
	}
}

// alive reports whether any member runs. A zombie does not.
func (g *group) alive() bool {
	if g.inCgroup() {
		return populated(g.cgroup)
	}
	return len(g.members()) > 0
}

// leftBehind is a cheap guess, made when the shell has ended, whether it left something running.
func (g *group) leftBehind() bool {
	if g.inCgroup() {
		return populated(g.cgroup)
	}
	return unix.Kill(-g.pid, 0) == nil
}

// release frees what the group holds, once nothing of it runs.
func (g *group) release() {
	g.started(g.pid)
	if g.inCgroup() {
		removeCgroup(g.cgroup)
	}
}

func (g *group) members() []procInfo {
	if g.inCgroup() {
		return cgroupMembers(g.cgroup)
	}
	return findProcs(func(m string) bool { return m == g.marker }, g.owns)
}

// owns reports whether p belongs to the command's session. Once the shell is gone its number can be used again, but only
// by sessions younger than that.
func (g *group) owns(p procInfo) bool {
	g.mu.Lock()
	start, ok := g.seen[p.pid]
	g.mu.Unlock()
	if ok && start == p.start {
		return true
	}
	if g.pid == 0 || p.sid != g.pid {
		return false
	}
	reaped := g.reaped.Load()
	return reaped == 0 || p.start < reaped
}

// killAll ends what is left of all commands: groups are those that may still have members.
func (r *groupRoot) killAll(groups []*group) error {
	prefix := r.token + "."
	deadline := time.Now().Add(killTimeout)
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		if r.dir != "" {
			killCgroup(r.dir)
		}
		left := findProcs(func(m string) bool { return strings.HasPrefix(m, prefix) }, func(p procInfo) bool {
			for _, g := range groups {
				if !g.inCgroup() && g.owns(p) {
					return true
				}
			}
			return false
		})
		for _, p := range left {
			p.signal(unix.SIGKILL)
		}
		if len(left) == 0 && (r.dir == "" || !populated(r.dir)) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes do not end although killed: %s", pidList(left))
		}
		time.Sleep(wait)
	}
}

func (r *groupRoot) close() {
	if r.dir != "" {
		removeCgroup(r.dir)
	}
}

// killCgroup does nothing if the cgroup is gone.
func killCgroup(dir string) {
	if f, err := os.OpenFile(filepath.Join(dir, "cgroup.kill"), os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteString("1")
		f.Close()
	}
}

func populated(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.events"))
	return err == nil && bytes.Contains(b, []byte("populated 1"))
}

func cgroupMembers(dir string) []procInfo {
	var out []procInfo
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "cgroup.procs" {
			return nil
		}
		b, _ := os.ReadFile(path)
		for _, f := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil && pid > 1 {
				if p, ok := readProc(pid); ok && !p.dead() {
					out = append(out, p)
				}
			}
		}
		return nil
	})
	return out
}

// removeCgroup removes a cgroup and those that a command may have made in it. The kernel lets go of the dead a moment
// after they are gone.
func removeCgroup(dir string) {
	for range 50 {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		if populated(dir) {
			return
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if e.IsDir() {
				removeCgroup(filepath.Join(dir, e.Name()))
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
}
