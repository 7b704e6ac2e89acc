package server

//lint:file-ignore SA1019 logging is deprecated since 2026-07-28, and still what clients speak

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Resources offers what can be read. Its methods are called from several
// goroutines at once. An error of the SDK's wire type reaches the client as it
// is.
type Resources interface {
	// Resources and Templates list what is offered; no address comes twice.
	Resources(ctx context.Context) ([]*sdk.Resource, error)
	Templates(ctx context.Context) ([]*sdk.ResourceTemplate, error)
	// Read reads one. The id names the request, as that of a call. A resource
	// that does not exist is an error that is [ErrNotFound].
	Read(ctx context.Context, id, uri string) (*sdk.ReadResourceResult, error)
}

// Subscriptions watches resources for clients. Each address is watched once,
// however many clients want that, and let go when none does any more. Changes
// are told with [Server.ResourceUpdated].
type Subscriptions interface {
	Subscribe(ctx context.Context, uri string) error
	Unsubscribe(ctx context.Context, uri string) error
}

// Prompts offers prompts that a person picks.
type Prompts interface {
	// Prompts lists them; no name comes twice.
	Prompts(ctx context.Context) ([]*sdk.Prompt, error)
	// GetPrompt fills one in. The id names the request. A prompt that does not
	// exist is an error that is [ErrNotFound].
	GetPrompt(ctx context.Context, id string, p *sdk.GetPromptParams) (*sdk.GetPromptResult, error)
}

// Completer proposes values for arguments of prompts and templates.
type Completer interface {
	Complete(ctx context.Context, id string, p *sdk.CompleteParams) (*sdk.CompleteResult, error)
}

// Logging says that log messages may come, by [Server.Log].
type Logging interface {
	// Level is told from which level on a client wants messages.
	Level(ctx context.Context, level string)
}

// ErrNotFound says that there is no such resource or prompt.
var ErrNotFound = errors.New("not found")

// levels of log messages.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// capabilities announces what the configuration holds, and nothing else.
func (c *Config) capabilities() *sdk.ServerCapabilities {
	out := &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}}
	if c.Resources != nil {
		out.Resources = &sdk.ResourceCapabilities{ListChanged: true, Subscribe: c.Subscriptions != nil}
	}
	if c.Prompts != nil {
		out.Prompts = &sdk.PromptCapabilities{ListChanged: true}
	}
	if c.Completer != nil {
		out.Completions = &sdk.CompletionCapabilities{}
	}
	if c.Logging != nil {
		out.Logging = &sdk.LoggingCapabilities{}
	}
	return out
}

// offered answers the requests about everything but tools. ok is false for
// those that the SDK answers.
func (s *Server) offered(ctx context.Context, req sdk.Request) (res sdk.Result, ok bool, err error) {
	switch r := req.(type) {
	case *sdk.ListResourcesRequest:
		if s.cfg.Resources == nil {
			return nil, false, nil
		}
		res, err = s.listResources(ctx, r)
	case *sdk.ListResourceTemplatesRequest:
		if s.cfg.Resources == nil {
			return nil, false, nil
		}
		res, err = s.listTemplates(ctx, r)
	case *sdk.ReadResourceRequest:
		if s.cfg.Resources == nil {
			return nil, false, nil
		}
		res, err = s.readResource(ctx, r)
	case *sdk.ListPromptsRequest:
		if s.cfg.Prompts == nil {
			return nil, false, nil
		}
		res, err = s.listPrompts(ctx, r)
	case *sdk.GetPromptRequest:
		if s.cfg.Prompts == nil {
			return nil, false, nil
		}
		res, err = s.getPrompt(ctx, r)
	case *sdk.ServerRequest[*sdk.SetLoggingLevelParams]:
		if s.cfg.Logging == nil {
			return nil, true, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there are no log messages"}
		}
		if r.Params == nil || !slices.Contains(levels, string(r.Params.Level)) {
			return nil, true, invalid("the level must be one of: " + strings.Join(levels, ", "))
		}
		s.cfg.Logging.Level(ctx, string(r.Params.Level))
		return nil, false, nil // the SDK keeps it for the session
	default:
		return nil, false, nil
	}
	if err != nil {
		return nil, true, wire(err)
	}
	return res, true, nil
}

