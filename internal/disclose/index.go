package disclose

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// The index ranks by BM25 over weighted fields: a word's count in a field,
// times the field's weight, summed over the fields, is its term frequency.
const (
	saturation  = 1.2 // k1: how soon more of the same word stops to count
	lengthShare = 0.5 // b: how much long definitions are marked down

	weightName        = 2.0
	weightHint        = 2.0
	weightDescription = 1.0
	weightServer      = 1.0
	weightArgument    = 0.5
	weightArgumentDoc = 0.3

	// A term that is not asked for in so many words counts less.
	weightSynonym = 0.6
	weightPrefix  = 0.5
	coverageShare = 0.5 // how much a document is marked down for what it lacks
	minPrefix     = 3   // letters

	maxSchemaDepth = 4 // levels of arguments that are read
)

// doc is one tool of the index.
type doc struct {
	name, bare string
	aliases    []string
	summary    string
	length     float64
	terms      map[string]float64 // weighted frequency
	// haystack is the name and all text in lower case, for words that must be
	// there.
	haystack string
}

type posting struct {
	doc  int32
	freq float64
}

// index finds tools by words. It does not change once built.
type index struct {
	docs     []doc // by name
	postings map[string][]posting
	vocab    []string // sorted
	average  float64  // length
	byName   map[string][]int32
}

func buildIndex(tools []*known) *index {
	x := &index{postings: map[string][]posting{}, byName: map[string][]int32{}}
	sorted := slices.Clone(tools)
	slices.SortFunc(sorted, func(a, b *known) int { return strings.Compare(a.name, b.name) })
	for i, k := range sorted {
		d := makeDoc(k.facts, k.api)
		x.docs = append(x.docs, d)
		x.average += d.length
		for term, freq := range d.terms {
			x.postings[term] = append(x.postings[term], posting{int32(i), freq})
		}
		for _, name := range append([]string{d.name, d.bare}, d.aliases...) {
			low := strings.ToLower(name)
			if ids := x.byName[low]; len(ids) == 0 || ids[len(ids)-1] != int32(i) {
				x.byName[low] = append(ids, int32(i))
			}
		}
	}
	if len(x.docs) > 0 {
		x.average /= float64(len(x.docs))
	}
	for term := range x.postings {
		x.vocab = append(x.vocab, term)
	}
	slices.Sort(x.vocab)
	return x
}

// bareName is a tool's name as its server calls it.
func bareName(f *tool.Facts) string {
	if rest, ok := strings.CutPrefix(f.Name, "mcp__"); ok {
		if _, bare, ok := strings.Cut(rest, "__"); ok && bare != "" {
			return bare
		}
	}
	if f.Origin != nil && f.Origin.Tool != "" {
		return f.Origin.Tool
	}
	return f.Name
}

func makeDoc(f *tool.Facts, api schema.APITool) doc {
	d := doc{name: f.Name, bare: bareName(f), aliases: f.Aliases, terms: map[string]float64{}, summary: summary(api.Description, f.SearchHint)}
	var text strings.Builder
	add := func(s string, weight float64) {
		text.WriteString(strings.ToLower(s))
		text.WriteByte(' ')
		for _, term := range terms(s) {
			d.terms[term] += weight
			d.length += weight
		}
	}
	text.WriteString(strings.ToLower(f.Name) + " ")
	add(d.bare, weightName)
	for _, a := range f.Aliases {
		add(a, weightName)
	}
	if f.Origin != nil {
		add(f.Origin.Server, weightServer)
	}
	add(f.SearchHint, weightHint)
	add(api.Description, weightDescription)
	var input any
	if json.Unmarshal(api.InputSchema, &input) == nil {
		visitArguments(input, maxSchemaDepth, func(name, description string) {
			add(name, weightArgument)
			add(description, weightArgumentDoc)
		})
	}
	d.haystack = text.String()
	return d
}

// visitArguments calls f for every argument of a schema, in the order of their
// names. What is no schema of the usual form is passed over.
func visitArguments(schema any, depth int, f func(name, description string)) {
	fields, ok := schema.(map[string]any)
	if !ok || depth == 0 {
		return
	}
	properties, _ := fields["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p, _ := properties[name].(map[string]any)
		description, _ := p["description"].(string)
		f(name, description)
		visitArguments(p, depth-1, f)
	}
	visitArguments(fields["items"], depth-1, f)
}

// summaryChars bounds the line by which a tool is shown.
const summaryChars = 160

// summary is the first sentence of a description, in one line.
func summary(description, hint string) string {
	s := strings.TrimSpace(description)
	if s == "" {
		s = hint
	}
	clean := strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == 0x85 || r == 0xa0 || r == 0x2028 || r == 0x2029
	}), " ")
	if i := strings.Index(clean, ". "); i > 0 {
		clean = clean[:i+1]
	}
	if r := []rune(clean); len(r) > summaryChars {
		clean = string(r[:summaryChars-1]) + "…"
	}
	return clean
}

// rank scores every document for the terms of a query.
func (x *index) rank(query []string) []float64 {
	scores := make([]float64, len(x.docs))
	covered := make([]float64, len(x.docs))
	total := 0.0
	seen := map[string]bool{}
	for _, term := range query {
		if seen[term] {
			continue
		}
		seen[term] = true
		// Of the term and what may stand for it, each document gets the best.
		best := map[int32]float64{}
		idf := x.idf(term)
		x.collect(best, term, 1, idf)
		for _, other := range synonyms()[term] {
			x.collect(best, other, weightSynonym, idf)
		}
		if len(term) >= minPrefix {
			at, _ := slices.BinarySearch(x.vocab, term)
			for ; at < len(x.vocab) && strings.HasPrefix(x.vocab[at], term); at++ {
				if x.vocab[at] != term {
					x.collect(best, x.vocab[at], weightPrefix, idf)
				}
			}
		}
		total += idf
		for id, score := range best {
			scores[id] += score
			covered[id] += idf
		}
	}
	if total > 0 {
		for id := range scores {
			scores[id] *= 1 - coverageShare + coverageShare*covered[id]/total
		}
	}
	return scores
}

// idf tells how much it says that a tool has a term.
func (x *index) idf(term string) float64 {
	n, df := float64(len(x.docs)), float64(len(x.postings[term]))
	return math.Log(1 + (n-df+0.5)/(df+0.5))
}

// collect keeps the best score of each document. most is what the term that was
// asked for says: what stands for it cannot say more.
func (x *index) collect(best map[int32]float64, term string, weight, most float64) {
	idf := min(x.idf(term), most)
	for _, p := range x.postings[term] {
		norm := saturation * (1 - lengthShare + lengthShare*x.docs[p.doc].length/x.average)
		score := weight * idf * p.freq * (saturation + 1) / (p.freq + norm)
		best[p.doc] = max(best[p.doc], score)
	}
}
