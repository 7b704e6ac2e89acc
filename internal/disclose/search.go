package disclose

import (
	"slices"
	"strings"
)

// Limits of a search.
const (
	DefaultResults = 5
	MaxResults     = 50
	// MaxQueryChars is how much of a query is read, in bytes.
	MaxQueryChars = 2_000
)

// selectPrefix begins a query of exact names.
const selectPrefix = "select:"

// Match is a tool that a search found.
type Match struct {
	Name    string `json:"name"`
	Summary string `json:"summary,omitempty"` // the first sentence of its description
}

// Found is what a search came to.
type Found struct {
	// Matches are deferred tools, the best first.
	Matches []Match
	// Loaded are tools that were asked for by name and are not deferred.
	Loaded []string
	// Missing are names that were selected and do not exist.
	Missing []string
	// Near are tools that may be meant by what is missing. They count as not
	// found.
	Near []Match
	// Deferred is how many tools were searched.
	Deferred int
}

// Search looks for deferred tools. A query is one of
//
//   - select:NAME,NAME: exactly these, in any case, also by the name that a
//     server gives its tool (create_issue for mcp__tracker__create_issue);
//   - words: the tools that fit best; a name given whole comes first, and a
//     word written +word must appear in the tool's name or text.
//
// limit bounds the matches of a search by words; 0 means DefaultResults, and
// MaxResults is the most. Any query is answered; ties go by name.
func (d *Disclosure) Search(query string, limit int) Found {
	if len(query) > MaxQueryChars {
		query = strings.ToValidUTF8(query[:MaxQueryChars], "")
	}
	if limit <= 0 {
		limit = DefaultResults
	}
	limit = min(limit, MaxResults)
	d.mu.Lock()
	defer d.mu.Unlock()
	x := d.searchIndex()
	query = strings.TrimSpace(query)
	if len(query) >= len(selectPrefix) && strings.EqualFold(query[:len(selectPrefix)], selectPrefix) {
		return d.pick(x, query[len(selectPrefix):])
	}
	f := Found{Deferred: len(x.docs)}
	f.Matches = x.search(query, limit)
	for _, w := range namesIn(query) {
		if name, ok := d.loaded(w); ok && pasted(w, query, name) {
			f.Loaded = appendNew(f.Loaded, name)
		}
	}
	return f
}

// searchIndex gives the index of the deferred tools as they are now.
func (d *Disclosure) searchIndex() *index {
	if d.index == nil {
		var tools []*known
		for _, name := range d.order {
			if k := d.known[name]; d.deferred(k) {
				tools = append(tools, k)
			}
		}
		d.index = buildIndex(tools)
	}
	return d.index
}

// loaded finds a tool that is there and not deferred.
func (d *Disclosure) loaded(name string) (string, bool) {
	if own, ok := d.aliases[name]; ok {
		k := d.known[own]
		return own, k.here && !d.deferred(k)
	}
	for _, own := range d.order {
		if k := d.known[own]; k.here && !d.deferred(k) && (strings.EqualFold(own, name) || strings.EqualFold(bareName(k.facts), name)) {
			return own, true
		}
	}
	return "", false
}

// pick answers a query of exact names.
func (d *Disclosure) pick(x *index, list string) Found {
	f := Found{Deferred: len(x.docs)}
	taken := map[int32]bool{}
	for _, name := range namesIn(list) {
		ids := x.named(name)
		if len(ids) == 0 {
			if own, ok := d.loaded(name); ok {
				f.Loaded = appendNew(f.Loaded, own)
				continue
			}
			f.Missing = appendNew(f.Missing, name)
			for _, m := range x.search(strings.Join(words(name), " "), DefaultResults) {
				if len(f.Near) < DefaultResults && !slices.Contains(f.Near, m) {
					f.Near = append(f.Near, m)
				}
			}
			continue
		}
		for _, id := range ids {
			if !taken[id] && len(f.Matches) < MaxResults {
				taken[id] = true
				f.Matches = append(f.Matches, x.docs[id].match())
			}
		}
	}
	return f
}

func (d *doc) match() Match { return Match{d.name, d.summary} }

// named finds the tools that a name means: the tool of exactly that name, else
// those of the name in another case, an alias, or the server's own name.
func (x *index) named(name string) []int32 {
	ids := x.byName[strings.ToLower(name)]
	for _, fits := range []func(*doc) bool{
		func(d *doc) bool { return d.name == name },
		func(d *doc) bool { return slices.Contains(d.aliases, name) },
		func(d *doc) bool { return strings.EqualFold(d.name, name) },
		func(d *doc) bool { return d.bare == name },
	} {
		var out []int32
		for _, id := range ids {
			if fits(&x.docs[id]) {
				out = append(out, id)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return ids
}

// search answers a query of words.
func (x *index) search(query string, limit int) []Match {
	var must, wanted []string
	for field := range strings.FieldsSeq(query) {
		if word, ok := strings.CutPrefix(field, "+"); ok && len(words(word)) > 0 {
			must = append(must, word)
			field = word
		}
		wanted = append(wanted, terms(field)...)
	}
	if len(wanted) == 0 { // nothing but words without meaning: take them at face value
		for _, w := range words(query) {
			wanted = append(wanted, stem(w))
		}
	}
	scores := x.rank(wanted)
	first := map[int32]int{} // tools named whole, by where they stand in the query
	for i, w := range namesIn(query) {
		for _, id := range x.named(w) {
			if _, ok := first[id]; !ok && pasted(w, query, x.docs[id].name) {
				first[id] = i + 1
			}
		}
	}
	var hits []int32
	for id := range x.docs {
		if (scores[id] > 0 || first[int32(id)] > 0) && x.docs[id].hasAll(must) {
			hits = append(hits, int32(id))
		}
	}
	slices.SortFunc(hits, func(a, b int32) int {
		fa, fb := first[a], first[b]
		switch {
		case fa != fb && fa > 0 && (fb == 0 || fa < fb):
			return -1
		case fa != fb && fb > 0:
			return 1
		case scores[a] != scores[b]:
			if scores[a] > scores[b] {
				return -1
			}
			return 1
		}
		return int(a - b) // documents are sorted by name
	})
	out := make([]Match, 0, min(limit, len(hits)))
	for _, id := range hits[:min(limit, len(hits))] {
		out = append(out, x.docs[id].match())
	}
	return out
}

// hasAll tells whether every word is in the tool's name or text, as it is or
// by its stem.
func (d *doc) hasAll(must []string) bool {
	for _, word := range must {
		if strings.Contains(d.haystack, strings.ToLower(word)) {
			continue
		}
		for _, w := range words(word) {
			if d.terms[stem(w)] == 0 {
				return false
			}
		}
	}
	return true
}

// namesIn gives the parts of a query that could be names of tools.
func namesIn(query string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(query, func(r rune) bool { return r > 0x7f || !isName(string(r)) }) {
		out = appendNew(out, w)
	}
	return out
}

// pasted tells whether a word of a query was meant as a tool's name and not as
// a word: it stands alone, is the name in its own spelling, or is spelled as no
// plain word is.
func pasted(word, query, name string) bool {
	return word == name || len(word) == len(strings.Trim(query, " `'\"+,.:;()")) || len(words(word)) > 1
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
