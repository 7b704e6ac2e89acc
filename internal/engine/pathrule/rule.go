package pathrule

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kind is the list a rule stands in; it decides how closely a path must match.
type Kind uint8

const (
	// Allow rules open: the given and the real path must both match, exactly as spelled.
	Allow Kind = iota
	// DenyAsk rules close: one spelling that matches is enough; letter case and composition do not count.
	DenyAsk
)

// MaxPattern is the longest pattern accepted, in bytes: twice the longest path that Linux takes.
const MaxPattern = 8192

// Anchor holds the folders that patterns start from; all absolute native paths.
type Anchor struct {
	// SourceDir is where a pattern with one leading slash starts: the folder that its settings source stands for.
	SourceDir string
	// Cwd is where a bare or "./" pattern starts: the session's original working directory.
	Cwd string
	// Home is where "~/" starts; empty if unknown.
	Home string
}

// Rule is a compiled path pattern. It is immutable and safe for concurrent use. The nil Rule matches nothing.
//
// Links in the folders that it starts from are followed when it is compiled. Compile anew when these may have changed.
type Rule struct {
	pattern  string
	kind     Kind
	negated  bool
	below    bool // written with a trailing "/**": covers what is under the folder
	never    bool
	exact    []based
	folded   []based // only for matches that close
	target   string  // what it names plainly, for comparison by identity; only for matches that close
	warnings []string
}

// based is a pattern relative to a folder.
type based struct {
	base    []string
	pattern []component
}

// Compile compiles a pattern of a Read(...) or Edit(...) rule.
//
//	//abs/path   from the root of the file system     ~/path   from the home directory
//	/path        from anchor.SourceDir                path, ./path   from anchor.Cwd
//
// Matching is gitignore's: "*" and "?" stay inside one component, "**" crosses components, [a-z] and [!a] are classes,
// a backslash escapes; a name without a slash matches at any depth below its anchor, and a folder covers what is in it.
// "dir/**" with one component is anchored for Allow and holds at any depth for DenyAsk; "dir/" and "./name" likewise.
// Parentheses and braces are themselves. A leading "!" makes an exception for a List; blanks around the pattern do not
// count.
//
// For Allow, a pattern that cannot be compiled is an error. For DenyAsk it never is, except when empty: what cannot be
// compiled guards the path that it spells, and Warnings says so.
func Compile(pattern string, anchor Anchor, kind Kind) (*Rule, error) {
	r := &Rule{pattern: pattern, kind: kind}
	if err := r.compile(anchor); err != nil {
		return nil, fmt.Errorf("path pattern %q: %w", pattern, err)
	}
	return r, nil
}

// Pattern returns the pattern as it was written.
func (r *Rule) Pattern() string { return r.pattern }

// Kind returns the list that the rule was compiled for.
func (r *Rule) Kind() Kind { return r.kind }

// Negated reports whether the rule is an exception ("!pattern"). By itself it matches nothing; see List.
func (r *Rule) Negated() bool { return r.negated }

// Warnings lists what is odd about the rule, above all why it can match nothing; one line each.
func (r *Rule) Warnings() []string { return slices.Clone(r.warnings) }

func (r *Rule) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// void marks a rule that matches nothing; an allow rule is refused instead.
func (r *Rule) void(why string) error {
	if r.kind == Allow {
		return errors.New(why)
	}
	r.never = true
	r.warn("%s; the rule matches nothing", why)
	return nil
}

func (r *Rule) compile(anchor Anchor) error {
	text := trimBlanks(r.pattern)
	if len(text) > MaxPattern {
		return fmt.Errorf("longer than %d bytes", MaxPattern)
	}
	if rest, ok := strings.CutPrefix(text, "!"); ok {
		r.negated, text = true, trimBlanks(rest)
		if text == "" {
			r.negated = false
			return r.void(`a bare "!" excepts nothing`)
		}
	}
	if text == "" {
		return errors.New("empty; write ** for every path below the working directory")
	}
	if strings.ContainsRune(text, 0) {
		return r.void("a path cannot contain a NUL byte")
	}
	if host.windows {
		text = windowsPattern(text)
	}
	base, rest, relative, err := r.anchored(text, anchor)
	if err != nil {
		return r.void(err.Error())
	}
	return r.build(base, rest, relative)
}

