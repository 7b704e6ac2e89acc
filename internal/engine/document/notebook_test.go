package document

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const book45 = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\n",
    "<b>text</b>"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "calc",
   "metadata": {"odd":   true, "z": 1, "a": 2},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "42\n"
     ]
    }
   ],
   "source": [
    "print(6*7)"
   ],
   "unknown": 1.50
  }
 ],
 "metadata": {
  "language_info": {
   "name": "python"
  },
  "zeta": 1,
  "alpha": "\u00e9"
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func edit(t *testing.T, book string, e CellEdit) (string, EditedNotebook) {
	t.Helper()
	out, err := EditNotebook([]byte(book), e)
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Data), out
}

func TestNotebookReplace(t *testing.T) {
	got, out := edit(t, book45, CellEdit{CellID: "calc", Source: "a = \"<x>\"\nb\n"})
	want := strings.NewReplacer(
		`"execution_count": 7`, `"execution_count": null`,
		"[\n    {\n     \"name\": \"stdout\",\n     \"output_type\": \"stream\",\n     \"text\": [\n      \"42\\n\"\n     ]\n    }\n   ]", "[]",
		`"print(6*7)"`, `"a = \"<x>\"\n",`+"\n    "+`"b\n"`).Replace(book45)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if out.CellID != "calc" || out.OldSource != "print(6*7)" || out.Type != "code" || out.Language != "python" {
		t.Errorf("%+v", out)
	}
	if got, _ := edit(t, book45, CellEdit{CellID: "intro", Source: "x"}); got != strings.Replace(book45, "\"# Title\\n\",\n    \"<b>text</b>\"", `"x"`, 1) {
		t.Errorf("%s", got)
	}
	if got, _ := edit(t, book45, CellEdit{CellID: "cell-0", Source: ""}); got != strings.Replace(book45, "[\n    \"# Title\\n\",\n    \"<b>text</b>\"\n   ]", `[]`, 1) {
		t.Errorf("%s", got)
	}
}

