package hook

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// Config is what a Runner needs from above. Every field may be left zero.
type Config struct {
	// Groups gives the groups in configuration order. It is asked at every
	// event, so it must be cheap: it returns a slice that nobody changes
	// afterwards, and another slice when the settings changed. Groups of a
	// folder that is not trusted are left out by whoever makes the list.
	Groups func() []Group
	// Callbacks are groups of the host program; they come after Groups.
	Callbacks []Group
	// Policy gives the switches of the settings; nil means the zero Policy.
	Policy func() Policy

	Cwd            string // used when an event names none
	ProjectDir     string // the project's root at the start of the session
	SessionID      string
	TranscriptPath string
	Home           string
	// AgentID and AgentType are set in a subagent, for events that name none.
	AgentID, AgentType string
	// Common gives further fields of every event's input, such as prompt_id.
	Common func() map[string]any

	// Env is the environment of commands, and where headers find their
	// variables; nil means this process's. OTEL_* variables are taken out.
	// Credentials that hooks are not to see must be gone already.
	Env []string
	// EnvFile is named to the commands that may change the environment of the
	// session's shell commands.
	EnvFile string
	// Effort is named to commands, when known.
	Effort string

	// SpillDir takes what is too long to be shown whole; empty cuts it.
	SpillDir string
	// MatchIf compares a handler's condition with a call. Nil runs every
	// handler, whatever its condition.
	MatchIf func(rule string, call *tool.Call) (bool, error)
	// FailClosed makes every handler behave as with "onFailure": "block".
	FailClosed bool

	// Tools runs mcp_tool handlers, Models prompt and agent handlers. Where
	// one is missing, such a handler is an error that is reported.
	Tools  ToolCaller
	Models Prompter

	// Async gets what handlers that nobody waited for had to say. It is called
	// from their own goroutines.
	Async func(AsyncResult)
	// Observe is told when a handler starts and ends. It is called from the
	// handlers' goroutines and must be quick.
	Observe func(Observation)
	// Log gets the handlers' output at debug level; nil means no log.
	Log *slog.Logger
}

// Policy is what settings say about hooks as a whole.
type Policy struct {
	// DisableAll stops all but managed hooks and those of the host program;
	// DisableManaged, which only managed settings can set, stops all.
	DisableAll, DisableManaged bool
	// ManagedOnly leaves managed hooks and those of the host program.
	ManagedOnly bool
	// LimitURLs restricts HTTP handlers to AllowedURLs, patterns with *.
	LimitURLs   bool
	AllowedURLs []string
	// LimitEnvVars restricts the variables of headers to AllowedEnvVars.
	LimitEnvVars   bool
	AllowedEnvVars []string
}

// ToolCaller calls a tool of an MCP server. It waits for a server that is
// still connecting, as long as ctx allows. The text is read like a command's
// stdout.
type ToolCaller interface {
	CallTool(ctx context.Context, server, name string, input json.RawMessage) (text string, isError bool, err error)
}

// Prompter asks a model.
type Prompter interface {
	Prompt(ctx context.Context, q Question) (Answer, error)
}

// Question is what a prompt or agent handler asks.
type Question struct {
	Agent bool   // the model may use reading tools, in several turns
	Model string // empty means a small default model
	Text  string // the prompt with the event's input in it
	Event string
}

// Answer is what the model has to say about it.
type Answer struct {
	OK         bool
	Reason     string
	Impossible bool // the goal cannot be reached: do not go on
}

// Outcome is how a handler ended.
type Outcome string

// The outcomes of handlers.
const (
	OutcomeSuccess   Outcome = "success"
	OutcomeBlocked   Outcome = "blocked" // it objected
	OutcomeError     Outcome = "error"   // it failed
	OutcomeTimeout   Outcome = "timeout"
	OutcomeCancelled Outcome = "cancelled"
	OutcomeAsync     Outcome = "async" // it was started and nobody waits
)

