package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/sevengate/sevengate/internal/hook"
	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/internal/registry"
	"github.com/sevengate/sevengate/internal/result"
	"github.com/sevengate/sevengate/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type echoIn struct {
	Text string `json:"text"`
	Path string `json:"path,omitempty"`
}

type echoOut struct {
	Said string `json:"said"`
}

// probe is a tool that counts how often it was called, and with what.
type probe struct {
	mu    sync.Mutex
	calls []echoIn
}

func (p *probe) def() tool.Def[echoIn, echoOut] {
	return tool.Def[echoIn, echoOut]{
		Name: "Echo",
		Backfill: func(in echoIn, at tool.Place) echoIn {
			if in.Path != "" {
				in.Path = at.Abs(in.Path)
			}
			return in
		},
		Call: func(_ context.Context, in echoIn, _ *tool.Env) (tool.Result[echoOut], error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.calls = append(p.calls, in)
			return tool.OK(echoOut{in.Text}), nil
		},
		MapResult: func(o echoOut) []tool.Block { return []tool.Block{tool.TextBlock(o.Said)} },
	}
}

// house is a gate with what it needs.
type house struct {
	*Gate
	conv *Conversation
	pool *registry.Pool
}

type setup struct {
	tools    []tool.Tool
	allow    []string
	deny     []string
	hooks    []hook.Handler // of PreToolUse unless in groups
	groups   []hook.Group
	prompter Prompter
	mode     string
	journal  Journal
}

func build(t *testing.T, s setup) *house {
	t.Helper()
	dir := t.TempDir()
	reg, err := registry.New(s.tools, tool.Features{}, "m")
	if err != nil {
		t.Fatal(err)
	}
	pool := reg.Pool(registry.Select{})
	groups := s.groups
	if len(s.hooks) > 0 {
		groups = append(groups, hook.Group{Event: hook.PreToolUse, Handlers: s.hooks, Source: hook.SourceSDK})
	}
	hooks := hook.New(hook.Config{Callbacks: groups, Cwd: dir})
	t.Cleanup(hooks.Close)
	g := New(Config{
		Pool:    func() Pool { return pool },
		Policy:  permission.New(permission.Config{Cwd: dir, Home: dir, Allowed: s.allow, Disallowed: s.deny}),
		Hooks:   hooks,
		Results: result.NewStore(filepath.Join(dir, "results"), ""), Prompter: s.prompter, Journal: s.journal,
	})
	conv := NewConversation(tool.Env{Place: tool.Place{Home: dir}, Files: &tool.FileState{}, State: &tool.State{}},
		tool.Context{Cwd: dir, Roots: []string{dir}, Mode: s.mode})
	return &house{g, conv, pool}
}

var ids int

func (h *house) call(ctx context.Context, name, input string) *Result {
	ids++
	return h.Admit(h.conv, tool.ToolUse(fmt.Sprintf("t%d", ids), name, json.RawMessage(input))).Run(ctx, nil)
}

