package repl

import (
	"strings"

	"github.com/dop251/goja"
)

// ownFunctions replaces the built-in functions whose outcome can be far larger
// than what goes in.
func (s *script) ownFunctions() {
	array, text, json := s.object("Array", "prototype"), s.object("String", "prototype"), s.object("JSON")
	own := func(o *goja.Object, name string, f func(goja.FunctionCall) goja.Value) {
		s.define(o, name, s.wrap(name, f, false))
	}
	// before adds a check to a function that is bounded already.
	before := func(o *goja.Object, name string, check func(goja.FunctionCall) goja.FunctionCall) {
		if f := nativeOf(o.Get(name)); f != nil {
			s.define(o, name, s.function(name, func(c goja.FunctionCall) goja.Value { return f(check(c)) }))
		}
	}
	own(json, "stringify", func(c goja.FunctionCall) goja.Value { return s.encode(c.Argument(0), c.Argument(1), c.Argument(2)) })
	own(json, "parse", s.decode)
	own(array, "join", s.join)
	own(array, "toLocaleString", func(c goja.FunctionCall) goja.Value { return s.join(goja.FunctionCall{This: c.This}) })
	own(array, "concat", s.concat)
	own(array, "flat", s.flat)
	own(s.object("Array"), "from", s.from)
	own(s.object("String"), "raw", s.raw)
	for _, name := range []string{"padStart", "padEnd"} {
		before(text, name, func(c goja.FunctionCall) goja.FunctionCall {
			n := c.Argument(0).ToInteger()
			s.room(name, n, 0)
			args := append([]goja.Value{s.rt.ToValue(n)}, c.Arguments[min(1, len(c.Arguments)):]...)
			return goja.FunctionCall{This: c.This, Arguments: args}
		})
	}
	before(text, "repeat", func(c goja.FunctionCall) goja.FunctionCall {
		// What is asked for twice could be another the second time.
		target, n := s.text(c.This), c.Argument(0).ToInteger()
		s.room("repeat", times(int64(target.Length()), n), 0)
		return goja.FunctionCall{This: target, Arguments: []goja.Value{s.rt.ToValue(n)}}
	})
	for _, name := range []string{"replace", "replaceAll"} {
		before(text, name, func(c goja.FunctionCall) goja.FunctionCall { return s.replacing(c, 1) })
	}
	for _, name := range []string{"sort", "toSorted"} {
		before(array, name, s.sorting)
	}
	function := s.object("Function", "prototype")
	before(function, "apply", func(c goja.FunctionCall) goja.FunctionCall { return s.list(c, 1) })
	before(s.object("Reflect"), "apply", func(c goja.FunctionCall) goja.FunctionCall { return s.list(c, 2) })
	before(s.object("Reflect"), "construct", func(c goja.FunctionCall) goja.FunctionCall { return s.list(c, 1) })
	s.regularExpressions()
}

// times multiplies, up to just beyond what is allowed.
func times(length, n int64) int64 {
	if length > 0 && n > MaxString/length {
		return MaxString + 1
	}
	return length * max(0, n)
}

// text is a value as a string.
func (s *script) text(v goja.Value) goja.String {
	if text, ok := v.ToString().(goja.String); ok {
		return text
	}
	return s.rt.ToValue(v.String()).(goja.String)
}

// builder joins strings within bounds.
type builder struct {
	s    *script
	b    goja.StringBuilder
	size int64
}

func (b *builder) add(v goja.Value) {
	if _, symbol := v.(*goja.Symbol); symbol {
		panic(b.s.rt.NewTypeError("Cannot convert a Symbol value to a string"))
	}
	text := b.s.text(v)
	b.size += int64(text.Length())
	b.s.room("joining", b.size, 0)
	b.b.WriteString(text)
}

func (s *script) joinTemplate(c goja.FunctionCall) goja.Value {
	b := builder{s: s}
	for _, a := range c.Arguments {
		b.add(a)
	}
	return b.b.String()
}

// elements calls f for each element of an array, or of what looks like one.
func (s *script) elements(v goja.Value, f func(i int64, element goja.Value)) {
	o := v.ToObject(s.rt)
	var n int64
	if o.ClassName() == "Array" || o.ClassName() == "String" {
		n = o.Get("length").ToInteger()
	} else {
		n = s.length(o)
	}
	s.room("array", 0, n)
	for i := range n {
		e := o.Get(s.rt.ToValue(i).String())
		if e == nil {
			e = goja.Undefined()
		}
		f(i, e)
	}
}

func (s *script) join(c goja.FunctionCall) goja.Value {
	var separator goja.Value = s.rt.ToValue(",")
	if a := c.Argument(0); !goja.IsUndefined(a) {
		separator = s.text(a)
	}
	b := builder{s: s}
	s.elements(c.This, func(i int64, e goja.Value) {
		if i > 0 {
			b.add(separator)
		}
		if !goja.IsUndefined(e) && !goja.IsNull(e) {
			b.add(e)
		}
	})
	return b.b.String()
}

