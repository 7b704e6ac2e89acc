package disclose

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/tool"
)

// maxRecorded bounds the names of one record.
const maxRecorded = 1_000

// The marks around a record. What stands between them, after the sentence for
// the model, is a JSON list of names.
const (
	recordOpen  = "<loaded-tools>"
	recordClose = "</loaded-tools>"
	recordText  = "These tools were found before and stay loaded; call them without searching again: "
)

// past is what a conversation tells about tools.
type past struct {
	discovered   []string       // in order of discovery
	last         map[string]int // where each was last found or called
	referenced   []string       // by tool_reference blocks, in order
	isReferenced map[string]bool
	recorded     map[string]bool // named by the record of a compaction
	told         told
}

// reading is how far a conversation was read, and what was found so far. A
// conversation mostly grows; one that changed is read anew. The zero value has
// read nothing.
type reading struct {
	past past
	uses map[string]string // tool_use id to the tool's name
	at   int
	// firsts are the first blocks of the messages that were read: those that lie
	// where they lay are the same, since blocks do not change once they are handed on.
	firsts []*tool.Block
}

// continues tells whether messages go on from where the reading is.
func (r *reading) continues(messages []tool.Message) bool {
	if len(r.firsts) == 0 || len(r.firsts) > len(messages) {
		return false
	}
	for i, b := range r.firsts {
		if b == nil || firstBlock(messages[i]) != b {
			return false
		}
	}
	return true
}

func firstBlock(m tool.Message) *tool.Block {
	if len(m.Content) == 0 {
		return nil
	}
	return &m.Content[0]
}

// read collects what a conversation tells. Names that are no tools are kept:
// their server may only be away. What it gives must not be changed.
func (d *Disclosure) read(messages []tool.Message) past {
	r := &d.reading
	if !r.continues(messages) {
		*r = reading{
			past: past{last: map[string]int{}, isReferenced: map[string]bool{}, recorded: map[string]bool{}, told: newTold()},
			uses: map[string]string{},
		}
	}
	for _, m := range messages[len(r.firsts):] {
		d.readMessage(r, m)
		r.firsts = append(r.firsts, firstBlock(m))
	}
	return r.past
}

func (d *Disclosure) readMessage(r *reading, m tool.Message) {
	p := &r.past
	discover := func(name string) {
		if own, ok := d.aliases[name]; ok {
			name = own
		}
		if _, known := p.last[name]; !known {
			p.discovered = append(p.discovered, name)
		}
		r.at++
		p.last[name] = r.at
	}
	for _, b := range m.Content {
		switch {
		case b.Type == tool.BlockToolUse:
			r.uses[b.ID] = b.Name
		case m.Role != tool.RoleUser:
		case b.Type == tool.BlockToolResult:
			for _, inner := range b.Content {
				if inner.Type != tool.BlockToolReference || inner.ToolName == "" {
					continue
				}
				discover(inner.ToolName)
				if !p.isReferenced[inner.ToolName] {
					p.isReferenced[inner.ToolName] = true
					p.referenced = append(p.referenced, inner.ToolName)
				}
			}
			if name, ok := r.uses[b.ToolUseID]; ok && !b.IsError && d.wasDeferred(name) {
				discover(name)
			}
			delete(r.uses, b.ToolUseID) // answered once
		case b.Type == tool.BlockText:
			p.told.read(b.Text)
			for _, name := range readRecord(b.Text) {
				discover(name)
				p.recorded[name] = true
			}
		}
	}
}

// wasDeferred tells whether a called name is that of a tool which was decided
// to be deferred, also when it is not there now.
func (d *Disclosure) wasDeferred(name string) bool {
	if own, ok := d.aliases[name]; ok {
		name = own
	}
	k := d.known[name]
	return k != nil && k.defers
}

// Record makes the block that carries the discovered tools of a conversation
// over its compaction: put it into a user message of the new conversation,
// alone or joined to other text. ok is false when there is nothing to carry.
func (d *Disclosure) Record(messages []tool.Message) (block tool.Block, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	past := d.read(messages)
	names := past.discovered
	if len(names) > maxRecorded {
		names = slices.Clone(names)
		slices.SortStableFunc(names, func(a, b string) int { return past.last[b] - past.last[a] })
		keep := map[string]bool{}
		for _, name := range names[:maxRecorded] {
			keep[name] = true
		}
		names = slices.DeleteFunc(slices.Clone(past.discovered), func(name string) bool { return !keep[name] })
	}
	if len(names) == 0 {
		return tool.Block{}, false
	}
	list, err := json.Marshal(names)
	if err != nil { // names are strings
		return tool.Block{}, false
	}
	return tool.TextBlock(recordOpen + recordText + string(list) + recordClose), true
}

// readRecord finds the names of all records in a text. What is not exactly of
// the form is not a record.
func readRecord(text string) []string {
	var out []string
	for {
		_, rest, found := strings.Cut(text, recordOpen)
		if !found {
			return out
		}
		text = rest
		body, after, closed := strings.Cut(rest, recordClose)
		list, is := strings.CutPrefix(body, recordText)
		if !closed || !is {
			continue
		}
		var names []string
		if json.Unmarshal([]byte(list), &names) == nil && len(names) <= maxRecorded {
			for _, name := range names {
				if isName(name) {
					out = append(out, name)
				}
			}
			text = after
		}
	}
}

// isName tells whether a string can be a tool's name.
func isName(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
