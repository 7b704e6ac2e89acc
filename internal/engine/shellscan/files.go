package shellscan

import "strings"

// fileCommand handles the everyday commands that change files.
func (s *scanner) fileCommand(c *Command, u *unwrapped, name string) bool {
	st := u.st
	words := u.argv[1:]
	flags := ""
	switch name {
	case "rm", "unlink":
		flags = "-f -i -I -r -R -d -v -x -P --force --interactive? --recursive --dir --verbose --one-file-system --preserve-root? --no-preserve-root"
	case "rmdir":
		flags = "-p -v --parents --verbose --ignore-fail-on-non-empty"
	case "mkdir":
		flags = "-p -v -m: --parents --verbose --mode:"
	case "touch":
		flags = "-a -c -m -h -d: -t: -r< --date: --reference< --time: --no-create --no-dereference"
	case "cp", "mv":
		flags = "-a -b -d -f -i -l -L -n -p -P -r -R -s -u -v -x -H -T -t/ -S: --archive --backup? --force --interactive --link --no-clobber --no-dereference --dereference --preserve? --no-preserve: " +
			"--parents --recursive --remove-destination --reflink? --sparse: --strip-trailing-slashes --symbolic-link --suffix: --target-directory/ --no-target-directory --update? --verbose --one-file-system --attributes-only --debug"
	case "ln":
		flags = "-s -f -n -v -r -i -T -t/ -b -L -P --symbolic --force --no-dereference --verbose --relative --no-target-directory --target-directory/"
	case "tee", "sponge":
		flags = "-a -i -p --append --ignore-interrupts"
	case "chmod", "chown", "chgrp":
		flags = "-R -v -c -f -h -H -L -P --recursive --verbose --changes --quiet --silent --no-dereference --reference<"
	case "truncate", "shred":
		flags = "-s: -c -o -r< -f -n: -u -v -x -z --size: --no-create --reference<"
	case "split", "csplit":
		c.deny(name + " writes pieces of a file")
		c.BeyondPrefix, c.UnknownWrites = c.WhyNot, true
		for _, w := range words {
			if w.Known != Literal || !strings.HasPrefix(w.Text, "-") {
				s.reads(c, w, st, false)
			}
		}
		return true
	case "dd":
		c.deny("dd copies to a file or device")
		for _, w := range words {
			if f, ok := strings.CutPrefix(w.Text, "if="); ok {
				s.reads(c, Word{Text: f, Known: w.Known, Source: w.Source}, st, false)
			}
			if f, ok := strings.CutPrefix(w.Text, "of="); ok {
				s.writes(c, Word{Text: f, Known: w.Known, Source: w.Source}, st)
			}
		}
		return true
	default:
		return false
	}
	c.deny(name + " changes files")
	a := parseFlagSet(flags).parse(name, words, false, false)
	pos := a.pos
	plain := a.why == ""
	if !plain {
		// Options that are not known: what they are for cannot be told, but every
		// word may be a file.
		pos = nil
		for _, w := range words {
			if w.Known != Literal || !strings.HasPrefix(w.Text, "-") || w.Text == "-" {
				pos = append(pos, w)
			}
		}
		c.UnknownWrites = true
		if name == "chmod" && a.why != "" && len(words) > 0 && strings.Trim(words[0].Text, "-rwxXst,+=ugoa") == "" {
			c.UnknownWrites = false // chmod -x file
		}
	}
	if u.stdinArgs {
		c.UnknownReads, c.UnknownWrites, plain = true, true, false
	}
	for _, w := range a.reads {
		s.reads(c, w, st, false)
	}
	recursive := a.has("-r", "-R", "-a", "--recursive", "--archive") || !plain
	switch name {
	case "rm", "rmdir", "unlink":
		s.remove(c, pos, st, recursive || a.has("-p", "--parents"))
		if a.has("--no-preserve-root") || a.has("--preserve-root") && recursive && name == "rm" {
			c.Critical = orElse(c.Critical, "it takes off the guard of the root directory")
		}
		c.FileCommand = plain
	case "mkdir", "touch":
		for _, w := range pos {
			s.writes(c, w, st)
		}
		c.FileCommand = plain
	case "cp", "mv", "ln":
		s.copy(c, &a, pos, st, name, recursive)
		c.FileCommand = plain && name != "ln"
	case "tee", "sponge", "truncate", "shred":
		if name == "shred" && a.has("-u") {
			s.remove(c, pos, st, false)
		}
		for _, w := range pos {
			if w.Text != "/dev/null" && w.Text != "-" {
				s.writes(c, w, st)
			}
		}
		if (name == "tee" || name == "sponge") && plain && len(c.Writes) == 0 && !c.UnknownWrites {
			c.WhyNot = ""
			c.ReadOnly = true
		}
	default: // chmod, chown, chgrp: the first word is no file
		if len(pos) > 1 {
			ps, unknown := s.paths(pos[1:], st, recursive)
			c.Writes = append(c.Writes, ps...)
			c.UnknownWrites = c.UnknownWrites || unknown
		}
	}
	c.FileCommand = c.FileCommand && !c.UnknownWrites
	return true
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// remove notes what is removed.
func (s *scanner) remove(c *Command, pos []Word, st state, recursive bool) {
	for _, w := range pos {
		if w.placeholder {
			c.Removes = append(c.Removes, st.extra...)
			continue
		}
		ps, unknown := s.paths([]Word{w}, st, recursive)
		c.Removes = append(c.Removes, ps...)
		c.UnknownWrites = c.UnknownWrites || unknown
		if why := s.critical(w, st.dirs, recursive); why != "" {
			c.Critical = orElse(c.Critical, why)
		}
	}
}

// copy notes what cp, mv and ln read, write and remove.
func (s *scanner) copy(c *Command, a *args, pos []Word, st state, name string, recursive bool) {
	sources, dest := pos, Word{}
	if t, ok := a.value("-t", "--target-directory"); ok {
		dest = t
	} else if len(pos) > 1 {
		sources, dest = pos[:len(pos)-1], pos[len(pos)-1]
	} else if name == "ln" && len(pos) == 1 {
		dest = lit(".")
	} else {
		c.UnknownWrites = true
		return
	}
	for _, w := range sources {
		if name == "mv" {
			s.remove(c, []Word{w}, st, true)
		}
		s.reads(c, w, st, recursive || name == "mv")
	}
	if dest.Multi || dest.Known != Literal {
		s.writes(c, dest, st)
		c.UnknownWrites = true
		return
	}
	ps, unknown := s.paths([]Word{dest}, st, recursive)
	c.Writes = append(c.Writes, ps...)
	c.UnknownWrites = c.UnknownWrites || unknown
	if a.has("-T", "--no-target-directory") {
		return
	}
	// Into a directory, each source keeps its name.
	for _, w := range sources {
		last := w.Text[strings.LastIndexByte(strings.TrimRight(w.Text, "/"), '/')+1:]
		last = strings.TrimRight(last, "/")
		for _, p := range ps {
			if p.Known != Literal {
				continue
			}
			switch {
			case a.has("--parents"), w.Known != Literal && !w.pattern, last == ".", last == "..", last == "":
				p.Tree = true
				if w.Known != Literal && !w.pattern {
					c.UnknownWrites = true
				}
				c.Writes = append(c.Writes, p)
			case w.pattern:
				c.Writes = append(c.Writes, Path{Text: p.Text + "/" + last, Raw: p.Raw + "/" + last, Known: Partial, Glob: true, Base: p.Text, Tree: recursive})
			default:
				c.Writes = append(c.Writes, Path{Text: cleanPath(p.Text + "/" + last), Raw: p.Raw + "/" + last, Known: Literal, Base: cleanPath(p.Text + "/" + last), Tree: recursive})
			}
		}
	}
}

// critical says why the removal of what a word names must never go without a
// person, or "".
func (s *scanner) critical(w Word, dirs []string, recursive bool) string {
	for _, a := range append(w.alts[:len(w.alts):len(w.alts)], w.maybe...) {
		if why := s.critical(a, dirs, recursive); why != "" {
			return why
		}
	}
	what := show(w)
	if w.Known != Literal && !w.pattern {
		return criticalUnknown(w, what)
	}
	for _, p := range resolve(w, dirs) {
		switch {
		case p.Known == Literal:
			if why := s.criticalPath(p.Text, dirs); why != "" {
				return "it removes " + what + ", which is " + why
			}
		case p.Glob && p.Base != "":
			last := p.Text[strings.LastIndexByte(p.Text, '/')+1:]
			everything := strings.Trim(last, "*.?[]!^") == ""
			why := s.criticalPath(p.Base, dirs)
			shallow := p.Base == "/" || s.isHome(p.Base) || s.holdsCwd(p.Base, dirs) && !s.isCwd(p.Base, dirs)
			if why != "" && (shallow || everything && p.Base != "/tmp" && p.Base != "/var/tmp") {
				return "it removes " + what + ", which is all in " + why
			}
			if everything && s.o.InRoots != nil && p.Base != "/" && s.o.InRoots(p.Base) && !s.o.InRoots(parentOf(p.Base)) {
				return "it removes " + what + ", which is all in a working directory"
			}
		case p.Glob:
			return "it removes " + what + ", and it is not known in which directory"
		default: // relative, in a directory that is not known
			t := cleanPath(p.Text)
			if t == "." || t == ".." || strings.HasPrefix(t, "../") {
				return "it removes " + what + ", and it is not known what that is"
			}
		}
	}
	return ""
}

func parentOf(p string) string {
	if k := strings.LastIndexByte(p, '/'); k > 0 {
		return p[:k]
	}
	return "/"
}

// criticalUnknown judges a word that holds an expansion.
func criticalUnknown(w Word, what string) string {
	t := w.Text
	for _, name := range []string{"HOME", "PWD", "OLDPWD"} {
		if strings.HasPrefix(t, "$"+name) && (len(t) == len(name)+1 || t[len(name)+1] == '/') || strings.HasPrefix(t, "${"+name) {
			return "it removes " + what + ", which may be the home or working directory"
		}
	}
	if strings.HasPrefix(t, "~") {
		return "it removes " + what + ", which is the home of a user"
	}
	if w.Prefix != "" && w.Prefix != "/" {
		return ""
	}
	t = strings.TrimPrefix(t, "/")
	if strings.HasPrefix(t, "$(") || strings.HasPrefix(t, "`") {
		return "it removes what " + what + " turns out to be"
	}
	if !strings.HasPrefix(t, "$") {
		return ""
	}
	rest := t[1:]
	if strings.HasPrefix(rest, "{") {
		k := strings.IndexByte(rest, '}')
		if k < 0 {
			return "it removes what " + what + " turns out to be"
		}
		if strings.Contains(rest[:k], ":?") {
			return "" // refuses to be empty
		}
		rest = rest[k+1:]
	} else {
		n := 0
		for n < len(rest) && nameByte(rest[n]) {
			n++
		}
		if n == 0 && len(rest) > 0 {
			n = 1
		}
		rest = rest[n:]
	}
	if w.Prefix == "/" {
		if rest == "" || strings.Trim(rest, "/*") == "" {
			return "it removes " + what + ", which is / when the variable is empty"
		}
		return ""
	}
	if strings.HasPrefix(rest, "/") && !strings.Contains(strings.Trim(rest, "/"), "/") {
		return "it removes " + what + ", which is in / when the variable is empty"
	}
	if rest != "" && strings.Trim(rest, "*.?[]!^") == "" && strings.Contains(rest, "*") {
		return "it removes " + what + ", which is all in the working directory when the variable is empty"
	}
	return ""
}

func (s *scanner) isHome(p string) bool { return isAbs(s.o.Home) && p == cleanPath(s.o.Home) }

func (s *scanner) isCwd(p string, dirs []string) bool {
	for _, d := range dirs {
		if d == p {
			return true
		}
	}
	return isAbs(s.o.Cwd) && cleanPath(s.o.Cwd) == p
}

// holdsCwd tells that p is a working directory or above one.
func (s *scanner) holdsCwd(p string, dirs []string) bool {
	for _, d := range dirs {
		if within(d, p) {
			return true
		}
	}
	return isAbs(s.o.Cwd) && within(cleanPath(s.o.Cwd), p)
}

// criticalPath names what a path is, when it is one that must not be lost.
func (s *scanner) criticalPath(p string, dirs []string) string {
	switch {
	case p == "/":
		return "the root directory"
	case strings.LastIndexByte(p, '/') == 0:
		return "a directory of the system (" + p + ")"
	case isAbs(s.o.Home) && within(cleanPath(s.o.Home), p):
		return "the home directory or above it"
	case s.holdsCwd(p, dirs):
		return "the working directory or above it"
	}
	return ""
}
