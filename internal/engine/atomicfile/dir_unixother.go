//go:build unix && !linux

package atomicfile

import "golang.org/x/sys/unix"

const searchFlags = unix.O_RDONLY

func renameNoReplace(fd int, from, to string) error { return unix.ENOSYS }

func copyXattrs(dst, src int) []string { return nil }
