// Package session keeps what a conversation leaves on disk: the append-only
// transcript, the call journal, the folder of large results, and the way back
// into a conversation that ended, cleanly or not.
//
// Layout, below the state folder: projects/<slug>/<id>.jsonl is the transcript,
// <id>.journal the record of calls that were about to run, <id>/ everything
// else of the session. Folders are private to the user (0700), files 0600.
//
// The package neither talks to models nor runs calls.
package session

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// Limits of what is read back.
const (
	// MaxLineBytes bounds one entry of a transcript.
	MaxLineBytes = 64 << 20
	// maxSlug bounds the readable part of a project's folder name.
	maxSlug = 80
	// maxTitle bounds the title in a list of sessions, in characters.
	maxTitle = 80
)

// Version of the transcript format.
const Version = 1

// ErrNotFound says that there is no such session.
var ErrNotFound = errors.New("no such session")

// Store is the part of the state folder that belongs to one project.
type Store struct{ dir string }

// NewStore gives the store of a project below the state folder home. Nothing
// is created before the first session.
func NewStore(home, project string) *Store {
	return &Store{filepath.Join(home, "projects", Slug(project))}
}

// Dir is the project's folder.
func (s *Store) Dir() string { return s.dir }

// Slug makes a folder name of a project's path: readable, and different for
// different paths.
func Slug(project string) string {
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, project)
	readable = strings.Trim(readable, "-.")
	if len(readable) > maxSlug {
		readable = readable[len(readable)-maxSlug:]
	}
	sum := sha256.Sum256([]byte(project))
	return readable + "-" + hex.EncodeToString(sum[:4])
}

// NewID makes a random identifier in the form of a UUID (version 4).
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// ValidID tells whether an id can name a session: it becomes a file name.
func ValidID(id string) bool {
	if id == "" || len(id) > 64 || id[0] == '.' || id[0] == '-' {
		return false
	}
	for _, r := range id {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_') {
			return false
		}
	}
	return true
}

// Entry is one line of a transcript.
type Entry struct {
	Type    string          `json:"type"` // session, message, context, files, end
	UUID    string          `json:"uuid,omitempty"`
	Time    time.Time       `json:"time"`
	AgentID string          `json:"agent_id,omitempty"`
	Message *tool.Message   `json:"message,omitempty"`
	Files   json.RawMessage `json:"files,omitempty"`
	Context *Context        `json:"context,omitempty"`
	Session *Header         `json:"session,omitempty"`
	Reason  string          `json:"reason,omitempty"` // end
}

// Types of entries.
const (
	TypeSession = "session"
	TypeMessage = "message"
	TypeContext = "context"
	TypeFiles   = "files"
	TypeEnd     = "end"
)

// Header is the first line of a transcript.
type Header struct {
	Version int    `json:"version"`
	ID      string `json:"id"`
	Cwd     string `json:"cwd"`
	Model   string `json:"model,omitempty"`
}

// Context is where a conversation stands.
type Context struct {
	Cwd   string   `json:"cwd"`
	Roots []string `json:"roots,omitempty"`
	Mode  string   `json:"mode,omitempty"`
}

// Session is an open transcript. It is safe for concurrent use.
type Session struct {
	id    string
	dir   string // the project's folder
	mu    sync.Mutex
	file  *os.File
	jour  *os.File
	err   error // the first failure to write
	clean bool
}

// Create starts a session. An id that exists is an error.
func (s *Store) Create(h Header) (*Session, error) {
	if !ValidID(h.ID) {
		return nil, fmt.Errorf("session id %q: it must be letters, digits, - and _ only", h.ID)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the project's folder: %w", err)
	}
	f, err := os.OpenFile(s.path(h.ID), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating the transcript: %w", err)
	}
	h.Version = Version
	out := &Session{id: h.ID, dir: s.dir, file: f}
	if err := out.Append(Entry{Type: TypeSession, Session: &h}); err != nil {
		f.Close()
		return nil, err
	}
	return out, nil
}

func (s *Store) path(id string) string { return filepath.Join(s.dir, id+".jsonl") }

// ID is the session's id.
func (s *Session) ID() string { return s.id }

// Path is the transcript's file.
func (s *Session) Path() string { return filepath.Join(s.dir, s.id+".jsonl") }

// Folder is where everything else of the session is kept; it may not exist.
func (s *Session) Folder() string { return filepath.Join(s.dir, s.id) }

