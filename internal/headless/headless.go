// Package headless is the face without a person: one answer on standard output,
// as text, as one JSON object, or as a stream of JSON lines. Nothing but the
// answer goes to standard output.
package headless

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/agent"
	"github.com/sevengate/sevengate/internal/session"
	"github.com/sevengate/sevengate/tool"
)

// Format is a form of output.
type Format string

// The forms of output.
const (
	Text       Format = "text"
	JSON       Format = "json"
	StreamJSON Format = "stream-json"
)

// ParseFormat reads the name of a form of output.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Text, JSON, StreamJSON:
		return f, nil
	}
	return "", fmt.Errorf("output format %q: it must be text, json or stream-json", s)
}

// Printer writes what happens in a form of output. Observe must be given to the
// runtime before Start.
type Printer struct {
	format  Format
	out     io.Writer
	err     io.Writer
	runtime *sevengate.Runtime
	partial bool

	mu      sync.Mutex
	failed  error
	results map[string]*sevengate.Result // of the current turn, by tool_use id
}

// NewPrinter writes answers to out and notices to errOut. partial adds the
// model's pieces of text to the stream form.
func NewPrinter(format Format, out, errOut io.Writer, partial bool) *Printer {
	return &Printer{format: format, out: out, err: errOut, partial: partial, results: map[string]*sevengate.Result{}}
}

// Observe takes the events of a run.
func (p *Printer) Observe(e sevengate.Event) {
	switch e.Kind {
	case agent.EventNotice:
		fmt.Fprintf(p.err, "sevengate: %s\n", e.Text)
	case agent.EventResult:
		p.results[e.Result.Use.ID] = e.Result
	case agent.EventRetry:
		if p.format == StreamJSON {
			p.line(map[string]any{"type": "system", "subtype": "api_retry", "attempt": e.Retry.Attempt - 1, "max_retries": e.Retry.MaxAttempts - 1,
				"retry_delay_ms": e.Retry.Delay.Milliseconds(), "error": fmt.Sprint(e.Retry.Err)})
		} else {
			fmt.Fprintf(p.err, "sevengate: the model's API: %v; trying again in %s\n", e.Retry.Err, e.Retry.Delay.Round(100*time.Millisecond))
		}
	case agent.EventText:
		if p.format == StreamJSON && p.partial {
			p.line(map[string]any{"type": "stream_event", "parent_tool_use_id": nil,
				"event": map[string]any{"type": "content_block_delta", "delta": map[string]any{"type": "text_delta", "text": e.Text}}})
		}
	case agent.EventMessage:
		if p.format == StreamJSON {
			p.message(e.Message)
		}
	}
}

func (p *Printer) message(m *tool.Message) {
	if m.Role == tool.RoleAssistant {
		p.line(map[string]any{"type": "assistant", "message": m, "parent_tool_use_id": nil})
		return
	}
	line := map[string]any{"type": "user", "message": m, "parent_tool_use_id": nil}
	uses := 0
	for _, b := range m.Content {
		if b.Type != tool.BlockToolResult {
			continue
		}
		uses++
		if r := p.results[b.ToolUseID]; r != nil {
			if r.Outcome.Data != nil {
				line["tool_use_result"] = r.Outcome.Data
			}
			if r.Denied {
				p.line(map[string]any{"type": "system", "subtype": "permission_denied", "tool_name": r.Use.Name, "tool_use_id": r.Use.ID,
					"decision_reason_type": r.Decision.Reason.Layer, "message": r.Decision.Reason.Message})
			}
			delete(p.results, b.ToolUseID)
		}
	}
	switch {
	case uses == 0:
		return // the prompt: whoever sent it knows it
	case uses > 1:
		delete(line, "tool_use_result") // it would not say whose it is
	}
	p.line(line)
}

// line writes one JSON object with the fields that all lines have.
func (p *Printer) line(fields map[string]any) {
	fields["uuid"] = session.NewID()
	if p.runtime != nil {
		fields["session_id"] = p.runtime.SessionID()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(fields); err != nil && p.failed == nil {
		p.failed = err
	}
}

// Start writes what comes before the first answer.
func (p *Printer) Start(r *sevengate.Runtime) {
	p.runtime = r
	if p.format != StreamJSON {
		return
	}
	tools, _, _ := r.Tools()
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name()
	}
	p.line(map[string]any{"type": "system", "subtype": "init", "cwd": r.Dir(), "tools": names, "mcp_servers": []any{}, "model": r.Model(),
		"permissionMode": r.Mode(), "slash_commands": []any{}, "apiKeySource": "none", "sevengate_version": sevengate.Version})
}

// Run puts a prompt and writes its answer. ok is false when the run failed.
func (p *Printer) Run(ctx context.Context, prompt tool.Message) (out sevengate.Outcome, ok bool, err error) {
	begin := time.Now()
	out, runErr := p.runtime.RunMessage(ctx, prompt)
	ok = runErr == nil && (out.Reason == agent.Completed || out.Reason == agent.HookStopped)
	switch p.format {
	case Text:
		switch {
		case runErr != nil:
			fmt.Fprintf(p.err, "sevengate: %v\n", runErr)
		case !ok:
			fmt.Fprintf(p.err, "sevengate: %s\n", ending(out))
		}
		if out.Text != "" {
			if _, err := fmt.Fprintln(p.out, out.Text); err != nil {
				return out, ok, err
			}
		}
	default:
		p.line(p.result(out, ok, runErr, time.Since(begin)))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return out, ok, p.failed
}

func ending(out sevengate.Outcome) string {
	if out.Detail != "" {
		return out.Detail
	}
	return "the run ended: " + string(out.Reason)
}

// result is the last object of an answer.
func (p *Printer) result(out sevengate.Outcome, ok bool, runErr error, took time.Duration) map[string]any {
	denials := make([]map[string]any, 0, len(out.Denials))
	for _, d := range out.Denials {
		denials = append(denials, map[string]any{"tool_name": d.Tool, "tool_use_id": d.Use.ID, "tool_input": d.Use.Input})
	}
	r := map[string]any{
		"type": "result", "subtype": "success", "is_error": !ok, "duration_ms": took.Milliseconds(), "duration_api_ms": out.ModelTime.Milliseconds(),
		"num_turns": out.Turns, "stop_reason": out.StopReason, "usage": out.Usage, "permission_denials": denials, "terminal_reason": out.Reason,
	}
	switch {
	case runErr != nil:
		r["subtype"], r["errors"] = "error_during_execution", []string{runErr.Error()}
	case out.Reason == agent.MaxTurns:
		r["subtype"], r["errors"] = "error_max_turns", []string{ending(out)}
	case !ok:
		r["subtype"], r["errors"] = "error_during_execution", []string{ending(out)}
	default:
		r["result"] = out.Text
	}
	return r
}
