package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// tempPrefix begins the names of files that are being written.
const tempPrefix = ".new-"

func (h *History) blobPath(sum [sha256.Size]byte) string {
	return filepath.Join(h.blobsPath(), hex.EncodeToString(sum[:]))
}

// capture looks at a file. With keep, its content goes into the store, if it may.
func (h *History) capture(path string, keep bool) (image, error) {
	img, data, err := look(path, h.limits.file)
	if err != nil {
		return img, err
	}
	if was, ok := h.known[path]; ok && img.notKept != notRegular && was != img.State {
		img.foreign = true
	}
	if !img.Exists && img.kept() {
		img.made = missingParent(path)
	}
	if img.Exists && img.kept() && keep {
		if err := h.saveBlob(img.State, data); err != nil {
			return img, err
		}
	}
	return img, nil
}

// notRegular says why a link, folder or device is not kept.
const notRegular = "it was not a regular file"

// look reads the state of a path, and its content where that is of at most limit
// bytes. Links are not followed. What is no regular file has Exists false and
// notKept set.
func look(path string, limit int64) (img image, data []byte, err error) {
	info, err := os.Lstat(path)
	if absent(err) {
		return image{}, nil, nil
	}
	if err != nil {
		return image{}, nil, err
	}
	if !info.Mode().IsRegular() {
		return image{notKept: notRegular}, nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return image{}, nil, err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return image{}, nil, fmt.Errorf("%s was exchanged while it was read", path)
	}
	img = image{mode: info.Mode().Perm(), links: linkCount(info)}
	if img.links == 1 {
		img.links = 0
	}
	sum := sha256.New()
	var content bytes.Buffer
	n, err := io.Copy(io.MultiWriter(sum, &content), io.LimitReader(f, limit))
	if err != nil {
		return image{}, nil, err
	}
	more, err := io.Copy(sum, f)
	if err != nil {
		return image{}, nil, err
	}
	img.State = State{Exists: true, Size: n + more}
	sum.Sum(img.SHA256[:0])
	if more > 0 {
		img.notKept = fmt.Sprintf("it had %d bytes, and only files of up to %d are kept", img.Size, limit)
		return img, nil, nil
	}
	return img, content.Bytes(), nil
}

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// missingParent is the topmost folder above a path that does not exist.
func missingParent(path string) string {
	made := ""
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !absent(err) || dir == filepath.Dir(dir) {
			return made
		}
		made = dir
	}
}

// saveBlob stores a content under its hash. It is on disk when saveBlob returns.
func (h *History) saveBlob(s State, data []byte) error {
	path := h.blobPath(s.SHA256)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == s.Size {
		return nil
	}
	return h.writeWhole(path, data)
}

// loadBlob reads a content back, and checks that it is still the same.
func (h *History) loadBlob(s State) ([]byte, error) {
	data, err := os.ReadFile(h.blobPath(s.SHA256))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the kept content is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("the kept content cannot be read: %w", err)
	}
	if StateOf(data) != s {
		return nil, errors.New("the kept content is damaged")
	}
	return data, nil
}

// sweep removes contents that nothing refers to. Failures leave garbage only.
func (h *History) sweep() {
	entries, err := os.ReadDir(h.blobsPath())
	if err != nil {
		return
	}
	needed := map[string]bool{}
	for _, p := range h.points {
		for _, img := range p.images {
			if img.Exists && img.kept() {
				needed[hex.EncodeToString(img.SHA256[:])] = true
			}
		}
	}
	for _, e := range entries {
		if !needed[e.Name()] {
			_ = os.Remove(filepath.Join(h.blobsPath(), e.Name()))
		}
	}
	if left, err := filepath.Glob(filepath.Join(strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(h.dir), tempPrefix+"*")); err == nil {
		for _, path := range left {
			_ = os.Remove(path)
		}
	}
}

// writeWhole writes a private file of the history so that a crash leaves the old
// one or the new one.
func (h *History) writeWhole(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix+"*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = h.sync(f)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		h.syncDir(filepath.Dir(path))
	}
	return err
}

// syncDir makes a rename durable where the system can.
func (h *History) syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = h.sync(d)
		d.Close()
	}
}
