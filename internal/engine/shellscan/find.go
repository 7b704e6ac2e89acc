package shellscan

import "strings"

// findWords are the tests and actions of find that only look: how many words follow each.
var findWords = map[string]int{
	"-print": 0, "-print0": 0, "-ls": 0, "-true": 0, "-false": 0, "-depth": 0, "-d": 0, "-empty": 0, "-daystart": 0, "-mount": 0, "-xdev": 0,
	"-follow": 0, "-noleaf": 0, "-prune": 0, "-quit": 0, "-nouser": 0, "-nogroup": 0, "-readable": 0, "-writable": 0, "-executable": 0,
	"-o": 0, "-or": 0, "-a": 0, "-and": 0, "-not": 0, "!": 0, "(": 0, ")": 0, ",": 0, "-warn": 0, "-nowarn": 0, "-ignore_readdir_race": 0,
	"-noignore_readdir_race": 0, "-name": 1, "-iname": 1, "-path": 1, "-ipath": 1, "-wholename": 1, "-iwholename": 1, "-regex": 1, "-iregex": 1,
	"-lname": 1, "-ilname": 1, "-type": 1, "-xtype": 1, "-size": 1, "-mtime": 1, "-atime": 1, "-ctime": 1, "-mmin": 1, "-amin": 1, "-cmin": 1,
	"-newer": 1, "-anewer": 1, "-cnewer": 1, "-samefile": 1, "-perm": 1, "-user": 1, "-group": 1, "-uid": 1, "-gid": 1, "-links": 1, "-inum": 1,
	"-maxdepth": 1, "-mindepth": 1, "-regextype": 1, "-printf": 1, "-used": 1, "-fstype": 1, "-context": 1, "-newermt": 1, "-newerat": 1, "-newerct": 1,
	"-newermm": 1, "-newerma": 1, "-newermc": 1, "-Btime": 1, "-Bmin": 1, "-Bnewer": 1, "-flags": 1, "-depth-first": 0,
}

