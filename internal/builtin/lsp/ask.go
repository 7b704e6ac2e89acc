package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/sevengate/sevengate/internal/engine/lspclient"
	"github.com/sevengate/sevengate/tool"
)

// A server may answer that the content changed under its hands; then it is asked
// again, this often and after this long.
const (
	maxAsks  = 4
	askPause = 200 * time.Millisecond
)

func (s *Service) call(ctx context.Context, in Input, env *tool.Env) (tool.Result[Output], error) {
	out, err := s.ask(ctx, in, env)
	return tool.OK(out), err
}

// locate finds the real file of a question.
func (s *Service) locate(given string) (string, error) {
	if !filepath.IsAbs(given) {
		return "", fmt.Errorf("%s is a relative path and no working directory is known; give an absolute path", given)
	}
	if s.hidden(given) {
		return "", fmt.Errorf("%s may not be read, since a permission rule denies it", given)
	}
	real, err := filepath.EvalSymlinks(given)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s does not exist", given)
	}
	if err != nil {
		return "", fmt.Errorf("finding the file: %w", err)
	}
	return real, nil
}

func (s *Service) ask(ctx context.Context, in Input, env *tool.Env) (Output, error) {
	path, err := s.locate(env.Abs(in.FilePath))
	if err != nil {
		return Output{}, err
	}
	roots := resolved(env.Roots)
	srv, err := s.server(ctx, path, roots, true)
	if err != nil {
		return Output{}, err
	}
	language, _ := srv.entry.spec.language(path)
	if err := srv.FilesChanged(srv.entry.files.scan(ctx, srv.entry.root, srv.entry.spec)); err != nil {
		return Output{}, s.ended(srv, err)
	}
	doc, err := srv.Sync(path, language)
	if err != nil {
		return Output{}, s.ended(srv, err)
	}
	q := &question{ctx: ctx, in: in, srv: srv, path: path, doc: doc,
		out:  Output{Operation: in.Operation, FilePath: path, Server: srv.entry.spec.Name, Root: srv.entry.root, Items: []Item{}},
		show: newShower(s, env.Cwd, roots)}
	if in.Operation.atPosition() {
		if q.at, err = doc.Text.Position(in.Line, in.Character); err != nil {
			return Output{}, err
		}
	}
	empty := q.out
	if err := q.run(); err != nil {
		return Output{}, s.ended(srv, err)
	}
	if len(srv.Busy()) > 0 {
		// What was said while the project is still being loaded may be wrong.
		wait, cancel := context.WithTimeout(ctx, BusyWait)
		defer cancel()
		if srv.WaitIdle(wait) {
			q.out = empty
			if err := q.run(); err != nil {
				return Output{}, s.ended(srv, err)
			}
		}
	}
	if busy := srv.Busy(); len(busy) > 0 {
		q.out.Notes = append(q.out.Notes, fmt.Sprintf("%s is still at work (%s), so the answer may not be complete.", q.out.Server, busy[0]))
	}
	return q.out, nil
}

// ended adds to an error what the server's last words were, if it is over with it.
func (s *Service) ended(srv *session, err error) error {
	if errors.Is(err, lspclient.ErrEnded) {
		return fmt.Errorf("%s: %w%s; the next call starts it again", srv.entry.spec.Name, err, lastWords(srv.Server))
	}
	return err
}

func resolved(roots []string) []string {
	out := make([]string, 0, len(roots))
	for _, r := range roots {
		if real, err := filepath.EvalSymlinks(r); err == nil {
			r = real
		}
		out = append(out, r)
	}
	return out
}

// question is one question on its way.
type question struct {
	ctx  context.Context
	in   Input
	srv  *session
	path string
	doc  lspclient.Document
	at   lspclient.Position
	out  Output
	show *shower
}

// capabilities are what a server must offer for an operation, and the method.
var capabilities = map[Operation][2]string{
	Definition:      {"definitionProvider", "textDocument/definition"},
	References:      {"referencesProvider", "textDocument/references"},
	Implementation:  {"implementationProvider", "textDocument/implementation"},
	Hover:           {"hoverProvider", "textDocument/hover"},
	DocumentSymbol:  {"documentSymbolProvider", "textDocument/documentSymbol"},
	WorkspaceSymbol: {"workspaceSymbolProvider", "workspace/symbol"},
	PrepareCalls:    {"callHierarchyProvider", "textDocument/prepareCallHierarchy"},
	IncomingCalls:   {"callHierarchyProvider", "callHierarchy/incomingCalls"},
	OutgoingCalls:   {"callHierarchyProvider", "callHierarchy/outgoingCalls"},
}

func (q *question) run() error {
	need := capabilities[q.in.Operation]
	if need[0] != "" && !q.srv.Has(need[0]) {
		return fmt.Errorf("%s does not offer %s", q.srv.entry.spec.Name, q.in.Operation)
	}
	id := map[string]any{"uri": q.doc.URI}
	place := map[string]any{"textDocument": id, "position": q.at}
	switch q.in.Operation {
	case Definition, Implementation:
		return q.places(need[1], place)
	case References:
		place["context"] = map[string]any{"includeDeclaration": true}
		return q.places(need[1], place)
	case Hover:
		return q.hover(need[1], place)
	case DocumentSymbol:
		return q.documentSymbols(need[1], map[string]any{"textDocument": id})
	case WorkspaceSymbol:
		return q.workspaceSymbols(need[1], map[string]any{"query": q.in.Query})
	case PrepareCalls, IncomingCalls, OutgoingCalls:
		return q.calls(need[1], place)
	case Diagnostics:
		return q.diagnostics()
	}
	return fmt.Errorf("operation %q is not known", q.in.Operation)
}

// request asks and decodes the answer; null leaves into as it is.
func (q *question) request(method string, params, into any) error {
	for try := 1; ; try++ {
		raw, err := q.srv.Request(q.ctx, method, params)
		var rpc *lspclient.RPCError
		if errors.As(err, &rpc) && try < maxAsks && (rpc.Code == lspclient.CodeContentModified || rpc.Code == lspclient.CodeServerCancelled) {
			select {
			case <-time.After(askPause):
				continue
			case <-q.ctx.Done():
				return context.Cause(q.ctx)
			}
		}
		if err != nil {
			return err
		}
		if len(raw) == 0 || string(raw) == "null" {
			return nil
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return fmt.Errorf("the answer of %s to %s cannot be read: %w", q.srv.entry.spec.Name, method, err)
		}
		return nil
	}
}

func (q *question) diagnostics() error {
	ctx, cancel := context.WithTimeout(q.ctx, DiagnosticsWait)
	defer cancel()
	quiet := lspclient.Quiet{Some: DiagnosticsQuiet, None: DiagnosticsQuiet}
	if time.Since(q.srv.since) < coldTime {
		quiet.None = coldQuiet
	}
	list, fresh := q.srv.Diagnostics(ctx, q.path, q.doc, quiet)
	if err := q.ctx.Err(); err != nil {
		return context.Cause(q.ctx)
	}
	select {
	case <-q.srv.Done():
		return q.srv.Reason()
	default:
	}
	if !fresh {
		q.out.Notes = append(q.out.Notes, fmt.Sprintf("%s has reported nothing about the present content of the file within %s; ask again later.", q.out.Server, DiagnosticsWait))
	}
	q.out.Items, q.out.Total = q.show.diagnostics(q.path, q.doc.Text, list, MaxResults)
	return nil
}
