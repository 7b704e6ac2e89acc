package server

//lint:file-ignore SA1019 sampling and logging are deprecated since 2026-07-28, and still what clients speak

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/tool"
)

// Errors of asking a client.
var (
	// ErrNoRequest: the request that the question belongs to is over.
	ErrNoRequest = errors.New("the request is over, so its client cannot be asked")
	// ErrCannotAsk: the client cannot put questions to its person.
	ErrCannotAsk = errors.New("the client cannot ask its person (it did not declare elicitation)")
	// ErrCannotSample: the client lends nobody its model.
	ErrCannotSample = errors.New("the client does not let servers use its model (it did not declare sampling)")
)

// request is a client's request that is being answered.
type request struct {
	ctx     context.Context // its values lead messages to the request's own stream
	session *sdk.ServerSession
	extra   *sdk.RequestExtra
}

// begin names a request, so that it can be referred to until end is called.
func (s *Server) begin(ctx context.Context, session *sdk.ServerSession, extra *sdk.RequestExtra) (id string, end func()) {
	id = fmt.Sprintf("toolu_mcp_%d", s.seq.Add(1))
	s.requests.Store(id, &request{ctx, session, extra})
	return id, func() { s.requests.Delete(id) }
}

func (s *Server) request(id string) (*request, bool) {
	v, ok := s.requests.Load(id)
	if !ok {
		return nil, false
	}
	return v.(*request), true
}

// join gives a context that ends when ctx or the request does.
func (r *request) join(ctx context.Context) (context.Context, context.CancelFunc) {
	joined, cancel := context.WithCancelCause(r.ctx)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return joined, func() { stop(); cancel(nil) }
}

func (r *request) capabilities() *sdk.ClientCapabilities {
	if p := r.session.InitializeParams(); p != nil && p.Capabilities != nil {
		return p.Capabilities
	}
	return &sdk.ClientCapabilities{}
}

// CanAsk tells whether the client that made a request can ask its person.
func (s *Server) CanAsk(id string) bool {
	r, ok := s.request(id)
	return ok && r.capabilities().Elicitation != nil
}

// CanSample tells whether the client that made a request lends its model.
func (s *Server) CanSample(id string) bool {
	r, ok := s.request(id)
	return ok && r.capabilities().Sampling != nil
}

// SameClient tells whether all of the requests that are not over came from one
// client.
func (s *Server) SameClient(ids ...string) bool {
	var first *sdk.ServerSession
	for _, id := range ids {
		if r, ok := s.request(id); ok {
			if first != nil && r.session != first {
				return false
			}
			first = r.session
		}
	}
	return true
}

// Elicit puts a form, or an address to open, to the person behind the client
// that made a request. It fails with [ErrCannotAsk] where there is none.
func (s *Server) Elicit(ctx context.Context, id string, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	r, ok := s.request(id)
	if !ok {
		return nil, ErrNoRequest
	}
	if r.capabilities().Elicitation == nil {
		return nil, ErrCannotAsk
	}
	ctx, cancel := r.join(ctx)
	defer cancel()
	return r.session.Elicit(ctx, p)
}

// Sample asks the model of the client that made a request. It fails with
// [ErrCannotSample] where the client does not allow that.
func (s *Server) Sample(ctx context.Context, id string, p *sdk.CreateMessageParams) (*sdk.CreateMessageResult, error) {
	r, ok := s.request(id)
	if !ok {
		return nil, ErrNoRequest
	}
	if r.capabilities().Sampling == nil {
		return nil, ErrCannotSample
	}
	ctx, cancel := r.join(ctx)
	defer cancel()
	return r.session.CreateMessage(ctx, p)
}

// logTime bounds how long a log message may take to be sent.
const logTime = 5 * time.Second

// Log sends a message to the client that made a request or, where id is empty,
// to all clients. It comes only to clients that asked for messages of its
// level.
func (s *Server) Log(ctx context.Context, id string, p *sdk.LoggingMessageParams) {
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	if id == "" {
		for session := range s.sdk.Sessions() {
			_ = session.Log(ctx, p)
		}
		return
	}
	if r, ok := s.request(id); ok {
		ctx, cancel := r.join(ctx)
		defer cancel()
		_ = r.session.Log(ctx, p)
	}
}

// CloseStream ends the HTTP response that carries the messages of a request,
// while the request goes on; the client comes back for the rest after the given
// time. It does nothing on other transports.
func (s *Server) CloseStream(id string, comeBackAfter time.Duration) {
	if r, ok := s.request(id); ok && r.extra != nil && r.extra.CloseSSEStream != nil {
		r.extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: comeBackAfter})
	}
}

// Question asks a client's person for leave to make a call.
type Question struct {
	CallID  string
	Message string
	// Rules would answer the question for good, the narrowest first.
	Rules []tool.Suggestion
}

// Answer is what was said. Rule is one of the question's, where it was chosen.
type Answer struct {
	Allow   bool
	Rule    string
	Message string // why not; for the model
}

// Ask puts a question about a call to the person behind its client. Where the
// client cannot ask, the answer is no and names the rule that would allow it.
func (s *Server) Ask(ctx context.Context, q Question) (Answer, error) {
	const once, no = "allow once", "deny"
	options := []any{once}
	for _, r := range q.Rules[:min(len(q.Rules), tool.MaxSuggestions)] {
		options = append(options, "allow "+r.Rule)
	}
	options = append(options, no)
	res, err := s.Elicit(ctx, q.CallID, &sdk.ElicitParams{Mode: "form", Message: q.Message, RequestedSchema: map[string]any{
		"type": "object", "required": []any{"decision"},
		"properties": map[string]any{"decision": map[string]any{"type": "string", "title": "Decision", "enum": options}},
	}})
	switch {
	case errors.Is(err, ErrCannotAsk) || errors.Is(err, ErrNoRequest):
		why := "this call needs a person's leave, and the client cannot ask one"
		if len(q.Rules) > 0 {
			why += fmt.Sprintf("; the rule %q in permissions.allow would allow it", q.Rules[0].Rule)
		}
		return Answer{Message: why}, nil
	case err != nil:
		return Answer{Message: "the client could not ask its person"}, fmt.Errorf("asking through the MCP client: %w", err)
	}
	choice, _ := res.Content["decision"].(string)
	if res.Action != "accept" || choice == no || !slices.Contains(options, any(choice)) {
		return Answer{Message: "the person said no"}, nil
	}
	a := Answer{Allow: true}
	for _, r := range q.Rules {
		if choice == "allow "+r.Rule {
			a.Rule = r.Rule
		}
	}
	return a, nil
}
