package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/mcp/client"
	"github.com/sevengate/sevengate/internal/mcp/config"
)

// Waits for MCP servers by commands that need their tools.
const (
	serverWait = 30 * time.Second // a tool of a server was named
	poolWait   = 5 * time.Second  // the whole pool is wanted
)

func (a *app) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "mcp", Short: "MCP servers of this project, and being one"}
	one := func(use, short string, run func(name string) error) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error { return run(args[0]) }}
	}
	cmd.AddCommand(
		a.mcpAddCommand(), a.mcpAddJSONCommand(), a.mcpRemoveCommand(),
		one("get SERVER", "Show how a server is configured; secrets are left out", a.mcpGet),
		&cobra.Command{Use: "list", Short: "Connect to the servers and say how they stand", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return a.mcpList() }},
		one("logs SERVER", "Connect to a server and show what it logs and writes to standard error", a.mcpLogs),
		one("login SERVER", "Sign in at a server with OAuth", a.mcpLogin),
		one("logout SERVER", "Forget the sign-in at a server", a.mcpLogout),
		one("approve SERVER", "Let a server of the repository run", func(name string) error { return a.mcpApprove(name, true) }),
		one("reject SERVER", "Keep a server of the repository from running", func(name string) error { return a.mcpApprove(name, false) }),
		one("enable SERVER", "Switch a server on again for this project", func(name string) error { return a.mcpEnable(name, true) }),
		one("disable SERVER", "Switch a server off for this project", func(name string) error { return a.mcpEnable(name, false) }),
		&cobra.Command{Use: "reset-project-choices", Short: "Forget which of the repository's servers were approved or turned down", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return a.mcpReset() }},
		a.mcpServeCommand(),
	)
	return cmd
}

// servers makes a runtime and its connections; ready is false when there are no
// servers, which was said.
func (a *app) servers(wait time.Duration) (r *sevengate.Runtime, ready bool, err error) {
	r, err = a.runtime(func(o *sevengate.Options) { o.Ephemeral = true })
	if err != nil {
		return nil, false, err
	}
	a.warnServers(r)
	if r.MCPServers() == nil {
		fmt.Fprintln(a.Stderr, "sevengate: no MCP servers are configured here; to add one: sevengate mcp add --help")
		return r, false, nil
	}
	if wait > 0 {
		r.StartMCP(a.ctx, wait)
	}
	return r, true, nil
}

// warnServers tells what is wrong with the configuration of servers.
func (a *app) warnServers(r *sevengate.Runtime) {
	for _, w := range r.MCPWarnings() {
		fmt.Fprintf(a.Stderr, "sevengate: %s\n", printable(w))
	}
}

func (a *app) mcpList() error {
	r, ready, err := a.servers(serverWait)
	if err != nil {
		return err
	}
	defer a.close(r)
	if !ready {
		return nil
	}
	all := r.MCPServers().Status()
	if a.flags.json {
		return printJSON(a.Stdout, all)
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for _, s := range all {
		note := printable(s.Reason)
		if note == "" {
			note = fmt.Sprintf("%d tools", len(s.Tools))
		}
		if s.State == client.PendingApproval {
			note += printable(remedy(config.PendingApproval, s.Name))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", printable(s.Name), s.Scope, s.Type, s.State, strings.ReplaceAll(note, "\n", " "))
	}
	return w.Flush()
}

func (a *app) mcpLogs(name string) error {
	r, ready, err := a.servers(serverWait)
	if err != nil || !ready {
		return err
	}
	defer a.close(r)
	text, dropped, err := r.MCPServers().Logs(name)
	if err != nil {
		return err
	}
	if dropped > 0 {
		fmt.Fprintf(a.Stdout, "(%d lines before these)\n", dropped)
	}
	_, err = io.WriteString(a.Stdout, printable(text))
	return err
}

func (a *app) mcpLogin(name string) error {
	r, ready, err := a.servers(0)
	if err != nil || !ready {
		return err
	}
	defer a.close(r)
	return r.MCPServers().Authenticate(a.ctx, name, func(address string) error {
		fmt.Fprintf(a.Stderr, "Open this address in a browser to sign in:\n  %s\n", printable(address))
		return nil
	})
}

func (a *app) mcpLogout(name string) error {
	r, ready, err := a.servers(0)
	if err != nil || !ready {
		return err
	}
	defer a.close(r)
	return r.MCPServers().SignOut(name)
}

func (a *app) mcpApprove(name string, yes bool) error {
	r, ready, err := a.servers(0)
	if err != nil || !ready {
		return err
	}
	defer a.close(r)
	if err := r.ApproveServer(a.ctx, name, yes); err != nil {
		return err
	}
	word := "may run"
	if !yes {
		word = "will not run"
	}
	_, err = fmt.Fprintf(a.Stdout, "%s %s.\n", printable(name), word)
	return err
}

// resourceTools are the built-in tools that work on servers.
var resourceTools = []string{"ListMcpResourcesTool", "ReadMcpResourceTool", "ReadMcpResourceDirTool", "WaitForMcpServers"}

// poolTools are the built-in tools that work on whatever tools there are.
var poolTools = []string{"REPL", "ToolSearch"}

// withServers starts the servers where a command needs their tools.
func (a *app) withServers(r *sevengate.Runtime, toolName string) {
	if r.MCPServers() == nil {
		return
	}
	wait := poolWait
	switch {
	case toolName == "", slices.Contains(poolTools, toolName):
	case strings.HasPrefix(toolName, "mcp__"), slices.Contains(resourceTools, toolName):
		wait = serverWait
	default:
		return
	}
	r.StartMCP(a.ctx, wait)
}

// stdio is standard input and output as a server needs them.
type stdio struct {
	in  io.ReadCloser
	out io.WriteCloser
}

func (a *app) stdio() (stdio, error) {
	in, ok := a.Stdin.(*os.File)
	if !ok {
		return stdio{}, usage("mcp serve needs standard input and output of a process")
	}
	out, ok := a.Stdout.(*os.File)
	if !ok {
		return stdio{}, usage("mcp serve needs standard input and output of a process")
	}
	return stdio{in, out}, nil
}
