package repl

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
)

// pattern is a regular expression with a limit of time, and the string that it
// was last used on.
type pattern struct {
	re      *regexp2.Regexp
	unicode bool
	of      goja.String
	runes   []rune
	at      []int // for unicode: where each rune begins, in UTF-16 units
}

// regularExpressions replaces the search itself, on which all methods of
// regular expressions and strings rest: the interpreter's own has no limit of
// time.
func (s *script) regularExpressions() {
	proto := s.object("RegExp", "prototype")
	s.define(proto, "exec", s.wrap("exec", s.exec, false))
	replace := nativeOf(proto.GetSymbol(goja.SymReplace))
	s.must(proto.DefineDataPropertySymbol(goja.SymReplace, s.function("[Symbol.replace]", func(c goja.FunctionCall) goja.Value {
		checked := s.replacing(goja.FunctionCall{This: c.Argument(0), Arguments: []goja.Value{c.This, c.Argument(1)}}, 1)
		return replace(goja.FunctionCall{This: c.This, Arguments: []goja.Value{checked.This, checked.Argument(1)}})
	}), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// exec is RegExp.prototype.exec.
func (s *script) exec(c goja.FunctionCall) goja.Value {
	this, ok := c.This.(*goja.Object)
	if !ok || this.ClassName() != "RegExp" {
		panic(s.rt.NewTypeError("exec: it is not a regular expression"))
	}
	flags := this.Get("flags").String()
	target := s.text(c.Argument(0))
	s.room("exec", int64(target.Length()), 0)
	moves, sticky := strings.ContainsAny(flags, "gy"), strings.Contains(flags, "y")
	start := int64(0)
	if moves {
		start = max(0, this.Get("lastIndex").ToInteger())
	}
	setLast := func(n int) {
		if moves {
			s.must(this.Set("lastIndex", n))
		}
	}
	if start > int64(target.Length()) {
		setLast(0)
		return goja.Null()
	}
	p := s.pattern(this.Get("source").String(), flags)
	p.take(target)
	m, err := p.re.FindRunesMatchStartingAt(p.runes, p.index(int(start)))
	if err != nil {
		panic(s.rangeError("the regular expression was searched for longer than %v; make it simpler", MaxMatchTime))
	}
	if m == nil || sticky && int64(p.unit(m.RuneIndex)) != start {
		setLast(0)
		return goja.Null()
	}
	groups := m.Groups()
	values := make([]any, len(groups))
	var named *goja.Object
	for i, g := range groups {
		var v goja.Value = goja.Undefined()
		if len(g.Captures) > 0 {
			v = target.Substring(p.unit(g.RuneIndex), p.unit(g.RuneIndex+g.RuneLength))
		}
		values[i] = v
		if i > 0 && g.Name != "" && g.Name != fmt.Sprint(i) {
			if named == nil {
				named = s.rt.CreateObject(nil)
			}
			s.must(named.Set(g.Name, v))
		}
	}
	setLast(p.unit(m.RuneIndex + m.RuneLength))
	out := s.rt.NewArray(values...)
	set := func(name string, v goja.Value) {
		s.must(out.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE))
	}
	set("index", s.rt.ToValue(p.unit(m.RuneIndex)))
	set("input", target)
	if named != nil {
		set("groups", named)
	} else {
		set("groups", goja.Undefined())
	}
	return out
}

// pattern compiles a regular expression, or finds it compiled.
func (s *script) pattern(source, flags string) *pattern {
	key := flags + "/" + source
	if p := s.patterns[key]; p != nil {
		return p
	}
	p := &pattern{unicode: strings.Contains(flags, "u")}
	options := regexp2.ECMAScript
	for flag, option := range map[string]regexp2.RegexOptions{"m": regexp2.Multiline, "s": regexp2.Singleline, "i": regexp2.IgnoreCase, "u": regexp2.Unicode} {
		if strings.Contains(flags, flag) {
			options |= option
		}
	}
	if !p.unicode {
		source = inUnits(source)
	}
	re, err := regexp2.Compile(source, options)
	if err != nil {
		panic(s.rt.NewTypeError("the regular expression is not valid: %s", clip(err.Error())))
	}
	re.MatchTimeout = MaxMatchTime
	p.re = re
	if len(s.patterns) >= maxPatterns {
		clear(s.patterns)
	}
	s.patterns[key] = p
	return p
}

// inUnits writes characters beyond the basic plane as the two units that they
// are in a string.
func inUnits(source string) string {
	var b strings.Builder
	for _, r := range source {
		if hi, lo := utf16.EncodeRune(r); r > 0xFFFF {
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// take prepares a string for the search.
func (p *pattern) take(text goja.String) {
	if p.of != nil && p.of.SameAs(text) {
		return
	}
	p.of, p.runes, p.at = text, make([]rune, 0, text.Length()), nil
	n := text.Length()
	for i := 0; i < n; i++ {
		r := rune(text.CharAt(i))
		if p.unicode {
			p.at = append(p.at, i)
			if utf16.IsSurrogate(r) && i+1 < n {
				if both := utf16.DecodeRune(r, rune(text.CharAt(i+1))); both != '\uFFFD' {
					r = both
					i++
				}
			}
		}
		p.runes = append(p.runes, r)
	}
	if p.unicode {
		p.at = append(p.at, n)
	}
}

// unit is the place of a rune in the string; index is the opposite.
func (p *pattern) unit(i int) int {
	if !p.unicode {
		return i
	}
	return p.at[i]
}

func (p *pattern) index(unit int) int {
	if !p.unicode {
		return unit
	}
	lo, hi := 0, len(p.at)-1
	for lo < hi {
		if mid := (lo + hi) / 2; p.at[mid] < unit {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