// anchored splits a pattern into the folder it starts from and the rest.
func (r *Rule) anchored(text string, anchor Anchor) (base, rest string, relative bool, err error) {
	home := func(prefix string) (string, string, bool, error) {
		if anchor.Home == "" {
			return "", "", false, errors.New("the home directory is not known")
		}
		return anchor.Home, text[len(prefix):], false, nil
	}
	switch {
	case strings.HasPrefix(text, "//"):
		return rootDir, text[2:], false, nil
	case text == "~" || strings.HasPrefix(text, "~/"):
		return home("~")
	case text[0] == '/':
		r.checkSource(text, anchor.SourceDir)
		return anchor.SourceDir, text[1:], false, needAbs("source", anchor.SourceDir)
	}
	for _, variable := range []string{"$HOME", "${HOME}"} {
		if after, ok := strings.CutPrefix(text, variable); ok && (after == "" || after[0] == '/') {
			if r.loose() {
				r.warn("%s is read as ~", variable)
				return home(variable)
			}
			return "", "", false, fmt.Errorf("variables are not expanded; write ~%s", after)
		}
	}
	if text[0] == '~' {
		r.warn("only ~ and ~/ stand for a home directory; this is the name %q", strings.SplitN(text, "/", 2)[0])
	}
	if text[0] == '$' {
		r.warn("variables are not expanded")
	}
	if strings.ContainsAny(text, "{") && strings.Contains(text, ",") {
		r.warn("braces are plain characters here; write one rule for each alternative")
	}
	return anchor.Cwd, text, true, needAbs("working", anchor.Cwd)
}

