package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// Limits of looking for what wildcards cover.
const (
	// MaxLooked is how many files and folders are looked at for all patterns together.
	MaxLooked = 100_000
	// LookAgain is how old such a look may be. A look that took long is kept for
	// lookShare times as long.
	LookAgain = 5 * time.Second
	lookShare = 20
)

// errTooMany is returned where a pattern cannot be followed to all that it covers.
var errTooMany = errors.New("too many files to look at")

// abs reads a path of the sandbox settings: /x and //x are absolute, ~/x is in the
// home directory, and anything else starts from the folder of its file.
func (k *Keeper) abs(l located) string {
	text := l.text
	for {
		cut := strings.TrimSuffix(strings.TrimSuffix(text, "/**"), "/")
		if cut == text || cut == "" {
			break
		}
		text = cut
	}
	base := k.cfg.Dir
	switch l.Source {
	case settings.ProjectSettings, settings.LocalSettings:
		if l.Dir != "" {
			base = l.Dir
		}
	case settings.UserSettings:
		if l.File != "" {
			base = filepath.Dir(l.File)
		}
	}
	switch {
	case text == "~" || strings.HasPrefix(text, "~/"):
		return filepath.Join(k.cfg.Home, text[1:])
	case strings.HasPrefix(text, "//"):
		return filepath.Clean(text[1:])
	case filepath.IsAbs(text):
		return filepath.Clean(text)
	}
	return filepath.Join(base, text)
}

func wild(path string) bool { return strings.ContainsAny(path, "*?[") }

// plain keeps the paths without wildcards.
func (k *Keeper) plain(list []located, key string) (out []string, notes []string) {
	for _, l := range list {
		if wild(l.text) {
			notes = append(notes, fmt.Sprintf("sandbox.filesystem.%s: %s: wildcards have no effect in this list; name the folder", key, l.text))
			continue
		}
		out = append(out, k.abs(l))
	}
	return out, notes
}

// finder looks for what patterns cover, within one allowance.
type finder struct {
	left int
	out  []string
}

// under adds every path below dir that covered names, without looking into it.
func (f *finder) under(dir string, covered func(path string, typ fs.FileMode) bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && len(entries) == 0 {
		return nil // not a folder, or not to be looked into by anybody
	}
	for _, e := range entries {
		if f.left--; f.left < 0 {
			return errTooMany
		}
		path := filepath.Join(dir, e.Name())
		if covered(path, e.Type()) {
			f.out = append(f.out, path)
			continue
		}
		if e.IsDir() && !(e.Name() == "objects" && filepath.Base(dir) == ".git") {
			if err := f.under(path, covered); err != nil {
				return err
			}
		}
	}
	return nil
}

// closedPaths are the paths that settings and deny rules close: those of a list of
// settings, and those of the rules of a family.
func (k *Keeper) closedPaths(list []located, family string, f *finder) (paths, except []string, err error) {
	for _, l := range list {
		path := k.abs(l)
		if !wild(l.text) {
			paths = append(paths, path)
			continue
		}
		rule, err := pathrule.Compile("/"+filepath.ToSlash(path), pathrule.Anchor{Cwd: k.cfg.Dir, SourceDir: k.cfg.Dir, Home: k.cfg.Home}, pathrule.DenyAsk)
		if err != nil {
			return nil, nil, fmt.Errorf("sandbox.filesystem: %w", err)
		}
		for _, s := range rule.Starts() {
			err := f.under(s.Path, func(p string, _ fs.FileMode) bool {
				r, err := pathrule.Resolve(p, k.cfg.Dir, k.cfg.Home)
				return err != nil || rule.Match(r)
			})
			if err != nil {
				return nil, nil, fmt.Errorf("sandbox.filesystem: %s: %w; name the folders instead", l.text, err)
			}
		}
	}
	var looked []string
	denied := k.cfg.Rules.Denials(family)
	if denied == nil {
		denied = func(string, fs.FileMode) bool { return false }
	}
	for _, s := range k.cfg.Rules.PathStarts(tool.Deny, family) {
		switch {
		case s.Except && s.Whole:
			except = append(except, s.Path)
		case s.Except: // what it excepts stays closed: a wall cannot have such a hole
		case s.Whole:
			paths = append(paths, s.Path)
		case slices.ContainsFunc(looked, func(dir string) bool { return pathrule.Inside(dir, s.Path) }):
		default:
			looked = append(looked, s.Path)
			if err := f.under(s.Path, denied); err != nil {
				return nil, nil, fmt.Errorf("the rule %s %s: %w; name the folders instead", s.Rule, s.Where, err)
			}
		}
	}
	paths = append(paths, f.out...)
	f.out = nil
	return paths, except, nil
}
