package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/gate"
	"github.com/sevengate/sevengate/internal/mcp/server"
	"github.com/sevengate/sevengate/tool"
)

func (a *app) mcpServeCommand() *cobra.Command {
	var address, token string
	var proxy bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Offer the tools to an MCP client, through all seven phases",
		Long: `Offer the built-in tools to an MCP client on standard input and output or, with
--http, on an address of this machine with a token. Every call passes the same
gates as a model's. With --proxy the configured MCP servers are offered too, so
that an agent somebody else wrote gets permissions, hooks and budgets over all
of them. Questions go to the client's person where it can ask; otherwise they
are refused with the rule that would allow the call.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.mcpServe(address, token, proxy) },
	}
	cmd.Flags().StringVar(&address, "http", "", "serve over HTTP on `ADDRESS`, such as 127.0.0.1:8080")
	cmd.Flags().StringVar(&token, "token", "", "the `TOKEN` that HTTP clients must send; made and printed if empty")
	cmd.Flags().BoolVar(&proxy, "proxy", false, "offer the tools of the configured MCP servers too")
	return cmd
}

func (a *app) mcpServe(address, token string, proxy bool) error {
	d := &dispatcher{}
	r, err := a.runtime(func(o *sevengate.Options) {
		o.Ephemeral, o.NoMCP = true, !proxy
		o.Prompter = d
		o.ObserveCalls = d.observe
	})
	if err != nil {
		return err
	}
	defer a.close(r)
	d.runtime, d.line = r, r.Line()
	s := server.New(server.Config{Dispatcher: d, Version: sevengate.Version, Instructions: "Every call is checked by the user's permission rules. A refusal is final unless the user says otherwise."})
	d.server = s
	if proxy {
		r.OnServersChanged(s.Changed)
		a.withServers(r, "")
	}
	if address == "" {
		io, err := a.stdio()
		if err != nil {
			return err
		}
		return s.ServeStdio(a.ctx, io.in, io.out)
	}
	shown := token == ""
	if shown {
		token = server.NewToken()
	}
	return s.ListenHTTP(a.ctx, address, token, func(url string) {
		fmt.Fprintf(a.Stderr, "sevengate: serving at %s\n", url)
		if shown {
			fmt.Fprintf(a.Stderr, "sevengate: clients must send: Authorization: Bearer %s\n", token)
		}
	})
}

// dispatcher makes the calls of MCP clients through the gate, and puts its
// questions to their persons.
type dispatcher struct {
	runtime  *sevengate.Runtime
	line     *sevengate.Line
	server   *server.Server
	progress progressOf
}

// notServed are tools that mean nothing to somebody else's agent: it has a
// search and a person of its own.
var notServed = []string{"ToolSearch", "AskUserQuestion"}

func (d *dispatcher) Tools() []server.Tool {
	tools, _, _ := d.runtime.Tools()
	api := d.runtime.InputSchemas()
	var out []server.Tool
	for _, t := range tools {
		f := t.Facts()
		schema, ok := api[f.Name]
		if !ok || slices.Contains(notServed, f.Name) {
			continue
		}
		// What depends on the input is given carefully: not read-only, may destroy.
		out = append(out, server.Tool{Name: f.Name, Title: f.Title, Description: t.Prompt(tool.PromptContext{}), InputSchema: schema,
			OutputSchema: nil, Destructive: true, OpenWorld: f.Origin != nil})
	}
	return out
}

func (d *dispatcher) Call(ctx context.Context, c server.Call) server.Result {
	d.progress.set(c.ID, c.Progress)
	defer d.progress.drop(c.ID)
	res := d.line.Call(ctx, c.ID, c.Name, c.Input)
	content := res.Block.Content
	for _, text := range res.Context {
		content = append(content, tool.TextBlock(text))
	}
	return server.Result{Content: content, IsError: res.Block.IsError, Structured: res.Outcome.Structured, Meta: res.Outcome.Meta}
}

func (d *dispatcher) observe(e sevengate.CallEvent) {
	if e.Kind == gate.EventProgress {
		d.progress.send(e.ID, e.Progress)
	}
}

// Prompt puts a question to the person behind the client.
func (d *dispatcher) Prompt(ctx context.Context, q gate.Question) (gate.Answer, error) {
	message := q.Decision.Reason.Message
	if use := q.Call.ViewUse(); use != "" {
		message = strings.TrimSpace(q.Call.Name()+": "+use) + "\n" + message
	}
	a, err := d.server.Ask(ctx, server.Question{CallID: q.ToolUseID, Message: message, Rules: q.Decision.Suggestions})
	if err != nil {
		return gate.Answer{}, err
	}
	out := gate.Answer{Behavior: tool.Deny, Message: a.Message}
	if a.Allow {
		out.Behavior = tool.Allow
		if a.Rule != "" {
			out.Grants = []gate.Grant{{Behavior: tool.Allow, Rule: a.Rule}}
		}
	}
	return out, nil
}
