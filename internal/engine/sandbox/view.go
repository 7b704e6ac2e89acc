package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/sandbox/inner"
)

// roots are the paths of a policy with links followed: what grants something is resolved once, before any command has
// run, so that no command can turn a granted path into a link to elsewhere.
type roots struct {
	write, allowRead []string
	programs         []string // what builds the walls: a command must not put something else in its place
}

func (p Policy) roots() roots {
	resolve := func(paths []string) (out []string) {
		for _, path := range paths {
			if real, err := filepath.EvalSymlinks(path); err == nil && !slices.Contains(out, real) {
				out = append(out, real)
			}
		}
		return out
	}
	return roots{write: resolve(p.Write), allowRead: resolve(p.AllowRead)}
}

// view is what a command sees: layers, and where Landlock lets it write.
type view struct {
	layers    []inner.Layer
	write     []string
	rootWrite bool
	watched   map[string]string // denied path → where it leads, "" if it does not exist
}

// access is what may be done at a path.
type access struct{ read, write bool }

// accessAt returns what the longest rules say of a path. What cannot be read cannot be written either.
func accessAt(path string, r roots, noWrite, noRead []string) access {
	hidden := longest(path, noRead)
	read := hidden < 0 || max(longest(path, r.allowRead), longest(path, r.write)) > hidden
	return access{read: read, write: read && longest(path, r.write) > longest(path, noWrite)}
}

// makeView turns a policy into layers, for the file system as it is now.
func makeView(p Policy, r roots) view {
	v := view{watched: map[string]string{}}
	denied := func(paths []string) (out []string) {
		for _, path := range paths {
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				real = ""
			} else {
				out = append(out, real)
			}
			v.watched[path] = real
		}
		return out
	}
	noWrite, noRead := denied(p.WriteDeny), denied(p.ReadDeny)
	for _, path := range p.ReadDeny {
		if !slices.Contains(p.WriteDeny, path) {
			delete(v.watched, path) // nothing to protect where nothing is
		}
	}
	for _, path := range r.programs {
		if real, err := filepath.EvalSymlinks(path); err == nil && longest(real, r.write) >= 0 {
			noWrite = append(noWrite, real)
		}
	}
	if slices.Contains(r.write, "/") {
		noWrite = append(noWrite, "/sys") // the kernel's switches are no files
	}
	kinds := map[string]fs.FileMode{}
	add := func(paths []string) {
		for _, path := range paths {
			if info, err := os.Lstat(path); err == nil {
				kinds[path] = info.Mode().Type()
			}
		}
	}
	add(r.write)
	add(r.allowRead)
	add(noWrite)
	add(noRead)
	at := func(path string) access { return accessAt(path, r, noWrite, noRead) }
	// A protected path must not be moved away with one of its parents.
	pinned := map[string]bool{}
	for _, path := range slices.Concat(noWrite, noRead) {
		for dir := filepath.Dir(path); dir != "/" && at(dir).write; dir = filepath.Dir(dir) {
			pinned[dir] = true
		}
	}
	for dir := range pinned {
		add([]string{dir})
	}

	paths := make([]string, 0, len(kinds))
	for path := range kinds {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int { // parents before children
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	hidden := map[string]bool{} // directories covered or made inside covered ones
	seen := map[string]access{"/": {read: true}}
	if at("/").write {
		seen["/"], v.rootWrite = access{true, true}, true
		v.write = append(v.write, "/")
	}
	var covers []string
	for _, path := range paths {
		if path == "/" {
			continue
		}
		outer := seen["/"]
		for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
			if a, ok := seen[dir]; ok {
				outer = a
				break
			}
		}
		now := at(path)
		seen[path] = now
		if now.write && !outer.write {
			v.write = append(v.write, path)
		}
		isDir := kinds[path].IsDir()
		switch {
		case !now.read && !outer.read:
		case !now.read && isDir:
			v.layers = append(v.layers, inner.Layer{Kind: inner.HideDir, Path: path})
			covers = append(covers, path)
			hidden[path] = true
		case !now.read:
			v.layers = append(v.layers, inner.Layer{Kind: inner.HideFile, Path: path})
		case now == outer && !pinned[path]:
		default:
			if !outer.read {
				v.layers = append(v.layers, placeFor(path, isDir, hidden)...)
			}
			kind := inner.ReadOnly
			if now.write {
				kind = inner.Writable
			}
			v.layers = append(v.layers, inner.Layer{Kind: kind, Path: path})
		}
	}
	for _, path := range covers {
		v.layers = append(v.layers, inner.Layer{Kind: inner.CloseDir, Path: path})
	}
	return v
}

// placeFor makes the directories and the place inside a covered directory on which path is shown.
func placeFor(path string, isDir bool, made map[string]bool) (layers []inner.Layer) {
	var dirs []string
	for dir := filepath.Dir(path); dir != "/" && !made[dir]; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		made[dir] = true
	}
	slices.Reverse(dirs)
	for _, dir := range dirs {
		layers = append(layers, inner.Layer{Kind: inner.MakeDir, Path: dir})
	}
	kind := inner.MakeFile
	if isDir {
		kind = inner.MakeDir
		made[path] = true
	}
	return append(layers, inner.Layer{Kind: kind, Path: path})
}

// longest returns the length of the longest of roots that holds path, or -1.
func longest(path string, roots []string) int {
	n := -1
	for _, root := range roots {
		if within(path, root) {
			n = max(n, len(root))
		}
	}
	return n
}

func within(path, root string) bool {
	return path == root || root == "/" || strings.HasPrefix(path, root) && path[len(root)] == '/'
}
