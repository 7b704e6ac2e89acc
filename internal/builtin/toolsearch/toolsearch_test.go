package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sevengate/sevengate/internal/disclose"
	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// pool makes a pool with ToolSearch and the tools of a server.
func pool(t testing.TB, search tool.Tool, names ...string) ([]tool.Tool, []schema.APITool) {
	t.Helper()
	tools := []tool.Tool{search}
	for _, name := range names {
		does := name[strings.LastIndex(name, "__")+1:]
		d := tool.Def[struct{}, string]{Name: name, Prompt: tool.Text("Does " + strings.Trim(does, "_") + ". And more."),
			Call: func(context.Context, struct{}, *tool.Env) (tool.Result[string], error) { return tool.OK(""), nil }}
		if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
			server, own, _ := strings.Cut(rest, "__")
			d.Origin = &tool.Origin{Server: server, Tool: own}
		}
		tools = append(tools, tool.Define(d))
	}
	var forms []schema.APITool
	for _, made := range tools {
		raw, err := schema.For(made).JSON()
		if err != nil {
			t.Fatal(err)
		}
		form, err := schema.NewAPITool(made.Name(), made.Prompt(tool.PromptContext{}), raw, false, false)
		if err != nil {
			t.Fatal(err)
		}
		forms = append(forms, form)
	}
	return tools, forms
}

func setup(t testing.TB, references bool, names ...string) (tool.Tool, *disclose.Disclosure) {
	d := disclose.New(disclose.Config{References: references})
	search := New(Options{For: func(*tool.Env) *disclose.Disclosure { return d }})
	d.Update(pool(t, search, names...))
	return search, d
}

