package file

import (
	"fmt"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/atomicfile"
	"github.com/sevengate/sevengate/internal/engine/textedit"
	"github.com/sevengate/sevengate/tool"
)

// How a person sees the calls.

func readView() tool.View[ReadInput, ReadOutput] {
	return tool.View[ReadInput, ReadOutput]{
		Use: func(in ReadInput) string {
			switch {
			case in.Pages != "":
				return fmt.Sprintf("%s (pages %s)", in.FilePath, in.Pages)
			case in.Limit > 0:
				first := max(in.Offset, 1)
				return fmt.Sprintf("%s (lines %d-%d)", in.FilePath, first, first+in.Limit-1)
			case in.Offset > 0:
				return fmt.Sprintf("%s (from line %d)", in.FilePath, in.Offset)
			}
			return in.FilePath
		},
		Result: func(_ ReadInput, out ReadOutput) tool.Rendering {
			switch {
			case out.Type == TypeUnchanged:
				return tool.Rendering{Summary: "unchanged since the last read"}
			case out.Text != nil && out.Text.TotalLines == 0:
				return tool.Rendering{Summary: "empty file"}
			case out.Text != nil && out.Text.NumLines < out.Text.TotalLines:
				return tool.Rendering{Summary: fmt.Sprintf("read %d of %s", out.Text.NumLines, counted(out.Text.TotalLines, "line")), Detail: out.Text.Content}
			case out.Text != nil:
				return tool.Rendering{Summary: "read " + counted(out.Text.NumLines, "line"), Detail: out.Text.Content}
			}
			switch {
			case out.Image != nil:
				return tool.Rendering{Summary: "read an image of " + human(int64(out.Image.OriginalSize))}
			case out.Notebook != nil:
				return tool.Rendering{Summary: "read " + counted(len(out.Notebook.Cells), "cell")}
			case out.Parts != nil:
				return tool.Rendering{Summary: "read " + counted(out.Parts.Count, "page")}
			}
			return tool.Rendering{}
		},
		Grouped: func(in []ReadInput) string { return "reading " + counted(len(in), "file") },
	}
}

func (f *family) editView() tool.View[EditInput, EditOutput] {
	proposed := func(in EditInput) tool.Rendering {
		return diffOf(in.FilePath, textedit.Patch(in.OldString, in.NewString), "")
	}
	return tool.View[EditInput, EditOutput]{
		Use: func(in EditInput) string { return in.FilePath },
		Result: func(_ EditInput, out EditOutput) tool.Rendering {
			return diffOf(out.FilePath, out.StructuredPatch, "changed")
		},
		Rejected: proposed,
		Preview: func(in EditInput, at tool.Place) tool.Rendering {
			old, ok := present(in.FilePath, at)
			if ok {
				after, _, err := textedit.Edit(old, []textedit.Replacement{{Old: in.OldString, New: in.NewString, All: in.ReplaceAll}})
				if err == nil {
					return diffOf(in.FilePath, textedit.Patch(old.String(), after.String()), "")
				}
			}
			return proposed(in)
		},
	}
}

func (f *family) writeView() tool.View[WriteInput, WriteOutput] {
	return tool.View[WriteInput, WriteOutput]{
		Use: func(in WriteInput) string { return in.FilePath },
		Result: func(_ WriteInput, out WriteOutput) tool.Rendering {
			if out.Type == Create {
				return tool.Rendering{Summary: "created, " + counted(lineCount(out.Content), "line"), Detail: out.Content}
			}
			return diffOf(out.FilePath, out.StructuredPatch, "nothing changed")
		},
		Rejected: func(in WriteInput) tool.Rendering {
			return tool.Rendering{Summary: fmt.Sprintf("%s: %s", in.FilePath, counted(lineCount(in.Content), "line")), Detail: in.Content}
		},
		Preview: func(in WriteInput, at tool.Place) tool.Rendering {
			old, _ := present(in.FilePath, at)
			after, err := old.WithContent(in.Content)
			if err != nil {
				return diffOf(in.FilePath, textedit.Patch("", in.Content), "")
			}
			return diffOf(in.FilePath, textedit.Patch(old.String(), after.String()), "nothing changes")
		},
	}
}

// present loads the file that a preview compares with. ok is false where there is
// none, or none that a diff can show.
func present(path string, at tool.Place) (textedit.Text, bool) {
	data, _, err := atomicfile.Read(at.Abs(path), maxPreviewBytes)
	if err != nil {
		return textedit.Text{}, false
	}
	t, err := textedit.Load(data)
	return t, err == nil
}

// diffOf renders hunks; none says what stands in the summary when there are none.
func diffOf(path string, hunks []textedit.Hunk, none string) tool.Rendering {
	var b strings.Builder
	added, removed := 0, 0
	if len(hunks) > 0 {
		fmt.Fprintf(&b, "--- %s\n+++ %s\n", path, path)
	}
	for _, h := range hunks {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, line := range h.Lines {
			switch {
			case strings.HasPrefix(line, "+"):
				added++
			case strings.HasPrefix(line, "-"):
				removed++
			}
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	summary := none
	if added+removed > 0 {
		summary = fmt.Sprintf("%s added, %s removed", counted(added, "line"), counted(removed, "line"))
	}
	return tool.Rendering{Summary: summary, Detail: strings.TrimSuffix(b.String(), "\n"), Format: tool.FormatDiff}
}

func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
