package atomicfile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func randomHex() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// IsLeftover reports whether name is one that this package gives to its temporary
// files and backups. Programs that list files may leave such names out.
func IsLeftover(name string) bool {
	return strings.HasPrefix(name, tempPrefix) || strings.HasPrefix(name, backupPrefix)
}

// sweep removes what killed writers left in the directory and notes the backups of
// this file that still matter. It is a courtesy: it never fails a replacement.
func (w *writer) sweep() {
	names, err := w.dir.names(maxSweep)
	if err != nil {
		return
	}
	mine := backupPrefix + digest([]byte(w.base)) + "-"
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, tempPrefix):
			if info, err := w.dir.lstat(name); err == nil && info.Mode().IsRegular() {
				w.dir.remove(name)
			}
		case strings.HasPrefix(name, mine):
			if w.dir.backupMatters(name, w.base) {
				w.out.Backups = append(w.out.Backups, filepath.Join(filepath.Dir(w.real), name))
			} else {
				w.dir.remove(name)
			}
		}
	}
}

// backupMatters reports whether the backup holds content that the file does not:
// neither was the in-place write not begun nor was it completed.
func (d *dir) backupMatters(name, base string) bool {
	parts := strings.Split(strings.TrimPrefix(name, backupPrefix), "-")
	if len(parts) != 4 {
		return true
	}
	bak, err := d.content(name)
	if err != nil {
		return true
	}
	if digest(bak) != parts[1] {
		return false // the copy itself was cut short, so the file was not touched yet
	}
	cur, err := d.content(base)
	if err != nil {
		return true
	}
	now := digest(cur)
	return now != parts[1] && now != parts[2]
}

func (d *dir) content(name string) ([]byte, error) {
	f, err := d.open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	return readAll(f, info.Size())
}

// Interrupted returns the paths of backups beside the file at path whose in-place
// write was killed midway, so that the file may be a mixture and the backup holds
// its old content. It is empty in all ordinary cases. It changes nothing.
func Interrupted(path string) ([]string, error) {
	real, err := Resolve(path)
	if err != nil {
		return nil, err
	}
	d, err := openDir(filepath.Dir(real), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for interrupted writes of %s: %w", path, err)
	}
	defer d.close()
	names, err := d.names(maxSweep)
	if err != nil {
		return nil, fmt.Errorf("look for interrupted writes of %s: %w", path, err)
	}
	base := filepath.Base(real)
	var out []string
	for _, name := range names {
		if strings.HasPrefix(name, backupPrefix+digest([]byte(base))+"-") && d.backupMatters(name, base) {
			out = append(out, filepath.Join(filepath.Dir(real), name))
		}
	}
	return out, nil
}
