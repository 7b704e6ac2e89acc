package cli

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/agent"
	"github.com/sevengate/sevengate/internal/tui"
)

//go:embed demo
var demoFiles embed.FS

// demoLastTest is the call of the bundled script that must succeed.
const demoLastTest = "demo_12"

func (a *app) demoCommand() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See it work: real tools on a scratch project, no key, no network",
		Long: `Make a scratch project with a failing test and let a scripted model mend it. The
model's part is a bundled script; the tools, decisions and timings are real.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.demo(keep) },
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the scratch project")
	return cmd
}

func (a *app) demo(keep bool) (err error) {
	scratch, err := os.MkdirTemp("", "sevengate-demo-")
	if err != nil {
		return fmt.Errorf("making the scratch project: %w", err)
	}
	defer func() {
		if !keep {
			if e := os.RemoveAll(scratch); err == nil {
				err = e
			}
		}
	}()
	project, script, err := layOut(scratch)
	if err != nil {
		return fmt.Errorf("making the scratch project: %w", err)
	}
	out := a.Stdout
	fmt.Fprintf(out, "Sevengate demo. The model is scripted: its words and calls are fixed beforehand. All else is real.\n")
	fmt.Fprintf(out, "Project: %s\nRules:   edits in the project go through (acceptEdits); Bash(sh test.sh) is allowed; Read(.env) is denied.\n\n", project)

	drawer := tui.NewDrawer(out)
	drawer.Timing = true
	var results []*sevengate.Result
	none := ""
	r, err := sevengate.New(a.ctx, sevengate.Options{
		Dir: project, Environ: append(append([]string(nil), a.Environ...), sevengate.EnvHome+"="+filepath.Join(scratch, "state"), "SEVENGATE_NO_SHELL_SNAPSHOT=1"),
		Model: "script:" + script, Mode: "acceptEdits", SettingSources: &none,
		Allowed: []string{"Bash(sh test.sh)"}, Disallowed: []string{"Read(.env)"},
		Observe: func(e sevengate.Event) {
			drawer.Event(e)
			if e.Kind == agent.EventResult {
				results = append(results, e.Result)
			}
		},
	})
	if err != nil {
		return err
	}
	defer a.close(r)
	begin := time.Now()
	outcome, err := r.Run(a.ctx, "The test of this project fails. Find out why and mend it.")
	if err != nil {
		return err
	}
	if a.ctx.Err() != nil {
		return exit(ExitInterrupted)
	}
	took := time.Since(begin)
	passed := false
	for _, res := range results {
		passed = passed || res.Use.ID == demoLastTest && res.Ran && !res.Block.IsError
	}
	fmt.Fprintf(out, "\n%s", summary(results, outcome, took))
	if !passed {
		return &exitError{ExitFailed, fmt.Errorf("the demo did not end with a passing test; something on this machine is in its way (the lines above say what)")}
	}
	fmt.Fprintf(out, "The test passes.\n\n")
	if keep {
		fmt.Fprintf(out, "The project is kept in %s\n\n", project)
	}
	fmt.Fprintf(out, `With a live model:
  export ANTHROPIC_API_KEY=…                     then  sevengate "fix the failing test"
  export OPENAI_API_KEY=…  (or OPENAI_BASE_URL)  then  sevengate --model openai:NAME "…"
Without running anything:
  sevengate explain Bash '{"command":"git push --force"}'
`)
	return nil
}

// layOut writes the scratch project and the script.
func layOut(scratch string) (project, script string, err error) {
	project = filepath.Join(scratch, "cart")
	files, err := fs.Sub(demoFiles, "demo/files")
	if err != nil {
		return "", "", err
	}
	if err := os.CopyFS(project, files); err != nil {
		return "", "", err
	}
	if err := os.Rename(filepath.Join(project, "env.txt"), filepath.Join(project, ".env")); err != nil {
		return "", "", err
	}
	text, err := demoFiles.ReadFile("demo/script.jsonl")
	if err != nil {
		return "", "", err
	}
	script = filepath.Join(scratch, "script.jsonl")
	return project, script, os.WriteFile(script, text, 0o600)
}

// chartWidth is the width of the time chart, in characters.
const chartWidth = 48

// summary draws when the calls ran, and adds up what happened.
func summary(results []*sevengate.Result, outcome sevengate.Outcome, took time.Duration) string {
	var b strings.Builder
	var ran []*sevengate.Result
	for _, r := range results {
		if r.Ran {
			ran = append(ran, r)
		}
	}
	if len(ran) == 0 {
		return ""
	}
	first, last := ran[0].Start, ran[0].End
	for _, r := range ran {
		if r.Start.Before(first) {
			first = r.Start
		}
		if r.End.After(last) {
			last = r.End
		}
	}
	span := last.Sub(first)
	fmt.Fprintf(&b, "When the calls ran (%s in all):\n", span.Round(time.Millisecond))
	for _, r := range ran {
		from := int(int64(chartWidth) * int64(r.Start.Sub(first)) / int64(span+1))
		to := int(int64(chartWidth) * int64(r.End.Sub(first)) / int64(span+1))
		bar := strings.Repeat(" ", from) + strings.Repeat("#", to-from+1)
		fmt.Fprintf(&b, "  %-5s |%-*s| %8s\n", r.Use.Name, chartWidth+1, bar, r.End.Sub(r.Start).Round(100*time.Microsecond))
	}
	fmt.Fprintf(&b, "%d calls, at most %d at once, %d refused, in %d turns and %s\n", len(results), atOnce(ran), len(outcome.Denials), outcome.Turns, took.Round(time.Millisecond))
	return b.String()
}

// atOnce is how many calls ran at the same moment, at most.
func atOnce(ran []*sevengate.Result) int {
	most := 0
	for _, r := range ran {
		n := 0
		for _, other := range ran {
			if !other.Start.After(r.Start) && other.End.After(r.Start) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
