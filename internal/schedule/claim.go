package schedule

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/sevengate/sevengate/tool"
)

// claim is what a call needs for itself: the paths under both their given and
// their real name. The zero claim conflicts with everything.
type claim struct {
	nothing bool // touches nothing at all
	known   bool
	safe    bool
	read    []string
	write   []string
}

func (c claim) writes() bool { return !c.nothing && (!c.known || len(c.write) > 0) }

func claimOf(call *tool.Call, p Policy) claim {
	if call == nil {
		return claim{nothing: true}
	}
	if p == Batches {
		return claim{safe: call.ConcurrencySafe()}
	}
	e := call.Effects()
	if !e.Known() {
		return claim{}
	}
	return claim{known: true, read: realPaths(e.ReadPaths()), write: realPaths(e.WritePaths())}
}

func conflict(p Policy, a, b claim) bool {
	if a.nothing || b.nothing {
		return false
	}
	if p == Batches {
		return !a.safe || !b.safe
	}
	if !a.known || !b.known {
		return true
	}
	return overlap(a.write, b.write) || overlap(a.write, b.read) || overlap(a.read, b.write)
}

func overlap(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if within(x, y) || within(y, x) {
				return true
			}
		}
	}
	return false
}

// within tells whether path is dir or lies beneath it.
func within(dir, path string) bool {
	if !strings.HasPrefix(path, dir) {
		return false
	}
	return len(path) == len(dir) || dir == "" || os.IsPathSeparator(dir[len(dir)-1]) || os.IsPathSeparator(path[len(dir)])
}

// realPaths gives, for each path, its own spelling, the path that it leads to
// and, for a file of several names, a name for the file itself.
func realPaths(paths []string) []string {
	out := make([]string, 0, 2*len(paths))
	for _, p := range paths {
		if _, ok := tool.IsResource(p); ok {
			out = append(out, p)
			continue
		}
		out = append(out, foldCase(p))
		if real := realPath(p); real != p {
			out = append(out, foldCase(real))
		}
		if id, ok := sharedFile(p); ok {
			out = append(out, id)
		}
	}
	return out
}

// maxLinks bounds a chain of links, as the system does.
const maxLinks = 40

// realPath follows links as far as the path exists, dangling ones included.
func realPath(path string) string {
	for range maxLinks {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		if target, err := os.Readlink(path); err == nil {
			if !filepath.IsAbs(target) {
				target = filepath.Join(realPath(filepath.Dir(path)), target)
			}
			path = filepath.Clean(target)
			continue
		}
		dir := filepath.Dir(path)
		if dir == path {
			return path
		}
		return filepath.Join(realPath(dir), filepath.Base(path))
	}
	return path
}
