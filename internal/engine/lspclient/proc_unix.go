//go:build unix

package lspclient

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// detach gives a server a session of its own: no terminal, and one group by which
// all that it starts can be ended.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killTree ends a server and what it started.
func killTree(p *os.Process) error {
	if err := syscall.Kill(-p.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return p.Kill()
	}
	return nil
}

// killRest ends what a server that is gone has left behind.
func killRest(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
