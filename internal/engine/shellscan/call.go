package shellscan

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call lists a simple command.
func (s *scanner) call(stmt *syntax.Stmt, call *syntax.CallExpr, st state) flow {
	if call == nil && len(stmt.Redirs) == 0 {
		return same(st.dirs)
	}
	at := len(s.cmds)
	s.cmds = append(s.cmds, Command{})
	c := Command{Nesting: st.nest, Wrappers: st.wrappers}
	if call != nil {
		c.Source = s.text(call, call)
		for _, a := range call.Assigns {
			c.Assigns = append(c.Assigns, s.assign(a, st))
		}
		c.Argv = s.words(call.Args, st)
		if n := len(st.wrappers); n > 0 && st.wrappers[n-1].Name == "time" && len(c.Argv) > 1 && call.Args[0].Lit() == "--" {
			c.Argv = c.Argv[1:] // time -- command
		}
		if len(call.Args) > 0 && reserved[call.Args[0].Lit()] {
			s.complex("a reserved word stands where a program should")
		}
	}
	c.Redirs = s.redirs(stmt.Redirs, st)
	if call == nil {
		c.Source = s.text(stmt.Redirs[0], stmt.Redirs[len(stmt.Redirs)-1])
	}
	f := s.finish(&c, st)
	c.Inner = len(s.cmds) - at - 1
	s.cmds[at] = c
	return f
}

// reserved are the words that bash does not take as the name of a program.
var reserved = map[string]bool{
	"if": true, "then": true, "elif": true, "else": true, "fi": true, "time": true, "for": true, "in": true, "until": true, "while": true, "do": true, "done": true,
	"case": true, "esac": true, "coproc": true, "select": true, "function": true, "{": true, "}": true, "[[": true, "]]": true, "!": true,
}

// decl lists export, declare and their like.
func (s *scanner) decl(stmt *syntax.Stmt, d *syntax.DeclClause, st state) {
	at := len(s.cmds)
	s.cmds = append(s.cmds, Command{})
	c := Command{Nesting: st.nest, Wrappers: st.wrappers, Source: s.text(d, d)}
	c.Argv = append(c.Argv, lit(d.Variant.Value))
	plain := d.Variant.Value == "export" || d.Variant.Value == "local" || d.Variant.Value == "readonly"
	why := ""
	for _, a := range d.Args {
		if a.Name == nil {
			w := s.one(a.Value, st)
			c.Argv = append(c.Argv, w)
			if plain = false; w.Known != Literal || strings.ContainsAny(w.Text, "[=") {
				why = "the variable that it sets is not certain"
			}
			continue
		}
		if a.Naked {
			c.Argv = append(c.Argv, lit(a.Name.Value))
			if !harmlessVar(a.Name.Value) {
				plain = false
			}
			continue
		}
		v := s.assign(a, st)
		c.Argv = append(c.Argv, Word{Source: s.text(a, a), Text: v.text, Known: v.Value.Known})
		s.mayRunValue(&c, v.Name, v.Value)
		if sensitive(v.Name) {
			why = "it sets " + v.Name + ", which changes what later commands do"
		}
		plain = plain && v.Harmless
	}
	c.Redirs = s.redirs(stmt.Redirs, st)
	c.Dirs = st.dirs
	c.Run = c.Argv
	c.setDir()
	c.Forms = []Form{{Text: join(c.Argv), Allow: true}}
	c.BeyondPrefix = why
	if plain && len(d.Args) > 0 && why == "" {
		c.ReadOnly = true
	} else {
		c.WhyNot = d.Variant.Value + " changes variables"
	}
	s.redirEffects(&c)
	c.Inner = len(s.cmds) - at - 1
	s.cmds[at] = c
}

