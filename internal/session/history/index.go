package history

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"
)

// Version of the index format.
const Version = 1

const (
	// compactBytes is how far the index grows before it is written anew without
	// what is no longer needed.
	compactBytes = 8 << 20
	// maxIndexBytes bounds an index that is read.
	maxIndexBytes = 256 << 20
)

// Types of records.
const (
	recHeader = "history"
	recMark   = "mark"
	recBefore = "before"
	recAfter  = "after"
)

// record is one line of the index.
type record struct {
	T       string    `json:"t"`
	Version int       `json:"version,omitempty"`
	N       int       `json:"n,omitempty"`
	ID      string    `json:"id,omitempty"`
	Title   string    `json:"title,omitempty"`
	Kind    Kind      `json:"kind,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	Path    string    `json:"path,omitempty"`
	RawPath []byte    `json:"raw_path,omitempty"` // for a path that is not UTF-8
	Exists  bool      `json:"exists,omitempty"`
	Hash    string    `json:"sha256,omitempty"`
	Size    int64     `json:"size,omitempty"`
	Mode    uint32    `json:"mode,omitempty"`
	Links   uint64    `json:"links,omitempty"`
	NotKept string    `json:"not_kept,omitempty"`
	Made    string    `json:"made,omitempty"`
	Foreign bool      `json:"foreign,omitempty"`
}

func recordOf(t, path string, i image) record {
	r := record{T: t, Time: time.Now().UTC(), Exists: i.Exists, Size: i.Size, Mode: uint32(i.mode.Perm()), Links: i.links, NotKept: i.notKept, Made: i.made, Foreign: i.foreign}
	if i.Exists {
		r.Hash = hex.EncodeToString(i.SHA256[:])
	}
	if utf8.ValidString(path) {
		r.Path = path
	} else {
		r.RawPath = []byte(path)
	}
	return r
}

func (r record) path() string {
	if r.Path == "" {
		return string(r.RawPath)
	}
	return r.Path
}

func (r record) image() (image, error) {
	i := image{State: State{Exists: r.Exists, Size: r.Size}, mode: fs.FileMode(r.Mode).Perm(), links: r.Links, notKept: r.NotKept, made: r.Made, foreign: r.Foreign}
	if !r.Exists {
		return i, nil
	}
	sum, err := hex.DecodeString(r.Hash)
	if err != nil || len(sum) != len(i.SHA256) {
		return i, fmt.Errorf("sha256 is not %d hex digits", 2*len(i.SHA256))
	}
	copy(i.SHA256[:], sum)
	return i, nil
}

// apply brings one record into memory. Reading an index and writing it go the same
// way, so that what is read back is what was written.
func (h *History) apply(r record) error {
	switch r.T {
	case recHeader:
		if r.Version > Version {
			return fmt.Errorf("%w (format %d; this one reads up to %d)", errNewer, r.Version, Version)
		}
	case recMark:
		if r.N <= h.last {
			return fmt.Errorf("checkpoint %d after %d", r.N, h.last)
		}
		h.last = r.N
		h.points = append(h.points, &point{Checkpoint{N: r.N, ID: r.ID, Title: r.Title, Kind: r.Kind, Time: r.Time}, map[string]image{}})
	case recBefore, recAfter:
		img, err := r.image()
		if err != nil {
			return err
		}
		path := r.path()
		if !filepath.IsAbs(path) {
			return fmt.Errorf("%q is not an absolute path", path)
		}
		h.known[path] = img.State
		if r.T == recBefore && len(h.points) > 0 {
			images := h.points[len(h.points)-1].images
			if _, have := images[path]; !have {
				images[path] = img
			}
		}
	}
	return nil
}

var errNewer = errors.New("the file history was written by a newer version")

func (h *History) indexPath() string { return filepath.Join(h.dir, "index.jsonl") }
func (h *History) blobsPath() string { return filepath.Join(h.dir, "blobs") }

// openFiles makes the folder where there is none, and reads what is in it.
func (h *History) openFiles() error {
	if h.index != nil {
		return h.err
	}
	fail := func(err error) error { return fmt.Errorf("opening the file history: %w", err) }
	if err := os.MkdirAll(h.blobsPath(), 0o700); err != nil {
		return fail(err)
	}
	if h.lock == nil {
		lock, err := lockFile(filepath.Join(h.dir, "lock"))
		if err != nil {
			return fail(err)
		}
		h.lock = lock
	}
	f, err := os.OpenFile(h.indexPath(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fail(err)
	}
	// What was marked before the folder was there comes after what is in it now:
	// another process may have been at work meanwhile.
	pending := h.pending
	h.index, h.points, h.known, h.last = f, nil, map[string]State{}, 0
	if err = h.read(); err == nil && h.size == 0 {
		err = h.append(false, record{T: recHeader, Version: Version})
	}
	for _, r := range pending {
		if err == nil {
			r.N = h.last + 1
			err = h.append(false, r)
		}
	}
	if err != nil {
		f.Close()
		h.index = nil
		return fail(err)
	}
	h.pending = nil
	return nil
}

// read loads the index. What comes before a damaged line is not to be trusted as
// complete, so its checkpoints are dropped; those after it are.
func (h *History) read() error {
	info, err := h.index.Stat()
	if err != nil {
		return err
	}
	if info.Size() > maxIndexBytes {
		return fmt.Errorf("%s has %d bytes; at most %d are read", h.indexPath(), info.Size(), maxIndexBytes)
	}
	data := make([]byte, info.Size())
	if _, err := h.index.ReadAt(data, 0); err != nil {
		return err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	for line := range bytes.Lines(data[:whole]) {
		var r record
		err := json.Unmarshal(line, &r)
		if err == nil {
			err = h.apply(r)
		}
		if errors.Is(err, errNewer) {
			return err
		}
		if err != nil {
			h.points, h.known = nil, map[string]State{}
		}
	}
	if whole < len(data) {
		if err := h.index.Truncate(int64(whole)); err != nil {
			return err
		}
	}
	h.size, h.floor = int64(whole), 0
	h.trim()
	h.sweep()
	if h.size > h.limits.index {
		return h.compact()
	}
	return nil
}

// append writes records and brings them into memory.
func (h *History) append(sync bool, rs ...record) error {
	if err := h.write(sync, rs); err != nil {
		return err
	}
	for _, r := range rs {
		if err := h.apply(r); err != nil {
			return fmt.Errorf("file history: %w", err)
		}
	}
	return nil
}

// write adds whole lines to the index, or nothing.
func (h *History) write(sync bool, rs []record) error {
	if h.err != nil || len(rs) == 0 {
		return h.err
	}
	data, err := encode(rs)
	if err != nil {
		return err
	}
	_, err = h.index.WriteAt(data, h.size)
	if err == nil && sync {
		err = h.sync(h.index)
	}
	if err != nil {
		err = fmt.Errorf("writing the file history: %w", err)
		if cut := h.index.Truncate(h.size); cut != nil {
			h.err = errors.Join(err, cut) // a torn line may stand in the middle
		}
		return err
	}
	h.size += int64(len(data))
	return nil
}

func encode(rs []record) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, r := range rs {
		if err := enc.Encode(r); err != nil {
			return nil, fmt.Errorf("encoding the file history: %w", err)
		}
	}
	return b.Bytes(), nil
}

// tidy makes room, and writes the index anew when it has grown.
func (h *History) tidy() error {
	if h.hold {
		return nil
	}
	for _, p := range h.trim() {
		for _, img := range p.images {
			if img.Exists && img.kept() && !h.refers(img.State) {
				_ = os.Remove(h.blobPath(img.SHA256)) // what stays is swept by the next Open
			}
		}
	}
	if h.size-h.floor > h.limits.index {
		return h.compact()
	}
	return nil
}

// trim drops the oldest checkpoints, in memory, until the limits hold. The last one
// always stays.
func (h *History) trim() (dropped []*point) {
	count := map[State]int{}
	var total int64
	for _, p := range h.points {
		for _, img := range p.images {
			if img.kept() {
				if count[img.State]++; count[img.State] == 1 {
					total += img.Size
				}
			}
		}
	}
	for len(h.points) > 1 && (len(h.points) > h.limits.points || total > h.limits.total) {
		p := h.points[0]
		for _, img := range p.images {
			if img.kept() {
				if count[img.State]--; count[img.State] == 0 {
					total -= img.Size
				}
			}
		}
		h.points, dropped = h.points[1:], append(dropped, p)
	}
	return dropped
}

// refers tells whether any checkpoint needs a content.
func (h *History) refers(s State) bool {
	for _, p := range h.points {
		for _, img := range p.images {
			if img.State == s && img.kept() {
				return true
			}
		}
	}
	return false
}

// compact writes the index anew, with what is needed only.
func (h *History) compact() error {
	rs := []record{{T: recHeader, Version: Version}}
	needed := map[string]bool{}
	for _, p := range h.points {
		rs = append(rs, record{T: recMark, N: p.N, ID: p.ID, Title: p.Title, Kind: p.Kind, Time: p.Time})
		for path, img := range p.images {
			rs = append(rs, recordOf(recBefore, path, img))
			needed[path] = true
		}
	}
	for path := range h.known {
		if !needed[path] {
			delete(h.known, path)
			continue
		}
		rs = append(rs, recordOf(recAfter, path, image{State: h.known[path]}))
	}
	data, err := encode(rs)
	if err != nil {
		return err
	}
	if err := h.writeWhole(h.indexPath(), data); err != nil {
		return fmt.Errorf("making the file history smaller: %w", err)
	}
	f, err := os.OpenFile(h.indexPath(), os.O_RDWR, 0o600)
	if err != nil {
		h.err = fmt.Errorf("opening the file history again: %w", err)
		return h.err
	}
	h.index.Close()
	h.index, h.size, h.floor = f, int64(len(data)), int64(len(data))
	return nil
}
