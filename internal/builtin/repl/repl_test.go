package repl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sevengate/sevengate/tool"
)

func TestMain(m *testing.M) {
	// The clock of the regular expressions ends by itself after a while.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("time.Sleep"))
}

// fake answers calls by name.
type fake struct {
	answer  map[string]func(ctx context.Context, input string) Result
	mu      sync.Mutex
	ids     []string
	inputs  []string
	running atomic.Int32
	opened  int
	closed  int
}

type fakeCalls struct {
	f   *fake
	ctx context.Context
	wg  sync.WaitGroup
}

func text(s string) Result { return Result{Content: []tool.Block{tool.TextBlock(s)}} }

func failed(s string) Result {
	return Result{Content: []tool.Block{tool.TextBlock(s)}, IsError: true}
}

func newFake() *fake {
	return &fake{answer: map[string]func(context.Context, string) Result{
		"Echo": func(_ context.Context, in string) Result { return text(in) },
		"Data": func(_ context.Context, in string) Result {
			return Result{Content: []tool.Block{tool.TextBlock("found"), {Type: tool.BlockImage}}, Data: json.RawMessage(`{"filenames":["a","b"]}`)}
		},
		"Fail": func(context.Context, string) Result { return failed("it is broken\nin detail") },
		"Deny": func(context.Context, string) Result {
			return Result{Content: []tool.Block{tool.TextBlock("not allowed")}, IsError: true, Refused: true}
		},
		"Hang": func(ctx context.Context, _ string) Result { <-ctx.Done(); return failed("cancelled") },
		"mcp__a-b__c": func(context.Context, string) Result {
			r := text("from a server")
			r.Notes, r.Moved = []string{"a hook says hello"}, true
			return r
		},
		"Halt":  func(context.Context, string) Result { r := text("x"); r.Stop = "a hook ended the turn"; return r },
		"Large": func(context.Context, string) Result { return text(strings.Repeat("x", MaxString+1)) },
		Name:    func(context.Context, string) Result { return text("inner") },
	}}
}

