package shellrun

import (
	"os"

	"golang.org/x/sys/unix"
)

// scriptFile returns an open file with the command's text.
func scriptFile(dir, command string) (*os.File, error) {
	fd, err := unix.MemfdCreate("sevengate-command", unix.MFD_CLOEXEC)
	if err != nil {
		return unlinkedScript(dir, command)
	}
	return fillScript(os.NewFile(uintptr(fd), "sevengate-command"), command)
}
