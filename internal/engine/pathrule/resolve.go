package pathrule

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"
)

// MaxLinks is how many symbolic links one path may pass through; Linux itself stops at 40.
const MaxLinks = 40

// MaxPath is the longest path that Resolve takes, in bytes: twice what Linux opens.
const MaxPath = 8192

// Resolved is a path and where it leads. Given and Real are absolute native paths. The zero value matches no rule.
type Resolved struct {
	// Given is the path as it was written, made absolute and clean. A ".." after a link goes to the parent of the
	// link's target, as the system would go.
	Given string
	// Real is Given with every link followed, also where the end of the path, or of a link, does not exist yet: it is
	// the file that opening the path would open or create.
	Real string
	// Via holds the other spellings met on the way: the targets of links, and the path that cleaning by text alone
	// gives where that differs. A deny rule is compared with them too.
	Via []string
	// Exists tells whether Real exists.
	Exists bool

	seen *seen
}

// seen keeps what is worked out once for a path that is compared with many rules: its spellings in components, and what
// the device says about Real and its parents.
type seen struct {
	split       sync.Once
	given, real spelling
	others      []spelling // of Via
	met         []metInfo  // from the walk
	stat        sync.Once
	infos       []parentInfo // of Real and its parents, as far as they exist
	folder      *Resolved    // of an entry; see [Resolved.Child]
	file        bool         // a regular file, says its folder
}

type parentInfo struct {
	fs.FileInfo
	path string // Real, or a folder above it
}

// spelling is one absolute path in components; key(n) is the text of the first n.
type spelling struct {
	exact, folded         []string
	exactText, foldedText string
	exactEnds, foldedEnds []int
	plain                 bool // ASCII, and folding changes nothing
}

func spell(native string) spelling {
	s := spelling{exact: rootedSegments(native)}
	s.exactText, s.exactEnds = joinSegments(s.exact)
	s.folded, s.foldedText, s.foldedEnds = s.exact, s.exactText, s.exactEnds
	if s.plain = isPlain(native); s.plain {
		return s
	}
	if folded := foldAll(s.exact); !slices.Equal(folded, s.exact) {
		s.folded = folded
		s.foldedText, s.foldedEnds = joinSegments(folded)
	}
	return s
}

func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf || s[i] >= 'A' && s[i] <= 'Z' {
			return false
		}
	}
	return true
}

// joinSegments gives the components as one text, and where the first n of them end in it.
func joinSegments(segs []string) (text string, ends []int) {
	var b strings.Builder
	ends = make([]int, 1, len(segs)+1)
	for _, s := range segs {
		b.WriteByte('/')
		b.WriteString(s)
		ends = append(ends, b.Len())
	}
	return b.String(), ends
}

// prepared makes sure that what is worked out about the path is kept.
func (r Resolved) prepared() Resolved {
	if r.seen == nil {
		r.seen = &seen{}
	}
	return r
}

// spelled gives the components of Given, Real and Via. The path is prepared.
func (r Resolved) spelled() (given, real spelling, others []spelling) {
	s := r.seen
	s.split.Do(func() {
		if s.folder != nil {
			s.given = s.folder.spellChild(r.Given)
			s.real = s.given
			return
		}
		s.given = spell(r.Given)
		if s.real = s.given; r.Real != r.Given {
			s.real = spell(r.Real)
		}
		for _, via := range r.Via {
			s.others = append(s.others, spell(via))
		}
	})
	return s.given, s.real, s.others
}

// Resolve finds what path means for a process whose working directory is cwd and whose home is home; both must be
// absolute, home may be empty. A leading "~" or "~/" is home. Nothing needs to exist.
//
// On an error nothing may be allowed. The result then still holds the best known Given and Real, so that a deny rule can
// be tried; it is zero where the path means nothing at all. Errors: a NUL byte, more than MaxPath bytes, a relative cwd, no home for "~", too many links, a folder that may not be looked
// into, on Windows a network, device or stream path.
func Resolve(path, cwd, home string) (Resolved, error) {
	if strings.ContainsRune(path, 0) {
		return Resolved{}, fmt.Errorf("resolve %q: a path cannot contain a NUL byte", path)
	}
	if len(path) > MaxPath {
		return Resolved{}, fmt.Errorf("resolve %q...: a path may have at most %d bytes, this one has %d", path[:60], MaxPath, len(path))
	}
	abs, err := absolute(path, cwd, home)
	if err != nil {
		return Resolved{}, fmt.Errorf("resolve %q: %w", path, err)
	}
	w := walker{}
	r := w.resolve(abs)
	if lexical := filepath.Clean(abs); lexical != r.Given {
		// A failure here says nothing: nobody who follows links gets to this spelling.
		var text walker
		other := text.resolve(lexical)
		w.via = append(w.via, other.Given, other.Real)
	}
	r.Via = unseen(w.via, r.Given, r.Real)
	r.seen = &seen{met: w.met}
	if w.err != nil {
		return r, fmt.Errorf("resolve %q: %w", path, w.err)
	}
	return r, nil
}

