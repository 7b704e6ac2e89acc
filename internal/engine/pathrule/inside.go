package pathrule

import (
	"path/filepath"
	"slices"
)

// Inside reports whether path is root or lies below it, component by component: /w/app-secret is not inside /w/app.
// Both must be absolute native paths; anything else is not inside. Only the text is looked at: to know where a path
// leads, resolve it first (or use Resolved.Inside).
func Inside(root, path string) bool { return inside(root, path, false) }

// InsideFold is Inside without regard to letter case and Unicode composition. Use it to close doors only.
func InsideFold(root, path string) bool { return inside(root, path, true) }

// InsideAny reports whether path is inside one of the roots.
func InsideAny(roots []string, path string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return Inside(root, path) })
}

// Inside reports whether both the given and the real path lie inside root, where root is taken in both of its
// spellings too.
func (r Resolved) Inside(root Resolved) bool {
	return (Inside(root.Given, r.Given) || Inside(root.Real, r.Given)) && Inside(root.Real, r.Real)
}

func inside(root, path string, folded bool) bool {
	if !filepath.IsAbs(root) || !filepath.IsAbs(path) {
		return false
	}
	r, p := segments(Slash(root)), segments(Slash(path))
	if folded {
		r, p = foldAll(r), foldAll(p)
	}
	return hasPrefix(p, r)
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}
