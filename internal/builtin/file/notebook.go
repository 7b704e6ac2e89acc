package file

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/document"
	"github.com/sevengate/sevengate/internal/engine/textedit"
	"github.com/sevengate/sevengate/tool"
)

// CellType is the type of a cell that can be made.
type CellType string

// Values lists the types for the schema.
func (CellType) Values() []string { return []string{"code", "markdown"} }

// EditMode is what NotebookEdit does to a cell.
type EditMode string

// Values lists the modes for the schema.
func (EditMode) Values() []string {
	return []string{string(document.Replace), string(document.Insert), string(document.Delete)}
}

// NotebookInput is the input of NotebookEdit.
type NotebookInput struct {
	NotebookPath string   `json:"notebook_path" jsonschema:"the notebook (.ipynb), by its absolute path"`
	CellID       string   `json:"cell_id,omitempty" jsonschema:"the cell, by the id that Read shows; with insert, the new cell comes after it, or at the start without one"`
	NewSource    string   `json:"new_source" jsonschema:"the new source of the cell; not used by delete"`
	CellType     CellType `json:"cell_type,omitempty" jsonschema:"the type of the cell; needed by insert"`
	EditMode     EditMode `json:"edit_mode,omitempty" jsonschema:"replace (when left out), insert or delete"`
}

// NotebookOutput is what NotebookEdit did.
type NotebookOutput struct {
	NewSource    string   `json:"new_source"`
	OldSource    string   `json:"old_source,omitempty"`
	CellID       string   `json:"cell_id,omitempty"`
	CellType     CellType `json:"cell_type"`
	Language     string   `json:"language"`
	EditMode     EditMode `json:"edit_mode"`
	Error        string   `json:"error,omitempty"`
	NotebookPath string   `json:"notebook_path"`
	OriginalFile string   `json:"original_file"` // empty where it has more than 1 MB
	UpdatedFile  string   `json:"updated_file"`  // likewise

	notes []string
}

const notebookPrompt = `Changes one cell of a Jupyter notebook: replaces its source, inserts a new cell, or deletes it. The notebook must have been read in this conversation; cells are named by the ids that Read shows. A code cell whose source is replaced loses its outputs. Everything else in the file stays as it is.`

func (f *family) notebookTool() tool.Tool {
	aliases := pathAliases("source", "new_source", "content", "new_source", "cell", "cell_id", "mode", "edit_mode", "type", "cell_type")
	for name, field := range aliases {
		if field == "file_path" {
			aliases[name] = "notebook_path"
		}
	}
	aliases["file_path"] = "notebook_path"
	return tool.Define(tool.Def[NotebookInput, NotebookOutput]{
		Name:         "NotebookEdit",
		SearchHint:   "change, insert or delete a cell of a Jupyter notebook (.ipynb)",
		Prompt:       tool.Text(notebookPrompt),
		FieldAliases: aliases,
		PrimaryField: "notebook_path",
		Defer:        true,
		Destructive:  func(in NotebookInput) bool { return in.EditMode != EditMode(document.Insert) },
		Effects:      func(in NotebookInput) tool.Effects { return tool.Writes(in.NotebookPath) },
		Path:         func(in NotebookInput) string { return in.NotebookPath },
		Subjects:     func(in NotebookInput) []tool.Subject { return []tool.Subject{tool.EditOf(in.NotebookPath)} },
		Backfill: func(in NotebookInput, at tool.Place) NotebookInput {
			in.NotebookPath = at.Abs(in.NotebookPath)
			return in
		},
		ClassifierInput: func(in NotebookInput) string {
			return fmt.Sprintf("%s, cell %s, %s:\n%s", in.NotebookPath, in.CellID, in.mode(), in.NewSource)
		},
		Validate: validateNotebook,
		CheckPermissions: func(_ context.Context, in NotebookInput, env *tool.Env) tool.Verdict {
			return f.remember(in.NotebookPath, env)
		},
		Call:      f.notebook,
		MapResult: mapNotebook,
		View:      notebookView(),
	})
}

func (in NotebookInput) mode() document.EditMode {
	if in.EditMode == "" {
		return document.Replace
	}
	return document.EditMode(in.EditMode)
}

func validateNotebook(_ context.Context, in NotebookInput, _ *tool.Env) error {
	switch {
	case in.NotebookPath == "":
		return errors.New("notebook_path is empty; give the path of a notebook")
	case !isNotebook(in.NotebookPath):
		return fmt.Errorf("%s is no notebook: the name of one ends in .ipynb; change other files with Edit", in.NotebookPath)
	case in.mode() == document.Insert && in.CellType == "":
		return errors.New("cell_type is missing; insert needs it: code or markdown")
	case in.mode() != document.Insert && in.CellID == "":
		return fmt.Errorf("cell_id is missing; %s needs it", in.mode())
	}
	return nil
}