func (s *script) raw(c goja.FunctionCall) goja.Value {
	parts := c.Argument(0).ToObject(s.rt).Get("raw")
	if parts == nil {
		parts = goja.Undefined()
	}
	b := builder{s: s}
	s.elements(parts, func(i int64, e goja.Value) {
		if i > 0 && int(i) < len(c.Arguments) {
			b.add(c.Arguments[i])
		}
		b.add(e)
	})
	return b.b.String()
}

// list checks the list of arguments at one place.
func (s *script) list(c goja.FunctionCall, at int) goja.FunctionCall {
	a := c.Argument(at)
	if goja.IsUndefined(a) || goja.IsNull(a) {
		return c
	}
	var values []any
	s.elements(a, func(_ int64, e goja.Value) {
		if values = append(values, e); len(values) > MaxArguments {
			panic(s.rangeError("a call can have at most %d arguments", MaxArguments))
		}
	})
	args := append([]goja.Value{}, c.Arguments...)
	args[at] = s.rt.NewArray(values...)
	return goja.FunctionCall{This: c.This, Arguments: args}
}

func isArray(v goja.Value) bool {
	o, ok := v.(*goja.Object)
	return ok && o.ClassName() == "Array"
}

// gather makes an array of values within bounds.
type gather struct {
	s      *script
	values []any
}

func (g *gather) add(v goja.Value) {
	g.s.room("array", 0, int64(len(g.values))+1)
	g.values = append(g.values, v)
}

func (s *script) concat(c goja.FunctionCall) goja.Value {
	g := gather{s: s}
	for _, v := range append([]goja.Value{c.This.ToObject(s.rt)}, c.Arguments...) {
		if !isArray(v) {
			g.add(v)
			continue
		}
		s.elements(v, func(_ int64, e goja.Value) { g.add(e) })
	}
	return s.rt.NewArray(g.values...)
}

func (s *script) flat(c goja.FunctionCall) goja.Value {
	depth := int64(1)
	if a := c.Argument(0); !goja.IsUndefined(a) {
		depth = min(a.ToInteger(), MaxJSONDepth)
	}
	g := gather{s: s}
	seen := int64(0)
	var walk func(v goja.Value, depth int64)
	walk = func(v goja.Value, depth int64) {
		s.elements(v, func(_ int64, e goja.Value) {
			seen++
			s.room("flat", 0, seen)
			if depth > 0 && isArray(e) {
				walk(e, depth-1)
				return
			}
			g.add(e)
		})
	}
	walk(c.This, depth)
	return s.rt.NewArray(g.values...)
}

func (s *script) from(c goja.FunctionCall) goja.Value {
	var convert goja.Callable
	if f := c.Argument(1); !goja.IsUndefined(f) {
		var ok bool
		if convert, ok = goja.AssertFunction(f); !ok {
			panic(s.rt.NewTypeError("Array.from: the second argument must be a function"))
		}
	}
	g := gather{s: s}
	add := func(v goja.Value) {
		if convert != nil {
			var err error
			if v, err = convert(c.Argument(2), v, s.rt.ToValue(len(g.values))); err != nil {
				panic(err)
			}
		}
		g.add(v)
	}
	source := c.Argument(0).ToObject(s.rt)
	if iterator := source.GetSymbol(goja.SymIterator); iterator != nil && !goja.IsUndefined(iterator) && !goja.IsNull(iterator) {
		s.rt.ForOf(source, func(v goja.Value) bool {
			add(v)
			return true
		})
	} else {
		s.elements(source, func(_ int64, v goja.Value) { add(v) })
	}
	return s.rt.NewArray(g.values...)
}

// sorting gives the comparison of strings that is meant where none is given,
// so that a long sort can be stopped.
func (s *script) sorting(c goja.FunctionCall) goja.FunctionCall {
	if !goja.IsUndefined(c.Argument(0)) {
		return c
	}
	compare := s.wrap("compare", func(c goja.FunctionCall) goja.Value {
		a, b := s.text(c.Argument(0)), s.text(c.Argument(1))
		return s.rt.ToValue(a.CompareTo(b))
	}, false)
	return goja.FunctionCall{This: c.This, Arguments: []goja.Value{compare}}
}

// replacing bounds what a replacement can make of a string: the replacement is
// the argument at one place, the string is this.
func (s *script) replacing(c goja.FunctionCall, at int) goja.FunctionCall {
	with := c.Argument(at)
	if _, ok := goja.AssertFunction(with); ok {
		return c
	}
	text, target := s.text(with), s.text(c.This)
	args := append([]goja.Value{}, c.Arguments...)
	for len(args) <= at {
		args = append(args, goja.Undefined())
	}
	args[at] = text
	out := goja.FunctionCall{This: c.This, Arguments: args}
	each, places := int64(text.Length()), int64(target.Length())+1
	special := strings.Contains(text.String(), "$")
	if special {
		each += each * int64(target.Length())
	}
	if each <= MaxString/places {
		return out
	}
	if special {
		panic(s.rangeError("replace: the outcome could have more than %d characters; use a function for the replacement", MaxString))
	}
	var made int64
	args[at] = s.wrap("", func(goja.FunctionCall) goja.Value {
		made += int64(text.Length())
		s.room("replace", made, 0)
		return text
	}, false)
	return out
}
