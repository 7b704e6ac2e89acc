//go:build !unix

package search

import (
	"os"
	"time"
)

// regular gives the time of the last change of a regular file, not following a link.
func regular(path string) (changed time.Time, ok bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return time.Time{}, false
	}
	return info.ModTime(), true
}
