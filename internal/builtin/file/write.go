package file

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/textedit"
	"github.com/sevengate/sevengate/tool"
)

// WriteInput is the input of Write.
type WriteInput struct {
	FilePath string `json:"file_path" jsonschema:"the file, by its absolute path; missing folders are made"`
	Content  string `json:"content" jsonschema:"the whole content of the file"`
}

// WriteType says whether a file was there before.
type WriteType string

// The types of what Write did.
const (
	Create WriteType = "create"
	Update WriteType = "update"
)

// WriteOutput is what Write did.
type WriteOutput struct {
	Type            WriteType       `json:"type"`
	FilePath        string          `json:"filePath"`
	Content         string          `json:"content"`
	StructuredPatch []textedit.Hunk `json:"structuredPatch"`
	OriginalFile    *string         `json:"originalFile"` // nil for a new file, and for one of more than 1 MB

	notes []string
}

const writePrompt = `Writes a file: creates it, or replaces all that is in it.

- An existing file must have been read as a whole first, and must not have changed since. To change a part of it, use Edit.
- A file that is replaced keeps its encoding, its line endings and its mode.
- Notebooks (.ipynb) can be created; change existing ones with NotebookEdit.`

func (f *family) writeTool() tool.Tool {
	return tool.Define(tool.Def[WriteInput, WriteOutput]{
		Name:         "Write",
		SearchHint:   "create a file or replace its whole content",
		Prompt:       tool.Text(writePrompt),
		FieldAliases: pathAliases("file_text", "content", "file_content", "content", "contents", "content", "text", "content"),
		PrimaryField: "file_path",
		Destructive:  tool.Always[WriteInput], // what was there is not in the call
		Effects:      func(in WriteInput) tool.Effects { return tool.Writes(in.FilePath) },
		Path:         func(in WriteInput) string { return in.FilePath },
		Subjects:     func(in WriteInput) []tool.Subject { return []tool.Subject{tool.EditOf(in.FilePath)} },
		Backfill: func(in WriteInput, at tool.Place) WriteInput {
			in.FilePath = at.Abs(in.FilePath)
			return in
		},
		ClassifierInput: func(in WriteInput) string { return in.FilePath + ":\n" + in.Content },
		Validate: func(_ context.Context, in WriteInput, _ *tool.Env) error {
			if in.FilePath == "" {
				return errors.New("file_path is empty; give the path of a file")
			}
			return nil
		},
		CheckPermissions: func(_ context.Context, in WriteInput, env *tool.Env) tool.Verdict {
			return f.remember(in.FilePath, env)
		},
		Call:      f.write,
		MapResult: mapWrite,
		View:      f.writeView(),
	})
}

func (f *family) write(ctx context.Context, in WriteInput, env *tool.Env) (tool.Result[WriteOutput], error) {
	out, err := f.writeFile(ctx, in, env)
	return tool.OK(out), err
}

func (f *family) writeFile(ctx context.Context, in WriteInput, env *tool.Env) (WriteOutput, error) {
	t, err := f.locate(in.FilePath, env)
	if err != nil {
		return WriteOutput{}, err
	}
	if err := f.mayChange(t); err != nil {
		return WriteOutput{}, err
	}
	var before, after textedit.Text
	done, err := f.change(ctx, t, func(old []byte, exists bool) ([]byte, error) {
		before = textedit.Text{}
		if exists {
			if isNotebook(t.real) || isNotebook(t.given) {
				return nil, fmt.Errorf("%s is a notebook that exists; change its cells with NotebookEdit", t.given)
			}
			if err := mayOverwrite(env, t, old); err != nil {
				return nil, err
			}
			var err error
			if before, err = textedit.Load(old); err != nil {
				return nil, fmt.Errorf("%s cannot be overwritten with text: %w; remove it first if it is to be replaced", t.given, err)
			}
		}
		var err error
		if after, err = before.WithContent(in.Content); err != nil {
			return nil, fmt.Errorf("%s was not written: %w", t.given, err)
		}
		return after.Bytes(), nil
	})
	if err != nil {
		return WriteOutput{}, err
	}
	out := WriteOutput{Type: Create, FilePath: t.given, Content: in.Content, StructuredPatch: []textedit.Hunk{}, notes: changeNotes(done)}
	if !done.Created {
		out.Type, out.OriginalFile, out.StructuredPatch = Update, original(before), patch(before, after)
		if before.Endings() != textedit.LF || before.Encoding() != textedit.UTF8 || before.BOM() {
			out.notes = append(out.notes, textNotes(after)...)
		}
	}
	wrote(env, done, tool.FileView{})
	return out, nil
}

// mayOverwrite refuses to replace content that the conversation has not seen.
func mayOverwrite(env *tool.Env, t target, old []byte) error {
	if len(old) == 0 {
		return nil // nothing can be lost
	}
	stand, err := mustHaveRead(env, t, old, "overwritten")
	switch {
	case err != nil:
		return err
	case stand.changed:
		return fmt.Errorf("%s has changed on disk since it was read; read it again before overwriting it", t.given)
	case stand.view.Partial:
		return fmt.Errorf("only a part of %s was read, and Write replaces all of it; read the whole file first, or change a part of it with Edit", t.given)
	}
	return nil
}

func mapWrite(out WriteOutput) []tool.Block {
	var b strings.Builder
	if out.Type == Create {
		fmt.Fprintf(&b, "The file %s was created.", out.FilePath)
	} else {
		fmt.Fprintf(&b, "The content of %s was replaced.", out.FilePath)
	}
	for _, n := range out.notes {
		b.WriteString("\nNote: " + n)
	}
	return []tool.Block{tool.TextBlock(b.String())}
}
