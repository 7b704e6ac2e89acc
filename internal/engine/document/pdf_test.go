package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// makePDF returns a document with one page for each text.
func makePDF(texts ...string) []byte {
	var b bytes.Buffer
	var at []int
	obj := func(s string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), s)
	}
	b.WriteString("%PDF-1.4\n")
	obj("<< /Type /Catalog /Pages 2 0 R >>")
	var kids []string
	for i := range texts {
		kids = append(kids, fmt.Sprintf("%d 0 R", 4+2*i))
	}
	obj(fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids)))
	obj("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	for i, s := range texts {
		obj(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", 5+2*i))
		stream := fmt.Sprintf("BT /F1 12 Tf 10 100 Td (%s) Tj ET", s)
		obj(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(stream), stream))
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, o := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, xref)
	return b.Bytes()
}

func TestPDFText(t *testing.T) {
	ctx := context.Background()
	data := makePDF("first page", "second page", "third")
	if n, err := PDFPages(ctx, data); n != 3 || err != nil {
		t.Fatalf("%d %v", n, err)
	}
	pages, err := PDFText(ctx, data, []int{3, 1})
	if err != nil || len(pages) != 2 || !strings.Contains(pages[0].Text, "third") || pages[0].Number != 3 || !strings.Contains(pages[1].Text, "first page") {
		t.Errorf("%+v %v", pages, err)
	}
	if _, err := PDFText(ctx, data, []int{4}); !errors.Is(err, ErrPages) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := PDFText(ended, data, []int{1}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, bad := range [][]byte{nil, []byte("<html>"), []byte("%PDF-1.4\n"), data[:len(data)/2], bytes.ReplaceAll(data, []byte("obj"), []byte("bjo"))} {
		if _, err := PDFPages(ctx, bad); !errors.Is(err, ErrPDF) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func TestParsePages(t *testing.T) {
	for in, want := range map[string][]int{"1-3,7": {1, 2, 3, 7}, "5": {5}, " 2 - 3 , 2 ": {2, 3}, "28-": {28, 29, 30}, "29-99": {29, 30}, "3,1": {3, 1}} {
		if got, err := ParsePages(in, 30); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v %v", in, got, err)
		}
	}
	for _, in := range []string{"", "a", "0", "-3", "3-1", "1-21", "31", "1,,2", "+1", "1--2", "1-2-3", "99999999999999999999", "1-"} {
		if got, err := ParsePages(in, 30); !errors.Is(err, ErrPages) {
			t.Errorf("%q: %v %v", in, got, err)
		}
	}
}

func FuzzPDF(f *testing.F) {
	f.Add(makePDF("abc"))
	f.Add(makePDF("a", "b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := PDFText(ctx, data, []int{1}); err != nil && !errors.Is(err, ErrPDF) && !errors.Is(err, ErrPages) {
			t.Fatal(err)
		}
	})
}

func TestRender(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in program is a shell script")
	}
	dir := t.TempDir()
	pic := filepath.Join(dir, "page.png")
	os.WriteFile(pic, pngOf(t, noise(30, 40)), 0o600)
	script := func(body string) string {
		path := filepath.Join(dir, "prog")
		os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700)
		return path
	}
	ctx := context.Background()
	data := makePDF("x", "y")
	out, err := render(ctx, script(`test -s in.pdf && test "$4" = "$6" && cp `+pic+` out.png`), data, []int{1, 2}, ImageLimits{})
	if err != nil || len(out) != 2 || out[0].Height != 40 {
		t.Fatalf("%v %v", len(out), err)
	}
	for body, says := range map[string]string{
		"echo broken >&2; exit 1": "broken", "exit 0": "no picture", "echo '<html>' > out.png": "no image", "ln -s /etc/passwd out.png": "no picture",
	} {
		if _, err := render(ctx, script(body), data, []int{1}, ImageLimits{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", body, err)
		}
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := render(short, script("exec sleep 30"), data, []int{1}, ImageLimits{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	t.Setenv("PATH", dir)
	if _, err := RenderPages(ctx, data, []int{1}, ImageLimits{}); !errors.Is(err, ErrNoRenderer) {
		t.Error(err)
	}
}
