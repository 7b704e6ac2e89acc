// Package gate takes every call of every tool through the same seven phases,
// in the same order: extract, validate, pre-hooks, permit, execute,
// post-hooks, map. There is one file for each, and no special case for any
// tool.
//
// A [Gate] serves one session. [Gate.Admit] does what can be done before a call
// may start (extract, schema, bind), so that the scheduler knows what the call
// touches; [Ticket.Run] does the rest, once, and always gives a [Result] with
// exactly one tool_result block. [Gate.Explain] stops before anything is done.
//
// The gate decides when a phase ends a call; it does not know rules, hooks or
// budgets itself, and it does not decide when a call may start.
package gate

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/sevengate/sevengate/internal/hook"
	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/internal/result"
	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// Config is what a gate is made of. Pool and Policy are required.
type Config struct {
	// Pool gives the tools of the current request.
	Pool func() Pool
	// Policy decides.
	Policy *permission.Policy
	// Hooks may be nil.
	Hooks *hook.Runner
	// Results takes what is too large; nil cuts it.
	Results *result.Store
	// Prompter answers questions; nil denies them.
	Prompter Prompter
	// BypassAvailable: the session was started so that bypassPermissions may
	// be used.
	BypassAvailable bool
	// Unseen gives a hint for a tool whose schema the model was never sent, or
	// an empty string. May be nil.
	Unseen func(name string) string
	// Journal is told what is about to run. May be nil.
	Journal Journal
	// Observe is told what happens to calls. It is called from several
	// goroutines and must be quick. May be nil.
	Observe func(Event)
	// Log is for operators. May be nil.
	Log *slog.Logger
}

// Pool is the set of tools of a request.
type Pool interface {
	// Lookup finds a tool by its name or an alias.
	Lookup(name string) (tool.Tool, *schema.Schema, bool)
	// Names lists the tools that are offered.
	Names() []string
}

// Journal is a write-ahead record: what started and was not finished may have
// been carried out in part.
type Journal interface {
	// Starting must be on disk when it returns; its error keeps the call from
	// running.
	Starting(id, toolName string, input json.RawMessage) error
	Finished(id string)
}

// Gate serves one session. It is safe for concurrent use.
type Gate struct {
	cfg      Config
	prompted chan struct{} // holds one token: a person is asked one thing at a time
}

// New makes a gate.
func New(cfg Config) *Gate {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Observe == nil {
		cfg.Observe = func(Event) {}
	}
	g := &Gate{cfg: cfg, prompted: make(chan struct{}, 1)}
	g.prompted <- struct{}{}
	return g
}

// Conversation is one line of talk with a model: the main one or a subagent's.
type Conversation struct {
	env tool.Env

	mu   sync.Mutex
	now  tool.Context
	seen map[string]bool // tool_use ids
}

// NewConversation makes a conversation. env is the pattern from which the Env
// of each call is made; its Place gives the home directory, and now the rest
// of the place and the mode.
func NewConversation(env tool.Env, now tool.Context) *Conversation {
	return &Conversation{env: env, now: now, seen: map[string]bool{}}
}

// Context is what calls are bound in at the moment.
func (c *Conversation) Context() tool.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now
	now.Roots = append([]string(nil), c.now.Roots...)
	return now
}

// Apply changes the context.
func (c *Conversation) Apply(change func(*tool.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.now)
}

// Files is what the conversation knows of files.
func (c *Conversation) Files() *tool.FileState { return c.env.Files }

// Saw marks ids as used, as after a conversation was resumed.
func (c *Conversation) Saw(ids ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		c.seen[id] = true
	}
}

// ForgetIDs lets ids be used again, for messages that are not of one
// conversation.
func (c *Conversation) ForgetIDs() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.seen)
}

// firstUse marks an id and tells whether it is new.
func (c *Conversation) firstUse(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[id] {
		return false
	}
	c.seen[id] = true
	return true
}

func (c *Conversation) place(now tool.Context) tool.Place {
	return tool.Place{Cwd: now.Cwd, Home: c.env.Home, Roots: now.Roots}
}

// Result is what became of one tool_use.
type Result struct {
	Use   tool.Block // the tool_use
	Block tool.Block // its tool_result
	// Call is the bound call, as it was last; nil when there was none.
	Call *tool.Call
	// Decision is the permission decision, if it came to one.
	Decision permission.Decision
	// Ran tells whether the tool was called. Denied tells whether permission was
	// refused. Cancelled: stopped, or never started, since the run was.
	Ran, Denied, Cancelled bool
	// Outcome is what the tool returned.
	Outcome tool.Outcome
	// Context is what hooks want the model to know beside the result, and
	// Notices what they tell the person.
	Context, Notices []string
	// Stop ends the turn after this message; StopReason is for the person.
	Stop       bool
	StopReason string
	// Saved tells where a large result went.
	Saved *result.Persisted
	// Own: the tool bounds its results itself.
	Own bool

	Trace      Trace
	Start, End time.Time // of the execution
}

// Failed tells whether the call was made and failed.
func (r *Result) Failed() bool { return r.Ran && r.Block.IsError }

// Modifier is the change of context that the call asks for, also when it
// failed: a command that fails may have moved.
func (r *Result) Modifier() func(*tool.Context) { return r.Outcome.Modify }

// EventKind says what an [Event] reports.
type EventKind int

// The kinds of events of a call.
const (
	EventAdmitted EventKind = iota + 1
	EventRunning            // its turn has come: phase 2 and later
	EventAsking             // a person is asked
	EventExecuting
	EventProgress
	EventDone
)

// Event is news of a call, for whoever watches.
type Event struct {
	Kind     EventKind
	ID       string
	Tool     string
	AgentID  string
	Call     *tool.Call // may be nil before it is bound
	Progress tool.Progress
	Result   *Result // EventDone
	Time     time.Time
}

// Slot is the scheduler's side of a running call.
type Slot interface {
	// Settle tells that the input will not change any more.
	Settle()
	// Rebind tells that the call became another, and waits until that may run.
	Rebind(context.Context, *tool.Call) error
	// Alone tells whether the call ran beside no other, and keeps it so.
	Alone() bool
}

// FreeSlot is the slot of a call that runs by itself.
type FreeSlot struct{}

// Settle does nothing.
func (FreeSlot) Settle() {}

// Rebind allows the call at once.
func (FreeSlot) Rebind(context.Context, *tool.Call) error { return nil }

// Alone is always true.
func (FreeSlot) Alone() bool { return true }
