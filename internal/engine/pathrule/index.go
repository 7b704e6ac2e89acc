package pathrule

// index finds the rules of a list that may match a spelling without looking at all of them. It does not change once it
// is built.
type index struct {
	// exact holds the patterns as written, apart from those with a class; these alone may match a folded text and yet
	// not match when they are folded themselves.
	exact, classes, folded table
	closes                 bool // every pattern is in folded too
}

// table holds patterns by what is literal in them.
type table struct {
	byPrefix map[string][]indexed // by the folder that all they match lies in
	byName   map[string][]indexed // "**" and then a plain name: by that name
}

// indexed is a pattern below a literal folder.
type indexed struct {
	order   int // of the rule in the list
	folder  string
	depth   int // components of folder
	pattern []component
}

func newIndex() *index { return &index{exact: newTable(), classes: newTable(), folded: newTable()} }

func newTable() table { return table{map[string][]indexed{}, map[string][]indexed{}} }

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

func (t table) add(order int, b based) {
	segs, pattern := append([]string(nil), b.base...), b.pattern
	for len(pattern) > 0 && pattern[0].plain() {
		segs, pattern = append(segs, pattern[0].literal), pattern[1:]
	}
	folder, _ := joinSegments(segs)
	entry := indexed{order, folder, len(segs), pattern}
	if len(pattern) > 1 && pattern[0].anyDepth && pattern[1].plain() {
		name := pattern[1].literal
		t.byName[name] = append(t.byName[name], entry)
		return
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

func (t table) find(segs []string, text string, ends []int, best int, also func(int) bool) int {
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
