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
	index      *index
	identities *identities
}

// NewList collects rules; nil rules are left out.
func NewList(rules ...*Rule) List {
	l := List{index: newIndex(), identities: &identities{}}
	for _, r := range rules {
		if r == nil {
			continue
		}
		l.rules = append(l.rules, r)
		l.exceptions = l.exceptions || r.negated
		if r.negated || r.never {
			continue
		}
		l.index.add(len(l.rules)-1, r)
		if r.target != "" {
			l.identities.rules = append(l.identities.rules, r)
		}
	}
	return l
}

// Match returns the rule that covers the path, or nil. Without exceptions it is the first that matches by a spelling,
// or else by identity.
//
// Where the rules close, each spelling of the path is judged by itself and one that is covered is enough; an exception
// must fit exactly. Where they open, the given and the real path must both be covered, and an exception that fits
// either, however it is written, counts.
func (l List) Match(path Resolved) *Rule {
	if len(l.rules) == 0 || path.Given == "" || path.Real == "" {
		return nil
	}
	path = path.prepared()
	given, real, others := path.spelled()
	if l.rules[0].kind == Allow {
		first := l.index.find(given, func(i int) bool { return path.Real == path.Given || l.rules[i].matchSpelling(real) })
		switch {
		case first < 0:
			return nil
		case l.exceptions:
			return l.matchOpen(path)
		}
		return l.rules[first]
	}
	spellings := append([]spelling{given, real}, others...)
	first := -1
	for _, s := range spellings {
		if n := l.index.find(s, nil); n >= 0 && (first < 0 || n < first) {
			first = n
		}
	}
	if first >= 0 && !l.exceptions {
		return l.rules[first]
	}
	if first >= 0 {
		for _, s := range spellings {
			if r := l.decide(s); r != nil {
				return r
			}
		}
	}
	return l.matchIdentity(path)
}

// matchIdentity finds a rule that names plainly what the path is called otherwise: by a hard link, a second mount, a
// link that leads here. By the name in the rule the file must not be excepted.
func (l List) matchIdentity(path Resolved) (found *Rule) {
	l.identities.find(path, func(r *Rule, as string) bool {
		if !l.exceptions || l.decide(spell(as)) != nil {
			found = r
		}
		return found == nil
	})
	return found
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
func (l List) decide(s spelling) *Rule {
	segs, folded := s.exact, s.folded
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
