package walk

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sevengate/sevengate/internal/engine/walk/ignore"
)

// Names of the ignore files that are read in each directory.
const (
	gitIgnoreName = ".gitignore"
	dotIgnoreName = ".ignore"
	rgIgnoreName  = ".rgignore"
)

// MaxIgnoreFileBytes is how much of an ignore or configuration file is read; a larger file is not read at all.
const MaxIgnoreFileBytes = 4 << 20

// rules finds and caches the ignore files of one walk.
type rules struct {
	opts   Options
	getenv func(string) string
	global func() globalConfig
}

// globalConfig is what git's configuration outside of a repository says.
type globalConfig struct {
	excludes   string // path of core.excludesFile
	ignoreCase bool
}

// level is the set of ignore rules in force for the entries of one directory. Levels are immutable and shared by all
// directories below that add nothing.
type level struct {
	parent       *level
	base         int // where a path becomes relative to the level's directory
	git, dot, rg *ignore.List
	dir          string
	top          *repository // set where a repository (or a walk outside of one) begins
	fold         bool
	anyDot       bool // some level from here up has .ignore or .rgignore
}

// repository holds what applies to the whole of one.
type repository struct {
	exclude, global         *ignore.List
	excludePath, globalPath string
}

// Decision says whether a path is ignored and by which pattern.
type Decision struct {
	Ignored bool
	Pattern string // as written; "" if no pattern matched
	File    string // the ignore file it stands in
	Line    int    // 1-based
}

func newRules(opts Options) *rules {
	r := &rules{opts: opts, getenv: opts.Getenv}
	if r.getenv == nil {
		r.getenv = os.Getenv
	}
	r.global = sync.OnceValue(r.readGlobalConfig)
	return r
}

func baseOf(dir string) int {
	if strings.HasSuffix(dir, "/") {
		return len(dir)
	}
	return len(dir) + 1
}

func exists(p string) bool {
	_, err := os.Lstat(filepath.FromSlash(p))
	return err == nil
}

// above returns the rules of the directories above root, up to the top of its repository.
func (r *rules) above(root string) *level {
	top := root
	for !exists(path.Join(top, ".git")) {
		up := path.Dir(top)
		if up == top || up == "." {
			// No repository: nothing above the root counts, but the global file does.
			return &level{base: baseOf(root), dir: root, top: r.repository(root, false), fold: r.opts.CaseInsensitive}
		}
		top = up
	}
	if top == root {
		return nil // enter finds it
	}
	var l *level
	dir := top
	for {
		l = r.load(l, dir, func(string) bool { return true })
		rest := root[baseOf(dir):]
		i := strings.IndexByte(rest, '/')
		if i < 0 {
			return l
		}
		dir = path.Join(dir, rest[:i])
	}
}

// enter returns the rules for the entries of dir. entries are its first entries, or all of them if complete.
func (r *rules) enter(parent *level, dir string, entries []dirent, complete bool) *level {
	if !complete {
		return r.load(parent, dir, func(string) bool { return true })
	}
	var found [4]bool
	some := false
	for _, e := range entries {
		if k := specialName(e.name); k >= 0 {
			found[k], some = true, true
		}
	}
	if !some {
		return parent
	}
	return r.load(parent, dir, func(name string) bool { return found[specialName(name)] })
}

func specialName(name string) int {
	if name[0] == '.' {
		switch name {
		case ".git":
			return 0
		case gitIgnoreName:
			return 1
		case dotIgnoreName:
			return 2
		case rgIgnoreName:
			return 3
		}
	}
	return -1
}

func (r *rules) load(parent *level, dir string, maybe func(name string) bool) *level {
	l := &level{parent: parent, base: baseOf(dir), dir: dir, fold: r.opts.CaseInsensitive}
	if parent != nil {
		l.fold, l.anyDot = parent.fold, parent.anyDot
	}
	if maybe(".git") && exists(path.Join(dir, ".git")) {
		l.fold = r.opts.CaseInsensitive || r.repositoryFolds(dir)
		l.top = r.repository(dir, l.fold)
	}
	read := func(name string) *ignore.List {
		if !maybe(name) {
			return nil
		}
		return r.readList(path.Join(dir, name), l.fold, false)
	}
	l.git, l.dot, l.rg = read(gitIgnoreName), read(dotIgnoreName), read(rgIgnoreName)
	l.anyDot = l.anyDot || l.dot != nil || l.rg != nil
	if l.top == nil && l.git == nil && l.dot == nil && l.rg == nil {
		return parent
	}
	return l
}

