package document

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxNotebook is the largest notebook, in bytes.
	MaxNotebook = 100 << 20
	// MaxOutputText is how many bytes of text one output of a cell shows.
	MaxOutputText = 10_000
	// maxOutputs and maxPictures bound what one notebook shows.
	maxOutputs  = 2_000
	maxPictures = 20
)

// ErrNotebook is wrapped by every refusal of a notebook or of a change of it.
var ErrNotebook = errors.New("notebook not usable")

// Cell is a cell of a notebook as it is shown.
type Cell struct {
	ID      string // its id, or cell-N with its 0-based number where cells have none
	Index   int
	Type    string // code, markdown or raw
	Source  string
	Count   *int // the execution count
	Outputs []Output
}

// Output is an output of a code cell.
type Output struct {
	Kind    string // stream, execute_result, display_data or error
	Text    string
	Cut     bool // Text is only the first MaxOutputText bytes
	Picture *Picture
}

// Book is a parsed notebook.
type Book struct {
	Language string
	Format   int // the major version, 3 or 4; 3 can only be read
	Minor    int
	Cells    []Cell
}

// multiline is a string, or a list of strings that follow each other.
type multiline string

func (m *multiline) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*m = multiline(one)
		return nil
	}
	var many []string
	if err := json.Unmarshal(b, &many); err != nil {
		return errors.New("a text is neither a string nor a list of strings")
	}
	*m = multiline(strings.Join(many, ""))
	return nil
}

type rawOutput struct {
	Type      string                     `json:"output_type"`
	Text      multiline                  `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	PNG       string                     `json:"png"` // version 3 keeps data beside the type
	JPEG      string                     `json:"jpeg"`
	EName     string                     `json:"ename"`
	EValue    string                     `json:"evalue"`
	Traceback []string                   `json:"traceback"`
}

type rawCell struct {
	ID      string      `json:"id"`
	Type    string      `json:"cell_type"`
	Source  multiline   `json:"source"`
	Input   multiline   `json:"input"` // version 3
	Count   *int        `json:"execution_count"`
	Outputs []rawOutput `json:"outputs"`
}

type rawBook struct {
	Format   int       `json:"nbformat"`
	Minor    int       `json:"nbformat_minor"`
	Cells    []rawCell `json:"cells"`
	Sheets   []rawBook `json:"worksheets"`
	Metadata struct {
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
}

func parseBook(data []byte) (rawBook, error) {
	var b rawBook
	if len(data) > MaxNotebook {
		return b, fmt.Errorf("the notebook has %d bytes, the limit is %d: %w", len(data), MaxNotebook, ErrNotebook)
	}
	if err := json.Unmarshal(data, &b); err != nil {
		return b, fmt.Errorf("the notebook is not valid (%v): %w", err, ErrNotebook)
	}
	if b.Format != 3 && b.Format != 4 {
		return b, fmt.Errorf("the notebook has nbformat %d; 4 is accepted, and 3 for reading: %w", b.Format, ErrNotebook)
	}
	return b, nil
}

// ParseNotebook reads a notebook with its outputs; pictures among them are checked and
// scaled like any image, and those that cannot be used are replaced by a sentence.
func ParseNotebook(data []byte, limits ImageLimits) (Book, error) {
	raw, err := parseBook(data)
	if err != nil {
		return Book{}, err
	}
	for _, s := range raw.Sheets {
		raw.Cells = append(raw.Cells, s.Cells...)
	}
	b := Book{Language: raw.Metadata.Language.Name, Format: raw.Format, Minor: raw.Minor, Cells: make([]Cell, 0, len(raw.Cells))}
	if b.Language == "" {
		b.Language = raw.Metadata.Kernel.Language
	}
	if b.Language == "" {
		b.Language = "python"
	}
	outputs, pictures := 0, 0
	for i, c := range raw.Cells {
		cell := Cell{ID: cellID(c.ID, i), Index: i, Type: c.Type, Source: string(c.Source + c.Input), Count: c.Count}
		for _, o := range c.Outputs {
			if outputs++; outputs > maxOutputs {
				cell.Outputs = append(cell.Outputs, Output{Kind: "stream", Text: fmt.Sprintf("(further outputs left out: %d are shown)", maxOutputs), Cut: true})
				break
			}
			cell.Outputs = append(cell.Outputs, o.show(limits, &pictures))
		}
		b.Cells = append(b.Cells, cell)
	}
	return b, nil
}

func cellID(id string, index int) string {
	if id != "" {
		return id
	}
	return fmt.Sprintf("cell-%d", index)
}

func (o rawOutput) show(limits ImageLimits, pictures *int) Output {
	out := Output{Kind: o.Type}
	text := string(o.Text)
	if o.Type == "error" || o.Type == "pyerr" {
		text = o.EName + ": " + o.EValue
		if len(o.Traceback) > 0 {
			text = strings.Join(o.Traceback, "\n")
		}
	}
	for _, key := range []string{"text/plain", "text/markdown", "text/latex", "application/json", "text/html"} {
		if text != "" {
			break
		}
		if v, ok := o.Data[key]; ok {
			var m multiline
			if json.Unmarshal(v, &m) == nil {
				text = string(m)
			} else {
				text = string(v)
			}
		}
	}
	coded := map[string]string{"image/png": o.PNG, "image/jpeg": o.JPEG}
	for _, mime := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
		var m multiline
		if json.Unmarshal(o.Data[mime], &m) == nil && m != "" {
			coded[mime] = string(m)
		}
		if coded[mime] == "" || out.Picture != nil {
			continue
		}
		if *pictures++; *pictures > maxPictures {
			text += fmt.Sprintf("\n(picture left out: %d are shown)", maxPictures)
			continue
		}
		p, err := codedImage(coded[mime], limits)
		if err != nil {
			text += fmt.Sprintf("\n(picture left out: %v)", err)
			continue
		}
		out.Picture = &p
	}
	if len(text) > MaxOutputText {
		text, out.Cut = strings.ToValidUTF8(text[:MaxOutputText], ""), true
	}
	out.Text = text
	return out
}

func codedImage(s string, limits ImageLimits) (Picture, error) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		return Picture{}, fmt.Errorf("its base64 is damaged: %w", ErrImage)
	}
	return Image(data, limits)
}
