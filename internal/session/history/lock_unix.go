//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package history

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock that says that a history is in use. The system gives it
// back when the file is closed or the process dies.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrInUse
		}
		if !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.ENOLCK) {
			return nil, err
		}
		return os.Open(path) // a file system without locks
	}
	return f, nil
}
