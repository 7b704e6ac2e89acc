package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

func (a *app) toolsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tools [NAME]",
		Short: "List the tools as a model would get them; --json for the API form",
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return a.tools(args) },
	}
}

func (a *app) tools(args []string) error {
	r, err := a.runtime(func(o *sevengate.Options) { o.Ephemeral = true })
	if err != nil {
		return err
	}
	defer r.Close()
	a.withServers(r, "")
	tools, api, problems := r.Tools()
	for _, p := range problems {
		fmt.Fprintf(a.Stderr, "sevengate: the tool %s is left out: %v\n", p.Tool, p.Err)
	}
	if len(args) == 1 {
		for i, t := range tools {
			if t.Answers(args[0]) {
				return a.oneTool(t, api[i])
			}
		}
		return &exitError{ExitFailed, fmt.Errorf("there is no tool %q here; sevengate tools lists them", args[0])}
	}
	if a.flags.json {
		forms := make([]json.RawMessage, len(api))
		for i, t := range api {
			forms[i] = t.JSON()
		}
		return printJSON(a.Stdout, forms)
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for i, t := range tools {
		line, _, _ := strings.Cut(api[i].Description, "\n")
		note := ""
		if t.Facts().Defer {
			note = " (found by search in large pools)"
		}
		fmt.Fprintf(w, "%s\t%s%s\n", t.Name(), line, note)
	}
	return w.Flush()
}

func (a *app) oneTool(t tool.Tool, api schema.APITool) error {
	if a.flags.json {
		return printJSON(a.Stdout, json.RawMessage(api.JSON()))
	}
	f := t.Facts()
	fmt.Fprintf(a.Stdout, "%s\n\n%s\n\n", f.Name, api.Description)
	if len(f.Aliases) > 0 {
		fmt.Fprintf(a.Stdout, "Also called: %s\n", strings.Join(f.Aliases, ", "))
	}
	limit := fmt.Sprintf("%d characters", f.MaxResultChars)
	if f.MaxResultChars == tool.Unlimited {
		limit = "bounded by the tool itself"
	}
	fmt.Fprintf(a.Stdout, "Largest result: %s\n\nInput:\n", limit)
	var tree any
	if err := json.Unmarshal(api.InputSchema, &tree); err != nil {
		return err
	}
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("  ", "  ")
	return enc.Encode(tree)
}
