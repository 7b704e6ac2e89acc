package lspclient

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
)

// documents are the files that the server has open.
type documents struct {
	mu    sync.Mutex
	order list.List // of *document, the last used first
	open  map[string]*list.Element
	// version is the highest one given to any file: a file that is opened again must
	// not repeat one, or old diagnostics would count as its own.
	version int
}

type document struct {
	path, language string
	version        int
	content        string
	text           *Text
	info           fs.FileInfo
}

func (d *documents) init() { d.open = map[string]*list.Element{} }

// Document is a file as the server knows it now.
type Document struct {
	URI     string
	Text    *Text
	Version int
	// Changed: the server was told of a new content just now.
	Changed bool
	mark    uint64
}

// ReadFile reads a file that may be shown to a server: regular, of at most
// [MaxFileBytes]. What is not UTF-8 in it is replaced.
func ReadFile(path string) (string, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, err
	}
	if !info.Mode().IsRegular() {
		return "", nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return "", nil, err
	}
	if len(data) > MaxFileBytes {
		return "", nil, fmt.Errorf("%s has more than %d MB, and larger files are not shown to language servers", path, MaxFileBytes>>20)
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), info, nil
}

// Sync makes sure that the server has a file open with the content that it has on
// disk, and that the other files that it has open are not outdated.
func (s *Server) Sync(path, language string) (Document, error) {
	s.docs.mu.Lock()
	defer s.docs.mu.Unlock()
	if err := s.refresh(path); err != nil {
		return Document{}, err
	}
	content, info, err := ReadFile(path)
	if err != nil {
		return Document{}, fmt.Errorf("reading the file for %s: %w", s.cfg.Name, err)
	}
	mark := s.diags.expect(path)
	doc, changed, err := s.show(path, language, content, info)
	if err != nil {
		return Document{}, err
	}
	return Document{URI: URIOf(path), Text: doc.text, Version: doc.version, Changed: changed, mark: mark}, nil
}

// show opens a file or changes it.
func (s *Server) show(path, language, content string, info fs.FileInfo) (*document, bool, error) {
	if el, ok := s.docs.open[path]; ok {
		s.docs.order.MoveToFront(el)
		doc := el.Value.(*document)
		doc.info = info
		if doc.content == content {
			return doc, false, nil
		}
		return doc, true, s.change(doc, content)
	}
	for s.docs.order.Len() >= MaxOpenFiles {
		if err := s.shut(s.docs.order.Back()); err != nil {
			return nil, false, err
		}
	}
	s.docs.version++
	doc := &document{path: path, language: language, version: s.docs.version, content: content, text: NewText(content), info: info}
	s.docs.open[path] = s.docs.order.PushFront(doc)
	return doc, true, s.conn.notify("textDocument/didOpen", map[string]any{
		"textDocument": map[string]any{"uri": URIOf(path), "languageId": language, "version": doc.version, "text": content},
	})
}

// change sends the whole new content of an open file. It is on disk, so it counts as
// saved too.
func (s *Server) change(doc *document, content string) error {
	s.docs.version++
	doc.version, doc.content, doc.text = s.docs.version, content, NewText(content)
	id := map[string]any{"uri": URIOf(doc.path)}
	return errors.Join(s.conn.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": URIOf(doc.path), "version": doc.version},
		"contentChanges": []any{map[string]any{"text": content}},
	}), s.conn.notify("textDocument/didSave", map[string]any{"textDocument": id}))
}

func (s *Server) shut(el *list.Element) error {
	doc := s.docs.order.Remove(el).(*document)
	delete(s.docs.open, doc.path)
	return s.conn.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": URIOf(doc.path)}})
}

// refresh tells the server of open files that changed on disk, but for one.
func (s *Server) refresh(but string) error {
	var next *list.Element
	for el := s.docs.order.Front(); el != nil; el = next {
		next = el.Next()
		doc := el.Value.(*document)
		if doc.path == but {
			continue
		}
		info, err := os.Stat(doc.path)
		if err == nil && os.SameFile(info, doc.info) && info.Size() == doc.info.Size() && info.ModTime().Equal(doc.info.ModTime()) {
			continue
		}
		content, info, err := ReadFile(doc.path)
		if err != nil {
			if err := s.shut(el); err != nil {
				return err
			}
			continue
		}
		if content != doc.content {
			if err := s.change(doc, content); err != nil {
				return err
			}
		}
		doc.info = info
	}
	return nil
}

// FileChange is how a file changed, in the numbers of the protocol.
type FileChange int

// The kinds of changes.
const (
	Created FileChange = 1
	Changed FileChange = 2
	Deleted FileChange = 3
)

// FilesChanged tells the server of files that changed on disk.
func (s *Server) FilesChanged(changes map[string]FileChange) error {
	if len(changes) == 0 {
		return nil
	}
	events := make([]any, 0, len(changes))
	for path, kind := range changes {
		events = append(events, map[string]any{"uri": URIOf(path), "type": kind})
	}
	return s.conn.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": events})
}

// Known gives the diagnostics that the server sent last of a file; ok is false if it
// never sent any.
func (s *Server) Known(path string) (out []Diagnostic, ok bool) {
	f, _, _ := s.diags.latest(path, Document{})
	return f.list, f.count > 0
}

// Diagnostics waits until the server has sent diagnostics for what Sync showed it,
// at most until ctx is done, and gives the latest. Since servers send them in several
// steps, they count as complete when no more have come for a while: see [Quiet]. fresh is
// false if nothing has come for this content.
func (s *Server) Diagnostics(ctx context.Context, path string, doc Document, quiet Quiet) (out []Diagnostic, fresh bool) {
	return s.diags.wait(ctx, s.conn.done, path, doc, quiet)
}
