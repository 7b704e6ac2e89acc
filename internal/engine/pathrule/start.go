package pathrule

import "slices"

// Start is where a rule begins to hold on the file system.
type Start struct {
	// Path is the folder (or file) that the pattern names plainly before its first wildcard.
	Path string
	// Whole: the rule covers Path and all that is in it. Otherwise it covers something below Path, which only a look at
	// what is there can tell.
	Whole bool
}

// Starts returns where the rule holds, for whoever has to enforce it without seeing each path: in every spelling of its
// folder, the given one first. A rule that matches nothing has none.
func (r *Rule) Starts() []Start {
	if r == nil || r.never {
		return nil
	}
	var out []Start
	for _, b := range r.exact {
		segs := slices.Clone(b.base)
		plain := 0
		for plain < len(b.pattern) && !b.pattern[plain].anyDepth && b.pattern[plain].tokens == nil {
			segs = append(segs, b.pattern[plain].literal)
			plain++
		}
		s := Start{Path: fromSegments(segs), Whole: plain == len(b.pattern)}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
