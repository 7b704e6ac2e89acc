//go:build unix

package shellrun

import (
	"os"
	"syscall"
)

// ownFile reports whether the file belongs to this user.
func ownFile(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
