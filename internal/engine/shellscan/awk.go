package shellscan

import "strings"

// awk reads a call of awk.
func (s *scanner) awk(c *Command, u *unwrapped) {
	refuse := func(why string) {
		c.deny(why)
		c.BeyondPrefix = why
		c.UnknownReads = true
	}
	a := parseFlagSet("-F: -v: --field-separator: --assign: --re-interval --posix --traditional --version -V").parse("awk", u.argv[1:], false, true)
	if a.why != "" {
		refuse(a.why)
		return
	}
	if len(a.pos) == 0 {
		if a.has("--version", "-V") {
			c.ReadOnly = c.WhyNot == ""
			return
		}
		refuse("awk has no program")
		return
	}
	p := a.pos[0]
	if p.Known != Literal {
		refuse("the awk program is not certain")
		return
	}
	if why := awkDanger(p.Text); why != "" {
		refuse("the awk program " + why)
		return
	}
	for _, w := range a.pos[1:] {
		if k := strings.IndexByte(w.Text, '='); w.Known == Literal && k > 0 && strings.Trim(w.Text[:k], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == "" {
			continue
		}
		s.reads(c, w, u.st, false)
	}
	if u.stdinArgs {
		c.UnknownReads = true
	}
	c.ReadOnly = c.WhyNot == ""
}

// awkDanger says why an awk program may do more than print, or "".
func awkDanger(p string) string {
	operand := false // the last token ends an operand, so that / divides
	printing := false
	last := byte(0)  // the last character that is no blank
	keyword := false // a condition in parentheses may stand before a pattern
	depth := 0
	for i, seen := 0, 0; i < len(p); {
		for ; seen < i; seen++ {
			if c := p[seen]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
				last = c
			}
		}
		ch := p[i]
		if ch == '/' && operand && keyword && last == ')' {
			return "is not understood" // a pattern or a division
		}
		switch {
		case ch == ' ' || ch == '\t' || ch == '\r':
			i++
		case ch == '\\' && i+1 < len(p) && p[i+1] == '\n':
			i += 2
		case ch == '#':
			k := strings.IndexByte(p[i:], '\n')
			if k < 0 {
				return ""
			}
			i += k
		case ch == '"':
			i++
			for i < len(p) && p[i] != '"' && p[i] != '\n' {
				if p[i] == '\\' {
					i++
				}
				i++
			}
			if i >= len(p) || p[i] == '\n' {
				return "is not understood"
			}
			i++
			operand = true
		case ch == '/' && !operand:
			i++
			bracket := false
			for i < len(p) && (p[i] != '/' || bracket) && p[i] != '\n' {
				switch p[i] {
				case '\\':
					i++
				case '[':
					// Whether / inside brackets ends a pattern differs between awks.
					if k := strings.IndexByte(p[i:], ']'); k < 0 || strings.Contains(p[i:i+k], "/") || strings.Contains(p[i:i+k], "\\") {
						return "is not understood"
					} else if k == 1 || k == 2 && p[i+1] == '^' {
						return "is not understood"
					} else {
						i += k
					}
				}
				i++
			}
			if i >= len(p) || p[i] == '\n' {
				return "is not understood"
			}
			i++
			operand = true
		case nameByte(ch):
			j := i
			for j < len(p) && (nameByte(p[j]) || p[j] == '.' && ch >= '0' && ch <= '9') {
				j++
			}
			operand = true
			switch w := p[i:j]; w {
			case "system", "getline", "fflush", "close", "ENVIRON", "PROCINFO", "ARGV", "ARGC", "SYMTAB", "FUNCTAB", "extension", "nextfile":
				switch w {
				case "system":
					return "runs a command"
				case "ENVIRON":
					return "shows the environment"
				case "fflush", "close", "nextfile":
				default:
					return "uses " + w
				}
			case "if", "while", "for", "switch", "do", "else":
				keyword, operand = true, false
			case "print", "printf":
				printing, operand = true, false
			case "return", "in", "delete", "case", "exit":
				operand = false
			}
			i = j
		case ch == '|':
			if i+1 < len(p) && p[i+1] == '|' {
				i += 2
				operand = false
				continue
			}
			return "opens a pipe"
		case ch == '>':
			if printing && depth == 0 {
				return "writes a file"
			}
			operand = false
			i++
		case ch == '@':
			return "loads code"
		case ch == '\n' || ch == ';' || ch == '{' || ch == '}':
			operand = false
			// After a comma or an operator the statement goes on in the next line.
			if ch != '\n' || depth == 0 && strings.IndexByte(",{&|", last) < 0 {
				printing = false
			}
			if ch != '\n' {
				depth = 0
			}
			i++
		case ch == '(' || ch == '[':
			depth++
			operand = false
			i++
		case ch == ')' || ch == ']':
			depth = max(depth-1, 0)
			operand = true
			i++
		case ch == '$' || ch == '+' || ch == '-':
			operand = operand && i+1 < len(p) && p[i+1] == ch && ch != '$'
			if operand {
				i++ // x++ and x--: still an operand
			}
			i++
		default:
			if strings.IndexByte("!~<=,?:&*%^/", ch) < 0 {
				return "is not understood"
			}
			operand = false
			i++
		}
	}
	return ""
}
