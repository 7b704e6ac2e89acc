package shellscan

import "strings"

// sedFlags are the options of sed that change nothing by themselves; -i makes an edit.
const sedFlags = "-n -E -r -s -u -z -l: -e: -f< -i? --quiet --silent --regexp-extended --expression: --file< --separate --unbuffered --null-data " +
	"--line-length: --posix --debug --sandbox --version --help --in-place? --follow-symlinks"

// sed reads a call of sed.
func (s *scanner) sed(c *Command, u *unwrapped) {
	refuse := func(why string) {
		c.deny(why)
		c.BeyondPrefix = why
		c.UnknownReads = true
	}
	words := u.argv[1:]
	a := parseFlagSet(sedFlags).parse("sed", words, false, false)
	if a.why != "" {
		refuse(a.why)
		c.UnknownWrites = true
		return
	}
	files := a.pos
	var scripts []Word
	for _, x := range a.uses {
		if x.name == "-e" || x.name == "--expression" {
			scripts = append(scripts, x.value)
		}
	}
	edit := a.has("-i", "--in-place")
	if a.has("-f", "--file") {
		for _, w := range a.reads {
			s.reads(c, w, u.st, false)
		}
		refuse("the sed script comes from a file")
	} else if len(scripts) == 0 && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	if u.stdinArgs {
		files = append(files[:len(files):len(files)], Word{Text: "(words from the input)", Multi: true})
		if a.guarded < 0 {
			refuse("words from the input may hold an option of sed")
		}
	}
	text := ""
	for i, w := range scripts {
		if w.Known != Literal {
			refuse("the sed script is not certain")
			edit = edit && false
			break
		}
		if i > 0 {
			text += "\n"
		}
		text += w.Text
	}
	if c.BeyondPrefix == "" {
		p := sedProgram{src: text}
		p.run()
		switch {
		case p.bad != "":
			refuse(p.bad)
		case p.exec:
			refuse("the sed script runs a command")
			u.texts = p.runs
		}
		for _, f := range p.reads {
			s.reads(c, lit(f), u.st, false)
		}
		for _, f := range p.writes {
			s.writes(c, lit(f), u.st)
			refuse("the sed script writes a file")
		}
	}
	for _, w := range files {
		s.reads(c, w, u.st, false)
	}
	if !a.has("-i", "--in-place") {
		c.ReadOnly = c.WhyNot == ""
		return
	}
	var unknown bool
	paths, unknown := s.paths(files, u.st, false)
	c.Writes = append(c.Writes, paths...)
	suffix, _ := a.value("-i", "--in-place")
	if suffix.Text != "" {
		for _, p := range paths {
			if strings.ContainsAny(suffix.Text, "*/") || p.Known != Literal {
				unknown = true
				continue
			}
			p.Text, p.Raw, p.Base = p.Text+suffix.Text, p.Raw+suffix.Text, p.Base+suffix.Text
			c.Writes = append(c.Writes, p)
		}
	}
	c.UnknownWrites = c.UnknownWrites || unknown
	if edit && c.BeyondPrefix == "" {
		c.FileEdit = &SedEdit{Script: text, Quiet: a.has("-n", "--quiet", "--silent"), Extended: a.has("-E", "-r", "--regexp-extended"), Suffix: suffix.Text, Files: paths}
		c.FileCommand = true
	}
	c.deny("sed -i edits files")
}

// sedProgram reads a sed script as far as is needed to know that it only prints.
type sedProgram struct {
	src           string
	i             int
	reads, writes []string
	exec          bool
	runs          []string // what it may run, as far as that is text
	bad           string
}

func (p *sedProgram) fail(why string) {
	if p.bad == "" {
		p.bad = why
	}
	p.i = len(p.src)
}

func (p *sedProgram) peek() byte {
	if p.i < len(p.src) {
		return p.src[p.i]
	}
	return 0
}

func (p *sedProgram) blanks(set string) {
	for p.i < len(p.src) && strings.IndexByte(set, p.src[p.i]) >= 0 {
		p.i++
	}
}

func (p *sedProgram) run() {
	for p.i < len(p.src) {
		p.blanks(" \t\n;")
		if p.i == len(p.src) {
			return
		}
		if p.peek() == '#' {
			p.line()
			continue
		}
		if p.address() {
			p.blanks(" \t")
			if p.peek() == ',' {
				p.i++
				p.blanks(" \t")
				if c := p.peek(); c == '+' || c == '~' {
					p.i++
				}
				if !p.address() {
					p.fail("the sed script is not understood")
				}
			}
		}
		p.blanks(" \t!")
		p.command()
	}
}

