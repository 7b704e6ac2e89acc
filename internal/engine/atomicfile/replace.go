package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// pathLocks orders the writers of one process. It is the one shared variable of the
// package because what it guards, the file system, is shared by the whole process.
var pathLocks keyedLock

// Replace makes data the content of the file at path and returns what it did. On an
// error the file has its old content, unless the error says otherwise. Safe for
// concurrent use, also by several processes that use this package.
func Replace(ctx context.Context, path string, data []byte, opt Options) (Outcome, error) {
	return Update(ctx, path, opt, func([]byte, bool) ([]byte, error) { return data, nil })
}

// Update replaces the content of the file at path by what change makes of it, while
// no other user of this package can write it. change gets the present content (nil
// and false if there is no file) and must not keep or modify it; its error is
// returned as it is, and nothing is written. Otherwise it is like [Replace].
func Update(ctx context.Context, path string, opt Options, change func(old []byte, exists bool) ([]byte, error)) (Outcome, error) {
	real, err := Resolve(path)
	if err != nil {
		return Outcome{}, err
	}
	if opt.ResolvedMustBe != "" && real != filepath.Clean(opt.ResolvedMustBe) {
		return Outcome{}, fmt.Errorf("write %s: it leads to %s now, but %s was checked: %w", path, real, opt.ResolvedMustBe, ErrMoved)
	}
	if err := opt.step("resolved"); err != nil {
		return Outcome{}, err
	}
	wait, cancel := context.WithTimeoutCause(ctx, LockWait, ErrBusy)
	defer cancel()
	unlock, err := pathLocks.lock(wait, real)
	if err != nil {
		return Outcome{}, fmt.Errorf("lock %s: %w", real, err)
	}
	defer unlock()

	d, err := openDir(filepath.Dir(real), !opt.NoParents)
	if err != nil {
		return Outcome{}, fmt.Errorf("open the directory of %s: %w", real, err)
	}
	defer d.close()
	locked, err := d.lock(wait)
	if err != nil {
		return Outcome{}, fmt.Errorf("lock the directory of %s: %w", real, err)
	}
	w := &writer{ctx: ctx, dir: d, real: real, base: filepath.Base(real), opt: opt}
	w.out.Path = real
	if locked { // nobody alive owns a temporary file here
		w.sweep()
	}
	if err := w.load(); err != nil {
		return Outcome{}, err
	}
	data, err := change(w.old, w.exists)
	if err != nil {
		return Outcome{}, err
	}
	if err := w.write(data); err != nil {
		return Outcome{}, err
	}
	return w.out, nil
}

// writer is one replacement under way. Its directory is locked.
type writer struct {
	ctx    context.Context
	dir    *dir
	real   string
	base   string
	opt    Options
	out    Outcome
	exists bool
	info   fs.FileInfo // of the present file, if it exists
	old    []byte      // its content
}

// load looks at the present file, refuses what may not be written, and compares.
func (w *writer) load() error {
	var got Fingerprint
	info, err := w.dir.lstat(w.base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("look at %s: %w", w.real, err)
	default:
		if err := refuseKind(w.real, info); err != nil {
			return err
		}
		if info.Mode().Perm()&0o222 == 0 || !w.dir.writable(w.base) {
			return fmt.Errorf("write %s: its mode %v gives no right to write; change the mode first if it is meant to be edited: %w", w.real, info.Mode().Perm(), ErrReadOnly)
		}
		f, err := w.dir.open(w.base, os.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("read the present %s: %w", w.real, err)
		}
		defer f.Close()
		if w.info, err = f.Stat(); err != nil {
			return fmt.Errorf("look at %s: %w", w.real, err)
		}
		if err := refuseKind(w.real, w.info); err != nil {
			return err
		}
		if w.old, err = readAll(f, w.info.Size()); err != nil {
			return fmt.Errorf("read the present %s: %w", w.real, err)
		}
		w.exists = true
		got = FingerprintOf(w.old, w.info.ModTime())
	}
	w.out.Created = !w.exists
	if w.opt.Expect != nil && !w.opt.Expect.SameContent(got) {
		return &ConflictError{Path: w.real, Want: *w.opt.Expect, Got: got}
	}
	return w.opt.step("compared")
}

func (w *writer) write(data []byte) error {
	if err := w.ctx.Err(); err != nil {
		return fmt.Errorf("write %s: %w", w.real, err)
	}
	var err error
	if w.exists && linkCount(w.info) > 1 {
		err = w.inPlace(data)
	} else {
		err = w.swap(data)
	}
	if err != nil {
		return err
	}
	w.out.Fingerprint = FingerprintOf(data, time.Time{})
	if info, err := w.dir.lstat(w.base); err == nil {
		w.out.Fingerprint.ModTime = info.ModTime()
	}
	return nil
}

