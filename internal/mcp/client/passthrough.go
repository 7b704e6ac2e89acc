package client

//lint:file-ignore SA1019 logging is deprecated since 2026-07-28, and still what servers speak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/internal/mcp/form"
	"github.com/sevengate/sevengate/tool"
)

// What follows hands on what servers offer as they gave it, for programs that
// stand between a server and a client of their own. What a model is to see
// comes from the other methods.

// Offer is what one connected server lets be read.
type Offer struct {
	Server    string
	Resources []*sdk.Resource
	Templates []*sdk.ResourceTemplate
}

// Offer lists what a connected server lets be read; nothing where it is not
// connected or has no resources.
func (m *Manager) Offer(ctx context.Context, name string) (Offer, error) {
	s, err := m.server(name)
	if err != nil {
		return Offer{}, err
	}
	out := Offer{Server: s.cfg.Name}
	l, caps := s.now()
	if l == nil || caps.Resources == nil {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.times.Connect)
	defer cancel()
	out.Resources, _, err = pages(maxListed, func(cursor string) ([]*sdk.Resource, string, error) {
		r, err := l.session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.Resources, r.NextCursor, nil
	})
	if err != nil && !unknownMethod(err) {
		return out, s.passError(ctx, "listing the resources", err)
	}
	// Many servers have no templates and do not know the question.
	out.Templates, _, _ = pages(maxListed, func(cursor string) ([]*sdk.ResourceTemplate, string, error) {
		r, err := l.session.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.ResourceTemplates, r.NextCursor, nil
	})
	out.Resources = slices.DeleteFunc(out.Resources, func(r *sdk.Resource) bool { return r == nil || r.URI == "" })
	out.Templates = slices.DeleteFunc(out.Templates, func(r *sdk.ResourceTemplate) bool { return r == nil || r.URITemplate == "" })
	return out, nil
}

// now gives the connection, if there is one, and what the server can do.
func (s *server) now() (*link, *sdk.ServerCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil && s.lists.info != nil && s.lists.info.Capabilities != nil {
		return s.link, s.lists.info.Capabilities
	}
	return s.link, &sdk.ServerCapabilities{}
}

// passError keeps the code of a server's refusal and words the rest.
func (s *server) passError(ctx context.Context, doing string, err error) error {
	worded := s.otherError(ctx, doing, err)
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && ctx.Err() == nil {
		return &jsonrpc.Error{Code: rpc.Code, Message: worded.Error()}
	}
	return worded
}

// request makes one request of a server that only reads, waiting for a
// connection that is being made.
func request[T any](ctx context.Context, m *Manager, server, doing string, ask func(context.Context, *sdk.ClientSession) (T, error)) (T, error) {
	var none T
	s, err := m.server(server)
	if err != nil {
		return none, err
	}
	l, err := s.ready(ctx)
	if err != nil {
		return none, err
	}
	limit := min(s.times.Call, resourceTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &timeoutError{fmt.Sprintf("no answer within %s", limit)})
	defer cancel()
	out, err := ask(ctx, l.session)
	if err != nil {
		return none, s.passError(ctx, doing, err)
	}
	return out, nil
}

// ReadRaw reads a resource and gives what the server said.
func (m *Manager) ReadRaw(ctx context.Context, server, uri string) (*sdk.ReadResourceResult, error) {
	return request(ctx, m, server, "reading "+oneLine(uri), func(ctx context.Context, c *sdk.ClientSession) (*sdk.ReadResourceResult, error) {
		return c.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	})
}

// ResourceBlocks turns what [Manager.ReadRaw] gave into what a model sees. What
// models do not take is saved in dir, and named.
func ResourceBlocks(server, dir string, res *sdk.ReadResourceResult) []tool.Block {
	c := converter{server: server, dir: dir}
	for i, r := range res.Contents {
		if i == maxBlocks {
			c.text(fmt.Sprintf("[%d more parts were left out]", len(res.Contents)-maxBlocks))
			break
		}
		if r != nil {
			c.resource(r)
		}
	}
	return c.blocks
}

// RawPrompt is a prompt as its server gave it, and what it is called here.
type RawPrompt struct {
	Server  string
	Command string
	Prompt  *sdk.Prompt
}

// RawPrompts lists the prompts of the connected servers.
func (m *Manager) RawPrompts() []RawPrompt {
	var out []RawPrompt
	for _, name := range m.names {
		s := m.servers[name]
		s.mu.Lock()
		prompts := s.lists.prompts
		s.mu.Unlock()
		for _, p := range prompts {
			out = append(out, RawPrompt{name, "mcp__" + s.segment + "__" + form.Clean(p.Name), p})
		}
	}
	return out
}

