package tool

import (
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// MaxFileState is how many files a conversation remembers having read; the one
// that was not used for the longest time is forgotten first.
const MaxFileState = 1000

// FileView is what a conversation knows of a file: the content it saw last.
type FileView struct {
	Hash    [sha256.Size]byte // of the whole content
	Size    int64
	ModTime time.Time
	// Partial: only a part was shown. Offset and Limit are the lines asked for
	// (Offset from 1; 0 means from the start, and Limit 0 to the end).
	Partial       bool
	Offset, Limit int
	// Written: the view comes from the conversation's own write.
	Written bool
}

// FileState remembers which files a conversation has read, by absolute real
// path. It is safe for concurrent use; the zero value is ready.
type FileState struct {
	mu    sync.Mutex
	order list.List // of *fileEntry, most recent first
	byKey map[string]*list.Element
}

type fileEntry struct {
	path string
	view FileView
}

// Get returns what is known of a file.
func (s *FileState) Get(path string) (FileView, bool) {
	if s == nil {
		return FileView{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	el, ok := s.byKey[path]
	if !ok {
		return FileView{}, false
	}
	s.order.MoveToFront(el)
	return el.Value.(*fileEntry).view, true
}

// Put records what was seen of a file.
func (s *FileState) Put(path string, v FileView) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = map[string]*list.Element{}
	}
	if el, ok := s.byKey[path]; ok {
		el.Value.(*fileEntry).view = v
		s.order.MoveToFront(el)
		return
	}
	s.byKey[path] = s.order.PushFront(&fileEntry{path, v})
	if s.order.Len() > MaxFileState {
		last := s.order.Back()
		s.order.Remove(last)
		delete(s.byKey, last.Value.(*fileEntry).path)
	}
}

// Forget drops what is known of a file.
func (s *FileState) Forget(path string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if el, ok := s.byKey[path]; ok {
		s.order.Remove(el)
		delete(s.byKey, path)
	}
}

// Paths lists the remembered files, the most recent first.
func (s *FileState) Paths() []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]string, 0, s.order.Len())
	for el := s.order.Front(); el != nil; el = el.Next() {
		out = append(out, el.Value.(*fileEntry).path)
	}
	return out
}

type wireView struct {
	Path    string    `json:"path"`
	Hash    string    `json:"hash"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"mod_time"`
	Partial bool      `json:"partial,omitempty"`
	Offset  int       `json:"offset,omitempty"`
	Limit   int       `json:"limit,omitempty"`
	Written bool      `json:"written,omitempty"`
}

// MarshalJSON writes the state so that a resumed conversation still knows what
// it has read.
func (s *FileState) MarshalJSON() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]wireView, 0, s.order.Len())
	for el := s.order.Back(); el != nil; el = el.Prev() {
		e := el.Value.(*fileEntry)
		out = append(out, wireView{e.path, hex.EncodeToString(e.view.Hash[:]), e.view.Size, e.view.ModTime,
			e.view.Partial, e.view.Offset, e.view.Limit, e.view.Written})
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote, and adds it to the state.
func (s *FileState) UnmarshalJSON(data []byte) error {
	var in []wireView
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	for _, w := range in {
		raw, err := hex.DecodeString(w.Hash)
		if err != nil || len(raw) != sha256.Size {
			return fmt.Errorf("file state of %s: the hash is not %d hex digits", w.Path, 2*sha256.Size)
		}
		s.Put(w.Path, FileView{Hash: [sha256.Size]byte(raw), Size: w.Size, ModTime: w.ModTime,
			Partial: w.Partial, Offset: w.Offset, Limit: w.Limit, Written: w.Written})
	}
	return nil
}
