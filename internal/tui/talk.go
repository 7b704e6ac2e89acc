package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/agent"
)

// Terminal is a conversation on a terminal.
type Terminal struct {
	lines  *Lines
	out    io.Writer
	drawer *Drawer

	mu         sync.Mutex
	cancelTurn context.CancelFunc // of the turn that runs
}

// NewTerminal reads from in and writes to out.
func NewTerminal(in io.Reader, out io.Writer) *Terminal {
	t := &Terminal{lines: NewLines(in), out: out, drawer: NewDrawer(out)}
	t.drawer.asking = &t.lines.asking
	return t
}

// Prompter asks on the same terminal.
func (t *Terminal) Prompter() *Prompter { return &Prompter{t.lines, t.out} }

// Observe draws the events of a run.
func (t *Terminal) Observe(e sevengate.Event) { t.drawer.Event(e) }

const help = `  /help            this text
  /tools           the tools that the model has
  /mcp             the MCP servers, and their prompts as commands
  /tasks           the commands that run in the background
  /mode [MODE]     show or change the permission mode
  /exit            end (Ctrl-D does too)
Ctrl-C stops what is running; at the prompt it ends the conversation.`

// Talk runs the conversation until the person ends it. first, if not empty, is
// the first prompt. Ctrl-C stops a running turn; at the prompt it ends the
// conversation with [context.Canceled].
func (t *Terminal) Talk(ctx context.Context, r *sevengate.Runtime, first string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := t.watchInterrupts(cancel)
	defer stop()
	fmt.Fprintf(t.out, "Sevengate %s · %s · %s\nmode %s · /help for help\n", sevengate.Version, r.Model(), r.Dir(), r.Mode())
	if err := t.askTrust(ctx, r); err != nil {
		return err
	}
	if err := t.askServers(ctx, r); err != nil {
		return err
	}
	for prompt := first; ; prompt = "" {
		if prompt == "" {
			fmt.Fprint(t.out, "\n> ")
			line, err := t.lines.nextOr(ctx, r.Woken())
			switch {
			case errors.Is(err, errWoken):
				fmt.Fprintln(t.out, "\n  (something happened in the background)")
				if err := t.turn(ctx, r, ""); err != nil {
					return err
				}
				continue
			case errors.Is(err, io.EOF):
				fmt.Fprintln(t.out)
				return nil
			case err != nil:
				fmt.Fprintln(t.out)
				return err
			}
			prompt = strings.TrimSpace(line)
		}
		switch {
		case prompt == "":
			continue
		case prompt == "/exit" || prompt == "/quit":
			return nil
		case strings.HasPrefix(prompt, "/") && !strings.HasPrefix(prompt, "/mcp__"):
			t.command(r, prompt)
			continue
		}
		if err := t.turn(ctx, r, prompt); err != nil {
			return err
		}
	}
}

// askTrust asks, where the project's own settings would count for something,
// whether it is trusted.
func (t *Terminal) askTrust(ctx context.Context, r *sevengate.Runtime) error {
	withheld := r.Withheld(ctx)
	if pending, trusted := r.PendingServers(ctx); len(pending) > 0 && !trusted {
		withheld = append(withheld, "MCP servers, each of which is shown to you first: "+serverNames(pending))
	}
	if len(withheld) == 0 {
		return nil
	}
	fmt.Fprintf(t.out, "\nThis project brings:\n")
	for _, w := range withheld {
		fmt.Fprintf(t.out, "  %s\n", w)
	}
	fmt.Fprintf(t.out, "They count only if you trust the project (sevengate settings show lists what is in its settings).\nTrust it? [y/N]: ")
	line, err := t.lines.Next(ctx)
	if err != nil {
		fmt.Fprintln(t.out)
		if errors.Is(err, io.EOF) {
			return nil // nobody said yes
		}
		return err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		if err := r.Trust().SetTrust(r.Dir(), true); err != nil {
			fmt.Fprintf(t.out, "  It could not be recorded: %v\n", err)
			return nil
		}
		fmt.Fprintln(t.out, "  Trusted. sevengate trust --remove takes it back.")
	default:
		fmt.Fprintln(t.out, "  Not trusted: they do not count.")
	}
	return nil
}

// watchInterrupts sends Ctrl-C to the running turn, or else to the whole
// conversation.
func (t *Terminal) watchInterrupts(end context.CancelFunc) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	done, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		for {
			select {
			case <-signals:
				t.mu.Lock()
				cancel := t.cancelTurn
				t.mu.Unlock()
				if cancel == nil {
					cancel = end
				}
				cancel()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		<-finished
	}
}

func (t *Terminal) setTurn(cancel context.CancelFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancelTurn = cancel
}

func (t *Terminal) command(r *sevengate.Runtime, line string) {
	name, arg, _ := strings.Cut(line, " ")
	switch name {
	case "/help":
		fmt.Fprintln(t.out, help)
	case "/tools":
		tools, _, _ := r.Tools()
		for _, tl := range tools {
			fmt.Fprintf(t.out, "  %s\n", tl.Name())
		}
	case "/tasks":
		tasks := r.Tasks()
		if len(tasks) == 0 {
			fmt.Fprintln(t.out, "  Nothing runs in the background.")
		}
		for _, task := range tasks {
			fmt.Fprintf(t.out, "  %s  %s  %s\n", task.ID, task.State, clip(Printable(strings.ReplaceAll(task.Command, "\n", " ; ")), 100))
		}
	case "/mcp":
		m := r.MCPServers()
		if m == nil {
			fmt.Fprintln(t.out, "  No MCP servers are configured here.")
			return
		}
		for _, s := range m.Status() {
			fmt.Fprintf(t.out, "  %s  %s  %d tools  %s\n", Printable(s.Name), s.State, len(s.Tools), Printable(s.Reason))
		}
		for _, p := range m.Prompts() {
			fmt.Fprintf(t.out, "  /%s  %s\n", Printable(p.Command), clip(Printable(p.Description), 100))
		}
	case "/mode":
		if arg = strings.TrimSpace(arg); arg != "" {
			if err := r.SetMode(arg); err != nil {
				fmt.Fprintf(t.out, "  %v\n", err)
				return
			}
		}
		fmt.Fprintf(t.out, "  mode %s\n", r.Mode())
	default:
		fmt.Fprintf(t.out, "  There is no command %s; /help lists them.\n", Printable(name))
	}
}

// turn runs one prompt, or without one what happened meanwhile; Ctrl-C stops it
// and not the conversation.
func (t *Terminal) turn(ctx context.Context, r *sevengate.Runtime, prompt string) error {
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	t.setTurn(cancel)
	defer t.setTurn(nil)
	var out sevengate.Outcome
	var err error
	if prompt == "" {
		out, _, err = r.Continue(run)
		if out.Reason == "" && err == nil {
			return nil // it was told already
		}
	} else {
		out, err = r.Run(run, prompt)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		fmt.Fprintf(t.out, "\n  The run failed: %v\n", err)
		return nil
	}
	switch out.Reason {
	case agent.Completed:
	case agent.Interrupted, agent.ToolsHalted:
		fmt.Fprintln(t.out, "\n  (stopped)")
	default:
		detail := out.Detail
		if detail == "" {
			detail = string(out.Reason)
		}
		fmt.Fprintf(t.out, "\n  (ended: %s)\n", Printable(detail))
	}
	return nil
}
