package shellscan

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// whyPanic is the reason of a script on which the scanner itself failed.
const whyPanic = "the command could not be understood"

// Scan reads one command line as bash would. It never panics, runs nothing, and
// may be called from many goroutines at once.
func Scan(src string, o Options) (out *Script) {
	s := &scanner{src: src, whole: src, o: o, class: Simple}
	defer func() {
		if r := recover(); r != nil {
			out = &Script{Source: src, Class: Invalid, Why: whyPanic}
		}
	}()
	if why, fatal := badText(src); fatal {
		return &Script{Source: src, Class: Invalid, Why: why}
	} else if why != "" {
		s.complex(why)
	}
	if len(src) > MaxParsed {
		return &Script{Source: src, Class: TooComplex, Why: "the command is longer than can be checked"}
	}
	st := state{}
	if isAbs(o.Cwd) {
		st.dirs = []string{cleanPath(o.Cwd)}
	}
	end, err := s.script(src, st)
	out = &Script{Source: src, Class: s.class, Why: s.why, Commands: s.cmds, ChangesDir: s.cd}
	if err != "" {
		out.Class, out.Why = Invalid, err
	}
	if s.cd {
		if d := end.ok; len(d) == 1 {
			out.Dir = d[0]
		}
	}
	return out
}

// scanner holds what one scan has found so far.
type scanner struct {
	src   string // the text that positions of the tree being walked refer to
	whole string // the whole command line
	o     Options
	class Class
	why   string
	cmds  []Command
	depth int
	cd    bool
	funcs map[string]bool
	stmts int
	// guesses counts what was read as a command that may be run; guessed tells that
	// this is such a reading of words, in which no further words are guessed.
	guesses int
	guessed bool
}

// state is what is known at one point of the script.
type state struct {
	dirs     []string // possible directories; nil when unknown
	nest     Nesting
	wrappers []Wrapper
	vars     []binding // loop variables, innermost last
	extra    []Path    // what the word {} stands for, inside find -exec
	replace  string    // what xargs replaces by words from its input
	sub      bool      // a directory change here does not reach the calling shell
}

// binding is a loop variable and the words that it takes.
type binding struct {
	name  string
	items []Word
}

// flow is the set of possible directories after success and after failure.
type flow struct{ ok, fail []string }

func same(d []string) flow { return flow{d, d} }

func (f flow) any() []string { return union(f.ok, f.fail) }

// union gives all directories of both, or nil (unknown) when either is unknown or they are too many.
func union(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	if len(a) == 1 && len(b) == 1 && a[0] == b[0] {
		return a
	}
	out := append([]string(nil), a...)
next:
	for _, d := range b {
		for _, e := range out {
			if d == e {
				continue next
			}
		}
		out = append(out, d)
	}
	if len(out) > maxDirs {
		return nil
	}
	return out
}

func (s *scanner) complex(why string) {
	if s.class == Simple {
		s.class, s.why = TooComplex, why
	}
}

// badText looks for characters that make a command mean something else than it
// shows. fatal tells that no command may hold them.
func badText(src string) (why string, fatal bool) {
	plain := true
	for i := 0; i < len(src); i++ {
		c := src[i]
		if c == 0 {
			return "the command holds a NUL character", true
		}
		if c >= utf8.RuneSelf {
			plain = false
			continue
		}
		if why == "" && (c < ' ' && c != '\n' && c != '\t' || c == 0x7f) {
			if c == '\r' {
				why = "the command holds a carriage return"
			} else {
				why = "the command holds a control character"
			}
		}
	}
	n := len(src)
	if !plain {
		if !utf8.ValidString(src) {
			return "the command is not valid UTF-8", false
		}
		n = 0
		for _, r := range src {
			n++
			if r >= utf8.RuneSelf && why == "" {
				why = badRune(r)
			}
		}
	}
	if n > MaxLength {
		why = "the command is longer than 10,000 characters"
	}
	return why, false
}

// badRune says why a character outside ASCII hides what a command does.
func badRune(r rune) string {
	switch {
	case unicode.Is(unicode.Bidi_Control, r):
		return "the command holds a character that reorders text"
	case unicode.IsSpace(r) || unicode.Is(unicode.Z, r):
		return "the command holds a blank that the shell does not take as one"
	case unicode.Is(unicode.C, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r),
		unicode.Is(unicode.Variation_Selector, r) && r != 0xfe0f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2800, r == 0x034f:
		return "the command holds an invisible character"
	}
	return ""
}

