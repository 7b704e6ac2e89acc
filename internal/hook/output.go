package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sevengate/sevengate/tool"
)

// Specific is the "hookSpecificOutput" of one handler.
type Specific struct {
	AdditionalContext string

	// PreToolUse, PreModelSwitch
	PermissionDecision       tool.Behavior
	PermissionDecisionReason string
	UpdatedInput             json.RawMessage

	// PermissionRequest
	Decision *PermissionDecision
	// PermissionDenied
	Retry bool

	// PostToolUse
	UpdatedToolOutput    json.RawMessage
	UpdatedMCPToolOutput json.RawMessage // deprecated form, for MCP tools only
	ClassifierContext    string

	// SessionStart, UserPromptSubmit, CwdChanged, FileChanged
	InitialUserMessage     string
	SessionTitle           string
	WatchPaths             []string
	ReloadSkills           bool
	SuppressOriginalPrompt bool

	DisplayContent *string         // MessageDisplay
	WorktreePath   string          // WorktreeCreate
	Action         string          // Elicitation, ElicitationResult
	Content        json.RawMessage // Elicitation, ElicitationResult
}

// PermissionDecision is the answer to a permission request.
type PermissionDecision struct {
	Behavior           tool.Behavior
	UpdatedInput       json.RawMessage
	UpdatedPermissions []json.RawMessage
	Message            string
	Interrupt          bool
}

// output is one handler's JSON, read for one event.
type output struct {
	stop             bool // "continue": false
	stopReason       string
	systemMessage    string
	terminalSequence string
	decision         string // "block", "approve" or empty
	reason           string
	async            bool // a callback goes on in the background
	specific         *Specific
}

// errNotObject says that a text is no JSON object and does not look like one.
var errNotObject = errors.New("not a JSON object")

