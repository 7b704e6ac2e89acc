package client

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and still what servers speak

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/internal/mcp/form"
	"github.com/sevengate/sevengate/tool"
)

// Elicitor puts a server's question to the person.
type Elicitor interface {
	Elicit(ctx context.Context, q Elicitation) (Reply, error)
}

// Elicitation is a question of a server. All text in it is the server's.
type Elicitation struct {
	Server  string
	Message string
	// Schema describes the flat form to fill in; nil where URL is set.
	Schema json.RawMessage
	// URL is an address that the person is to open.
	URL string
}

// Reply is what the person did: "accept", "decline" or "cancel". Content is
// what was filled in.
type Reply struct {
	Action  string
	Content map[string]any
}

// Sampler asks the model in a server's place. It must ask the person first.
type Sampler interface {
	Sample(ctx context.Context, q Sampling) (tool.Message, error)
}

// Sampling is what a server wants of the model.
type Sampling struct {
	Server    string
	System    string
	Messages  []tool.Message
	MaxTokens int
}

// Limits of servers' questions.
const (
	maxElicitText = 4 << 10
	maxElicitURL  = 4 << 10
	maxSampleText = 200_000
)

// asked runs a question of a server: while it is open, the calls of that server
// are not idle. It ends when the manager does.
func asked[T any](ctx context.Context, s *server, ask func(context.Context) (T, error)) (T, error) {
	s.asking.Add(1)
	defer func() {
		s.calls.Range(func(_, v any) bool { v.(*callState).alive(); return true })
		s.asking.Add(-1)
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l != nil {
		defer context.AfterFunc(l.calls, cancel)()
	} else if life := s.m.life(); life != nil {
		defer context.AfterFunc(life, cancel)()
	}
	return ask(ctx)
}

func (m *Manager) life() context.Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ctx
}

func (s *server) elicit(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	p := req.Params
	q := Elicitation{Server: s.cfg.Name, Message: form.Description(p.Message, maxElicitText), URL: p.URL}
	if len(p.URL) > maxElicitURL {
		return nil, fmt.Errorf("the address has more than %d bytes", maxElicitURL)
	}
	if p.RequestedSchema != nil {
		raw, err := json.Marshal(p.RequestedSchema)
		if err != nil {
			return nil, fmt.Errorf("the form cannot be read: %w", err)
		}
		q.Schema = raw
	}
	r, err := asked(ctx, s, func(ctx context.Context) (Reply, error) { return s.m.cfg.Elicitor.Elicit(ctx, q) })
	if err != nil {
		return nil, err
	}
	switch r.Action {
	case "accept":
		return &sdk.ElicitResult{Action: r.Action, Content: r.Content}, nil
	case "decline", "cancel":
		return &sdk.ElicitResult{Action: r.Action}, nil
	}
	return &sdk.ElicitResult{Action: "decline"}, nil
}

func (s *server) sample(ctx context.Context, req *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
	p := req.Params
	q := Sampling{Server: s.cfg.Name, System: p.SystemPrompt, MaxTokens: int(min(max(p.MaxTokens, 1), 64_000))}
	size := len(p.SystemPrompt)
	for _, m := range p.Messages {
		text, ok := m.Content.(*sdk.TextContent)
		if !ok {
			return nil, fmt.Errorf("only text can be sampled")
		}
		role := tool.RoleUser
		if m.Role == "assistant" {
			role = tool.RoleAssistant
		}
		size += len(text.Text)
		q.Messages = append(q.Messages, tool.Message{Role: role, Content: []tool.Block{tool.TextBlock(text.Text)}})
	}
	if size > maxSampleText || len(q.Messages) == 0 {
		return nil, fmt.Errorf("there must be at least one message, and at most %d characters in all", maxSampleText)
	}
	a, err := asked(ctx, s, func(ctx context.Context) (tool.Message, error) { return s.m.cfg.Sampler.Sample(ctx, q) })
	if err != nil {
		return nil, err
	}
	return &sdk.CreateMessageResult{Role: "assistant", Model: a.Model, StopReason: "endTurn", Content: &sdk.TextContent{Text: a.Text()}}, nil
}
