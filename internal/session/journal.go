package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// journalLine says that a call is about to run, or that it is over.
type journalLine struct {
	Event string          `json:"event"` // "start" or "end"
	ID    string          `json:"id"`
	Tool  string          `json:"tool,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

// Starting records that a call is about to run. It is on disk when Starting
// returns.
func (s *Session) Starting(id, toolName string, input json.RawMessage) error {
	return s.journal(journalLine{Event: "start", ID: id, Tool: toolName, Input: input}, true)
}

// Finished records that a call is over, however it ended. That it is lost in a
// crash only makes the call's outcome count as unknown.
func (s *Session) Finished(id string) {
	_ = s.journal(journalLine{Event: "end", ID: id}, false)
}

func (s *Session) journal(l journalLine, sync bool) error {
	line, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encoding a journal line: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jour == nil {
		s.jour, err = os.OpenFile(journalPath(s.dir, s.id), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return fmt.Errorf("opening the journal: %w", err)
		}
	}
	if _, err := s.jour.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	if sync {
		if err := s.jour.Sync(); err != nil {
			return fmt.Errorf("writing the journal: %w", err)
		}
	}
	return nil
}

func journalPath(dir, id string) string { return filepath.Join(dir, id+".journal") }

// callState is what a journal knows of a call.
type callState int

const (
	neverStarted callState = iota
	startedOnly
	ended
)

// entry is what a journal knows of a call.
type entry struct {
	state callState
	tool  string
	input json.RawMessage
}

// readJournal tells what became of the calls that a journal names. A line that
// cannot be read is the last one, cut off: it had not been confirmed, so its
// call was never run.
func readJournal(path string) (map[string]entry, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	calls := map[string]entry{}
	for line := range strings.Lines(string(data)) {
		var l journalLine
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &l) != nil {
			continue
		}
		switch l.Event {
		case "start":
			calls[l.ID] = entry{startedOnly, l.Tool, l.Input}
		case "end":
			e := calls[l.ID]
			e.state = ended
			calls[l.ID] = e
		}
	}
	return calls, nil
}
