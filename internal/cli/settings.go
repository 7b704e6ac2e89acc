package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/settings"
)

func (a *app) settingsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "settings", Short: "Look at the settings files and check them"}
	cmd.AddCommand(
		&cobra.Command{Use: "show", Short: "Say which settings files were looked for, found and wrong", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return a.showSettings() }},
		&cobra.Command{Use: "check", Short: "Check all settings files, and run the tests that they hold (permissions.tests)", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return a.checkSettings() }},
		&cobra.Command{Use: "sandbox", Short: "Say what commands in the sandbox can do, and what this machine can enforce", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return a.showSandbox() }},
	)
	return cmd
}

func (a *app) showSettings() error {
	r, err := a.runtime(func(o *sevengate.Options) { o.Ephemeral, o.SkipRuleTests = true, true })
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.WriteString(a.Stdout, r.CurrentSettings(a.ctx).Report())
	return err
}

func (a *app) showSandbox() error {
	r, err := a.runtime(func(o *sevengate.Options) { o.Ephemeral, o.SkipRuleTests = true, true })
	if err != nil {
		return err
	}
	defer r.Close()
	report := r.Sandbox(a.ctx)
	if a.flags.json {
		enc := json.NewEncoder(a.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(report)
	}
	_, err = io.WriteString(a.Stdout, report.String())
	return err
}

func (a *app) checkSettings() error {
	r, err := a.runtime(func(o *sevengate.Options) { o.Ephemeral, o.SkipRuleTests = true, true }) // tells problems and warnings
	if err != nil {
		return err
	}
	defer r.Close()
	s := r.CurrentSettings(a.ctx)
	bad := len(s.Problems)
	results := r.CheckTests(a.ctx)
	failed := 0
	for _, t := range results {
		where := fmt.Sprintf("%s:%d", t.File, t.Line)
		switch {
		case !t.Passed:
			failed++
			fmt.Fprintf(a.Stdout, "FAIL %s: %s: %s\n", where, compact(t.Call), t.Error)
		case a.flags.verbose:
			fmt.Fprintf(a.Stdout, "ok   %s: %s: %s\n", where, compact(t.Call), t.Expect)
		}
	}
	fmt.Fprintf(a.Stdout, "%d files with problems, %d warnings, %d tests, %d failed\n", bad, len(s.Warnings)+len(r.Policy().Warnings()), len(results), failed)
	if bad+failed > 0 {
		return exit(ExitFailed)
	}
	return nil
}

func compact(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
}

func (a *app) trustCommand() *cobra.Command {
	var remove, list bool
	cmd := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Trust a project, so that its own allow rules count",
		Long: `Trust the project around DIR (or the current directory): the allow rules and
additional directories that its committed settings bring count from now on. Deny
and ask rules always count.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.trust(args, remove, list) },
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "no longer trust it")
	cmd.Flags().BoolVar(&list, "list", false, "list the trusted projects")
	return cmd
}

func (a *app) trust(args []string, remove, list bool) error {
	r, err := sevengate.New(a.ctx, sevengate.Options{Dir: a.flags.cwd, Environ: a.Environ, Ephemeral: true, SkipRuleTests: true})
	if err != nil {
		return &exitError{ExitUsage, err}
	}
	defer r.Close()
	store := r.Trust()
	if list {
		folders, err := store.Folders()
		if err != nil {
			return err
		}
		for _, f := range folders {
			fmt.Fprintln(a.Stdout, printable(f))
		}
		return nil
	}
	dir := r.Dir()
	if len(args) == 1 {
		if dir = args[0]; !filepath.IsAbs(dir) {
			dir = filepath.Join(r.Dir(), dir)
		}
	}
	if info, err := os.Stat(dir); !remove && (err != nil || !info.IsDir()) {
		return usage("%s is no directory; give the project's, or --list", printable(dir))
	}
	if err := store.SetTrust(dir, !remove); err != nil {
		return err
	}
	word := "trusted"
	if remove {
		word = "no longer trusted"
	}
	fmt.Fprintf(a.Stdout, "%s is %s.\n", printable(settings.TrustKey(dir)), word)
	return nil
}

func (a *app) hooksCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "hooks", Short: "Look at the hooks of this project's settings"}
	cmd.AddCommand(&cobra.Command{Use: "list", Short: "List the hooks that would run", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.listHooks() }})
	return cmd
}

func (a *app) listHooks() error {
	r, err := a.runtime(func(o *sevengate.Options) { o.Ephemeral = true })
	if err != nil {
		return err
	}
	defer r.Close()
	groups, _ := r.Hooks(context.Background()) // the warnings were told already
	if a.flags.json {
		return printJSON(a.Stdout, groups)
	}
	for _, g := range groups {
		matcher := g.Matcher
		if matcher == "" {
			matcher = "*"
		}
		for _, h := range g.Handlers {
			what := h.Command
			switch {
			case h.URL != "":
				what = h.URL
			case h.Prompt != "":
				what = h.Prompt
			case h.Tool != "":
				what = h.Server + " " + h.Tool
			}
			fmt.Fprintf(a.Stdout, "%s  %s  %s: %s  (%s %s)\n", g.Event, matcher, h.Type, clipTo(printable(what), 120), g.Source, g.File)
		}
	}
	if len(groups) == 0 {
		fmt.Fprintln(a.Stdout, "No hooks are configured here.")
	}
	return nil
}
