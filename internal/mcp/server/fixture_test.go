package server_test

//lint:file-ignore SA1019 sampling and logging are deprecated since 2026-07-28, and still what clients speak

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/mcp/server"
	"github.com/sevengate/sevengate/tool"
)

// pixel is an image of one pixel, tone a sound of one sample.
const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
	tone  = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="
)

// fixture is a server with the tools, resources and prompts that the public
// conformance suite asks for. The tools run in a real runtime, behind all seven
// gates.
type fixture struct{ server *sevengate.MCPServer }

// block decodes a block that the contract has no constructor for.
func block(text string) tool.Block {
	var b tool.Block
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		panic(err)
	}
	return b
}

type run[In any] func(ctx context.Context, in In, env *tool.Env) ([]tool.Block, error)

func define[In any](name string, f run[In]) tool.Tool {
	return tool.Define(definition(name, f))
}

func definition[In any](name string, f run[In]) tool.Def[In, []tool.Block] {
	return tool.Def[In, []tool.Block]{
		Name: name, Prompt: tool.Text("A tool of the conformance suite."),
		ReadOnly: tool.Always[In], ConcurrencySafe: tool.Always[In], Effects: func(In) tool.Effects { return tool.Nothing() },
		MapResult: func(b []tool.Block) []tool.Block { return b },
		Call: func(ctx context.Context, in In, env *tool.Env) (tool.Result[[]tool.Block], error) {
			out, err := f(ctx, in, env)
			return tool.Result[[]tool.Block]{Data: out}, err
		},
	}
}

type none struct{}

// gives is a tool that always gives the same.
func gives(name string, blocks ...tool.Block) tool.Tool {
	return define(name, func(context.Context, none, *tool.Env) ([]tool.Block, error) { return blocks, nil })
}

func said(format string, args ...any) []tool.Block {
	return []tool.Block{tool.TextBlock(fmt.Sprintf(format, args...))}
}

// asks is a tool that puts a form to the person and tells what they said.
func (f *fixture) asks(name, message, properties string) tool.Tool {
	return define(name, func(ctx context.Context, _ none, env *tool.Env) ([]tool.Block, error) {
		return f.elicit(ctx, env, message, `{"type":"object","required":[],"properties":`+properties+`}`)
	})
}

func (f *fixture) elicit(ctx context.Context, env *tool.Env, message, schema string) ([]tool.Block, error) {
	res, err := f.server.Elicit(ctx, env.ToolUseID, &sdk.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(schema)})
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(res.Content)
	return said("Elicitation completed: action=%s, content=%s", res.Action, content), err
}

type promptInput struct {
	Prompt string `json:"prompt"`
}

type messageInput struct {
	Message string `json:"message"`
}

const schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`

func (f *fixture) tools() []tool.Tool {
	embedded := block(`{"type":"resource","resource":{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}}`)
	modern, err := tool.FromSchema(json.RawMessage(schema2020), definition("json_schema_2020_12_tool", func(_ context.Context, in json.RawMessage, _ *tool.Env) ([]tool.Block, error) {
		return said("%s", in), nil
	}))
	if err != nil {
		panic(err)
	}
	return []tool.Tool{
		modern,
		gives("test_simple_text", tool.TextBlock("This is a simple text response for testing.")),
		gives("test_image_content", tool.ImageBlock("image/png", pixel)),
		gives("test_audio_content", block(`{"type":"audio","mimeType":"audio/wav","data":"`+tone+`"}`)),
		gives("test_embedded_resource", embedded),
		gives("test_multiple_content_types", tool.TextBlock("Multiple content types test:"), tool.ImageBlock("image/png", pixel),
			block(`{"type":"resource","resource":{"uri":"test://mixed-content-resource","mimeType":"application/json","text":"{\"test\":\"data\",\"value\":123}"}}`)),
		define("test_error_handling", func(context.Context, none, *tool.Env) ([]tool.Block, error) {
			return nil, errors.New("this tool intentionally returns an error for testing")
		}),
		define("test_tool_with_logging", func(ctx context.Context, _ none, env *tool.Env) ([]tool.Block, error) {
			for i, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
				if i > 0 {
					time.Sleep(50 * time.Millisecond)
				}
				f.server.Log(ctx, env.ToolUseID, &sdk.LoggingMessageParams{Level: "info", Data: text})
			}
			return said("It logged."), nil
		}),
		define("test_tool_with_progress", func(_ context.Context, _ none, env *tool.Env) ([]tool.Block, error) {
			for i := range 3 {
				if i > 0 {
					time.Sleep(50 * time.Millisecond)
				}
				env.Report(tool.Progress{Data: map[string]any{"progress": float64(50 * i), "total": 100.0}})
			}
			return said("It progressed."), nil
		}),
		define("test_reconnection", func(_ context.Context, _ none, env *tool.Env) ([]tool.Block, error) {
			f.server.CloseStream(env.ToolUseID, 100*time.Millisecond)
			time.Sleep(100 * time.Millisecond)
			return said("Reconnection test completed."), nil
		}),
		define("test_sampling", func(ctx context.Context, in promptInput, env *tool.Env) ([]tool.Block, error) {
			res, err := f.server.Sample(ctx, env.ToolUseID, &sdk.CreateMessageParams{MaxTokens: 100,
				Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: in.Prompt}}}})
			if err != nil {
				return nil, err
			}
			text, _ := res.Content.(*sdk.TextContent)
			if text == nil {
				return nil, errors.New("the answer is no text")
			}
			return said("LLM response: %s", text.Text), nil
		}),
		define("test_elicitation", func(ctx context.Context, in messageInput, env *tool.Env) ([]tool.Block, error) {
			return f.elicit(ctx, env, in.Message, `{"type":"object","required":["username","email"],"properties":{
				"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}}}`)
		}),
		f.asks("test_elicitation_sep1034_defaults", "Please look at these.", `{
			"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
			"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}`),
		f.asks("test_elicitation_sep1330_enums", "Please choose.", `{
			"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
			"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
			"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
			"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
			"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}`),
	}
}

