//go:build unix

package pathrule

import (
	"io/fs"
	"syscall"
)

// fileID is what the device calls a file.
type fileID struct{ device, inode uint64 }

// idOf gives the identity of a file; ok is false where the system has none to compare.
func idOf(info fs.FileInfo) (id fileID, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{uint64(stat.Dev), uint64(stat.Ino)}, true
}

// manyNames tells that a file may have more than one name on its device.
func manyNames(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || stat.Nlink > 1
}
