package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/tool"
)

// callState is a call that runs: its own timer, and whom to tell of progress.
type callState struct {
	env  *tool.Env
	over context.CancelCauseFunc
	s    *server

	mu   sync.Mutex
	idle *time.Timer // nil: never idle
	told time.Time   // of progress, last
}

// minNews is the least time between two pieces of news of one call.
const minNews = 50 * time.Millisecond

// due tells whether it is time for news again.
func (c *callState) due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.told) < minNews {
		return false
	}
	c.told = time.Now()
	return true
}

// CallError is a call that failed without a result of the tool.
type CallError struct {
	Server, Tool string
	Text         string
	// MayHaveRun: the server may have carried the call out.
	MayHaveRun bool
}

func (e *CallError) Error() string {
	text := fmt.Sprintf("%s of MCP server %s: %s", e.Tool, e.Server, e.Text)
	if e.MayHaveRun {
		text += "; the call may have been carried out, and was not repeated"
	}
	return text
}

type timeoutError struct{ text string }

func (e *timeoutError) Error() string { return e.text }

// callTool makes one call and turns its answer into a result.
func (s *server) callTool(ctx context.Context, name string, in json.RawMessage, env *tool.Env) (tool.Result[Output], error) {
	res, err := s.call(ctx, name, in, env)
	if err != nil {
		return tool.Result[Output]{}, err
	}
	return s.result(res, env), nil
}

// call makes one call. It is repeated only where the server has provably not
// begun it.
func (s *server) call(ctx context.Context, name string, in json.RawMessage, env *tool.Env) (*sdk.CallToolResult, error) {
	for again := false; ; again = true {
		l, err := s.ready(ctx)
		if err != nil {
			return nil, err
		}
		res, err := s.once(ctx, l, name, in, env)
		if err == nil {
			s.works(l)
			s.afterCall()
			return res, nil
		}
		if !again && (errors.Is(err, sdk.ErrSessionMissing) || errors.Is(err, sdk.ErrConnectionClosed)) {
			// The server does not know the session any more, so it refused the call
			// before it looked at it; or the connection had ended before the call
			// was sent.
			if s.lost(ctx, l) {
				continue
			}
		}
		return nil, s.callError(ctx, name, err)
	}
}

// works takes note that a server that had refused answers again.
func (s *server) works(l *link) {
	s.mu.Lock()
	again := s.state == NeedsAuth && s.link == l
	s.signIns = 0
	s.mu.Unlock()
	if again {
		s.set(Connected, "")
	}
}

// lost waits until a connection that has ended was noticed.
func (s *server) lost(ctx context.Context, l *link) bool {
	select {
	case <-l.done:
	case <-ctx.Done():
		return false
	}
	for {
		change := s.m.nextChange()
		s.mu.Lock()
		still := s.link == l
		s.mu.Unlock()
		if !still {
			return true
		}
		select {
		case <-change:
		case <-time.After(50 * time.Millisecond): // unlinking itself announces nothing
		case <-ctx.Done():
			return false
		}
	}
}

func (s *server) once(ctx context.Context, l *link, name string, in json.RawMessage, env *tool.Env) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.calls, func() { cancel(context.Cause(l.calls)) })()
	wall := time.AfterFunc(s.times.Call, func() {
		cancel(&timeoutError{fmt.Sprintf("no answer within %s (the timeout of the server's entry, or MCP_TOOL_TIMEOUT)", s.times.Call)})
	})
	defer wall.Stop()
	c := &callState{env: env, over: cancel, s: s}
	if s.times.Idle > 0 {
		c.mu.Lock()
		c.idle = time.AfterFunc(s.times.Idle, c.silent)
		c.mu.Unlock()
		defer c.stop()
	}
	token := fmt.Sprintf("call-%d", s.tokenSeq.Add(1))
	s.calls.Store(token, c)
	defer s.calls.Delete(token)
	if len(in) == 0 {
		in = json.RawMessage("{}")
	}
	params := &sdk.CallToolParams{Name: name, Arguments: in}
	params.SetProgressToken(token)
	res, err := l.session.CallTool(ctx, params)
	if err != nil && ctx.Err() != nil && !errors.Is(err, sdk.ErrSessionMissing) {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
	}
	return res, err
}

