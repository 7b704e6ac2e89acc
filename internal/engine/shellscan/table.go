package shellscan

import (
	"strings"
	"sync"
)

// operands says what the words that are no options are.
type operands uint8

const (
	noOperands   operands = iota
	text                  // text that names no file
	files                 // files that are read
	trees                 // files, or directories with all below them
	patternFiles          // one pattern, then files
	patternTrees          // one pattern, then files or directories
)

// program is a row of the read-only table.
type program struct {
	// names are the programs (or program and subcommand) that the row is for,
	// separated by ", ".
	names string
	// flags are the options that change nothing, in the form of flagSet.
	flags string
	args  operands
	// max bounds the number of operands; 0 means no bound.
	max int
	// safe programs have no option at all that writes or runs anything, so that
	// words that are not certain do no harm.
	safe bool
	// stop tells that options end at the first operand.
	stop bool
	// here tells that without operands the working directory is read.
	here bool
	// refuse lists options that write or run: "-o --output: writes a file; …".
	refuse string
	// no says why the program is never read-only (the row is then only there for refuse).
	no string
	// check looks at what the columns above cannot say.
	check func(s *scanner, c *Command, a *args, st state) string
}

// tables are all rows, by topic.
var tables = [][]program{coreTable, textTable, systemTable, devTable, remoteTable, carefulTable, gitTable}

// entry is a row with its parsed options.
type entry struct {
	*program
	once sync.Once
	set  *flagSet
}

func (e *entry) parsed() *flagSet {
	e.once.Do(func() { e.set = parseFlagSet(e.flags) })
	return e.set
}

// index finds rows by name, and tells which programs have rows of two or three words.
var index = sync.OnceValue(func() map[string]*entry {
	m := make(map[string]*entry, 700)
	for _, t := range tables {
		for i := range t {
			e := &entry{program: &t[i]}
			for rest := t[i].names; rest != ""; {
				var name string
				name, rest, _ = strings.Cut(rest, ", ")
				m[name] = e
				for k := strings.LastIndexByte(name, ' '); k > 0; k = strings.LastIndexByte(name[:k], ' ') {
					if m[name[:k]] == nil {
						m[name[:k]] = nil
					}
				}
			}
		}
	}
	return m
})

// lookup finds the row of a command and the number of words that name it.
func lookup(name string, argv []Word) (*entry, int) {
	m := index()
	e, known := m[name]
	if !known {
		return nil, 0
	}
	n := 1
	key := name
	for k := 1; k < len(argv) && k < 4; k++ {
		if argv[k].Known != Literal {
			break
		}
		key += " " + argv[k].Text
		sub, known := m[key]
		if !known {
			break
		}
		e, n = sub, k+1
	}
	return e, n
}

// systemDirs are where a program named by its path is the same as by its name.
var systemDirs = map[string]bool{"/bin/": true, "/usr/bin/": true, "/sbin/": true, "/usr/sbin/": true}

// table applies the read-only table to the innermost command.
func (s *scanner) table(c *Command, u *unwrapped) {
	argv := u.argv
	name := base(argv[0])
	local := name != argv[0].Text && !systemDirs[strings.TrimSuffix(argv[0].Text, name)]
	e, n := lookup(name, argv)
	if e == nil {
		c.deny(name + " is not in the list of programs that change nothing")
		return
	}
	set := e.parsed()
	words := argv[n:]
	if u.stdinArgs {
		words = append(words[:len(words):len(words)], Word{Source: "(words from the input)", Text: "", Multi: true})
	}
	if why := e.refused(words, set); why != "" {
		c.BeyondPrefix = why
		c.deny(why)
	}
	if local {
		c.deny(show(argv[0]) + " is not a program of the system")
	}
	if e.no != "" {
		c.deny(e.no)
		if e.check != nil {
			a := set.parse(name, words, true, false)
			e.check(s, c, &a, u.st)
		}
		if e.args == files || e.args == trees {
			s.mayRead(c, words, u.st)
		}
		return
	}
	c.ReadOnly = c.WhyNot == ""
	a := set.parse(join(argv[:n]), words, e.safe, e.stop)
	if a.why != "" {
		c.deny(a.why)
		c.UnknownReads = true
		if e.args != text && e.args != noOperands {
			s.mayRead(c, words, u.st)
		}
	}
	s.operandReads(c, e.program, &a, u.st)
	if e.check != nil {
		if why := e.check(s, c, &a, u.st); why != "" {
			c.deny(why)
		}
	}
}

// operandReads lists what options and operands name for reading.
func (s *scanner) operandReads(c *Command, p *program, a *args, st state) {
	for _, w := range a.reads {
		s.reads(c, w, st, false)
	}
	for _, w := range a.trees {
		s.reads(c, w, st, true)
	}
	pos := a.pos
	if p.max > 0 && (len(pos) > p.max || a.multi) {
		c.deny("more words than " + a.prog + " only reads")
	}
	switch p.args {
	case noOperands:
		if len(pos) > 0 {
			c.deny("the word " + show(pos[0]) + " of " + a.prog + " is not known to be harmless")
		}
		pos = nil
	case text:
		pos = nil
	case patternFiles, patternTrees:
		if !a.has("-e", "-f", "--regexp", "--file") && len(pos) > 0 {
			if pos[0].Multi && !pos[0].pattern {
				c.UnknownReads = true // it may be the pattern and files
			}
			pos = pos[1:]
		}
	}
	tree := p.args == trees || p.args == patternTrees
	for _, w := range pos {
		s.reads(c, w, st, tree)
	}
	if p.here && len(pos) == 0 {
		s.reads(c, lit("."), st, tree)
	}
}

// mayRead notes the files that words may name where options are not all known:
// operands, and what stands behind = or @ in an option.
func (s *scanner) mayRead(c *Command, words []Word, st state) {
	for _, w := range words {
		if w.Known != Literal || w.Text == "" || len(w.Text) > 4096 {
			continue
		}
		t := w.Text
		if t[0] == '-' {
			_, v, has := strings.Cut(t, "=")
			if !has || v == "" || strings.ContainsAny(v, " \t\n") {
				continue
			}
			t = v
		}
		if !strings.Contains(t, "://") {
			s.reads(c, Word{Source: w.Source, Text: strings.TrimPrefix(t, "@"), Known: Literal}, st, false)
		}
	}
}

// reads notes that a word is a file that is read.
func (s *scanner) reads(c *Command, w Word, st state, tree bool) {
	if w.Known == Literal && (w.Text == "-" || w.Text == "/dev/null" || w.Text == "/dev/stdin" || w.Text == "") {
		return
	}
	if w.placeholder {
		c.Reads = append(c.Reads, st.extra...)
		return
	}
	if w.process {
		return
	}
	ps := resolve(w, st.dirs)
	for i := range ps {
		ps[i].Tree = tree
		if ps[i].Known == Unknown {
			c.UnknownReads = true
		}
		if ps[i].Glob && ps[i].Base == "" {
			c.UnknownReads = true
		}
	}
	c.Reads = append(c.Reads, ps...)
}

// paths resolves words that are written or removed; unknown tells that some cannot be told.
func (s *scanner) paths(ws []Word, st state, tree bool) (out []Path, unknown bool) {
	for _, w := range ws {
		if w.process {
			continue
		}
		ps := resolve(w, st.dirs)
		for i := range ps {
			ps[i].Tree = tree
			unknown = unknown || ps[i].Known == Unknown || ps[i].Glob && ps[i].Base == ""
		}
		if w.Multi && !w.pattern {
			unknown = true
		}
		out = append(out, ps...)
	}
	return out, unknown
}
