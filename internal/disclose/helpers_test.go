package disclose

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

func mcp(server, name, hint string) tool.Def[struct{}, string] {
	return tool.Def[struct{}, string]{Name: "mcp__" + server + "__" + name, Origin: &tool.Origin{Server: server, Tool: name}}
}

// add defines a tool and its API form.
func add(t testing.TB, tools *[]tool.Tool, forms *[]schema.APITool, def tool.Def[struct{}, string], description string, input json.RawMessage) {
	t.Helper()
	def.Call = func(context.Context, struct{}, *tool.Env) (tool.Result[string], error) { return tool.OK("done"), nil }
	made, err := tool.TryDefine(def)
	if err != nil {
		t.Fatal(err)
	}
	if input == nil {
		input = json.RawMessage(`{"type":"object"}`)
	}
	form, err := schema.NewAPITool(def.Name, description, input, false, false)
	if err != nil {
		t.Fatal(err)
	}
	*tools, *forms = append(*tools, made), append(*forms, form)
}
