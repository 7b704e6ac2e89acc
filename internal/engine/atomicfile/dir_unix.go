//go:build unix

package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dir is an open directory. All work on the files in it goes through its descriptor.
type dir struct {
	f    *os.File
	weak bool // opened without the right to list: no lock, flush or listing
}

// openDir opens an absolute, link-free path component by component and follows no
// link, so that what is opened is what was resolved. With create, missing
// directories are made.
func openDir(path string, create bool) (*dir, error) {
	fd, err := openat(unix.AT_FDCWD, "/", searchFlags)
	if err != nil {
		return nil, err
	}
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == filepath.Separator })
	for i, part := range parts {
		next, err := openat(fd, part, searchFlags)
		if errors.Is(err, unix.ENOENT) && create {
			if err = unix.Mkdirat(fd, part, 0o777); err == nil || errors.Is(err, unix.EEXIST) {
				flushDirAt(fd)
				next, err = openat(fd, part, searchFlags)
			}
		}
		unix.Close(fd)
		if err != nil {
			at := "/" + strings.Join(parts[:i+1], "/")
			if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
				return nil, fmt.Errorf("%s is not, or no longer, a directory: %w", at, ErrMoved)
			}
			return nil, &fs.PathError{Op: "open", Path: at, Err: err}
		}
		fd = next
	}
	// The walk needs only the right to search; locking and flushing need a real descriptor.
	full, err := openat(fd, ".", unix.O_RDONLY)
	if err != nil {
		return &dir{f: os.NewFile(uintptr(fd), path), weak: true}, nil
	}
	unix.Close(fd)
	return &dir{f: os.NewFile(uintptr(full), path)}, nil
}

func openat(fd int, name string, flags int) (int, error) {
	for {
		got, err := unix.Openat(fd, name, flags|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return got, err
		}
	}
}

func flushDirAt(fd int) {
	if full, err := openat(fd, ".", unix.O_RDONLY); err == nil {
		_ = unix.Fsync(full)
		unix.Close(full)
	}
}

func (d *dir) fd() int { return int(d.f.Fd()) }

func (d *dir) close() { d.f.Close() }

// lock takes an advisory lock on the directory itself, which leaves no lock file
// behind and goes away with the process. It reports false where locks do not exist.
func (d *dir) lock(ctx context.Context) (bool, error) {
	if d.weak {
		return false, nil
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := unix.Flock(d.fd(), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return false, nil // some network file systems
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return false, context.Cause(ctx)
		}
	}
}

func (d *dir) path(name string) string { return filepath.Join(d.f.Name(), name) }

func (d *dir) lstat(name string) (fs.FileInfo, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: d.path(name), Err: err}
	}
	// os.FileInfo cannot be made from a raw stat, and os.SameFile needs one of its
	// own; so the entry is opened where that has no side effect.
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		f, err := d.open(name, os.O_RDONLY, 0)
		if err == nil {
			defer f.Close()
			return f.Stat()
		}
		if errors.Is(err, unix.ELOOP) || errors.Is(err, fs.ErrNotExist) {
			return d.lstat(name)
		}
		return nil, err
	}
	return kindInfo{name: name, mode: kindOf(uint32(st.Mode))}, nil
}

// kindInfo describes an entry that is not a regular file: only its kind matters.
type kindInfo struct {
	name string
	mode fs.FileMode
}

func (k kindInfo) Name() string       { return k.name }
func (k kindInfo) Size() int64        { return 0 }
func (k kindInfo) Mode() fs.FileMode  { return k.mode }
func (k kindInfo) ModTime() time.Time { return time.Time{} }
func (k kindInfo) IsDir() bool        { return k.mode.IsDir() }
func (k kindInfo) Sys() any           { return nil }

func kindOf(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	default:
		return fs.ModeIrregular
	}
}

// writable asks the kernel, since a rename would pass over the file's own mode.
func (d *dir) writable(name string) bool {
	err := unix.Faccessat(d.fd(), name, unix.W_OK, unix.AT_EACCESS)
	return !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EROFS)
}

func (d *dir) open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	for {
		// O_NONBLOCK: a pipe put there must not hang the open.
		fd, err := unix.Openat(d.fd(), name, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, uint32(perm.Perm()))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: d.path(name), Err: err}
		}
		return os.NewFile(uintptr(fd), d.path(name)), nil
	}
}

func (d *dir) rename(from, to string) error {
	return unix.Renameat(d.fd(), from, d.fd(), to)
}

// renameNew renames without replacing: it fails with fs.ErrExist if there is a file.
func (d *dir) renameNew(from, to string) error {
	err := renameNoReplace(d.fd(), from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := unix.Linkat(d.fd(), from, d.fd(), to, 0); err == nil {
		d.remove(from)
		return nil
	} else if errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.rename(from, to)
}

func (d *dir) remove(name string) { _ = unix.Unlinkat(d.fd(), name, 0) }

func (d *dir) sync() error {
	if d.weak {
		return nil
	}
	return syncFile(d.f)
}

func (d *dir) names(max int) ([]string, error) {
	if d.weak {
		return nil, nil
	}
	fd, err := openat(d.fd(), ".", unix.O_RDONLY) // an own read position
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), d.f.Name())
	defer f.Close()
	names, err := f.Readdirnames(max)
	if len(names) > 0 {
		err = nil
	}
	return names, err
}

// copyMeta gives f the owner, mode and extended attributes of the file called name
// that info describes.
func (d *dir) copyMeta(f *os.File, name string, info fs.FileInfo) (warnings []string) {
	mode := info.Mode().Perm() | info.Mode()&fs.ModeSticky
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok {
		var own syscall.Stat_t
		if err := syscall.Fstat(int(f.Fd()), &own); err == nil && (own.Uid != st.Uid || own.Gid != st.Gid) {
			if f.Chown(int(st.Uid), int(st.Gid)) != nil {
				_ = f.Chown(-1, int(st.Gid))
				warnings = append(warnings, fmt.Sprintf("the owner %d:%d could not be kept", st.Uid, st.Gid))
			}
		}
	}
	if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		// A write by the kernel's own rules takes these bits away.
		warnings = append(warnings, "the set-user-id and set-group-id bits were dropped")
	}
	if err := f.Chmod(mode); err != nil {
		warnings = append(warnings, fmt.Sprintf("the mode %v could not be kept: %v", mode, err))
	}
	src, err := d.open(name, os.O_RDONLY, 0)
	if err != nil {
		return append(warnings, "the extended attributes could not be kept")
	}
	defer src.Close()
	return append(warnings, copyXattrs(int(f.Fd()), int(src.Fd()))...)
}

func linkCount(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// syncFile flushes f. File systems that know no flush are not an error.
func syncFile(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

// renameRefused tells a file system that cannot rename here from one that is full or broken.
func renameRefused(err error) bool {
	for _, e := range []error{unix.EXDEV, unix.EBUSY, unix.EPERM, unix.EACCES, unix.EINVAL, unix.ENOTSUP, unix.ENOSYS, unix.ETXTBSY} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
