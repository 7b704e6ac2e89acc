package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

const (
	// RenderTime is how long the rendering of one page may take.
	RenderTime = 20 * time.Second
	// rendererName is the program of the Poppler tools that makes pictures of pages.
	rendererName = "pdftoppm"
	// maxComplaint is how much of the program's error text an error quotes.
	maxComplaint = 300
)

// ErrNoRenderer says that pages cannot be made into pictures on this machine.
var ErrNoRenderer = errors.New("pages cannot be shown as pictures: " + rendererName + " is not installed (it comes with Poppler), so only text is available")

// RenderPages makes pictures of the given pages with pdftoppm, if it is installed, and
// fails with ErrNoRenderer if not. The program gets a copy of the document in a private
// temporary directory, no input, hardly any environment and bounded time.
func RenderPages(ctx context.Context, data []byte, pages []int, limits ImageLimits) ([]Picture, error) {
	program, err := exec.LookPath(rendererName)
	if err != nil {
		return nil, ErrNoRenderer
	}
	return render(ctx, program, data, pages, limits)
}

func render(ctx context.Context, program string, data []byte, pages []int, limits ImageLimits) (out []Picture, err error) {
	if len(pages) > MaxPages {
		return nil, fmt.Errorf("at most %d pages a call: %w", MaxPages, ErrPages)
	}
	if len(data) > MaxPDF {
		return nil, fmt.Errorf("the document has %d bytes, the limit is %d: %w", len(data), MaxPDF, ErrPDF)
	}
	dir, err := os.MkdirTemp("", "sevengate-pdf-") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("make a directory for rendering: %w", err)
	}
	defer os.RemoveAll(dir)
	in := filepath.Join(dir, "in.pdf")
	if err := os.WriteFile(in, data, 0o600); err != nil {
		return nil, fmt.Errorf("copy the document for rendering: %w", err)
	}
	l := limits.withDefaults()
	for _, n := range pages {
		page, err := renderPage(ctx, program, dir, n, l)
		if err != nil {
			return nil, fmt.Errorf("render page %d: %w", n, err)
		}
		out = append(out, page)
	}
	return out, nil
}

func renderPage(ctx context.Context, program, dir string, n int, l ImageLimits) (Picture, error) {
	ctx, cancel := context.WithTimeout(ctx, RenderTime)
	defer cancel()
	num := strconv.Itoa(n)
	cmd := exec.CommandContext(ctx, program, "-png", "-singlefile", "-f", num, "-l", num, "-scale-to", strconv.Itoa(l.MaxEdge), "in.pdf", "out")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C"}
	cmd.WaitDelay = time.Second
	complaint := &head{max: maxComplaint}
	cmd.Stderr = complaint
	if err := cmd.Run(); err != nil {
		if cause := ctx.Err(); cause != nil {
			return Picture{}, fmt.Errorf("%s was stopped (%w): %w", rendererName, cause, ErrPDF)
		}
		return Picture{}, fmt.Errorf("%s failed (%v) %s: %w", rendererName, err, bytes.TrimSpace(complaint.data), ErrPDF)
	}
	file := filepath.Join(dir, "out.png")
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > int64(l.MaxFile) {
		return Picture{}, fmt.Errorf("%s made no picture: %w", rendererName, ErrPDF)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return Picture{}, fmt.Errorf("read the picture: %w", err)
	}
	defer os.Remove(file)
	return Image(data, l)
}

// head keeps the first max bytes that are written to it and forgets the rest.
type head struct {
	max  int
	data []byte
}

func (h *head) Write(p []byte) (int, error) {
	h.data = append(h.data, p[:min(len(p), h.max-len(h.data))]...)
	return len(p), nil
}
