package pathrule

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is the Resolved of a folder that [Resolved.Child] is to be asked of: an absolute, clean path that exists and
// that no link leads to or lies in. Nothing is looked at.
func Folder(path string) Resolved {
	return Resolved{Given: path, Real: path, Exists: true, seen: &seen{}}
}

// Child is the Resolved of an entry of a folder that exists and is no link, for callers that ask about all that is in
// it. The folder is a [Folder], or an entry of one: what is worked out about the folder is shared. typ is the type of
// the entry where the folder tells it, [fs.ModeIrregular] where not; files of which it is known that no rule can mean
// them by another name are then not looked at.
//
// Where rules name files and folders plainly, what these are is looked at again after a second, except for files with
// more than one name.
func (r Resolved) Child(name string, typ fs.FileMode) Resolved {
	path := r.Real + string(filepath.Separator) + name
	if strings.HasSuffix(r.Real, string(filepath.Separator)) {
		path = r.Real + name
	}
	return Resolved{Given: path, Real: path, Exists: true, seen: &seen{folder: &r, file: typ == 0}}
}

// spellChild is spell for a path in the folder r.
func (r *Resolved) spellChild(path string) spelling {
	above, _, _ := r.prepared().spelled()
	name := path[len(path)-len(filepath.Base(path)):]
	if Slash(path) != path || path != above.exactText+"/"+name {
		return spell(path)
	}
	s := spelling{exact: append(slices.Clip(above.exact), name), exactText: path, exactEnds: append(slices.Clip(above.exactEnds), len(path))}
	s.folded, s.foldedText, s.foldedEnds = s.exact, s.exactText, s.exactEnds
	if s.plain = above.plain && isPlain(name); s.plain {
		return s
	}
	if folded := fold(name); folded != name || above.foldedText != above.exactText {
		s.folded = append(slices.Clip(above.folded), folded)
		s.foldedText = above.foldedText + "/" + folded
		s.foldedEnds = append(slices.Clip(above.foldedEnds), len(s.foldedText))
	}
	return s
}

// chain is what the device says about Real and the folders above it, as far as they exist. The path is prepared.
func (r Resolved) chain() []parentInfo {
	s := r.seen
	s.stat.Do(func() {
		if s.folder != nil {
			if info, err := os.Stat(r.Real); err == nil {
				s.infos = append(s.infos, parentInfo{info, r.Real})
			}
			s.infos = append(s.infos, s.folder.chain()...)
			return
		}
		for p := r.Real; ; {
			info, err := infoOf(s.met, p), error(nil)
			if info == nil {
				info, err = os.Stat(p)
			}
			if err == nil {
				s.infos = append(s.infos, parentInfo{info, p})
			}
			up := filepath.Dir(p)
			if up == p {
				return
			}
			p = up
		}
	})
	return s.infos
}