func (s *scanner) assign(a *syntax.Assign, st state) Assign {
	out := Assign{Append: a.Append, Array: a.Array != nil || a.Index != nil}
	if a.Name != nil {
		out.Name = a.Name.Value
	}
	if a.Index != nil && !plainIndex(a.Index) {
		s.complex("a subscript may run commands")
		s.arith(a.Index, st)
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil && !plainIndex(e.Index) {
				s.complex("a subscript may run commands")
				s.arith(e.Index, st)
			}
			if e.Value != nil {
				s.one(e.Value, st)
			}
		}
	}
	if a.Value != nil {
		out.Value = s.one(a.Value, st)
	} else {
		out.Value = Word{Known: Literal}
	}
	op := "="
	if a.Append {
		op = "+="
	}
	out.text = out.Name + op + out.Value.Text
	if out.Array {
		out.text = s.text(a, a)
		out.Value.Known = Unknown
	}
	out.Harmless = harmlessVar(out.Name) && !out.Array && !(localeVar(out.Name) && strings.Contains(out.Value.Text, "/"))
	return out
}

func (s *scanner) redirs(rs []*syntax.Redirect, st state) []Redir {
	if len(rs) == 0 {
		return nil
	}
	out := make([]Redir, 0, len(rs))
	for _, r := range rs {
		x := Redir{Op: r.Op.String()}
		if r.N != nil {
			x.Fd = r.N.Value
			if strings.HasPrefix(x.Fd, "{") {
				s.complex("a redirection sets a variable")
			}
		}
		file := false
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
			file, x.Writes = true, true
		case syntax.RdrIn:
			file, x.Reads = true, true
		case syntax.RdrInOut:
			file, x.Reads, x.Writes = true, true, true
		case syntax.DplIn, syntax.DplOut:
			x.Target = s.one(r.Word, st)
			t := strings.TrimSuffix(x.Target.Text, "-")
			if x.Target.Known == Literal && (isDigits(t) || x.Target.Text == "-") {
				out = append(out, x)
				continue
			}
			// >&word writes both streams to a file.
			file, x.Writes = true, r.Op == syntax.DplOut
			if r.Op == syntax.DplIn {
				s.complex("a descriptor is not certain")
			}
		case syntax.Hdoc, syntax.DashHdoc:
			x.Heredoc = true
			x.Target = s.hereDelim(r)
			x.Body = s.hereBody(r, x.Target.Quoted, st)
			out = append(out, x)
			continue
		case syntax.WordHdoc:
			x.Heredoc = true
			x.Target = s.one(r.Word, st)
			if x.Target.Known == Literal {
				x.Body = x.Target.Text
			}
			out = append(out, x)
			continue
		default:
			s.complex("it uses a redirection of another shell")
			file, x.Writes = true, true
		}
		if file {
			ws := []Word{x.Target}
			if x.Target.Source == "" {
				ws = s.words([]*syntax.Word{r.Word}, st)
			}
			if len(ws) != 1 {
				s.complex("a redirection has several targets")
				ws = append(ws, Word{})[:1]
				ws[0].Known = Unknown
			}
			x.Target = ws[0]
			if end := int(r.Word.End().Offset()); isDigits(x.Target.Source) && end < len(s.src) && (s.src[end] == '<' || s.src[end] == '>') {
				s.complex("a redirection lacks its target") // the digits belong to the next one
			}
			s.target(&x, r, st)
		}
		out = append(out, x)
	}
	return out
}

// target finds out what file a redirection opens.
func (s *scanner) target(x *Redir, r *syntax.Redirect, st state) {
	if len(r.Word.Parts) == 1 {
		if _, ok := r.Word.Parts[0].(*syntax.ProcSubst); ok {
			// The other side is a command, listed on its own.
			x.Reads, x.Writes = false, false
			return
		}
	}
	for _, p := range []string{"/dev/tcp/", "/dev/udp/"} {
		if strings.HasPrefix(x.Target.Text, p) || x.Target.Known != Literal && strings.Contains(x.Target.Text, p) {
			x.Network = true
			s.complex("a redirection opens a network connection")
		}
	}
	if x.Target.Known == Literal {
		switch x.Target.Text {
		case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin":
			x.Reads, x.Writes = false, false
			return
		}
	}
	x.Paths = resolve(x.Target, st.dirs)
}

func (s *scanner) hereDelim(r *syntax.Redirect) Word {
	t := s.text(r.Word, r.Word)
	return Word{Source: t, Text: t, Known: Literal, Quoted: hasQuote(t) || strings.Contains(t, "$")}
}

