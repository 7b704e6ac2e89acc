package shellscan

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arith walks an arithmetic expression. Bash evaluates the text of the variables
// in it, and subscripts in that text may run commands: only numbers and
// variables that the script itself sets to numbers are plain.
func (s *scanner) arith(e syntax.ArithmExpr, st state) {
	switch e := e.(type) {
	case nil:
	case *syntax.Word:
		if l := e.Lit(); l != "" {
			if !isNumber(l) && !s.number(l) {
				s.complex("arithmetic evaluates the variable " + l)
			}
			return
		}
		for _, p := range e.Parts {
			if x, ok := p.(*syntax.ParamExp); ok && x.Param != nil {
				if x.Length || s.number(x.Param.Value) {
					continue
				}
				switch x.Param.Value {
				case "?", "#", "$", "!", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID":
					continue
				}
			}
			if x, ok := p.(*syntax.ArithmExp); ok {
				s.arith(x.X, st)
				continue
			}
			if l, ok := p.(*syntax.Lit); ok && isNumber(l.Value) {
				continue
			}
			s.complex("arithmetic evaluates text that is not certain")
			break
		}
		s.one(e, st)
	case *syntax.BinaryArithm:
		if x, ok := e.X.(*syntax.Word); ok && assigns(e.Op) && sensitive(x.Lit()) {
			s.complex("arithmetic sets the variable " + x.Lit())
		}
		s.arith(e.X, st)
		s.arith(e.Y, st)
	case *syntax.UnaryArithm:
		s.arith(e.X, st)
	case *syntax.ParenArithm:
		s.arith(e.X, st)
	default:
		s.complex("arithmetic is not plain")
	}
}

func assigns(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return true
	}
	return false
}

// isNumber tells that text is a decimal or hexadecimal number.
func isNumber(t string) bool {
	return isDigits(t) || len(t) > 2 && t[0] == '0' && t[1]|0x20 == 'x' && strings.Trim(t[2:], "0123456789abcdefABCDEF") == ""
}

// number tells that everywhere in the script where the name stands without $, it
// is set to a number or is itself inside arithmetic.
func (s *scanner) number(name string) bool {
	if !syntax.ValidName(name) {
		return false
	}
	set := false
	src := s.src
	for from := 0; ; {
		k := strings.Index(src[from:], name)
		if k < 0 {
			return set
		}
		k += from
		from = k + len(name)
		before, after := byte(' '), byte(' ')
		if k > 0 {
			before = src[k-1]
		}
		if from < len(src) {
			after = src[from]
		}
		if nameByte(before) || nameByte(after) {
			continue
		}
		if before == '$' || before == '{' && after == '}' {
			continue
		}
		rest := src[from:]
		switch {
		case strings.HasPrefix(rest, "=") && len(rest) > 1 && (rest[1] >= '0' && rest[1] <= '9'):
			d := strings.TrimLeft(rest[1:], "0123456789")
			if d != "" && !strings.ContainsRune(" \t\n;&|)<>", rune(d[0])) {
				return false
			}
			set = true
		case strings.HasPrefix(rest, "=$((") || strings.HasPrefix(rest, "++") || strings.HasPrefix(rest, "--"):
			set = set || rest[0] == '='
		case arithmeticAround(src, k):
		default:
			return false
		}
	}
}

func nameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// arithmeticAround tells that position k stands after an open (( of the same line.
func arithmeticAround(src string, k int) bool {
	line := src[:k]
	if n := strings.LastIndexByte(line, '\n'); n >= 0 {
		line = line[n:]
	}
	open := strings.LastIndex(line, "((")
	return open >= 0 && !strings.Contains(line[open:], "))")
}

// test walks a [[ … ]] expression.
func (s *scanner) test(e syntax.TestExpr, st state) {
	switch e := e.(type) {
	case *syntax.Word:
		s.one(e, st)
	case *syntax.ParenTest:
		s.test(e.X, st)
	case *syntax.UnaryTest:
		switch e.Op {
		case syntax.TsVarSet, syntax.TsRefVar:
			if w, ok := e.X.(*syntax.Word); !ok || !syntax.ValidName(w.Lit()) {
				s.complex("a test evaluates a subscript")
			}
		}
		s.test(e.X, st)
	case *syntax.BinaryTest:
		switch e.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			// The operands are arithmetic.
			for _, x := range []syntax.TestExpr{e.X, e.Y} {
				if w, ok := x.(*syntax.Word); ok {
					s.arith(unquote(w), st)
				} else {
					s.complex("a test evaluates arithmetic that is not plain")
				}
			}
			return
		}
		s.test(e.X, st)
		s.test(e.Y, st)
	case nil:
	default:
		s.complex("it uses syntax that is not known here")
	}
}

// unquote takes the double quotes off a word of one part.
func unquote(w *syntax.Word) *syntax.Word {
	if len(w.Parts) == 1 {
		if d, ok := w.Parts[0].(*syntax.DblQuoted); ok && !d.Dollar && len(d.Parts) > 0 {
			return &syntax.Word{Parts: d.Parts}
		}
	}
	return w
}