func text(r *Result) string {
	var b strings.Builder
	for _, c := range r.Block.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

func callback(answer string) hook.Handler {
	return hook.Handler{Type: hook.TypeCallback, Name: "test", Func: func(context.Context, json.RawMessage, string) (json.RawMessage, error) {
		return json.RawMessage(answer), nil
	}}
}

func TestAllSevenPhasesInOrder(t *testing.T) {
	p := &probe{}
	h := build(t, setup{tools: []tool.Tool{tool.Define(p.def())}, allow: []string{"Echo"}})
	r := h.call(context.Background(), "Echo", `{"text":"hi"}`)
	if r.Block.IsError || text(r) != "hi" || r.Block.ToolUseID != r.Use.ID {
		t.Fatalf("result is %+v", r.Block)
	}
	var got []Phase
	for _, s := range r.Trace {
		got = append(got, s.Phase)
	}
	if fmt.Sprint(got) != fmt.Sprint(Phases()) {
		t.Errorf("trace went through %v", got)
	}
	if r.Decision.Reason.Layer != tool.LayerAllowRule {
		t.Errorf("decided by %+v", r.Decision.Reason)
	}
}

func TestWhatEndsACallEarlyNeverReachesTheTool(t *testing.T) {
	validate := func(context.Context, echoIn, *tool.Env) error { return errors.New("not today") }
	for name, c := range map[string]struct {
		tool, input string
		setup       setup
		want        string
		layer       tool.Layer
		denied      bool
	}{
		"unknown tool":      {"Ecco", `{}`, setup{}, `no tool named "Ecco"`, tool.LayerSchema, false},
		"other spelling":    {"e-c-h-o", `{}`, setup{}, "Did you mean Echo?", tool.LayerSchema, false},
		"hostile name":      {strings.Repeat("\xff", 5000), `{}`, setup{}, "There is no tool", tool.LayerSchema, false},
		"malformed JSON":    {"Echo", `{"text":`, setup{allow: []string{"Echo"}}, "not valid JSON", tool.LayerSchema, false},
		"schema":            {"Echo", `{"txt":"x"}`, setup{allow: []string{"Echo"}}, "did you mean text?", tool.LayerSchema, false},
		"wrong type":        {"Echo", `{"text":5}`, setup{allow: []string{"Echo"}}, "must be string, not number", tool.LayerSchema, false},
		"no permission":     {"Echo", `{"text":"x"}`, setup{}, "Nobody can be asked", tool.LayerDefault, true},
		"deny rule":         {"Echo", `{"text":"x"}`, setup{deny: []string{"Echo(text:x)"}, allow: []string{"Echo"}}, "Echo(text:x)", tool.LayerDenyRule, true},
		"hook denies":       {"Echo", `{"text":"x"}`, setup{allow: []string{"Echo"}, hooks: []hook.Handler{callback(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"because"}}`)}}, "because", tool.LayerHook, true},
		"hook stops":        {"Echo", `{"text":"x"}`, setup{allow: []string{"Echo"}, hooks: []hook.Handler{callback(`{"continue":false,"stopReason":"enough"}`)}}, "enough", tool.LayerHook, true},
		"hook's bad input":  {"Echo", `{"text":"x"}`, setup{allow: []string{"Echo"}, hooks: []hook.Handler{callback(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"nope":1}}}`)}}, "a hook put in its place is wrong", tool.LayerHook, false},
		"allow and deny":    {"Echo", `{"text":"x"}`, setup{deny: []string{"Echo(text:x)"}, hooks: []hook.Handler{callback(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`)}}, "Echo(text:x)", tool.LayerDenyRule, true},
		"dontAsk":           {"Echo", `{"text":"x"}`, setup{mode: "dontAsk"}, "", tool.LayerDefault, true},
		"unknown mode asks": {"Echo", `{"text":"x"}`, setup{mode: "yolo"}, "Nobody can be asked", tool.LayerDefault, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := &probe{}
			d := p.def()
			if name == "semantic check" {
				d.Validate = validate
			}
			c.setup.tools = []tool.Tool{tool.Define(d)}
			h := build(t, c.setup)
			r := h.call(context.Background(), c.tool, c.input)
			if !r.Block.IsError || !strings.Contains(text(r), c.want) || text(r) == "" {
				t.Errorf("result is %q, want %q", text(r), c.want)
			}
			if r.Decision.Reason.Layer != c.layer || r.Denied != c.denied {
				t.Errorf("layer %q, denied %v; want %q, %v", r.Decision.Reason.Layer, r.Denied, c.layer, c.denied)
			}
			if len(p.calls) > 0 || r.Ran {
				t.Errorf("the tool was called")
			}
		})
	}
}

func TestTheModelsOwnInputIsExecutedAndTheBackfilledIsObserved(t *testing.T) {
	p := &probe{}
	var seen string
	h := build(t, setup{tools: []tool.Tool{tool.Define(p.def())}, allow: []string{"Echo"}, hooks: []hook.Handler{{Type: hook.TypeCallback, Name: "look",
		Func: func(_ context.Context, in json.RawMessage, _ string) (json.RawMessage, error) {
			seen = string(in)
			return nil, nil
		}}}})
	h.call(context.Background(), "Echo", `{"text":"a","path":"sub/x"}`)
	if len(p.calls) != 1 || p.calls[0].Path != "sub/x" {
		t.Errorf("the tool got %+v", p.calls)
	}
	if want := filepath.Join(h.conv.Context().Cwd, "sub", "x"); !strings.Contains(seen, want) {
		t.Errorf("the hook saw %s, want %s in it", seen, want)
	}
}

func TestAHooksInputReplacesTheModels(t *testing.T) {
	p := &probe{}
	h := build(t, setup{tools: []tool.Tool{tool.Define(p.def())}, allow: []string{"Echo"},
		hooks: []hook.Handler{callback(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"text":"changed"},"additionalContext":"note this"}}`)}})
	r := h.call(context.Background(), "Echo", `{"text":"a"}`)
	if text(r) != "changed" || len(p.calls) != 1 {
		t.Errorf("result %q, calls %+v", text(r), p.calls)
	}
	m := h.MessageOf([]*Result{r})
	if len(m.Content) != 2 || m.Content[0].Type != tool.BlockToolResult || !strings.Contains(m.Content[1].Text, "note this") {
		t.Errorf("message is %+v", m)
	}
}

