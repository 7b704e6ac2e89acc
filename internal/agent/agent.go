// Package agent is the query loop: model, schedule, gate, and the model again,
// until it ends its turn.
//
// A call is queued the moment its block is complete, while the model still
// writes. Whatever ends a turn early (an interrupt, a cut stream, the limit of
// turns), every tool_use that was seen has exactly one tool_result, in order,
// in the message that follows. The loop decides nothing about calls; the gate
// and the scheduler do.
package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sevengate/sevengate/internal/disclose"
	"github.com/sevengate/sevengate/internal/gate"
	"github.com/sevengate/sevengate/internal/hook"
	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/internal/registry"
	"github.com/sevengate/sevengate/internal/schedule"
	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// Limits of the loop.
const (
	// MaxStopBlocks is how often in a row Stop hooks may keep the agent going.
	MaxStopBlocks = 8
	// MaxCutTurns is how often in a row a response may be cut short before the
	// run gives up.
	MaxCutTurns = 3
)

// Config is what a loop is made of.
type Config struct {
	Provider  model.Provider
	Model     string
	System    string
	MaxTokens int // of one response; 0 means the provider's default
	MaxTurns  int // 0 means no limit

	Gate         *gate.Gate
	Conversation *gate.Conversation
	Pool         func() *registry.Pool
	// Disclose plans which tools a request shows; nil shows all.
	Disclose *disclose.Disclosure
	// Hooks may be nil.
	Hooks *hook.Runner

	Schedule      schedule.Policy
	MaxConcurrent int

	// History is a conversation to go on with.
	History []tool.Message
	// Record is told every message that joins the conversation, before the
	// next request is made. An error ends the run.
	Record func(tool.Message) error
	// Observe is told what happens, from the goroutine of Run. May be nil.
	Observe func(Event)
}

// EventKind says what an [Event] reports.
type EventKind int

// The kinds of events.
const (
	EventRequest  EventKind = iota + 1 // a request is about to be made
	EventText                          // a piece of the answer
	EventThinking                      // a piece of thinking
	EventRetry                         // the request will be made again
	EventMessage                       // a message joined the conversation
	EventResult                        // a call has its result, in order
	EventNotice                        // something the person should know
)

// Event is news of a run.
type Event struct {
	Kind    EventKind
	Text    string
	Message *tool.Message
	Result  *gate.Result
	Retry   model.Event
}

// Reason says why a run ended.
type Reason string

// The reasons, in the words of the headless format.
const (
	Completed   Reason = "completed"
	MaxTurns    Reason = "max_turns"
	Interrupted Reason = "aborted_streaming"
	ToolsHalted Reason = "aborted_tools"
	HookStopped Reason = "hook_stopped"
	Truncated   Reason = "max_tokens"
	Failed      Reason = "model_error"
	Blocked     Reason = "prompt_blocked"
)

// Denial is a call that was refused.
type Denial struct {
	Tool  string
	Use   tool.Block
	Cause tool.Reason
}

// Outcome is what a run came to.
type Outcome struct {
	Reason     Reason
	Detail     string // for the person: what a hook said, which limit was met
	Text       string // of the last answer
	StopReason string // of the last response
	Turns      int
	Calls      int
	Usage      tool.Usage
	Denials    []Denial
	// ModelTime is the time spent waiting for the model.
	ModelTime time.Duration
}

// Agent is one conversation. Its methods are not for concurrent use, except
// Interrupt.
type Agent struct {
	cfg      Config
	messages []tool.Message

	mu      sync.Mutex
	queue   *schedule.Queue[*gate.Result] // of the current turn
	notices []string                      // what the model is to learn with its next request
	woken   chan struct{}                 // holds a token when a notice asks for a request
}

// New makes an agent.
func New(cfg Config) *Agent {
	if cfg.Observe == nil {
		cfg.Observe = func(Event) {}
	}
	if cfg.Record == nil {
		cfg.Record = func(tool.Message) error { return nil }
	}
	return &Agent{cfg: cfg, messages: cfg.History, woken: make(chan struct{}, 1)}
}

