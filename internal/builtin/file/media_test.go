package file

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

func notebookJSON(t *testing.T, cells ...string) string {
	t.Helper()
	return `{
 "cells": [
` + strings.Join(cells, ",\n") + `
 ],
 "metadata": {"language_info": {"name": "python"}, "custom": 1},
 "nbformat": 4,
 "nbformat_minor": 5
}
`
}

func codeCell(id, source, outputs string) string {
	return fmt.Sprintf(`  {"cell_type": "code", "id": %q, "execution_count": 7, "metadata": {}, "outputs": [%s], "source": %q}`, id, outputs, source)
}

func TestNotebookIsReadAndChanged(t *testing.T) {
	var pic bytes.Buffer
	if err := png.Encode(&pic, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	outputs := `{"output_type": "stream", "name": "stdout", "text": ["hello\n"]}, {"output_type": "display_data", "metadata": {}, "data": {"image/png": "` +
		base64.StdEncoding.EncodeToString(pic.Bytes()) + `"}}`
	b := newBench(t, Deps{})
	b.put("n.ipynb", notebookJSON(t, codeCell("aa", "print('hello')", outputs), `  {"cell_type": "markdown", "id": "bb", "metadata": {}, "source": ["# Title\n", "text"]}`))
	edit := args{"notebook_path": "n.ipynb", "cell_id": "aa", "new_source": "print(2)"}
	b.fails("NotebookEdit", edit, "has not been read")

	call, err := b.tools["Read"].Bind(json.RawMessage(`{"file_path":"n.ipynb"}`), b.env.Place)
	if err != nil {
		t.Fatal(err)
	}
	out, err := call.Run(t.Context(), b.env)
	if err != nil {
		t.Fatal(err)
	}
	blocks, _ := call.Map(out)
	if len(blocks) != 3 || blocks[1].Type != tool.BlockImage {
		t.Fatalf("blocks: %d %+v", len(blocks), blocks)
	}
	has(t, blocks[0].Text, `<cell id="aa" type="code" language="python" execution_count="7">`, "print('hello')", "hello\n</output>")
	has(t, blocks[2].Text, `<cell id="bb" type="markdown">`, "# Title\ntext")
	raw, err := json.Marshal(out.Data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := call.WithOutput(out, raw)
	if err != nil {
		t.Fatal(err)
	}
	if mapped, _ := call.Map(again); len(mapped) != 3 || mapped[0].Text != blocks[0].Text {
		t.Error("the output does not survive JSON")
	}

	has(t, b.ok("NotebookEdit", edit), "cell aa", "replaced")
	has(t, b.ok("NotebookEdit", args{"notebook_path": "n.ipynb", "cell_id": "aa", "new_source": "new", "cell_type": "markdown", "edit_mode": "insert"}), "inserted")
	has(t, b.ok("NotebookEdit", args{"notebook_path": "n.ipynb", "cell_id": "bb", "new_source": "", "edit_mode": "delete"}), "deleted")
	var book struct {
		Cells []struct {
			Source  any
			Outputs []any
		}
		Metadata map[string]any
	}
	if err := json.Unmarshal([]byte(b.get("n.ipynb")), &book); err != nil {
		t.Fatal(err)
	}
	if len(book.Cells) != 2 || len(book.Cells[0].Outputs) != 0 || book.Metadata["custom"] != 1.0 {
		t.Errorf("notebook is %s", b.get("n.ipynb"))
	}
	has(t, fmt.Sprint(book.Cells), "print(2)", "new")

	b.put("n.ipynb", notebookJSON(t, codeCell("aa", "other", "")))
	b.fails("NotebookEdit", edit, "has changed on disk")
}

func TestNotebookRefusals(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("n.ipynb", notebookJSON(t, codeCell("aa", "x", "")))
	b.ok("Read", args{"file_path": "n.ipynb"})
	b.fails("Edit", args{"file_path": "n.ipynb", "old_string": "x", "new_string": "y"}, "NotebookEdit")
	b.fails("Write", args{"file_path": "n.ipynb", "content": "{}"}, "NotebookEdit")
	b.ok("Write", args{"file_path": "new.ipynb", "content": notebookJSON(t, codeCell("aa", "x", ""))})
	b.ok("NotebookEdit", args{"notebook_path": "new.ipynb", "cell_id": "aa", "new_source": "y"})
	b.fails("NotebookEdit", args{"notebook_path": "n.ipynb", "cell_id": "zz", "new_source": "y"}, "zz")
	b.fails("NotebookEdit", args{"notebook_path": "n.ipynb", "new_source": "y"}, "cell_id is missing")
	b.fails("NotebookEdit", args{"notebook_path": "n.ipynb", "new_source": "y", "edit_mode": "insert"}, "cell_type is missing")
	b.fails("NotebookEdit", args{"notebook_path": "n.txt", "cell_id": "a", "new_source": "y"}, "ends in .ipynb")
	b.fails("NotebookEdit", args{"notebook_path": "none.ipynb", "cell_id": "a", "new_source": "y"}, "does not exist")
	b.put("broken.ipynb", "{ <<<<<<< HEAD\n")
	has(t, b.ok("Read", args{"file_path": "broken.ipynb"}), "<<<<<<< HEAD", "shown as text")
}

func TestLargeNotebookIsPaged(t *testing.T) {
	b := newBench(t, Deps{MaxReadTokens: 300})
	var cells []string
	for i := range 20 {
		cells = append(cells, codeCell(fmt.Sprint("c", i), strings.Repeat("word ", 50), ""))
	}
	b.put("n.ipynb", notebookJSON(t, cells...))
	text := b.ok("Read", args{"file_path": "n.ipynb"})
	has(t, text, "PARTIAL view: cells 1 to 3 of 20", "offset 4 and limit 3")
	edit := args{"notebook_path": "n.ipynb", "cell_id": "c5", "new_source": "y"}
	b.fails("NotebookEdit", edit, "partial view")
	has(t, b.ok("Read", args{"file_path": "n.ipynb", "offset": 5, "limit": 3}), `id="c4"`, `id="c6"`)
	b.ok("NotebookEdit", edit)
	has(t, b.ok("Read", args{"file_path": "n.ipynb", "offset": 50}), "20 cells", "past its end")
	b.fails("Read", args{"file_path": "n.ipynb", "offset": 1, "limit": 19}, "a limit of")
}

// pdfOf makes a PDF with a line of text on each page.
func pdfOf(pages int) string {
	var b bytes.Buffer
	var at []int
	object := func(s string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), s)
	}
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	var kids []string
	for i := range pages {
		kids = append(kids, fmt.Sprintf("%d 0 R", 4+2*i))
	}
	object(fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", pages, strings.Join(kids, " ")))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	for i := range pages {
		text := fmt.Sprintf("BT /F1 24 Tf 20 100 Td (Page number %d) Tj ET", i+1)
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", 5+2*i))
		object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(text), text))
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, start)
	return b.String()
}

