package shell

import (
	"io"
	"os"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/internal/engine/textedit"
	"github.com/sevengate/sevengate/tool"
)

// Bounds of a preview.
const (
	maxPreviewFiles = 5
	maxPreviewBytes = 1 << 20
)

// preview shows a person what a sed -i would change, as the edit of files that it
// is. Of anything else there is nothing to see but the command.
func preview(in BashInput, _ tool.Place) tool.Rendering {
	r := tool.Rendering{Summary: visible(in.Description), Detail: visible(in.Command)}
	script := in.understood().script
	if len(script.Commands) != 1 || script.Commands[0].FileEdit == nil {
		return r
	}
	edit := script.Commands[0].FileEdit
	steps, ok := parseSed(edit.Script, edit.Extended)
	if !ok || edit.Quiet || len(edit.Files) == 0 || len(edit.Files) > maxPreviewFiles {
		return r
	}
	var diff strings.Builder
	for _, p := range edit.Files {
		if p.Known != shellscan.Literal {
			return r
		}
		old, ok := smallFile(p.Raw)
		if !ok {
			return r
		}
		changed, ok := applySed(old, steps)
		if !ok {
			return r
		}
		if changed != old {
			diff.WriteString(textedit.Unified(p.Text, old, changed))
		}
	}
	if diff.Len() == 0 {
		r.Summary = "the command would change nothing"
		return r
	}
	return tool.Rendering{Summary: shown(in.Command), Detail: diff.String(), Format: tool.FormatDiff}
}

// smallFile reads a regular file that a preview can show.
func smallFile(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPreviewBytes {
		return "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPreviewBytes+1))
	return string(data), err == nil && len(data) <= maxPreviewBytes
}