// maxNotices bounds what waits for the model; the oldest is dropped first.
const maxNotices = 100

// Notify takes a notice for the model: it goes out with the next request. It is
// safe for concurrent use.
func (a *Agent) Notify(n tool.Notice) {
	a.mu.Lock()
	a.notices = append(a.notices, n.Text)
	if len(a.notices) > maxNotices {
		a.notices = a.notices[len(a.notices)-maxNotices:]
	}
	a.mu.Unlock()
	if n.Wake {
		select {
		case a.woken <- struct{}{}:
		default:
		}
	}
}

// Woken has a token when a notice asks for a request although no run is under
// way; [Agent.Continue] makes it.
func (a *Agent) Woken() <-chan struct{} { return a.woken }

// takeNotices gives the waiting notices as one message, if there are any.
func (a *Agent) takeNotices() (tool.Message, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.notices) == 0 {
		return tool.Message{}, false
	}
	m := tool.Message{Role: tool.RoleUser}
	for _, n := range a.notices {
		m.Content = append(m.Content, tool.TextBlock(n))
	}
	a.notices = nil
	return m, true
}

// Continue runs for the notices that wait, as if they were a prompt; ok is
// false when there are none.
func (a *Agent) Continue(ctx context.Context) (out Outcome, ok bool, err error) {
	m, ok := a.takeNotices()
	if !ok {
		return Outcome{}, false, nil
	}
	if err := a.add(m); err != nil {
		return Outcome{Reason: Failed}, true, err
	}
	out, err = a.loop(ctx)
	return out, true, err
}

// Messages is the conversation so far. It must not be changed.
func (a *Agent) Messages() []tool.Message { return a.messages[:len(a.messages):len(a.messages)] }

// Interrupt stops running calls that allow it and lets the others finish; the
// turn goes on with their results.
func (a *Agent) Interrupt() {
	a.mu.Lock()
	q := a.queue
	a.mu.Unlock()
	if q != nil {
		q.Interrupt()
	}
}

func (a *Agent) add(m tool.Message) error {
	a.messages = append(a.messages, m)
	if err := a.cfg.Record(m); err != nil {
		return fmt.Errorf("recording the conversation: %w", err)
	}
	a.cfg.Observe(Event{Kind: EventMessage, Message: &m})
	return nil
}

func (a *Agent) notice(text string) {
	if text != "" {
		a.cfg.Observe(Event{Kind: EventNotice, Text: text})
	}
}

// Run puts a prompt to the model and works until the model ends its turn, a
// limit is met, or ctx is done. The outcome counts also when there is an error.
func (a *Agent) Run(ctx context.Context, prompt tool.Message) (Outcome, error) {
	out := Outcome{}
	prompt, blocked, err := a.submit(ctx, prompt)
	if err != nil || blocked != "" {
		out.Reason, out.Detail = Blocked, blocked
		return out, err
	}
	if err := a.add(prompt); err != nil {
		out.Reason = Failed
		return out, err
	}
	return a.loop(ctx)
}

