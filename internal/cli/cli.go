// Package cli is the command line: flags in, the right face called, an exit
// code out. No decision about calls is made here.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sevengate/sevengate"
)

// Exit codes.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitDenied      = 3
	ExitInterrupted = 130
	ExitTerminated  = 143
)

// World is what a command line runs in.
type World struct {
	Args    []string // without the program's name
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string
	// Terminal: a person sits at Stdin and Stderr.
	Terminal bool
	// Signals: Ctrl-C and the like are to be handled.
	Signals bool
}

// System is the world of this process.
func System() World {
	return World{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(),
		Terminal: term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())),
		Signals:  true,
	}
}

// exitError carries an exit code. Its text, if any, was not yet shown.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func exit(code int) error { return &exitError{code: code} }

func usage(format string, args ...any) error {
	return &exitError{ExitUsage, fmt.Errorf(format, args...)}
}

// app is one invocation.
type app struct {
	World
	flags      flags
	ctx        context.Context
	terminated atomic.Bool
	// interactive: the conversation in the terminal deals with Ctrl-C itself.
	interactive atomic.Bool
}

// Main runs a command line and returns its exit code.
func Main(w World) int {
	a := &app{World: w}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	a.ctx = ctx
	if w.Signals {
		stop := a.watchSignals(cancel)
		defer stop()
	}
	root := a.rootCommand()
	root.SetArgs(w.Args)
	root.SetIn(w.Stdin)
	root.SetOut(w.Stdout)
	root.SetErr(w.Stderr)
	err := root.ExecuteContext(ctx)
	if a.terminated.Load() {
		return ExitTerminated
	}
	if err == nil {
		return ExitOK
	}
	code := ExitFailed
	var e *exitError
	var u *usageError
	switch {
	case errors.As(err, &e):
		code = e.code
	case errors.As(err, &u), isUsage(err):
		code = ExitUsage
	case ctx.Err() != nil:
		code = ExitInterrupted
	}
	if text := oneLine(err.Error()); text != "" {
		fmt.Fprintf(w.Stderr, "sevengate: %s\n", text)
	}
	return code
}

// watchSignals ends the run at the first signal, and the process at the
// second of the same kind.
func (a *app) watchSignals(cancel context.CancelCauseFunc) (stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for n := 0; ; n++ {
			select {
			case s := <-signals:
				if s == syscall.SIGTERM {
					a.terminated.Store(true)
				} else if a.interactive.Load() {
					continue
				}
				if n > 0 {
					os.Exit(ExitInterrupted)
				}
				cancel(context.Canceled)
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

// oneLine keeps an error to one clear line, unless it is a list.
func oneLine(s string) string {
	return strings.TrimRight(s, " \n")
}

type usageError struct{ error }

// isUsage recognises cobra's own complaints, which have no type.
func isUsage(err error) bool {
	for _, start := range []string{"unknown command", "unknown flag", "unknown shorthand", "invalid argument", "accepts ", "requires at least", "flag needs an argument", "required flag", "if any flags in the group", "bad flag syntax"} {
		if strings.HasPrefix(err.Error(), start) {
			return true
		}
	}
	return false
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "sevengate [PROMPT]",
		Short: "Run a model's tool calls on this machine, each checked, scheduled and bounded",
		Long: `Sevengate stands between a language model and this machine. Every call of every
tool passes seven phases: extract, validate, pre-hooks, permit, execute,
post-hooks, map.

  sevengate demo                    see it work: no key, no network
  sevengate "fix the failing test"  talk to an agent in the terminal
  sevengate -p "what is in here?"   one answer on standard output
  sevengate explain Bash '{"command":"rm -rf build"}'
                                    what would happen, and why`,
		Args:          cobra.MaximumNArgs(1),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, args []string) error { return a.talk(args) },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	a.flags.add(root)
	a.flags.addTalk(root)
	root.AddCommand(a.demoCommand(), a.callCommand(), a.execCommand(), a.explainCommand(), a.toolsCommand(),
		a.sessionsCommand(), a.settingsCommand(), a.trustCommand(), a.hooksCommand(), a.mcpCommand(), a.versionCommand())
	for _, c := range root.Commands() {
		if c.HasSubCommands() && !c.Runnable() {
			needsOne(c)
		}
	}
	return root
}

// needsOne makes a command that only groups others refuse what is none of them.
func needsOne(c *cobra.Command) {
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var names []string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		return usage("%s has no command %q; it has %s", cmd.CommandPath(), printable(args[0]), strings.Join(names, ", "))
	}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.Stdout, "sevengate %s\n", sevengate.Version)
			return err
		},
	}
}