// script walks a command string in the given state. err tells that it does not parse.
func (s *scanner) script(src string, st state) (flow, string) {
	if s.depth >= MaxDepth {
		s.complex("command strings are nested too deep")
		return same(nil), ""
	}
	if why := quirks(src); why != "" {
		s.complex(why)
	}
	var stmts []*syntax.Stmt
	var err error
	// Not with range: at an error the parser may call once more after it was told to stop.
	syntax.NewParser(syntax.Variant(syntax.LangBash)).StmtsSeq(strings.NewReader(src))(func(stmt *syntax.Stmt, e error) bool {
		switch {
		case err != nil:
		case e != nil:
			err = e
		default:
			stmts = append(stmts, stmt)
		}
		return err == nil
	})
	old := s.src
	s.src = src
	s.depth++
	f := s.list(stmts, st)
	s.depth--
	s.src = old
	if err != nil {
		// Bash runs the lines in front of the error before it finds it.
		return same(nil), "it does not parse as bash: " + parseMessage(err)
	}
	return f, ""
}

func parseMessage(err error) string {
	m := strings.TrimPrefix(err.Error(), ":")
	if len(m) > 200 {
		m = m[:200]
	}
	return m
}

// inner walks a command string that a command runs, which need not parse.
func (s *scanner) inner(src string, st state) flow {
	st.nest |= InString
	f, err := s.script(src, st)
	if err != "" {
		s.complex("a command string inside it cannot be parsed")
	}
	return f
}

// quirks finds spellings that this parser and bash may read differently.
func quirks(src string) string {
	for i := 0; i+1 < len(src); i++ {
		if src[i] == '}' && (src[i+1] == '<' || src[i+1] == '>') && variableRedirect(src[:i]) {
			return "a redirection sets a variable"
		}
		if src[i] != '\\' {
			continue
		}
		if src[i+1] == '\n' {
			// A continuation between words is everyday; inside a word it hides one.
			if i > 0 && src[i-1] != ' ' && src[i-1] != '\t' {
				return "a line continuation stands inside a word"
			}
		}
		i++
	}
	return ""
}

// variableRedirect tells that text ends as {name, which makes {name}> a
// redirection that bash and other readers split differently.
func variableRedirect(text string) bool {
	k := len(text)
	for k > 0 && (nameByte(text[k-1]) || text[k-1] == '[' || text[k-1] == ']') {
		k--
	}
	return k > 0 && k < len(text) && text[k-1] == '{' && (k < 2 || text[k-2] != '$')
}

// list walks statements one after the other.
func (s *scanner) list(stmts []*syntax.Stmt, st state) flow {
	f := same(st.dirs)
	for _, stmt := range stmts {
		f = s.stmt(stmt, st)
		st.dirs = f.any()
	}
	return f
}

func (s *scanner) stmt(stmt *syntax.Stmt, st state) flow {
	if s.stmts++; s.stmts > MaxCommands*4 || len(s.cmds) >= MaxCommands {
		s.complex("it holds too many commands")
		return same(nil)
	}
	if stmt.Coprocess || stmt.Disown {
		s.complex("it uses syntax of another shell")
	}
	in := st.dirs
	if stmt.Background {
		st.nest |= InBackground
		st.sub = true
	}
	var f flow
	if call, ok := stmt.Cmd.(*syntax.CallExpr); ok || stmt.Cmd == nil {
		f = s.call(stmt, call, st)
	} else if decl, ok := stmt.Cmd.(*syntax.DeclClause); ok {
		s.decl(stmt, decl, st)
		f = same(in)
	} else {
		if len(stmt.Redirs) > 0 {
			s.compoundRedirs(stmt, st)
		}
		f = s.command(stmt.Cmd, st)
	}
	if stmt.Negated {
		f.ok, f.fail = f.fail, f.ok
	}
	if stmt.Background {
		return same(in)
	}
	return f
}

// compoundRedirs lists the redirections of a compound command as a command without words.
func (s *scanner) compoundRedirs(stmt *syntax.Stmt, st state) {
	c := Command{Nesting: st.nest, Wrappers: st.wrappers, Source: s.text(stmt.Redirs[0], stmt.Redirs[len(stmt.Redirs)-1])}
	at := len(s.cmds)
	s.cmds = append(s.cmds, Command{})
	c.Redirs = s.redirs(stmt.Redirs, st)
	s.finish(&c, st)
	c.Inner = 0
	s.cmds[at] = c
}

func (s *scanner) text(a, b syntax.Node) string {
	from, to := int(a.Pos().Offset()), int(b.End().Offset())
	if from > to || to > len(s.src) || from < 0 {
		return ""
	}
	return s.src[from:to]
}