// Run is what happened to one handler, for the trace.
type Run struct {
	Name         string        `json:"name"`
	Type         string        `json:"type"`
	Event        string        `json:"event"`
	Source       string        `json:"source,omitempty"`
	File         string        `json:"file,omitempty"`
	Outcome      Outcome       `json:"outcome"`
	Duration     time.Duration `json:"duration_ns"`
	ExitCode     int           `json:"exit_code,omitempty"`
	Behavior     tool.Behavior `json:"behavior,omitempty"`
	UpdatedInput bool          `json:"updated_input,omitempty"`
	// Message is for a person: why it failed, or what to look at.
	Message string `json:"message,omitempty"`
}

// Observation is news of a running handler.
type Observation struct {
	ID            uint64 // the same at start and end
	Name          string
	Event         string
	StatusMessage string
	Done          bool
	// What follows is set at the end.
	Outcome        Outcome
	ExitCode       int
	Stdout, Stderr string
	Duration       time.Duration
}

// AsyncResult is what a handler had to say that nobody waited for.
type AsyncResult struct {
	Run           Run
	Context       string // for the model
	SystemMessage string // for the model too, by protocol
	// Wake asks to tell the model at once, rather than with the next turn.
	Wake bool
}

// Event is a call and its circumstances.
type Event struct {
	Call           *tool.Call
	ToolUseID      string
	PermissionMode string
	Cwd            string
	AgentID        string
	AgentType      string
}

// Defer is the behaviour by which a hook asks to stop the run before the call,
// so that the call can be taken up again later.
const Defer tool.Behavior = "defer"

// Common is what every event's result has.
type Common struct {
	// Context is for the model; SystemMessages are for the person.
	Context        []string
	SystemMessages []string
	// TerminalSequences are checked control sequences for a person's terminal.
	TerminalSequences []string
	// Stop ends the agent's work, whatever else was decided; StopReason is for
	// the person.
	Stop       bool
	StopReason string
	// Runs is one entry for every handler that was due, in configuration order.
	Runs []Run
}

// Problems are the messages of handlers that failed, for the person.
func (c Common) Problems() []string {
	var out []string
	for _, r := range c.Runs {
		if r.Message != "" && r.Outcome != OutcomeBlocked {
			out = append(out, r.Event+" hook "+r.Name+": "+r.Message)
		}
	}
	return out
}

// PreResult is what the hooks before a call decided together.
type PreResult struct {
	Common
	// Behavior is the strictest answer: deny, Defer, ask, allow, or none.
	Behavior tool.Behavior
	Reason   string
	// Hook and Source name the first handler with that answer.
	Hook, Source string
	// UpdatedInput replaces the whole input, nil keeps it. Of several, the
	// last in configuration order counts.
	UpdatedInput json.RawMessage
}

// PostResult is what the hooks after a call decided together.
type PostResult struct {
	Common
	// Block tells the model Reason as an objection to what was done.
	Block  bool
	Reason string
	// UpdatedOutput replaces the tool's output, nil keeps it. Of several, the
	// last in configuration order counts. It is not yet checked against the
	// tool's output schema.
	UpdatedOutput json.RawMessage
	// ClassifierContext is for a permission classifier only.
	ClassifierContext string
}

// Result is what the hooks of any event decided together.
type Result struct {
	Common
	// Block refuses what is about to happen, or keeps going what is about to
	// stop, as the event's protocol says.
	Block  bool
	Reason string
	// Behavior is the answer to PermissionRequest and PreModelSwitch.
	Behavior           tool.Behavior
	UpdatedInput       json.RawMessage
	UpdatedPermissions []json.RawMessage
	Interrupt          bool // stop the agent after a refusal
	Retry              bool // PermissionDenied: let the model try again
	// Path is the worktree's folder after WorktreeCreate.
	Path string
	// Specific are the event's own fields, of each handler that sent some.
	Specific []Specific
}
