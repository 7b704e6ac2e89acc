package file

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/textedit"
	"github.com/sevengate/sevengate/tool"
)

// EditInput is the input of Edit.
type EditInput struct {
	FilePath   string `json:"file_path" jsonschema:"the file, by its absolute path"`
	OldString  string `json:"old_string" jsonschema:"the text to replace, exactly as the file has it; empty only to create a new file"`
	NewString  string `json:"new_string" jsonschema:"the text to put in its place"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence; otherwise there must be exactly one"`
}

// EditOutput is what Edit did.
type EditOutput struct {
	FilePath        string          `json:"filePath"`
	OldString       string          `json:"oldString"`
	NewString       string          `json:"newString"`
	OriginalFile    *string         `json:"originalFile"` // nil for a new file, and for one of more than 1 MB
	StructuredPatch []textedit.Hunk `json:"structuredPatch"`
	UserModified    bool            `json:"userModified"`
	ReplaceAll      bool            `json:"replaceAll"`

	created bool
	count   int
	notes   []string
}

const editPrompt = `Replaces an exact piece of text in a file. The file must have been read in this conversation.

- old_string is the text as the file has it, with its indentation, but without the line numbers and the tab that Read puts before each line.
- It must occur exactly once: give as much of the text around it as makes it unique, or set replace_all to change every occurrence.
- Nothing in either string has a special meaning, and nothing is trimmed. Encoding and line endings of the file are kept.
- An empty old_string creates a new file.
- For notebooks (.ipynb) use NotebookEdit.`

func (f *family) editTool() tool.Tool {
	return tool.Define(tool.Def[EditInput, EditOutput]{
		Name:       "Edit",
		SearchHint: "change part of a file by exact text replacement",
		Prompt:     tool.Text(editPrompt),
		FieldAliases: pathAliases("old_str", "old_string", "oldString", "old_string", "old_text", "old_string", "oldText", "old_string",
			"new_str", "new_string", "newString", "new_string", "new_text", "new_string", "newText", "new_string", "replaceAll", "replace_all"),
		PrimaryField: "file_path",
		Effects:      func(in EditInput) tool.Effects { return tool.Writes(in.FilePath) },
		Path:         func(in EditInput) string { return in.FilePath },
		Subjects:     func(in EditInput) []tool.Subject { return []tool.Subject{tool.EditOf(in.FilePath)} },
		Backfill: func(in EditInput, at tool.Place) EditInput {
			in.FilePath = at.Abs(in.FilePath)
			return in
		},
		ClassifierInput: func(in EditInput) string {
			return in.FilePath + ":\n" + textedit.Unified(in.FilePath, in.OldString, in.NewString)
		},
		Validate: validateEdit,
		CheckPermissions: func(_ context.Context, in EditInput, env *tool.Env) tool.Verdict {
			return f.remember(in.FilePath, env)
		},
		Call:      f.edit,
		MapResult: mapEdit,
		View:      f.editView(),
	})
}

func validateEdit(_ context.Context, in EditInput, _ *tool.Env) error {
	switch {
	case in.FilePath == "":
		return errors.New("file_path is empty; give the path of a file")
	case in.OldString == in.NewString:
		return textedit.ErrSame
	}
	return nil
}

// mayChange refuses what no change may touch.
func (f *family) mayChange(t target) error {
	if f.denied(t) {
		return fmt.Errorf("%s may not be read, since a permission rule denies it, and so it may not be changed either", t.given)
	}
	return nil
}

func (f *family) edit(ctx context.Context, in EditInput, env *tool.Env) (tool.Result[EditOutput], error) {
	out, err := f.editFile(ctx, in, env)
	return tool.OK(out), err
}

