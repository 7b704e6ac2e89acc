package atomicfile

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

const searchFlags = unix.O_PATH

func renameNoReplace(fd int, from, to string) error {
	return unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
}

// maxXattr is the kernel's own limit for a list and for a value.
const maxXattr = 64 << 10

// copyXattrs copies all extended attributes, also access control lists, except file
// capabilities, which any write of the content takes away.
func copyXattrs(dst, src int) (warnings []string) {
	n, err := unix.Flistxattr(src, nil)
	if err != nil || n == 0 {
		return nil
	}
	list := make([]byte, min(n+1024, maxXattr))
	if n, err = unix.Flistxattr(src, list); err != nil {
		return nil
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list[:n]), "\x00"), "\x00") {
		if name == "" || name == "security.capability" {
			continue
		}
		size, err := unix.Fgetxattr(src, name, nil)
		if err != nil {
			continue
		}
		val := make([]byte, size)
		if size, err = unix.Fgetxattr(src, name, val); err == nil {
			err = unix.Fsetxattr(dst, name, val[:size], 0)
		}
		// Labels under security. are set by the system's policy for the new file.
		if err != nil && !errors.Is(err, unix.ENOTSUP) && !strings.HasPrefix(name, "security.") {
			warnings = append(warnings, fmt.Sprintf("the extended attribute %s could not be kept", name))
		}
	}
	return warnings
}
