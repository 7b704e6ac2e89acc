package lspclient

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// Diagnostic is something that the server has to say about a file.
type Diagnostic struct {
	Range    Range           `json:"range"`
	Severity int             `json:"severity"` // 1 error, 2 warning, 3 information, 4 hint; 0 unknown
	Code     json.RawMessage `json:"code"`
	Source   string          `json:"source"`
	Message  string          `json:"message"`
}

// maxDiagnosticChars bounds the text of one diagnostic.
const maxDiagnosticChars = 2_000

// diagnostics are the latest of each file.
type diagnostics struct {
	mu      sync.Mutex
	files   map[string]*published
	changed chan struct{} // closed and made anew with each publication
}

type published struct {
	list    []Diagnostic
	version int // 0: the server did not say
	count   uint64
}

func (d *diagnostics) init() {
	d.files, d.changed = map[string]*published{}, make(chan struct{})
}

func (d *diagnostics) publish(params json.RawMessage) {
	var p struct {
		URI         string       `json:"uri"`
		Version     int          `json:"version"`
		Diagnostics []Diagnostic `json:"diagnostics"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	path, err := PathOf(p.URI)
	if err != nil {
		return
	}
	list := p.Diagnostics[:min(len(p.Diagnostics), MaxFileDiagnostics)]
	for i := range list {
		list[i].Message = clip(list[i].Message, maxDiagnosticChars)
		list[i].Source = clip(list[i].Source, 50)
		if len(list[i].Code) > 100 {
			list[i].Code = nil
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[path]
	if f == nil {
		if len(d.files) >= MaxDiagnosticFiles {
			return
		}
		f = &published{}
		d.files[path] = f
	}
	f.list, f.version = list, p.Version
	f.count++
	close(d.changed)
	d.changed = make(chan struct{})
}

// expect tells how often diagnostics of a file have come. From now on there is a
// place for them, however many other files the server speaks of.
func (d *diagnostics) expect(path string) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[path]
	if f == nil {
		f = &published{}
		d.files[path] = f
	}
	return f.count
}

// latest gives what was last published of a file, how often it was, and whether it
// is of what the document holds.
func (d *diagnostics) latest(path string, doc Document) (out []Diagnostic, count uint64, fresh bool, changed <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[path]
	if f == nil || f.count == 0 {
		return nil, 0, false, d.changed
	}
	fresh = f.count > doc.mark || !doc.Changed
	if f.version != 0 {
		fresh = f.version >= doc.Version
	}
	return f.list, f.count, fresh, d.changed
}

func (d *diagnostics) wait(ctx context.Context, done <-chan struct{}, path string, doc Document, settle time.Duration) ([]Diagnostic, bool) {
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	defer quiet.Stop()
	var seen uint64
	for {
		list, count, fresh, changed := d.latest(path, doc)
		if fresh && count != seen {
			if !doc.Changed && count == doc.mark {
				return list, true // nothing new is to be expected
			}
			quiet.Reset(settle)
			seen = count
		}
		select {
		case <-changed:
		case <-quiet.C:
			return list, true
		case <-done:
			return list, fresh
		case <-ctx.Done():
			return list, fresh
		}
	}
}
