package mcpres

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

type fake struct{ waited []string }

func (f *fake) List(_ context.Context, server string) ([]Resource, []string, error) {
	if server == "nobody" {
		return nil, nil, errors.New("there is no MCP server")
	}
	return []Resource{{Server: "a", URI: "x://1", Name: "One", Size: 3}, {Server: "b", URI: "y://{id}", Template: true}}, []string{"c is down"}, nil
}

func (f *fake) Read(_ context.Context, server, uri, dir string) ([]tool.Block, error) {
	if uri == "x://empty" {
		return nil, nil
	}
	return []tool.Block{tool.TextBlock(server + uri + dir)}, nil
}

func (f *fake) Wait(ctx context.Context, servers []string) {
	f.waited = servers
	if _, ok := ctx.Deadline(); !ok {
		panic("a wait without end")
	}
}

func (f *fake) States() []Server {
	return []Server{{Name: "a", State: "connected", Tools: 2}, {Name: "b", State: "failed", Reason: "no such file"}}
}

func run(t *testing.T, name, input string) (string, error) {
	t.Helper()
	for _, x := range New(&fake{}) {
		if x.Name() != name {
			continue
		}
		in, err := schema.For(x).Check(json.RawMessage(input))
		if err != nil {
			return "", err
		}
		c, err := x.Bind(in, tool.Place{Cwd: "/"})
		if err != nil {
			return "", err
		}
		env := &tool.Env{ResultsDir: "/r"}
		if err := c.Validate(t.Context(), env); err != nil {
			return "", err
		}
		if v := c.CheckPermissions(t.Context(), env); v.Behavior != tool.Allow || !c.ReadOnly() || !c.Effects().Known() {
			t.Errorf("%s: %v", name, v)
		}
		o, err := c.Run(t.Context(), env)
		if err != nil {
			return "", err
		}
		blocks, err := c.Map(o)
		if err != nil {
			return "", err
		}
		return blocks[0].Text, nil
	}
	t.Fatalf("no tool %s", name)
	return "", nil
}

func TestTools(t *testing.T) {
	for _, c := range []struct{ tool, in, want, err string }{
		{"ListMcpResourcesTool", `{}`, "Server a:\n- x://1 (One; 3 bytes)\nServer b:\n- y://{id} (a template: fill in the parts in braces)\nProblem: c is down", ""},
		{"ListMcpResourcesTool", `{"server":"nobody"}`, "", "no MCP server"},
		{"ReadMcpResourceTool", `{"server":"a","uri":"x://1"}`, "ax://1/r", ""},
		{"ReadMcpResourceTool", `{"server":"a","uri":"x://empty"}`, "The resource is empty.", ""},
		{"ReadMcpResourceTool", `{"server":"a","uri":" "}`, "", "must not be empty"},
		{"ReadMcpResourceTool", `{"server":"a"}`, "", "uri: required"},
		{"WaitForMcpServers", `{}`, "a: connected, 2 tools\nb: failed (no such file)", ""},
		{"WaitForMcpServers", `{"servers":["b","zz"]}`, "b: failed (no such file)\nzz: no such server is configured", ""},
		{"WaitForMcpServers", `{"timeout":1000}`, "", "1 to 120 seconds"},
	} {
		got, err := run(t, c.tool, c.in)
		if c.err == "" && (err != nil || got != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s %s: %q, %v", c.tool, c.in, got, err)
		}
	}
	if New(nil) != nil {
		t.Error("without servers there are no tools")
	}
}
