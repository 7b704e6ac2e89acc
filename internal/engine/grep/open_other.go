//go:build !unix

package grep

import (
	"errors"
	"io"
	"os"
	"time"
)

var errNotRegular = errors.New("not a regular file")

func openRegular(path string, follow bool) (file io.ReadCloser, size int64, mod time.Time, err error) {
	stat := os.Lstat
	if follow {
		stat = os.Stat
	}
	info, err := stat(path)
	if err != nil {
		return nil, 0, mod, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, mod, errNotRegular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, mod, err
	}
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, 0, mod, errNotRegular
	}
	return f, info.Size(), info.ModTime(), nil
}
