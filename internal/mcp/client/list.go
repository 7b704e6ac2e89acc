package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/internal/mcp/form"
)

// Limits of lists.
const (
	// MaxPages bounds the pages of one list, MaxTools the tools of one server,
	// maxEntries the entries of any other list.
	MaxPages   = 100
	MaxTools   = 5000
	maxEntries = 20_000
)

// pages follows the cursors of a list. A cursor that comes again ends it, as do
// the limits; what was read until then counts, and why it ended is said.
func pages[T any](most int, page func(cursor string) (items []T, next string, err error)) (all []T, cut string, err error) {
	seen := map[string]bool{}
	for cursor, n := "", 0; ; n++ {
		if n == MaxPages {
			return all, fmt.Sprintf("the list has more than %d pages", MaxPages), nil
		}
		items, next, err := page(cursor)
		if err != nil {
			return all, "", err
		}
		if len(all)+len(items) > most {
			return append(all, items[:most-len(all)]...), fmt.Sprintf("the list has more than %d entries", most), nil
		}
		all = append(all, items...)
		if next == "" {
			return all, "", nil
		}
		if seen[next] {
			return all, "the list's pages go round in circles", nil
		}
		seen[next] = true
		cursor = next
	}
}

// readLists reads the tools and prompts of a server.
func (s *server) readLists(ctx context.Context, l *link) (lists, error) {
	out := lists{info: l.session.InitializeResult(), defs: map[string]toolDef{}}
	if out.info == nil {
		return out, errors.New("the server did not introduce itself")
	}
	out.instructions = form.Description(out.info.Instructions, s.m.vars.number("CLAUDE_CODE_MAX_MCP_DESCRIPTION_LENGTH", 1, form.MaxDescription))
	caps := out.info.Capabilities
	if caps == nil {
		caps = &sdk.ServerCapabilities{}
	}
	problem := func(tool, format string, args ...any) {
		out.problems = append(out.problems, Problem{s.cfg.Name, tool, fmt.Sprintf(format, args...)})
	}
	if caps.Tools != nil {
		tools, cut, err := pages(MaxTools, func(cursor string) ([]*sdk.Tool, string, error) {
			r, err := l.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return r.Tools, r.NextCursor, nil
		})
		if err != nil && !unknownMethod(err) {
			return out, fmt.Errorf("reading its tools: %w", listError(err))
		}
		if cut != "" {
			problem("", "%s; the rest is left out", cut)
		}
		s.define(tools, &out, problem)
	}
	if caps.Prompts != nil {
		prompts, cut, err := pages(maxEntries, func(cursor string) ([]*sdk.Prompt, string, error) {
			r, err := l.session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return r.Prompts, r.NextCursor, nil
		})
		if err != nil && !unknownMethod(err) {
			problem("", "its prompts cannot be read: %v", listError(err))
		}
		if cut != "" {
			problem("", "%s; the rest of the prompts is left out", cut)
		}
		out.prompts = slices.DeleteFunc(prompts, func(p *sdk.Prompt) bool { return p == nil || p.Name == "" })
	}
	return out, nil
}

func unknownMethod(err error) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeMethodNotFound
}

// listError keeps a refusal recognisable and words the rest.
func listError(err error) error {
	var refused *AuthError
	if errors.As(err, &refused) {
		return refused
	}
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		return errors.New(oneLine(rpc.Message))
	}
	return errors.New(withoutAddress(err))
}

// define makes tools of a server's definitions.
func (s *server) define(list []*sdk.Tool, out *lists, problem func(tool, format string, args ...any)) {
	raw := make([]string, 0, len(list))
	for _, t := range list {
		if t != nil {
			raw = append(raw, t.Name)
		}
	}
	names := form.ToolNames(s.segment, raw)
	for _, t := range list {
		if t == nil {
			continue
		}
		if t.Name == "" {
			problem("", "a tool without a name is left out")
			continue
		}
		name := names[t.Name]
		if _, taken := out.defs[name]; taken {
			problem(t.Name, "there is a second tool of this name; it is left out")
			continue
		}
		d, made, err := s.makeTool(name, t)
		if err != nil {
			problem(t.Name, "the tool is left out: %v", err)
			continue
		}
		out.defs[name] = d
		out.tools = append(out.tools, made)
	}
	slices.SortFunc(out.tools, byName)
}

// sameLists tells whether nothing that matters changed.
func sameLists(a, b lists) bool {
	if len(a.defs) != len(b.defs) || len(a.prompts) != len(b.prompts) || a.instructions != b.instructions {
		return false
	}
	for name, d := range a.defs {
		if e, ok := b.defs[name]; !ok || !bytes.Equal(d.wire, e.wire) {
			return false
		}
	}
	x, errX := json.Marshal(a.prompts)
	y, errY := json.Marshal(b.prompts)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// PromptInfo is a prompt of a server, as a command.
type PromptInfo struct {
	Server, Name string
	// Command is what a person types, without the slash.
	Command     string
	Title       string
	Description string
	Arguments   []PromptArgument
}

// PromptArgument is one argument of a prompt.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

// Prompts lists the prompts of the connected servers, sorted by command.
func (m *Manager) Prompts() []PromptInfo {
	var out []PromptInfo
	for _, name := range m.names {
		s := m.servers[name]
		s.mu.Lock()
		prompts := s.lists.prompts
		s.mu.Unlock()
		for _, p := range prompts {
			info := PromptInfo{Server: name, Name: p.Name, Command: "mcp__" + s.segment + "__" + form.Clean(p.Name),
				Title: form.Description(p.Title, 200), Description: form.Description(p.Description, 0)}
			for _, a := range p.Arguments {
				if a != nil {
					info.Arguments = append(info.Arguments, PromptArgument{a.Name, form.Description(a.Description, 500), a.Required})
				}
			}
			out = append(out, info)
		}
	}
	slices.SortStableFunc(out, func(a, b PromptInfo) int { return strings.Compare(a.Command, b.Command) })
	return out
}
