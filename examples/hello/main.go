// Command hello declares a tool and calls it through all seven phases.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/tool"
)

// Input becomes the JSON Schema that the model sees.
type Input struct {
	Name string `json:"name" jsonschema:"whom to greet"`
}

// Hello is declared as data. What it does not declare is taken as the careful
// answer: not read-only, runs alone, asks first.
var Hello = tool.Define(tool.Def[Input, string]{
	Name:            "Hello",
	Prompt:          tool.Text("Greets somebody by name."),
	ReadOnly:        tool.Always[Input],
	ConcurrencySafe: tool.Always[Input],
	Effects:         func(Input) tool.Effects { return tool.Nothing() },
	Call: func(_ context.Context, in Input, _ *tool.Env) (tool.Result[string], error) {
		return tool.OK("Hello, " + in.Name + "!"), nil
	},
})

func main() {
	ctx := context.Background()
	rt, err := sevengate.New(ctx, sevengate.Options{
		Tools:     []tool.Tool{Hello},
		Allowed:   []string{"Hello"},
		Ephemeral: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()

	result := rt.Call(ctx, "Hello", json.RawMessage(`{"name":"world"}`))
	fmt.Println(result.Block.Content[0].Text)
}
