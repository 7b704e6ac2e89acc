package lsp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/lspclient"
)

// place is a location of an answer, in either of the protocol's two forms.
type place struct {
	URI                  string           `json:"uri"`
	Range                lspclient.Range  `json:"range"`
	TargetURI            string           `json:"targetUri"`
	TargetSelectionRange *lspclient.Range `json:"targetSelectionRange"`
}

func (p place) at() (string, lspclient.Range) {
	if p.TargetURI != "" && p.TargetSelectionRange != nil {
		return p.TargetURI, *p.TargetSelectionRange
	}
	return p.URI, p.Range
}

// oneOrMany reads what may be one value or a list of them.
type oneOrMany[T any] []T

func (o *oneOrMany[T]) UnmarshalJSON(data []byte) error {
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[]T)(o))
	}
	*o = make([]T, 1)
	return json.Unmarshal(data, &(*o)[0])
}

func (q *question) places(method string, params any) error {
	var found oneOrMany[place]
	if err := q.request(method, params, &found); err != nil {
		return err
	}
	var items []located
	for _, p := range found[:min(len(found), maxRaw)] {
		uri, r := p.at()
		items = append(items, located{uri, r, Item{}})
	}
	slices.SortStableFunc(items, func(a, b located) int {
		return cmp.Or(strings.Compare(a.uri, b.uri), cmp.Compare(a.r.Start.Line, b.r.Start.Line), cmp.Compare(a.r.Start.Character, b.r.Start.Character))
	})
	items = slices.CompactFunc(items, func(a, b located) bool { return a.uri == b.uri && a.r == b.r })
	q.out.Items, q.out.Total = q.show.all(items, true)
	return nil
}

func (q *question) hover(method string, params any) error {
	var answer struct {
		Contents oneOrMany[json.RawMessage] `json:"contents"`
	}
	if err := q.request(method, params, &answer); err != nil {
		return err
	}
	var parts []string
	for _, raw := range answer.Contents {
		var text string
		var marked struct{ Kind, Language, Value string }
		switch {
		case json.Unmarshal(raw, &text) == nil:
		case json.Unmarshal(raw, &marked) == nil && marked.Language != "":
			text = "```" + marked.Language + "\n" + marked.Value + "\n```"
		default:
			text = marked.Value
		}
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, text)
		}
	}
	q.out.Hover = clip(strings.Join(parts, "\n\n"), MaxHoverChars)
	if q.out.Hover != "" {
		q.out.Total = 1
	}
	return nil
}

// symbol is a symbol of a file or of the project, in any of the protocol's forms.
type symbol struct {
	Name           string           `json:"name"`
	Detail         string           `json:"detail"`
	Kind           int              `json:"kind"`
	ContainerName  string           `json:"containerName"`
	Range          *lspclient.Range `json:"range"`
	SelectionRange *lspclient.Range `json:"selectionRange"`
	Children       []symbol         `json:"children"`
	Location       *struct {
		URI   string           `json:"uri"`
		Range *lspclient.Range `json:"range"`
	} `json:"location"`
}

func (y symbol) item(depth int) Item {
	return Item{Name: oneLine(y.Name), Kind: kindName(y.Kind), Detail: oneLine(y.Detail), Container: oneLine(y.ContainerName), Depth: depth}
}

func (q *question) documentSymbols(method string, params any) error {
	var found []symbol
	if err := q.request(method, params, &found); err != nil {
		return err
	}
	var items []located
	var add func(list []symbol, depth int)
	add = func(list []symbol, depth int) {
		for _, y := range list {
			if len(items) >= maxRaw {
				return
			}
			l := located{q.doc.URI, lspclient.Range{}, y.item(depth)}
			switch {
			case y.SelectionRange != nil:
				l.r = *y.SelectionRange
				if y.Range != nil && y.Range.End.Line > l.r.Start.Line {
					l.item.EndLine = y.Range.End.Line + 1
				}
			case y.Location != nil && y.Location.Range != nil:
				l.uri, l.r = y.Location.URI, *y.Location.Range
			}
			items = append(items, l)
			if depth < MaxSymbolDepth {
				add(y.Children, depth+1)
			}
		}
	}
	add(found, 0)
	q.out.Items, q.out.Total = q.show.all(items, false)
	return nil
}

func (q *question) workspaceSymbols(method string, params any) error {
	var found []symbol
	if err := q.request(method, params, &found); err != nil {
		return err
	}
	var items []located
	for _, y := range found[:min(len(found), maxRaw)] {
		if y.Location == nil {
			continue
		}
		l := located{y.Location.URI, lspclient.Range{Start: lspclient.Position{Line: -1}}, y.item(0)}
		if y.Location.Range != nil {
			l.r = *y.Location.Range
		}
		items = append(items, l)
	}
	q.out.Items, q.out.Total = q.show.all(items, false)
	return nil
}

// hierarchyItem is a function of a call hierarchy. The server gets back exactly what
// it sent.
type hierarchyItem struct {
	symbol
	URI string `json:"uri"`
	raw json.RawMessage
}

func (h *hierarchyItem) UnmarshalJSON(data []byte) error {
	type plain hierarchyItem
	h.raw = bytes.Clone(data)
	return json.Unmarshal(data, (*plain)(h))
}

func (h hierarchyItem) located() located {
	l := located{h.URI, lspclient.Range{}, h.item(0)}
	if h.SelectionRange != nil {
		l.r = *h.SelectionRange
	}
	return l
}

