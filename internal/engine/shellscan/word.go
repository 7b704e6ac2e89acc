package shellscan

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// lit is a literal word.
func lit(text string) Word { return Word{Source: text, Text: text, Known: Literal} }

// atom is a part of a word before brace expansion.
type atom struct {
	text    string // the value, or the text as written when unknown
	quoted  bool
	unknown bool
	multi   bool   // an unquoted expansion
	glob    bool   // an extended pattern
	process bool   // a process substitution
	items   []Word // the values of a loop variable
	split   bool   // the values may be split into words, or be patterns
}

// words evaluates words, listing the commands of their substitutions.
func (s *scanner) words(ws []*syntax.Word, st state) []Word {
	out := make([]Word, 0, len(ws))
	for _, w := range ws {
		if w == nil {
			continue
		}
		if len(w.Parts) == 1 {
			if l, ok := w.Parts[0].(*syntax.Lit); ok && plainLit(l.Value) {
				out = append(out, Word{Source: l.Value, Text: l.Value, Known: Literal})
				continue
			}
		}
		atoms := s.atoms(w.Parts, nil, false, st)
		src := s.text(w, w)
		alts, braced, ok := braceExpand(atoms)
		if !ok {
			s.complex("a brace expansion is not plain")
			out = append(out, Word{Source: src, Text: src, Multi: true, Braced: true})
			continue
		}
		for _, a := range alts {
			x := s.join(a, src, st)
			x.Braced = braced
			out = append(out, x)
		}
	}
	return out
}

// plainLit tells that a literal means itself.
func plainLit(v string) bool {
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '\\', '*', '?', '[', '{', '~', ']', '}', '!', '^':
			return false
		}
	}
	return true
}

// one evaluates a word to which no brace expansion applies.
func (s *scanner) one(w *syntax.Word, st state) Word {
	if w == nil {
		return Word{Known: Literal}
	}
	return s.join(s.atoms(w.Parts, nil, false, st), s.text(w, w), st)
}

func (s *scanner) atoms(parts []syntax.WordPart, out []atom, quoted bool, st state) []atom {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			out = litAtoms(out, p.Value, quoted)
		case *syntax.SglQuoted:
			if !p.Dollar {
				out = append(out, atom{text: p.Value, quoted: true})
				continue
			}
			v, ok := ansiC(p.Value)
			if !ok {
				s.complex("a $'…' string is not plain")
				out = append(out, atom{text: s.text(p, p), quoted: true, unknown: true})
				continue
			}
			out = append(out, atom{text: v, quoted: true})
		case *syntax.DblQuoted:
			if p.Dollar {
				s.complex("a $\"…\" string is translated before it is used")
			}
			n := len(out)
			out = s.atoms(p.Parts, out, true, st)
			if len(out) == n {
				out = append(out, atom{quoted: true})
			}
		case *syntax.ParamExp:
			out = append(out, s.param(p, quoted, st))
		case *syntax.CmdSubst:
			if p.TempFile || p.ReplyVar {
				s.complex("it uses syntax of another shell")
			}
			if p.Backquotes && strings.Contains(s.text(p, p), "\\") {
				s.complex("backslashes inside backquotes are not plain")
			}
			in := st
			in.nest |= InSubstitution
			in.sub = true
			if v, ok := s.hereText(p); ok && quoted {
				out = append(out, atom{text: v, quoted: true})
				s.list(p.Stmts, in)
				continue
			}
			s.list(p.Stmts, in)
			out = append(out, atom{text: s.text(p, p), quoted: quoted, unknown: true, multi: !quoted})
		case *syntax.ProcSubst:
			in := st
			in.nest |= InSubstitution
			in.sub = true
			s.list(p.Stmts, in)
			if p.Op != syntax.CmdIn && p.Op != syntax.CmdOut {
				s.complex("it uses syntax of another shell")
			}
			out = append(out, atom{text: s.text(p, p), quoted: true, unknown: true, process: true})
		case *syntax.ArithmExp:
			if p.Bracket || p.Unsigned {
				s.complex("it uses an old form of arithmetic")
			}
			s.arith(p.X, st)
			out = append(out, atom{text: s.text(p, p), quoted: true, unknown: true})
		case *syntax.ExtGlob:
			// Bash knows them only when an option of the shell is on.
			s.complex("an extended pattern means something only with an option of the shell")
			out = append(out, atom{text: s.text(p, p), glob: true, unknown: true, multi: true})
		default:
			s.complex("it uses syntax that is not known here")
			out = append(out, atom{text: s.text(p, p), unknown: true, multi: true})
		}
	}
	return out
}

