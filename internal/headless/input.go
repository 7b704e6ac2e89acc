package headless

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sevengate/sevengate/tool"
)

// Limits of what is read from standard input.
const (
	MaxPrompt = 10 << 20 // a prompt as text
	maxLine   = 64 << 20 // a line of the stream form
)

// ReadPrompt reads a prompt that is piped in.
func ReadPrompt(in io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(in, MaxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("reading the prompt from standard input: %w", err)
	}
	if len(raw) > MaxPrompt {
		return "", fmt.Errorf("the prompt on standard input is larger than %d bytes", MaxPrompt)
	}
	return strings.TrimSpace(string(raw)), nil
}

// Feed runs every user message of a stream of JSON lines as a turn of its own,
// until the stream ends. replay repeats the messages on the output.
func (p *Printer) Feed(ctx context.Context, in io.Reader, replay bool) (ok bool, err error) {
	ok = true
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for n := 1; lines.Scan() && ctx.Err() == nil; n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		var m struct {
			Type      string          `json:"type"`
			Message   *tool.Message   `json:"message"`
			RequestID string          `json:"request_id"`
			Request   json.RawMessage `json:"request"`
			UUID      string          `json:"uuid"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return false, fmt.Errorf("standard input, line %d: not a message: %w", n, err)
		}
		switch m.Type {
		case "control_request":
			p.control(m.RequestID, m.Request)
			continue
		case "user":
		default:
			return false, fmt.Errorf(`standard input, line %d: "type" is %q; it must be "user" or "control_request"`, n, m.Type)
		}
		if m.Message == nil || m.Message.Role != tool.RoleUser || len(m.Message.Content) == 0 {
			return false, fmt.Errorf(`standard input, line %d: "message" must be a user message with content`, n)
		}
		if replay {
			p.line(map[string]any{"type": "user", "message": m.Message, "parent_tool_use_id": nil, "isReplay": true})
		}
		_, good, err := p.Run(ctx, *m.Message)
		if err != nil {
			return false, err
		}
		ok = ok && good
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("reading standard input: %w", err)
	}
	return ok, nil
}

// control answers a request of the host program between turns.
func (p *Printer) control(id string, raw json.RawMessage) {
	var req struct {
		Subtype string `json:"subtype"`
		Mode    string `json:"mode"`
	}
	answer := func(fields map[string]any) {
		fields["request_id"] = id
		p.line(map[string]any{"type": "control_response", "response": fields})
	}
	fail := func(err error) { answer(map[string]any{"subtype": "error", "error": err.Error()}) }
	if err := json.Unmarshal(raw, &req); err != nil {
		fail(fmt.Errorf("request: %w", err))
		return
	}
	switch req.Subtype {
	case "initialize":
		answer(map[string]any{"subtype": "success", "response": map[string]any{"commands": []any{}, "agents": []any{}, "output_style": "default",
			"available_output_styles": []string{"default"}, "models": []any{}, "account": map[string]any{}}})
	case "set_permission_mode":
		if err := p.runtime.SetMode(req.Mode); err != nil {
			fail(err)
			return
		}
		answer(map[string]any{"subtype": "success", "response": map[string]any{"mode": p.runtime.Mode()}})
	default:
		fail(fmt.Errorf("the request %q is not supported; initialize and set_permission_mode are", req.Subtype))
	}
}
