package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/tui"
	"github.com/sevengate/sevengate/tool"
)

// maxStdin bounds an input read from standard input.
const maxStdin = 32 << 20

// callGCPercent lets a program that makes one call and ends collect about half as
// often as usual: the heap stays small all the same.
const callGCPercent = 300

func (a *app) callCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "call TOOL [JSON|-]",
		Short: "Make one call, through all seven phases",
		Long: `Make one call, through all seven phases, and print its result; with --json, the
tool_result block. Without a terminal a question is a refusal.

Exit codes: 0 done, 1 the tool failed, 3 refused.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return a.call(args) },
	}
}

// readInput takes the JSON input of a call from the argument or, for "-", from
// standard input.
func (a *app) readInput(args []string) (json.RawMessage, error) {
	if len(args) < 2 {
		return json.RawMessage("{}"), nil
	}
	text := args[1]
	if text == "-" {
		raw, err := io.ReadAll(io.LimitReader(a.Stdin, maxStdin+1))
		if err != nil {
			return nil, fmt.Errorf("reading the input from standard input: %w", err)
		}
		if len(raw) > maxStdin {
			return nil, usage("the input on standard input is larger than %d bytes", maxStdin)
		}
		text = string(raw)
	}
	if !json.Valid([]byte(text)) {
		var v any
		err := json.Unmarshal([]byte(text), &v)
		return nil, usage("the input of %s is not valid JSON: %v", args[0], err)
	}
	return json.RawMessage(text), nil
}

func (a *app) call(args []string) error {
	collectLess(callGCPercent)
	input, err := a.readInput(args)
	if err != nil {
		return err
	}
	r, err := a.runtime(func(o *sevengate.Options) {
		o.Ephemeral = true
		if a.Terminal && (len(args) < 2 || args[1] != "-") {
			o.Prompter = tui.NewPrompter(a.Stdin, a.Stderr)
		}
	})
	if err != nil {
		return err
	}
	defer r.Close()
	a.withServers(r, args[0])
	res := r.Call(a.ctx, args[0], input)
	for _, n := range append(res.Notices, res.Context...) {
		fmt.Fprintf(a.Stderr, "sevengate: %s\n", n)
	}
	if a.flags.json {
		if err := printJSON(a.Stdout, res.Block); err != nil {
			return err
		}
	} else {
		out := a.Stdout
		if res.Block.IsError {
			out = a.Stderr
		}
		if _, err := io.WriteString(out, plainContent(res.Block.Content)); err != nil {
			return err
		}
	}
	switch {
	case res.Cancelled:
		return exit(ExitInterrupted)
	case res.Denied:
		return exit(ExitDenied)
	case res.Block.IsError:
		return exit(ExitFailed)
	}
	return nil
}

// plainContent writes the content of a result for a person.
func plainContent(content []tool.Block) string {
	var b strings.Builder
	for _, c := range content {
		switch c.Type {
		case tool.BlockText:
			b.WriteString(strings.TrimRight(c.Text, "\n"))
			b.WriteByte('\n')
		case tool.BlockImage, tool.BlockDocument:
			if c.Source != nil {
				fmt.Fprintf(&b, "[%s: %s, %d bytes of base64]\n", c.Type, c.Source.MediaType, len(c.Source.Data))
			}
		case tool.BlockToolReference:
			fmt.Fprintf(&b, "[tool: %s]\n", c.ToolName)
		default:
			fmt.Fprintf(&b, "[%s]\n", c.Type)
		}
	}
	return b.String()
}

// printJSON writes one value on one line, without escaping <, > and &.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
