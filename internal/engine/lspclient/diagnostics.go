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
	at      time.Time
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
	f.at = time.Now()
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

// latest gives what was last published of a file, and whether it
// is of what the document holds.
func (d *diagnostics) latest(path string, doc Document) (f published, fresh bool, changed <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.files[path]; p != nil {
		f = *p
	}
	switch {
	case f.count == 0:
	case f.version != 0:
		fresh = f.version >= doc.Version
	default:
		fresh = f.count > doc.mark || !doc.Changed
	}
	return f, fresh, d.changed
}

func (d *diagnostics) wait(ctx context.Context, done <-chan struct{}, path string, doc Document, quiet Quiet) ([]Diagnostic, bool) {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	var seen uint64
	for {
		f, fresh, changed := d.latest(path, doc)
		if fresh && f.count != seen {
			seen = f.count
			timer.Reset(quiet.after(f.list) - time.Since(f.at))
		}
		select {
		case <-changed:
		case <-timer.C:
			return f.list, true
		case <-done:
			return f.list, fresh
		case <-ctx.Done():
			return f.list, fresh
		}
	}
}

// Quiet is how long no more diagnostics of a file must come until they count as
// complete: after some, and after none.
type Quiet struct{ Some, None time.Duration }

func (q Quiet) after(list []Diagnostic) time.Duration {
	if len(list) == 0 {
		return q.None
	}
	return q.Some
}
