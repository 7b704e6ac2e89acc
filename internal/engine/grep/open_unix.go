//go:build unix

package grep

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

var errNotRegular = errors.New("not a regular file")

// descriptor reads a file without the runtime's poller, which regular files have no use for.
type descriptor int

// openRegular opens a regular file, and never waits for the other end of a pipe. A link as the last component is
// refused unless follow.
func openRegular(path string, follow bool) (file io.ReadCloser, size int64, mod time.Time, err error) {
	flags := unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	var fd int
	for {
		if fd, err = unix.Open(path, flags, 0); err != unix.EINTR {
			break
		}
	}
	if err == unix.ELOOP && !follow {
		return nil, 0, mod, errNotRegular
	}
	if err != nil {
		return nil, 0, mod, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, 0, mod, fmt.Errorf("stat %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, 0, mod, errNotRegular
	}
	return descriptor(fd), st.Size, time.Unix(st.Mtim.Unix()), nil
}

func (d descriptor) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(d), p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func (d descriptor) Close() error { return unix.Close(int(d)) }