// absolute makes path absolute without cleaning it: a ".." must still be seen by the walk.
func absolute(path, cwd, home string) (string, error) {
	if path == "~" || strings.HasPrefix(path, "~/") || runtime.GOOS == "windows" && strings.HasPrefix(path, `~\`) {
		if home == "" {
			return "", errors.New("the home directory is not known")
		}
		path = home + string(filepath.Separator) + path[1:]
	}
	if runtime.GOOS == "windows" {
		p, err := windowsPath(path)
		if err != nil {
			return "", err
		}
		path = p
		if strings.HasPrefix(path, `\`) {
			path = filepath.VolumeName(cwd) + path
		}
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	if !filepath.IsAbs(cwd) {
		return "", fmt.Errorf("the working directory %q is not an absolute path", cwd)
	}
	return cwd + string(filepath.Separator) + path, nil
}

// walker follows one path; it counts links over the whole walk, so that nesting cannot multiply them.
type walker struct {
	links int
	via   []string
	met   []metInfo // what exists on the way and is no link
	err   error
}

type metInfo struct {
	path string
	info fs.FileInfo
}

func infoOf(met []metInfo, path string) fs.FileInfo {
	for i := range met {
		if met[i].path == path {
			return met[i].info
		}
	}
	return nil
}

type givenPart struct {
	name string
	link bool
}

func (w *walker) resolve(abs string) Resolved {
	root, rest := splitRoot(abs)
	real, exists := root, true
	var given []givenPart
	for _, c := range splitNative(rest) {
		switch c {
		case "", ".":
			continue
		case "..":
			parent := filepath.Dir(real)
			if n := len(given); n > 0 && given[n-1].link {
				given = given[:0]
				root, rest = splitRoot(parent)
				for _, name := range splitNative(rest) {
					if name != "" {
						given = append(given, givenPart{name: name})
					}
				}
			} else if n > 0 {
				given = given[:n-1]
			}
			real = parent
			continue
		}
		next, isLink, ok := w.step(real, c)
		given = append(given, givenPart{c, isLink})
		real, exists = next, ok
	}
	var b strings.Builder
	b.WriteString(strings.TrimRight(root, string(filepath.Separator)))
	for _, g := range given {
		b.WriteByte(filepath.Separator)
		b.WriteString(g.name)
	}
	if len(given) == 0 {
		b.Reset()
		b.WriteString(root)
	}
	if exists && infoOf(w.met, real) == nil {
		_, err := os.Lstat(real)
		exists = err == nil
	}
	return Resolved{Given: b.String(), Real: real, Exists: exists}
}

// step goes from the real folder dir to its entry name, through as many links as that takes.
func (w *walker) step(dir, name string) (next string, isLink, exists bool) {
	next = filepath.Join(dir, name)
	info, err := os.Lstat(next)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			w.fail(err)
		}
		return next, false, false
	}
	// A Windows junction is "irregular" to Go; Readlink reads it.
	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
		w.met = append(w.met, metInfo{next, info})
		return next, false, true
	}
	target, err := os.Readlink(next)
	if err != nil {
		if info.Mode()&fs.ModeSymlink != 0 {
			w.fail(err)
		}
		return next, false, true
	}
	if w.links++; w.links > MaxLinks {
		w.fail(fmt.Errorf("more than %d symbolic links (a loop?)", MaxLinks))
		return next, true, false
	}
	if runtime.GOOS == "windows" {
		if target, err = windowsPath(target); err != nil {
			w.fail(err)
			return next, true, true
		}
	}
	cur := dir
	if filepath.IsAbs(target) {
		cur, target = splitRoot(target)
	}
	w.via = append(w.via, filepath.Join(cur, target))
	exists = true
	for _, c := range splitNative(target) {
		switch c {
		case "", ".":
		case "..":
			cur = filepath.Dir(cur)
		default:
			cur, _, exists = w.step(cur, c)
		}
	}
	return cur, true, exists
}

func (w *walker) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// splitRoot splits an absolute native path into its root ("/", `C:\`) and the rest.
func splitRoot(abs string) (root, rest string) {
	vol := filepath.VolumeName(abs)
	return vol + string(filepath.Separator), strings.TrimLeftFunc(abs[len(vol):], func(r rune) bool { return r == '/' || r == filepath.Separator })
}

func splitNative(path string) []string {
	if runtime.GOOS == "windows" {
		path = filepath.ToSlash(path)
	}
	return strings.Split(path, "/")
}

func unseen(paths []string, seen ...string) []string {
	var out []string
next:
	for _, p := range paths {
		for _, s := range seen {
			if p == s {
				continue next
			}
		}
		out, seen = append(out, p), append(seen, p)
	}
	return out
}
