package permission

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/tool"
)

// Bounds of what is looked up on disk for one decision.
const (
	maxGlobMatches = 500
	maxGlobEntries = 5000
	maxTreeEntries = 2000
)

// expand finds what a pattern below a folder means on disk now, so that rules
// can be compared. Where that would take too long, the part stays placeless.
func (d *decider) expand(p *part, base, pattern string) {
	rest, ok := strings.CutPrefix(pattern, base)
	if !ok || strings.Contains(pattern, "**") || strings.ContainsAny(pattern, "()") {
		return
	}
	if !p.inRoots && d.e.deny.count == 0 && d.e.ask.count == 0 {
		return // outside it is asked anyway
	}
	g := globber{left: maxGlobEntries}
	g.walk(base, strings.FieldsFunc(rest, func(r rune) bool { return r == '/' }))
	if g.failed {
		return
	}
	p.placeless = false
	for _, m := range g.found {
		d.resolve(p, m)
	}
	p.inRoots = p.inRoots && p.problem == "" && d.insideAll(p.paths)
}

// globber expands a pattern as a shell does, within bounds.
type globber struct {
	left   int
	found  []string
	failed bool
}

func (g *globber) walk(dir string, segments []string) {
	if g.failed {
		return
	}
	if len(segments) == 0 {
		if g.found = append(g.found, dir); len(g.found) > maxGlobMatches {
			g.failed = true
		}
		return
	}
	segment := strings.ReplaceAll(segments[0], "[!", "[^")
	if !strings.ContainsAny(segment, `*?[\`) {
		next := filepath.Join(dir, segment)
		if g.left--; g.left < 0 {
			g.failed = true
		} else if _, err := os.Lstat(next); err == nil {
			g.walk(next, segments[1:])
		}
		return
	}
	err := eachEntry(dir, func(e os.DirEntry) bool {
		name := e.Name()
		if g.left--; g.left < 0 {
			g.failed = true
		} else if !strings.HasPrefix(name, ".") || strings.HasPrefix(segment, ".") {
			ok, err := path.Match(segment, name)
			if g.failed = g.failed || err != nil; ok {
				g.walk(filepath.Join(dir, name), segments[1:])
			}
		}
		return !g.failed
	})
	g.failed = g.failed || err != nil
}

// entriesAtOnce is how many entries of a folder are read at once.
const entriesAtOnce = 256

// eachEntry calls back with every entry of a folder until told to stop. What is
// no folder, or may not be read, has no entries.
func eachEntry(dir string, each func(os.DirEntry) bool) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil // to open a pipe could wait for ever
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(entriesAtOnce)
		for _, e := range entries {
			if !each(e) {
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", dir, err)
		}
	}
}

// inTree looks below a folder for a file that a closing rule covers. doubt says
// why that cannot be told.
func (d *decider) inTree(p *part, sets ...*ruleSet) (hit *compiledRule, doubt string) {
	left := maxTreeEntries
	var walk func(path string, dir bool)
	walk = func(path string, dir bool) {
		if left--; left < 0 {
			doubt = fmt.Sprintf("it holds more than %d files, too many to compare with the rules", maxTreeEntries)
			return
		}
		for _, s := range sets {
			if hit = s.pathRule(pathrule.Resolved{Given: path, Real: path, Exists: true}, tool.FamilyRead); hit != nil {
				return
			}
		}
		if !dir {
			return
		}
		err := eachEntry(path, func(e os.DirEntry) bool {
			walk(filepath.Join(path, e.Name()), e.IsDir())
			return hit == nil && doubt == ""
		})
		if err != nil {
			doubt = "its files cannot be listed"
		}
	}
	for _, root := range p.paths {
		if hit == nil && doubt == "" {
			walk(root.Real, true)
		}
	}
	return hit, doubt
}

// protectedBelow looks below a folder for a protected name. all tells that
// everything was looked at.
func protectedBelow(dir string) (found string, all bool) {
	left := maxTreeEntries
	all = true
	var walk func(dir string)
	walk = func(dir string) {
		err := eachEntry(dir, func(e os.DirEntry) bool {
			if left--; left < 0 {
				all = false
				return false
			}
			path := filepath.Join(dir, e.Name())
			// The name alone counts: above dir it may be protected already.
			if yes, _ := pathrule.Protected(string(filepath.Separator) + e.Name()); yes {
				found = path
				return false
			}
			if e.IsDir() {
				walk(path)
			}
			return found == "" && all
		})
		all = all && err == nil
	}
	walk(dir)
	return found, all
}