// hereBody walks a here-document and gives its text when it is certain.
func (s *scanner) hereBody(r *syntax.Redirect, quoted bool, st state) string {
	if r.Hdoc == nil {
		return ""
	}
	if quoted {
		if strings.Contains(r.Word.Lit(), "$") {
			s.complex("a here-document delimiter is not plain")
		}
		if len(r.Hdoc.Parts) == 1 {
			if l, ok := r.Hdoc.Parts[0].(*syntax.Lit); ok {
				return l.Value
			}
		}
	}
	var b strings.Builder
	for _, a := range s.atoms(r.Hdoc.Parts, nil, true, st) {
		if a.unknown {
			return ""
		}
		b.WriteString(a.text)
	}
	return b.String()
}

func (c *Command) setDir() {
	if len(c.Dirs) == 1 {
		c.Dir, c.DirKnown = c.Dirs[0], true
	}
}

// deny marks a command as not read-only, keeping the first reason.
func (c *Command) deny(why string) {
	c.ReadOnly = false
	if c.WhyNot == "" {
		c.WhyNot = why
	}
}

// redirEffects adds what the redirections open.
func (s *scanner) redirEffects(c *Command) {
	for i := range c.Redirs {
		r := &c.Redirs[i]
		if r.Network {
			c.deny("a redirection opens a network connection")
			c.BeyondPrefix = "a redirection opens a network connection"
		}
		unknown := false
		for _, p := range r.Paths {
			unknown = unknown || p.Known == Unknown
		}
		if r.Reads {
			c.Reads = append(c.Reads, r.Paths...)
			c.UnknownReads = c.UnknownReads || unknown || len(r.Paths) == 0
		}
		if r.Writes {
			c.Writes = append(c.Writes, r.Paths...)
			c.UnknownWrites = c.UnknownWrites || unknown || len(r.Paths) == 0
			c.deny("it writes " + show(r.Target) + " (redirection " + r.Op + ")")
		}
	}
}

// show is a word for a message.
func show(w Word) string {
	t := w.Source
	if t == "" {
		t = w.Text
	}
	if len(t) > 60 {
		t = t[:57] + "…"
	}
	return t
}

// join is the canonical text of words.
func join(ws []Word) string {
	if len(ws) == 1 {
		return ws[0].Text
	}
	n := len(ws)
	for i := range ws {
		n += len(ws[i].Text)
	}
	var b strings.Builder
	b.Grow(n)
	for i := range ws {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(ws[i].Text)
	}
	return b.String()
}

// finish fills in all that follows from the words and redirections of a command.
func (s *scanner) finish(c *Command, st state) flow {
	c.Dirs = st.dirs
	c.setDir()
	if len(c.Argv) == 0 {
		c.ReadOnly = true
		text := ""
		for i, a := range c.Assigns {
			if i > 0 {
				text += " "
			}
			text += a.text
			if !a.Harmless && !localVar(a.Name) || a.Array {
				c.deny("it sets the variable " + a.Name)
			}
		}
		if text != "" {
			c.Forms = []Form{{Text: text, Allow: true}}
		}
		s.mayRunValues(c)
		s.redirEffects(c)
		return same(st.dirs)
	}
	u := s.unwrap(c, st)
	c.Run = u.argv
	s.forms(c, u)
	f := s.effects(c, &u)
	s.mayRun(c, &u)
	s.mayRunValues(c)
	for _, a := range c.Assigns {
		if !a.Harmless {
			c.deny("the variable " + a.Name + " may change what it does")
		}
	}
	for i := range c.Wrappers {
		w := &c.Wrappers[i]
		if !w.Harmless && i >= len(st.wrappers) {
			if !w.Quiet {
				c.deny(w.Name + " runs another command")
			}
			if c.BeyondPrefix == "" {
				c.BeyondPrefix = w.Name + " runs another command"
			}
		}
	}
	s.redirEffects(c)
	if c.ReadOnly {
		c.WhyNot = ""
	} else if c.WhyNot == "" {
		c.WhyNot = "it is not known to change nothing"
	}
	return f
}
