package file

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sevengate/sevengate/tool"
)

// ReadType says what a ReadOutput holds.
type ReadType string

// The types of what Read returns.
const (
	TypeText      ReadType = "text"
	TypeUnchanged ReadType = "file_unchanged"
)

// ReadOutput is what Read found: the field that Type names is set.
type ReadOutput struct {
	Type      ReadType
	Text      *TextFile
	Unchanged *UnchangedFile

	notes []string // for the model, after the content
}

// TextFile is a part of a text file, or all of it.
type TextFile struct {
	FilePath   string `json:"filePath"`
	Content    string `json:"content"` // lines joined by "\n", without the last ending
	NumLines   int    `json:"numLines"`
	StartLine  int    `json:"startLine"` // 1-based
	TotalLines int    `json:"totalLines"`
	// TruncatedByTokenCap: the whole file was asked for and does not fit.
	TruncatedByTokenCap bool `json:"truncatedByTokenCap,omitempty"`
}

// UnchangedFile stands for content that the conversation already has.
type UnchangedFile struct {
	FilePath string `json:"filePath"`
}

// file is the field that Type names.
func (o *ReadOutput) file() any {
	switch o.Type {
	case TypeText:
		if o.Text == nil {
			o.Text = &TextFile{}
		}
		return o.Text
	case TypeUnchanged:
		if o.Unchanged == nil {
			o.Unchanged = &UnchangedFile{}
		}
		return o.Unchanged
	}
	return nil
}

type wireOutput struct {
	Type ReadType `json:"type"`
	File any      `json:"file"`
}

// MarshalJSON writes {"type", "file"}.
func (o ReadOutput) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireOutput{o.Type, o.file()})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (o *ReadOutput) UnmarshalJSON(data []byte) error {
	var in struct {
		Type ReadType        `json:"type"`
		File json.RawMessage `json:"file"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	out := ReadOutput{Type: in.Type}
	into := out.file()
	if into == nil {
		return fmt.Errorf("output of Read: unknown type %q", in.Type)
	}
	if err := json.Unmarshal(in.File, into); err != nil {
		return fmt.Errorf("output of Read: %s: %w", in.Type, err)
	}
	*o = out
	return nil
}

// What the model reads in place of content.
const (
	emptyText     = "The file exists and is empty (0 bytes)."
	unchangedText = "The file is unchanged since it was last read. Its content is in the earlier result of Read in this conversation; it is not repeated here."
)

func mapRead(out ReadOutput) []tool.Block {
	switch out.Type {
	case TypeUnchanged:
		return []tool.Block{tool.TextBlock(unchangedText)}
	}
	return []tool.Block{tool.TextBlock(out.Text.forModel(out.notes))}
}

// forModel is the text that the model gets for a text file.
func (t *TextFile) forModel(notes []string) string {
	if t == nil || t.TotalLines == 0 {
		return withNotes(emptyText, notes)
	}
	if t.NumLines == 0 {
		return withNotes(fmt.Sprintf("The file has %s; line %d, where the reading was to begin, is past its end.", counted(t.TotalLines, "line"), t.StartLine), notes)
	}
	if t.TruncatedByTokenCap {
		last := t.StartLine + t.NumLines - 1
		notes = append([]string{fmt.Sprintf("PARTIAL view: lines %d to %d of %d are shown, since the whole file is too large for one result. Go on with offset %d and limit %d, or find the place with Grep. A partial view is not enough to edit the file: read the lines in question with offset and limit first.",
			t.StartLine, last, t.TotalLines, last+1, t.NumLines)}, notes...)
	}
	return withNotes(numbered(t.Content, t.StartLine), notes)
}

// withNotes adds notes after a content, so that none can be taken for a line of it.
func withNotes(content string, notes []string) string {
	if len(notes) == 0 {
		return content
	}
	return content + "\n\n[" + strings.Join(notes, "]\n[") + "]"
}
