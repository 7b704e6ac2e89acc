package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/gate"
	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/internal/schedule"
	"github.com/sevengate/sevengate/tool"
)

// turn is one request and the calls that came of it.
type turn struct {
	calls      int
	pause      bool   // the provider wants the same conversation again
	cut        string // the response was cut short; the model was told
	stop       bool
	stopReason string
}

// job is a ticket in the queue.
type job struct{ ticket *gate.Ticket }

func (j job) Bind(now tool.Context) *tool.Call { return j.ticket.Bind(now) }
func (j job) MayChange() bool                  { return j.ticket.MayChange() }
func (j job) Run(ctx context.Context, s *schedule.Slot) *gate.Result {
	return j.ticket.Run(ctx, s)
}

// NewQueue makes the queue that runs the calls of one message through the
// gate.
func NewQueue(ctx context.Context, c *gate.Conversation, p schedule.Policy, max int) *schedule.Queue[*gate.Result] {
	return schedule.New(ctx, schedule.Config[*gate.Result]{
		Max: max, Policy: p,
		Context:  c.Context,
		Modifier: (*gate.Result).Modifier,
		Apply:    c.Apply,
		Failed:   (*gate.Result).Failed,
	})
}

// NewJob makes a job of a ticket.
func NewJob(t *gate.Ticket) schedule.Job[*gate.Result] { return job{t} }

func (a *Agent) turn(ctx context.Context, out *Outcome) (t turn, err error) {
	queue := NewQueue(ctx, a.cfg.Conversation, a.cfg.Schedule, a.cfg.MaxConcurrent)
	a.mu.Lock()
	a.queue = queue
	a.mu.Unlock()

	message, openTool, streamErr := a.stream(ctx, queue, out)
	queue.Close()
	t.calls = len(message.ToolUses())
	out.Calls += t.calls

	// Results are collected also after an error: what was seen is answered.
	if len(message.Content) > 0 {
		if err := a.add(message); err != nil {
			queue.Wait()
			return t, err
		}
	}
	var results []*gate.Result
	for r := range queue.Results() {
		results = append(results, r)
		for _, n := range r.Notices {
			a.notice(n)
		}
		a.cfg.Observe(Event{Kind: EventResult, Result: r})
		if r.Denied {
			out.Denials = append(out.Denials, Denial{Tool: r.Use.Name, Use: r.Use, Cause: r.Decision.Reason})
		}
		if r.Stop && !t.stop {
			t.stop, t.stopReason = true, r.StopReason
		}
	}
	var note string
	switch {
	case ctx.Err() != nil:
	case openTool && out.StopReason == "max_tokens":
		note = fmt.Sprintf("Your response was cut at the limit of %d output tokens in the middle of a tool call, which was not made. Do it in smaller steps.", a.maxTokens())
	case streamErr != nil && isIncomplete(streamErr):
		note = "Your response was cut off by a connection error after the calls above. They were made once; a call after them that was not complete was not made. Go on from here."
	}
	if len(results) > 0 || note != "" {
		m := a.cfg.Gate.MessageOf(results)
		if note != "" {
			m.Content = append(m.Content, tool.TextBlock(note))
			t.cut = note
			if len(results) > 0 {
				t.cut = "" // there is progress
			}
		}
		if err := a.add(m); err != nil {
			return t, err
		}
	}
	if streamErr != nil && !isIncomplete(streamErr) {
		return t, streamErr
	}
	if ctx.Err() != nil {
		return t, context.Cause(ctx)
	}
	switch message.StopReason {
	case "pause_turn":
		t.pause = true
	case "refusal":
		return t, ErrRefused
	case "model_context_window_exceeded":
		return t, errors.New("the conversation no longer fits the model's context window")
	}
	return t, nil
}

func (a *Agent) maxTokens() int {
	if a.cfg.MaxTokens > 0 {
		return a.cfg.MaxTokens
	}
	return model.DefaultMaxTokens
}

func isIncomplete(err error) bool {
	var incomplete *model.IncompleteError
	return errors.As(err, &incomplete)
}

// stream makes the request, queues every complete call, and returns what of
// the response is complete. openTool tells whether a tool_use was begun and
// never completed.
func (a *Agent) stream(ctx context.Context, queue *schedule.Queue[*gate.Result], out *Outcome) (message tool.Message, openTool bool, err error) {
	a.cfg.Observe(Event{Kind: EventRequest})
	begin := time.Now()
	defer func() { out.ModelTime += time.Since(begin) }()
	tools, err := a.api()
	if err != nil {
		return message, false, err
	}
	request := model.Request{Model: a.cfg.Model, System: a.cfg.System, Messages: a.Messages(), Tools: tools, MaxTokens: a.cfg.MaxTokens}

	var complete []tool.Block
	var partial strings.Builder // text of a block that is not complete yet
	message.Role = tool.RoleAssistant
	finish := func(err error) (tool.Message, bool, error) {
		// What arrived before an interrupt is kept; a text without its end too.
		message.Content = complete
		if s := partial.String(); strings.TrimSpace(s) != "" {
			message.Content = append(message.Content, tool.TextBlock(s))
		}
		out.Text = message.Text()
		return message, openTool, err
	}
	for e, err := range a.cfg.Provider.Stream(ctx, request) {
		if err != nil {
			return finish(err)
		}
		switch e.Kind {
		case model.EventStart:
			message.ID, message.Model = e.Message.ID, e.Message.Model
			complete, openTool = nil, false
			partial.Reset()
		case model.EventText:
			partial.WriteString(e.Text)
			a.cfg.Observe(Event{Kind: EventText, Text: e.Text})
		case model.EventThinking:
			a.cfg.Observe(Event{Kind: EventThinking, Text: e.Text})
		case model.EventToolStart:
			openTool = true
		case model.EventBlock:
			complete = append(complete, e.Block)
			partial.Reset()
			if e.Block.Type == tool.BlockToolUse {
				openTool = false
				queue.Add(NewJob(a.cfg.Gate.Admit(a.cfg.Conversation, e.Block)))
			}
		case model.EventRetry:
			a.cfg.Observe(Event{Kind: EventRetry, Retry: e})
		case model.EventEnd:
			message = e.Message
			message.Role = tool.RoleAssistant
			message.Content = complete
			out.StopReason = e.Message.StopReason
			out.Text = message.Text()
			if u := e.Message.Usage; u != nil {
				out.Usage.InputTokens += u.InputTokens
				out.Usage.OutputTokens += u.OutputTokens
				out.Usage.CacheCreationInputTokens += u.CacheCreationInputTokens
				out.Usage.CacheReadInputTokens += u.CacheReadInputTokens
			}
			return message, openTool, nil
		}
	}
	if ctx.Err() != nil {
		return finish(context.Cause(ctx))
	}
	return finish(errors.New("the model's response ended without its end"))
}
