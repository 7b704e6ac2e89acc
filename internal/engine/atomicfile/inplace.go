package atomicfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// inPlace overwrites the target after its old content was copied beside it.
//
// The target is first overwritten and then cut to length, never cut first, so that
// at every moment it holds a beginning of the new content followed by old content.
func (w *writer) inPlace(data []byte) error {
	w.out.Warnings = nil // those of an attempt to rename do not hold here
	bak := backupName(w.base, w.old, data)
	if err := w.putBackup(bak); err != nil {
		return fmt.Errorf("copy the old content of %s beside it: %w", w.real, err)
	}
	if err := w.opt.step("backup-synced"); err != nil {
		w.dir.remove(bak)
		return err
	}
	f, err := w.dir.open(w.base, os.O_WRONLY, 0)
	if err != nil {
		w.dir.remove(bak)
		return fmt.Errorf("open %s for writing: %w", w.real, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !os.SameFile(info, w.info) {
		w.dir.remove(bak)
		return fmt.Errorf("write %s: another file was put in its place meanwhile: %w", w.real, ErrMoved)
	}
	err = w.overwrite(f, data)
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		w.dir.remove(bak)
		w.out.InPlace = true
		// The new content is safe already; a directory that cannot be flushed only brings the copy back.
		_ = w.dir.sync()
		return w.opt.step("backup-removed")
	}
	if back := w.restore(); back != nil {
		return fmt.Errorf("write %s in place: %w; putting the old content back failed too (%v): the old content is in %s",
			w.real, err, back, filepath.Join(filepath.Dir(w.real), bak))
	}
	w.dir.remove(bak)
	return fmt.Errorf("write %s in place (the old content was put back): %w", w.real, err)
}

func (w *writer) putBackup(name string) error {
	f, err := w.dir.open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := f.Write(w.old)
	if err == nil && n < len(w.old) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = w.opt.step("backup-written")
	}
	if err == nil {
		err = syncFile(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = w.dir.sync()
	}
	if err != nil {
		w.dir.remove(name)
	}
	return err
}

func (w *writer) overwrite(f *os.File, data []byte) error {
	const piece = 1 << 20
	for off := 0; off < len(data); {
		n, err := f.WriteAt(data[off:min(off+piece, len(data))], int64(off))
		if err != nil {
			return err
		}
		off += n
		if err := w.opt.step("in-place-piece"); err != nil {
			return err
		}
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		return err
	}
	if err := w.opt.step("in-place-cut"); err != nil {
		return err
	}
	if err := syncFile(f); err != nil {
		return err
	}
	return w.opt.step("in-place-synced")
}

func (w *writer) restore() error {
	f, err := w.dir.open(w.base, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(w.old, 0)
	if err == nil {
		err = f.Truncate(int64(len(w.old)))
	}
	if err == nil {
		err = syncFile(f)
	}
	return errors.Join(err, f.Close())
}

// createDirect writes a new file where a rename is refused. There is no old content
// that a kill in the middle could harm.
func (w *writer) createDirect(data []byte) error {
	f, err := w.dir.open(w.base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return &ConflictError{Path: w.real, Got: Fingerprint{Exists: true}}
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", w.real, err)
	}
	err = w.fill(f, data)
	if err == nil {
		err = syncFile(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		w.dir.remove(w.base)
		return fmt.Errorf("write the new file %s (it was removed again): %w", w.real, err)
	}
	w.out.InPlace = true
	return w.dir.sync()
}

// Names of the package's own files. They do not contain the target's name, which may
// already be as long as a file system allows, but a short digest of it.
const (
	tempPrefix   = ".sevengate-tmp-"
	backupPrefix = ".sevengate-bak-"
	digestChars  = 16
)

// maxSweep is how many directory entries are looked at for leftovers.
const maxSweep = 20_000

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:digestChars/2])
}

func tempName(base string) string {
	return tempPrefix + digest([]byte(base)) + "-" + randomHex()
}

func backupName(base string, old, new []byte) string {
	return backupPrefix + digest([]byte(base)) + "-" + digest(old) + "-" + digest(new) + "-" + randomHex()
}
