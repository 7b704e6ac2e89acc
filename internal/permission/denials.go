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

// maxFolders bounds the folders that one denials remembers.
const maxFolders = 1 << 14

// ReadDenials gives what ReadDenied says by the rules of this moment, for calls
// that ask about many paths: to look for changed settings, and to follow each path
// from the root on, costs more than to look at a small file. Folders that were
// found to be reached by no link are taken to stay so. Nil means that no path is
// denied.
//
// The function gets an absolute path and the type of what is there, where it is
// known from the list of the folder, else [fs.ModeIrregular]; it may be called from
// several goroutines at once.
func (p *Policy) ReadDenials() func(path string, typ fs.FileMode) bool {
	return p.Denials(tool.FamilyRead)
}

// Denials is [Policy.ReadDenials] for either family of paths ([tool.FamilyRead],
// [tool.FamilyEdit]).
func (p *Policy) Denials(family string) func(path string, typ fs.FileMode) bool {
	e := p.rulesNow()
	if e.deny.family(family) != nil {
		return func(string, fs.FileMode) bool { return true }
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

	mu      sync.Mutex
	folders map[string]folder
}

// folder is what is known of a folder.
type folder struct {
	plain bool // no link leads to it or lies above it
	path  pathrule.Resolved
}

func (d *denials) denied(path string, typ fs.FileMode) bool {
	if r, ok := d.resolve(path, typ); ok {
		return d.e.deny.pathRule(r, d.family) != nil
	}
	return d.p.pathDenied(d.e, path, d.family)
}

// resolve gives what [pathrule.Resolve] would, if the path is there, as it is
// written, and leads nowhere else.
func (d *denials) resolve(path string, typ fs.FileMode) (pathrule.Resolved, bool) {
	if runtime.GOOS == "windows" || !filepath.IsAbs(path) || filepath.Clean(path) != path || len(path) > pathrule.MaxPath {
		return pathrule.Resolved{}, false
	}
	dir := filepath.Dir(path)
	if dir == path {
		return pathrule.Resolved{}, false
	}
	above := d.folder(dir)
	if !above.plain {
		return pathrule.Resolved{}, false
	}
	if typ&fs.ModeIrregular != 0 {
		var ok bool
		if typ, ok = typeOf(path); !ok {
			return pathrule.Resolved{}, false
		}
	}
	if typ&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
		return pathrule.Resolved{}, false
	}
	return above.path.Child(filepath.Base(path), typ), true
}

func (d *denials) folder(dir string) folder {
	d.mu.Lock()
	f, known := d.folders[dir]
	d.mu.Unlock()
	if known {
		return f
	}
	up := filepath.Dir(dir)
	if f.plain = up == dir; f.plain {
		f.path = pathrule.Folder(dir)
	} else if above := d.folder(up); above.plain {
		typ, ok := typeOf(dir)
		f = folder{plain: ok && typ == fs.ModeDir, path: above.path.Child(filepath.Base(dir), fs.ModeDir)}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.folders == nil || len(d.folders) >= maxFolders {
		d.folders = map[string]folder{}
	}
	d.folders[dir] = f
	return f
}

// typeOf tells what is at a path, links not followed; ok that something is.
func typeOf(path string) (typ fs.FileMode, ok bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, false
	}
	return info.Mode().Type(), true
}