func invalid(text string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}

// wire makes an error that clients get with a code.
func wire(err error) error {
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		return rpc
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

// page gives one page of a list, which is sorted by its keys. The cursor is the
// last key that was listed: right also when the list changes meanwhile.
func page[T any](all []T, key func(T) string, cursor string) (part []T, next string, err error) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	if cursor != "" {
		after, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil {
			return nil, "", invalid("the cursor is not one of ours")
		}
		all = slices.DeleteFunc(all, func(v T) bool { return key(v) <= string(after) })
	}
	if len(all) > pageSize {
		all = all[:pageSize]
		next = base64.RawURLEncoding.EncodeToString([]byte(key(all[pageSize-1])))
	}
	if all == nil {
		all = []T{}
	}
	return all, next, nil
}

func (s *Server) listResources(ctx context.Context, r *sdk.ListResourcesRequest) (*sdk.ListResourcesResult, error) {
	all, err := s.cfg.Resources.Resources(ctx)
	if err != nil {
		return nil, err
	}
	cursor := ""
	if r.Params != nil {
		cursor = r.Params.Cursor
	}
	part, next, err := page(all, func(v *sdk.Resource) string { return v.URI }, cursor)
	return &sdk.ListResourcesResult{Resources: part, NextCursor: next}, err
}

func (s *Server) listTemplates(ctx context.Context, r *sdk.ListResourceTemplatesRequest) (*sdk.ListResourceTemplatesResult, error) {
	all, err := s.cfg.Resources.Templates(ctx)
	if err != nil {
		return nil, err
	}
	cursor := ""
	if r.Params != nil {
		cursor = r.Params.Cursor
	}
	part, next, err := page(all, func(v *sdk.ResourceTemplate) string { return v.URITemplate }, cursor)
	return &sdk.ListResourceTemplatesResult{ResourceTemplates: part, NextCursor: next}, err
}

func (s *Server) listPrompts(ctx context.Context, r *sdk.ListPromptsRequest) (*sdk.ListPromptsResult, error) {
	all, err := s.cfg.Prompts.Prompts(ctx)
	if err != nil {
		return nil, err
	}
	cursor := ""
	if r.Params != nil {
		cursor = r.Params.Cursor
	}
	part, next, err := page(all, func(v *sdk.Prompt) string { return v.Name }, cursor)
	return &sdk.ListPromptsResult{Prompts: part, NextCursor: next}, err
}

