//go:build unix && !linux

package shellrun

import (
	"errors"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// groupRoot is what all commands of a Runner have in common.
type groupRoot struct {
	token     string
	dir       string
	unlimited string // why there is no limit of memory
}

// group is the process group of one command: without /proc and cgroups, children that leave it are out of reach.
type group struct {
	marker string
	pid    int
	reaped atomic.Bool
}

func newGroupRoot(token string, _ bool, _ int64) *groupRoot {
	return &groupRoot{token: token, unlimited: "only Linux has cgroups"}
}

func (r *groupRoot) newGroup(seq int64, _ bool) *group {
	return &group{marker: r.token + "." + strconv.FormatInt(seq, 10)}
}

func (g *group) attr(a *syscall.SysProcAttr) { a.Setsid = true }
func (g *group) inCgroup() bool              { return false }
func (g *group) started(pid int)             { g.pid = pid }
func (g *group) shellReaped()                { g.reaped.Store(true) }
func (g *group) release()                    {}

func (g *group) killedForMemory() bool { return false }

func (g *group) term() { _ = syscall.Kill(-g.pid, syscall.SIGTERM) }

func (g *group) kill() error {
	deadline := time.Now().Add(killTimeout)
	for g.alive() {
		_ = syscall.Kill(-g.pid, syscall.SIGKILL)
		if time.Now().After(deadline) {
			return errors.New("processes of the command do not end although killed, in process group " + strconv.Itoa(g.pid))
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

func (g *group) alive() bool      { return g.pid > 1 && syscall.Kill(-g.pid, 0) == nil }
func (g *group) leftBehind() bool { return g.alive() }

func (r *groupRoot) killAll(groups []*group) error {
	var errs []error
	for _, g := range groups {
		errs = append(errs, g.kill())
	}
	return errors.Join(errs...)
}

func (r *groupRoot) close() {}
