package pathrule

import "slices"

// index finds the rules of a list that may match a spelling without looking at all of them. It does not change once it
// is built.
type index struct {
	// exact holds the patterns as written, apart from those with a class; these alone may match a folded text and yet
	// not match when they are folded themselves.
	exact, classes, folded *table
	closes                 bool // every pattern is in folded too
}

// table holds patterns by what is literal in them.
type table struct {
	byPrefix map[string][]indexed // by the folder that all they match lies in
	byName   map[string][]indexed // "**" and then a plain name: by that name
	byTail   edges                // "**" and then a name that ends literally: by that end
	byHead   edges                // the same for its beginning
}

// edges holds patterns by the literal end or beginning of a name. lengths are
// those of the keys, each once.
type edges struct {
	patterns map[string][]indexed
	lengths  []int
}

func (e *edges) add(text string, entry indexed) {
	if e.patterns == nil {
		e.patterns = map[string][]indexed{}
	}
	e.patterns[text] = append(e.patterns[text], entry)
	if !slices.Contains(e.lengths, len(text)) {
		e.lengths = append(e.lengths, len(text))
	}
}

// indexed is a pattern below a literal folder.
type indexed struct {
	order   int // of the rule in the list
	folder  string
	depth   int // components of folder
	pattern []component
}

func newIndex() *index { return &index{exact: newTable(), classes: newTable(), folded: newTable()} }

func newTable() *table {
	return &table{byPrefix: map[string][]indexed{}, byName: map[string][]indexed{}}
}

func (x *index) add(order int, r *Rule) {
	x.closes = r.loose()
	for _, b := range r.exact {
		if hasClass(b.pattern) {
			x.classes.add(order, b)
		} else {
			x.exact.add(order, b)
		}
	}
	for _, b := range r.folded {
		x.folded.add(order, b)
	}
}

func (t *table) add(order int, b based) {
	segs, pattern := append([]string(nil), b.base...), b.pattern
	for len(pattern) > 0 && pattern[0].plain() {
		segs, pattern = append(segs, pattern[0].literal), pattern[1:]
	}
	folder, _ := joinSegments(segs)
	entry := indexed{order, folder, len(segs), pattern}
	if len(pattern) > 1 && pattern[0].anyDepth && !pattern[1].anyDepth {
		switch c := pattern[1]; {
		case c.plain():
			t.byName[c.literal] = append(t.byName[c.literal], entry)
			return
		case len(c.tail) >= len(c.head) && c.tail != "":
			t.byTail.add(c.tail, entry)
			return
		case c.head != "":
			t.byHead.add(c.head, entry)
			return
		}
	}
	t.byPrefix[folder] = append(t.byPrefix[folder], entry)
}

// plain tells that a component is a name without wildcards.
func (c component) plain() bool { return !c.anyDepth && c.tokens == nil }

func hasClass(pattern []component) bool {
	for _, c := range pattern {
		for _, t := range c.tokens {
			if t.kind == tokenClass {
				return true
			}
		}
	}
	return false
}

// find gives the order of the first rule that matches a spelling and that also accepts, or -1. A nil also accepts all.
func (x *index) find(s spelling, also func(order int) bool) int {
	best := -1
	if !x.closes || !s.plain {
		best = x.exact.find(s.exact, s.exactText, s.exactEnds, best, also)
	}
	best = x.classes.find(s.exact, s.exactText, s.exactEnds, best, also)
	return x.folded.find(s.folded, s.foldedText, s.foldedEnds, best, also)
}

func (t *table) find(segs []string, text string, ends []int, best int, also func(int) bool) int {
	if len(t.byPrefix) > 0 {
		for n := 0; n <= len(segs); n++ {
			best = try(t.byPrefix[text[:ends[n]]], segs, text, ends, best, also)
		}
	}
	if len(t.byName) > 0 {
		for _, name := range segs {
			best = try(t.byName[name], segs, text, ends, best, also)
		}
	}
	for _, n := range t.byTail.lengths {
		for _, name := range segs {
			if len(name) >= n {
				best = try(t.byTail.patterns[name[len(name)-n:]], segs, text, ends, best, also)
			}
		}
	}
	for _, n := range t.byHead.lengths {
		for _, name := range segs {
			if len(name) >= n {
				best = try(t.byHead.patterns[name[:n]], segs, text, ends, best, also)
			}
		}
	}
	return best
}

func try(entries []indexed, segs []string, text string, ends []int, best int, also func(int) bool) int {
	for i := range entries {
		e := &entries[i]
		if best >= 0 && e.order >= best {
			break // they are in order
		}
		if e.depth <= len(segs) && text[:ends[e.depth]] == e.folder && matchComponents(e.pattern, segs[e.depth:], true) && (also == nil || also(e.order)) {
			best = e.order
		}
	}
	return best
}
