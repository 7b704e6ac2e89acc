package hook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// detach gives a command a group of its own and no console window.
func detach(cmd *exec.Cmd) {
	const createNoWindow = 0x08000000
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | createNoWindow, HideWindow: true}
}

// killTree ends a command and the processes below it.
func killTree(p *os.Process) error {
	taskkill := filepath.Join(os.Getenv("SystemRoot"), "System32", "taskkill.exe")
	if exec.Command(taskkill, "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run() == nil {
		return nil
	}
	return p.Kill()
}