// silent ends a call from which nothing was heard, unless the server is waiting
// for an answer itself.
func (c *callState) silent() {
	if c.s.asking.Load() > 0 {
		c.alive()
		return
	}
	c.over(&timeoutError{fmt.Sprintf("neither an answer nor progress within %s (CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT)", c.s.times.Idle)})
}

// alive begins the idle time anew.
func (c *callState) alive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle != nil {
		c.idle.Reset(c.s.times.Idle)
	}
}

func (c *callState) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle.Stop()
	c.idle = nil
}

// progressed passes news on to the call that they belong to.
func (s *server) progressed(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
	p := req.Params
	if p == nil {
		return
	}
	token, _ := p.ProgressToken.(string)
	v, ok := s.calls.Load(token)
	if !ok {
		return
	}
	c := v.(*callState)
	c.alive()
	if !c.due() {
		return
	}
	text := oneLine(p.Message)
	switch {
	case p.Total > 0:
		text = strings.TrimSpace(fmt.Sprintf("%s (%g of %g)", text, p.Progress, p.Total))
	case text == "":
		text = fmt.Sprintf("%g", p.Progress)
	}
	c.env.Report(tool.Progress{Text: text, Data: map[string]any{"progress": p.Progress, "total": p.Total, "message": p.Message}})
}

// callError words what went wrong, and notes what it says about the server.
func (s *server) callError(ctx context.Context, name string, err error) error {
	fail := func(mayHaveRun bool, format string, args ...any) error {
		return &CallError{Server: s.cfg.Name, Tool: name, Text: fmt.Sprintf(format, args...), MayHaveRun: mayHaveRun}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *AuthError
	var late *timeoutError
	var rpc *jsonrpc.Error
	var gone *UnavailableError
	switch {
	case errors.As(err, &gone):
		return err
	case errors.As(err, &refused):
		s.refused(refused)
		if refused.Static {
			return fail(false, "the server refused the configured Authorization header; ask the user to correct it")
		}
		if refused.Cause != nil {
			return fail(false, "the server asks for authentication, and no token could be got: %v", refused.Cause)
		}
		return &UnavailableError{s.cfg.Name, NeedsAuth, ""}
	case errors.As(err, &late):
		return fail(true, "%s", late.text)
	case errors.Is(err, errLinkClosed):
		return fail(true, "the connection was closed")
	case errors.As(err, &rpc):
		switch rpc.Code {
		case sdk.CodeURLElicitationRequired:
			return fail(false, "the server asks the user to open an address first: %s", elicitationURLs(rpc.Data))
		case codeTooLarge:
			return fail(true, "%s", rpc.Message)
		}
		return fail(false, "%s (code %d)", longText(rpc.Message), rpc.Code)
	}
	if strings.Contains(err.Error(), "cannot unmarshal") { // the parser's own errors cannot be told apart by type
		return fail(true, "the server's answer is not what the protocol says: %s", withoutAddress(err))
	}
	return fail(true, "the connection was lost: %s", withoutAddress(err))
}

// elicitationURLs lists the addresses that a server wants to be opened.
func elicitationURLs(data json.RawMessage) string {
	var d struct {
		Elicitations []struct{ Message, URL string } `json:"elicitations"`
	}
	if json.Unmarshal(data, &d) != nil || len(d.Elicitations) == 0 {
		return "(it gave none)"
	}
	var out []string
	for _, e := range d.Elicitations[:min(len(d.Elicitations), 5)] {
		out = append(out, strings.TrimSpace(oneLine(e.Message)+" "+oneLine(e.URL)))
	}
	return strings.Join(out, "; ")
}

// longText is an error's text, which may have several lines.
func longText(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "?")
	if r := []rune(s); len(r) > 4000 {
		return string(r[:3999]) + "…"
	}
	return s
}

// CallTool calls a tool by its server's own names, waiting for a server that is
// being connected to. The text of the answer is joined.
func (m *Manager) CallTool(ctx context.Context, serverName, name string, input json.RawMessage) (text string, isError bool, err error) {
	s, err := m.server(serverName)
	if err != nil {
		return "", false, err
	}
	res, err := s.call(ctx, name, input, &tool.Env{})
	if err != nil {
		return "", false, err
	}
	return joinText(res.Content), res.IsError, nil
}