// parseOutput reads what a handler wrote: errNotObject is plain text, any
// other error an answer that cannot be understood. lenient drops fields of a
// wrong type instead.
func parseOutput(event string, stdout []byte, lenient bool) (out output, err error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(stdout, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(text) == 0 || text[0] != '{' {
		return out, errNotObject
	}
	f, err := object(text)
	if err != nil {
		return out, errors.New("the output looks like a JSON object but is none")
	}
	r := reader{lenient: lenient}
	r.output(event, f, &out)
	if r.err != nil {
		return output{}, r.err
	}
	return out, nil
}

type reader struct {
	lenient bool
	err     error
}

func (r *reader) fail(path, wants string) {
	if !r.lenient && r.err == nil {
		r.err = fmt.Errorf("the output is not valid: %s must be %s", path, wants)
	}
}

func (r *reader) get(f fields, prefix, name string, out any) {
	if f.get(name, out) != nil {
		r.fail(prefix+name, wanted(out))
	}
}

// oneOf reads a string that must be one of some words.
func (r *reader) oneOf(f fields, prefix, name string, words ...string) string {
	var s string
	r.get(f, prefix, name, &s)
	if s == "" {
		return ""
	}
	for _, w := range words {
		if s == w {
			return s
		}
	}
	r.fail(prefix+name, strings.Join(words, ", "))
	return ""
}

// objectOf reads an object as it is.
func (r *reader) objectOf(f fields, prefix, name string) json.RawMessage {
	raw := f[name]
	if len(raw) == 0 || isNull(raw) {
		return nil
	}
	if _, err := object(raw); err != nil {
		r.fail(prefix+name, "an object")
		return nil
	}
	return raw
}

func (r *reader) output(event string, f fields, out *output) {
	goOn := true
	r.get(f, "", "continue", &goOn)
	out.stop = !goOn
	r.get(f, "", "stopReason", &out.stopReason)
	var suppress bool // accepted, and without effect
	r.get(f, "", "suppressOutput", &suppress)
	r.get(f, "", "systemMessage", &out.systemMessage)
	r.get(f, "", "terminalSequence", &out.terminalSequence)
	out.decision = r.oneOf(f, "", "decision", "block", "approve")
	r.get(f, "", "reason", &out.reason)
	r.get(f, "", "async", &out.async)
	raw := r.objectOf(f, "", "hookSpecificOutput")
	if raw == nil {
		return
	}
	sf, _ := object(raw)
	out.specific = r.specific(event, sf)
}

func (r *reader) specific(event string, f fields) *Specific {
	const p = "hookSpecificOutput."
	s := &Specific{}
	var name string
	r.get(f, p, "hookEventName", &name)
	if name != "" && name != event {
		r.fail(p+"hookEventName", event)
		if r.lenient {
			return nil
		}
	}
	r.get(f, p, "additionalContext", &s.AdditionalContext)
	switch event {
	case PreToolUse:
		s.PermissionDecision = tool.Behavior(r.oneOf(f, p, "permissionDecision", "allow", "deny", "ask", "defer"))
		r.get(f, p, "permissionDecisionReason", &s.PermissionDecisionReason)
		s.UpdatedInput = r.objectOf(f, p, "updatedInput")
	case PreModelSwitch:
		s.PermissionDecision = tool.Behavior(r.oneOf(f, p, "permissionDecision", "allow", "deny", "ask"))
		r.get(f, p, "permissionDecisionReason", &s.PermissionDecisionReason)
	case PermissionRequest:
		if raw := r.objectOf(f, p, "decision"); raw != nil {
			df, _ := object(raw)
			s.Decision = r.permission(df)
		}
	case PermissionDenied:
		r.get(f, p, "retry", &s.Retry)
	case PostToolUse:
		s.UpdatedToolOutput = present(f["updatedToolOutput"])
		s.UpdatedMCPToolOutput = present(f["updatedMCPToolOutput"])
		r.get(f, p, "classifierContext", &s.ClassifierContext)
	case SessionStart:
		r.get(f, p, "initialUserMessage", &s.InitialUserMessage)
		r.get(f, p, "sessionTitle", &s.SessionTitle)
		r.get(f, p, "watchPaths", &s.WatchPaths)
		r.get(f, p, "reloadSkills", &s.ReloadSkills)
	case UserPromptSubmit:
		r.get(f, p, "sessionTitle", &s.SessionTitle)
		r.get(f, p, "suppressOriginalPrompt", &s.SuppressOriginalPrompt)
	case CwdChanged, FileChanged:
		r.get(f, p, "watchPaths", &s.WatchPaths)
	case MessageDisplay:
		var text string
		r.get(f, p, "displayContent", &text)
		if present(f["displayContent"]) != nil {
			s.DisplayContent = &text
		}
	case WorktreeCreate:
		r.get(f, p, "worktreePath", &s.WorktreePath)
	case Elicitation, ElicitationResult:
		s.Action = r.oneOf(f, p, "action", "accept", "decline", "cancel")
		s.Content = r.objectOf(f, p, "content")
	}
	return s
}

func (r *reader) permission(f fields) *PermissionDecision {
	const p = "hookSpecificOutput.decision."
	d := &PermissionDecision{}
	d.Behavior = tool.Behavior(r.oneOf(f, p, "behavior", "allow", "deny"))
	if d.Behavior == "" {
		r.fail(p+"behavior", "allow, deny")
	}
	d.UpdatedInput = r.objectOf(f, p, "updatedInput")
	r.get(f, p, "updatedPermissions", &d.UpdatedPermissions)
	r.get(f, p, "message", &d.Message)
	r.get(f, p, "interrupt", &d.Interrupt)
	return d
}

func present(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || isNull(raw) {
		return nil
	}
	return raw
}

// hidesJSON tells whether plain text has a line that is a JSON object: most
// likely a decision that something else wrote in front of.
func hidesJSON(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 2 && line[0] == '{' && json.Valid(line) {
			return true
		}
	}
	return false
}

// terminalSequence checks a control sequence: only the window title (0, 1, 2),
// notifications (9, 99, 777) and the bell may pass.
func terminalSequence(s string) (string, bool) {
	rest := s
	for rest != "" {
		if rest[0] == '\a' {
			rest = rest[1:]
			continue
		}
		body, ok := strings.CutPrefix(rest, "\x1b]")
		if !ok {
			return "", false
		}
		end := strings.IndexFunc(body, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 })
		if end < 0 {
			return "", false
		}
		code, _, _ := strings.Cut(body[:end], ";")
		switch code {
		case "0", "1", "2", "9", "99", "777":
		default:
			return "", false
		}
		switch tail := body[end:]; {
		case tail[0] == '\a':
			rest = tail[1:]
		case strings.HasPrefix(tail, "\x1b\\"):
			rest = tail[2:]
		default:
			return "", false
		}
	}
	return s, true
}
