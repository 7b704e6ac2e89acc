package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

type in struct {
	A string `json:"a,omitempty"`
	N int    `json:"n,omitempty"`
}

func plain() Def[in, string] {
	return Def[in, string]{Name: "T", Call: func(_ context.Context, i in, _ *Env) (Result[string], error) { return OK(i.A), nil }}
}

func boundTo(t *testing.T, d Def[in, string], raw string) *Call {
	t.Helper()
	c, err := Define(d).Bind(json.RawMessage(raw), Place{Cwd: "/w", Home: "/h"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWhatIsNotDeclaredIsTheCarefulAnswer(t *testing.T) {
	c := boundTo(t, plain(), `{"a":"x"}`)
	if c.ReadOnly() || c.ConcurrencySafe() || c.Effects().Known() || c.Destructive() || c.OpenWorld() || c.RequiresUserInteraction() || c.Sandboxed() {
		t.Error("an undeclared fact is not the careful one")
	}
	f := c.Tool().Facts()
	if f.MaxResultChars != DefaultMaxResultChars || f.Title != "T" || f.Interrupt != InterruptBlock || f.Defer {
		t.Errorf("facts are %+v", f)
	}
	if v := c.CheckPermissions(context.Background(), nil); v.Behavior != "" {
		t.Errorf("an undeclared check says %q", v.Behavior)
	}
	if s, err := c.Subjects(); err != nil || s != nil {
		t.Errorf("subjects are %v, %v", s, err)
	}
	if c.ClassifierInput() != "" || c.Path() != "" {
		t.Error("an undeclared text is not empty")
	}
	if !Define(plain()).Enabled(Features{}) {
		t.Error("an ungated tool does not exist")
	}
}

func TestWrongDeclarationsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Def[in, string]){
		"no name":       func(d *Def[in, string]) { d.Name = "" },
		"long name":     func(d *Def[in, string]) { d.Name = strings.Repeat("x", 65) },
		"blank in name": func(d *Def[in, string]) { d.Name = "a b" },
		"no call":       func(d *Def[in, string]) { d.Call = nil },
		"bound":         func(d *Def[in, string]) { d.MaxResultChars = MaxResultCharsCeiling + 1 },
		"negative":      func(d *Def[in, string]) { d.MaxResultChars = -2 },
		"schema":        func(d *Def[in, string]) { d.InputSchema = json.RawMessage("{") },
	} {
		d := plain()
		change(&d)
		if _, err := TryDefine(d); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	d := plain()
	d.Defer, d.AlwaysLoad, d.Title, d.Gate = true, true, "-", "x"
	tl := Define(d)
	if f := tl.Facts(); f.Defer || f.Title != "" {
		t.Errorf("facts are %+v", f)
	}
	if tl.Enabled(Features{}) || !tl.Enabled(Features{Flags: map[string]bool{"x": true}}) {
		t.Error("the gate does not count")
	}
}

func TestBindIsStrict(t *testing.T) {
	tl := Define(plain())
	for _, bad := range []string{`{"b":1}`, `{"a":1}`, `[]`, `{"a":"x"} {}`, `{`, `"x"`} {
		if _, err := tl.Bind(json.RawMessage(bad), Place{}); err == nil {
			t.Errorf("%s was bound", bad)
		}
	}
	if c, err := tl.Bind(nil, Place{}); err != nil || string(c.Input()) != "{}" {
		t.Errorf("an empty input: %v", err)
	}
}

func TestObservedAndOwnInput(t *testing.T) {
	d := plain()
	d.Backfill = func(i in, at Place) in { i.A = at.Abs(i.A); return i }
	d.Path = func(i in) string { return i.A }
	c := boundTo(t, d, `{ "a" : "~/<x>" }`)
	if string(c.Input()) != `{ "a" : "~/<x>" }` || string(c.Observed()) != `{"a":"/h/<x>"}` || c.Path() != "/h/<x>" {
		t.Errorf("input %s, observed %s, path %s", c.Input(), c.Observed(), c.Path())
	}
	o, err := c.Run(context.Background(), &Env{})
	if err != nil || o.Data != "~/<x>" {
		t.Errorf("the call got %v, %v", o.Data, err)
	}
	if _, err := c.WithOutput(o, json.RawMessage(`5`)); err == nil {
		t.Error("an output of another type was taken")
	}
	if o, err := c.WithOutput(o, json.RawMessage(`"new"`)); err != nil || o.Data != "new" {
		t.Errorf("a new output: %v, %v", o.Data, err)
	}
}

func TestPanicsOfCallAreErrorsWithoutAStackInTheText(t *testing.T) {
	d := plain()
	d.Call = func(context.Context, in, *Env) (Result[string], error) { panic("secret detail") }
	_, err := boundTo(t, d, `{}`).Run(context.Background(), nil)
	var p *PanicError
	if !errors.As(err, &p) || strings.Contains(err.Error(), "secret") || len(p.Stack) == 0 {
		t.Errorf("got %v", err)
	}
}

func TestEquivalence(t *testing.T) {
	a, b := boundTo(t, plain(), `{"a":"x","n":1}`), boundTo(t, plain(), `{"n":1,"a":"x"}`)
	if a.Equivalent(b) {
		t.Error("calls of different tools are the same") // Define makes a new tool each time
	}
	tl := Define(plain())
	bind := func(raw string) *Call { call, _ := tl.Bind(json.RawMessage(raw), Place{}); return call }
	if !bind(`{"a":"x","n":1}`).Equivalent(bind(`{"n":1,"a":"x"}`)) || bind(`{"n":1}`).Equivalent(bind(`{"n":2}`)) {
		t.Error("equivalence is not that of the values")
	}
}

func TestBlocksKeepWhatTheyDoNotKnow(t *testing.T) {
	raw := `{"role":"assistant","content":[{"type":"text","text":""},{"type":"thinking","thinking":"a & b","signature":"s"},` +
		`{"type":"server_tool_use","id":"x","name":"n","input":{"q":1},"content":{"z":[1, 2]}},{"type":"tool_use","id":"t","name":"N","input":{"b":1,"a":2}}],"stop_reason":"tool_use"}`
	var m Message
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(string(out), `\u0026`, "&"); !strings.Contains(got, `{"type":"thinking","thinking":"a & b","signature":"s"}`) ||
		!strings.Contains(got, `"input":{"b":1,"a":2}`) || !strings.Contains(got, `"content":{"z":[1,2]}`) || !strings.Contains(got, `{"type":"text","text":""}`) {
		t.Errorf("encoded again: %s", got)
	}
	for _, bad := range []string{`{"content":5}`, `{"content":[{"text":"no type"}]}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), new(Message)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	var plain Message
	if err := json.Unmarshal([]byte(`{"role":"user","content":"hi"}`), &plain); err != nil || plain.Text() != "hi" {
		t.Errorf("a plain string: %+v, %v", plain, err)
	}
	cut, err := json.Marshal(ToolUse("t", "N", json.RawMessage(`{"a":`)))
	if err != nil || !strings.Contains(string(cut), `"input":{}`) {
		t.Errorf("a cut input is encoded as %s, %v", cut, err)
	}
}

func TestFileStateForgetsTheOldest(t *testing.T) {
	var s FileState
	for i := range MaxFileState + 10 {
		s.Put(fmt.Sprint(i), FileView{Size: int64(i)})
		s.Get("0")
	}
	if _, ok := s.Get("0"); !ok {
		t.Error("a file in use was forgotten")
	}
	if _, ok := s.Get("1"); ok || len(s.Paths()) != MaxFileState {
		t.Errorf("%d files are remembered", len(s.Paths()))
	}
	raw, err := json.Marshal(&s)
	if err != nil {
		t.Fatal(err)
	}
	var back FileState
	if err := json.Unmarshal(raw, &back); err != nil || len(back.Paths()) != MaxFileState || back.Paths()[0] != s.Paths()[0] {
		t.Errorf("read back %d files, %v", len(back.Paths()), err)
	}
	if json.Unmarshal([]byte(`[{"path":"x","hash":"zz"}]`), &back) == nil {
		t.Error("a broken hash was read")
	}
	var none *FileState
	none.Put("x", FileView{})
	if _, ok := none.Get("x"); ok {
		t.Error("nothing remembers")
	}
}

func TestStateUpdatesAreWhole(t *testing.T) {
	var s State
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			s.Update("n", func(old any) any { n, _ := old.(int); return n + 1 })
		})
	}
	wg.Wait()
	if v, _ := s.Get("n"); v != 50 {
		t.Errorf("n is %v", v)
	}
}

func TestNilEnvIsUsable(t *testing.T) {
	var e *Env
	e.Report(Progress{})
	e.Logger().Info("x")
	if v, err := e.Ask(context.Background(), Question{}); err != nil || v.Behavior != Deny {
		t.Errorf("asking nobody: %+v, %v", v, err)
	}
}
