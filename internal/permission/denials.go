package permission

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/tool"
)

// maxPlainFolders bounds the folders that one denials remembers.
const maxPlainFolders = 1 << 14

// ReadDenials gives what ReadDenied says by the rules of this moment, for calls
// that ask about many paths: to look for changed settings, and to follow each path
// from the root on, costs more than to look at a small file. Folders that were
// found to be reached by no link are taken to stay so. Nil means that no path is
// denied. The function may be called from several goroutines at once.
func (p *Policy) ReadDenials() func(path string) bool { return p.Denials(tool.FamilyRead) }

// Denials is [Policy.ReadDenials] for either family of paths ([tool.FamilyRead],
// [tool.FamilyEdit]).
func (p *Policy) Denials(family string) func(path string) bool {
	e := p.rulesNow()
	if e.deny.family(family) != nil {
		return func(string) bool { return true }
	}
	if !e.deny.hasPathRules(family) {
		return nil
	}
	d := &denials{p: p, e: e, family: family}
	return d.denied
}

// denials decides about paths by the rules of one moment.
type denials struct {
	p      *Policy
	e      *edition
	family string

	mu    sync.Mutex
	plain map[string]bool // whether a folder is reached by no link
}

func (d *denials) denied(path string) bool {
	if r, ok := d.resolve(path); ok {
		return d.e.deny.pathRule(r, d.family) != nil
	}
	return d.p.pathDenied(d.e, path, d.family)
}

// resolve gives what [pathrule.Resolve] would, if the path is there, as it is
// written, and leads nowhere else.
func (d *denials) resolve(path string) (pathrule.Resolved, bool) {
	if runtime.GOOS == "windows" || !filepath.IsAbs(path) || filepath.Clean(path) != path || len(path) > pathrule.MaxPath {
		return pathrule.Resolved{}, false
	}
	if dir := filepath.Dir(path); dir == path || !d.isPlain(dir) || !here(path, 0) {
		return pathrule.Resolved{}, false
	}
	return pathrule.Resolved{Given: path, Real: path, Exists: true}, true
}

func (d *denials) isPlain(dir string) bool {
	d.mu.Lock()
	plain, known := d.plain[dir]
	d.mu.Unlock()
	if known {
		return plain
	}
	up := filepath.Dir(dir)
	plain = up == dir || d.isPlain(up) && here(dir, fs.ModeDir)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.plain == nil || len(d.plain) >= maxPlainFolders {
		d.plain = map[string]bool{}
	}
	d.plain[dir] = plain
	return plain
}

// here tells that a path exists and is no link, and of the type if one is given.
func here(path string, kind fs.FileMode) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0 && info.Mode()&kind == kind
}
