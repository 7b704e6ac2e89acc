package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/internal/mcp/form"
	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// Keys of _meta in a tool's definition.
const (
	metaAlwaysLoad  = "anthropic/alwaysLoad"
	metaInteraction = "anthropic/requiresUserInteraction"
	metaResultChars = "anthropic/maxResultSizeChars"
)

// toolDef is what is kept of a tool beside the tool itself.
type toolDef struct {
	raw  string          // as the server calls it
	api  json.RawMessage // the schema as model APIs take it
	wire json.RawMessage // the whole definition, to see whether it changed
}

func byName(a, b tool.Tool) int { return strings.Compare(a.Name(), b.Name()) }

// Input is the input of a server's tool: whatever its schema says.
type Input = json.RawMessage

// makeTool makes a tool of a server's definition. Hints of the server are taken
// for scheduling and display only; they count as facts where the person's
// configuration trusts the server.
func (s *server) makeTool(name string, t *sdk.Tool) (toolDef, tool.Tool, error) {
	wire, err := json.Marshal(t)
	if err != nil {
		return toolDef{}, tool.Tool{}, errors.New("its definition cannot be read")
	}
	input, err := json.Marshal(t.InputSchema)
	if err != nil {
		return toolDef{}, tool.Tool{}, errors.New("its schema cannot be read")
	}
	if string(input) == "null" {
		input = json.RawMessage(`{"type":"object"}`)
	}
	api, note, err := form.Schema(input)
	if err != nil {
		return toolDef{}, tool.Tool{}, err
	}
	description := form.Description(t.Description, s.m.vars.number("CLAUDE_CODE_MAX_MCP_DESCRIPTION_LENGTH", 1, form.MaxDescription))
	if note != "" {
		description = strings.TrimSpace(description + "\n\n" + form.Description(note, 0))
	}
	var hints sdk.ToolAnnotations
	if t.Annotations != nil {
		hints = *t.Annotations
	}
	def := tool.Def[Input, Output]{
		Name:           name,
		Title:          firstOf(form.Description(t.Title, 100), form.Description(hints.Title, 100)),
		SearchHint:     form.Description(firstLine(t.Description), 200),
		Prompt:         tool.Text(description),
		Origin:         &tool.Origin{Server: s.cfg.Name, Tool: t.Name},
		Defer:          true,
		AlwaysLoad:     s.alwaysLoad(t.Meta),
		MaxResultChars: s.resultChars(t.Meta),
		MapResult:      func(o Output) []tool.Block { return o },
		Call: func(ctx context.Context, in Input, env *tool.Env) (tool.Result[Output], error) {
			return s.callTool(ctx, t.Name, in, env)
		},
		Interrupt: tool.InterruptCancel,
	}
	if out, err := json.Marshal(t.OutputSchema); err == nil && t.OutputSchema != nil {
		def.OutputSchema = out
	}
	always := func(v bool) func(Input) bool { return func(Input) bool { return v } }
	if hints.ReadOnlyHint {
		// That it may run beside others is harmless where the hint is wrong; that
		// it changes nothing would not be.
		def.ConcurrencySafe = always(true)
		def.Effects = func(Input) tool.Effects { return tool.Nothing() }
		def.ReadOnly = always(s.cfg.TrustHints)
	}
	def.Destructive = always(!(hints.ReadOnlyHint && s.cfg.TrustHints) && (hints.DestructiveHint == nil || *hints.DestructiveHint || !s.cfg.TrustHints))
	def.OpenWorld = always(hints.OpenWorldHint == nil || *hints.OpenWorldHint || !s.cfg.TrustHints)
	def.RequiresUserInteraction = always(t.Meta[metaInteraction] == true)
	if hints.ReadOnlyHint {
		def.Kind = func(Input) tool.Kind { return tool.KindRead }
	}
	made, err := usable(input, api, def)
	if err != nil {
		return toolDef{}, tool.Tool{}, err
	}
	return toolDef{raw: t.Name, api: api, wire: wire}, made, nil
}

// usable makes the tool with its schema as it is or, where that cannot be
// compiled (it refers to what is elsewhere), with its cleaned form.
func usable(input, api json.RawMessage, def tool.Def[Input, Output]) (tool.Tool, error) {
	var first error
	for _, raw := range []json.RawMessage{input, api} {
		t, err := tool.FromSchema(raw, def)
		if err != nil {
			return tool.Tool{}, err
		}
		// To compile the schemas of many tools would take as long as all else at the
		// start; those that surely can be are compiled when they are needed.
		if schema.Plain(raw) {
			return t, nil
		}
		if err = schema.For(t).Err(); err == nil {
			return t, nil
		}
		if first == nil {
			first = err
		}
	}
	return tool.Tool{}, fmt.Errorf("inputs cannot be validated: %s", oneLine(first.Error()))
}

// alwaysLoad: the tool's own word wins over its server's entry.
func (s *server) alwaysLoad(meta sdk.Meta) bool {
	if own, ok := meta[metaAlwaysLoad].(bool); ok && (!own || s.cfg.AlwaysLoad == nil || *s.cfg.AlwaysLoad) {
		return own
	}
	return s.cfg.AlwaysLoad != nil && *s.cfg.AlwaysLoad
}

// resultChars bounds what the model sees of a result; the whole is kept in a
// file where it is longer.
func (s *server) resultChars(meta sdk.Meta) int {
	limit := s.m.vars.number("MAX_MCP_OUTPUT_TOKENS", 1, DefaultOutputTokens)
	chars := min(limit, tool.MaxResultCharsCeiling/charsPerToken) * charsPerToken
	if own, ok := meta[metaResultChars].(float64); ok && own >= 1 {
		chars = int(min(own, tool.MaxResultCharsCeiling))
	}
	return max(1, min(chars, tool.MaxResultCharsCeiling))
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" && t != "-" {
			return t
		}
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
