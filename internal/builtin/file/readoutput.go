package file

import (
	"bytes"
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
	TypeImage     ReadType = "image"
	TypeNotebook  ReadType = "notebook"
	TypeParts     ReadType = "parts" // pages of a PDF
	TypeUnchanged ReadType = "file_unchanged"
)

// ReadOutput is what Read found: the field that Type names is set.
type ReadOutput struct {
	Type      ReadType
	Text      *TextFile
	Image     *ImageFile
	Notebook  *NotebookFile
	Parts     *PartsFile
	Unchanged *UnchangedFile

	notes  []string     // for the model, after the content
	blocks []tool.Block // the pages of Parts
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

// ImageFile is an image as the model gets it.
type ImageFile struct {
	Base64       string      `json:"base64"`
	Type         string      `json:"type"`         // a media type
	OriginalSize int         `json:"originalSize"` // bytes of the file
	Dimensions   *Dimensions `json:"dimensions,omitempty"`
}

// Dimensions are the sizes of an image in pixels: in the file, and as shown.
type Dimensions struct {
	OriginalWidth  int `json:"originalWidth"`
	OriginalHeight int `json:"originalHeight"`
	DisplayWidth   int `json:"displayWidth"`
	DisplayHeight  int `json:"displayHeight"`
}

// NotebookFile is a notebook, or some of its cells.
type NotebookFile struct {
	FilePath string         `json:"filePath"`
	Cells    []NotebookCell `json:"cells"`
}

// NotebookCell is a cell with what it put out.
type NotebookCell struct {
	CellType       string       `json:"cellType"`
	Source         string       `json:"source"`
	CellID         string       `json:"cell_id"`
	Language       string       `json:"language,omitempty"` // of code cells
	ExecutionCount *int         `json:"execution_count,omitempty"`
	Outputs        []CellOutput `json:"outputs,omitempty"`
}

// CellOutput is one output of a cell.
type CellOutput struct {
	OutputType string     `json:"output_type"`
	Text       string     `json:"text,omitempty"`
	Image      *CellImage `json:"image,omitempty"`
}

// CellImage is a picture among the outputs.
type CellImage struct {
	ImageData string `json:"image_data"` // base64
	MediaType string `json:"media_type"`
}

// PartsFile is a PDF of which pages were read.
type PartsFile struct {
	FilePath     string `json:"filePath"`
	OriginalSize int    `json:"originalSize"` // bytes of the file
	Count        int    `json:"count"`        // pages read
	OutputDir    string `json:"outputDir"`    // empty: pages are not kept on disk
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
	case TypeImage:
		if o.Image == nil {
			o.Image = &ImageFile{}
		}
		return o.Image
	case TypeNotebook:
		if o.Notebook == nil {
			o.Notebook = &NotebookFile{}
		}
		return o.Notebook
	case TypeParts:
		if o.Parts == nil {
			o.Parts = &PartsFile{}
		}
		return o.Parts
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

// MarshalJSON writes {"type", "file"}, with code as it is and not escaped for HTML.
func (o ReadOutput) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(wireOutput{o.Type, o.file()})
	return buf.Bytes(), err
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
	case TypeImage:
		blocks := []tool.Block{tool.ImageBlock(out.Image.Type, out.Image.Base64)}
		if len(out.notes) > 0 {
			blocks = append(blocks, tool.TextBlock(strings.TrimSpace(withNotes("", out.notes))))
		}
		return blocks
	case TypeNotebook:
		return out.Notebook.forModel(out.notes)
	case TypeParts:
		if out.blocks == nil {
			return []tool.Block{tool.TextBlock(fmt.Sprintf("%s: %s", out.Parts.FilePath, counted(out.Parts.Count, "page")))}
		}
		return out.blocks
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

// open is the tag before a cell.
func (c *NotebookCell) open() string {
	s := fmt.Sprintf("<cell id=%q type=%q", c.CellID, c.CellType)
	if c.Language != "" {
		s += fmt.Sprintf(" language=%q", c.Language)
	}
	if c.ExecutionCount != nil {
		s += fmt.Sprintf(" execution_count=\"%d\"", *c.ExecutionCount)
	}
	return s + ">"
}

// forModel is the content that the model gets for a notebook: text, with pictures
// where they were put out.
func (n *NotebookFile) forModel(notes []string) []tool.Block {
	var blocks []tool.Block
	var b strings.Builder
	flush := func() {
		if text := strings.TrimSuffix(b.String(), "\n"); text != "" {
			blocks = append(blocks, tool.TextBlock(text))
		}
		b.Reset()
	}
	for i := range n.Cells {
		c := &n.Cells[i]
		fmt.Fprintf(&b, "%s\n%s\n</cell>\n", c.open(), strings.TrimSuffix(c.Source, "\n"))
		for _, o := range c.Outputs {
			if o.Text != "" {
				fmt.Fprintf(&b, "<output type=%q>\n%s\n</output>\n", o.OutputType, strings.TrimSuffix(o.Text, "\n"))
			}
			if o.Image != nil {
				flush()
				blocks = append(blocks, tool.ImageBlock(o.Image.MediaType, o.Image.ImageData))
			}
		}
	}
	if len(notes) > 0 {
		b.WriteString(strings.TrimPrefix(withNotes("", notes), "\n\n"))
	}
	flush()
	return blocks
}