// loop makes requests until the model ends its turn.
func (a *Agent) loop(ctx context.Context) (out Outcome, err error) {
	stopBlocks, cuts := 0, 0
	for {
		if a.cfg.MaxTurns > 0 && out.Turns >= a.cfg.MaxTurns {
			out.Reason, out.Detail = MaxTurns, fmt.Sprintf("the limit of %d turns was reached", a.cfg.MaxTurns)
			return out, nil
		}
		out.Turns++
		if m, ok := a.takeNotices(); ok {
			if err := a.add(m); err != nil {
				out.Reason = Failed
				return out, err
			}
		}
		t, err := a.turn(ctx, &out)
		switch {
		case err != nil:
			out.Reason = Failed
			if ctx.Err() != nil {
				out.Reason, err = Interrupted, nil
				if t.calls > 0 {
					out.Reason = ToolsHalted
				}
			}
			return out, err
		case t.stop:
			out.Reason, out.Detail = HookStopped, t.stopReason
			return out, nil
		case t.cut != "":
			if cuts++; cuts >= MaxCutTurns {
				out.Reason, out.Detail = Truncated, t.cut
				return out, nil
			}
			continue
		case t.calls > 0 || t.pause:
			cuts = 0
			continue
		}
		if out.StopReason == "max_tokens" {
			out.Reason, out.Detail = Truncated, "the answer was cut at the limit of output tokens"
			return out, nil
		}
		again, err := a.stopHooks(ctx, &out, stopBlocks)
		if err != nil {
			out.Reason = Failed
			return out, err
		}
		if !again {
			if out.Reason == "" {
				out.Reason = Completed
			}
			return out, nil
		}
		stopBlocks++
	}
}

// submit lets UserPromptSubmit hooks see the prompt.
func (a *Agent) submit(ctx context.Context, prompt tool.Message) (tool.Message, string, error) {
	h := a.cfg.Hooks
	if h == nil || !h.Any(hook.UserPromptSubmit) {
		return prompt, "", nil
	}
	r := h.Fire(ctx, hook.UserPromptSubmit, "", map[string]any{"prompt": prompt.Text()})
	a.hookNotices(r.Common)
	if ctx.Err() != nil {
		return prompt, "", context.Cause(ctx)
	}
	if r.Block {
		return prompt, "a hook blocked the prompt: " + r.Reason, nil
	}
	if r.Stop {
		return prompt, "a hook stopped the work: " + r.StopReason, nil
	}
	if len(r.Context) > 0 {
		content := append([]tool.Block(nil), prompt.Content...)
		for _, c := range r.Context {
			content = append(content, tool.TextBlock(c))
		}
		prompt.Content = content
	}
	return prompt, "", nil
}

// stopHooks lets Stop hooks keep the agent going.
func (a *Agent) stopHooks(ctx context.Context, out *Outcome, blocks int) (again bool, err error) {
	h := a.cfg.Hooks
	if h == nil || !h.Any(hook.Stop) {
		return false, nil
	}
	r := h.Fire(ctx, hook.Stop, "", map[string]any{"stop_hook_active": blocks > 0, "last_assistant_message": out.Text})
	a.hookNotices(r.Common)
	feedback := append([]string(nil), r.Context...)
	if r.Block {
		feedback = append(feedback, r.Reason)
	}
	switch {
	case r.Stop:
		out.Reason, out.Detail = HookStopped, r.StopReason
		return false, nil
	case len(feedback) == 0 || ctx.Err() != nil:
		return false, nil
	case blocks+1 > MaxStopBlocks:
		a.notice(fmt.Sprintf("Stop hooks kept the agent going %d times in a row; it is stopped now.", MaxStopBlocks))
		return false, nil
	}
	return true, a.add(tool.UserText(strings.Join(feedback, "\n")))
}

func (a *Agent) hookNotices(c hook.Common) {
	for _, s := range c.SystemMessages {
		a.notice(s)
	}
	for _, s := range c.Problems() {
		a.notice(s)
	}
}

// api gives the tools of the next request.
func (a *Agent) api() ([]schema.APITool, error) {
	pool := a.cfg.Pool()
	tools, problems := pool.API()
	for _, p := range problems {
		a.notice(fmt.Sprintf("The tool %s is left out: %v", p.Tool, p.Err))
	}
	if a.cfg.Disclose == nil {
		return tools, nil
	}
	plan := a.cfg.Disclose.Select(pool.Tools(), tools, a.messages)
	if plan.Notice != "" { // it stays in the conversation, as a block of its own
		if err := a.add(tool.UserText(plan.Notice)); err != nil {
			return nil, err
		}
	}
	return plan.Tools, nil
}

// ErrRefused says that the model refused to answer.
var ErrRefused = errors.New("the model refused to answer")
