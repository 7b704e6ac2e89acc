//go:build !linux

package walk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// directory is an open directory.
type directory struct{ file *os.File }

// scratch is what one goroutine needs to read directories.
type scratch struct{ entries []dirent }

// openDir opens a directory.
func openDir(path string, _ bool) (directory, error) {
	f, err := os.Open(filepath.FromSlash(path))
	return directory{f}, err
}

func (d directory) close() { d.file.Close() }

func (s *scratch) share(*scratch) {}

// read appends some entries to s.entries, and reports whether there are no more.
func (d directory) read(s *scratch) (done bool, err error) {
	entries, err := d.file.ReadDir(dirBatch)
	for _, e := range entries {
		s.entries = append(s.entries, dirent{e.Name(), e.Type()})
	}
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return err != nil, err
}