// hereText recognises $(cat <<'EOF' …): the way to write a long literal argument.
func (s *scanner) hereText(c *syntax.CmdSubst) (string, bool) {
	if len(c.Stmts) != 1 || c.Backquotes {
		return "", false
	}
	st := c.Stmts[0]
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 || len(call.Assigns) != 0 || call.Args[0].Lit() != "cat" || len(st.Redirs) != 1 || st.Background || st.Negated {
		return "", false
	}
	r := st.Redirs[0]
	if r.Op != syntax.Hdoc || r.N != nil || r.Hdoc == nil || len(r.Hdoc.Parts) != 1 || s.funcs["cat"] {
		return "", false
	}
	l, ok := r.Hdoc.Parts[0].(*syntax.Lit)
	if !ok || !hasQuote(s.text(r.Word, r.Word)) || strings.Contains(l.Value, "\x00") {
		return "", false
	}
	return strings.TrimRight(l.Value, "\n"), true
}

func hasQuote(w string) bool { return strings.ContainsAny(w, `'"\`) }

// litAtoms takes the backslashes out of a literal.
func litAtoms(out []atom, v string, quoted bool) []atom {
	if !strings.Contains(v, "\\") {
		return append(out, atom{text: v, quoted: quoted})
	}
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			out = append(out, atom{text: b.String(), quoted: quoted})
			b.Reset()
		}
	}
	for i := 0; i < len(v); i++ {
		c := v[i]
		if c != '\\' || i+1 == len(v) {
			b.WriteByte(c)
			continue
		}
		i++
		switch {
		case v[i] == '\n':
		case quoted && !strings.ContainsRune("$`\"\\", rune(v[i])):
			b.WriteByte('\\')
			b.WriteByte(v[i])
		case quoted:
			b.WriteByte(v[i])
		default:
			flush()
			out = append(out, atom{text: v[i : i+1], quoted: true})
		}
	}
	flush()
	return out
}

// ansiC decodes the body of $'…' where its meaning is certain.
func ansiC(v string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' {
			b.WriteByte(v[i])
			continue
		}
		i++
		if i == len(v) {
			return "", false
		}
		switch c := v[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '\\', '\'', '"', '?':
			b.WriteByte(c)
		case 'x', '0', '1', '2', '3', '4', '5', '6', '7':
			base, limit := 8, 3
			if c == 'x' {
				base, limit = 16, 2
				i++
			}
			n, k := 0, 0
			for ; k < limit && i < len(v); k++ {
				d := digit(v[i])
				if d >= base {
					break
				}
				n, i = n*base+d, i+1
			}
			i--
			// Control characters and bytes beyond ASCII are not text that can be compared.
			if k == 0 || n < ' ' || n > 0x7e {
				return "", false
			}
			b.WriteByte(byte(n))
		default:
			return "", false
		}
	}
	return b.String(), true
}

// digit is the value of a hexadecimal digit, or more than any base.
func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 99
}

