//go:build unix

package confine

import (
	"errors"
	"syscall"
)

func isReadOnly(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTDIR)
}
