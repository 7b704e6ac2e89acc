// Package ignore compiles patterns in the syntax of gitignore files and decides paths by them.
//
// It follows what git does with such patterns: negation, anchoring, directory-only patterns, "**", character classes
// with POSIX names, escapes and trailing blanks; patterns work on bytes. Where versions of git differ ("**" that is not
// a whole path component), the documented meaning holds: it is an ordinary "*".
//
// The package reads no files and knows nothing of repositories; package walk does. Matching is linear in the length of
// pattern times path also for hostile patterns.
package ignore

import (
	"strings"
)

// Options change how a pattern is compiled. The zero value is what git does on a case-sensitive file system.
type Options struct {
	// CaseInsensitive compares ASCII letters without regard to case, as git does with core.ignoreCase.
	CaseInsensitive bool
}

// Pattern is one compiled pattern. It is immutable and safe for concurrent use. The zero value matches nothing.
type Pattern struct {
	source  string
	line    int
	negated bool
	dirOnly bool
	base    bool // no slash: compared with the last component only
	fold    bool
	segs    []segment // nil: can never match
}

// Parse compiles one line (without its line feed). ok is false for blank lines and comments. A line that git accepts but
// that can match nothing (for example an unclosed class) gives a Pattern for which Valid reports false.
func Parse(line string, opts Options) (p Pattern, ok bool) {
	if i := strings.IndexByte(line, 0); i >= 0 {
		line = line[:i]
	}
	if line == "" || line[0] == '#' {
		return Pattern{}, false
	}
	line = trimTrailingSpaces(strings.TrimSuffix(line, "\r"))
	if line == "" {
		return Pattern{}, false
	}
	p = Pattern{source: line, fold: opts.CaseInsensitive}
	s := line
	if s[0] == '!' {
		p.negated = true
		s = s[1:]
	}
	if strings.HasSuffix(s, "/") {
		p.dirOnly = true
		s = s[:len(s)-1]
	}
	p.base = !strings.Contains(s, "/")
	s = strings.TrimPrefix(s, "/")
	if s != "" {
		p.segs = compileSegments(s, opts.CaseInsensitive)
	}
	if p.base && len(p.segs) == 1 && p.segs[0].kind == segDoubleStar {
		p.segs[0] = segment{kind: segAny}
	}
	return p, true
}

// trimTrailingSpaces removes blanks at the end that no backslash protects. Tabs stay, as in git.
func trimTrailingSpaces(s string) string {
	end := -1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			if end < 0 {
				end = i
			}
		case '\\':
			i++
			if i >= len(s) {
				return s
			}
			end = -1
		default:
			end = -1
		}
	}
	if end >= 0 {
		return s[:end]
	}
	return s
}

// String returns the pattern as written, without trailing blanks.
func (p Pattern) String() string { return p.source }

// Line returns the 1-based line in the list that the pattern came from, or 0.
func (p Pattern) Line() int { return p.line }

// Negated reports whether the pattern began with "!": what it matches is included again.
func (p Pattern) Negated() bool { return p.negated }

// DirOnly reports whether the pattern ended with "/": it matches directories only.
func (p Pattern) DirOnly() bool { return p.dirOnly }

// Valid reports whether the pattern can match anything at all.
func (p Pattern) Valid() bool { return p.segs != nil }

// Match reports whether the pattern matches rel itself: a slash-separated path without leading or trailing slash, relative
// to the directory of the pattern. Whether the pattern is negated plays no part.
func (p Pattern) Match(rel string, dir bool) bool {
	return p.match(rel, rel[strings.LastIndexByte(rel, '/')+1:], dir)
}

// Covers reports whether the pattern matches rel or one of the directories above it (below the pattern's directory).
func (p Pattern) Covers(rel string, dir bool) bool {
	for i := 0; i < len(rel); i++ {
		if rel[i] == '/' && p.Match(rel[:i], true) {
			return true
		}
	}
	return p.Match(rel, dir)
}

func (p *Pattern) match(rel, base string, dir bool) bool {
	if p.segs == nil || p.dirOnly && !dir || base == "" {
		return false
	}
	if p.base {
		return p.segs[0].match(base, p.fold)
	}
	return matchSegments(p.segs, rel, p.fold)
}

// matchSegments matches path components; on a mismatch it goes back to the last "**" only, which suffices because "**"
// takes any number of components: the work is bounded by components of pattern times path.
func matchSegments(segs []segment, rel string, fold bool) bool {
	si, ti := 0, 0 // ti: start of the current component; len(rel)+1 when all are used
	backSeg, backText := -1, 0
	for {
		if ti > len(rel) {
			return si == len(segs)
		}
		if si < len(segs) {
			if segs[si].kind == segDoubleStar {
				if si == len(segs)-1 {
					return true // at least one component is left
				}
				si++
				backSeg, backText = si, ti
				continue
			}
			end := strings.IndexByte(rel[ti:], '/')
			if end < 0 {
				end = len(rel)
			} else {
				end += ti
			}
			if segs[si].match(rel[ti:end], fold) {
				si, ti = si+1, end+1
				continue
			}
		}
		if backSeg < 0 {
			return false
		}
		next := strings.IndexByte(rel[backText:], '/')
		if next < 0 {
			return false
		}
		backText += next + 1
		si, ti = backSeg, backText
	}
}