// join makes a word of its parts.
func (s *scanner) join(atoms []atom, src string, st state) Word {
	w := Word{Source: src, Known: Literal}
	if len(atoms) > 0 && !atoms[0].quoted && !atoms[0].unknown && strings.HasPrefix(atoms[0].text, "~") {
		atoms = s.tilde(atoms)
	}
	n := 0
	for _, a := range atoms {
		n += len(a.text)
	}
	var b strings.Builder
	b.Grow(n)
	open := true // still in the literal prefix
	w.pattern = true
	for n, a := range atoms {
		if a.unknown || a.quoted && strings.ContainsAny(a.text, "*?[\\") {
			w.pattern = false
		}
		w.Quoted = w.Quoted || a.quoted
		w.Multi = w.Multi || a.multi
		if a.glob {
			w.Glob = true
		}
		if a.unknown {
			if open {
				w.Prefix = b.String()
			}
			open = false
			w.Known = Unknown
		} else if !a.quoted {
			if k := globAt(atoms, n); k >= 0 {
				w.Glob, w.Multi = true, true
				if open {
					w.Prefix = b.String() + a.text[:k]
				}
				open = false
			}
		}
		b.WriteString(a.text)
	}
	w.Text = b.String()
	if values, split := alternatives(atoms); split {
		w.maybe = values
	} else if w.alts = values; values != nil {
		w.Multi = false
	}
	if len(atoms) == 1 && atoms[0].process {
		w.process, w.Prefix = true, "/dev/fd/"
	}
	w.pattern = w.pattern && w.Glob
	if !open {
		w.Known = Unknown
		if w.Prefix != "" || w.Glob {
			w.Known = Partial
		}
	}
	return w
}

// loopItems gives the words that a loop variable takes, when nothing else in the
// script sets it.
func (s *scanner) loopItems(name string, st state) []Word {
	if len(st.vars) == 0 || s.depth > 1 {
		return nil
	}
	for i := len(st.vars) - 1; i >= 0; i-- {
		if st.vars[i].name == name {
			if setAgain(s.whole, name) {
				return nil
			}
			return st.vars[i].items
		}
	}
	return nil
}

// setAgain tells that a name stands more than once where it could be set.
func setAgain(src, name string) bool {
	n := 0
	for from := 0; ; {
		k := strings.Index(src[from:], name)
		if k < 0 {
			return n > 1
		}
		k += from
		from = k + len(name)
		if k > 0 && (nameByte(src[k-1]) || strings.IndexByte("-/.$", src[k-1]) >= 0 || src[k-1] == '{' && k > 1 && src[k-2] == '$') ||
			from < len(src) && (nameByte(src[from]) || strings.IndexByte("./", src[from]) >= 0) {
			continue
		}
		n++
	}
}

// unsplit tells that each of the words stays one word of the same text when it
// stands somewhere without quotes.
func unsplit(items []Word) bool {
	for _, w := range items {
		if w.Known != Literal || w.Text == "" || strings.ContainsAny(w.Text, " \t\n*?[\\") {
			return false
		}
	}
	return true
}

// alternatives are the values of a word with one loop variable in it. split tells
// that they may be split or expanded further.
func alternatives(atoms []atom) (out []Word, split bool) {
	at := -1
	for i, a := range atoms {
		switch {
		case a.unknown && (a.items == nil || at >= 0):
			return nil, false
		case a.unknown:
			at = i
		case strings.ContainsAny(a.text, "*?[\\"):
			return nil, false // beside a pattern it could not be told what is one
		}
	}
	if at < 0 {
		return nil, false
	}
	pre, post := "", ""
	for i, a := range atoms {
		if i < at {
			pre += a.text
		} else if i > at {
			post += a.text
		}
	}
	out = make([]Word, 0, len(atoms[at].items))
	for _, item := range atoms[at].items {
		if item.Known != Literal && !item.pattern || item.Text == "" && pre == "" {
			return nil, false
		}
		item.Text, item.Prefix, item.Multi = pre+item.Text+post, pre+item.Prefix, false
		out = append(out, item)
	}
	return out, atoms[at].split
}

// globAt gives the place of the first pattern character in the n-th part, or -1. A
// bracket is one only when something behind it may close it.
func globAt(atoms []atom, n int) int {
	t := atoms[n].text
	for i := 0; i < len(t); i++ {
		switch t[i] {
		case '*', '?':
			return i
		case '[':
			if strings.IndexByte(t[i+1:], ']') >= 0 {
				return i
			}
			for _, a := range atoms[n+1:] {
				if a.unknown || strings.IndexByte(a.text, ']') >= 0 {
					return i
				}
			}
		}
	}
	return -1
}

