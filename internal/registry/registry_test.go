package registry

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

type in struct {
	Value string `json:"value,omitempty"`
}

func named(name string, change func(*tool.Def[in, string])) tool.Tool {
	d := tool.Def[in, string]{Name: name, Prompt: tool.Text(name + " does things."),
		Call: func(context.Context, in, *tool.Env) (tool.Result[string], error) { return tool.OK(""), nil }}
	if change != nil {
		change(&d)
	}
	return tool.Define(d)
}

func TestPoolOrderAndGates(t *testing.T) {
	r, err := New([]tool.Tool{
		named("Write", nil), named("Bash", nil),
		named("LSP", func(d *tool.Def[in, string]) { d.Gate = "lsp" }),
		named("PowerShell", func(d *tool.Def[in, string]) { d.Enabled = func(f tool.Features) bool { return f.OS == "windows" } }),
		named("Broken", func(d *tool.Def[in, string]) { d.Enabled = func(tool.Features) bool { panic("no") } }),
		named("Secret", nil),
	}, tool.Features{OS: "linux"}, "m")
	if err != nil {
		t.Fatal(err)
	}
	r.SetOthers([]tool.Tool{named("mcp__z__b", nil), named("mcp__a__c", nil), named("Bash", nil), named("Aardvark", nil)}, nil)
	p := r.Pool(Select{Denied: func(f *tool.Facts) bool { return f.Name == "Secret" }, Hidden: []string{"mcp__z__b"}})
	if got, want := p.Names(), []string{"Bash", "Write", "Aardvark", "mcp__a__c"}; !slices.Equal(got, want) {
		t.Errorf("pool is %v, want %v", got, want)
	}
	if p.Builtins() != 2 {
		t.Errorf("%d built-ins, want 2", p.Builtins())
	}
	if _, _, ok := p.Lookup("mcp__z__b"); !ok {
		t.Error("a hidden tool cannot be called from code")
	}
	for _, gone := range []string{"Secret", "LSP", "PowerShell", "Broken", "bash"} {
		if _, _, ok := p.Lookup(gone); ok {
			t.Errorf("%s can be called", gone)
		}
	}
	on, _ := New([]tool.Tool{named("LSP", func(d *tool.Def[in, string]) { d.Gate = "lsp" })}, tool.Features{Flags: map[string]bool{"lsp": true}}, "m")
	if got := on.Pool(Select{}).Names(); !slices.Equal(got, []string{"LSP"}) {
		t.Errorf("with its gate on the pool is %v", got)
	}
}

func TestDuplicateNamesAreRefused(t *testing.T) {
	if _, err := New([]tool.Tool{named("A", nil), named("A", nil)}, tool.Features{}, ""); err == nil {
		t.Error("two tools of one name were taken")
	}
	alias := func(d *tool.Def[in, string]) { d.Aliases = []string{"A"} }
	if _, err := New([]tool.Tool{named("A", nil), named("B", alias)}, tool.Features{}, ""); err == nil {
		t.Error("an alias equal to another tool's name was taken")
	}
}

func TestAPIBytesNeverChangeInASession(t *testing.T) {
	calls := 0
	moody := named("Moody", func(d *tool.Def[in, string]) {
		d.Prompt = func(c tool.PromptContext) string {
			calls++
			return fmt.Sprintf("asked %d times among %v", calls, c.Tools)
		}
	})
	r, err := New([]tool.Tool{moody, named("Other", nil)}, tool.Features{}, "m")
	if err != nil {
		t.Fatal(err)
	}
	body := func() []byte {
		api, problems := r.Pool(Select{}).API()
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var b bytes.Buffer
		for _, a := range api {
			b.Write(a.JSON())
		}
		return b.Bytes()
	}
	first := body()
	r.SetOthers([]tool.Tool{named("mcp__new__tool", nil)}, nil)
	if second := body(); !bytes.HasPrefix(second, first) {
		t.Errorf("the bytes changed:\n%s\n%s", first, second)
	}
	if calls != 1 {
		t.Errorf("the prompt was made %d times", calls)
	}
}

func TestAToolWithoutAUsableSchemaIsReported(t *testing.T) {
	type bad struct {
		F func() `json:"f"`
	}
	broken := tool.Define(tool.Def[bad, string]{Name: "Bad", Call: func(context.Context, bad, *tool.Env) (tool.Result[string], error) { return tool.OK(""), nil }})
	r, err := New([]tool.Tool{broken, named("Good", nil)}, tool.Features{}, "m")
	if err != nil {
		t.Fatal(err)
	}
	api, problems := r.Pool(Select{}).API()
	if len(api) != 1 || api[0].Name != "Good" || len(problems) != 1 || problems[0].Tool != "Bad" {
		t.Errorf("got %v, %v", api, problems)
	}
}
