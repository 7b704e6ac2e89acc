package repl

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Scripts that try to get out, or to take the bridge over, give what they
// would give of themselves.
func TestScriptsStayInside(t *testing.T) {
	for code, want := range map[string]string{
		`try { (() => {}).constructor("return 1")() } catch (e) { return e.message }`:                                                                                                     "cannot make code from text",
		`try { (async () => {}).constructor("return 1")() } catch (e) { return e.message }`:                                                                                               "cannot make code from text",
		`try { (function* () {}).constructor("return 1")() } catch (e) { return e.message }`:                                                                                              "cannot make code from text",
		`try { Function("return 1n")() } catch (e) { return e.message }`:                                                                                                                  "cannot make code from text",
		`try { tools.Echo.constructor("return 1")() } catch (e) { return e.message }`:                                                                                                     "cannot make code from text",
		`try { Reflect.construct(Object.getPrototypeOf(class {}).constructor, ["1"]) } catch (e) { return e.message }`:                                                                    "not a constructor",
		`try { class F extends Function { constructor() { super("return 1") } }; new F()() } catch (e) { return e.message }`:                                                              "not a constructor",
		`try { tools.Echo = 1; tools.New = 2; tools.Echo.raw = 3; delete tools.Echo } catch {} return [typeof tools.Echo, typeof tools.New, typeof tools.Echo.raw].join()`:                "function,undefined,function",
		`Object.prototype.toJSON = () => ({stolen: 1}); Array.prototype.toJSON = () => []; Object.prototype.content = 1; return await Echo({a: 1})`:                                       `{"stolen":1}`,
		`Object.prototype.isError = true; Object.prototype.data = 5; return await Echo({})`:                                                                                               `{}`,
		`JSON.parse = JSON.stringify = () => { throw 1 }; Promise.prototype.then = () => { throw 1 }; Array.prototype.push = () => 1; Error = null; return (await tools.Data.raw()).data`: `{"filenames":["a","b"]}`,
		`Object.defineProperty(Object.prototype, "data", {set(v) { throw 1 }}); return (await tools.Data.raw()).data`:                                                                     `{"filenames":["a","b"]}`,
		`Promise = null; Symbol = null; globalThis.tools = null; return await Echo({})`:                                                                                                   `{}`,
		`globalThis["template literal"] = () => "stolen"; return ` + "`a${1}`":                                                                                                            "a1",
		`const l = []; for (const k of Object.getOwnPropertyNames(globalThis)) if (/go|chan|file|env/i.test(k)) l.push(k); return l.join()`:                                               "",
		`try { await Fail({}) } catch (e) { return Object.getOwnPropertyNames(e).sort().join() }`:                                                                                         "message,name,refused,stack,tool",
	} {
		if got, out := run(t, code); !strings.HasPrefix(got, want) && !strings.Contains(got, want) || out.Error != "" || want == "" && got != "" {
			t.Errorf("%s\ngives %q (%s), want %q", code, got, out.Error, want)
		}
	}
}

func TestNoFileIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "map.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	// A source map that was read would be an error.
	if got, out := run(t, "1\n//# sourceMappingURL="+file); got != "1" {
		t.Errorf("%q, %s", got, out.Error)
	}
}