func (f *family) editFile(ctx context.Context, in EditInput, env *tool.Env) (EditOutput, error) {
	t, err := f.locate(in.FilePath, env)
	if err != nil {
		return EditOutput{}, err
	}
	if err := f.mayChange(t); err != nil {
		return EditOutput{}, err
	}
	if isNotebook(t.real) || isNotebook(t.given) {
		return EditOutput{}, fmt.Errorf("%s is a notebook; change its cells with NotebookEdit", t.given)
	}
	out := EditOutput{FilePath: t.given, OldString: in.OldString, NewString: in.NewString, ReplaceAll: in.ReplaceAll}
	var before textedit.Text
	var after textedit.Text
	var stand standing
	done, err := f.change(ctx, t, func(old []byte, exists bool) ([]byte, error) {
		var err error
		if before, after, stand, out.count, err = f.apply(in, t, env, old, exists); err != nil {
			return nil, err
		}
		return after.Bytes(), nil
	})
	if err != nil {
		return EditOutput{}, err
	}
	out.created = done.Created
	out.notes = changeNotes(done)
	out.StructuredPatch = patch(before, after)
	if !done.Created {
		out.OriginalFile = original(before)
	}
	if stand.changed {
		out.notes = append(out.notes, "The file had changed on disk since it was read. The old text was still there, exactly once, so the edit was made; read the file again before relying on the rest of it.")
	} else {
		wrote(env, done, stand.view)
	}
	return out, nil
}

// apply makes the edit in memory, once all that forbids it was looked at.
func (f *family) apply(in EditInput, t target, env *tool.Env, old []byte, exists bool) (before, after textedit.Text, stand standing, count int, err error) {
	fail := func(err error) (textedit.Text, textedit.Text, standing, int, error) {
		return textedit.Text{}, textedit.Text{}, standing{}, 0, err
	}
	if !exists && in.OldString != "" {
		return fail(f.missing(t, env))
	}
	if in.OldString == "" && len(old) > 0 {
		return fail(fmt.Errorf("%s exists and is not empty, and an empty old_string only creates a new file; give the text to replace", t.given))
	}
	if len(old) > 0 {
		if stand, err = mustHaveRead(env, t, old, "changed"); err != nil {
			return fail(err)
		}
		if truncated(stand.view) {
			return fail(fmt.Errorf("of %s only a partial view was shown, since it is too large for one result; read the lines to be changed with offset and limit first", t.given))
		}
	}
	if before, err = textedit.Load(old); err != nil {
		return fail(fmt.Errorf("%s cannot be edited as text: %w", t.given, err))
	}
	after, counts, err := textedit.Edit(before, []textedit.Replacement{{Old: in.OldString, New: in.NewString, All: in.ReplaceAll}})
	switch {
	case err != nil && stand.changed:
		return fail(fmt.Errorf("%s has changed on disk since it was read, and the edit does not fit any more (%w); read it again", t.given, err))
	case err != nil:
		return fail(fmt.Errorf("%s was not changed: %w", t.given, err))
	case stand.changed && (stand.view.Partial || counts[0] != 1):
		return fail(fmt.Errorf("%s has changed on disk since it was read; read it again, then make the edit", t.given))
	}
	return before, after, stand, counts[0], nil
}

// patch gives the differences of two texts, without any for very large ones.
func patch(before, after textedit.Text) []textedit.Hunk {
	if len(before.Bytes()) > maxPatchBytes || len(after.Bytes()) > maxPatchBytes {
		return []textedit.Hunk{}
	}
	if hunks := textedit.Patch(before.String(), after.String()); hunks != nil {
		return hunks
	}
	return []textedit.Hunk{}
}

// original gives the old text for an output, if it is not too large.
func original(t textedit.Text) *string {
	if len(t.Bytes()) > maxOriginalBytes {
		return nil
	}
	s := t.String()
	return &s
}

func mapEdit(out EditOutput) []tool.Block {
	var b strings.Builder
	switch {
	case out.created:
		fmt.Fprintf(&b, "The file %s was created.", out.FilePath)
	case out.ReplaceAll && out.count > 0:
		fmt.Fprintf(&b, "The file %s was changed in %s.", out.FilePath, counted(out.count, "place"))
	default:
		fmt.Fprintf(&b, "The file %s was changed.", out.FilePath)
	}
	for _, n := range out.notes {
		b.WriteString("\nNote: " + n)
	}
	return []tool.Block{tool.TextBlock(b.String())}
}
