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

func (f *fake) Parts(_ context.Context, server, uri string) ([]Part, error) {
	switch uri {
	case "x://list":
		return []Part{{URI: uri, MIMEType: "text/uri-list; charset=utf-8", Text: "# mine\r\nx://list/b\r\nx://list/c/d\r\nx://list/c/e\nelse://x\n"}}, nil
	case "x://dir":
		return []Part{{URI: uri, MIMEType: "inode/directory", Text: "a.txt\nb/\n"}}, nil
	case "x://many":
		return []Part{{URI: "x://many/1", MIMEType: "text/plain", Size: 3}, {URI: "x://many/sub/2"}, {URI: "x://many/bad\n- x"}}, nil
	case "x://one":
		return []Part{{URI: uri, MIMEType: "text/plain", Text: "hi"}}, nil
	case "x://empty":
		return nil, nil
	case "x://typed":
		panic("a resource that the list describes is read as a directory")
	}
	return nil, errors.New("no such resource")
}

func (f *fake) List(_ context.Context, server string) ([]Resource, []string, error) {
	if server == "nobody" {
		return nil, nil, errors.New("there is no MCP server")
	}
	if server == "tree" {
		var out []Resource
		for _, uri := range []string{"x://docs", "x://docs/b.md", "x://docs/sub/1", "x://docs/sub/deep/2", "x://docs/dir/", "x://docs/dir/3", "x://docsother/no", "x://typed"} {
			out = append(out, Resource{Server: server, URI: uri})
		}
		out[1].Name, out[7].MIMEType = "B", "text/plain"
		return append(out, Resource{Server: server, URI: "x://docs/{a/b}", Template: true}, Resource{Server: server, URI: "x://docs/q/{id}", Template: true}), nil, nil
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
		{"ReadMcpResourceDirTool", `{"server":"tree","uri":"x://docs"}`, "Directly under x://docs/ of server tree:\n- x://docs/b.md (B)\n- x://docs/dir/ (a folder: 1 resource below)\n- x://docs/q/ (a folder: 1 resource below)\n- x://docs/sub/ (a folder: 2 resources below)\n- x://docs/{a/b} (a template: fill in the parts in braces)", ""},
		{"ReadMcpResourceDirTool", `{"server":"tree","uri":"x://docs/sub/"}`, "Directly under x://docs/sub/ of server tree:\n- x://docs/sub/1\n- x://docs/sub/deep/ (a folder: 1 resource below)", ""},
		{"ReadMcpResourceDirTool", `{"server":"tree","uri":"x://typed"}`, "Nothing is listed under x://typed/ of server tree.\nNote: x://typed is a resource itself: ReadMcpResourceTool reads it", ""},
		{"ReadMcpResourceDirTool", `{"server":"a","uri":"x://list"}`, "Directly under x://list/ of server a:\n- x://list/b\n- x://list/c/ (a folder: 2 resources below)\nNote: c is down", ""},
		{"ReadMcpResourceDirTool", `{"server":"a","uri":"x://dir"}`, "The server's own listing of x://dir/:\na.txt\nb/\nNote: c is down", ""},
		{"ReadMcpResourceDirTool", `{"server":"a","uri":"x://many"}`, "Directly under x://many/ of server a:\n- x://many/1 (text/plain; 3 bytes)\n- x://many/sub/ (a folder: 1 resource below)\nNote: c is down", ""},
		{"ReadMcpResourceDirTool", `{"server":"a","uri":"x://one"}`, "Nothing is listed under x://one/ of server a.\nNote: c is down\nNote: x://one is a resource itself: ReadMcpResourceTool reads it", ""},
		{"ReadMcpResourceDirTool", `{"server":"a","uri":"x://empty"}`, "Nothing is listed under x://empty/ of server a.\nNote: c is down", ""},
		{"ReadMcpResourceDirTool", `{"server":"a","uri":"x://"}`, "Directly under x:// of server a:\n- x://1 (One; 3 bytes)\nNote: c is down", ""},
		{"ReadMcpResourceDirTool", `{"server":"a","uri":"x://nothing"}`, "Nothing is listed under x://nothing/ of server a.\nNote: c is down\nNote: the server does not read it as a directory either: no such resource", ""},
		{"ReadMcpResourceDirTool", `{"server":"nobody","uri":"x://"}`, "", "no MCP server"},
		{"ReadMcpResourceDirTool", `{"server":"a","uri":""}`, "", "must not be empty"},
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
