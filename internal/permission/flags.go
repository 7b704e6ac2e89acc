package permission

import (
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/shellscan"
)

// A few programs are so often guarded by rules that name flags that the order
// and spelling of the flags must not matter to a deny or ask rule: "rm -rf" is
// "rm --force --recursive". For all other programs flags are text.

// flagNames maps the long flags of a program to their short spelling, or to ""
// where there is none, and short flags to those that they stand for.
type flagNames map[string]string

func flagTable(program, sub string) flagNames {
	switch program {
	case "rm":
		return flagNames{"recursive": "r", "force": "f", "dir": "d", "verbose": "v", "interactive": "i", "R": "r",
			"one-file-system": "", "no-preserve-root": "", "preserve-root": ""}
	case "cp":
		return flagNames{"recursive": "r", "R": "r", "archive": "a", "force": "f", "link": "l", "symbolic-link": "s",
			"interactive": "i", "update": "u", "verbose": "v", "no-clobber": "n"}
	case "mv":
		return flagNames{"force": "f", "interactive": "i", "no-clobber": "n", "update": "u", "verbose": "v"}
	case "chmod", "chown", "chgrp":
		return flagNames{"recursive": "R", "verbose": "v", "changes": "c", "silent": "f", "quiet": "f"}
	case "git":
		switch sub {
		case "push":
			return flagNames{"force": "f", "delete": "d", "force-with-lease": "", "mirror": "", "all": "", "tags": "",
				"dry-run": "n", "prune": "", "set-upstream": "u", "force-if-includes": ""}
		case "reset":
			return flagNames{"hard": "", "soft": "", "mixed": "", "merge": "", "keep": "", "quiet": "q"}
		case "clean":
			return flagNames{"force": "f", "dry-run": "n", "interactive": "i", "quiet": "q"}
		case "branch":
			return flagNames{"delete": "d", "force": "f", "move": "m", "copy": "c", "D": "df", "M": "mf", "C": "cf"}
		case "checkout", "switch":
			return flagNames{"force": "f", "discard-changes": "f"}
		case "commit":
			return flagNames{"all": "a", "amend": "", "no-verify": "n", "signoff": "s"}
		}
	}
	return nil
}

// flagPattern is a rule for such a program, taken apart.
type flagPattern struct {
	program, sub string
	flags        []string
	operands     []string
	exact        bool
}

// compileFlags gives nil where the rule names no flag of a known program.
func compileFlags(text string, exact bool) *flagPattern {
	if !strings.Contains(text, " -") {
		return nil
	}
	words := strings.Fields(text)
	f := &flagPattern{program: words[0], exact: exact}
	rest := words[1:]
	if f.program == "git" && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		f.sub, rest = rest[0], rest[1:]
	}
	names := flagTable(f.program, f.sub)
	if names == nil {
		return nil
	}
	f.flags, f.operands = splitFlags(names, rest)
	if len(f.flags) == 0 {
		return nil
	}
	return f
}

func (f *flagPattern) matches(run []shellscan.Word) bool {
	if len(run) < 2 || baseName(run[0].Text) != f.program {
		return false
	}
	words := make([]string, 0, len(run))
	for _, w := range run[1:] {
		words = append(words, w.Text)
	}
	if f.program == "git" {
		words = afterGlobals(words)
		if len(words) == 0 || words[0] != f.sub {
			return false
		}
		words = words[1:]
	}
	flags, operands := splitFlags(flagTable(f.program, f.sub), words)
	for _, want := range f.flags {
		if !slices.Contains(flags, want) {
			return false
		}
	}
	if f.exact {
		return len(flags) == len(f.flags) && slices.Equal(operands, f.operands)
	}
	return len(operands) >= len(f.operands) && slices.Equal(operands[:len(f.operands)], f.operands)
}

// afterGlobals leaves out git's own options in front of the subcommand.
func afterGlobals(words []string) []string {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		switch words[0] {
		case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix":
			words = words[1:]
			if len(words) == 0 {
				return nil
			}
		}
		words = words[1:]
	}
	return words
}

// splitFlags sorts words into flags, in one spelling and without doubles, and
// operands.
func splitFlags(names flagNames, words []string) (flags, operands []string) {
	add := func(f string) {
		if !slices.Contains(flags, f) {
			flags = append(flags, f)
		}
	}
	for i, w := range words {
		switch {
		case w == "--":
			return flags, append(operands, words[i+1:]...)
		case strings.HasPrefix(w, "--"):
			name, _, _ := strings.Cut(w[2:], "=")
			add(names.canonical(name))
		case len(w) > 1 && w[0] == '-':
			for _, c := range w[1:] {
				if same := names[string(c)]; same != "" {
					for _, s := range same {
						add(string(s))
					}
				} else {
					add(string(c))
				}
			}
		default:
			operands = append(operands, w)
		}
	}
	return flags, operands
}

// canonical gives the short spelling of a long flag; unique beginnings count,
// as getopt takes them.
func (n flagNames) canonical(long string) string {
	match := ""
	if _, ok := n[long]; ok {
		match = long
	} else {
		for name := range n {
			if len(name) > 1 && strings.HasPrefix(name, long) {
				if match != "" {
					return "--" + long
				}
				match = name
			}
		}
	}
	switch {
	case match == "":
		return "--" + long
	case n[match] == "":
		return "--" + match
	}
	return n[match]
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
