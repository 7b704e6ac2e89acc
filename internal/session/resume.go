package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/sevengate/sevengate/tool"
)

// State is a conversation read back from its transcript.
type State struct {
	Header   Header
	Messages []tool.Message // the main conversation, every tool_use answered
	Files    *tool.FileState
	Context  *Context // nil when it was never recorded
	Clean    bool     // it ended, and was not cut off
	// Repaired are the results that were added for calls without one.
	Repaired []tool.Block
	// Orphans are calls that were begun and are in no message: the process died
	// while the model was still writing the message that asked for them.
	Orphans []Orphan
}

// Orphan is a call of which only the journal knows.
type Orphan struct {
	ID, Tool string
	Input    json.RawMessage
	Ended    bool // it was over; else it may have been carried out in part
}

// String says what is known of the call, for the model.
func (o Orphan) String() string {
	how := "it was running"
	if o.Ended {
		how = "it had been carried out"
	}
	return fmt.Sprintf("%s %s (%s)", o.Tool, o.Input, how)
}

// Texts of the results that a crash left out.
const (
	textUnknown = "The session ended while this call was running. Whether it was carried out, in whole or in part, is not known: look before you repeat it."
	textNotRun  = "The session ended before this call was run. It was not carried out."
	textDone    = "This call was carried out, but the session ended before its result was recorded. Look at the state of things before you repeat it."
)

// Load reads a session back without opening it for writing.
func (s *Store) Load(id string) (*State, error) {
	if !ValidID(id) {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	st := &State{Files: &tool.FileState{}}
	var filesErr error
	err := readEntries(s.path(id), func(e Entry) {
		st.Clean = e.Type == TypeEnd
		switch {
		case e.Session != nil:
			st.Header = *e.Session
		case e.Message != nil && e.AgentID == "":
			st.Messages = append(st.Messages, *e.Message)
		case e.Context != nil:
			st.Context = e.Context
		case e.Files != nil:
			if err := json.Unmarshal(e.Files, st.Files); err != nil && filesErr == nil {
				filesErr = err
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if filesErr != nil {
		return nil, fmt.Errorf("reading session %s: %w", id, filesErr)
	}
	if st.Header.ID == "" {
		return nil, fmt.Errorf("%w: %s (its transcript has no header)", ErrNotFound, id)
	}
	calls, err := readJournal(journalPath(s.dir, id))
	if err != nil {
		return nil, err
	}
	st.repair(calls)
	return st, nil
}

// repair answers every tool_use that has no result, in place.
func (st *State) repair(calls map[string]entry) {
	var out []tool.Message
	known := map[string]bool{}
	for i, m := range st.Messages {
		out = append(out, m)
		uses := m.ToolUses()
		if m.Role != tool.RoleAssistant || len(uses) == 0 {
			continue
		}
		answered := map[string]bool{}
		next := i + 1
		hasNext := next < len(st.Messages) && st.Messages[next].Role == tool.RoleUser
		if hasNext {
			for _, b := range st.Messages[next].Content {
				if b.Type == tool.BlockToolResult {
					answered[b.ToolUseID] = true
				}
			}
		}
		var missing []tool.Block
		for _, u := range uses {
			known[u.ID] = true
			if answered[u.ID] {
				continue
			}
			text := textNotRun
			switch calls[u.ID].state {
			case startedOnly:
				text = textUnknown
			case ended:
				text = textDone
			}
			missing = append(missing, tool.ToolResult(u.ID, true, tool.TextBlock(text)))
		}
		if len(missing) == 0 {
			continue
		}
		st.Repaired = append(st.Repaired, missing...)
		if hasNext {
			// Results come first in the message that follows.
			st.Messages[next].Content = append(missing, st.Messages[next].Content...)
		} else {
			out = append(out, tool.Message{Role: tool.RoleUser, Content: missing})
		}
	}
	st.Messages = out
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		if e := calls[id]; !known[id] && e.tool != "" {
			st.Orphans = append(st.Orphans, Orphan{ID: id, Tool: e.tool, Input: e.input, Ended: e.state == ended})
		}
	}
}

// Resume reads a session back and opens it to be continued. The results that
// were missing are written to the transcript.
func (s *Store) Resume(id string) (*Session, *State, error) {
	st, err := s.Load(id)
	if err != nil {
		return nil, nil, err
	}
	if err := dropTornLine(s.path(id)); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(s.path(id), os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the transcript: %w", err)
	}
	out := &Session{id: id, dir: s.dir, file: f}
	if last := len(st.Messages) - 1; len(st.Repaired) > 0 && last >= 0 {
		if m := st.Messages[last]; m.Role == tool.RoleUser && len(m.Content) == len(st.Repaired) && m.Content[0].ToolUseID == st.Repaired[0].ToolUseID {
			if err := out.AppendMessage("", m); err != nil {
				f.Close()
				return nil, nil, err
			}
		}
	}
	return out, st, nil
}

// Latest is the id of the project's latest session.
func (s *Store) Latest() (string, error) {
	all, err := s.List()
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", fmt.Errorf("%w: there is none for this project yet", ErrNotFound)
	}
	return all[0].ID, nil
}

// dropTornLine removes a last line that was being written when the process
// died, so that the next entry begins on a line of its own.
func dropTornLine(path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening the transcript: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	end, err := f.Seek(0, 2)
	if err != nil {
		return fmt.Errorf("reading the transcript: %w", err)
	}
	buf := make([]byte, 64<<10)
	for keep := end; keep > 0; {
		n := min(int64(len(buf)), keep)
		if _, err := f.ReadAt(buf[:n], keep-n); err != nil {
			return fmt.Errorf("reading the transcript: %w", err)
		}
		for i := n - 1; i >= 0; i-- {
			if buf[i] == '\n' {
				if at := keep - n + i + 1; at < end {
					return f.Truncate(at)
				}
				return nil
			}
		}
		keep -= n
	}
	return f.Truncate(0)
}
