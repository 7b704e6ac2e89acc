package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The types of handlers. Callbacks come from the host program, never from a
// file.
const (
	TypeCommand  = "command"
	TypeHTTP     = "http"
	TypeMCPTool  = "mcp_tool"
	TypePrompt   = "prompt"
	TypeAgent    = "agent"
	TypeCallback = "callback"
)

// Sources with a meaning here. Groups from settings files carry the name of
// their settings source.
const (
	SourcePolicy = "policySettings"
	SourcePlugin = "plugin"
	SourceSkill  = "skill"
	SourceAgent  = "agent"
	SourceSDK    = "sdk"
)

// OnFailureBlock makes a handler's failure block the action.
const OnFailureBlock = "block"

// Group is a list of handlers bound to an event by one matcher.
type Group struct {
	Event    string
	Matcher  string
	Handlers []Handler

	// Source is the settings source or another of the Source constants; File
	// is where the group was read, for people.
	Source, File string

	// AgentID limits the group to the events of one subagent; its Stop then
	// means SubagentStop.
	AgentID string
	// Forced marks a group of a plugin that managed settings switch on: it is
	// treated as managed.
	Forced bool
	// Vars are further placeholders, such as CLAUDE_PLUGIN_ROOT. Those whose
	// names can be variables are exported to commands; the others, such as
	// user_config.key, are replaced in the exec form only.
	Vars map[string]string
}

// Handler is one thing to run. Which fields count depends on Type.
type Handler struct {
	Type          string
	If            string        // a permission rule; empty means always
	Timeout       time.Duration // 0 means the default of event and type
	StatusMessage string        // shown while the handler runs
	Once          bool          // only once a session; counts in skills only
	OnFailure     string        // OnFailureBlock or empty

	Command     string   // command
	Args        []string // command; not nil means: start it without a shell
	Shell       string   // command; "bash", "powershell" or empty
	Async       bool     // command; do not wait
	AsyncRewake bool     // command; do not wait, and exit code 2 wakes the model

	URL            string            // http
	Headers        map[string]string // http
	AllowedEnvVars []string          // http; variables that headers may use

	Server string          // mcp_tool
	Tool   string          // mcp_tool
	Input  json.RawMessage // mcp_tool; an object, or nil

	Prompt          string // prompt, agent
	Model           string // prompt, agent
	ContinueOnBlock bool   // prompt

	// Func is the callback. Its answer is read like a command's stdout: empty
	// or one JSON object.
	Func Callback `json:"-"`
	Name string   // callback; for people
}

// Callback is a function of the host program. toolUseID is empty on events
// that are about no call. It must return soon after ctx is done.
type Callback func(ctx context.Context, input json.RawMessage, toolUseID string) (json.RawMessage, error)

// Warning is something in a settings file that was skipped or repaired.
type Warning struct {
	Source, File string
	Path         string // such as hooks.PreToolUse[0].hooks[1]
	Message      string
}

func (w Warning) String() string {
	return fmt.Sprintf("%s: %s: %s", w.File, w.Path, w.Message)
}

// Parse reads the "hooks" object of a settings file. What cannot be read is
// skipped with a warning; the rest stays active.
func Parse(raw json.RawMessage, source, file string) ([]Group, []Warning) {
	p := &groupParser{source: source, file: file}
	if len(bytes.TrimSpace(raw)) == 0 || isNull(raw) {
		return nil, nil
	}
	events, err := object(raw)
	if err != nil {
		p.warn("hooks", "it must be an object of events")
		return nil, p.warnings
	}
	for _, event := range slices.Sorted(maps.Keys(events)) {
		p.event(event, events[event])
	}
	return p.groups, p.warnings
}

// ParseEvent is [Parse] for the matcher groups of one event.
func ParseEvent(event string, raw json.RawMessage, source, file string) ([]Group, []Warning) {
	p := &groupParser{source: source, file: file}
	p.event(event, raw)
	return p.groups, p.warnings
}

// ParseGroup is [Parse] for one matcher group of an event; path says where in
// the file it is.
func ParseGroup(event string, raw json.RawMessage, source, file, path string) ([]Group, []Warning) {
	p := &groupParser{source: source, file: file}
	info, ok := eventTable()[event]
	if !ok {
		p.warn(path, "there is no event %q; the hook was skipped", clip(event, maxLabel))
		return nil, p.warnings
	}
	p.group(event, info, path, raw)
	return p.groups, p.warnings
}

type groupParser struct {
	source, file string
	groups       []Group
	warnings     []Warning
}

func (p *groupParser) warn(path, format string, args ...any) {
	p.warnings = append(p.warnings, Warning{p.source, p.file, path, fmt.Sprintf(format, args...)})
}

func (p *groupParser) event(event string, raw json.RawMessage) {
	path := "hooks." + event
	info, ok := eventTable()[event]
	if !ok {
		p.warn(path, "there is no such event; it was skipped")
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		p.warn(path, "it must be a list of matcher groups; it was skipped")
		return
	}
	for i, item := range list {
		p.group(event, info, fmt.Sprintf("%s[%d]", path, i), item)
	}
}

func (p *groupParser) group(event string, info eventInfo, path string, raw json.RawMessage) {
	f, err := object(raw)
	if err != nil {
		p.warn(path, "it must be an object with matcher and hooks; it was skipped")
		return
	}
	g := Group{Event: event, Source: p.source, File: p.file}
	if err := f.get("matcher", &g.Matcher); err != nil {
		// Careful: a guard that fires too often beats one that never does.
		p.warn(path+".matcher", "it must be a string; the hooks run on every %s", event)
		g.Matcher = ""
	}
	var list []json.RawMessage
	if err := f.get("hooks", &list); err != nil || list == nil {
		p.warn(path+".hooks", "it must be a list of handlers; the group was skipped")
		return
	}
	for i, item := range list {
		if h, ok := p.handler(event, info, fmt.Sprintf("%s.hooks[%d]", path, i), item); ok {
			g.Handlers = append(g.Handlers, h)
		}
	}
	if len(g.Handlers) > 0 {
		p.groups = append(p.groups, g)
	}
}