// swap writes a temporary file and renames it over the target.
func (w *writer) swap(data []byte) (err error) {
	tmp := tempName(w.base)
	perm := fs.FileMode(0o600)
	if !w.exists {
		perm = 0o666 // the kernel takes the umask and default ACLs off, which nobody else can do without a race
	}
	f, err := w.dir.open(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return fmt.Errorf("create a temporary file beside %s: %w", w.real, err)
	}
	renamed := false
	defer func() {
		f.Close()
		if !renamed {
			w.dir.remove(tmp)
		}
	}()
	if err := w.opt.step("temp-created"); err != nil {
		return err
	}
	if err := w.fill(f, data); err != nil {
		return fmt.Errorf("write a temporary file beside %s: %w", w.real, err)
	}
	if w.exists {
		w.out.Warnings = append(w.out.Warnings, w.dir.copyMeta(f, w.base, w.info)...)
		if err := w.opt.step("meta"); err != nil {
			return err
		}
	}
	if err := syncFile(f); err != nil {
		return fmt.Errorf("flush a temporary file beside %s: %w", w.real, err)
	}
	if err := w.opt.step("temp-synced"); err != nil {
		return err
	}
	if err := f.Close(); err != nil { // network file systems report a failed write here
		return fmt.Errorf("close a temporary file beside %s: %w", w.real, err)
	}
	if err := w.unchanged(); err != nil {
		return err
	}
	err = w.opt.step("before-rename")
	if err == nil && w.exists {
		err = w.dir.rename(tmp, w.base)
	} else if err == nil {
		err = w.dir.renameNew(tmp, w.base)
	}
	switch {
	case err == nil:
		renamed = true
	case errors.Is(err, fs.ErrExist):
		return &ConflictError{Path: w.real, Got: Fingerprint{Exists: true}}
	case renameRefused(err) && w.exists:
		return w.inPlace(data)
	case renameRefused(err):
		return w.createDirect(data)
	default:
		return fmt.Errorf("put the new content of %s in its place: %w", w.real, err)
	}
	if err := w.opt.step("renamed"); err != nil {
		return err
	}
	if err := w.dir.sync(); err != nil {
		return fmt.Errorf("%s was replaced, but its directory could not be flushed (a power cut may bring the old content back): %w", w.real, err)
	}
	return w.opt.step("dir-synced")
}

// unchanged looks once more, just before the content becomes visible, whether
// somebody who does not take our locks touched the file meanwhile.
func (w *writer) unchanged() error {
	now, err := w.dir.lstat(w.base)
	if errors.Is(err, fs.ErrNotExist) {
		if w.exists {
			return &ConflictError{Path: w.real, Want: FingerprintOf(w.old, w.info.ModTime())}
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", w.real, err)
	}
	if err := refuseKind(w.real, now); err != nil {
		return err
	}
	if !w.exists {
		return &ConflictError{Path: w.real, Got: Fingerprint{Exists: true, Size: now.Size()}}
	}
	if !os.SameFile(now, w.info) || now.Size() != w.info.Size() || !now.ModTime().Equal(w.info.ModTime()) {
		f, err := w.dir.open(w.base, os.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("read the present %s: %w", w.real, err)
		}
		defer f.Close()
		cur, err := readAll(f, now.Size())
		if err != nil {
			return fmt.Errorf("read the present %s: %w", w.real, err)
		}
		was, is := FingerprintOf(w.old, w.info.ModTime()), FingerprintOf(cur, now.ModTime())
		if !was.SameContent(is) {
			return &ConflictError{Path: w.real, Want: was, Got: is}
		}
	}
	return nil
}

// fill writes all of data, in pieces, so that a cancelled context is noticed.
func (w *writer) fill(f *os.File, data []byte) error {
	const piece = 1 << 20
	for first := true; len(data) > 0; first = false {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		n, err := f.Write(data[:min(piece, len(data))])
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrShortWrite
		}
		data = data[n:]
		if first {
			if err := w.opt.step("first-piece"); err != nil {
				return err
			}
		}
	}
	return w.opt.step("written")
}

func refuseKind(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return fmt.Errorf("write %s: it is a directory; give the path of a file: %w", path, ErrNotRegular)
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("write %s: a symbolic link was put there after the path was checked: %w", path, ErrMoved)
	default:
		return fmt.Errorf("write %s: it is a device, pipe or socket; only regular files are written: %w", path, ErrNotRegular)
	}
}

// readAll reads f, which had size bytes when it was looked at.
func readAll(f *os.File, size int64) ([]byte, error) {
	buf := make([]byte, 0, size+1)
	for {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

// Read returns the content of the regular file at path and its fingerprint, taken of
// the same bytes. A file of more than limit bytes is refused with ErrTooLarge; limit
// zero or less means no limit. A missing file is an error that is fs.ErrNotExist.
func Read(path string, limit int64) ([]byte, Fingerprint, error) {
	real, err := Resolve(path)
	if err != nil {
		return nil, Fingerprint{}, err
	}
	d, err := openDir(filepath.Dir(real), false)
	if err != nil {
		return nil, Fingerprint{}, fmt.Errorf("read %s: %w", path, err)
	}
	defer d.close()
	f, err := d.open(filepath.Base(real), os.O_RDONLY, 0)
	if err != nil {
		return nil, Fingerprint{}, fmt.Errorf("read %s: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, Fingerprint{}, fmt.Errorf("read %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, Fingerprint{}, fmt.Errorf("read %s: a directory, device, pipe or socket has no content to read here: %w", path, ErrNotRegular)
	}
	if limit > 0 && info.Size() > limit {
		return nil, Fingerprint{}, fmt.Errorf("read %s: %d bytes, the limit is %d: %w", path, info.Size(), limit, ErrTooLarge)
	}
	data, err := readAll(f, info.Size())
	if err != nil {
		return nil, Fingerprint{}, fmt.Errorf("read %s: %w", path, err)
	}
	return data, FingerprintOf(data, info.ModTime()), nil
}