// FillRaw fills in a prompt, by its server's own name for it.
func (m *Manager) FillRaw(ctx context.Context, server, name string, args map[string]string) (*sdk.GetPromptResult, error) {
	return request(ctx, m, server, "prompt "+oneLine(name), func(ctx context.Context, c *sdk.ClientSession) (*sdk.GetPromptResult, error) {
		return c.GetPrompt(ctx, &sdk.GetPromptParams{Name: name, Arguments: args})
	})
}

// CompleteRaw asks a server for values of an argument. A server that proposes
// none gives an empty list.
func (m *Manager) CompleteRaw(ctx context.Context, server string, p *sdk.CompleteParams) (*sdk.CompleteResult, error) {
	s, err := m.server(server)
	if err != nil {
		return nil, err
	}
	if _, caps := s.now(); caps.Completions == nil {
		return &sdk.CompleteResult{}, nil
	}
	return request(ctx, m, server, "completing", func(ctx context.Context, c *sdk.ClientSession) (*sdk.CompleteResult, error) {
		return c.Complete(ctx, p)
	})
}

// Listener is told what servers say unasked. Its functions are quick; none is
// nil.
type Listener struct {
	Logged           func(server string, p *sdk.LoggingMessageParams)
	ResourceUpdated  func(server, uri string)
	ResourcesChanged func(server string)
}

// Tap listens to the servers, also after they were connected to anew. It is
// safe for concurrent use.
type Tap struct {
	m      *Manager
	listen Listener

	mu    sync.Mutex
	links map[string]*link           // that are listened to, by server
	want  map[string]map[string]bool // watched addresses, by server
	level sdk.LoggingLevel           // empty: nothing was asked for
}

// Tap makes a tap. [Tap.Refresh] is to be called whenever servers changed.
func (m *Manager) Tap(l Listener) *Tap {
	return &Tap{m: m, listen: l, links: map[string]*link{}, want: map[string]map[string]bool{}}
}

// Refresh listens to the servers that were connected to since, and asks them
// for what is wanted.
func (t *Tap) Refresh(ctx context.Context) {
	for _, name := range t.m.names {
		l, caps := t.m.servers[name].now()
		t.mu.Lock()
		known := t.links[name] == l
		if l != nil {
			t.links[name] = l
		} else {
			delete(t.links, name)
		}
		level, uris := t.level, slices.Sorted(maps.Keys(t.want[name]))
		t.mu.Unlock()
		if known || l == nil {
			continue
		}
		l.client.AddReceivingMiddleware(t.middleware(name))
		if level != "" && caps.Logging != nil {
			_ = t.set(ctx, l, level)
		}
		for _, uri := range uris {
			// One that cannot be watched any more stays silent.
			_ = l.session.Subscribe(ctx, &sdk.SubscribeParams{URI: uri})
		}
	}
}

func (t *Tap) middleware(server string) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			switch r := req.(type) {
			case *sdk.LoggingMessageRequest:
				if r.Params != nil {
					t.listen.Logged(server, r.Params)
				}
			case *sdk.ResourceUpdatedNotificationRequest:
				if r.Params != nil {
					t.listen.ResourceUpdated(server, r.Params.URI)
				}
			case *sdk.ResourceListChangedRequest:
				t.listen.ResourcesChanged(server)
			}
			return next(ctx, method, req)
		}
	}
}

// Subscribe asks a server to tell of changes of a resource.
func (t *Tap) Subscribe(ctx context.Context, server, uri string) error {
	t.Refresh(ctx)
	_, err := request(ctx, t.m, server, "watching "+oneLine(uri), func(ctx context.Context, c *sdk.ClientSession) (struct{}, error) {
		return struct{}{}, c.Subscribe(ctx, &sdk.SubscribeParams{URI: uri})
	})
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.want[server] == nil {
		t.want[server] = map[string]bool{}
	}
	t.want[server][uri] = true
	return nil
}

// Unsubscribe takes that back. A server that is gone is none to tell.
func (t *Tap) Unsubscribe(ctx context.Context, server, uri string) error {
	t.mu.Lock()
	delete(t.want[server], uri)
	t.mu.Unlock()
	s, err := t.m.server(server)
	if err != nil {
		return err
	}
	l, _ := s.now()
	if l == nil {
		return nil
	}
	if err := l.session.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: uri}); err != nil {
		return s.passError(ctx, "watching "+oneLine(uri), err)
	}
	return nil
}

// SetLevel asks all servers that log for messages from a level on.
func (t *Tap) SetLevel(ctx context.Context, level string) {
	t.mu.Lock()
	t.level = sdk.LoggingLevel(level)
	t.mu.Unlock()
	t.Refresh(ctx)
	var all sync.WaitGroup
	for _, name := range t.m.names {
		if l, caps := t.m.servers[name].now(); l != nil && caps.Logging != nil {
			all.Go(func() { _ = t.set(ctx, l, sdk.LoggingLevel(level)) })
		}
	}
	all.Wait()
}

func (t *Tap) set(ctx context.Context, l *link, level sdk.LoggingLevel) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	return l.session.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: level})
}
