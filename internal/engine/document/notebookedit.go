package document

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// EditMode is what an edit does to a cell.
type EditMode string

// The edit modes. The zero value means Replace.
const (
	Replace EditMode = "replace"
	Insert  EditMode = "insert"
	Delete  EditMode = "delete"
)

// CellEdit is a change of one cell.
type CellEdit struct {
	Mode EditMode
	// CellID names the cell: its id, or cell-N. With Insert, the new cell comes after
	// it, or at the start if it is empty.
	CellID string
	// Type is code or markdown; Insert needs it, Replace keeps the type if it is empty.
	Type string
	// Source is the new source; Delete ignores it.
	Source string
}

// EditedNotebook is a changed notebook.
type EditedNotebook struct {
	Data      []byte
	CellID    string // of the cell that was changed, inserted or deleted
	Type      string
	Language  string
	OldSource string
}

// EditNotebook changes one cell. Every byte of the file that does not belong to the
// change stays as it is: unknown fields, the order of keys, the indentation. A code
// cell whose source is replaced loses its outputs and execution count.
func EditNotebook(data []byte, e CellEdit) (EditedNotebook, error) {
	raw, err := parseBook(data)
	if err != nil {
		return EditedNotebook{}, err
	}
	if raw.Format < 4 {
		return EditedNotebook{}, fmt.Errorf("the notebook has nbformat 3, which can only be read; convert it to 4 first: %w", ErrNotebook)
	}
	if e.Mode == "" {
		e.Mode = Replace
	}
	if e.Mode != Replace && e.Mode != Insert && e.Mode != Delete {
		return EditedNotebook{}, fmt.Errorf("unknown edit mode %q; replace, insert and delete are accepted: %w", e.Mode, ErrNotebook)
	}
	if e.Type != "" && e.Type != "code" && e.Type != "markdown" {
		return EditedNotebook{}, fmt.Errorf("unknown cell type %q; code and markdown are accepted: %w", e.Type, ErrNotebook)
	}
	if e.Mode != Delete && !utf8.ValidString(e.Source) {
		return EditedNotebook{}, fmt.Errorf("the new source is not valid UTF-8: %w", ErrNotebook)
	}
	top := span{skipBlanks(data, 0), len(data)}
	arr, ok := find(members(data, top), "cells")
	if !ok || data[arr.value.from] != '[' {
		return EditedNotebook{}, fmt.Errorf("the notebook has no list of cells: %w", ErrNotebook)
	}
	b := &bookEdit{data: data, raw: raw, arr: arr.value, cells: elements(data, arr.value)}
	if len(b.cells) != len(raw.Cells) { // keys that differ only in case, or twice the same
		return EditedNotebook{}, fmt.Errorf("the notebook's list of cells is ambiguous: %w", ErrNotebook)
	}
	b.style()
	b.out.Language = raw.Metadata.Language.Name
	if b.out.Language == "" {
		b.out.Language = "python"
	}
	at := -1
	if e.CellID != "" || e.Mode != Insert {
		if at, err = b.index(e.CellID); err != nil {
			return EditedNotebook{}, err
		}
	}
	switch e.Mode {
	case Insert:
		err = b.insert(at, e)
	case Delete:
		b.remove(at)
	default:
		err = b.replace(at, e)
	}
	if err != nil {
		return EditedNotebook{}, err
	}
	if b.out.Data = b.apply(); !json.Valid(b.out.Data) {
		return EditedNotebook{}, fmt.Errorf("the change would make the notebook invalid: %w", ErrNotebook)
	}
	return b.out, nil
}

type splice struct {
	span
	text string
}

type bookEdit struct {
	data    []byte
	raw     rawBook
	arr     span
	cells   []span
	splices []splice
	out     EditedNotebook

	unit  string // one step of indentation; "" in a file without line breaks
	depth int    // steps before a cell
}

// style learns the file's indentation from its first key.
func (b *bookEdit) style() {
	first := skipBlanks(b.data, 0) + 1
	blank := string(b.data[first:skipBlanks(b.data, first)])
	if i := strings.LastIndexByte(blank, '\n'); i >= 0 {
		b.unit = blank[i+1:]
		if b.unit == "" {
			b.unit = " "
		}
	}
	b.depth = 2
}

func (b *bookEdit) newline(depth int) string {
	if b.unit == "" {
		return ""
	}
	return "\n" + strings.Repeat(b.unit, depth)
}

func (b *bookEdit) index(id string) (int, error) {
	if id == "" {
		return 0, fmt.Errorf("a cell id is needed to replace or delete a cell: %w", ErrNotebook)
	}
	for i, c := range b.raw.Cells {
		if c.ID == id {
			return i, nil
		}
	}
	for i := range b.raw.Cells {
		if id == fmt.Sprintf("cell-%d", i) {
			return i, nil
		}
	}
	var known []string
	for i, c := range b.raw.Cells[:min(len(b.raw.Cells), 10)] {
		known = append(known, cellID(c.ID, i))
	}
	return 0, fmt.Errorf("no cell has the id %q; the notebook has %d cells (%s): %w", id, len(b.raw.Cells), strings.Join(known, ", "), ErrNotebook)
}

func (b *bookEdit) put(s span, text string) { b.splices = append(b.splices, splice{s, text}) }

func (b *bookEdit) apply() []byte {
	slices.SortStableFunc(b.splices, func(x, y splice) int { return x.from - y.from })
	var out bytes.Buffer
	at := 0
	for _, s := range b.splices {
		out.Write(b.data[at:s.from])
		out.WriteString(s.text)
		at = s.to
	}
	out.Write(b.data[at:])
	return out.Bytes()
}

