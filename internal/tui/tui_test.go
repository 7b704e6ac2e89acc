package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/agent"
	"github.com/sevengate/sevengate/internal/builtin/ask"
	"github.com/sevengate/sevengate/internal/gate"
	"github.com/sevengate/sevengate/internal/mcp/client"
	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/tool"
)

type runIn struct {
	Command string `json:"command"`
}

func question(t *testing.T, command string) gate.Question {
	t.Helper()
	tl := tool.Define(tool.Def[runIn, string]{Name: "Run",
		View: tool.View[runIn, string]{Use: func(in runIn) string { return in.Command }},
		Call: func(context.Context, runIn, *tool.Env) (tool.Result[string], error) { return tool.OK(""), nil }})
	raw, _ := json.Marshal(runIn{command})
	call, err := tl.Bind(raw, tool.Place{Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	d := permission.Decision{Verdict: tool.AskCall("no rule allows it")}
	d.Suggestions = []tool.Suggestion{{Rule: "Run(x *)", Covers: "x with any arguments"}}
	return gate.Question{Call: call, Decision: d}
}

func TestAnswers(t *testing.T) {
	for input, want := range map[string]struct {
		behavior tool.Behavior
		grants   int
		save     bool
		message  string
		stop     bool
	}{
		"1\n":             {behavior: tool.Allow},
		"YES\n":           {behavior: tool.Allow},
		"what\n2\n":       {behavior: tool.Allow, grants: 1},
		"a\n":             {behavior: tool.Allow, grants: 1, save: true},
		"4\nnot there\n":  {behavior: tool.Deny, message: "not there"},
		"no\n\n":          {behavior: tool.Deny, stop: true},
		"0\n9\n-1\n\n1\n": {behavior: tool.Allow},
	} {
		var out bytes.Buffer
		a, err := NewPrompter(strings.NewReader(input), &out).Prompt(context.Background(), question(t, "x y"))
		if err != nil || a.Behavior != want.behavior || len(a.Grants) != want.grants || a.Message != want.message || a.Interrupt != want.stop {
			t.Errorf("%q: %+v, %v", input, a, err)
		}
		if want.grants > 0 && a.Grants[0].Save != want.save {
			t.Errorf("%q: saved = %v", input, a.Grants[0].Save)
		}
		for _, shown := range []string{"x y", "no rule allows it", "Run(x *)", "x with any arguments"} {
			if !strings.Contains(out.String(), shown) {
				t.Errorf("%q: the question does not show %q:\n%s", input, shown, out.String())
			}
		}
	}
	if a, err := NewPrompter(strings.NewReader(""), io.Discard).Prompt(context.Background(), question(t, "x")); !errors.Is(err, ErrNoAnswer) || a.Behavior == tool.Allow {
		t.Errorf("no answer is taken as %+v, %v", a, err)
	}
}

func TestNothingShownSteersTheTerminal(t *testing.T) {
	var out bytes.Buffer
	hostile := "ls \x1b[2J\x1b]0;x\a \u202e gnp \u200b \x9b31m"
	if _, err := NewPrompter(strings.NewReader("1\n"), &out).Prompt(context.Background(), question(t, hostile)); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\x1b", "\a", "\u202e", "\u200b", "\x9b"} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("the question holds %q", bad)
		}
	}
}

func TestQuestionsOfTheModel(t *testing.T) {
	in := ask.Input{Questions: []ask.Question{
		{Question: "Which?", Header: "h", Options: []ask.Option{{Label: "a"}, {Label: "b"}}},
		{Question: "More?", Header: "h", MultiSelect: true, Options: []ask.Option{{Label: "c"}, {Label: "d"}}},
		{Question: "Else?", Header: "h", Options: []ask.Option{{Label: "e"}, {Label: "f"}}},
	}}
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	call, err := ask.New().Bind(raw, tool.Place{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewPrompter(strings.NewReader("2\n1, 2\nmy own words\n"), io.Discard).Prompt(context.Background(), gate.Question{Call: call})
	if err != nil || a.Behavior != tool.Allow {
		t.Fatalf("%+v, %v", a, err)
	}
	var got ask.Input
	if err := json.Unmarshal(a.UpdatedInput, &got); err != nil {
		t.Fatal(err)
	}
	for q, want := range map[string]string{"Which?": "b", "More?": "c, d", "Else?": "my own words"} {
		if got.Answers[q] != want {
			t.Errorf("%s is answered %q, want %q", q, got.Answers[q], want)
		}
	}
	if a, err := NewPrompter(strings.NewReader("\n"), io.Discard).Prompt(context.Background(), gate.Question{Call: call}); err != nil || a.Behavior != tool.Deny {
		t.Errorf("an empty answer is %+v, %v", a, err)
	}
}

func TestFormsOfServers(t *testing.T) {
	q := client.Elicitation{Server: "s", Message: "Tell me", Schema: json.RawMessage(`{"type":"object","properties":{
		"age":{"type":"integer","default":30},"name":{"type":"string"},"ok":{"type":"boolean"},"kind":{"type":"string","enum":["x","y"]}},"required":["name"]}`)}
	r, err := NewPrompter(strings.NewReader("y\n\nz\ny\n\nAda\nmaybe\nyes\n"), io.Discard).Elicit(context.Background(), q)
	if err != nil || r.Action != "accept" || r.Content["name"] != "Ada" || r.Content["ok"] != true || r.Content["kind"] != "y" || r.Content["age"] != float64(30) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := NewPrompter(strings.NewReader("n\n"), io.Discard).Elicit(context.Background(), q); err != nil || r.Action != "decline" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := NewPrompter(strings.NewReader("y\n"), io.Discard).Elicit(context.Background(), q); err != nil || r.Action != "cancel" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestNothingIsDrawnOverAQuestion(t *testing.T) {
	var out bytes.Buffer
	term := NewTerminal(strings.NewReader(""), &out)
	term.lines.asking.Lock()
	term.Observe(agent.Event{Kind: agent.EventText, Text: "meanwhile "})
	if out.Len() > 0 {
		t.Errorf("drawn while a question is open: %q", out.String())
	}
	term.lines.asking.Unlock()
	term.Observe(agent.Event{Kind: agent.EventText, Text: "after"})
	if out.String() != "meanwhile after" {
		t.Errorf("drawn: %q", out.String())
	}
}