func TestNotebookRetype(t *testing.T) {
	got, _ := edit(t, book45, CellEdit{CellID: "calc", Type: "markdown", Source: "text"})
	for _, bad := range []string{"execution_count", "outputs"} {
		if strings.Contains(got, bad) {
			t.Errorf("a markdown cell has %s:\n%s", bad, got)
		}
	}
	if !strings.Contains(got, `{"odd":   true, "z": 1, "a": 2}`) || !strings.Contains(got, `"unknown": 1.50`) {
		t.Errorf("fields were lost:\n%s", got)
	}
	got, _ = edit(t, book45, CellEdit{CellID: "intro", Type: "code", Source: "1"})
	b, err := ParseNotebook([]byte(got), ImageLimits{})
	if err != nil || b.Cells[0].Type != "code" || strings.Count(got, `"outputs"`) != 2 || strings.Count(got, `"execution_count": null`) != 1 {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestNotebookInsertAndDelete(t *testing.T) {
	for _, c := range []struct {
		after string
		index int
	}{{"", 0}, {"intro", 1}, {"calc", 2}} {
		got, out := edit(t, book45, CellEdit{Mode: Insert, CellID: c.after, Type: "code", Source: "x\ny"})
		b, err := ParseNotebook([]byte(got), ImageLimits{})
		if err != nil || len(b.Cells) != 3 || b.Cells[c.index].Source != "x\ny" || b.Cells[c.index].ID != out.CellID {
			t.Fatalf("%v %+v", err, b.Cells)
		}
		// The file looks as if it had been written by the usual program.
		var v any
		d := json.NewDecoder(strings.NewReader(strings.ReplaceAll(got, "1.50", "1.5")))
		if d.Decode(&v) != nil || !strings.Contains(got, "  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \""+out.CellID+"\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": [\n    \"x\\n\",\n    \"y\"\n   ]\n  }") {
			t.Errorf("%s", got)
		}
		back, _ := edit(t, got, CellEdit{Mode: Delete, CellID: out.CellID})
		if back != book45 {
			t.Errorf("inserted and deleted:\n%s", back)
		}
	}
	one, _ := edit(t, book45, CellEdit{Mode: Delete, CellID: "intro"})
	none, _ := edit(t, one, CellEdit{Mode: Delete, CellID: "calc"})
	if !strings.Contains(none, `"cells": []`) {
		t.Errorf("%s", none)
	}
	again, _ := edit(t, none, CellEdit{Mode: Insert, Type: "markdown", Source: "# x"})
	if b, err := ParseNotebook([]byte(again), ImageLimits{}); err != nil || len(b.Cells) != 1 {
		t.Errorf("%v", err)
	}
}

func TestNotebookOldMinorAndCompact(t *testing.T) {
	compact := `{"cells":[{"cell_type":"code","execution_count":1,"metadata":{},"outputs":[],"source":"a"}],"metadata":{},"nbformat":4,"nbformat_minor":2}`
	got, out := edit(t, compact, CellEdit{Mode: Insert, CellID: "cell-0", Type: "code", Source: "b\nc"})
	if strings.Contains(got, `"id"`) || strings.Contains(got, "\n") || !strings.Contains(got, `"source": "b\nc"`) || out.CellID != "cell-1" {
		t.Errorf("%s %s", got, out.CellID)
	}
	got, _ = edit(t, compact, CellEdit{CellID: "cell-0", Source: "z"})
	if got != strings.Replace(strings.Replace(compact, `"a"`, `"z"`, 1), `"execution_count":1`, `"execution_count":null`, 1) {
		t.Errorf("%s", got)
	}
}

func TestNotebookRefused(t *testing.T) {
	v3 := `{"nbformat":3,"nbformat_minor":0,"metadata":{},"worksheets":[{"cells":[{"cell_type":"code","input":["a\n","b"],"outputs":[]}]}]}`
	if b, err := ParseNotebook([]byte(v3), ImageLimits{}); err != nil || b.Cells[0].Source != "a\nb" {
		t.Errorf("version 3: %+v %v", b, err)
	}
	for _, c := range []struct {
		book string
		e    CellEdit
		says string
	}{
		{v3, CellEdit{CellID: "cell-0"}, "nbformat 3"},
		{`{"cells":[]}`, CellEdit{CellID: "x"}, "nbformat 0"},
		{`not json`, CellEdit{CellID: "x"}, "not valid"},
		{book45, CellEdit{CellID: "nope"}, "intro, calc"},
		{book45, CellEdit{}, "cell id is needed"},
		{book45, CellEdit{Mode: Insert, Source: "x"}, "cell type"},
		{book45, CellEdit{Mode: "move", CellID: "calc"}, "unknown edit mode"},
		{book45, CellEdit{CellID: "calc", Type: "raw"}, "unknown cell type"},
		{`{"nbformat":4,"cells":null}`, CellEdit{Mode: Insert, Type: "code"}, "no list of cells"},
		{`{"nbformat":4,"cells":[null]}`, CellEdit{CellID: "cell-0"}, "no source"},
	} {
		if _, err := EditNotebook([]byte(c.book), c.e); !errors.Is(err, ErrNotebook) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.e, err, c.says)
		}
	}
}

func TestNotebookOutputs(t *testing.T) {
	pic := base64.StdEncoding.EncodeToString(pngOf(t, noise(4, 4)))
	src, _ := json.Marshal(map[string]any{"nbformat": 4, "nbformat_minor": 5, "metadata": map[string]any{}, "cells": []any{map[string]any{
		"cell_type": "code", "id": "c", "metadata": map[string]any{}, "source": "x", "execution_count": 3, "outputs": []any{
			map[string]any{"output_type": "stream", "name": "stdout", "text": strings.Repeat("y", MaxOutputText+5)},
			map[string]any{"output_type": "display_data", "data": map[string]any{"image/png": pic[:10] + "\n" + pic[10:], "text/plain": []string{"<Fig", "ure>"}}},
			map[string]any{"output_type": "display_data", "data": map[string]any{"image/png": base64.StdEncoding.EncodeToString([]byte("<html>"))}},
			map[string]any{"output_type": "error", "ename": "E", "evalue": "v", "traceback": []string{"t1", "t2"}},
			map[string]any{"output_type": "execute_result", "data": map[string]any{"application/json": map[string]any{"k": 1}}},
		}}}})
	b, err := ParseNotebook(src, ImageLimits{})
	if err != nil {
		t.Fatal(err)
	}
	o := b.Cells[0].Outputs
	if !o[0].Cut || len(o[0].Text) != MaxOutputText || o[1].Picture == nil || o[1].Text != "<Figure>" || o[2].Picture != nil ||
		!strings.Contains(o[2].Text, "left out") || o[3].Text != "t1\nt2" || o[4].Text != `{"k":1}` || *b.Cells[0].Count != 3 {
		t.Errorf("%+v", o[1:])
	}
}

func FuzzEditNotebook(f *testing.F) {
	f.Add([]byte(book45), "calc", "x\ny", "code", uint8(0))
	f.Add([]byte(`{"nbformat":4,"cells":[{"source":[]},{"source":""}]}`), "cell-1", "", "", uint8(2))
	f.Add([]byte(`{"nbformat":4,"CELLS":[{"source":[]}],"cells":[ ]}`), "", "\u2028", "markdown", uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, id, source, typ string, mode uint8) {
		out, err := EditNotebook(data, CellEdit{Mode: []EditMode{Replace, Insert, Delete}[mode%3], CellID: id, Type: typ, Source: source})
		if err != nil {
			return
		}
		if !json.Valid(out.Data) || bytes.Equal(out.Data, data) && mode%3 != 0 {
			t.Fatalf("%s", out.Data)
		}
	})
}
