package repl

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sevengate/sevengate/tool"
)

// tryScript runs a script whatever it is. It must end, and leave nothing.
func tryScript(t interface{ Errorf(string, ...any) }, code string) {
	f := newFake()
	raw, _ := json.Marshal(Input{Code: code, Timeout: 100})
	call, err := New(Deps{Caller: f}).Bind(raw, tool.Place{})
	if err != nil {
		return
	}
	env := &tool.Env{ToolUseID: "t"}
	if call.Validate(context.Background(), env) != nil {
		return
	}
	o, err := call.Run(context.Background(), env)
	if err != nil && strings.Contains(err.Error(), "internal error") || f.running.Load() != 0 || f.opened != f.closed {
		t.Errorf("%q: %v", code, err)
		return
	}
	if out, ok := o.Data.(Output); ok {
		if strings.Contains(out.Error, "the interpreter met an internal error") {
			t.Errorf("%q: %s", code, out.Error)
		}
		if _, err := json.Marshal(out); err != nil {
			t.Errorf("%q: %v", code, err)
		}
	}
}

func TestRandomScripts(t *testing.T) {
	pieces := []string{"a", "await ", "Echo", "tools", ".raw", "(", ")", "{", "}", "[", "]", ",", ";", "=>", "=", "+", "`", "${", "/", "g", "'x'", "1", "null", "undefined",
		".length", ".constructor", ".prototype", ".then", ".join()", ".flat(9)", ".replace(/a/g, 'b')", ".sort()", "JSON.stringify", "Array.from", "Promise.all", "new ", "class ", "extends ",
		"function ", "yield ", "return ", "throw ", "try {", "} catch (e) {", "for (const x of ", "...", "?.", "**", "&&", "Symbol.iterator", "Object", "Reflect.apply", "\n", " ", "let a", "sleep(1)", "console.log", "String.raw"}
	rapid.Check(t, func(t *rapid.T) {
		tryScript(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 20).Draw(t, "code"), ""))
	})
	calls := []string{"Object", "Array", "String", "RegExp", "JSON", "Reflect", "Promise", "Map", "Math", "Error", "Symbol", "Date", "Function"}
	values := []string{"undefined", "null", "1e9", "-1", "'a$&'", "[1,[2]]", "{}", "/a(b)?/g", "() => 1", "Symbol()", "new Map([[1,2]])", "tools", "Echo", "globalThis", "NaN"}
	rapid.Check(t, func(t *rapid.T) {
		value := func(l string) string { return rapid.SampledFrom(values).Draw(t, l) }
		tryScript(t, "const o = "+rapid.SampledFrom(calls).Draw(t, "object")+"; for (const h of [o, o.prototype]) { if (!h) continue; for (const k of Reflect.ownKeys(h)) { try { const f = h[k]; "+
			"if (typeof f === 'function') { const r = f.call("+value("this")+", "+value("a")+", "+value("b")+"); if (r && r.catch) r.catch(() => 1) } } catch (e) {} } }")
	})
}

func FuzzScript(f *testing.F) {
	for _, code := range []string{"1", "await Echo({})", "`a${1}`", "for (;;) {}", "/a(?=b)/u.exec('ab')", "throw {}", "class A { #x = 1 }", "a?.b ?? c"} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) { tryScript(t, code) })
}
