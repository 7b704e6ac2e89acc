//go:build !unix

package pathrule

import "io/fs"

type fileID struct{}

func idOf(fs.FileInfo) (fileID, bool) { return fileID{}, false }

func manyNames(fs.FileInfo) bool { return true }