// command walks everything but simple commands and declarations.
func (s *scanner) command(cmd syntax.Command, st state) flow {
	in := st.dirs
	switch c := cmd.(type) {
	case *syntax.Subshell:
		st.nest |= InSubshell
		st.sub = true
		s.list(c.Stmts, st)
		return same(in)
	case *syntax.Block:
		return s.list(c.Stmts, st)
	case *syntax.BinaryCmd:
		return s.binary(c, st)
	case *syntax.IfClause:
		return s.ifClause(c, st)
	case *syntax.WhileClause:
		st = s.loop(c, st)
		s.list(c.Cond, st)
		s.list(c.Do, st)
		return same(st.dirs)
	case *syntax.ForClause:
		return s.forClause(c, st)
	case *syntax.CaseClause:
		s.words([]*syntax.Word{c.Word}, st)
		out := same(in)
		st.nest |= InCondition
		for _, item := range c.Items {
			if item.Op != syntax.Break {
				s.complex("a case branch falls through")
			}
			s.words(item.Patterns, st)
			f := s.list(item.Stmts, st)
			out = flow{union(out.ok, f.ok), union(out.fail, f.fail)}
		}
		return out
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return same(in)
		}
		w := Wrapper{Name: "time", Harmless: true, Args: []Word{lit("time")}}
		if c.PosixFormat {
			w.Args = append(w.Args, lit("-p"))
		}
		st.wrappers = append(st.wrappers[:len(st.wrappers):len(st.wrappers)], w)
		return s.stmt(c.Stmt, st)
	case *syntax.CoprocClause:
		s.complex("it starts a coprocess")
		st.nest |= InBackground
		st.sub = true
		if c.Stmt != nil {
			s.stmt(c.Stmt, st)
		}
		return same(in)
	case *syntax.FuncDecl:
		s.complex("it defines a function")
		st.nest |= InFunction
		st.dirs = nil
		if s.funcs == nil {
			s.funcs = map[string]bool{}
		}
		if c.Name != nil {
			s.funcs[c.Name.Value] = true
		}
		if c.Body != nil {
			s.stmt(c.Body, st)
		}
		return same(nil)
	case *syntax.TestClause:
		s.test(c.X, st)
		return same(in)
	case *syntax.ArithmCmd:
		s.arith(c.X, st)
		return same(in)
	case *syntax.LetClause:
		s.complex("let evaluates its words as arithmetic")
		for _, e := range c.Exprs {
			s.arith(e, st)
		}
		return same(in)
	}
	s.complex("it uses syntax that is not known here")
	return same(nil)
}

func (s *scanner) binary(c *syntax.BinaryCmd, st state) flow {
	in := st.dirs
	switch c.Op {
	case syntax.AndStmt:
		a := s.stmt(c.X, st)
		st.nest |= InCondition
		st.dirs = a.ok
		b := s.stmt(c.Y, st)
		return flow{b.ok, union(a.fail, b.fail)}
	case syntax.OrStmt:
		a := s.stmt(c.X, st)
		st.nest |= InCondition
		st.dirs = a.fail
		b := s.stmt(c.Y, st)
		return flow{union(a.ok, b.ok), b.fail}
	}
	st.nest |= InPipe
	st.sub = true
	s.stmt(c.X, st)
	s.stmt(c.Y, st)
	return same(in)
}

func (s *scanner) ifClause(c *syntax.IfClause, st state) flow {
	if len(c.Cond) == 0 { // else
		return s.list(c.Then, st)
	}
	cond := s.list(c.Cond, st)
	st.nest |= InCondition
	st.dirs = cond.ok
	then := s.list(c.Then, st)
	st.dirs = cond.fail
	other := same(cond.fail)
	if c.Else != nil {
		other = s.ifClause(c.Else, st)
	}
	d := union(then.any(), other.any())
	return same(d)
}

// loop gives the state inside a loop: the directory is unknown if the body may change it.
func (s *scanner) loop(n syntax.Node, st state) state {
	st.nest |= InLoop
	changes := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
			return false // a change in there does not reach this shell
		}
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			switch name := call.Args[0].Lit(); name {
			case "cd", "pushd", "popd", "", "eval", "builtin", "command", "source", ".":
				changes = true
			default:
				changes = changes || s.funcs[name]
			}
		}
		return !changes
	})
	if changes {
		st.dirs = nil
	}
	return st
}

func (s *scanner) forClause(c *syntax.ForClause, st state) flow {
	if c.Braces {
		s.complex("it uses syntax of another shell")
	}
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		var items []Word
		if l.InPos.IsValid() {
			items = s.words(l.Items, st)
		} else {
			items = []Word{{Source: "$@", Text: "$@", Multi: true}}
		}
		st = s.loop(c, st)
		if l.Name != nil {
			if sensitive(l.Name.Value) {
				s.complex("it sets the variable " + l.Name.Value)
			}
			if c.Select || len(items) > MaxBraceWords {
				items = nil
			}
			st.vars = append(st.vars[:len(st.vars):len(st.vars)], binding{l.Name.Value, items})
		}
	case *syntax.CStyleLoop:
		st = s.loop(c, st)
		for _, e := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			if e != nil {
				s.arith(e, st)
			}
		}
	default:
		s.complex("it uses syntax that is not known here")
	}
	s.list(c.Do, st)
	return same(st.dirs)
}