func TestPostHooks(t *testing.T) {
	p := &probe{}
	post := func(answer string) []hook.Group {
		return []hook.Group{{Event: hook.PostToolUse, Handlers: []hook.Handler{callback(answer)}, Source: hook.SourceSDK}}
	}
	h := build(t, setup{tools: []tool.Tool{tool.Define(p.def())}, allow: []string{"Echo"},
		groups: post(`{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"said":"better"}}}`)})
	if r := h.call(context.Background(), "Echo", `{"text":"a"}`); text(r) != "better" {
		t.Errorf("changed output gave %q", text(r))
	}
	h = build(t, setup{tools: []tool.Tool{tool.Define(p.def())}, allow: []string{"Echo"},
		groups: post(`{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"other":1}}}`)})
	if r := h.call(context.Background(), "Echo", `{"text":"a"}`); text(r) != "a" || len(r.Notices) == 0 {
		t.Errorf("an output that does not fit gave %q, notices %v", text(r), r.Notices)
	}
	h = build(t, setup{tools: []tool.Tool{tool.Define(p.def())}, allow: []string{"Echo"}, groups: post(`{"decision":"block","reason":"look again"}`)})
	if r := h.call(context.Background(), "Echo", `{"text":"a"}`); r.Block.IsError || len(r.Context) != 1 || !strings.Contains(r.Context[0], "look again") {
		t.Errorf("block gave %+v", r.Context)
	}
}

func TestFailureHooksHearOfFailures(t *testing.T) {
	heard := ""
	d := (&probe{}).def()
	d.Call = func(context.Context, echoIn, *tool.Env) (tool.Result[echoOut], error) {
		return tool.Result[echoOut]{}, errors.New("disk on fire")
	}
	h := build(t, setup{tools: []tool.Tool{tool.Define(d)}, allow: []string{"Echo"}, groups: []hook.Group{{Event: hook.PostToolUseFailure, Source: hook.SourceSDK,
		Handlers: []hook.Handler{{Type: hook.TypeCallback, Name: "hear", Func: func(_ context.Context, in json.RawMessage, _ string) (json.RawMessage, error) {
			heard = string(in)
			return nil, nil
		}}}}}})
	r := h.call(context.Background(), "Echo", `{"text":"a"}`)
	if !r.Block.IsError || text(r) != "disk on fire" || !strings.Contains(heard, "disk on fire") {
		t.Errorf("result %q, hook heard %s", text(r), heard)
	}
}