func (p *groupParser) handler(event string, info eventInfo, path string, raw json.RawMessage) (h Handler, ok bool) {
	f, err := object(raw)
	if err != nil {
		p.warn(path, "it must be an object with a type; it was skipped")
		return h, false
	}
	need := func(names ...string) bool {
		for _, name := range names {
			if v := f[name]; len(v) == 0 || isNull(v) || string(v) == `""` {
				p.warn(path, "a %s handler needs %q; it was skipped", h.Type, name)
				return false
			}
		}
		return true
	}
	if err := f.get("type", &h.Type); err != nil || h.Type == "" {
		p.warn(path+".type", "it must be command, http, mcp_tool, prompt or agent; the handler was skipped")
		return h, false
	}
	bad := ""
	must := func(name string, out any) {
		if err := f.get(name, out); err != nil && bad == "" {
			bad = name + ": " + err.Error()
		}
	}
	switch h.Type {
	case TypeCommand:
		if !need("command") {
			return h, false
		}
		must("command", &h.Command)
		must("args", &h.Args)
		must("shell", &h.Shell)
		must("async", &h.Async)
		must("asyncRewake", &h.AsyncRewake)
		if h.Args != nil && strings.ContainsAny(h.Command, " \t\n") {
			p.warn(path+".command", `with "args" the command is the name of one program; this one has spaces and will not be found`)
		}
		if h.Shell != "" && h.Shell != "bash" && h.Shell != "powershell" {
			bad = `shell: it must be "bash" or "powershell"`
		}
	case TypeHTTP:
		if !need("url") {
			return h, false
		}
		must("url", &h.URL)
		must("headers", &h.Headers)
		must("allowedEnvVars", &h.AllowedEnvVars)
	case TypeMCPTool:
		if !need("server", "tool") {
			return h, false
		}
		must("server", &h.Server)
		must("tool", &h.Tool)
		if in := f["input"]; len(in) > 0 && !isNull(in) {
			if _, err := object(in); err != nil {
				bad = "input: it must be an object"
			}
			h.Input = in
		}
	case TypePrompt, TypeAgent:
		if !need("prompt") {
			return h, false
		}
		must("prompt", &h.Prompt)
		must("model", &h.Model)
		must("continueOnBlock", &h.ContinueOnBlock)
	default:
		p.warn(path+".type", "%q is no type of handler; it must be command, http, mcp_tool, prompt or agent; the handler was skipped", h.Type)
		return h, false
	}
	must("if", &h.If)
	if bad != "" {
		p.warn(path, "%s; the handler was skipped", bad)
		return h, false
	}
	if !info.takes(event, h.Type) {
		p.warn(path+".type", "%s takes no %s handlers; the handler was skipped", event, h.Type)
		return h, false
	}
	if h.If != "" && !info.call {
		p.warn(path+".if", "a condition is evaluated on tool events only; on %s the handler never runs", event)
	}
	p.lenient(f, path, &h)
	return h, true
}

// lenient reads the fields whose mistakes must not cost the handler.
func (p *groupParser) lenient(f fields, path string, h *Handler) {
	if v := f["timeout"]; len(v) > 0 && !isNull(v) {
		var seconds float64
		if json.Unmarshal(v, &seconds) != nil || !(seconds > 0) {
			p.warn(path+".timeout", "it must be a number of seconds above 0; the default is used")
		} else {
			h.Timeout = MaxTimeout
			if seconds < MaxTimeout.Seconds() {
				h.Timeout = max(time.Duration(seconds*float64(time.Second)), 1)
			}
		}
	}
	if f.get("statusMessage", &h.StatusMessage) != nil {
		p.warn(path+".statusMessage", "it must be a string; it was left out")
	}
	if f.get("once", &h.Once) != nil {
		p.warn(path+".once", "it must be true or false; it was left out")
	}
	if v := f["onFailure"]; len(v) > 0 && !isNull(v) {
		if f.get("onFailure", &h.OnFailure) != nil || h.OnFailure != OnFailureBlock {
			p.warn(path+".onFailure", "it must be %q; it is taken so", OnFailureBlock)
			h.OnFailure = OnFailureBlock
		}
	}
}

// identity tells handlers apart: two with the same identity do the same.
func (h *Handler) identity() string {
	if h.Type == TypeCallback {
		return ""
	}
	c := *h
	c.StatusMessage = ""
	key, err := json.Marshal(c)
	if err != nil {
		return "" // Input is no JSON: it is its own handler
	}
	return string(key)
}

// label names the handler to people. It holds no header, query or input.
func (h *Handler) label() string {
	switch h.Type {
	case TypeCommand:
		if len(h.Args) == 0 {
			return clip(h.Command, maxLabel)
		}
		return clip(h.Command+" "+strings.Join(h.Args, " "), maxLabel)
	case TypeHTTP:
		return publicURL(h.URL)
	case TypeMCPTool:
		return h.Server + "/" + h.Tool
	case TypeCallback:
		if h.Name != "" {
			return h.Name
		}
		return TypeCallback
	}
	return clip(h.Prompt, maxLabel)
}

// maxLabel is how many characters of a command name it in a trace.
const maxLabel = 80
