package shellscan

import (
	"path"
	"strings"
)

func isAbs(p string) bool { return strings.HasPrefix(p, "/") }

// cleanPath is path.Clean without work for clean paths.
func cleanPath(p string) string { return path.Clean(p) }

// resolve gives the files that a word names: one for each possible directory.
func resolve(w Word, dirs []string) []Path {
	if w.alts != nil {
		var out []Path
		for _, a := range w.alts {
			out = append(out, resolve(a, dirs)...)
		}
		return out
	}
	if w.Known == Literal {
		if w.Text == "" {
			return nil
		}
		if isAbs(w.Text) {
			c := cleanPath(w.Text)
			return []Path{{Text: c, Raw: w.Text, Known: Literal, Base: c}}
		}
		if dirs == nil {
			return []Path{{Text: w.Text}}
		}
		out := make([]Path, 0, len(dirs))
		for _, d := range dirs {
			raw := d + "/" + w.Text
			c := cleanPath(raw)
			out = append(out, Path{Text: c, Raw: raw, Known: Literal, Base: c})
		}
		return out
	}
	if !w.pattern {
		return []Path{{Text: w.Text}}
	}
	if isAbs(w.Prefix) {
		return []Path{patternPath(w.Text, w.Prefix)}
	}
	if dirs == nil {
		return []Path{{Text: w.Text, Glob: true}}
	}
	out := make([]Path, 0, len(dirs))
	for _, d := range dirs {
		out = append(out, patternPath(d+"/"+w.Text, d+"/"+w.Prefix))
	}
	return out
}

// patternPath is the path of a glob with an absolute literal beginning. A ".."
// behind a pattern character, or a pattern that may give one, leaves the base unknown.
func patternPath(text, prefix string) Path {
	base := cleanPath(prefix[:strings.LastIndexByte(prefix, '/')+1])
	tail := text[strings.LastIndexByte(prefix, '/')+1:]
	for _, seg := range strings.Split(tail, "/") {
		if seg == ".." || strings.HasPrefix(seg, ".") && strings.ContainsAny(seg, "*?[") && strings.Trim(seg, ".*?[]!^") == "" {
			return Path{Text: text, Raw: text, Known: Partial, Glob: true}
		}
	}
	if base != "/" {
		text = base + "/" + tail
	} else {
		text = "/" + tail
	}
	return Path{Text: text, Raw: text, Known: Partial, Glob: true, Base: base}
}

// inRoots tells that every possible directory lies in the working directories.
func (s *scanner) inRoots(dirs []string) bool {
	for _, d := range dirs {
		if !s.inRoot(d) {
			return false
		}
	}
	return len(dirs) > 0
}

func (s *scanner) inRoot(p string) bool {
	if s.o.InRoots != nil {
		return s.o.InRoots(p)
	}
	return s.o.Cwd != "" && within(p, cleanPath(s.o.Cwd))
}

func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir) && len(p) > len(dir) && p[len(dir)] == '/'
}

// change gives the directories that cd with this operand leads to.
func (s *scanner) change(w Word, dirs []string) []string {
	if w.alts != nil {
		var out []string
		for i, a := range w.alts {
			to := s.change(a, dirs)
			if i > 0 {
				to = union(out, to)
			}
			if out = to; out == nil {
				return nil
			}
		}
		return out
	}
	if w.Known != Literal || w.Text == "" || w.Text == "-" {
		return nil
	}
	if !isAbs(w.Text) && s.assigned("CDPATH") {
		return nil
	}
	var out []string
	for _, p := range resolve(w, dirs) {
		if p.Known != Literal {
			return nil
		}
		out = append(out, p.Text)
	}
	return out
}
