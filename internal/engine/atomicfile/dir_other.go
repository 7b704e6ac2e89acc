//go:build !unix

package atomicfile

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// dir is an open directory, held by os.Root so that no name in it can lead out of it.
// Locks between processes do not exist here: only those of one process, and the
// comparison of contents.
type dir struct {
	path string
	root *os.Root
}

func openDir(path string, create bool) (*dir, error) {
	if create {
		if err := os.MkdirAll(path, 0o777); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	d := &dir{path: path, root: root}
	if now, err := Resolve(path); err != nil || now != path {
		root.Close()
		return nil, fmt.Errorf("%s leads to %s now: %w", path, now, ErrMoved)
	}
	got, err1 := root.Stat(".")
	want, err2 := os.Lstat(path)
	if err1 != nil || err2 != nil || !os.SameFile(got, want) {
		root.Close()
		return nil, fmt.Errorf("%s was exchanged while it was opened: %w", path, ErrMoved)
	}
	return d, nil
}

func (d *dir) close()                                 { d.root.Close() }
func (d *dir) lock(context.Context) (bool, error)     { return false, nil }
func (d *dir) lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }
func (d *dir) writable(string) bool                   { return true }
func (d *dir) rename(from, to string) error           { return d.root.Rename(from, to) }
func (d *dir) remove(name string)                     { _ = d.root.Remove(name) }
func (d *dir) sync() error                            { return nil }
func (d *dir) copyMeta(f *os.File, _ string, info fs.FileInfo) []string {
	_ = f.Chmod(info.Mode().Perm())
	return nil
}

func (d *dir) open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if info, err := d.root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("open %s: a link stands there: %w", filepath.Join(d.path, name), ErrMoved)
	}
	return d.root.OpenFile(name, flag, perm)
}

func (d *dir) renameNew(from, to string) error {
	if err := d.root.Link(from, to); err == nil {
		d.remove(from)
		return nil
	} else if _, lerr := d.root.Lstat(to); lerr == nil {
		return fs.ErrExist
	}
	return d.root.Rename(from, to)
}

func (d *dir) names(max int) ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(max)
}

func linkCount(fs.FileInfo) uint64 { return 1 }

func syncFile(f *os.File) error { return f.Sync() }

// renameRefused: a file held open elsewhere cannot be replaced, but perhaps written.
func renameRefused(err error) bool { return err != nil }
