// Package builtin is the one flat list of all tools. Read it to know what
// exists.
package builtin

import (
	"slices"

	"github.com/sevengate/sevengate/internal/builtin/ask"
	"github.com/sevengate/sevengate/internal/builtin/file"
	"github.com/sevengate/sevengate/internal/builtin/lsp"
	"github.com/sevengate/sevengate/internal/builtin/mcpres"
	"github.com/sevengate/sevengate/internal/builtin/repl"
	"github.com/sevengate/sevengate/internal/builtin/search"
	"github.com/sevengate/sevengate/internal/builtin/shell"
	"github.com/sevengate/sevengate/internal/builtin/terminal"
	"github.com/sevengate/sevengate/internal/builtin/todo"
	"github.com/sevengate/sevengate/internal/builtin/toolsearch"
	"github.com/sevengate/sevengate/tool"
)

// Deps is what the families need from above. Every field may be left zero;
// then the tools that need it refuse to work, and say so.
type Deps struct {
	File       file.Deps
	Search     search.Deps
	Shell      shell.Deps
	Terminal   terminal.Deps
	ToolSearch toolsearch.Options
	MCP        mcpres.Servers // nil: no servers are configured
	LSP        *lsp.Service   // nil: there is no such tool
	REPL       repl.Deps      // without a caller: there is no such tool
}

// All lists the tools.
func All(d Deps) []tool.Tool {
	return slices.Concat(
		mcpres.New(d.MCP),        // ListMcpResourcesTool, ReadMcpResourceTool, ReadMcpResourceDirTool, WaitForMcpServers
		file.New(d.File),         // Read, Write, Edit, NotebookEdit
		search.New(d.Search),     // Glob, Grep
		shell.New(d.Shell),       // Bash, Monitor, TaskOutput, TaskStop, PowerShell, Sleep
		terminal.New(d.Terminal), // Terminal, TerminalCapture
		lsp.Tools(d.LSP),         // LSP
		repl.Tools(d.REPL),       // REPL
		[]tool.Tool{
			todo.New(), // TodoWrite
			ask.New(),  // AskUserQuestion
			toolsearch.New(d.ToolSearch),
		},
	)
}
