package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sevengate/sevengate/internal/engine/document"
	"github.com/sevengate/sevengate/tool"
)

// MaxPagesUnasked is the largest PDF that is read as a whole without pages.
const MaxPagesUnasked = 10

// load reads a file of at most limit bytes as a whole.
func (s *source) load(t target, r io.Reader, limit int64, what string) ([]byte, error) {
	tooLarge := func(size int64) error {
		return fmt.Errorf("%s is %s of %s; at most %s are read", t.given, what, human(size), human(limit))
	}
	if s.info.Size() > limit {
		return nil, tooLarge(s.info.Size())
	}
	var buf bytes.Buffer
	buf.Grow(int(s.info.Size()) + bytes.MinRead)
	n, err := buf.ReadFrom(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.given, err)
	}
	if n > limit {
		return nil, tooLarge(n)
	}
	return buf.Bytes(), nil
}

// viewOf is the view of a file that was read as a whole.
func (s *source) viewOf(data []byte) tool.FileView {
	return tool.FileView{Hash: sha256.Sum256(data), Size: int64(len(data)), ModTime: s.info.ModTime()}
}

func (f *family) readImage(t target, env *tool.Env, src *source, r io.Reader) (ReadOutput, error) {
	data, err := src.load(t, r, document.DefaultMaxImageFile, "an image")
	if err != nil {
		return ReadOutput{}, err
	}
	pic, err := document.Image(data, document.ImageLimits{})
	if err != nil {
		return ReadOutput{}, fmt.Errorf("%s cannot be shown: %w", t.given, err)
	}
	saw(env, t.real, src.viewOf(data))
	out := ReadOutput{Type: TypeImage, Image: &ImageFile{
		Base64: base64.StdEncoding.EncodeToString(pic.Data), Type: pic.MIME, OriginalSize: len(data),
		Dimensions: &Dimensions{pic.OriginalWidth, pic.OriginalHeight, pic.Width, pic.Height},
	}}
	if pic.Note != "" {
		out.notes = []string{pic.Note}
	}
	return out, nil
}

func (f *family) readPDF(ctx context.Context, t target, in ReadInput, env *tool.Env, src *source, r io.Reader) (ReadOutput, error) {
	data, err := src.load(t, r, document.MaxPDF, "a PDF")
	if err != nil {
		return ReadOutput{}, err
	}
	fail := func(err error) (ReadOutput, error) {
		return ReadOutput{}, fmt.Errorf("%s cannot be read: %w", t.given, err)
	}
	total, err := document.PDFPages(ctx, data)
	if err != nil {
		return fail(err)
	}
	ranges := in.Pages
	if ranges == "" {
		if total > MaxPagesUnasked {
			return ReadOutput{}, fmt.Errorf("%s has %d pages; from %d pages on, say with pages which to read, such as 1-5 (at most %d in one call)", t.given, total, MaxPagesUnasked+1, document.MaxPages)
		}
		ranges = fmt.Sprintf("1-%d", total)
	}
	pages, err := document.ParsePages(ranges, total)
	if err != nil {
		return fail(err)
	}
	texts, err := document.PDFText(ctx, data, pages)
	if err != nil {
		return fail(err)
	}
	pictures, renderErr := document.RenderPages(ctx, data, pages, document.ImageLimits{})
	if ctx.Err() != nil {
		return ReadOutput{}, context.Cause(ctx)
	}
	out := ReadOutput{Type: TypeParts, Parts: &PartsFile{FilePath: t.given, OriginalSize: len(data), Count: len(pages)}}
	out.blocks = f.pageBlocks(t, total, texts, pictures, renderErr)
	view := src.viewOf(data)
	if len(pages) < total {
		view.Partial, view.Offset, view.Limit = true, pages[0], len(pages)
	}
	saw(env, t.real, view)
	return out, nil
}

// pageBlocks makes the content for the model of pages: the text of each, as far as
// the token limit allows, and its picture if there is one.
func (f *family) pageBlocks(t target, total int, pages []document.Page, pictures []document.Picture, renderErr error) []tool.Block {
	blocks := []tool.Block{tool.TextBlock(fmt.Sprintf("%s: %s of %s", t.given, counted(len(pages), "page"), counted(total, "page")))}
	left := 4 * f.deps.MaxReadTokens
	bare := 0 // pages without text
	for i, page := range pages {
		text := fmt.Sprintf("<page number=\"%d\">\n", page.Number)
		switch body := strings.TrimSpace(page.Text); {
		case page.Err != "":
			text += "[no text: " + page.Err + "]"
			bare++
		case body == "":
			text += "[the page has no text]"
			bare++
		default:
			shown, cut := fitting(body, left)
			left -= lineQuarters(shown)
			text += shown
			if cut || page.Cut {
				text += "\n[the text of this page goes on; the rest does not fit in one result: ask for fewer pages, or use pdftotext in a shell]"
			}
		}
		blocks = append(blocks, tool.TextBlock(text+"\n</page>"))
		if i < len(pictures) {
			blocks = append(blocks, pictureBlock(&pictures[i]))
		}
	}
	if renderErr != nil && (bare > 0 || !errors.Is(renderErr, document.ErrNoRenderer)) {
		blocks = append(blocks, tool.TextBlock("["+renderErr.Error()+"]"))
	}
	return blocks
}

