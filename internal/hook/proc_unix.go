//go:build unix

package hook

import (
	"os"
	"os/exec"
	"syscall"
)

// detach gives a command a session of its own: no terminal to write on, and
// one group by which all of it can be ended.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// killTree ends a command and what it started, except for what made itself a
// session of its own.
func killTree(p *os.Process) error {
	if err := syscall.Kill(-p.Pid, syscall.SIGKILL); err == syscall.ESRCH {
		return os.ErrProcessDone
	} else if err != nil {
		return p.Kill()
	}
	return nil
}
