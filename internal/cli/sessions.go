package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/tool"
)

func (a *app) sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "Look at past conversations of this project"}
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List the sessions, the latest first", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return a.listSessions() }},
		&cobra.Command{Use: "show ID", Short: "Print a session", Args: cobra.ExactArgs(1),
			RunE: func(_ *cobra.Command, args []string) error { return a.showSession(args[0]) }},
		a.rewindCommand(),
	)
	return cmd
}

func (a *app) listSessions() error {
	r, err := a.runtime(func(o *sevengate.Options) { o.Ephemeral = true })
	if err != nil {
		return err
	}
	defer r.Close()
	all, err := r.Sessions()
	if err != nil {
		return err
	}
	if a.flags.json {
		type row struct {
			ID       string    `json:"id"`
			Title    string    `json:"title"`
			Model    string    `json:"model"`
			Started  time.Time `json:"started"`
			Modified time.Time `json:"modified"`
			Messages int       `json:"messages"`
			Clean    bool      `json:"ended_cleanly"`
		}
		rows := make([]row, len(all))
		for i, s := range all {
			rows[i] = row{s.ID, s.Title, s.Model, s.Started, s.Modified, s.Messages, s.Clean}
		}
		return printJSON(a.Stdout, rows)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "There are no sessions of this project yet.")
		return err
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for _, s := range all {
		note := ""
		if !s.Clean {
			note = " (cut off)"
		}
		fmt.Fprintf(w, "%s\t%s\t%d messages\t%s%s\n", s.ID, s.Modified.Local().Format("2006-01-02 15:04"), s.Messages, printable(s.Title), note)
	}
	return w.Flush()
}

func (a *app) showSession(id string) error {
	r, err := a.runtime(func(o *sevengate.Options) { o.Ephemeral, o.Resume = true, id })
	if err != nil {
		return err
	}
	defer r.Close()
	messages := r.Messages()
	if a.flags.json {
		for _, m := range messages {
			if err := printJSON(a.Stdout, m); err != nil {
				return err
			}
		}
		return nil
	}
	for _, m := range messages {
		for _, b := range m.Content {
			if text := showBlock(m.Role, b); text != "" {
				if _, err := fmt.Fprintln(a.Stdout, text); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// showChars bounds what is shown of one block.
const showChars = 2_000

func showBlock(role tool.Role, b tool.Block) string {
	switch b.Type {
	case tool.BlockText:
		mark := "  "
		if role == tool.RoleUser {
			mark = "> "
		}
		return mark + indent(printable(b.Text))
	case tool.BlockToolUse:
		var compact strings.Builder
		enc := json.NewEncoder(&compact)
		enc.SetEscapeHTML(false)
		if enc.Encode(b.Input) != nil {
			return "* " + b.Name
		}
		return "* " + b.Name + " " + clipTo(strings.TrimSpace(printable(compact.String())), showChars)
	case tool.BlockToolResult:
		mark := "  = "
		if b.IsError {
			mark = "  ! "
		}
		return mark + indent(clipTo(printable(strings.TrimRight(plainContent(b.Content), "\n")), showChars))
	}
	return ""
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n    ") }

func clipTo(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + fmt.Sprintf("… (%d characters more)", len(r)-n)
	}
	return s
}

// printable drops what could play with the reader's terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < 0x20 || r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, s)
}