// fitting gives the beginning of a text that comes to at most so many quarters of a
// token.
func fitting(s string, quarters int) (string, bool) {
	if lineQuarters(s) <= quarters {
		return s, false
	}
	for i, r := range s {
		if quarters -= lineQuarters(string(r)) - lineQuarters(""); quarters < 0 {
			return s[:i], true
		}
	}
	return s, false
}

func pictureBlock(p *document.Picture) tool.Block {
	return tool.ImageBlock(p.MIME, base64.StdEncoding.EncodeToString(p.Data))
}

func (f *family) readNotebook(t target, in ReadInput, env *tool.Env, src *source, data []byte) (ReadOutput, error) {
	book, err := document.ParseNotebook(data, document.ImageLimits{})
	if err != nil {
		return ReadOutput{}, err
	}
	out := ReadOutput{Type: TypeNotebook, Notebook: &NotebookFile{FilePath: t.given, Cells: []NotebookCell{}}}
	first := max(in.Offset, 1)
	explicit := in.Offset > 0 || in.Limit > 0
	left := 4 * f.deps.MaxReadTokens
	full := false
	for _, cell := range book.Cells {
		if cell.Index+1 < first || in.Limit > 0 && cell.Index+1-first >= in.Limit {
			continue
		}
		shown := notebookCell(cell, book.Language)
		cost := lineQuarters(shown.open()) + lineQuarters(shown.Source)
		for _, o := range shown.Outputs {
			cost += lineQuarters(o.Text)
		}
		if cost > left && len(out.Notebook.Cells) > 0 {
			full = true
			break
		}
		if cost > left {
			shown.Source, _ = fitting(shown.Source, left)
			shown.Outputs = nil
			out.notes = append(out.notes, fmt.Sprintf("Cell %s alone is too large for one result; it is cut.", shown.CellID))
		}
		left -= cost
		out.Notebook.Cells = append(out.Notebook.Cells, shown)
	}
	n, total := len(out.Notebook.Cells), len(book.Cells)
	view := src.viewOf(data)
	view.Partial = n < total
	switch {
	case total == 0:
		out.notes = append(out.notes, "The notebook has no cells.")
	case n == 0:
		out.notes = append(out.notes, fmt.Sprintf("The notebook has %s; cell %d, where the reading was to begin, is past its end.", counted(total, "cell"), first))
		return out, nil
	case full && !explicit:
		out.notes = append(out.notes, fmt.Sprintf("PARTIAL view: cells %d to %d of %d are shown, since the whole notebook is too large for one result. Go on with offset %d and limit %d, which count cells. A partial view is not enough to edit the notebook.", first, first+n-1, total, first+n, n))
	case full:
		return ReadOutput{}, fmt.Errorf("the cells asked for come to more than %d tokens, the most that one result may have; from cell %d a limit of %d fits", f.deps.MaxReadTokens, first, n)
	}
	if view.Partial && explicit {
		view.Offset, view.Limit = first, n
	}
	saw(env, t.real, view)
	return out, nil
}

func notebookCell(c document.Cell, language string) NotebookCell {
	out := NotebookCell{CellType: c.Type, Source: strings.ToValidUTF8(c.Source, string(utf8.RuneError)), CellID: c.ID, ExecutionCount: c.Count}
	if c.Type == "code" {
		out.Language = language
	}
	for _, o := range c.Outputs {
		shown := CellOutput{OutputType: o.Kind, Text: o.Text}
		if o.Cut {
			shown.Text += fmt.Sprintf("\n[output cut after %s]", human(document.MaxOutputText))
		}
		if o.Picture != nil {
			shown.Image = &CellImage{ImageData: base64.StdEncoding.EncodeToString(o.Picture.Data), MediaType: o.Picture.MIME}
		}
		out.Outputs = append(out.Outputs, shown)
	}
	return out
}
