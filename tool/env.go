package tool

import (
	"context"
	"log/slog"
	"sync"
)

// Env is what a call gets to know about its surroundings, and the few things
// it may ask of them. One Env belongs to one call. The zero Env is usable:
// nothing is known, nobody can be asked.
type Env struct {
	SessionID string
	ToolUseID string
	AgentID   string // empty in the main conversation
	AgentType string
	Depth     int    // 0 in the main conversation, 1 in its subagents, …
	QueryID   string // one run of the loop

	// Place is the working directory, home and roots at the time of the call.
	Place
	// ResultsDir is where results too large for the conversation are kept.
	ResultsDir string
	// Model is the model in use.
	Model string
	// NonInteractive: nobody is there to answer.
	NonInteractive bool
	// Debug and Verbose ask for more talk.
	Debug, Verbose bool
	// ForcePermission makes a subagent ask for every call.
	ForcePermission bool

	// Files is the conversation's memory of which files were read.
	Files *FileState
	// State is the agent's own; Root is the main conversation's, whatever the
	// depth.
	State, Root *State
	// History returns the conversation so far.
	History func() []Message

	// OnProgress receives news of the running call. Use [Env.Report].
	OnProgress func(Progress)
	// AskPermission puts a question to whoever decides for this session. Use
	// [Env.Ask].
	AskPermission func(context.Context, Question) (Verdict, error)

	// OnNotice takes what the model is to learn later, after the call is over.
	// Use [Env.Notify].
	OnNotice func(Notice)

	// Log is for operators; the model does not see it. May be nil.
	Log *slog.Logger
}

// Question asks for a permission that is needed midway.
type Question struct {
	// Message says what is asked and why, in one sentence.
	Message string
	// Subjects are what the permission is about; rules are consulted first.
	Subjects []Subject
}

// Notice is something that the model is to learn with its next request, such as
// the end of a command in the background.
type Notice struct {
	Text string // for the model
	// Wake asks for a request to be made for it, if none is under way.
	Wake bool
}

// Notify passes on a notice. It may be called at any time, also long after the
// call is over and from any goroutine; without a listener it does nothing.
func (e *Env) Notify(n Notice) {
	if e != nil && e.OnNotice != nil {
		e.OnNotice(n)
	}
}

// Report passes on news of the call; without a listener it does nothing.
func (e *Env) Report(p Progress) {
	if e != nil && e.OnProgress != nil {
		e.OnProgress(p)
	}
}

// Ask asks for a permission needed midway. Where nobody can be asked, the
// answer is no.
func (e *Env) Ask(ctx context.Context, q Question) (Verdict, error) {
	if e == nil || e.AskPermission == nil {
		return DenyCall("nobody can be asked in this session"), nil
	}
	return e.AskPermission(ctx, q)
}

// Logger returns the log, or one that discards.
func (e *Env) Logger() *slog.Logger {
	if e == nil || e.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return e.Log
}

// State is a small store of values by key, safe for concurrent use. The zero
// State is empty and ready.
type State struct {
	mu sync.Mutex
	m  map[string]any
}

// Get returns the value of a key, and whether there is one.
func (s *State) Get(key string) (any, bool) {
	if s == nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.m[key]
	return v, ok
}

// Update replaces the value of a key by what change makes of it, and returns
// both. No other Update runs meanwhile; change must not use the State.
func (s *State) Update(key string, change func(old any) any) (before, after any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.m[key]
	after = change(before)
	if s.m == nil {
		s.m = map[string]any{}
	}
	s.m[key] = after
	return before, after
}
