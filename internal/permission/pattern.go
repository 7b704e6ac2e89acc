package permission

import (
	"strings"

	"github.com/sevengate/sevengate/internal/engine/shellscan"
)

// commandPattern is the compiled specifier of a rule for commands.
type commandPattern struct {
	exact  bool
	raw    string   // exact: the command as written in the rule
	text   string   // exact: the command with single blanks
	plain  string   // exact: the same without quotes, as forms are written
	words  []string // exact: the words, when all are certain
	pieces []string // otherwise: the literal pieces between the stars
	// boundary: the pattern ended in " *" or ":*", so that its end is the end of
	// a word and nothing need follow.
	boundary bool
	first    string // the first word, when certain; "" otherwise
	fold     bool   // letter case does not count
	flags    *flagPattern
}

// compileCommand reads a specifier. "*" is any run of characters, "\*" a star;
// a trailing " *" or ":*" also matches nothing at all.
func compileCommand(spec string, fold bool) *commandPattern {
	p := &commandPattern{fold: fold}
	written := strings.TrimSpace(spec)
	spec = strings.Join(strings.Fields(spec), " ")
	body := spec
	if b, ok := strings.CutSuffix(spec, ":*"); ok {
		body, p.boundary = b, true
	} else if b, ok := strings.CutSuffix(spec, " *"); ok {
		body, p.boundary = strings.TrimRight(b, " "), true
	}
	pieces := splitStars(body)
	if len(pieces) == 1 && !p.boundary {
		p.exact = true
		p.raw, p.text = splitStars(written)[0], pieces[0]
		p.plain = unquote(p.text)
		p.words = exactWords(p.text)
		if fold {
			p.text, p.plain = strings.ToLower(p.text), strings.ToLower(p.plain)
		}
		p.first = firstWord(p.plain, true)
		p.flags = compileFlags(p.plain, true)
		return p
	}
	for i := range pieces {
		pieces[i] = unquote(pieces[i])
		if fold {
			pieces[i] = strings.ToLower(pieces[i])
		}
	}
	p.pieces = pieces
	p.first = firstWord(pieces[0], len(pieces) == 1 && p.boundary)
	if len(pieces) == 1 {
		p.flags = compileFlags(pieces[0], false)
	}
	return p
}

// splitStars cuts a pattern at its unescaped stars. A backslash in front of a
// star makes it literal; backslashes elsewhere are themselves.
func splitStars(s string) []string {
	if !strings.Contains(s, "*") {
		return []string{s}
	}
	var out []string
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '*':
			b.WriteByte('*')
			i++
		case s[i] == '*':
			out = append(out, b.String())
			b.Reset()
		default:
			b.WriteByte(s[i])
		}
	}
	return append(out, b.String())
}

// escapeStars is what makes a command an exact specifier.
func escapeStars(s string) string { return strings.ReplaceAll(s, "*", `\*`) }

