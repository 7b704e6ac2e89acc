package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/mcp/config"
)

// maxServersAsked bounds the questions about servers at the start of a
// conversation.
const maxServersAsked = 20

// askServers puts each of the repository's MCP servers that nobody has decided
// on to the person. The other servers are being connected to meanwhile.
func (t *Terminal) askServers(ctx context.Context, r *sevengate.Runtime) error {
	pending, trusted := r.PendingServers(ctx)
	r.StartMCP(ctx, 0)
	if len(pending) == 0 {
		return nil
	}
	if !trusted {
		fmt.Fprintf(t.out, "  MCP servers of this project are not started, since it is not trusted: %s\n", serverNames(pending))
		return nil
	}
	t.lines.asking.Lock()
	defer t.lines.asking.Unlock()
	for i, s := range pending {
		if i == maxServersAsked {
			fmt.Fprintf(t.out, "\n  Further MCP servers wait for sevengate mcp approve: %s\n", serverNames(pending[i:]))
			return nil
		}
		switch err := t.askServer(ctx, r, s); {
		case errors.Is(err, io.EOF):
			fmt.Fprintln(t.out)
			return nil // nobody said yes
		case err != nil:
			fmt.Fprintln(t.out)
			return err
		}
	}
	return nil
}

func serverNames(servers []*config.Server) string {
	var names []string
	for i, s := range servers {
		if i == maxServersAsked {
			names = append(names, fmt.Sprintf("and %d more", len(servers)-i))
			break
		}
		names = append(names, Printable(s.Name))
	}
	return strings.Join(names, ", ")
}

// askServer asks about one server and records the answer. An approval holds for
// what was shown: should the file have changed, nothing is asked.
func (t *Terminal) askServer(ctx context.Context, r *sevengate.Runtime, s *config.Server) error {
	name := strings.ReplaceAll(Printable(s.Name), "\n", " ")
	var shown config.Shown
	raw, err := config.Written(s)
	if err == nil {
		shown, err = config.Show(raw, false)
	}
	if err != nil {
		fmt.Fprintf(t.out, "\n  The MCP server %s is not started: %s\n", name, Printable(err.Error()))
		return nil
	}
	fmt.Fprintf(t.out, "\nThis project brings the MCP server %s (%s):\n", name, Printable(s.File))
	for _, line := range shown.Lines() {
		fmt.Fprintf(t.out, "  %-12s  %s\n", line[0], line[1])
	}
	if shown.Variables() {
		fmt.Fprintln(t.out, "  ${…} is filled in from your environment.")
	}
	what := "Let it be connected to?"
	if s.Type == config.Stdio {
		what = "It runs as a program of yours, outside the sandbox. Let it?"
	}
	fmt.Fprintf(t.out, "%s\n  1. yes, as long as this entry stays as it is\n  2. no\n  3. not now\n", what)
	for {
		fmt.Fprint(t.out, "Answer [1-3]: ")
		line, err := t.lines.Next(ctx)
		if err != nil {
			return err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "1", "y", "yes":
			t.decide(ctx, r, s, true, fmt.Sprintf("%s may run. sevengate mcp reject %s takes it back.", name, name))
			return nil
		case "2", "n", "no":
			t.decide(ctx, r, s, false, fmt.Sprintf("%s will not run. sevengate mcp approve %s takes it back.", name, name))
			return nil
		case "3", "not now", "later":
			fmt.Fprintf(t.out, "  %s is not started; the next conversation asks again.\n", name)
			return nil
		}
		fmt.Fprintln(t.out, "Please answer with one of the numbers.")
	}
}

func (t *Terminal) decide(ctx context.Context, r *sevengate.Runtime, s *config.Server, yes bool, said string) {
	if err := r.ApproveServer(ctx, s.Name, yes); err != nil {
		fmt.Fprintf(t.out, "  It could not be recorded: %s\n", Printable(err.Error()))
		return
	}
	fmt.Fprintf(t.out, "  %s\n", said)
}
