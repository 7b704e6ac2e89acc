package cli

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/mcp/server"
)

func (a *app) mcpServeCommand() *cobra.Command {
	var address, token string
	var proxy, search bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Offer the tools to an MCP client, through all seven phases",
		Long: `Offer the built-in tools to an MCP client on standard input and output or, with
--http, on an address of this machine with a token. Every call passes the same
gates as a model's. With --proxy the configured MCP servers are offered too, so
that an agent somebody else wrote gets permissions, hooks and budgets over all
of them. Questions go to the client's person where it can ask; otherwise they
are refused with the rule that would allow the call.

With --proxy the servers' resources, prompts, completions, subscriptions and log
messages are handed on as well. Reading a resource is a call of
ReadMcpResourceTool, with its rules and hooks; what it gives comes whole. Of two
servers that offer one address, the first by name answers. Prompts are named
like tools, mcp__SERVER__PROMPT, and a rule that denies that name or the server
hides them. A server's own questions, and its requests to use a model, go to the
client whose call it is working on, if the client can answer them.

With --search the tools of servers, and the other deferred ones, are left out of
the list until a call of ToolSearch has found them. Its answer holds their
definitions, and the list has them from then on, for all clients of this process.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.mcpServe(address, token, proxy, search) },
	}
	cmd.Flags().StringVar(&address, "http", "", "serve over HTTP on `ADDRESS`, such as 127.0.0.1:8080")
	cmd.Flags().StringVar(&token, "token", "", "the `TOKEN` that HTTP clients must send; made and printed if empty")
	cmd.Flags().BoolVar(&proxy, "proxy", false, "offer the tools of the configured MCP servers too")
	cmd.Flags().BoolVar(&search, "search", false, "list deferred tools only when ToolSearch has found them, for large pools")
	return cmd
}

// gcPercent lets the heap of a program that only hands on messages grow further
// than usual before it is collected: it is small, and made of buffers that live
// for one message.
const gcPercent = 400

// collectLess sets how far the heap grows, unless the environment does.
func collectLess(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

func (a *app) mcpServe(address, token string, proxy, search bool) error {
	g := sevengate.NewGateway()
	if search {
		g.WithSearch()
	}
	r, err := a.runtime(func(o *sevengate.Options) {
		o.Ephemeral, o.NoMCP = true, !proxy
		g.Prepare(o)
	})
	if err != nil {
		return err
	}
	defer a.close(r)
	collectLess(gcPercent)
	s := g.Serve(r, nil)
	if proxy {
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
