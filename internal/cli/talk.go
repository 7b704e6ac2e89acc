package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/agent"
	"github.com/sevengate/sevengate/internal/headless"
	"github.com/sevengate/sevengate/internal/tui"
	"github.com/sevengate/sevengate/tool"
)

// talk is the command without a subcommand: a conversation in the terminal, or
// one answer with -p.
func (a *app) talk(args []string) error {
	prompt := ""
	if len(args) == 1 {
		prompt = args[0]
	}
	if a.flags.print || !a.Terminal {
		return a.print(prompt)
	}
	if a.flags.outputFormat != "text" || a.flags.inputFormat != "text" {
		return usage("--output-format and --input-format need -p")
	}
	t := tui.NewTerminal(a.Stdin, a.Stdout)
	a.interactive.Store(true)
	r, err := a.runtime(func(o *sevengate.Options) {
		o.Prompter, o.Observe = t.Prompter(), t.Observe
	})
	if err != nil {
		return err
	}
	defer a.close(r)
	if r.Model() == "" {
		return usage("%v\nTo see it work without a model: sevengate demo", sevengate.ErrNoModel)
	}
	a.warnServers(r)
	err = t.Talk(a.ctx, r, prompt)
	if errors.Is(err, context.Canceled) {
		return exit(ExitInterrupted)
	}
	return err
}

// close ends a runtime; what goes wrong then is told and does not change the
// exit code.
func (a *app) close(r *sevengate.Runtime) {
	if err := r.Close(); err != nil {
		fmt.Fprintf(a.Stderr, "sevengate: ending the session: %v\n", err)
	}
}

// print answers on standard output.
func (a *app) print(prompt string) error {
	format, err := headless.ParseFormat(a.flags.outputFormat)
	if err != nil {
		return usage("%v", err)
	}
	if a.flags.json && format == headless.Text {
		format = headless.JSON
	}
	switch a.flags.inputFormat {
	case "text":
		if a.flags.replay {
			return usage("--replay-user-messages needs --input-format stream-json")
		}
		if f, isFile := a.Stdin.(*os.File); !a.Terminal && (!isFile || piped(f)) {
			text, err := headless.ReadPrompt(a.Stdin)
			if err != nil {
				return err
			}
			switch {
			case prompt == "":
				prompt = text
			case text != "":
				prompt += "\n\n" + text
			}
		}
		if prompt == "" {
			return usage("a prompt is needed, as an argument or on standard input")
		}
	case "stream-json":
		if format != headless.StreamJSON {
			return usage("--input-format stream-json needs --output-format stream-json")
		}
		if prompt != "" {
			return usage("with --input-format stream-json the prompts come on standard input")
		}
	default:
		return usage("input format %q: it must be text or stream-json", a.flags.inputFormat)
	}
	p := headless.NewPrinter(format, a.Stdout, a.Stderr, a.flags.partial)
	r, err := a.runtime(func(o *sevengate.Options) { o.Observe = p.Observe })
	if err != nil {
		return err
	}
	defer a.close(r)
	if r.Model() == "" {
		return usage("%v", sevengate.ErrNoModel)
	}
	p.Start(r)
	var ok bool
	var out sevengate.Outcome
	if a.flags.inputFormat == "stream-json" {
		ok, err = p.Feed(a.ctx, a.Stdin, a.flags.replay)
	} else {
		out, ok, err = p.Run(a.ctx, tool.UserText(prompt))
	}
	switch {
	case err != nil:
		return err
	case a.ctx.Err() != nil || out.Reason == agent.Interrupted || out.Reason == agent.ToolsHalted:
		return exit(ExitInterrupted)
	case !ok:
		return exit(ExitFailed)
	}
	return nil
}

// piped tells whether standard input is something to read to its end.
func piped(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}
