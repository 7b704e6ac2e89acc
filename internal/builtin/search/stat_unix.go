//go:build unix

package search

import (
	"time"

	"golang.org/x/sys/unix"
)

// regular gives the time of the last change of a regular file, not following a
// link. It is called for every file found, and so without package os, which makes
// objects of what it is told.
func regular(path string) (changed time.Time, ok bool) {
	var st unix.Stat_t
	for {
		switch err := unix.Lstat(path, &st); {
		case err == unix.EINTR:
			continue
		case err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG:
			return time.Time{}, false
		}
		return time.Unix(st.Mtim.Unix()), true
	}
}
