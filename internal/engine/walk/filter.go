package walk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// filter holds the compiled globs and types of a walk. It is immutable.
type filter struct {
	globs    []glob
	positive bool
	types    []glob
	notTypes []glob
	fold     bool
	// prefixes are directories that all positive globs lie under; nil means anywhere.
	prefixes []string
}

type glob struct {
	pattern string
	negated bool
	base    bool   // compared with the name
	suffix  string // fast form: "*" + suffix
	literal bool
}

// ValidGlob returns an error that says what is wrong with a glob, or nil.
func ValidGlob(pattern string) error {
	_, err := compileGlob(pattern, false, false)
	return err
}

// MatchGlob reports whether a path relative to some root (with slashes) matches the glob, by the rules of Options.Globs
// for one glob. A malformed glob matches nothing.
func MatchGlob(pattern, rel string) bool {
	g, err := compileGlob(pattern, false, false)
	if err != nil {
		return false
	}
	return g.match(rel, rel[strings.LastIndexByte(rel, '/')+1:]) != g.negated
}

func compileGlob(pattern string, anchor, fold bool) (glob, error) {
	var g glob
	p, negated := strings.CutPrefix(pattern, "!")
	g.negated = negated
	p = strings.TrimPrefix(p, "./")
	switch {
	case p == "":
		return g, fmt.Errorf("glob %q is empty; give a pattern such as **/*.go", pattern)
	case strings.IndexByte(p, 0) >= 0:
		return g, fmt.Errorf("glob %q contains a NUL byte; no path can match it", pattern)
	case !doublestar.ValidatePattern(p):
		return g, fmt.Errorf("glob %q is malformed: close every [ and {, and escape a literal one with a backslash", pattern)
	}
	if fold {
		p = strings.ToLower(p)
	}
	g.base = !anchor && !strings.Contains(p, "/")
	p = strings.TrimPrefix(p, "/")
	if strings.HasSuffix(p, "/") {
		p += "**"
	}
	if rest, ok := strings.CutPrefix(p, "**/"); ok && !strings.Contains(rest, "/") && rest != "**" && rest != "" {
		g.base, p = true, rest // the same set, found faster
	}
	g.pattern = p
	const meta = "*?[{\\"
	g.literal = !strings.ContainsAny(p, meta)
	if g.base && strings.HasPrefix(p, "*") && !strings.ContainsAny(p[1:], meta) {
		g.suffix = p[1:]
	}
	return g, nil
}

func (g *glob) match(rel, name string) bool {
	s := rel
	if g.base {
		s = name
	}
	switch {
	case g.literal:
		return s == g.pattern
	case g.suffix != "":
		return strings.HasSuffix(s, g.suffix)
	}
	return doublestar.MatchUnvalidated(g.pattern, s)
}

func newFilter(opts Options) (*filter, error) {
	f := &filter{fold: opts.CaseInsensitive}
	for _, p := range opts.Globs {
		g, err := compileGlob(p, opts.AnchorGlobs, f.fold)
		if err != nil {
			return nil, err
		}
		f.globs = append(f.globs, g)
		f.positive = f.positive || !g.negated
	}
	var err error
	if f.types, err = typeGlobs(opts.Types, f.fold); err != nil {
		return nil, err
	}
	if f.notTypes, err = typeGlobs(opts.NotTypes, f.fold); err != nil {
		return nil, err
	}
	f.findPrefixes()
	return f, nil
}

func typeGlobs(names []string, fold bool) ([]glob, error) {
	var out []glob
	for _, n := range names {
		pats, ok := lookupType(n)
		if !ok {
			return nil, fmt.Errorf("file type %q is unknown; known are for example %s", n, exampleTypes)
		}
		for _, p := range pats {
			g, err := compileGlob(p, false, fold)
			if err != nil {
				return nil, err
			}
			out = append(out, g)
		}
	}
	return out, nil
}

// findPrefixes collects the fixed directories at the head of the positive globs, so that a walk for "src/**/*.go" enters
// nothing else.
func (f *filter) findPrefixes() {
	if !f.positive {
		return
	}
	var out []string
	for _, g := range f.globs {
		if g.negated {
			continue
		}
		if g.base {
			return
		}
		prefix, _ := doublestar.SplitPattern(g.pattern)
		if prefix == "." || strings.ContainsAny(prefix, "\\{[*?") {
			return
		}
		out = append(out, prefix)
	}
	f.prefixes = slices.Compact(out)
}

// decide returns the last glob that matches.
func (f *filter) decide(rel, name string) *glob {
	for i := len(f.globs) - 1; i >= 0; i-- {
		if f.globs[i].match(rel, name) {
			return &f.globs[i]
		}
	}
	return nil
}

func (f *filter) file(rel, name string) bool {
	if len(f.globs) == 0 && f.types == nil && f.notTypes == nil {
		return true
	}
	if f.fold {
		rel, name = strings.ToLower(rel), strings.ToLower(name)
	}
	if g := f.decide(rel, name); g != nil && g.negated || g == nil && f.positive {
		return false
	}
	match := func(gs []glob) bool {
		for i := range gs {
			if gs[i].match(rel, name) {
				return true
			}
		}
		return false
	}
	return (f.types == nil || match(f.types)) && !match(f.notTypes)
}

// dir says whether to enter a directory, and whether it is itself part of the result.
func (f *filter) dir(rel, name string) (enter, visit bool) {
	if len(f.globs) == 0 {
		return true, true
	}
	if f.fold {
		rel, name = strings.ToLower(rel), strings.ToLower(name)
	}
	g := f.decide(rel, name)
	if g != nil {
		return !g.negated, !g.negated
	}
	if f.prefixes == nil {
		return true, !f.positive
	}
	for _, p := range f.prefixes {
		if under(rel, p) || under(p, rel) {
			return true, false
		}
	}
	return false, false
}

// under reports whether path is dir or lies below it.
func under(path, dir string) bool {
	return strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}
