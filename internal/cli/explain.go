package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/tool"
)

// maxBatchRuntimes bounds how many different sets of rules a batch keeps ready.
const maxBatchRuntimes = 64

func (a *app) explainCommand() *cobra.Command {
	var batch string
	var hooks bool
	cmd := &cobra.Command{
		Use:   "explain TOOL [JSON|-]",
		Short: "Say what would happen to a call, and why; nothing is run",
		Long: `Say what would happen to a call, and why: which phase decides, by which rule of
which file. The tool is never run, and hooks are only with --hooks.

With --batch FILE, each line is {"id", "tool", "input", "mode", "cwd",
"permissions": {"allow", "ask", "deny", "additionalDirectories"}}; the last three
may be left out, and other keys are ignored. Each answer is one line of JSON
with the id.`,
		Args: cobra.RangeArgs(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case batch != "" && len(args) > 0:
				return usage("explain takes either a TOOL or --batch FILE, not both")
			case batch != "":
				return a.explainBatch(batch, hooks)
			case len(args) == 0:
				return usage("explain needs a TOOL, or --batch FILE")
			}
			return a.explain(args, hooks)
		},
	}
	cmd.Flags().StringVar(&batch, "batch", "", "explain every line of `FILE` (- for standard input)")
	cmd.Flags().BoolVar(&hooks, "hooks", false, "run the hooks, which may do anything")
	return cmd
}

func (a *app) explain(args []string, hooks bool) error {
	input, err := a.readInput(args)
	if err != nil {
		return err
	}
	r, err := a.runtime(func(o *sevengate.Options) { o.Ephemeral = true })
	if err != nil {
		return err
	}
	defer r.Close()
	a.withServers(r, args[0])
	e := r.Explain(a.ctx, args[0], input, hooks)
	if a.flags.json {
		return printJSON(a.Stdout, e)
	}
	_, err = io.WriteString(a.Stdout, explanationText(e))
	return err
}

// explanationText writes an explanation for a person.
func explanationText(e sevengate.Explanation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", e.Tool, e.Behavior)
	fmt.Fprintf(&b, "  %s\n", e.Reason.Message)
	fmt.Fprintf(&b, "  decided by   %s, %s\n", e.Reason.Phase, e.Reason.Layer)
	if e.Reason.Rule != "" {
		fmt.Fprintf(&b, "  rule         %s\n", e.Reason.Rule)
	}
	if where := strings.TrimSpace(e.Reason.Source + " " + e.Reason.File); where != "" {
		fmt.Fprintf(&b, "  from         %s\n", where)
	}
	if p := e.Properties; p != nil {
		var facts []string
		for _, f := range []struct {
			on   bool
			text string
		}{{p.ReadOnly, "read-only"}, {p.ConcurrencySafe, "concurrency-safe"}, {p.Destructive, "destructive"}, {p.OpenWorld, "open-world"}} {
			if f.on {
				facts = append(facts, f.text)
			}
		}
		if len(facts) > 0 {
			fmt.Fprintf(&b, "  properties   %s\n", strings.Join(facts, ", "))
		}
		switch {
		case !p.Effects.Known():
			b.WriteString("  effects      unknown: it runs alone\n")
		default:
			for _, l := range []struct {
				name  string
				paths []string
			}{{"reads", p.Effects.ReadPaths()}, {"writes", p.Effects.WritePaths()}} {
				for _, path := range l.paths {
					if name, ok := tool.IsResource(path); ok {
						path = "(" + name + ")"
					}
					fmt.Fprintf(&b, "  %-12s %s\n", l.name, path)
				}
			}
		}
	}
	if len(e.Parts) > 1 {
		b.WriteString("  parts\n")
		for _, p := range e.Parts {
			behavior := string(p.Behavior)
			if behavior == "" {
				behavior = "-"
			}
			fmt.Fprintf(&b, "    %-6s %-8s %s\n", behavior, p.Kind, p.Text)
			if p.Reason.Message != "" {
				fmt.Fprintf(&b, "           %s\n", p.Reason.Message)
			}
		}
	}
	if e.Behavior != tool.Allow && len(e.Allows) > 0 {
		b.WriteString("  would be allowed by\n")
		for _, s := range e.Allows {
			fmt.Fprintf(&b, "    %s   (%s)\n", s.Rule, s.Covers)
		}
	}
	b.WriteString("  trace\n")
	for _, s := range e.Trace {
		line := fmt.Sprintf("    %-10s %-8s %s", s.Phase, s.Outcome, s.Detail)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// batchLine is one line of a batch.
type batchLine struct {
	ID          json.RawMessage `json:"id"`
	Tool        string          `json:"tool"`
	Input       json.RawMessage `json:"input"`
	Mode        string          `json:"mode"`
	Cwd         string          `json:"cwd"`
	Permissions json.RawMessage `json:"permissions"`
}

type batchAnswer struct {
	ID json.RawMessage `json:"id,omitempty"`
	sevengate.Explanation
	Error string `json:"error,omitempty"`
}

func (a *app) explainBatch(name string, hooks bool) error {
	in := a.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return usage("reading the batch: %v", err)
		}
		defer f.Close()
		in = f
	} else {
		name = "standard input"
	}
	b := &batch{app: a, hooks: hooks, ready: map[string]*sevengate.Runtime{}}
	defer b.close()
	out := bufio.NewWriterSize(a.Stdout, 64<<10)
	lines := bufio.NewReaderSize(in, 64<<10)
	failed := false
	for n := 1; a.ctx.Err() == nil; n++ {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s, line %d: %w", name, n, err)
		}
		if len(strings.TrimSpace(string(line))) == 0 {
			continue
		}
		answer := b.explain(line)
		if answer.Error != "" {
			failed = true
			answer.Error = fmt.Sprintf("%s, line %d: %s", name, n, answer.Error)
		}
		if err := printJSON(out, answer); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if failed {
		return exit(ExitFailed)
	}
	return nil
}