// Each of these would take the process down or run for hours.
func TestBombsAreDefused(t *testing.T) {
	big := `const s = "x".repeat(4000000), a = new Array(600000).fill(1); `
	for name, code := range map[string]string{
		"repeat":           `"x".repeat(1e12)`,
		"repeat twice":     `let n = 0; "xx".repeat({valueOf() { return n++ ? 1e12 : 1 }}); throw Error("once")`,
		"pad":              `"x".padEnd(1e12)`,
		"pad with":         big + `"x".padStart(1e10, s)`,
		"concat":           big + `s.concat(s)`,
		"template":         "let s = 'x'.repeat(4e6); for (let i = 0; i < 5; i++) s += s; `" + strings.Repeat("${s}", 500) + "`",
		"doubling":         `let s = "x"; for (;;) s += s`,
		"join":             big + `a.map(() => s).join("")`,
		"separator":        big + `a.join(s)`,
		"fill":             `new Array(4e9).fill(0)`,
		"sparse":           `const a = []; a.length = 4294967295; a.indexOf(1)`,
		"array-like":       `Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)`,
		"lying length":     `let n = 0; Array.prototype.indexOf.call({get length() { return n++ ? 2 ** 53 - 1 : 1 }}, 1)`,
		"inherited length": `Array.prototype.indexOf.call(Object.create({length: 2 ** 53 - 1}), 1)`,
		"from":             `Array.from({length: 2 ** 53 - 1})`,
		"from endless":     `Array.from((function* () { for (;;) yield 1 })())`,
		"concat arrays":    big + `a.concat(a)`,
		"spreadable":       `const o = {length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true}; const r = [].concat(o); if (r.length === 1) throw Error("as one")`,
		"flat":             `let a = [1]; for (let i = 0; i < 60; i++) a = [a, a]; a.flat(Infinity)`,
		"flat empty":       `let a = []; for (let i = 0; i < 60; i++) a = [a, a]; a.flat(Infinity)`,
		"nested join":      `let a = [1]; for (let i = 0; i < 60; i++) a = [a, a]; String(a)`,
		"deep join":        `let a = []; for (let i = 0; i < 300000; i++) a = [a]; String(a)`,
		"deep json":        `let a = []; for (let i = 0; i < 300000; i++) a = [a]; JSON.stringify(a)`,
		"deep result":      `let a = {}; for (let i = 0; i < 300000; i++) a = {a}; return a`,
		"deep input":       `let a = {}; for (let i = 0; i < 300000; i++) a = {a}; await Echo(a)`,
		"deep log":         `let a = {}; for (let i = 0; i < 300000; i++) a = {a}; console.log(a)`,
		"deep text":        `JSON.parse("[".repeat(1000000))`,
		"deep text closed": `JSON.parse("[".repeat(1000000) + "]".repeat(1000000))`,
		"json doubling":    `let a = {}; for (let i = 0; i < 60; i++) a = {a, b: a}; JSON.stringify(a)`,
		"json strings":     big + `JSON.stringify([s, s, s])`,
		"json toJSON":      `const o = {toJSON() { return {o} }}; JSON.stringify(o)`,
		"replace":          big + `s.replaceAll("x", s)`,
		"replace pattern":  big + `s.replace(/x/g, s)`,
		"replace prefix":   big + "s.replace(/x/g, '$`')",
		"apply":            `Math.max.apply(null, {length: 1e9})`,
		"apply array":      big + `Math.max.apply(null, a)`,
		"reflect":          `Reflect.apply(Math.max, null, {length: 1e9})`,
		"construct":        `Reflect.construct(Array, {length: 1e9})`,
		"raw":              `String.raw({raw: {length: 2 ** 53 - 1}})`,
		"raw big":          big + `String.raw({raw: [s, s, s]})`,
		"bind":             `let f = () => 1; for (;;) f = f.bind(null)`,
		"prototypes":       `let o = {}; for (;;) o = Object.create(o)`,
		"error names":      `let e = Error(); for (let i = 0; i < 100000; i++) { const n = Error(); n.name = e; e = n } String(e)`,
		"to string":        `const o = {toString() { return String(o) }}; String(o)`,
		"mutual":           `const f = () => [1].map(f); f()`,
		"objects":          `const all = []; for (;;) all.push({a: [1, 2, 3], b: {}})`,
		"map":              `const m = new Map(); for (let i = 0;; i++) m.set(i, {})`,
		"long strings":     `const all = []; for (let i = 0;; i++) all.push("x".repeat(4000000) + i)`,
		"closures":         `let f = () => 0; for (;;) { const g = f; f = () => g }`,
		"promises":         `for (;;) sleep(600000)`,
		"calls":            `for (;;) await Echo({})`,
		"split":            big + `const all = []; for (;;) all.push(s.split(""))`,
		"long code":        `const big = "x".repeat(4e6) + "y"; for (;;) [big, big, big].indexOf("z"); `,
	} {
		t.Run(name, func(t *testing.T) {
			_, out, _, err := runIn(t, context.Background(), newFake(), Input{Code: code, Timeout: 200})
			if err != nil || out.Error == "" {
				t.Errorf("it went well: %v", err)
			}
			t.Log(out.Error)
		})
	}
}

// Code on which a parser that calls itself could run out of stack, or of time.
func TestCodeThatIsHardToRead(t *testing.T) {
	long := func(part, end string) string { return strings.Repeat(part, (MaxCode-100)/len(part)) + end }
	nested := func(open, shut string, n int) string { return strings.Repeat(open, n) + "1" + strings.Repeat(shut, n) }
	for name, code := range map[string]string{
		"sum": long("1+", "1"), "assignment": long("a=", "1"), "arrow": long("a=>", "1"), "choice": long("1?1:", "1"), "new": long("new ", "f"),
		"typeof": long("typeof ", "1"), "if": long("if(1)", ";"), "else": long("if(1);else ", ";"), "power": long("2**", "1"), "member": "var a={};" + long("a.", "a"),
		"comma": long("1,", "1"), "call": "var f=()=>f;f" + long("()", ""), "and": long("1&&", "1"), "await": long("await ", "1"),
		"void": long("void ", "1"), "for": long("for(;;)", ";"), "do": long("do ", ";"), "statements": long("1;", ""), "not": long("! !", "1"), "minus": long("- ", "1"),
		"parens": nested("(", ")", 60), "parens mixed": nested("(a,", ")", 60), "arrays": nested("[", "]", 120), "objects": "(" + nested("{a:", "}", 100) + ")", "functions": nested("(()=>", ")()", 60),
		"template": long("`a`", ""), "async": nested("async(", ")", 60), "regexp": "/" + nested("(", ")", 60) + "/", "quantifier": "/" + nested("(", "){9}", 60) + "/.test('')",
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, _ = runIn(t, context.Background(), newFake(), Input{Code: code, Timeout: 2000})
		})
	}
}