func (s *Server) readResource(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	if r.Params == nil || r.Params.URI == "" {
		return nil, invalid("the uri of the resource is missing")
	}
	id, end := s.begin(ctx, r.Session, r.Extra)
	defer end()
	res, err := s.cfg.Resources.Read(ctx, id, r.Params.URI)
	if errors.Is(err, ErrNotFound) {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	return res, err
}

func (s *Server) getPrompt(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	if r.Params == nil || r.Params.Name == "" {
		return nil, invalid("the name of the prompt is missing")
	}
	id, end := s.begin(ctx, r.Session, r.Extra)
	defer end()
	res, err := s.cfg.Prompts.GetPrompt(ctx, id, r.Params)
	if errors.Is(err, ErrNotFound) {
		return nil, invalid(fmt.Sprintf("there is no prompt %q", r.Params.Name))
	}
	return res, err
}

func (s *Server) complete(ctx context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	id, end := s.begin(ctx, r.Session, r.Extra)
	defer end()
	res, err := s.cfg.Completer.Complete(ctx, id, r.Params)
	if err != nil {
		return nil, wire(err)
	}
	if res.Completion.Values == nil {
		res.Completion.Values = []string{}
	}
	return res, nil
}

// MaxSubscriptions bounds the resources that one client watches.
const MaxSubscriptions = 1000

// watches keeps who watches what. The zero value is ready.
type watches struct {
	mu   sync.Mutex // held while the source is told, so that it hears in order
	by   map[*sdk.ServerSession]*watcher
	many map[string]int // clients of an address
}

// watcher is a client that watches something.
type watcher struct {
	uris map[string]bool
	over chan struct{} // closed when the client is gone and all was let go
}

// wait waits until what a client that is gone watched was let go.
func (w *watches) wait(session *sdk.ServerSession) {
	w.mu.Lock()
	mine := w.by[session]
	w.mu.Unlock()
	if mine != nil {
		<-mine.over
	}
}

// subscribe is called by the SDK before it notes the subscription itself.
func (s *Server) subscribe(ctx context.Context, r *sdk.SubscribeRequest) error {
	uri := r.Params.URI
	if uri == "" {
		return invalid("the uri of the resource is missing")
	}
	w := &s.watches
	w.mu.Lock()
	defer w.mu.Unlock()
	mine := w.by[r.Session]
	if mine != nil && mine.uris[uri] {
		return nil
	}
	if mine != nil && len(mine.uris) >= MaxSubscriptions {
		return invalid(fmt.Sprintf("a client can watch at most %d resources", MaxSubscriptions))
	}
	if w.many[uri] == 0 {
		if err := s.cfg.Subscriptions.Subscribe(ctx, uri); err != nil {
			return wire(err)
		}
	}
	if w.by == nil {
		w.by, w.many = map[*sdk.ServerSession]*watcher{}, map[string]int{}
	}
	if mine == nil {
		mine = &watcher{uris: map[string]bool{}, over: make(chan struct{})}
		w.by[r.Session] = mine
		go s.forget(r.Session, mine) // ends with the session
	}
	mine.uris[uri] = true
	w.many[uri]++
	return nil
}

func (s *Server) unsubscribe(ctx context.Context, r *sdk.UnsubscribeRequest) error {
	w := &s.watches
	w.mu.Lock()
	defer w.mu.Unlock()
	mine := w.by[r.Session]
	if mine == nil || !mine.uris[r.Params.URI] {
		return nil
	}
	delete(mine.uris, r.Params.URI)
	return s.release(ctx, r.Params.URI)
}

// release lets an address go that one client less watches. The caller holds the
// lock.
func (s *Server) release(ctx context.Context, uri string) error {
	w := &s.watches
	if w.many[uri]--; w.many[uri] > 0 {
		return nil
	}
	delete(w.many, uri)
	if err := s.cfg.Subscriptions.Unsubscribe(ctx, uri); err != nil {
		return wire(err)
	}
	return nil
}

// forget waits for the end of a client and lets go all that it watched.
func (s *Server) forget(session *sdk.ServerSession, mine *watcher) {
	_ = session.Wait()
	defer close(mine.over)
	w := &s.watches
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownWait)
	defer cancel()
	for uri := range mine.uris {
		_ = s.release(ctx, uri)
	}
	delete(w.by, session)
}

// ResourceUpdated tells the clients that watch a resource that it changed.
func (s *Server) ResourceUpdated(uri string) {
	_ = s.sdk.ResourceUpdated(context.Background(), &sdk.ResourceUpdatedNotificationParams{URI: uri})
}

// nothing is offered for a moment and never listed: the SDK announces only what
// it sees change itself.
const nothing = "sevengate-list-changed"

// Changed tells the clients that the list of tools changed.
func (s *Server) Changed() {
	s.sdk.AddTool(&sdk.Tool{Name: nothing, InputSchema: emptySchema}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, errors.New("no such tool")
	})
	s.sdk.RemoveTools(nothing)
}

// PromptsChanged tells the clients that the list of prompts changed.
func (s *Server) PromptsChanged() {
	if s.cfg.Prompts == nil {
		return
	}
	s.sdk.AddPrompt(&sdk.Prompt{Name: nothing}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return nil, ErrNotFound
	})
	s.sdk.RemovePrompts(nothing)
}

// ResourcesChanged tells the clients that the list of resources changed.
func (s *Server) ResourcesChanged() {
	if s.cfg.Resources == nil {
		return
	}
	s.sdk.AddResource(&sdk.Resource{Name: nothing, URI: nothing + ":"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return nil, ErrNotFound
	})
	s.sdk.RemoveResources(nothing + ":")
}
