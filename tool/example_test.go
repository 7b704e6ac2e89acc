package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sevengate/sevengate/tool"
)

type countInput struct {
	Path string `json:"path" jsonschema:"the file to count in"`
	Word string `json:"word"`
}

// A tool declares what is true of an input; what it leaves out is taken as the
// careful answer.
func ExampleDefine() {
	count := tool.Define(tool.Def[countInput, int]{
		Name:            "Count",
		Prompt:          tool.Text("Counts how often a word stands in a file."),
		ReadOnly:        tool.Always[countInput],
		ConcurrencySafe: tool.Always[countInput],
		Effects:         func(in countInput) tool.Effects { return tool.Reads(in.Path) },
		Subjects:        func(in countInput) []tool.Subject { return []tool.Subject{tool.ReadOf(in.Path)} },
		Call: func(_ context.Context, in countInput, env *tool.Env) (tool.Result[int], error) {
			return tool.OK(3), nil
		},
		MapResult: func(n int) []tool.Block { return []tool.Block{tool.TextBlock(fmt.Sprintf("%d times", n))} },
	})

	call, err := count.Bind(json.RawMessage(`{"path":"notes.md","word":"tea"}`), tool.Place{Cwd: "/home/u"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("read-only:", call.ReadOnly(), "destructive:", call.Destructive(), "reads:", call.Effects().ReadPaths())
	outcome, err := call.Run(context.Background(), &tool.Env{})
	if err != nil {
		fmt.Println(err)
		return
	}
	content, err := call.Map(outcome)
	fmt.Println(content[0].Text, err)
	// Output:
	// read-only: true destructive: false reads: [/home/u/notes.md]
	// 3 times <nil>
}

// A tool of somebody else's schema gets its input as raw JSON.
func ExampleFromSchema() {
	weather, err := tool.FromSchema(json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
		tool.Def[json.RawMessage, string]{
			Name:   "mcp__weather__now",
			Origin: &tool.Origin{Server: "weather", Tool: "now"},
			Call: func(_ context.Context, in json.RawMessage, _ *tool.Env) (tool.Result[string], error) {
				return tool.OK("asked for " + string(in)), nil
			},
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	call, err := weather.Bind(json.RawMessage(`{"city":"Oslo"}`), tool.Place{})
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome, err := call.Run(context.Background(), nil)
	fmt.Println(outcome.Data, err)
	// Nothing was declared, so it runs alone and is asked for.
	fmt.Println(call.ReadOnly(), call.ConcurrencySafe(), call.Effects().Known())
	// Output:
	// asked for {"city":"Oslo"} <nil>
	// false false false
}

// Effects say what a call touches, so that calls that do not get in each
// other's way can run side by side.
func ExampleEffects() {
	e := tool.Reads("src").And(tool.Writes("~/out", tool.Resource("tasks")))
	raw, err := json.Marshal(e.Resolve(tool.Place{Cwd: "/w", Home: "/home/u"}))
	fmt.Println(string(raw), err)
	fmt.Println(tool.Nothing().Known(), tool.Effects{}.Known())
	// Output:
	// {"known":true,"reads":["/w/src"],"writes":["/home/u/out","resource:tasks"]} <nil>
	// true false
}
