package search

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/walk"
	"github.com/sevengate/sevengate/tool"
)

// globPlan is what a Glob input comes to: the fixed folders at the head of a
// pattern belong to the search root, so that no more is read, and no more asked
// for, than the pattern can match.
type globPlan struct {
	folder  string // what path says, absolute
	root    string // where the search begins: folder, or what the pattern says
	pattern string // below root, with slashes
	outside bool   // the pattern itself leads elsewhere than below folder
}

const globMeta = `*?[{\`

// planGlob is pure: it looks at no disk.
func planGlob(in GlobInput, at tool.Place) (globPlan, error) {
	if in.Pattern == "" {
		return globPlan{}, errors.New("pattern is empty; give one such as **/*.go")
	}
	for name, value := range map[string]string{"pattern": in.Pattern, "path": in.Path} {
		if strings.IndexByte(value, 0) >= 0 {
			return globPlan{}, fmt.Errorf("%s contains a NUL byte; no path can", name)
		}
	}
	plan := globPlan{folder: at.Abs(in.Path)}
	plan.root = plan.folder
	pattern := in.Pattern
	if runtime.GOOS == "windows" {
		pattern = filepath.ToSlash(pattern)
	}
	if strings.HasPrefix(pattern, "!") {
		return globPlan{}, fmt.Errorf(`pattern %q begins with "!", but Glob cannot exclude; say what to find (for a name with a "!", write \!)`, in.Pattern)
	}
	switch volume := filepath.VolumeName(pattern); {
	case pattern == "~" || strings.HasPrefix(pattern, "~/"):
		plan.root, plan.outside = at.Abs("~"), true
		pattern = strings.TrimPrefix(pattern[1:], "/")
	case strings.HasPrefix(pattern[len(volume):], "/"):
		plan.root, plan.outside = filepath.FromSlash(volume+"/"), true
		pattern = pattern[len(volume)+1:]
	}
	open := strings.HasSuffix(pattern, "/") || pattern == ""
	parts := slices.DeleteFunc(strings.Split(pattern, "/"), func(p string) bool { return p == "" || p == "." })
	for len(parts) > 0 {
		p := parts[0]
		if p == ".." {
			plan.root, plan.outside = filepath.Dir(plan.root), true
		} else if strings.ContainsAny(p, globMeta) || isVersionControl(p) || len(parts) == 1 && !open {
			break
		} else {
			plan.root = filepath.Join(plan.root, p)
		}
		parts = parts[1:]
	}
	if slices.Contains(parts, "..") {
		return globPlan{}, fmt.Errorf(`pattern %q has ".." after a wildcard; write ".." at its beginning only, or use path`, in.Pattern)
	}
	if open && len(parts) > 0 {
		parts = append(parts, "**")
	}
	switch {
	case len(parts) == 0 && open:
		parts = []string{"**"}
	case len(parts) == 0:
		return globPlan{}, fmt.Errorf("pattern %q names a folder; add /** for the files in it", in.Pattern)
	}
	plan.pattern = strings.Join(parts, "/")
	if strings.HasSuffix(plan.pattern, "/**") {
		plan.pattern += "/*" // what lies in the folder, and not a file of its name
	}
	if strings.HasPrefix(plan.pattern, "!") {
		plan.pattern = `\` + plan.pattern
	}
	if err := walk.ValidGlob(plan.pattern); err != nil {
		return globPlan{}, fmt.Errorf("pattern: %w", err)
	}
	return plan, nil
}

// depth is how deep below the root the pattern can match; 0 means any depth.
func (p globPlan) depth() int {
	if strings.Contains(p.pattern, "**") {
		return 0
	}
	return strings.Count(p.pattern, "/") + 1
}

// isVersionControl tells whether a folder is one that a walk does not enter.
func isVersionControl(name string) bool {
	switch strings.ToLower(name) {
	case ".git", ".hg", ".svn", ".bzr", ".jj", "cvs", "_darcs":
		return true
	}
	return false
}
