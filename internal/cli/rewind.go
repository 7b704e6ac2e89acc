package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sevengate/sevengate"
)

func (a *app) rewindCommand() *cobra.Command {
	var to int
	var dryRun, force, list bool
	cmd := &cobra.Command{Use: "rewind ID", Short: "Bring the files that a session changed back to an earlier moment", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if to < 0 {
				return usage("--to is %d; it must be the number of a checkpoint, see --list", to)
			}
			return a.rewind(args[0], to, dryRun, force, list)
		}}
	f := cmd.Flags()
	f.IntVar(&to, "to", 0, "go back to the checkpoint `N`; default: before the last prompt that changed files")
	f.BoolVar(&dryRun, "dry-run", false, "say what would be done, and do nothing")
	f.BoolVar(&force, "force", false, "also where files were changed by something else since")
	f.BoolVar(&list, "list", false, "list the checkpoints")
	return cmd
}

type changeRow struct {
	Path       string `json:"path"`
	Action     string `json:"action"`
	Note       string `json:"note,omitempty"`
	Conflict   bool   `json:"conflict,omitempty"`
	Unable     bool   `json:"unable,omitempty"`
	Insertions int    `json:"insertions"`
	Deletions  int    `json:"deletions"`
}

type rewindRow struct {
	Checkpoint int               `json:"checkpoint"`
	DryRun     bool              `json:"dry_run"`
	CanRewind  bool              `json:"can_rewind"`
	Error      string            `json:"error,omitempty"`
	Changes    []changeRow       `json:"changes"`
	Done       []string          `json:"files_changed"`
	Failed     map[string]string `json:"failed,omitempty"`
	Insertions int               `json:"insertions"`
	Deletions  int               `json:"deletions"`
	Undo       int               `json:"undo,omitempty"`
}

func (a *app) rewind(id string, to int, dryRun, force, list bool) error {
	r, err := a.runtime(func(o *sevengate.Options) { o.Ephemeral = true })
	if err != nil {
		return err
	}
	defer r.Close()
	if list {
		return a.listCheckpoints(r, id)
	}
	row := rewindRow{DryRun: dryRun, Changes: []changeRow{}, Done: []string{}}
	var changes []sevengate.FileChange
	if dryRun {
		var at sevengate.Checkpoint
		at, changes, err = r.PlanRewind(a.ctx, id, to)
		row.Checkpoint = at.N
	} else {
		var rep sevengate.RewindReport
		rep, err = r.Rewind(a.ctx, id, to, force)
		changes = rep.Changes
		row.Checkpoint, row.Failed, row.Insertions, row.Deletions, row.Undo = rep.Checkpoint.N, rep.Failed, rep.Insertions, rep.Deletions, rep.Undo
		row.Done = append(row.Done, rep.Done...)
	}
	if err != nil && row.Checkpoint == 0 {
		return err
	}
	row.CanRewind = err == nil
	for _, c := range changes {
		row.Changes = append(row.Changes, changeRow{c.Path, string(c.Action), c.Note, c.Conflict, c.Unable, c.Insertions, c.Deletions})
		row.CanRewind = row.CanRewind && (force || !c.Conflict) && !c.Unable
	}
	if err != nil {
		row.Error = err.Error()
	}
	if a.flags.json {
		return errors.Join(printJSON(a.Stdout, row), err)
	}
	showRewind(a.Stdout, row)
	return err
}

func showRewind(w io.Writer, row rewindRow) {
	for _, c := range row.Changes {
		text := fmt.Sprintf("%-7s %s (+%d -%d)", c.Action, printable(c.Path), c.Insertions, c.Deletions)
		switch {
		case c.Unable:
			text = "cannot  " + printable(c.Path)
		case c.Conflict:
			text += " CONFLICT"
		}
		if c.Note != "" {
			text += ": " + printable(c.Note)
		}
		fmt.Fprintln(w, text)
	}
	for _, path := range slices.Sorted(maps.Keys(row.Failed)) {
		if reason := row.Failed[path]; !slices.ContainsFunc(row.Changes, func(c changeRow) bool { return c.Path == path && c.Note == reason }) {
			fmt.Fprintf(w, "failed  %s: %s\n", printable(path), printable(reason))
		}
	}
	switch {
	case len(row.Changes) == 0:
		fmt.Fprintf(w, "Nothing was changed since checkpoint %d.\n", row.Checkpoint)
	case row.DryRun:
		fmt.Fprintf(w, "Going back to checkpoint %d would do this; nothing was done.\n", row.Checkpoint)
	case row.Undo > 0:
		fmt.Fprintf(w, "Went back to checkpoint %d: %d files (+%d -%d). To undo: --to %d\n", row.Checkpoint, len(row.Done), row.Insertions, row.Deletions, row.Undo)
	}
}

func (a *app) listCheckpoints(r *sevengate.Runtime, id string) error {
	all, err := r.Checkpoints(id)
	if err != nil {
		return err
	}
	if a.flags.json {
		return printJSON(a.Stdout, all)
	}
	for _, c := range all {
		title := c.Title
		if title == "" {
			title = "(" + string(c.Kind) + ")"
		}
		if _, err := fmt.Fprintf(a.Stdout, "%4d  %s  %d files  %s\n", c.N, c.Time.Local().Format("2006-01-02 15:04"), c.Files, printable(title)); err != nil {
			return err
		}
	}
	return nil
}
