package pathrule

// List is the rules of one settings source and one behaviour, in the order in which they are written, where a
// "!pattern" makes an exception to those before it. An exception holds inside its own list only, so give every source a
// list of its own.
//
// As with gitignore, the last rule that names a path decides, and nothing inside a covered folder can be excepted:
// cover what is in it ("dir/**") instead of the folder itself. The zero List matches nothing.
type List struct {
	rules      []*Rule
	exceptions bool
}

// NewList collects rules; nil rules are left out.
func NewList(rules ...*Rule) List {
	var l List
	for _, r := range rules {
		if r == nil {
			continue
		}
		l.rules = append(l.rules, r)
		l.exceptions = l.exceptions || r.negated
	}
	return l
}

// Match returns the rule that covers the path, or nil. Without exceptions it is the first that matches.
//
// Where the rules close, each spelling of the path is judged by itself and one that is covered is enough; an exception
// must fit exactly. Where they open, the given and the real path must both be covered, and an exception that fits
// either, however it is written, counts.
func (l List) Match(path Resolved) *Rule {
	if !l.exceptions {
		for _, r := range l.rules {
			if r.Match(path) {
				return r
			}
		}
		return nil
	}
	if path.Given == "" || path.Real == "" {
		return nil
	}
	if l.rules[0].kind == Allow {
		return l.matchOpen(path)
	}
	for _, spelling := range append([]string{path.Given, path.Real}, path.Via...) {
		if r := l.decide(spelling); r != nil {
			return r
		}
	}
	// Identity: a hard link to what a rule names plainly is covered unless the plain name itself is excepted.
	for _, r := range l.rules {
		if !r.negated && r.sameTarget(path) && l.decide(r.targets[0]) != nil {
			return r
		}
	}
	return nil
}

func (l List) matchOpen(path Resolved) *Rule {
	var match *Rule
	for _, r := range l.rules {
		switch {
		case r.negated && r.covers(path):
			match = nil
		case r.Match(path):
			match = r
		}
	}
	return match
}

// decide walks down one spelling and gives the rule that covers it or the nearest folder above.
func (l List) decide(native string) *Rule {
	segs := rootedSegments(native)
	folded := foldAll(segs)
	for n := 0; n <= len(segs); n++ {
		var match *Rule
		for _, r := range l.rules {
			if !r.names(segs[:n], n == len(segs), r.exact) && !r.names(folded[:n], n == len(segs), r.folded) {
				continue
			}
			if match = r; r.negated {
				match = nil
			}
		}
		if match != nil {
			return match
		}
	}
	return nil
}

// names reports whether the rule speaks of exactly this path. "dir/**" speaks of all that is under dir, and of dir
// itself only when that is what was asked for: else nothing in it could be excepted.
func (r *Rule) names(segs []string, asked bool, list []based) bool {
	if r.never {
		return false
	}
	for _, b := range list {
		if !hasPrefix(segs, b.base) {
			continue
		}
		rest := segs[len(b.base):]
		if matchComponents(b.pattern, rest, false) {
			if !r.below || asked && !r.negated {
				return true
			}
		}
		if r.below && len(rest) > 0 && matchComponents(b.pattern, rest[:len(rest)-1], true) {
			return true
		}
	}
	return false
}
