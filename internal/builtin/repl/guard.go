package repl

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/dop251/goja"
)

// A built-in function cannot be interrupted, and memory that it asks for is
// taken at once. So the parts of the language that can make much out of little
// are left out or bounded beforehand.

// absent are the globals that are taken away: numbers and buffers of any size,
// code from strings, which would not be checked, and objects that could say
// something else each time they are asked for their size.
var absent = []string{
	"eval", "GoError", "BigInt", "Proxy", "ArrayBuffer", "SharedArrayBuffer", "DataView", "Atomics",
	"Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array",
	"Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array",
}

// makers gives the functions that make functions from text.
const makers = `[Object.getPrototypeOf(function(){}), Object.getPrototypeOf(async function(){}), Object.getPrototypeOf(function*(){})]`

func (s *script) define(o *goja.Object, name string, v goja.Value) {
	s.must(o.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// function makes a function with a name of its own.
func (s *script) function(name string, f func(goja.FunctionCall) goja.Value) *goja.Object {
	o := s.rt.ToValue(f).(*goja.Object)
	s.must(o.DefineDataProperty("name", s.rt.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	return o
}

func (s *script) object(path ...string) *goja.Object {
	o := s.rt.GlobalObject()
	for _, name := range path {
		next, ok := o.Get(name).(*goja.Object)
		if !ok {
			return nil
		}
		o = next
	}
	return o
}

func nativeOf(v goja.Value) func(goja.FunctionCall) goja.Value {
	if v == nil {
		return nil
	}
	f, _ := v.Export().(func(goja.FunctionCall) goja.Value)
	return f
}

// capture keeps what the package needs of the language, before the script can
// change it.
func (s *script) capture() {
	s.parse = nativeOf(s.object("JSON").Get("parse"))
	s.stringify = nativeOf(s.object("JSON").Get("stringify"))
	s.descriptor = nativeOf(s.object("Object").Get("getOwnPropertyDescriptor"))
	s.seal = nativeOf(s.object("Object").Get("freeze"))
	s.errorType, s.rangeType = s.object("Error"), s.object("RangeError")
}

func (s *script) freeze(o *goja.Object) *goja.Object {
	s.seal(goja.FunctionCall{Arguments: []goja.Value{o}})
	return o
}

func (s *script) guard() {
	g := s.rt.GlobalObject()
	for _, name := range absent {
		s.must(g.Delete(name))
	}
	list, err := s.rt.RunString(makers)
	s.must(err)
	for i := range 3 {
		proto := list.(*goja.Object).Get(string(rune('0' + i))).(*goja.Object)
		stub := s.function("Function", func(goja.FunctionCall) goja.Value {
			panic(s.rt.NewTypeError("a script cannot make code from text"))
		})
		s.must(stub.DefineDataProperty("prototype", proto, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
		s.must(proto.DefineDataProperty("constructor", stub, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
		if i == 0 {
			s.define(g, "Function", stub)
		}
	}
	for _, path := range [][]string{
		{}, {"Object"}, {"Object", "prototype"}, {"Array"}, {"Array", "prototype"}, {"String"}, {"String", "prototype"},
		{"RegExp", "prototype"}, {"Error", "prototype"}, {"Reflect"}, {"JSON"},
	} {
		if o := s.object(path...); o != nil {
			s.wrapAll(o, len(path) > 0 && path[0] == "Array")
		}
	}
	function := s.object("Function", "prototype")
	for _, name := range []string{"apply", "toString"} {
		s.define(function, name, s.wrap(name, nativeOf(function.Get(name)), false))
	}
	bind := nativeOf(function.Get("bind"))
	s.define(function, "bind", s.function("bind", func(c goja.FunctionCall) goja.Value {
		if s.bound++; s.bound > maxBound {
			panic(s.rangeError("a script can bind at most %d functions", maxBound))
		}
		return bind(c)
	}))
	s.ownFunctions()
	same := s.function("", func(c goja.FunctionCall) goja.Value { return c.Argument(0) })
	s.must(g.DefineDataProperty(constantName, same, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
	added := s.function("", func(c goja.FunctionCall) goja.Value {
		v := c.Argument(0)
		if text, ok := v.(goja.String); ok && text.Length() > MaxString {
			panic(s.rangeError("a string of more than %d characters cannot be added", MaxString))
		}
		return v
	})
	s.must(g.DefineDataProperty(operandName, added, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
	s.must(g.DefineDataProperty(templateName, s.wrap("template", s.joinTemplate, false), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
}

// wrapAll bounds all functions of an object.
func (s *script) wrapAll(o *goja.Object, arrays bool) {
	for _, name := range o.GetOwnPropertyNames() {
		if name == "constructor" || name == "values" || name == "keys" || name == "entries" && arrays {
			continue
		}
		v := o.Get(name)
		if f := nativeOf(v); f != nil && v.(*goja.Object).Get("prototype") == nil {
			s.define(o, name, s.wrap(name, f, arrays))
		}
	}
	for _, symbol := range []*goja.Symbol{goja.SymMatch, goja.SymMatchAll, goja.SymReplace, goja.SymSearch, goja.SymSplit} {
		if f := nativeOf(o.GetSymbol(symbol)); f != nil {
			s.must(o.DefineDataPropertySymbol(symbol, s.wrap(symbol.String(), f, false), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
		}
	}
}

// wrap bounds one function: what goes in, how deep such functions call each
// other, and that none begins once the script was stopped. arrays: the function
// takes anything with a length for an array.
func (s *script) wrap(name string, f func(goja.FunctionCall) goja.Value, arrays bool) *goja.Object {
	return s.function(name, func(c goja.FunctionCall) goja.Value {
		if s.ctx.Err() != nil {
			s.rt.Interrupt(context.Cause(s.ctx))
			panic(s.rt.NewTypeError("the script was stopped"))
		}
		if s.native++; s.native > maxNative {
			s.native--
			panic(s.rangeError("built-in functions call each other more than %d deep", maxNative))
		}
		defer func() {
			s.native--
			if p := recover(); p != nil {
				if err, ok := p.(runtime.Error); ok {
					// A fault of the interpreter: the script is told, and may go on.
					s.env.Logger().Error("Built-in function panicked", "function", name, "panic", err.Error())
					panic(s.rt.NewTypeError("%s met an internal error", name))
				}
				panic(p)
			}
		}()
		var text, elements int64
		s.weigh(c.This, arrays, &text, &elements)
		for _, a := range c.Arguments {
			s.weigh(a, false, &text, &elements)
		}
		s.room(name, text, elements)
		return f(c)
	})
}

// room refuses what is too large.
func (s *script) room(name string, text, elements int64) {
	if text > MaxString {
		panic(s.rangeError("%s: the strings have more than %d characters", name, MaxString))
	}
	if elements > MaxArray {
		panic(s.rangeError("%s: the arrays have more than %d elements", name, MaxArray))
	}
}

// weigh adds up sizes. strict: a thing that is no array must tell its length
// by a plain property.
func (s *script) weigh(v goja.Value, strict bool, text, elements *int64) {
	switch v := v.(type) {
	case goja.String:
		*text += int64(v.Length())
	case *goja.Object:
		switch v.ClassName() {
		case "Array":
			*elements += v.Get("length").ToInteger()
		case "Function":
		default:
			if strict {
				*elements += s.length(v)
			}
		}
	}
}

// length is the length that an object says in a plain property of its own.
func (s *script) length(o *goja.Object) int64 {
	d, ok := s.descriptor(goja.FunctionCall{Arguments: []goja.Value{o, s.rt.ToValue("length")}}).(*goja.Object)
	if ok {
		if v := d.Get("value"); v != nil {
			if _, object := v.(*goja.Object); !object {
				return max(0, v.ToInteger())
			}
		}
	}
	panic(s.rt.NewTypeError("it works on arrays only, and on objects with a plain length"))
}

func (s *script) rangeError(format string, args ...any) *goja.Object {
	e, err := s.rt.New(s.rangeType, s.rt.ToValue(fmt.Sprintf(format, args...)))
	s.must(err)
	return e
}

// encode is JSON.stringify, with bounds on what comes out.
func (s *script) encode(value, replacer, space goja.Value) goja.Value {
	var chosen map[string]bool
	var user goja.Callable
	if object, ok := replacer.(*goja.Object); ok {
		if f, ok := goja.AssertFunction(object); ok {
			user = f
		} else if object.ClassName() == "Array" {
			chosen = map[string]bool{}
			for i := range min(object.Get("length").ToInteger(), MaxArguments) {
				chosen[object.Get(s.rt.ToValue(i).String()).String()] = true
			}
		}
	}
	var holders []*goja.Object
	var text, nodes int64
	first := true
	bounded := s.function("", func(c goja.FunctionCall) goja.Value {
		if s.ctx.Err() != nil {
			panic(s.rt.NewTypeError("the script was stopped"))
		}
		holder, _ := c.This.(*goja.Object)
		key, v := c.Argument(0), c.Argument(1)
		for i := len(holders) - 1; i >= -1; i-- {
			if i < 0 {
				holders = append(holders, holder)
			} else if holders[i] == holder {
				holders = holders[:i+1]
				break
			}
		}
		if len(holders) > MaxJSONDepth {
			panic(s.rangeError("JSON: values are nested more than %d deep", MaxJSONDepth))
		}
		if chosen != nil && !first && holder.ClassName() != "Array" && !chosen[key.String()] {
			return goja.Undefined()
		}
		first = false
		if user != nil {
			var err error
			if v, err = user(holder, key, v); err != nil {
				panic(err)
			}
		}
		text += int64(len(holders))
		s.weigh(key, false, &text, &nodes)
		s.weigh(v, false, &text, &nodes)
		nodes++
		s.room("JSON", text+4*nodes, nodes)
		return v
	})
	return s.stringify(goja.FunctionCall{Arguments: []goja.Value{value, bounded, space}})
}

// decode is JSON.parse for texts that do not nest without end.
func (s *script) decode(c goja.FunctionCall) goja.Value {
	text := c.Argument(0).String()
	var any json.RawMessage
	if err := json.Unmarshal([]byte(text), &any); err != nil {
		e, newErr := s.rt.New(s.rt.Get("SyntaxError"), s.rt.ToValue("JSON: "+strings.TrimPrefix(err.Error(), "json: ")))
		s.must(newErr)
		panic(e)
	}
	return s.parse(c)
}
