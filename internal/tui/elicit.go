package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/sevengate/sevengate/internal/mcp/client"
)

// field is one entry of a form that an MCP server wants filled in.
type field struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	Default     any      `json:"default"`
}

// Elicit puts the question of an MCP server to the person. The text is the
// server's, and is shown as such.
func (p *Prompter) Elicit(ctx context.Context, q client.Elicitation) (client.Reply, error) {
	p.lines.asking.Lock()
	defer p.lines.asking.Unlock()
	fmt.Fprintf(p.out, "\nThe MCP server %s asks:\n  %s\n", Printable(q.Server), indentBy(Printable(q.Message), "  "))
	if q.URL != "" {
		fmt.Fprintf(p.out, "It wants you to open this address:\n  %s\n", Printable(q.URL))
		yes, err := p.confirm(ctx, "Have you done so? Say no if you do not trust it.")
		if err != nil {
			return client.Reply{Action: "cancel"}, nil
		}
		return client.Reply{Action: action(yes)}, nil
	}
	yes, err := p.confirm(ctx, "Answer it? Give no secrets here.")
	if err != nil || !yes {
		return client.Reply{Action: "decline"}, nil
	}
	var form struct {
		Properties map[string]field `json:"properties"`
		Required   []string         `json:"required"`
	}
	if len(q.Schema) > 0 {
		if err := json.Unmarshal(q.Schema, &form); err != nil {
			return client.Reply{}, fmt.Errorf("the form of %s cannot be read: %w", q.Server, err)
		}
	}
	content := map[string]any{}
	names := make([]string, 0, len(form.Properties))
	for name := range form.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value, given, err := p.fill(ctx, name, form.Properties[name], slices.Contains(form.Required, name))
		if err != nil {
			return client.Reply{Action: "cancel"}, nil
		}
		if given {
			content[name] = value
		}
	}
	return client.Reply{Action: "accept", Content: content}, nil
}

func action(yes bool) string {
	if yes {
		return "accept"
	}
	return "decline"
}

// fill asks for one field until the answer fits.
func (p *Prompter) fill(ctx context.Context, name string, f field, required bool) (value any, given bool, err error) {
	label := Printable(name)
	if f.Title != "" {
		label = Printable(f.Title)
	}
	if f.Description != "" {
		label += " (" + Printable(f.Description) + ")"
	}
	if len(f.Enum) > 0 {
		label += ", one of " + Printable(strings.Join(f.Enum, ", "))
	}
	if f.Default != nil {
		label += fmt.Sprintf(" [%s]", Printable(fmt.Sprint(f.Default)))
	}
	for {
		fmt.Fprintf(p.out, "  %s: ", label)
		line, err := p.lines.Next(ctx)
		if err != nil {
			return nil, false, err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			switch {
			case f.Default != nil:
				return f.Default, true, nil
			case !required:
				return nil, false, nil
			}
			fmt.Fprintln(p.out, "  This one is needed.")
			continue
		}
		if value, ok := f.read(line); ok {
			return value, true, nil
		}
		fmt.Fprintln(p.out, "  That does not fit.")
	}
}

// read takes a line as a value of the field's type.
func (f field) read(line string) (any, bool) {
	switch f.Type {
	case "boolean":
		switch strings.ToLower(line) {
		case "y", "yes", "true":
			return true, true
		case "n", "no", "false":
			return false, true
		}
		return nil, false
	case "integer":
		n, err := strconv.ParseInt(line, 10, 64)
		return n, err == nil
	case "number":
		n, err := strconv.ParseFloat(line, 64)
		return n, err == nil
	}
	return line, len(f.Enum) == 0 || slices.Contains(f.Enum, line)
}

// Confirm asks a yes-or-no question; anything but yes is no.
func (p *Prompter) Confirm(ctx context.Context, question string) (bool, error) {
	p.lines.asking.Lock()
	defer p.lines.asking.Unlock()
	return p.confirm(ctx, question)
}

func (p *Prompter) confirm(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(p.out, "%s [y/N]: ", Printable(question))
	line, err := p.lines.Next(ctx)
	if err != nil {
		return false, ErrNoAnswer
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// AskHost asks whether commands in the sandbox may connect to a host. always means
// that the answer is to be kept.
func (p *Prompter) AskHost(ctx context.Context, host string, port int) (allow, always bool, err error) {
	p.lines.asking.Lock()
	defer p.lines.asking.Unlock()
	fmt.Fprintf(p.out, "A command in the sandbox wants to connect to %s.\n  1. yes, for this session\n  2. yes, always: WebFetch(domain:%s)\n  3. no\n", Printable(net.JoinHostPort(host, strconv.Itoa(port))), Printable(host))
	for {
		fmt.Fprint(p.out, "Answer [1-3]: ")
		line, err := p.lines.Next(ctx)
		if err != nil {
			fmt.Fprintln(p.out)
			return false, false, ErrNoAnswer
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "1", "y", "yes":
			return true, false, nil
		case "2", "a", "always":
			return true, true, nil
		case "3", "n", "no":
			return false, false, nil
		}
		fmt.Fprintln(p.out, "Please answer with one of the numbers.")
	}
}
