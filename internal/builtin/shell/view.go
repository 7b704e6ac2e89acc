package shell

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/sevengate/sevengate/tool"
)

// What a person is shown.
const (
	maxUseLines   = 3
	maxUseChars   = 300
	progressLines = 5
	resultLines   = 10
)

func (f *family) bashView() tool.View[BashInput, BashOutput] {
	return tool.View[BashInput, BashOutput]{
		Use:      func(in BashInput) string { return f.outsideMark(in) + shown(in.Command) },
		Progress: func(_ BashInput, p tool.Progress) string { return progressText(p) },
		Result: func(_ BashInput, out BashOutput) tool.Rendering {
			return tool.Rendering{Summary: summary(out), Detail: lastLines(joinNotes(out.Stdout, out.Stderr), resultLines)}
		},
		Error: func(_ BashInput, err error) string {
			var failed *failure
			if errors.As(err, &failed) {
				return failed.summary + "\n" + lastLines(failed.text, resultLines)
			}
			return err.Error()
		},
		Preview:  f.preview,
		Rejected: func(in BashInput) tool.Rendering { return tool.Rendering{Detail: visible(in.Command)} },
		Grouped:  func(in []BashInput) string { return fmt.Sprintf("%d commands", len(in)) },
	}
}

// visible makes a command fit to be shown: what would move the cursor, reorder
// text or not be seen is spelled out.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// shown is the beginning of a command.
func shown(command string) string {
	command = visible(strings.TrimSpace(command))
	lines := strings.SplitN(command, "\n", maxUseLines+1)
	cut := len(lines) > maxUseLines
	s := strings.Join(lines[:min(len(lines), maxUseLines)], "\n")
	if r := []rune(s); len(r) > maxUseChars {
		s, cut = string(r[:maxUseChars]), true
	}
	if cut {
		s += " …"
	}
	return s
}

func progressText(p tool.Progress) string {
	head := fmt.Sprintf("%.0fs, %s, %s", p.Seconds, counted(p.Lines, "line"), human(p.Bytes))
	if p.Text == "" {
		return head
	}
	return p.Text + "\n" + head
}

func summary(out BashOutput) string {
	switch {
	case out.BackgroundTaskID != "":
		return "in the background as " + out.BackgroundTaskID
	case out.IsImage:
		return "an image"
	case out.ExitCode != 0:
		return fmt.Sprintf("exit code %d (%s)", out.ExitCode, out.ReturnCodeInterpretation)
	case out.Stdout == "":
		return "no output"
	}
	return counted(max(out.Lines, 1), "line")
}

// lastLines is the end of a text.
func lastLines(s string, n int) string {
	s = strings.TrimRight(s, "\n")
	end := len(s)
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '\n' {
			if n--; n == 0 {
				return s[i+1 : end]
			}
		}
	}
	return s
}