// ask makes a call and gives what the model sees: the result, with references
// as {NAME}, and what stands beside it.
func ask(t testing.TB, search tool.Tool, input string) (result, beside string) {
	t.Helper()
	raw, err := schema.For(search).Check(json.RawMessage(input))
	if err != nil {
		return err.Error(), ""
	}
	c, err := search.Bind(raw, tool.Place{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(t.Context(), nil); err != nil {
		return err.Error(), ""
	}
	o, err := c.Run(t.Context(), &tool.Env{})
	if err != nil {
		return err.Error(), ""
	}
	blocks, err := c.Map(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) == 0 {
		t.Fatal("an empty result")
	}
	for _, b := range blocks {
		if b.Type == tool.BlockToolReference {
			result += "{" + b.ToolName + "}"
		} else {
			result += b.Text
		}
	}
	for _, m := range o.Messages {
		beside += m.Text()
	}
	return result, beside
}

func TestWhatTheModelSees(t *testing.T) {
	search, _ := setup(t, false, "Read", "mcp__a__make_tea", "mcp__a__make_toast", "mcp__b__fly")
	for _, c := range []struct{ input, want string }{
		{`{"query":"select:fly"}`, "{mcp__b__fly}1 tool is loaded:\n- mcp__b__fly: Does fly.\n" +
			"Next: call the tool that fits, with the parameters of its definition."},
		{`{"q":"make","limit":1}`, "{mcp__a__make_tea}1 tool is loaded:\n- mcp__a__make_tea: Does make_tea.\n" +
			"Next: call the tool that fits, with the parameters of its definition."},
		{`{"query":"select:Read"}`, "Loaded before, call directly: Read."},
		{`{"query":"select:Read,make_te"}`, "Loaded before, call directly: Read.\nThere is no tool of the name make_te.\n" +
			"Not loaded, but perhaps meant:\n- mcp__a__make_tea: Does make_tea.\n- mcp__a__make_toast: Does make_toast."},
		{`{"query":"select:zzz"}`, "There is no tool of the name zzz.\n" +
			`None of the 3 deferred tools fits "select:zzz". Next: search with other or fewer words, such as what the tool acts on; do not guess a tool's name.`},
		{`{"query":"swim"}`, `None of the 3 deferred tools fits "swim". Next: search with other or fewer words, such as what the tool acts on; do not guess a tool's name.`},
		{`{"query":"  "}`, "query is empty; give select:NAME or a few words"},
		{`{"query":"x","max_results":51}`, "max_results is 51; it must be 1 to 50"},
		{`{"query":"x","max_results":-1}`, "max_results is -1; it must be 1 to 50"},
		{`{"query":"` + strings.Repeat("x", disclose.MaxQueryChars+1) + `"}`, "query has 2001 characters; at most 2000 are allowed"},
	} {
		got, beside := ask(t, search, c.input)
		if got != c.want || beside != "" {
			t.Errorf("%s:\n%s\nwant\n%s\nbeside %q", c.input, got, c.want, beside)
		}
	}
	if got, _ := ask(t, search, `{}`); !strings.Contains(got, "query") {
		t.Error(got)
	}
	alone, _ := setup(t, false, "Read")
	if got, _ := ask(t, alone, `{"query":"fly"}`); got != "No tool is deferred: all there are can be called directly." {
		t.Error(got)
	}
	if got, _ := ask(t, New(Options{For: func(*tool.Env) *disclose.Disclosure { return nil }}), `{"query":"fly"}`); got != "there is no conversation to load tools into" {
		t.Error(got)
	}
}

// Where references are expanded, the words stand beside the result.
func TestReferencesStandAlone(t *testing.T) {
	search, _ := setup(t, true, "mcp__a__make_tea", "mcp__b__fly")
	got, beside := ask(t, search, `{"query":"select:fly,make_tea"}`)
	if got != "{mcp__b__fly}{mcp__a__make_tea}" || !strings.HasPrefix(beside, "2 tools are loaded:\n- mcp__b__fly") {
		t.Errorf("%q, beside %q", got, beside)
	}
	got, beside = ask(t, search, `{"query":"swim"}`)
	if !strings.HasPrefix(got, "None of the 2 deferred tools") || beside != "" {
		t.Errorf("%q, beside %q", got, beside)
	}
}

func TestWaitsForServers(t *testing.T) {
	d := disclose.New(disclose.Config{})
	var search tool.Tool
	waits, come := 0, true
	search = New(Options{
		For: func(*tool.Env) *disclose.Disclosure { return d },
		Wait: func(context.Context, *tool.Env) ([]string, bool) {
			waits++
			if come {
				d.Update(pool(t, search, "mcp__a__make_tea", "mcp__late__swim"))
			}
			return []string{"slow"}, come
		},
	})
	d.Update(pool(t, search, "mcp__a__make_tea"))
	if got, _ := ask(t, search, `{"query":"make tea"}`); waits != 0 || !strings.HasPrefix(got, "{mcp__a__make_tea}") {
		t.Errorf("%d waits: %s", waits, got)
	}
	if got, _ := ask(t, search, `{"query":"swim"}`); waits != 1 || !strings.HasPrefix(got, "{mcp__late__swim}") {
		t.Errorf("%d waits: %s", waits, got)
	}
	come = false
	got, _ := ask(t, search, `{"query":"select:mcp__slow__xyz"}`)
	want := "There is no tool of the name mcp__slow__xyz.\nStill connecting, their tools are not known yet: slow.\nNext: go on with other work and search again later."
	if waits != 2 || got != want {
		t.Errorf("%d waits: %s", waits, got)
	}
}

func TestFacts(t *testing.T) {
	search, _ := setup(t, false)
	f := search.Facts()
	if f.Name != "ToolSearch" || !f.AlwaysLoad || f.Defer || len(f.Aliases) > 0 || disclose.Deferrable(f) {
		t.Errorf("%+v", f)
	}
	c, err := search.Bind(json.RawMessage(`{"query":"x"}`), tool.Place{})
	if err != nil {
		t.Fatal(err)
	}
	if !c.ReadOnly() || !c.ConcurrencySafe() || !reflect.DeepEqual(c.Effects(), tool.Nothing().Resolve(tool.Place{})) ||
		c.CheckPermissions(t.Context(), nil).Behavior != tool.Allow || c.Destructive() || c.OpenWorld() {
		t.Error("wrong facts")
	}
	if c.ViewUse() != "x" {
		t.Error(c.ViewUse())
	}
}

// What a search answers makes the conversation that loads the tools.
func TestFoundToolsAreLoaded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		names := []string{"mcp__a__one", "mcp__a__two", "mcp__b__three"}
		search, d := setup(t, rapid.Bool().Draw(r, "references"), names...)
		want := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 3, rapid.ID[string]).Draw(r, "want")
		c, err := search.Bind(json.RawMessage(fmt.Sprintf(`{"query":"select:%s"}`, strings.Join(want, ","))), tool.Place{})
		if err != nil {
			r.Fatal(err)
		}
		o, err := c.Run(t.Context(), &tool.Env{})
		if err != nil {
			r.Fatal(err)
		}
		blocks, err := c.Map(o)
		if err != nil {
			r.Fatal(err)
		}
		tools, forms := pool(t, search, names...)
		p := d.Select(tools, forms, []tool.Message{
			{Role: tool.RoleAssistant, Content: []tool.Block{tool.ToolUse("1", search.Name(), c.Input())}},
			{Role: tool.RoleUser, Content: []tool.Block{tool.ToolResult("1", false, blocks...)}},
		})
		if !reflect.DeepEqual(p.Discovered, want) {
			r.Fatalf("discovered %v, want %v", p.Discovered, want)
		}
	})
}
