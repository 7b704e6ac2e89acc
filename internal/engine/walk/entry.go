package walk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// dirent is one entry of a directory. The type is [fs.ModeIrregular] if the directory does not tell.
type dirent struct {
	name string
	typ  fs.FileMode
}

// isVCS reports whether the name is that of a version-control folder, which no walk enters.
func isVCS(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".bzr", ".jj", "CVS", "_darcs":
		return true
	}
	return foldNames && len(name) == 4 && strings.EqualFold(name, ".git")
}

// entry applies the rules to one directory entry, visits it, and returns a task if it is a directory to enter.
func (w *walker) entry(t *dirTask, e dirent, s *Stats) *dirTask {
	name := e.name
	if isVCS(name) {
		return nil
	}
	if !w.opts.Hidden && name[0] == '.' {
		s.Hidden++
		return nil
	}
	path := t.path + "/" + name
	if strings.HasSuffix(t.path, "/") {
		path = t.path + name
	}
	typ := e.typ
	if typ&fs.ModeIrregular != 0 {
		info, err := os.Lstat(filepath.FromSlash(path))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			s.fail(err)
			return nil
		}
		typ = info.Mode().Type()
	}
	dir := typ.IsDir()
	if t.level != nil {
		// A link is a file to git, also when it leads to a directory.
		if d := t.level.decide(path, name, dir); d.Ignored {
			s.Ignored++
			return nil
		}
	}
	real := ""
	if t.real != "" {
		real = filepath.Join(t.real, name)
	}
	if w.opts.Skip != nil && (w.opts.Skip(filepath.FromSlash(path), typ) || real != "" && w.opts.Skip(real, typ)) {
		s.Skipped++
		return nil
	}
	link := t.link
	if typ&fs.ModeSymlink != 0 {
		switch w.opts.Links {
		case LinksSkip:
			s.Links++
			return nil
		case LinksFollow:
			var ok bool
			if typ, real, ok = w.follow(path, s); !ok {
				return nil
			}
			dir, link = typ.IsDir(), true
		}
	}
	rel := path[w.relOff:]
	if dir {
		return w.directory(t, path, rel, real, link, s)
	}
	if typ != 0 && typ != fs.ModeSymlink {
		s.Special++
		return nil
	}
	if !w.filter.file(rel, name) {
		s.Filtered++
		return nil
	}
	s.Files++
	err := w.visit(Entry{Path: filepath.FromSlash(path), Rel: rel, Type: typ, Link: link})
	if err != nil && !errors.Is(err, SkipDir) {
		w.end(err)
	}
	return nil
}

// follow returns the type and, if there is a Skip, the place of what a link leads to, having asked Skip about it.
func (w *walker) follow(path string, s *Stats) (typ fs.FileMode, real string, ok bool) {
	info, err := os.Stat(filepath.FromSlash(path))
	if err != nil {
		s.fail(fmt.Errorf("follow link: %w", err))
		return 0, "", false
	}
	if w.opts.Skip != nil {
		if real, err = filepath.EvalSymlinks(filepath.FromSlash(path)); err != nil {
			s.fail(fmt.Errorf("follow link: %w", err))
			return 0, "", false
		}
		// Whoever denies a folder denies what lies in it, so the folders above the target are asked for as well.
		for p, t := real, info.Mode().Type(); ; t = fs.ModeDir {
			if w.opts.Skip(p, t) {
				s.Skipped++
				return 0, "", false
			}
			up := filepath.Dir(p)
			if up == p {
				break
			}
			p = up
		}
	}
	return info.Mode().Type(), real, true
}

func (w *walker) directory(t *dirTask, path, rel, real string, link bool, s *Stats) *dirTask {
	enter, visit := w.filter.dir(rel, path[len(path)-len(filepath.Base(path)):])
	if w.opts.Dirs && visit {
		err := w.visit(Entry{Path: filepath.FromSlash(path), Rel: rel, Type: fs.ModeDir, Link: link})
		switch {
		case errors.Is(err, SkipDir):
			return nil
		case err != nil:
			w.end(err)
			return nil
		}
	}
	if !enter {
		s.Filtered++
		return nil
	}
	if w.opts.MaxDepth > 0 && t.depth+1 >= w.opts.MaxDepth {
		return nil
	}
	if !w.firstVisit(path) {
		s.Links++
		return nil
	}
	return &dirTask{path: path, level: t.level, depth: t.depth + 1, link: link, real: real}
}
