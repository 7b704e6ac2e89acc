//go:build !unix

package shellrun

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// keeper: nothing here can outlive the host and watch for its end.
type keeper struct {
	token, cgroup string
	null          *os.File
}

func (k *keeper) ensure() error { return nil }
func (k *keeper) watch(*group)  {}
func (k *keeper) forget(*group) {}
func (k *keeper) close()        {}

type groupRoot struct {
	token     string
	dir       string
	unlimited string // why there is no limit of memory
}

// group is the shell process alone.
type group struct {
	marker string
	proc   *os.Process
}

func newGroupRoot(token string, _ bool, _ int64) *groupRoot {
	return &groupRoot{token: token, unlimited: "only Linux has cgroups"}
}

func (r *groupRoot) newGroup(seq int64, _ bool) *group {
	return &group{marker: r.token + "." + strconv.FormatInt(seq, 10)}
}
func (r *groupRoot) killAll([]*group) error { return nil }
func (r *groupRoot) close()                 {}

func (g *group) killedForMemory() bool { return false }

func (g *group) term() { g.kill() }
func (g *group) kill() error {
	_ = g.proc.Kill() // fails only if it has ended
	return nil
}
func (g *group) alive() bool      { return false }
func (g *group) leftBehind() bool { return false }
func (g *group) release()         {}

// spawn starts the shell with the command as an argument, because only three files can be inherited here. The working
// directory in which it ends is not known.
func (p *Process) spawn(argv []string, _ snapshot, seq int64) error {
	if p.spec.TTY != nil {
		return errors.New("terminals are not supported on this system")
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	defer theirs.Close()
	g := p.r.root.newGroup(seq, false)
	in, stdout := p.r.null, theirs
	if len(p.spec.Program) == 0 {
		argv = append(append(append([]string{}, p.spec.Wrap...), p.r.shell.Path), "-c", p.spec.Command)
	} else {
		if in, err = os.CreateTemp(p.r.opts.OutputDir, ".command-*"); err != nil {
			return fmt.Errorf("handing over the command: %w", err)
		}
		defer in.Close()
		p.script = in.Name()
		if _, err = in.WriteString(p.spec.Command); err == nil {
			_, err = in.Seek(0, io.SeekStart)
		}
		if err != nil {
			return fmt.Errorf("handing over the command: %w", err)
		}
	}
	if p.spec.Stdout != nil {
		stdout = p.spec.Stdout
	}
	p.start = time.Now()
	proc, err := os.StartProcess(argv[0], argv, &os.ProcAttr{
		Dir: p.spec.Dir, Files: []*os.File{in, stdout, theirs},
		Env: environment(p.r.base, nil, p.spec.Env, []string{markerVar + "=" + g.marker}),
	})
	if err != nil {
		ours.Close()
		return err
	}
	g.proc = proc
	p.proc, p.group, p.out = proc, g, ours
	return nil
}

func (p *Process) reap() exit {
	state, err := p.proc.Wait()
	if p.script != "" {
		_ = os.Remove(p.script) // could not go before: it was open
	}
	e := exit{code: -1, at: time.Now()}
	if err == nil {
		e.code = state.ExitCode()
	}
	return e
}

func (p *Process) readStatus() []byte { return []byte(readyMark) }

func mergePath(host, login string) string { return strings.Trim(host+";"+login, ";") }

// ownFile: file owners are not looked at here.
func ownFile(os.FileInfo) bool { return true }

// readNow is not reached: pipes have no deadlines here.
func readNow(*os.File, []byte) int { return readNothing }
