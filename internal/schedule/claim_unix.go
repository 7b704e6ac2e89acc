//go:build unix

package schedule

import (
	"fmt"
	"os"
	"syscall"
)

// sharedFile names a file that has several names by its device and inode.
func sharedFile(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return "", false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Nlink < 2 {
		return "", false
	}
	return fmt.Sprintf("\x00inode:%d:%d", st.Dev, st.Ino), true
}