// ResultsDir is where large results go.
func (s *Session) ResultsDir() string { return filepath.Join(s.Folder(), "tool-results") }

// Append writes one entry, whole. After a failure nothing more is written, and
// every call returns that failure: a transcript with a hole would be a lie.
func (s *Session) Append(e Entry) error {
	if e.Time.IsZero() {
		e.Time = time.Now().UTC()
	}
	if e.UUID == "" {
		e.UUID = NewID()
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line) // ends with a line feed
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return fmt.Errorf("encoding a transcript entry: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if _, err := s.file.Write(line.Bytes()); err != nil {
		s.err = fmt.Errorf("writing the transcript: %w", err)
	}
	s.clean = e.Type == TypeEnd
	return s.err
}

// AppendMessage writes a message of the conversation of an agent; the main one
// is the agent "".
func (s *Session) AppendMessage(agentID string, m tool.Message) error {
	return s.Append(Entry{Type: TypeMessage, AgentID: agentID, Message: &m})
}

// Close ends the session cleanly: it says why in the transcript and removes the
// journal, which nobody needs any more.
func (s *Session) Close(reason string) error {
	err := s.Append(Entry{Type: TypeEnd, Reason: reason})
	s.mu.Lock()
	defer s.mu.Unlock()
	if syncErr := s.file.Sync(); err == nil {
		err = syncErr
	}
	if closeErr := s.file.Close(); err == nil {
		err = closeErr
	}
	if s.jour != nil {
		s.jour.Close()
	}
	if err == nil {
		os.Remove(journalPath(s.dir, s.id)) // also that of the run before
	}
	return err
}

// Info is a session in a list.
type Info struct {
	ID       string
	Path     string
	Cwd      string
	Model    string
	Title    string // the start of the first prompt
	Started  time.Time
	Modified time.Time
	Messages int
	Clean    bool // it ended, and was not cut off
}

// List gives the project's sessions, the latest first. Transcripts that cannot
// be read are left out.
func (s *Store) List() ([]Info, error) {
	names, err := filepath.Glob(filepath.Join(globEscape(s.dir), "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	var out []Info
	for _, name := range names {
		if info, err := summary(name); err == nil {
			out = append(out, info)
		}
	}
	slices.SortFunc(out, func(a, b Info) int { return b.Modified.Compare(a.Modified) })
	return out, nil
}

// Prune removes the sessions that were not touched since a moment, with all
// that belongs to them. What cannot be removed is left for the next time.
func (s *Store) Prune(before time.Time) {
	names, err := filepath.Glob(filepath.Join(globEscape(s.dir), "*.jsonl"))
	if err != nil {
		return
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() || info.ModTime().After(before) {
			continue
		}
		base := strings.TrimSuffix(name, ".jsonl")
		if os.RemoveAll(base) == nil {
			os.Remove(base + ".journal")
			os.Remove(name)
		}
	}
}

func globEscape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

func summary(path string) (Info, error) {
	stat, err := os.Stat(path)
	if err != nil {
		return Info{}, err
	}
	info := Info{Path: path, ID: strings.TrimSuffix(filepath.Base(path), ".jsonl"), Modified: stat.ModTime()}
	err = readEntries(path, func(e Entry) {
		info.Clean = e.Type == TypeEnd
		switch {
		case e.Session != nil:
			info.Cwd, info.Model, info.Started = e.Session.Cwd, e.Session.Model, e.Time
		case e.Message != nil && e.AgentID == "":
			info.Messages++
			if info.Title == "" && e.Message.Role == tool.RoleUser {
				info.Title = title(e.Message.Text())
			}
		}
	})
	return info, err
}

func title(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > maxTitle {
		return string(r[:maxTitle-1]) + "…"
	}
	return string(r)
}

// readEntries reads a transcript. A last line without its end was being
// written when the process died: it is not an entry.
func readEntries(path string, each func(Entry)) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNotFound, strings.TrimSuffix(filepath.Base(path), ".jsonl"))
	}
	if err != nil {
		return fmt.Errorf("reading the transcript: %w", err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		if e.Session != nil && e.Session.Version > Version {
			return fmt.Errorf("%s was written by a newer version (format %d; this one reads up to %d)", path, e.Session.Version, Version)
		}
		each(e)
	}
}

// readLine returns io.EOF for a line that has no end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > MaxLineBytes {
			return nil, fmt.Errorf("it is longer than %d bytes", MaxLineBytes)
		}
		if err == nil {
			return bytes.TrimSuffix(line, []byte("\n")), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}