func (b *bookEdit) replace(at int, e CellEdit) error {
	ms := members(b.data, b.cells[at])
	old := b.raw.Cells[at]
	b.out.CellID, b.out.OldSource, b.out.Type = cellID(old.ID, at), string(old.Source), old.Type
	if e.Type == "" {
		e.Type = old.Type
	}
	source, ok := find(ms, "source")
	if !ok {
		return fmt.Errorf("the cell %s has no source: %w", b.out.CellID, ErrNotebook)
	}
	b.out.Type = e.Type
	if e.Type != old.Type {
		b.retype(b.cells[at], ms, e)
		return nil
	}
	b.put(source.value, b.source(e.Source, b.data[source.value.from] == '['))
	if e.Type == "code" {
		// A value that is missing stays missing only if the format does not demand it.
		if m, ok := find(ms, "outputs"); ok {
			if len(elements(b.data, m.value)) > 0 || b.data[m.value.from] != '[' {
				b.put(m.value, "[]")
			}
		} else {
			b.put(span{source.whole.from, source.whole.from}, `"outputs": [],`+b.gap())
		}
		if m, ok := find(ms, "execution_count"); ok {
			b.put(m.value, "null")
		} else {
			b.put(span{source.whole.from, source.whole.from}, `"execution_count": null,`+b.gap())
		}
	}
	return nil
}

func (b *bookEdit) gap() string {
	if b.unit == "" {
		return " "
	}
	return b.newline(b.depth + 1)
}

// retype writes the whole cell anew, since code cells have other fields than text cells.
func (b *bookEdit) retype(cell span, ms []member, e CellEdit) {
	var fields []string
	for _, m := range ms {
		value := string(b.data[m.value.from:m.value.to])
		switch m.key {
		case "cell_type":
			value = quoteJSON(e.Type)
		case "source":
			value = b.source(e.Source, b.data[m.value.from] == '[')
		case "outputs", "execution_count":
			continue
		case "attachments":
			if e.Type == "code" {
				continue
			}
		}
		fields = append(fields, quoteJSON(m.key)+": "+value)
		if m.key == "cell_type" && e.Type == "code" {
			fields = append(fields, `"execution_count": null`)
		}
		if m.key == "metadata" && e.Type == "code" {
			fields = append(fields, `"outputs": []`)
		}
	}
	if _, ok := find(ms, "metadata"); !ok {
		fields = append(fields, `"metadata": {}`)
		if e.Type == "code" {
			fields = append(fields, `"outputs": []`)
		}
	}
	b.put(cell, b.object(fields))
}

func (b *bookEdit) object(fields []string) string {
	sep := "," + b.gap()
	return "{" + b.newline(b.depth+1) + strings.Join(fields, sep) + b.newline(b.depth) + "}"
}

// source encodes a source as a list of lines, as nbformat does, or as one string.
func (b *bookEdit) source(s string, list bool) string {
	if !list {
		return quoteJSON(s)
	}
	if s == "" {
		return "[]"
	}
	var items []string
	for line := range strings.Lines(s) {
		items = append(items, quoteJSON(line))
	}
	sep := "," + b.newline(b.depth+2)
	if b.unit == "" {
		sep = ", "
	}
	return "[" + b.newline(b.depth+2) + strings.Join(items, sep) + b.newline(b.depth+1) + "]"
}

func (b *bookEdit) insert(after int, e CellEdit) error {
	if e.Type == "" {
		return fmt.Errorf("inserting a cell needs a cell type, code or markdown: %w", ErrNotebook)
	}
	list := true // unless the file's cells have strings
	if len(b.cells) > 0 {
		if m, ok := find(members(b.data, b.cells[max(after, 0)]), "source"); ok {
			list = b.data[m.value.from] == '['
		}
	}
	fields := []string{`"cell_type": ` + quoteJSON(e.Type)}
	if e.Type == "code" {
		fields = append(fields, `"execution_count": null`)
	}
	b.out.CellID, b.out.Type = cellID("", after+1), e.Type
	if b.raw.Minor >= 5 {
		b.out.CellID = b.freshID()
		fields = append(fields, `"id": `+quoteJSON(b.out.CellID))
	}
	fields = append(fields, `"metadata": {}`)
	if e.Type == "code" {
		fields = append(fields, `"outputs": []`)
	}
	fields = append(fields, `"source": `+b.source(e.Source, list))
	cell := b.object(fields)
	between := b.newline(b.depth)
	switch {
	case len(b.cells) == 0:
		b.put(b.arr, "["+between+cell+b.newline(b.depth-1)+"]")
	case after < 0:
		p := b.cells[0].from
		b.put(span{p, p}, cell+","+orSpace(between))
	default:
		p := b.cells[after].to
		b.put(span{p, p}, ","+orSpace(between)+cell)
	}
	return nil
}

func orSpace(s string) string {
	if s == "" {
		return " "
	}
	return s
}

func (b *bookEdit) remove(at int) {
	c := b.raw.Cells[at]
	b.out.CellID, b.out.OldSource, b.out.Type = cellID(c.ID, at), string(c.Source), c.Type
	switch {
	case len(b.cells) == 1:
		b.put(b.arr, "[]")
	case at == len(b.cells)-1:
		b.put(span{b.cells[at-1].to, b.cells[at].to}, "")
	default:
		b.put(span{b.cells[at].from, b.cells[at+1].from}, "")
	}
}

// freshID returns an id that no cell has.
func (b *bookEdit) freshID() string {
	for {
		var r [4]byte
		rand.Read(r[:]) // never fails
		id := hex.EncodeToString(r[:])
		if !slices.ContainsFunc(b.raw.Cells, func(c rawCell) bool { return c.ID == id }) {
			return id
		}
	}
}

// quoteJSON encodes a string as notebooks have it, without escapes for <, > and &.
func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s) // a string cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}