func TestPDF(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("a.pdf", pdfOf(3))
	text, data, err := b.run("Read", args{"file_path": "a.pdf"})
	if err != nil {
		t.Fatal(err)
	}
	has(t, text, "3 pages of 3 pages", `<page number="1">`, "Page number 3")
	if p := data.(ReadOutput).Parts; p == nil || p.Count != 3 {
		t.Errorf("output %+v", data)
	}
	text = b.ok("Read", args{"file_path": "a.pdf", "pages": "2"})
	has(t, text, "Page number 2")
	if strings.Contains(text, "Page number 1") {
		t.Error("a page that was not asked for is shown")
	}
	b.put("long.pdf", pdfOf(MaxPagesUnasked+15))
	b.fails("Read", args{"file_path": "long.pdf"}, "has 25 pages", "pages")
	b.fails("Read", args{"file_path": "long.pdf", "pages": "1-21"}, "at most 20 pages")
	b.fails("Read", args{"file_path": "long.pdf", "pages": "x"}, "no page or range")
	has(t, b.ok("Read", args{"file_path": "long.pdf", "pages": "24-"}), "Page number 25")
	b.put("bad.pdf", "%PDF-1.4\nnothing")
	b.fails("Read", args{"file_path": "bad.pdf"}, "cannot be read")
}
