package shellscan

import "strings"

// commandVars are the variables whose value is a command for the programs that read
// them, apart from those that isCommandVar tells by their look.
var commandVars = map[string]bool{
	"GIT_EXTERNAL_DIFF": true, "LESSOPEN": true, "LESSCLOSE": true, "FZF_DEFAULT_COMMAND": true, "PROMPT_COMMAND": true, "GIT_CONFIG_PARAMETERS": true,
	"CC": true, "CXX": true, "LD": true, "AR": true, "CPP": true, "SHELL": true, "MAKE": true, "MAKEFLAGS": true, "GNUMAKEFLAGS": true, "TAR_OPTIONS": true,
	"PS0": true, "PS1": true, "PS2": true, "PS4": true, "BASH_ENV": true, "ENV": true, "GIT_SSH": true, "RUSTC_WRAPPER": true, "RUSTC": true,
}

// everydayCommandVars are often given a value that the text does not show.
var everydayCommandVars = map[string]bool{"CC": true, "CXX": true, "LD": true, "AR": true, "CPP": true, "SHELL": true, "MAKE": true, "EDITOR": true, "VISUAL": true, "PS1": true}

func isCommandVar(name string) bool {
	if commandVars[name] || strings.HasPrefix(name, "GIT_CONFIG_VALUE_") {
		return true
	}
	for _, end := range []string{"PAGER", "EDITOR", "VISUAL", "ASKPASS", "BROWSER", "_COMMAND", "_RSH", "_SSH", "_SHELL", "_WRAPPER", "_LINKER", "_RUNNER"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// mayRunValue guesses what a variable makes other programs run.
func (s *scanner) mayRunValue(c *Command, name string, value Word) {
	if s.guessed || !isCommandVar(name) {
		return
	}
	if value.Known != Literal {
		if !everydayCommandVars[name] {
			c.RunsUnknown = true
			s.complex("the value of " + name + ", which is a command, is not certain")
		}
		return
	}
	g := guesser{s: s, c: c, local: true}
	text := strings.ReplaceAll(value.Text, "$(shell ", "$(")
	g.script(text)
	for k := range len(text) {
		if text[k] == '=' || text[k] == '!' {
			g.script(unquoted(text[k+1:]))
		}
	}
}

// unquoted is what stands in the quotes that a text begins with, else the text.
func unquoted(text string) string {
	if text != "" && (text[0] == '\'' || text[0] == '"') {
		if inside, _, closed := strings.Cut(text[1:], text[:1]); closed {
			return inside
		}
	}
	return text
}

// mayRunValues does that for all variables that a command sets.
func (s *scanner) mayRunValues(c *Command) {
	for _, a := range c.Assigns {
		s.mayRunValue(c, a.Name, a.Value)
	}
	for _, w := range c.Wrappers {
		for _, word := range w.Args {
			text := word.Text
			if word.Known != Literal {
				text = word.Prefix // as far as it is known
			}
			if name, value, ok := strings.Cut(text, "="); ok && w.Name != "xargs" {
				s.mayRunValue(c, name, Word{Text: value, Known: word.Known})
			}
		}
	}
}
