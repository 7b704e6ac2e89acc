package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"
)

const (
	// MaxPDF is the largest PDF, in bytes.
	MaxPDF = 100 << 20
	// MaxPageText is how many bytes of one page's text are given.
	MaxPageText = 100_000
	// PDFTime is how long one call reads a PDF.
	PDFTime = 20 * time.Second
	// maxPDFReads stops documents that refer to themselves without end.
	maxPDFReads = 4 << 30
)

// ErrPDF is wrapped by every refusal of a PDF.
var ErrPDF = errors.New("PDF not usable")

// Page is the text of one page.
type Page struct {
	Number int // 1-based
	Text   string
	Cut    bool   // Text is only the first MaxPageText bytes
	Err    string // why there is no text, in words; may be empty
}

// PDFPages returns how many pages a PDF has.
func PDFPages(ctx context.Context, data []byte) (int, error) {
	var n int
	err := withPDF(ctx, data, func(r *pdf.Reader, _ func() error) error {
		n = r.NumPage()
		return nil
	})
	return n, err
}

// PDFText returns the text of the given pages (see [ParsePages]). A page that cannot be
// read has Err set and does not fail the others. A page of pictures has no text; see
// [RenderPages].
func PDFText(ctx context.Context, data []byte, pages []int) ([]Page, error) {
	if len(pages) > MaxPages {
		return nil, fmt.Errorf("at most %d pages a call: %w", MaxPages, ErrPages)
	}
	var out []Page
	err := withPDF(ctx, data, func(r *pdf.Reader, alive func() error) error {
		list := make([]Page, 0, len(pages))
		for _, n := range pages {
			if err := alive(); err != nil {
				return err
			}
			if n < 1 || n > r.NumPage() {
				return fmt.Errorf("page %d: the document has %d pages: %w", n, r.NumPage(), ErrPages)
			}
			list = append(list, pageText(r, n))
		}
		out = list
		return alive()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func pageText(r *pdf.Reader, n int) (p Page) {
	p.Number = n
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(stop); ok {
				panic(v)
			}
			p.Text, p.Err = "", fmt.Sprintf("page %d is damaged (%v)", n, v)
		}
	}()
	page := r.Page(n)
	if page.V.IsNull() {
		p.Err = fmt.Sprintf("page %d is missing in the document", n)
		return p
	}
	text, err := page.GetPlainText(nil)
	if err != nil {
		p.Err = fmt.Sprintf("the text of page %d cannot be read (%v)", n, err)
		return p
	}
	p.Text = strings.ToValidUTF8(text, "\ufffd")
	if len(p.Text) > MaxPageText {
		p.Text, p.Cut = strings.ToValidUTF8(p.Text[:MaxPageText], ""), true
	}
	return p
}

// stop is what ends the parser from within when its time or its share of reads is up.
type stop struct{ error }

// guard is the parser's only source of bytes, and so the place to stop it.
type guard struct {
	ctx  context.Context
	r    *bytes.Reader
	read int64
}

func (g *guard) alive() error {
	if err := context.Cause(g.ctx); err != nil {
		return fmt.Errorf("reading the document took too long or was cancelled (%w): %w", err, ErrPDF)
	}
	if g.read > maxPDFReads {
		return fmt.Errorf("the document refers to itself without end: %w", ErrPDF)
	}
	return nil
}

func (g *guard) ReadAt(p []byte, off int64) (int, error) {
	if err := g.alive(); err != nil {
		panic(stop{err})
	}
	n, err := g.r.ReadAt(p, off)
	g.read += int64(n)
	return n, err
}

var _ io.ReaderAt = (*guard)(nil)

// withPDF opens a PDF and runs f on it. The parser panics on damaged files and knows no
// deadline: panics become errors, and a deadline ends it at its next read.
func withPDF(ctx context.Context, data []byte, f func(r *pdf.Reader, alive func() error) error) (err error) {
	if len(data) > MaxPDF {
		return fmt.Errorf("the document has %d bytes, the limit is %d: %w", len(data), MaxPDF, ErrPDF)
	}
	if Sniff(data[:min(len(data), SniffBytes)], ".pdf") != PDF {
		return fmt.Errorf("the content is no PDF, whatever the file's name says: %w", ErrPDF)
	}
	ctx, cancel := context.WithTimeout(ctx, PDFTime)
	defer cancel()
	g := &guard{ctx: ctx, r: bytes.NewReader(data)}
	defer func() {
		switch v := recover().(type) {
		case nil:
		case stop:
			err = v.error
		default:
			err = fmt.Errorf("the document is damaged (%v): %w", v, ErrPDF)
		}
	}()
	r, err := pdf.NewReader(g, int64(len(data)))
	if err := g.alive(); err != nil {
		return err // the parser turns some of our stops into errors of its own
	}
	if errors.Is(err, pdf.ErrInvalidPassword) {
		return fmt.Errorf("the document is encrypted with a password: %w", ErrPDF)
	}
	if err != nil {
		return fmt.Errorf("the document cannot be read (%v): %w", err, ErrPDF)
	}
	return f(r, g.alive)
}