// batch keeps runtimes ready for the sets of rules that it has met.
type batch struct {
	*app
	hooks bool
	ready map[string]*sevengate.Runtime
	order []string
}

func (b *batch) explain(line []byte) batchAnswer {
	var l batchLine
	if err := json.Unmarshal(line, &l); err != nil {
		return b.broken(l.ID, fmt.Sprintf("it is not one JSON object: %v", err))
	}
	if l.Tool == "" {
		return b.broken(l.ID, `"tool" is missing`)
	}
	r, err := b.runtimeFor(l)
	if err != nil {
		return b.broken(l.ID, err.Error())
	}
	return batchAnswer{ID: l.ID, Explanation: r.Explain(b.ctx, l.Tool, l.Input, b.hooks)}
}

// broken answers a line that cannot be explained: what is not understood is
// refused.
func (b *batch) broken(id json.RawMessage, message string) batchAnswer {
	return batchAnswer{ID: id, Error: message, Explanation: sevengate.Explanation{
		Behavior: tool.Deny, Input: json.RawMessage("{}"),
		Reason: tool.Reason{Phase: "extract", Layer: tool.LayerSchema, Message: message}}}
}

func (b *batch) runtimeFor(l batchLine) (*sevengate.Runtime, error) {
	key := l.Mode + "\x00" + l.Cwd + "\x00" + string(l.Permissions)
	if r, ok := b.ready[key]; ok {
		return r, nil
	}
	o, err := b.flags.options(b.app)
	if err != nil {
		return nil, err
	}
	o.Ephemeral, o.NoMCP = true, true
	if l.Mode != "" {
		if _, err := permission.ParseMode(l.Mode); err != nil {
			return nil, fmt.Errorf("mode: %w", err)
		}
		o.Mode = l.Mode
	}
	if l.Cwd != "" {
		if filepath.IsAbs(l.Cwd) {
			o.Dir = l.Cwd
		} else {
			o.Dir = filepath.Join(o.Dir, l.Cwd)
		}
	}
	if len(l.Permissions) > 0 && string(l.Permissions) != "null" {
		if o.Settings != "" {
			return nil, errors.New(`"permissions" and --settings cannot be used together`)
		}
		o.Settings = `{"permissions":` + string(l.Permissions) + `}`
	}
	r, err := sevengate.New(b.ctx, o)
	if err != nil {
		return nil, err
	}
	if len(b.order) >= maxBatchRuntimes {
		b.ready[b.order[0]].Close()
		delete(b.ready, b.order[0])
		b.order = b.order[1:]
	}
	b.ready[key] = r
	b.order = append(b.order, key)
	return r, nil
}

func (b *batch) close() {
	for _, r := range b.ready {
		r.Close()
	}
}