// unquote takes quotes and escapes away, as the forms of commands have none.
func unquote(s string) string {
	if !strings.ContainsAny(s, `'"\`) {
		return s
	}
	var b strings.Builder
	var quote byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(s) && (quote == 0 || strings.IndexByte("\"\\$`", s[i+1]) >= 0):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// exactWords gives the words of a command that is one simple command of
// certain words, or nil.
func exactWords(text string) []string {
	if !strings.ContainsAny(text, `'"\`) {
		return nil // without quotes the text says it all
	}
	s := shellscan.Scan(text, shellscan.Options{})
	if s.Class != shellscan.Simple || len(s.Commands) != 1 || len(s.Commands[0].Assigns) > 0 {
		return nil
	}
	var out []string
	for _, w := range s.Commands[0].Argv {
		if w.Known != shellscan.Literal {
			return nil
		}
		out = append(out, w.Text)
	}
	return out
}

func firstWord(text string, complete bool) string {
	if i := strings.IndexByte(text, ' '); i >= 0 {
		return text[:i]
	}
	if complete {
		return text
	}
	return ""
}

// matches compares the pattern with one form of a command.
func (p *commandPattern) matches(form string) bool {
	if p.fold {
		form = strings.ToLower(form)
	}
	if p.exact {
		return form == p.plain || form == p.text
	}
	rest, ok := strings.CutPrefix(form, p.pieces[0])
	if !ok {
		return false
	}
	last := len(p.pieces) - 1
	if last == 0 {
		return !p.boundary || rest == "" || rest[0] == ' '
	}
	for _, piece := range p.pieces[1:last] {
		i := strings.Index(rest, piece)
		if i < 0 {
			return false
		}
		rest = rest[i+len(piece):]
	}
	end := p.pieces[last]
	if !p.boundary {
		return len(rest) >= len(end) && strings.HasSuffix(rest, end)
	}
	// The last piece must end at the end of a word, wherever it stands.
	for {
		i := strings.Index(rest, end)
		if i < 0 {
			return false
		}
		after := rest[i+len(end):]
		if after == "" || after[0] == ' ' {
			return true
		}
		rest = rest[i+1:]
	}
}

// closes tells whether a deny or ask rule speaks of a command: by any of its
// forms, or by the same flags in another spelling.
func (p *commandPattern) closes(c *shellscan.Command) bool {
	for i := range c.Forms {
		if p.matches(c.Forms[i].Text) {
			return true
		}
	}
	if len(c.Run) > 0 && strings.ContainsRune(c.Run[0].Text, '/') && p.matches(byBaseName(c.Run)) {
		return true
	}
	return p.flags != nil && p.flags.matches(c.Run)
}

// byBaseName is the text of a command whose program is called by a path, with
// the program's name alone.
func byBaseName(run []shellscan.Word) string {
	words := make([]string, len(run))
	for i := range run {
		words[i] = run[i].Text
	}
	words[0] = baseName(words[0])
	return strings.Join(words, " ")
}

// opens tells whether an allow rule covers a command by itself.
func (p *commandPattern) opens(c *shellscan.Command) bool {
	if p.exact && p.words != nil {
		return sameWords(c.Argv, p.words) && !uncommonAssigns(c)
	}
	if p.exact && strings.ContainsAny(p.text, `'"\`) {
		return strings.TrimSpace(c.Source) == p.raw
	}
	if !p.exact && c.BeyondPrefix != "" {
		return false
	}
	for i := range c.Forms {
		if c.Forms[i].Allow && p.matches(c.Forms[i].Text) && p.endsWord(&c.Forms[i]) && p.reaches(c.Forms[i].Text, c) {
			return true
		}
	}
	return false
}

// endsWord tells that a prefix ends where a word of the command does: the quoted
// word 'test x' is not "test" with an argument.
func (p *commandPattern) endsWord(f *shellscan.Form) bool {
	if p.exact || len(p.pieces) > 1 || !p.boundary || f.Marked == "" {
		return true
	}
	n := len(p.pieces[0])
	return n >= len(f.Marked) || f.Marked[n] != 0
}

// reaches tells that a pattern which begins with a wrapper also names the
// program that is wrapped: "timeout *" is not a rule for everything.
func (p *commandPattern) reaches(form string, c *shellscan.Command) bool {
	if p.exact || len(c.Wrappers) == 0 || len(c.Run) == 0 {
		return true
	}
	words := make([]string, len(c.Run))
	for i := range c.Run {
		words[i] = c.Run[i].Text
	}
	inner := strings.Join(words, " ")
	front, wrapped := strings.CutSuffix(form, inner)
	return !wrapped || front == "" || len(p.pieces[0]) >= len(front)+len(words[0])
}

// spells tells whether an exact pattern says word by word what a command is, so
// that it also says what the command runs.
func (p *commandPattern) spells(c *shellscan.Command) bool {
	return p.exact && (p.raw == strings.TrimSpace(c.Source) || p.words != nil && sameWords(c.Argv, p.words))
}

func sameWords(argv []shellscan.Word, words []string) bool {
	if len(argv) != len(words) {
		return false
	}
	for i := range argv {
		if argv[i].Known != shellscan.Literal || argv[i].Text != words[i] {
			return false
		}
	}
	return true
}

// uncommonAssigns tells that a variable in front of a command may change what
// it does.
func uncommonAssigns(c *shellscan.Command) bool {
	for i := range c.Assigns {
		if !c.Assigns[i].Harmless {
			return true
		}
	}
	return false
}