func (f *family) notebook(ctx context.Context, in NotebookInput, env *tool.Env) (tool.Result[NotebookOutput], error) {
	out, err := f.editNotebook(ctx, in, env)
	return tool.OK(out), err
}

func (f *family) editNotebook(ctx context.Context, in NotebookInput, env *tool.Env) (NotebookOutput, error) {
	t, err := f.locate(in.NotebookPath, env)
	if err != nil {
		return NotebookOutput{}, err
	}
	out := NotebookOutput{NewSource: in.NewSource, EditMode: EditMode(in.mode()), NotebookPath: t.given}
	var stand standing
	done, err := f.change(ctx, t, func(old []byte, exists bool) ([]byte, error) {
		if !exists {
			return nil, f.missing(t, env)
		}
		var err error
		if stand, err = mustHaveRead(env, t, old, "changed"); err != nil {
			return nil, err
		}
		switch {
		case stand.changed:
			return nil, fmt.Errorf("%s has changed on disk since it was read; read it again, then change the cell", t.given)
		case truncated(stand.view):
			return nil, fmt.Errorf("of %s only a partial view was shown, since it is too large for one result; read the cells to be changed with offset and limit first", t.given)
		}
		edited, err := document.EditNotebook(old, document.CellEdit{Mode: in.mode(), CellID: in.CellID, Type: string(in.CellType), Source: in.NewSource})
		if err != nil {
			return nil, fmt.Errorf("%s was not changed: %w", t.given, err)
		}
		out.CellID, out.CellType, out.Language, out.OldSource = edited.CellID, CellType(edited.Type), edited.Language, edited.OldSource
		out.OriginalFile, out.UpdatedFile = bounded(old), bounded(edited.Data)
		return edited.Data, nil
	})
	if err != nil {
		return NotebookOutput{}, err
	}
	out.notes = changeNotes(done)
	wrote(env, done, stand.view)
	return out, nil
}

// bounded gives a content for an output, or nothing of a large one.
func bounded(data []byte) string {
	if len(data) > maxOriginalBytes {
		return ""
	}
	return string(data)
}

func mapNotebook(out NotebookOutput) []tool.Block {
	var b strings.Builder
	switch document.EditMode(out.EditMode) {
	case document.Insert:
		fmt.Fprintf(&b, "The cell %s (%s) was inserted.", out.CellID, out.CellType)
	case document.Delete:
		fmt.Fprintf(&b, "The cell %s was deleted.", out.CellID)
	default:
		fmt.Fprintf(&b, "The source of cell %s (%s) was replaced.", out.CellID, out.CellType)
	}
	for _, n := range out.notes {
		b.WriteString("\nNote: " + n)
	}
	return []tool.Block{tool.TextBlock(b.String())}
}

func notebookView() tool.View[NotebookInput, NotebookOutput] {
	proposed := func(in NotebookInput) tool.Rendering {
		if in.mode() == document.Delete {
			return tool.Rendering{Summary: fmt.Sprintf("delete cell %s", in.CellID)}
		}
		return tool.Rendering{Summary: fmt.Sprintf("%s cell %s", in.mode(), in.CellID), Detail: in.NewSource}
	}
	return tool.View[NotebookInput, NotebookOutput]{
		Use: func(in NotebookInput) string {
			return strings.TrimSpace(fmt.Sprintf("%s (%s cell %s)", in.NotebookPath, in.mode(), in.CellID))
		},
		Result: func(in NotebookInput, out NotebookOutput) tool.Rendering {
			after := out.NewSource
			if in.mode() == document.Delete {
				after = ""
			}
			return diffOf("cell "+out.CellID, textedit.Patch(out.OldSource, after), "nothing changed")
		},
		Rejected: proposed,
		Preview: func(in NotebookInput, at tool.Place) tool.Rendering {
			old, ok := present(in.NotebookPath, at)
			if !ok {
				return proposed(in)
			}
			edited, err := document.EditNotebook(old.Bytes(), document.CellEdit{Mode: in.mode(), CellID: in.CellID, Type: string(in.CellType), Source: in.NewSource})
			if err != nil {
				return proposed(in)
			}
			after := in.NewSource
			if in.mode() == document.Delete {
				after = ""
			}
			return diffOf("cell "+edited.CellID, textedit.Patch(edited.OldSource, after), "nothing changes")
		},
	}
}