func TestPanicsBecomeTheCarefulAnswer(t *testing.T) {
	boom := func() { panic("boom") }
	for name, change := range map[string]func(*tool.Def[echoIn, echoOut]){
		"Call": func(d *tool.Def[echoIn, echoOut]) {
			d.Call = func(context.Context, echoIn, *tool.Env) (tool.Result[echoOut], error) { boom(); panic("") }
		},
		"Validate": func(d *tool.Def[echoIn, echoOut]) {
			d.Validate = func(context.Context, echoIn, *tool.Env) error { boom(); return nil }
		},
		"MapResult": func(d *tool.Def[echoIn, echoOut]) { d.MapResult = func(echoOut) []tool.Block { boom(); return nil } },
		"Backfill": func(d *tool.Def[echoIn, echoOut]) {
			d.Backfill = func(echoIn, tool.Place) echoIn { boom(); return echoIn{} }
		},
		"Subjects": func(d *tool.Def[echoIn, echoOut]) { d.Subjects = func(echoIn) []tool.Subject { boom(); return nil } },
		"CheckPermissions": func(d *tool.Def[echoIn, echoOut]) {
			d.CheckPermissions = func(context.Context, echoIn, *tool.Env) tool.Verdict { boom(); return tool.Verdict{} }
		},
	} {
		p := &probe{}
		d := p.def()
		change(&d)
		h := build(t, setup{tools: []tool.Tool{tool.Define(d)}, allow: []string{"Echo"}})
		r := h.call(context.Background(), "Echo", `{"text":"a"}`)
		if !r.Block.IsError || text(r) == "" || strings.Contains(text(r), "goroutine") || strings.Contains(text(r), "boom") {
			t.Errorf("%s: result is %q", name, text(r))
		}
		if name != "MapResult" && len(p.calls) > 0 {
			t.Errorf("%s: the tool was called", name)
		}
	}
	for name, change := range map[string]func(*tool.Def[echoIn, echoOut]){
		"ReadOnly":        func(d *tool.Def[echoIn, echoOut]) { d.ReadOnly = func(echoIn) bool { boom(); return true } },
		"ConcurrencySafe": func(d *tool.Def[echoIn, echoOut]) { d.ConcurrencySafe = func(echoIn) bool { boom(); return true } },
		"Effects": func(d *tool.Def[echoIn, echoOut]) {
			d.Effects = func(echoIn) tool.Effects { boom(); return tool.Nothing() }
		},
		"Destructive":     func(d *tool.Def[echoIn, echoOut]) { d.Destructive = func(echoIn) bool { boom(); return false } },
		"View.Use":        func(d *tool.Def[echoIn, echoOut]) { d.View.Use = func(echoIn) string { boom(); return "" } },
		"ClassifierInput": func(d *tool.Def[echoIn, echoOut]) { d.ClassifierInput = func(echoIn) string { boom(); return "" } },
	} {
		p := &probe{}
		d := p.def()
		change(&d)
		h := build(t, setup{tools: []tool.Tool{tool.Define(d)}, allow: []string{"Echo"}})
		r := h.call(context.Background(), "Echo", `{"text":"a"}`)
		c := r.Call
		if r.Block.IsError || c.ReadOnly() || c.ConcurrencySafe() || c.Effects().Known() && name == "Effects" || !c.Destructive() && name == "Destructive" || c.ViewUse() == "" {
			t.Errorf("%s: the answer is not the careful one (%+v)", name, r.Block)
		}
	}
}

type answers struct {
	list  []Answer
	asked []Question
}

func (a *answers) Prompt(_ context.Context, q Question) (Answer, error) {
	a.asked = append(a.asked, q)
	if len(a.list) == 0 {
		return Answer{}, errors.New("no answer")
	}
	next := a.list[0]
	a.list = a.list[1:]
	return next, nil
}

func TestThePersonsAnswerDecides(t *testing.T) {
	p := &probe{}
	a := &answers{list: []Answer{
		{Behavior: tool.Allow},
		{Behavior: tool.Deny, Message: "use another word"},
		{Behavior: tool.Deny, Interrupt: true},
		{Behavior: tool.Allow, UpdatedInput: json.RawMessage(`{"text":"mine"}`)},
		{Behavior: tool.Allow, UpdatedInput: json.RawMessage(`{"text":"forbidden"}`)},
		{},
		{Behavior: tool.Allow, Grants: []Grant{{Behavior: tool.Allow, Rule: "Echo"}}},
	}}
	h := build(t, setup{tools: []tool.Tool{tool.Define(p.def())}, prompter: a, deny: []string{"Echo(text:forbidden)"}})
	for i, want := range []string{"a", "another word", "refused", "mine", "forbidden", "refused", "a", "a"} {
		r := h.call(context.Background(), "Echo", `{"text":"a"}`)
		if !strings.Contains(text(r), want) {
			t.Errorf("answer %d: %q, want %q", i, text(r), want)
		}
		if (i == 2) != r.Stop {
			t.Errorf("answer %d: stop = %v", i, r.Stop)
		}
	}
	if len(a.asked) != 7 {
		t.Errorf("asked %d times, want 7: the last answer is a rule for the session", len(a.asked))
	}
	h.call(context.Background(), "Echo", `{"text":"forbidden"}`)
	if len(p.calls) != 4 {
		t.Errorf("the tool was called %d times, want 4", len(p.calls))
	}
}