// tilde replaces ~ and ~/ by the home directory.
func (s *scanner) tilde(atoms []atom) []atom {
	t := atoms[0].text
	out := append([]atom(nil), atoms...)
	rest, slash := t[1:], strings.HasPrefix(t[1:], "/")
	if (slash || rest == "" && len(atoms) == 1) && isAbs(s.o.Home) && !s.assigned("HOME") {
		out[0] = atom{text: s.o.Home, quoted: true}
		return append(out[:1], append([]atom{{text: rest}}, atoms[1:]...)...)
	}
	out[0].unknown = true
	return out
}

// assigned tells whether the script may set a variable: its name stands
// somewhere without $ in front.
func (s *scanner) assigned(name string) bool {
	return setIn(s.whole, name) || len(s.src) != len(s.whole) && setIn(s.src, name)
}

func setIn(src, name string) bool {
	for from := 0; ; {
		k := strings.Index(src[from:], name)
		if k < 0 {
			return false
		}
		k += from
		from = k + len(name)
		if k > 0 && (src[k-1] == '$' || src[k-1] == '{' && k > 1 && src[k-2] == '$') {
			continue
		}
		return true
	}
}

// param evaluates $name and ${…}.
func (s *scanner) param(p *syntax.ParamExp, quoted bool, st state) atom {
	text := s.text(p, p)
	unknown := atom{text: text, quoted: quoted, unknown: true, multi: !quoted}
	if p.Flags != nil || p.NestedParam != nil || len(p.Modifiers) > 0 || p.Width || p.IsSet || p.Param == nil ||
		p.Split != syntax.OptUnset || p.GlobSubst != syntax.OptUnset || p.RcExpand != syntax.OptUnset {
		s.complex("it uses syntax of another shell")
		return unknown
	}
	name := p.Param.Value
	if quoted && name == "@" {
		unknown.multi = true
	}
	if p.Excl && p.Names == 0 {
		s.complex("an indirect expansion evaluates what a variable holds")
	}
	plain := !p.Excl && !p.Length && p.Names == 0
	if p.Index != nil {
		plain = false
		if !plainIndex(p.Index) {
			s.complex("a subscript may run commands")
			s.arith(p.Index, st)
		}
		if quoted {
			unknown.multi = true
		}
	}
	if p.Slice != nil {
		plain = false
		for _, e := range []syntax.ArithmExpr{p.Slice.Offset, p.Slice.Length} {
			if e != nil {
				s.arith(e, st)
			}
		}
	}
	if p.Repl != nil {
		plain = false
		s.one(p.Repl.Orig, st)
		s.one(p.Repl.With, st)
	}
	if p.Exp != nil {
		plain = false
		switch p.Exp.Op {
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			s.complex("an expansion sets a variable")
		case syntax.OtherParamOps:
			s.complex("an expansion may run what a variable holds")
		}
		s.one(p.Exp.Word, st)
	}
	if !plain {
		return unknown
	}
	v, ok := s.value(name, st)
	if !ok || !quoted && strings.ContainsAny(v, " \t\n*?[\\") {
		if !ok {
			unknown.items = s.loopItems(name, st)
			unknown.split = !quoted && (!unsplit(unknown.items) || s.assigned("IFS"))
		}
		return unknown
	}
	return atom{text: v, quoted: true}
}

// value gives the certain value of a variable.
func (s *scanner) value(name string, st state) (string, bool) {
	if name == "" || s.depth > 1 && st.nest&InString != 0 || s.assigned(name) {
		return "", false
	}
	switch name {
	case "HOME":
		return s.o.Home, isAbs(s.o.Home)
	case "PWD":
		if len(st.dirs) == 1 {
			return st.dirs[0], true
		}
		return "", false
	}
	if s.o.Env == nil {
		return "", false
	}
	return s.o.Env(name)
}

// plainIndex tells that a subscript is a number, @ or *.
func plainIndex(e syntax.ArithmExpr) bool {
	w, ok := e.(*syntax.Word)
	if !ok {
		return false
	}
	l := w.Lit()
	return l == "@" || l == "*" || isDigits(l)
}

func isDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