// address takes one address, if there is one.
func (p *sedProgram) address() bool {
	switch c := p.peek(); {
	case c >= '0' && c <= '9':
		p.blanks("0123456789")
		if p.peek() == '~' {
			p.i++
			p.blanks("0123456789")
		}
		return true
	case c == '$':
		p.i++
		return true
	case c == '/' || c == '\\':
		if c == '\\' {
			if p.i++; p.i >= len(p.src) {
				p.fail("the sed script is not understood")
				return false
			}
		}
		d := p.peek()
		p.i++
		p.until(d)
		for c := p.peek(); c == 'I' || c == 'M'; c = p.peek() {
			p.i++
		}
		return true
	}
	return false
}

// until takes text up to an unescaped delimiter.
func (p *sedProgram) until(d byte) {
	if d == '\n' || d == '\\' || d >= 0x80 || d == 0 {
		p.fail("the sed script is not understood")
		return
	}
	bracket := false
	for p.i < len(p.src) {
		c := p.src[p.i]
		switch {
		case c == '\\':
			p.i++
		case c == d:
			if bracket {
				// Whether a delimiter inside brackets ends the text differs between seds.
				p.fail("the sed script is not understood")
				return
			}
			p.i++
			return
		case c == '[':
			if rest := strings.TrimPrefix(p.src[p.i+1:], "^"); strings.HasPrefix(rest, "]") {
				p.fail("the sed script is not understood")
				return
			}
			bracket = true
		case c == ']':
			bracket = false
		case c == '\n':
			p.fail("the sed script is not understood")
			return
		}
		p.i++
	}
	p.fail("the sed script is not understood")
}

// replacement takes the second part of s and y, which knows no brackets.
func (p *sedProgram) replacement(d byte) {
	for p.i < len(p.src) {
		c := p.src[p.i]
		if c == '\\' {
			p.i += 2
			continue
		}
		p.i++
		if c == d {
			return
		}
	}
	p.fail("the sed script is not understood")
}

// line takes the rest of the line.
func (p *sedProgram) line() string {
	rest := p.src[p.i:]
	if k := strings.IndexByte(rest, '\n'); k >= 0 {
		rest = rest[:k]
	}
	p.i += len(rest)
	return strings.TrimLeft(rest, " \t")
}

// end requires that the command is over.
func (p *sedProgram) end() {
	p.blanks(" \t")
	switch p.peek() {
	case 0, ';', '\n', '}', '#':
	default:
		p.fail("the sed script is not understood")
	}
}

func (p *sedProgram) command() {
	c := p.peek()
	p.i++
	switch c {
	case '{', '}':
	case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		p.end()
	case 'l', 'L', 'q', 'Q':
		p.blanks(" \t0123456789")
		p.end()
	case 'b', 't', 'T', ':':
		p.blanks(" \t")
		for x := p.peek(); nameByte(x) || x == '-' || x == '.'; x = p.peek() {
			p.i++
		}
		p.end()
	case 'a', 'i', 'c':
		p.text()
	case 's':
		d := p.peek()
		p.i++
		p.until(d)
		from := p.i
		p.replacement(d)
		p.flags(strings.TrimSuffix(p.src[from:min(p.i, len(p.src))], string(d)))
	case 'y':
		d := p.peek()
		p.i++
		p.replacement(d)
		p.replacement(d)
		p.end()
	case 'r', 'R':
		f := p.line()
		if f == "" {
			p.fail("the sed script is not understood")
		}
		p.reads = append(p.reads, f)
	case 'w', 'W':
		p.write(p.line())
	case 'e':
		p.exec = true
		p.runs = append(p.runs, p.line())
	case 'v':
		p.line()
	default:
		p.fail("the sed script is not understood")
	}
}

func (p *sedProgram) write(file string) {
	if file == "/dev/stdout" || file == "/dev/stderr" {
		return
	}
	p.writes = append(p.writes, file)
}

// text takes the text of a, i and c, with its continuation lines.
func (p *sedProgram) text() {
	for p.i < len(p.src) {
		c := p.src[p.i]
		if c == '\\' {
			p.i += 2
			continue
		}
		if c == '\n' {
			break
		}
		p.i++
	}
	p.i = min(p.i, len(p.src))
}

// flags takes the flags of s, which puts text in.
func (p *sedProgram) flags(text string) {
	for p.i < len(p.src) {
		switch c := p.src[p.i]; {
		case strings.IndexByte("gpiIMm0123456789", c) >= 0:
			p.i++
		case c == 'w':
			p.i++
			p.write(p.line())
			return
		case c == 'e':
			p.exec = true
			p.runs = append(p.runs, text)
			p.i++
		default:
			p.end()
			return
		}
	}
}