type memoryJournal struct {
	lines []string
	err   error
}

func (j *memoryJournal) Starting(id, name string, _ json.RawMessage) error {
	j.lines = append(j.lines, "start "+name)
	return j.err
}
func (j *memoryJournal) Finished(string) { j.lines = append(j.lines, "end") }

func TestNothingRunsThatIsNotInTheJournal(t *testing.T) {
	p := &probe{}
	j := &memoryJournal{}
	h := build(t, setup{tools: []tool.Tool{tool.Define(p.def())}, allow: []string{"Echo"}, journal: j})
	h.call(context.Background(), "Echo", `{"text":"a"}`)
	if fmt.Sprint(j.lines) != "[start Echo end]" {
		t.Errorf("journal is %v", j.lines)
	}
	j.err = os.ErrPermission
	if r := h.call(context.Background(), "Echo", `{"text":"a"}`); !r.Block.IsError || len(p.calls) != 1 {
		t.Errorf("a call ran that could not be recorded: %q", text(r))
	}
}

func TestCancelledCallsDoNotRunAndSayWhy(t *testing.T) {
	p := &probe{}
	h := build(t, setup{tools: []tool.Tool{tool.Define(p.def())}, allow: []string{"Echo"}})
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("a call running beside it failed"))
	r := h.call(ctx, "Echo", `{"text":"a"}`)
	if !r.Block.IsError || !r.Cancelled || len(p.calls) > 0 || !strings.Contains(text(r), "beside it failed") {
		t.Errorf("result %q, calls %d", text(r), len(p.calls))
	}
}

func TestIDsAreUsedOnce(t *testing.T) {
	p := &probe{}
	h := build(t, setup{tools: []tool.Tool{tool.Define(p.def())}, allow: []string{"Echo"}})
	use := tool.ToolUse("same", "Echo", json.RawMessage(`{"text":"a"}`))
	first, second := h.Admit(h.conv, use), h.Admit(h.conv, use)
	if a, b := first.Run(context.Background(), nil), second.Run(context.Background(), nil); a.Block.IsError || !b.Block.IsError || len(p.calls) != 1 {
		t.Errorf("results %q and %q", text(a), text(b))
	}
}

type busySlot struct{ FreeSlot }

func (busySlot) Alone() bool { return false }

func TestContextChangesAreRefusedUnlessAlone(t *testing.T) {
	d := (&probe{}).def()
	d.Call = func(context.Context, echoIn, *tool.Env) (tool.Result[echoOut], error) {
		return tool.Result[echoOut]{Modify: func(c *tool.Context) { c.Cwd = "/elsewhere" }}, nil
	}
	h := build(t, setup{tools: []tool.Tool{tool.Define(d)}, allow: []string{"Echo"}})
	use := func(id string) tool.Block { return tool.ToolUse(id, "Echo", json.RawMessage(`{"text":"a"}`)) }
	if r := h.Admit(h.conv, use("x")).Run(context.Background(), busySlot{}); !r.Block.IsError || r.Modifier() != nil {
		t.Errorf("a change was taken over although other calls ran: %q", text(r))
	}
	if r := h.Admit(h.conv, use("y")).Run(context.Background(), FreeSlot{}); r.Block.IsError || r.Modifier() == nil {
		t.Errorf("a change was refused although the call was alone: %q", text(r))
	}
}

