//go:build !unix && !windows

package hook

import (
	"os"
	"os/exec"
)

func detach(*exec.Cmd) {}

func killTree(p *os.Process) error { return p.Kill() }