// readList returns nil if the file is missing, not a regular file, too large, or has no pattern. As in git, an ignore
// file inside a work tree may not be a symbolic link.
func (r *rules) readList(p string, fold, followLink bool) *ignore.List {
	data := readSmall(p, followLink)
	if len(data) == 0 {
		return nil
	}
	l := ignore.ParseList(data, ignore.Options{CaseInsensitive: fold})
	if l.Len() == 0 {
		return nil
	}
	return l
}

func readSmall(p string, followLink bool) []byte {
	name := filepath.FromSlash(p)
	info, err := os.Lstat(name)
	if err == nil && followLink {
		info, err = os.Stat(name)
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > MaxIgnoreFileBytes {
		return nil
	}
	f, err := openNoBlock(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > MaxIgnoreFileBytes {
		return nil
	}
	var buf bytes.Buffer
	buf.Grow(int(info.Size()) + bytes.MinRead)
	if n, err := buf.ReadFrom(&limited{f, MaxIgnoreFileBytes}); err != nil || n > MaxIgnoreFileBytes {
		return nil
	}
	return buf.Bytes()
}

// decide applies the rules to an entry of the level's directory or below: path is absolute with slashes.
func (l *level) decide(path, name string, dir bool) Decision {
	if l.anyDot {
		for _, kind := range [2]int{3, 2} {
			for k := l; k != nil; k = k.parent {
				list := k.rg
				if kind == 2 {
					list = k.dot
				}
				if list == nil {
					continue
				}
				if d, p := list.Decide(path[k.base:], dir); d != ignore.None {
					fileName := rgIgnoreName
					if kind == 2 {
						fileName = dotIgnoreName
					}
					return k.decision(d, p, k.dir+"/"+fileName)
				}
			}
		}
	}
	for k := l; k != nil; k = k.parent {
		if k.git != nil {
			if d, p := k.git.Decide(path[k.base:], dir); d != ignore.None {
				return k.decision(d, p, k.dir+"/"+gitIgnoreName)
			}
		}
		if k.top == nil {
			continue
		}
		if d, p := k.top.exclude.Decide(path[k.base:], dir); d != ignore.None {
			return k.decision(d, p, k.top.excludePath)
		}
		if d, p := k.top.global.Decide(path[k.base:], dir); d != ignore.None {
			return k.decision(d, p, k.top.globalPath)
		}
		break
	}
	return Decision{}
}

func (l *level) decision(d ignore.Decision, p *ignore.Pattern, file string) Decision {
	return Decision{Ignored: d == ignore.Ignore, Pattern: p.String(), File: filepath.FromSlash(file), Line: p.Line()}
}

// Ignorer decides single paths by the same ignore rules as Walk. It is safe for concurrent use, and remembers the ignore
// files of the directories it was asked about.
type Ignorer struct {
	root  string
	rules *rules
	mu    sync.Mutex
	cache map[string]*level
}

// NewIgnorer makes an Ignorer for paths below root; only NoGlobal, CaseInsensitive and Getenv of opts play a part.
func NewIgnorer(root string, opts Options) (*Ignorer, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	return &Ignorer{root: filepath.ToSlash(abs), rules: newRules(opts), cache: make(map[string]*level)}, nil
}

// Decide decides a path relative to the root, with slashes: it is ignored if it or a directory above it (below the root)
// is. The path need not exist; dir says whether it is a directory.
func (ig *Ignorer) Decide(rel string, dir bool) Decision {
	rel = strings.Trim(path.Clean(rel), "/")
	if rel == "" || rel == "." || rel == ".." || strings.HasPrefix(rel, "../") {
		return Decision{}
	}
	l := ig.level(ig.root, nil)
	at := ig.root
	for {
		name, rest, more := strings.Cut(rel, "/")
		at = path.Join(at, name)
		if l != nil {
			if d := l.decide(at, name, more || dir); d.Ignored || !more {
				return d
			}
		} else if !more {
			return Decision{}
		}
		rel = rest
		l = ig.level(at, l)
	}
}

func (ig *Ignorer) level(dir string, parent *level) *level {
	ig.mu.Lock()
	defer ig.mu.Unlock()
	if l, ok := ig.cache[dir]; ok {
		return l
	}
	if dir == ig.root {
		parent = ig.rules.above(dir)
	}
	l := ig.rules.load(parent, dir, func(string) bool { return true })
	ig.cache[dir] = l
	return l
}