func TestExplainRunsNothing(t *testing.T) {
	p := &probe{}
	ran := false
	h := build(t, setup{tools: []tool.Tool{tool.Define(p.def())}, allow: []string{"Echo(text:x)"}, hooks: []hook.Handler{{Type: hook.TypeCallback, Name: "h",
		Func: func(context.Context, json.RawMessage, string) (json.RawMessage, error) {
			ran = true
			return json.RawMessage(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`), nil
		}}}})
	e := h.Explain(context.Background(), h.conv, tool.ToolUse("e1", "Echo", json.RawMessage(`{"text":"a"}`)), false)
	if e.Behavior != tool.Ask || e.Reason.Layer != tool.LayerDefault || ran || e.Properties == nil || len(e.Trace) == 0 {
		t.Errorf("explanation is %+v, hook ran %v", e, ran)
	}
	e = h.Explain(context.Background(), h.conv, tool.ToolUse("e2", "Echo", json.RawMessage(`{"text":"a"}`)), true)
	if e.Behavior != tool.Deny || e.Reason.Layer != tool.LayerHook || !ran {
		t.Errorf("with hooks the explanation is %+v", e)
	}
	if e := h.Explain(context.Background(), h.conv, tool.ToolUse("e3", "Echo", json.RawMessage(`{"text":`)), false); e.Behavior != tool.Deny || e.Reason.Layer != tool.LayerSchema {
		t.Errorf("a broken input is explained as %+v", e)
	}
	if len(p.calls) > 0 {
		t.Error("the tool was called")
	}
	if raw, err := json.Marshal(e); err != nil || !strings.Contains(string(raw), `"properties"`) && e.Properties != nil {
		t.Errorf("as JSON: %s, %v", raw, err)
	}
}

func TestLargeResultsAreSavedAndEmptyOnesSaySo(t *testing.T) {
	d := (&probe{}).def()
	big := strings.Repeat("x", 5<<20)
	d.Call = func(_ context.Context, in echoIn, _ *tool.Env) (tool.Result[echoOut], error) {
		if in.Text == "big" {
			return tool.OK(echoOut{big}), nil
		}
		if in.Text == "fail" {
			return tool.Result[echoOut]{}, errors.New(big)
		}
		return tool.OK(echoOut{" \n"}), nil
	}
	h := build(t, setup{tools: []tool.Tool{tool.Define(d)}, allow: []string{"Echo"}})
	for _, in := range []string{"big", "fail"} {
		r := h.call(context.Background(), "Echo", `{"text":"`+in+`"}`)
		if len(text(r)) > 5000 || r.Saved == nil {
			t.Fatalf("%s: the model gets %d bytes, saved %v", in, len(text(r)), r.Saved)
		}
		if raw, err := os.ReadFile(r.Saved.Path); err != nil || string(raw) != big {
			t.Errorf("%s: the file holds %d bytes (%v)", in, len(raw), err)
		}
	}
	if r := h.call(context.Background(), "Echo", `{"text":"empty"}`); text(r) != "(Echo completed with no output)" {
		t.Errorf("an empty result is %q", text(r))
	}
}

func BenchmarkGate(b *testing.B) {
	d := (&probe{}).def()
	d.Call = func(context.Context, echoIn, *tool.Env) (tool.Result[echoOut], error) {
		return tool.OK(echoOut{"x"}), nil
	}
	reg, err := registry.New([]tool.Tool{tool.Define(d)}, tool.Features{}, "m")
	if err != nil {
		b.Fatal(err)
	}
	pool := reg.Pool(registry.Select{})
	var rules []string
	for i := range 1000 {
		rules = append(rules, fmt.Sprintf("Bash(program%d *)", i))
	}
	g := New(Config{Pool: func() Pool { return pool }, Policy: permission.New(permission.Config{Cwd: "/", Home: "/", Allowed: append(rules, "Echo")}),
		Hooks: hook.New(hook.Config{}), Results: result.NewStore(b.TempDir(), "")})
	conv := NewConversation(tool.Env{}, tool.Context{Cwd: "/", Roots: []string{"/"}})
	in := json.RawMessage(`{"text":"a"}`)
	n := 0
	for b.Loop() {
		n++
		if r := g.Admit(conv, tool.ToolUse(fmt.Sprint(n), "Echo", in)).Run(context.Background(), nil); r.Block.IsError {
			b.Fatal(r.Block)
		}
	}
}