// checkSource warns of the common mistake of writing a system path with one slash.
func (r *Rule) checkSource(text, dir string) {
	top, _, _ := strings.Cut(strings.TrimPrefix(text, "/"), "/")
	if top == "" || strings.ContainsAny(top, `*?[\`) {
		return
	}
	if _, err := os.Lstat(filepath.Join(dir, top)); err == nil {
		return
	}
	if _, err := os.Lstat(filepath.Join(rootDir, top)); err == nil {
		r.warn("one leading slash means the folder of the settings source (%s); for the system's /%s write //%s", dir, top, top)
	}
}

func needAbs(what, dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("the %s directory %q is not an absolute path", what, dir)
	}
	return nil
}

// build compiles the rest of a pattern below its base folder.
func (r *Rule) build(base, rest string, relative bool) error {
	names, slash, trailing, err := r.normalise(rest)
	if err != nil {
		return r.void(err.Error())
	}
	baseSegs := rootedSegments(base)
	for len(names) > 0 && names[0] == ".." {
		if len(baseSegs) == 0 {
			return r.void("it leads above the root")
		}
		// The folder above a link is the one above its target.
		if real, err := Resolve(fromSegments(baseSegs), base, ""); err == nil {
			baseSegs = rootedSegments(real.Real)
		}
		baseSegs, names, slash = baseSegs[:len(baseSegs)-1], names[1:], true
	}
	anyDepth := false
	if relative && len(names) == 1 {
		dotted := strings.HasPrefix(rest, "./")
		anyDepth = !slash && (r.loose() || !r.below && !trailing && !dotted)
	}
	exact, broken := compileAll(names, false)
	if broken {
		if !r.loose() {
			return errors.New("not a valid pattern (an open bracket or a last backslash?)")
		}
		r.warn("not a valid pattern; it guards the path that it spells")
		r.below = false
		exact = literals(names)
	}
	r.add(baseSegs, exact, anyDepth)
	if r.loose() {
		folded, _ := compileAll(names, true)
		if broken {
			folded = literals(foldAll(names))
		}
		r.addFolded(baseSegs, exact, folded, anyDepth)
	}
	return nil
}

// loose tells whether the rule closes; an exception to a closing rule opens, and the other way round.
func (r *Rule) loose() bool { return (r.kind == DenyAsk) != r.negated }

// normalise splits the text below the anchor into components, without dots, doubled slashes and the trailing "/" and
// "/**" that only say "and what is in it". slash tells whether a slash pins the pattern to its anchor.
func (r *Rule) normalise(rest string) (names []string, slash, trailing bool, err error) {
	for {
		cut, ok := strings.CutPrefix(rest, "./")
		if !ok {
			break
		}
		rest = strings.TrimLeft(cut, "/")
	}
	trimmed := strings.TrimRight(rest, "/")
	trailing = trimmed != rest
	for s := range strings.SplitSeq(trimmed, "/") {
		switch {
		case s == "" || s == ".":
		case s == ".." && len(names) > 0 && names[len(names)-1] != "..":
			last := names[len(names)-1]
			if strings.ContainsAny(last, `*?[\`) {
				return nil, false, false, errors.New(`".." after a wildcard has no meaning`)
			}
			names = names[:len(names)-1]
			slash = true
		case s == "**" && len(names) > 0 && names[len(names)-1] == "**":
		default:
			names = append(names, s)
		}
	}
	for len(names) > 0 && names[len(names)-1] == "**" {
		r.below, names = true, names[:len(names)-1]
	}
	return names, slash || len(names) > 1, trailing, nil
}

func compileAll(names []string, folded bool) (out []component, broken bool) {
	for _, name := range names {
		c, err := compileComponent(name, folded)
		if err != nil {
			return nil, true
		}
		out = append(out, c)
	}
	return out, false
}

func literals(names []string) []component {
	out := make([]component, len(names))
	for i, name := range names {
		out[i] = component{literal: name}
	}
	return out
}

// add stores the pattern below its base, in the spelling of the base as given and as it really is.
func (r *Rule) add(base []string, pattern []component, anyDepth bool) {
	if anyDepth {
		pattern = append([]component{{anyDepth: true}}, pattern...)
	}
	for _, b := range spellings(base) {
		r.exact = append(r.exact, based{b, pattern})
	}
}

// addFolded stores the pattern for comparison with folded paths. Since it closes, the links in the plain names at its
// start are followed too, and what it names plainly is remembered for comparison by identity.
func (r *Rule) addFolded(base []string, exact, folded []component, anyDepth bool) {
	plain := 0
	for plain < len(exact) && !exact[plain].anyDepth && exact[plain].tokens == nil {
		plain++
	}
	full := slices.Clone(base)
	for _, c := range exact[:plain] {
		full = append(full, c.literal)
	}
	if anyDepth {
		folded = append([]component{{anyDepth: true}}, folded...)
		for _, b := range spellings(base) {
			r.folded = append(r.folded, based{foldAll(b), folded})
		}
	} else {
		for _, b := range spellings(full) {
			r.folded = append(r.folded, based{foldAll(b), folded[plain:]})
			if !slices.Equal(b, full) {
				r.exact = append(r.exact, based{b, exact[plain:]})
			}
		}
		// The pattern's own spelling below the real base: the plain names may come to exist later.
		for _, b := range spellings(base) {
			r.folded = append(r.folded, based{foldAll(b), folded})
		}
	}
	if plain == len(exact) && plain > 0 {
		r.target = fromSegments(full)
	}
}

// spellings gives a folder as named and, if different, as it really is.
func spellings(segs []string) [][]string {
	out := [][]string{segs}
	if len(segs) == 0 {
		return out
	}
	path := fromSegments(segs)
	if r, err := Resolve(path, path, ""); err == nil {
		if real := rootedSegments(r.Real); !slices.Equal(real, segs) {
			out = append(out, real)
		}
	}
	return out
}

func rootedSegments(native string) []string { return segments(Slash(native)) }

func fromSegments(segs []string) string { return host.native("/" + strings.Join(segs, "/")) }

// rootDir is what "//" starts from; on Windows the drives are its children.
const rootDir = "/"

// Match reports whether the rule covers the path. An Allow rule must match the given and the real path. A DenyAsk rule
// matches by any spelling, or when the path is, or lies in, the very file or folder that the rule names, whatever it is
// called. A negated rule never matches by itself.
func (r *Rule) Match(path Resolved) bool {
	return r != nil && !r.negated && r.covers(path)
}

func (r *Rule) covers(path Resolved) bool {
	if r.never || path.Given == "" || path.Real == "" {
		return false
	}
	path = path.prepared()
	given, real, others := path.spelled()
	if !r.loose() {
		return r.matchSpelling(given) && (path.Real == path.Given || r.matchSpelling(real))
	}
	if r.matchSpelling(given) || path.Real != path.Given && r.matchSpelling(real) || slices.ContainsFunc(others, r.matchSpelling) {
		return true
	}
	same := false
	if r.target != "" {
		only := identities{rules: []*Rule{r}}
		only.find(path, func(*Rule, string) bool { same = true; return false })
	}
	return same
}

func (r *Rule) matchSpelling(s spelling) bool {
	return matchBased(r.exact, s.exact) || matchBased(r.folded, s.folded)
}

func matchBased(list []based, segs []string) bool {
	for _, b := range list {
		if hasPrefix(segs, b.base) && matchComponents(b.pattern, segs[len(b.base):], true) {
			return true
		}
	}
	return false
}

const blanks = " \t\r\n"

// trimBlanks drops blanks around a pattern; a last blank stays if a backslash protects it.
func trimBlanks(s string) string {
	s = strings.TrimLeft(s, blanks)
	trimmed := strings.TrimRight(s, blanks)
	escapes := len(trimmed) - len(strings.TrimRight(trimmed, `\`))
	if escapes%2 == 1 && len(trimmed) < len(s) {
		return s[:len(trimmed)+1]
	}
	return trimmed
}

// windowsPattern rewrites the Windows spellings of a pattern: C:\x and C:/x to //c/x, and backslashes that do not
// escape a bracket or the like to slashes ("*" and "?" cannot stand in names there, so they need no escape).
func windowsPattern(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && (i+1 >= len(text) || !strings.ContainsRune("[]!()", rune(text[i+1]))) {
			b.WriteByte('/')
			continue
		}
		b.WriteByte(text[i])
		if text[i] == '\\' {
			i++
			b.WriteByte(text[i])
		}
	}
	s := b.String()
	if len(s) >= 2 && s[1] == ':' && isLetter(s[0]) {
		return "//" + strings.ToLower(s[:1]) + ensureSlash(s[2:])
	}
	return s
}

// Escape returns the pattern that matches exactly the given path and what lies in it: special characters are escaped,
// and an absolute path gets the second leading slash that anchors it to the root.
func Escape(path string) string {
	if filepath.IsAbs(path) {
		path = "/" + Slash(path)
	} else if path != "" && strings.ContainsRune("~!$"+blanks, rune(path[0])) {
		path = "./" + path
	}
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if strings.IndexByte(`[]*?\`, path[i]) >= 0 || i == len(path)-1 && strings.IndexByte(blanks, path[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(path[i])
	}
	return b.String()
}