// find reads the expression of find.
func (s *scanner) find(c *Command, u *unwrapped) {
	words := u.argv[1:]
	st := u.st
	refuse := func(why string) {
		c.deny(why)
		c.BeyondPrefix = why
	}
	i := 0
	for i < len(words) && words[i].Known == Literal {
		t := words[i].Text
		if t != "-H" && t != "-L" && t != "-P" && !(strings.HasPrefix(t, "-O") && isDigits(t[2:])) {
			break
		}
		i++
	}
	var starts []Word
	for ; i < len(words); i++ {
		w := words[i]
		if w.Known != Literal {
			if w.mayBeOption() || w.mayBegin("(!,)") {
				refuse("the word " + show(w) + " may hold an action of find")
				c.UnknownReads = true
				return
			}
		} else if t := w.Text; t == "" || t[0] == '-' && len(t) > 1 || t == "(" || t == "!" || t == ")" || t == "," {
			break
		}
		starts = append(starts, w)
	}
	if len(starts) == 0 {
		starts = []Word{lit(".")}
	}
	for _, w := range starts {
		s.reads(c, w, st, false)
	}
	before := len(s.cmds)
	listed := true // all that it runs is seen
	for ; i < len(words); i++ {
		w := words[i]
		if w.Known != Literal {
			refuse("the word " + show(w) + " may hold an action of find")
			return
		}
		n, ok := findWords[w.Text]
		switch {
		case ok:
			if i+n >= len(words)+boolInt(n == 0) {
				c.deny("find " + w.Text + " lacks its word")
				return
			}
			for k := 1; k <= n; k++ {
				if words[i+k].Multi {
					refuse("the word " + show(words[i+k]) + " may hold an action of find")
					return
				}
			}
			switch w.Text {
			case "-newer", "-anewer", "-cnewer", "-samefile":
				s.reads(c, words[i+1], st, false)
			}
			i += n
		case w.Text == "-exec" || w.Text == "-execdir" || w.Text == "-ok" || w.Text == "-okdir":
			end := i + 1
			for end < len(words) && !(words[end].Known == Literal && (words[end].Text == ";" || words[end].Text == "+" && words[end-1].Text == "{}")) {
				end++
			}
			if end == len(words) || end == i+1 {
				refuse("the command of find " + w.Text + " is not complete")
				return
			}
			run := words[i+1 : end]
			in := st
			if w.Text == "-execdir" || w.Text == "-okdir" {
				in.dirs = nil
			}
			listed = s.runListed(c, run, in, starts, u.argv[:1]) && listed
			c.BeyondPrefix = "find " + w.Text + " runs a command"
			i = end
		case w.Text == "-delete":
			refuse("find -delete removes files")
			removed, unknown := s.paths(starts, st, true)
			c.Removes = append(c.Removes, removed...)
			c.UnknownWrites = c.UnknownWrites || unknown
			listed = false
			for _, x := range starts {
				if why := s.critical(x, st.dirs, true); why != "" && c.Critical == "" && !narrowed(words) {
					c.Critical = why
				}
			}
		case w.Text == "-fprint" || w.Text == "-fprint0" || w.Text == "-fls" || w.Text == "-fprintf":
			refuse("find " + w.Text + " writes a file")
			if i+1 < len(words) {
				s.writes(c, words[i+1], st)
			}
			return
		default:
			refuse("find " + show(w) + " is not known to only look")
			return
		}
	}
	if len(s.cmds) == before {
		c.ReadOnly = c.WhyNot == ""
	} else {
		c.RunsListed = listed
		s.fromInner(c, before)
	}
	if u.stdinArgs {
		c.RunsListed = false
		refuse("words from the input may hold an action of find")
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// narrowed tells that a test limits what find removes to a part that someone chose.
func narrowed(words []Word) bool {
	found := false
	for i, w := range words {
		switch w.Text {
		case "-o", "-or", ",", "!", "-not":
			return false // a choice of several, or all but a few
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex":
			found = found || i+1 < len(words) && strings.Trim(words[i+1].Text, "*?./") != ""
		case "-empty", "-mtime", "-mmin", "-newer", "-newermt":
			found = true
		}
	}
	return found
}

// runListed lists a command that another one runs with file names in place of {}.
// It tells whether all that the command runs is seen.
func (s *scanner) runListed(c *Command, run []Word, st state, starts []Word, by []Word) bool {
	in := withWrapper(c, st, by...)
	var names []Path
	for _, w := range starts {
		ps := resolve(w, c.Dirs)
		for i := range ps {
			ps[i].Tree = true
		}
		names = append(names, ps...)
	}
	argv := make([]Word, len(run))
	for i, w := range run {
		argv[i] = w
		if w.Known == Literal && strings.Contains(w.Text, "{}") {
			// File names begin with the start, which is no option.
			argv[i].Known, argv[i].Prefix, argv[i].placeholder = Partial, "./", w.Text == "{}"
			if !argv[i].placeholder {
				argv[i].Known, argv[i].Prefix = Unknown, ""
			}
			if i == 0 {
				argv[i].Known, argv[i].Prefix = Unknown, ""
			}
		}
	}
	in.extra = names
	at := len(s.cmds)
	s.cmds = append(s.cmds, Command{})
	x := Command{Nesting: in.nest, Wrappers: in.wrappers, Source: join(run), Argv: argv}
	s.finish(&x, in)
	x.Inner = len(s.cmds) - at - 1
	s.cmds[at] = x
	return !x.RunsUnknown
}

// fdExec lists what fd runs.
func (s *scanner) fdExec(c *Command, u *unwrapped) {
	for i, w := range u.argv {
		switch w.Text {
		case "-x", "--exec", "-X", "--exec-batch":
			if i+1 < len(u.argv) {
				s.runListed(c, u.argv[i+1:], u.st, []Word{lit(".")}, u.argv[:1])
			}
			return
		}
	}
}

// writes notes that a word is a file that is written.
func (s *scanner) writes(c *Command, w Word, st state) {
	ps, unknown := s.paths([]Word{w}, st, false)
	c.Writes = append(c.Writes, ps...)
	c.UnknownWrites = c.UnknownWrites || unknown
}
