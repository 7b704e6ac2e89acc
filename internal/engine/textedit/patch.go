package textedit

import (
	"fmt"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

// Hunk is one changed region with unchanged lines around it. Lines begin with " ",
// "-" or "+" and have no ending; "\ No newline at end of file" may follow one.
type Hunk struct {
	OldStart int      `json:"oldStart"` // 1-based; 0 if OldLines is 0
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`
}

const noNewline = `\ No newline at end of file`

// Patch returns the differences of two texts in LF space by lines. It is nil if they
// are equal. The time is bounded: very different texts give a coarse patch.
func Patch(old, new string) []Hunk {
	if old == new {
		return nil
	}
	u, err := udiff.ToUnifiedDiff("", "", old, udiff.Lines(old, new), udiff.DefaultContextLines)
	if err != nil { // only for edits that do not belong to old
		return nil
	}
	out := make([]Hunk, 0, len(u.Hunks))
	shift := 0 // new line number minus old line number, before the hunk
	for _, h := range u.Hunks {
		p := Hunk{OldStart: h.FromLine, Lines: make([]string, 0, len(h.Lines))}
		for _, l := range h.Lines {
			sign := " "
			switch l.Kind {
			case udiff.Delete:
				sign = "-"
				p.OldLines++
			case udiff.Insert:
				sign = "+"
				p.NewLines++
			default:
				p.OldLines++
				p.NewLines++
			}
			text, ended := strings.CutSuffix(l.Content, "\n")
			p.Lines = append(p.Lines, sign+text)
			if !ended {
				p.Lines = append(p.Lines, noNewline)
			}
		}
		p.NewStart = p.OldStart + shift
		shift += p.NewLines - p.OldLines
		if p.OldLines == 0 {
			p.OldStart--
		}
		if p.NewLines == 0 {
			p.NewStart--
		}
		out = append(out, p)
	}
	return out
}

// Unified returns the same differences in the unified format, with name on both
// sides. It is empty if the texts are equal.
func Unified(name, old, new string) string {
	hunks := Patch(old, new)
	if len(hunks) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", name, name)
	for _, h := range hunks {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, l := range h.Lines {
			b.WriteString(l)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