func (q *question) calls(method string, params any) error {
	var functions []hierarchyItem
	if err := q.request(capabilities[PrepareCalls][1], params, &functions); err != nil {
		return err
	}
	var items []located
	if q.in.Operation == PrepareCalls {
		for _, f := range functions[:min(len(functions), maxRaw)] {
			items = append(items, f.located())
		}
		q.out.Items, q.out.Total = q.show.all(items, false)
		return nil
	}
	for _, f := range functions[:min(len(functions), MaxHierarchyItems)] {
		if _, hidden := q.show.pathOf(f.URI); hidden {
			continue
		}
		var found []struct {
			From       *hierarchyItem    `json:"from"`
			To         *hierarchyItem    `json:"to"`
			FromRanges []lspclient.Range `json:"fromRanges"`
		}
		if err := q.request(method, map[string]any{"item": f.raw}, &found); err != nil {
			return err
		}
		for _, c := range found[:min(len(found), maxRaw)] {
			other := c.From
			if other == nil {
				other = c.To
			}
			if other == nil {
				continue
			}
			l := other.located()
			for _, r := range c.FromRanges[:min(len(c.FromRanges), maxCallLines)] {
				l.item.Calls = append(l.item.Calls, r.Start.Line+1)
			}
			slices.Sort(l.item.Calls)
			l.item.Calls = slices.Compact(l.item.Calls)
			items = append(items, l)
		}
	}
	q.out.Items, q.out.Total = q.show.all(items, false)
	return nil
}

// maxCallLines bounds the lines of calls that one item names.
const maxCallLines = 20

// located is an item with the place that the server named.
type located struct {
	uri  string
	r    lspclient.Range
	item Item
}

// shower turns places of the protocol into what is shown, and hides what may not be.
type shower struct {
	s     *Service
	base  string   // what paths are shown relative to
	open  []string // folders whose lines may be shown: reading elsewhere needs leave
	seen  map[string]bool
	path  string // the file of text
	lines *lspclient.Text
}

func newShower(s *Service, cwd string, roots []string) *shower {
	cwd = resolved([]string{cwd})[0]
	return &shower{s: s, base: cwd, open: append(roots, cwd), seen: map[string]bool{}}
}

func (w *shower) mayShow(path string) bool {
	return slices.ContainsFunc(w.open, func(dir string) bool { return dir != "" && within(dir, path) })
}

// pathOf gives the path of a URI, and whether it may not be shown. What is no file of
// this machine has no path.
func (w *shower) pathOf(uri string) (path string, hidden bool) {
	path, err := lspclient.PathOf(uri)
	if err != nil {
		return "", false
	}
	hidden, ok := w.seen[path]
	if !ok {
		hidden = w.s.hidden(path)
		w.seen[path] = hidden
	}
	return path, hidden
}

// text gives a file's text; files come one after another, so the last is kept.
func (w *shower) text(path string) *lspclient.Text {
	if w.path != path || w.lines == nil {
		content, _, err := lspclient.ReadFile(path)
		if err != nil {
			content = ""
		}
		w.path, w.lines = path, lspclient.NewText(content)
	}
	return w.lines
}

func (w *shower) name(path string) string {
	if w.base != "" && within(w.base, path) {
		if rel, err := filepath.Rel(w.base, path); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return path
}

// all shows places, at most [MaxResults], and counts those that may be shown.
func (w *shower) all(found []located, withText bool) (items []Item, total int) {
	items = []Item{}
	for _, l := range found {
		path, hidden := w.pathOf(l.uri)
		if hidden {
			continue
		}
		if total++; len(items) >= MaxResults {
			continue
		}
		it := l.item
		if path == "" {
			it.Path = clip(oneLine(l.uri), MaxLineChars)
		} else {
			it.Path = w.name(path)
		}
		if l.r.Start.Line >= 0 {
			it.Line, it.Character = l.r.Start.Line+1, l.r.Start.Character+1
			if path != "" {
				text := w.text(path)
				it.Character = text.Character(l.r.Start)
				if withText && w.mayShow(path) {
					it.Text = clip(strings.TrimSpace(text.Line(l.r.Start.Line)), MaxLineChars)
				}
			}
		}
		items = append(items, it)
	}
	return items, total
}

var severities = [...]string{"problem", "error", "warning", "information", "hint"}

// diagnostics shows what a server says about one file, the worst first.
func (w *shower) diagnostics(path string, text *lspclient.Text, list []lspclient.Diagnostic, limit int) (items []Item, total int) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b lspclient.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Range.Start.Line, b.Range.Start.Line), cmp.Compare(a.Range.Start.Character, b.Range.Start.Character))
	})
	items = []Item{}
	for _, d := range list[:min(len(list), limit)] {
		severity := severities[0]
		if d.Severity > 0 && d.Severity < len(severities) {
			severity = severities[d.Severity]
		}
		detail := d.Source
		if code := strings.Trim(string(d.Code), `"`); code != "" && code != "null" {
			detail = strings.TrimSpace(detail + " " + code)
		}
		items = append(items, Item{Path: w.name(path), Line: d.Range.Start.Line + 1, Character: text.Character(d.Range.Start),
			Severity: severity, Message: strings.TrimSpace(d.Message), Detail: oneLine(detail)})
	}
	return items, len(list)
}

// kindName names a kind of symbol.
func kindName(kind int) string {
	names := [...]string{"symbol", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum", "interface",
		"function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null", "enum member", "struct", "event", "operator", "type parameter"}
	if kind < 0 || kind >= len(names) {
		kind = 0
	}
	return names[kind]
}

func oneLine(s string) string { return clip(strings.Join(strings.Fields(s), " "), MaxLineChars) }

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
