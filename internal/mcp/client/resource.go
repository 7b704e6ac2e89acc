package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/internal/mcp/form"
	"github.com/sevengate/sevengate/tool"
)

// Resource is something that can be read from a server. Of a template, URI has
// parts in braces that are to be filled in.
type Resource struct {
	Server      string
	URI         string
	Name        string
	Description string
	MIMEType    string
	Size        int64 // bytes; 0 if the server does not say
	Template    bool
}

// maxListed bounds the resources that are listed of one server.
const maxListed = 2000

// ListResources lists the resources of one server or, where server is empty, of
// all that are connected. What cannot be listed is an error where one server is
// named, and a problem otherwise.
func (m *Manager) ListResources(ctx context.Context, server string) (out []Resource, problems []string, err error) {
	names := m.names
	if server != "" {
		s, err := m.server(server)
		if err != nil {
			return nil, nil, err
		}
		names = []string{s.cfg.Name}
	}
	for _, name := range names {
		s := m.servers[name]
		if server == "" {
			s.mu.Lock()
			skip := s.link == nil
			s.mu.Unlock()
			if skip {
				continue
			}
		}
		found, cut, err := s.listResources(ctx)
		switch {
		case err != nil && server != "":
			return nil, nil, err
		case err != nil:
			problems = append(problems, err.Error())
		case cut != "":
			problems = append(problems, fmt.Sprintf("MCP server %s: %s", name, cut))
		}
		out = append(out, found...)
	}
	return out, problems, nil
}

func (s *server) listResources(ctx context.Context) (out []Resource, cut string, err error) {
	l, err := s.ready(ctx)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, s.times.Connect)
	defer cancel()
	s.mu.Lock()
	info := s.lists.info
	s.mu.Unlock()
	if info == nil || info.Capabilities == nil || info.Capabilities.Resources == nil {
		return nil, "", nil
	}
	resources, cut, err := pages(maxListed, func(cursor string) ([]*sdk.Resource, string, error) {
		r, err := l.session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.Resources, r.NextCursor, nil
	})
	if err != nil && !unknownMethod(err) {
		return nil, "", s.otherError(ctx, "listing the resources", err)
	}
	for _, r := range resources {
		if r == nil || r.URI == "" || strings.HasPrefix(r.URI, "ui://") { // pages of user interfaces are not for reading
			continue
		}
		out = append(out, Resource{s.cfg.Name, r.URI, oneLine(firstOf(r.Title, r.Name)), oneLine(r.Description), r.MIMEType, r.Size, false})
	}
	templates, more, err := pages(maxListed, func(cursor string) ([]*sdk.ResourceTemplate, string, error) {
		r, err := l.session.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.ResourceTemplates, r.NextCursor, nil
	})
	if err != nil { // many servers have none and do not know the question
		return out, cut, nil
	}
	for _, r := range templates {
		if r != nil && r.URITemplate != "" && !strings.HasPrefix(r.URITemplate, "ui://") {
			out = append(out, Resource{s.cfg.Name, r.URITemplate, oneLine(firstOf(r.Title, r.Name)), oneLine(r.Description), r.MIMEType, 0, true})
		}
	}
	return out, firstOf(cut, more), nil
}

// ReadResource reads a resource. What models do not take is saved in dir, and
// named.
func (m *Manager) ReadResource(ctx context.Context, server, uri, dir string) ([]tool.Block, error) {
	s, err := m.server(server)
	if err != nil {
		return nil, err
	}
	l, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, min(s.times.Call, resourceTimeout), &timeoutError{fmt.Sprintf("no answer within %s", min(s.times.Call, resourceTimeout))})
	defer cancel()
	res, err := l.session.ReadResource(limited, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, s.otherError(limited, "reading "+oneLine(uri), err)
	}
	c := converter{server: s.cfg.Name, dir: dir}
	for i, r := range res.Contents {
		if i == maxBlocks {
			c.text(fmt.Sprintf("[%d more parts were left out]", len(res.Contents)-maxBlocks))
			break
		}
		if r != nil {
			c.resource(r)
		}
	}
	return c.blocks, nil
}