func (f *fake) Tools() []ToolInfo {
	var out []ToolInfo
	for name := range f.answer {
		out = append(out, ToolInfo{Name: name, Description: "does " + name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return out
}

func (f *fake) Open(ctx context.Context, _ *tool.Env) Calls {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
	return &fakeCalls{f: f, ctx: ctx}
}

func (c *fakeCalls) Start(id, name string, input json.RawMessage) func() Result {
	c.f.mu.Lock()
	c.f.ids, c.f.inputs = append(c.f.ids, id), append(c.f.inputs, string(input))
	c.f.mu.Unlock()
	done := make(chan Result, 1)
	c.wg.Go(func() {
		c.f.running.Add(1)
		defer c.f.running.Add(-1)
		done <- c.f.answer[name](c.ctx, string(input))
	})
	return func() Result { return <-done }
}

func (c *fakeCalls) Close() {
	c.wg.Wait()
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.closed++
}

// runs a script through the declared tool.
func runIn(t *testing.T, ctx context.Context, f *fake, in Input) (string, Output, tool.Outcome, error) {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	call, err := New(Deps{Caller: f}).Bind(raw, tool.Place{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	env := &tool.Env{ToolUseID: "toolu_1"}
	if err := call.Validate(ctx, env); err != nil {
		return "", Output{}, tool.Outcome{}, err
	}
	o, err := call.Run(ctx, env)
	if f.running.Load() != 0 || f.opened != f.closed {
		t.Errorf("calls are left over: %d run, %d of %d closed", f.running.Load(), f.closed, f.opened)
	}
	if err != nil {
		return "", Output{}, o, err
	}
	blocks, err := call.Map(o)
	if err != nil {
		t.Fatal(err)
	}
	var s string
	for _, b := range blocks {
		s += b.Text
	}
	return s, o.Data.(Output), o, nil
}

func run(t *testing.T, code string) (string, Output) {
	t.Helper()
	s, out, _, err := runIn(t, context.Background(), newFake(), Input{Code: code})
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return s, out
}

func TestWhatAScriptGivesBack(t *testing.T) {
	for code, want := range map[string]string{
		`1 + 1`:                                               `2`,
		`return [1, {a: 2}]`:                                  `[1,{"a":2}]`,
		`"plain text\nof two lines"`:                          "plain text\nof two lines",
		`return undefined`:                                    ``,
		`let x = 1; if (x) { x = 2 }`:                         ``,
		`const a = await Echo({x: 1}); a`:                     `{"x":1}`,
		`await tools.Echo()`:                                  `{}`,
		`(await tools.Data.raw({})).data.filenames`:           `["a","b"]`,
		`(await tools.Data.raw({})).content.map(b => b.type)`: `["text","image"]`,
		`await Data({})`:                                      "found\n[image]",
		`(await tools.Fail.raw({})).isError`:                  "true\n\n1 of 1 calls did not succeed: 1 Fail failed: it is broken",
		`await tools["mcp__a-b__c"]({})`:                      "from a server\n\na hook says hello",
		`try { await Fail({}) } catch (e) { return e.name + e.message + e.tool }`: "ToolErrorit is broken\nin detailFail\n\n1 of 1 calls did not succeed: 1 Fail failed: it is broken",
		`try { await Deny({}) } catch (e) { return e.refused }`:                   "true\n\n1 of 1 calls did not succeed: 1 Deny refused: not allowed",
		`console.log("a", 1, {b: [2]}); console.error(new Error("e"))`:            "Printed:\na 1 {\"b\":[2]}\nError: e",
		`describe("Echo")`:                        "Echo\n\ndoes Echo\n\nInput: {\"type\":\"object\"}",
		`describe().split("\n").includes("REPL")`: `false`,
		`typeof tools.REPL + typeof REPL`:         `undefinedundefined`,
		"const n = 3; `a${n}b${[1,2]}c`":          "a3b1,2c",
		"String.raw`a\\n${1}`":                    `a\n1`,
		`await sleep(1); "slept"`:                 `slept`,
		`[typeof require, typeof process, typeof fetch, typeof setTimeout, typeof eval, typeof Proxy, typeof BigInt, typeof Uint8Array].join()`:                         strings.TrimSuffix(strings.Repeat("undefined,", 8), ","),
		`"a-b-c".replace(/-/g, "$&$&") + "x".padStart(3, "ab") + "ab".repeat(2)`:                                                                                        "a--b--cabxabab",
		`[3,1,2].sort().concat([4], 5).join("-") + [1,[2,[3]]].flat(Infinity)`:                                                                                          "1-2-3-4-51,2,3",
		`Array.from(new Set([1,1,2]), x => x * 2).concat(Array.from({length: 2}))`:                                                                                      `[2,4,null,null]`,
		`JSON.stringify({a: [1, {b: 2}], c: 3}, ["a", "b"]) + JSON.stringify({a: 1}, (k, v) => k ? v + 1 : v) + JSON.stringify([1], null, 1)`:                           "{\"a\":[1,{\"b\":2}]}{\"a\":2}[\n 1\n]",
		`"2024-05 x".match(/(?<y>\d+)-(\d+)/).groups.y + "aXbX".split(/X/) + [..."a1b2".matchAll(/\d/g)].map(m => m.index) + /^é/u.test("é") + "😀x".replace(/x$/, "y")`: "2024a,b,1,3true😀y",
		`"😀a".match(/./u)[0] + "😀".match(/./)[0].length + /(?<=a)b/.exec("ab").index + "aBc".search(/B/) + "ab".replace(/(a)(b)/, "$2$1")`:                              "😀111ba",
		`const re = /a/y; re.lastIndex = 1; re.test("ba") + "," + re.lastIndex`:                                                                                         "true,2",
		`class A extends Array {}; new A(1, 2).length + Math.max.apply(null, [1, 5]) + (function () { return Array.prototype.slice.call(arguments, 1) })(1, 2)[0]`:      "9",
	} {
		if got, out := run(t, code); got != want || out.Error != "" {
			t.Errorf("%s\ngives %q (%s), want %q", code, got, out.Error, want)
		}
	}
}

func TestWhatFails(t *testing.T) {
	for code, want := range map[string]string{
		`throw new Error("no")`: "Error: no (line 1)",
		"\n\nnull.x":            "(line 3)",
		`throw {code: 7}`:       `{"code":7}`,
		`throw null`:            "null",
		`throw {toString() { throw 1 }, toJSON() { throw 2 }}`: "cannot be shown",
		`await Deny({})`:                               "ToolError: not allowed",
		`await Echo(5)`:                                "must be one object",
		`await Large({})`:                              "a script can take",
		`await new Promise(() => {})`:                  "nothing will ever settle",
		`const a = {}; a.a = a; return a`:              "cannot be made JSON",
		`await Halt({}); await sleep(60000)`:           "a hook ended the turn",
		`function f() { return f() } f()`:              "more than 1000 deep",
		`await tools.Nope({})`:                         "TypeError",
		`describe("Nope")`:                             "no tool named",
		`return "x".repeat(2000000)`:                   "return less",
		`for (let i = 0; i < 300; i++) await Echo({})`: "at most 200 calls",
	} {
		s, out, o, err := runIn(t, context.Background(), newFake(), Input{Code: code})
		if err != nil || !o.IsError || !strings.Contains(out.Error, want) || !strings.HasPrefix(s, "The script failed: ") {
			t.Errorf("%s\ngives %q, %v, %v; want %q", code, out.Error, o.IsError, err, want)
		}
	}
}

func TestWhatIsNotRun(t *testing.T) {
	f := newFake()
	for code, want := range map[string]string{
		"":                              "empty",
		"let = ;":                       "not valid",
		"}); (async () => {":            "not valid",
		"1n":                            "big integers",
		"await Echo({a: [10n ** 9n]})":  "big integers",
		strings.Repeat("(", 5000):       "deep",
		strings.Repeat("!", 5000) + "1": "deep",
		"/*" + strings.Repeat("x", MaxCode) + "*/": "bytes",
	} {
		if _, _, _, err := runIn(t, context.Background(), f, Input{Code: code}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", code, err, want)
		}
	}
	for _, timeout := range []int{-1, 600_001} {
		if _, _, _, err := runIn(t, context.Background(), f, Input{Code: "1", Timeout: timeout}); err == nil {
			t.Errorf("a timeout of %d was taken", timeout)
		}
	}
	if f.opened != 0 {
		t.Error("a script ran")
	}
}

// Each call waits until all have begun, which they can only side by side.
func TestCallsRunSideBySide(t *testing.T) {
	f := newFake()
	const n = 20
	var begun sync.WaitGroup
	begun.Add(n)
	f.answer["Meet"] = func(ctx context.Context, in string) Result {
		begun.Done()
		begun.Wait()
		return text(in)
	}
	s, out, _, err := runIn(t, context.Background(), f, Input{Code: `
		const all = await Promise.all(Array.from({length: 20}, (_, i) => tools.Meet({i})));
		return all.map(x => JSON.parse(x).i).join()`})
	if err != nil || s != "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19" {
		t.Fatalf("%q, %v", s, err)
	}
	for i, id := range f.ids {
		if id != fmt.Sprintf("toolu_1_%d", i+1) || f.inputs[i] != fmt.Sprintf(`{"i":%d}`, i) {
			t.Errorf("call %d is %s %s", i, id, f.inputs[i])
		}
	}
	if len(out.Calls) != n || !out.Calls[n-1].OK || out.Calls[0].Tool != "Meet" {
		t.Errorf("calls: %+v", out.Calls)
	}
}

func TestCallsThatNobodyAwaitsAreWaitedFor(t *testing.T) {
	f := newFake()
	f.answer["Slow"] = func(context.Context, string) Result { time.Sleep(50 * time.Millisecond); return failed("late") }
	s, out, _, err := runIn(t, context.Background(), f, Input{Code: `Slow({}); sleep(600000); return "done"`})
	if err != nil || !strings.HasPrefix(s, "done\n\n1 of 1 calls did not succeed: 1 Slow failed: late") || out.Calls[0].Error != "late" {
		t.Errorf("%q, %v", s, err)
	}
}

func TestTheContextIsLookedAtAnew(t *testing.T) {
	_, _, o, err := runIn(t, context.Background(), newFake(), Input{Code: `await tools["mcp__a-b__c"]()`})
	if err != nil || o.Modify == nil {
		t.Errorf("a call moved: %v", err)
	}
	if _, _, o, _ := runIn(t, context.Background(), newFake(), Input{Code: `await Echo()`}); o.Modify != nil {
		t.Error("no call moved")
	}
}

// hang is a generous guard.
const hang = 10 * time.Second

func TestScriptsAreStopped(t *testing.T) {
	for name, code := range map[string]string{
		"loop":             `for (;;) {}`,
		"caught loop":      `for (;;) { try { for (;;) {} } catch (e) {} finally { continue } }`,
		"microtasks":       `const f = async () => { for (;;) await 0 }; await f()`,
		"then":             `const f = () => Promise.resolve().then(f); await f()`,
		"call":             `await Hang({})`,
		"sleep":            `await sleep(600000)`,
		"callback":         `[1].forEach(() => { for (;;) {} })`,
		"getter":           `JSON.stringify({get a() { for (;;) {} }})`,
		"toJSON of result": `return {toJSON() { for (;;) {} }}`,
		"thrown":           `throw {toJSON() { for (;;) {} }}`,
		"generator":        `function* g() { for (;;) yield 1 } for (const x of g()) {}`,
		"endless from":     `Array.from({[Symbol.iterator]() { return {next() { return {done: false, get value() { for (;;) {} }}} }}})`,
		"sorting":          `[2, 1].sort(() => { for (;;) {} })`,
		"expression":       `/^(a+)+$/.test("a".repeat(40) + "b"); for (;;) {}`,
		"many natives":     `const a = Array.from({length: 1000}, (_, i) => i); for (;;) a.map(String).sort().join()`,
	} {
		begin := time.Now()
		s, out, _, err := runIn(t, context.Background(), newFake(), Input{Code: code, Timeout: 100})
		if err != nil || !strings.Contains(out.Error, "time of 100ms is over") {
			if name == "expression" && strings.Contains(out.Error, "regular expression") {
				continue
			}
			t.Errorf("%s: %q, %v", name, s, err)
		}
		if d := time.Since(begin); d > hang {
			t.Errorf("%s: stopped after %v", name, d)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() { time.Sleep(30 * time.Millisecond); cancel(errors.New("enough")) }()
		if _, _, _, err := runIn(t, ctx, newFake(), Input{Code: code}); err == nil || err.Error() != "enough" {
			t.Errorf("%s: cancelled: %v", name, err)
		}
	}
}

func TestRegularExpressionsEnd(t *testing.T) {
	for _, code := range []string{
		`/^(a+)+$/.test(s)`, `s.match(/^(a+)+$/)`, `s.match(/(a+)+$/g)`, `s.replace(/(a+)+$/g, "")`, `s.split(/(a+)+$/)`, `s.search(/^(a+)+$/)`,
		`const r = /(a+)+$/g; r.lastIndex = 1; r.exec(s)`,
	} {
		begin := time.Now()
		_, out := run(t, `const s = "a".repeat(60) + "b"; `+code)
		if !strings.Contains(out.Error, "regular expression was searched") && out.Error != "" {
			t.Errorf("%s: %q", code, out.Error)
		}
		if d := time.Since(begin); d > hang {
			t.Errorf("%s: ended after %v", code, d)
		}
	}
}

func TestThePersonsTimeDoesNotCount(t *testing.T) {
	f := newFake()
	f.answer["Ask"] = func(ctx context.Context, _ string) Result {
		resume := PauseClock(ctx)
		defer resume()
		select {
		case <-ctx.Done():
			return failed("over")
		case <-time.After(400 * time.Millisecond):
			return text("yes")
		}
	}
	if s, _, _, err := runIn(t, context.Background(), f, Input{Code: `await Ask({})`, Timeout: 150}); err != nil || s != "yes" {
		t.Errorf("%q, %v", s, err)
	}
	_, out, _, _ := runIn(t, context.Background(), f, Input{Code: `await Ask({}); for (;;) {}`, Timeout: 150})
	if !strings.Contains(out.Error, "time of") {
		t.Errorf("the clock did not go on: %q", out.Error)
	}
	PauseClock(context.Background())()
}

func TestWhatIsPrintedIsBounded(t *testing.T) {
	for _, code := range []string{
		`for (let i = 0; i < 100000; i++) console.log("line", i)`, `for (let i = 0; i < 100000; i++) console.log("")`,
		`console.log("é".repeat(1000000))`, `console.log("x".repeat(19999)); console.log("x"); console.log("x")`,
	} {
		_, out := run(t, code)
		n := 0
		for _, l := range out.Logs {
			n += len(l)
		}
		if n > MaxLogChars+100 || len(out.Logs) > MaxLogLines+1 || !strings.Contains(out.Logs[len(out.Logs)-1], "cut off") {
			t.Errorf("%s: %d bytes in %d lines", code, n, len(out.Logs))
		}
	}
}

func TestFailuresAreListedInOneLine(t *testing.T) {
	s, _ := run(t, `for (let i = 0; i < 15; i++) try { await Fail({}) } catch {}`)
	if strings.Count(s, "\n") != 0 || !strings.Contains(s, "and 5 more") {
		t.Errorf("%q", s)
	}
}

func TestDeclaration(t *testing.T) {
	if len(Tools(Deps{})) != 0 || New(Deps{}).Enabled(tool.Features{Flags: map[string]bool{Gate: true}}) {
		t.Error("it exists without a caller")
	}
	tl := Tools(Deps{Caller: newFake(), Hidden: Primitives()})[0]
	if tl.Enabled(tool.Features{}) || !tl.Enabled(tool.Features{Flags: map[string]bool{Gate: true}}) {
		t.Error("the gate does not count")
	}
	c, err := tl.Bind(json.RawMessage(`{"code":"1","description":"count"}`), tool.Place{})
	if err != nil {
		t.Fatal(err)
	}
	if c.ReadOnly() || c.ConcurrencySafe() || c.Effects().Known() || !c.OpenWorld() || c.ClassifierInput() != "1" || tl.Facts().Interrupt != tool.InterruptCancel {
		t.Error("the facts are not the careful ones")
	}
	v := c.CheckPermissions(context.Background(), nil)
	if v.Behavior != tool.Allow || !strings.Contains(v.Reason.Message, "every call that it makes is judged") {
		t.Errorf("verdict %+v", v)
	}
	if p := tl.Prompt(tool.PromptContext{}); !strings.Contains(p, "NotebookEdit") || c.ViewUse() != "count" {
		t.Errorf("prompt %q", p)
	}
}