// Resources, Templates, Read, Subscribe and Unsubscribe offer resources.
func (f *fixture) Resources(context.Context) ([]*sdk.Resource, error) {
	return []*sdk.Resource{
		{URI: "test://static-text", Name: "Text", Description: "A text that never changes.", MIMEType: "text/plain"},
		{URI: "test://static-binary", Name: "Image", Description: "An image that never changes.", MIMEType: "image/png"},
		{URI: "test://watched-resource", Name: "Watched", Description: "A text that changes.", MIMEType: "text/plain"},
	}, nil
}

func (f *fixture) Templates(context.Context) ([]*sdk.ResourceTemplate, error) {
	return []*sdk.ResourceTemplate{{URITemplate: "test://template/{id}/data", Name: "Data", Description: "Data by id.", MIMEType: "application/json"}}, nil
}

func (f *fixture) Read(_ context.Context, _, uri string) (*sdk.ReadResourceResult, error) {
	c := &sdk.ResourceContents{URI: uri, MIMEType: "text/plain"}
	switch id, isData := strings.CutPrefix(uri, "test://template/"); {
	case uri == "test://static-text":
		c.Text = "This is the content of the static text resource."
	case uri == "test://watched-resource":
		c.Text = "As it is now."
	case uri == "test://static-binary":
		c.MIMEType = "image/png"
		c.Blob, _ = base64.StdEncoding.DecodeString(pixel)
	case isData && strings.HasSuffix(id, "/data"):
		id = strings.TrimSuffix(id, "/data")
		c.MIMEType, c.Text = "application/json", fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)
	default:
		return nil, server.ErrNotFound
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
}

func (f *fixture) Subscribe(context.Context, string) error   { return nil }
func (f *fixture) Unsubscribe(context.Context, string) error { return nil }

// Prompts and GetPrompt offer prompts.
func (f *fixture) Prompts(context.Context) ([]*sdk.Prompt, error) {
	arg := func(name string) *sdk.PromptArgument {
		return &sdk.PromptArgument{Name: name, Description: "An argument.", Required: true}
	}
	return []*sdk.Prompt{
		{Name: "test_simple_prompt", Description: "A prompt without arguments."},
		{Name: "test_prompt_with_arguments", Description: "A prompt with arguments.", Arguments: []*sdk.PromptArgument{arg("arg1"), arg("arg2")}},
		{Name: "test_prompt_with_embedded_resource", Description: "A prompt with a resource.", Arguments: []*sdk.PromptArgument{arg("resourceUri")}},
		{Name: "test_prompt_with_image", Description: "A prompt with an image."},
	}, nil
}

func (f *fixture) GetPrompt(_ context.Context, _ string, p *sdk.GetPromptParams) (*sdk.GetPromptResult, error) {
	res := &sdk.GetPromptResult{}
	add := func(c sdk.Content) {
		res.Messages = append(res.Messages, &sdk.PromptMessage{Role: "user", Content: c})
	}
	switch p.Name {
	case "test_simple_prompt":
		add(&sdk.TextContent{Text: "This is a simple prompt for testing."})
	case "test_prompt_with_arguments":
		add(&sdk.TextContent{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", p.Arguments["arg1"], p.Arguments["arg2"])})
	case "test_prompt_with_embedded_resource":
		add(&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: p.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}})
		add(&sdk.TextContent{Text: "Please process the embedded resource above."})
	case "test_prompt_with_image":
		data, _ := base64.StdEncoding.DecodeString(pixel)
		add(&sdk.ImageContent{MIMEType: "image/png", Data: data})
		add(&sdk.TextContent{Text: "Please analyze the image above."})
	default:
		return nil, server.ErrNotFound
	}
	return res, nil
}

// Complete proposes values.
func (f *fixture) Complete(_ context.Context, _ string, p *sdk.CompleteParams) (*sdk.CompleteResult, error) {
	res := &sdk.CompleteResult{}
	for _, v := range []string{"paris", "park", "test", "testing"} {
		if strings.HasPrefix(v, p.Argument.Value) {
			res.Completion.Values = append(res.Completion.Values, v)
		}
	}
	return res, nil
}

// Level is told which log messages are wanted.
func (f *fixture) Level(context.Context, string) {}

// serveFixture serves the fixture over HTTP and gives its address. The suite
// cannot send a token, so it is put into every request.
func serveFixture(t *testing.T) string {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	f := &fixture{}
	g := sevengate.NewGateway()
	o := sevengate.Options{Dir: dir, Home: home, Environ: []string{"HOME=" + home, "PATH=/usr/bin:/bin"}, ManagedDirs: []string{},
		Tools: f.tools(), Ephemeral: true, NoMCP: true}
	for _, x := range o.Tools {
		o.Allowed = append(o.Allowed, x.Name())
	}
	o.Only = o.Allowed
	g.Prepare(&o)
	r, err := sevengate.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	f.server = g.Serve(r, func(c *sevengate.MCPServerConfig) {
		c.Resources, c.Subscriptions, c.Prompts, c.Completer, c.Logging = f, f, f, f, f
	})
	token := server.NewToken()
	h, err := f.server.Handler(token)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token)
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		f.server.Disconnect()
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}