// otherError words an error of anything but a call; such requests change
// nothing.
func (s *server) otherError(ctx context.Context, doing string, err error) error {
	var late *timeoutError
	if ctx.Err() != nil {
		if errors.As(context.Cause(ctx), &late) {
			return fmt.Errorf("%s from MCP server %s: %s", doing, s.cfg.Name, late.text)
		}
		return ctx.Err()
	}
	var refused *AuthError
	if errors.As(err, &refused) {
		s.refused(refused)
		return &UnavailableError{s.cfg.Name, NeedsAuth, ""}
	}
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		return fmt.Errorf("%s from MCP server %s: %s (code %d)", doing, s.cfg.Name, longText(rpc.Message), rpc.Code)
	}
	return fmt.Errorf("%s from MCP server %s: the connection was lost: %s", doing, s.cfg.Name, withoutAddress(err))
}

// GetPrompt fills in a prompt, named by its server and its own name or its
// command. Arguments that are missing are an error that names them.
func (m *Manager) GetPrompt(ctx context.Context, server, name string, args map[string]string) ([]tool.Message, error) {
	s, err := m.server(server)
	if err != nil {
		return nil, err
	}
	l, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	i := slices.IndexFunc(s.lists.prompts, func(p *sdk.Prompt) bool { return p.Name == name || form.Clean(p.Name) == name })
	var prompt *sdk.Prompt
	if i >= 0 {
		prompt = s.lists.prompts[i]
	}
	s.mu.Unlock()
	if prompt == nil {
		return nil, fmt.Errorf("MCP server %s has no prompt %q", s.cfg.Name, name)
	}
	var missing []string
	for _, a := range prompt.Arguments {
		if a != nil && a.Required && args[a.Name] == "" {
			missing = append(missing, a.Name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("prompt %s of MCP server %s: missing: %s", prompt.Name, s.cfg.Name, strings.Join(missing, ", "))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, resourceTimeout, &timeoutError{fmt.Sprintf("no answer within %s", resourceTimeout)})
	defer cancel()
	res, err := l.session.GetPrompt(ctx, &sdk.GetPromptParams{Name: prompt.Name, Arguments: args})
	if err != nil {
		return nil, s.otherError(ctx, "prompt "+prompt.Name, err)
	}
	var out []tool.Message
	for _, msg := range res.Messages {
		if msg == nil || msg.Content == nil {
			continue
		}
		c := converter{server: s.cfg.Name}
		c.add(msg.Content)
		role := tool.RoleUser
		if msg.Role == "assistant" {
			role = tool.RoleAssistant
		}
		if len(c.blocks) > 0 {
			out = append(out, tool.Message{Role: role, Content: c.blocks})
		}
	}
	return out, nil
}

// FindPrompt gives the prompt that a person's command means, such as
// mcp__github__review, and the arguments that the words after it fill in, in
// order; the last takes the rest.
func (m *Manager) FindPrompt(command string, words []string) (p PromptInfo, args map[string]string, ok bool) {
	for _, p := range m.Prompts() {
		if p.Command != command {
			continue
		}
		args = map[string]string{}
		for i, a := range p.Arguments {
			switch {
			case i >= len(words):
			case i == len(p.Arguments)-1:
				args[a.Name] = strings.Join(words[i:], " ")
			default:
				args[a.Name] = words[i]
			}
		}
		return p, args, true
	}
	return PromptInfo{}, nil, false
}

// Mention splits a mention of a resource, "@server:proto://path" with or
// without the @, where it names a configured server.
func (m *Manager) Mention(text string) (server, uri string, ok bool) {
	text = strings.TrimPrefix(text, "@")
	// Names of servers may hold colons themselves: the longest that fits counts.
	for i := len(text) - 1; i > 0; i-- {
		if text[i] != ':' || i+1 == len(text) {
			continue
		}
		if s := m.servers[text[:i]]; s != nil {
			return s.cfg.Name, text[i+1:], true
		}
	}
	return "", "", false
}
