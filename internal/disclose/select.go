package disclose

import (
	"cmp"
	"slices"

	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// Plan is what the next request shows of the tools.
type Plan struct {
	// Tools is the list of the request. Its beginning is the same bytes in
	// every request of a conversation.
	Tools []schema.APITool
	// Deferred are the names of the deferred tools of the pool, found or not.
	Deferred []string
	// Discovered are those of them that the model has found and the request
	// shows, in the order of discovery.
	Discovered []string
	// Notice tells the model what changed in the set of deferred tools since
	// it was last told; empty when nothing did. It must become a text block of
	// its own in a user message, and stay in the conversation.
	Notice string
}

// Select plans the next request: which tools it lists, in which form and order.
// tools and api are the pool and its API forms (none deferred); messages is the
// whole conversation. The same calls in the same order give the same plans.
func (d *Disclosure) Select(tools []tool.Tool, api []schema.APITool, messages []tool.Message) Plan {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.update(tools, api)
	past := d.read(messages)
	var p Plan
	p.Deferred = d.deferredNames()
	p.Notice = d.notice(p.Deferred, past.told)

	shown := d.shown(past)
	d.found = make(map[string]bool, len(shown))
	for _, name := range shown {
		// A call that went well by guess shows no definition where only a
		// reference does.
		if !d.cfg.References || past.isReferenced[name] || past.recorded[name] {
			d.found[name] = true
		}
	}
	p.Discovered = shown
	if d.cfg.References {
		p.Tools = d.withReferences(past)
	} else {
		p.Tools = d.withoutReferences(shown)
	}
	return p
}

// shown gives the discovered tools that are deferred ones of the pool and for
// which there is room.
func (d *Disclosure) shown(past past) []string {
	var names []string
	for _, name := range past.discovered {
		if k := d.known[name]; k != nil && d.deferred(k) {
			names = append(names, name)
		}
	}
	if d.cfg.References {
		return names // the API expands them where they were found
	}
	loaded := 0
	for _, k := range d.known {
		if k.here && !d.deferred(k) {
			loaded++
		}
	}
	if excess := len(names) - max(0, MaxLoaded-loaded); excess > 0 {
		oldest := slices.Clone(names)
		slices.SortStableFunc(oldest, func(a, b string) int { return cmp.Compare(past.last[a], past.last[b]) })
		drop := map[string]bool{}
		for _, name := range oldest[:excess] {
			drop[name] = true
		}
		names = slices.DeleteFunc(names, func(name string) bool { return drop[name] })
	}
	return names
}

// withReferences lists every definition; what is deferred says so. What only a
// record of a compaction names is shown in full, since there is no reference
// left that the API could expand.
func (d *Disclosure) withReferences(past past) []schema.APITool {
	var out []schema.APITool
	listed := make(map[string]bool, len(d.order))
	room := MaxDeferred
	for _, name := range past.referenced {
		if d.known[name] == nil || !d.known[name].here || d.deferred(d.known[name]) {
			room-- // reserved: a reference must find its definition
		}
	}
	add := func(name string, t schema.APITool) {
		out = append(out, t)
		listed[name] = true
	}
	for _, name := range d.order {
		k := d.known[name]
		if !k.here {
			continue
		}
		hidden := d.deferred(k) && !past.recorded[name]
		if hidden && !past.isReferenced[name] {
			if room <= 0 {
				continue
			}
			room--
		}
		add(name, k.form(hidden))
	}
	for _, name := range past.referenced {
		if listed[name] {
			continue
		}
		if k := d.known[name]; k != nil {
			add(name, k.form(true)) // as it was before it went away
		} else if t, ok := gone(name); ok {
			add(name, t)
		}
	}
	return out
}

// withoutReferences lists what is not deferred, then what came or was found
// later, in that order, so that the list only grows at its end.
func (d *Disclosure) withoutReferences(shown []string) []schema.APITool {
	inTail := make(map[string]bool, len(d.tail))
	for _, name := range d.tail {
		inTail[name] = true
	}
	grow := func(name string) {
		if !inTail[name] {
			inTail[name] = true
			d.tail = append(d.tail, name)
		}
	}
	for _, name := range d.order {
		if k := d.known[name]; k.late && !k.defers {
			grow(name)
		}
	}
	for _, name := range shown {
		grow(name)
	}
	var out []schema.APITool
	for _, name := range d.order {
		if k := d.known[name]; k.here && !d.deferred(k) && !inTail[name] {
			out = append(out, k.form(false))
		}
	}
	for _, name := range d.tail {
		if k := d.known[name]; k.here && (d.found[name] || !d.deferred(k)) {
			out = append(out, k.form(false))
		}
	}
	// What a rewind took back may come again at another place.
	d.tail = slices.DeleteFunc(d.tail, func(name string) bool { return d.known[name].defers && !d.found[name] })
	return out
}
