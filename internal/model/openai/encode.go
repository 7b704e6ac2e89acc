package openai

//lint:file-ignore SA1019 max_tokens is what servers of this protocol understand; the newer field is not known to most

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// noOutput stands for an empty tool result, which servers refuse.
const noOutput = "(no output)"

// convert makes the chat form of a request.
func convert(r model.Request, o Options) sdk.ChatCompletionRequest {
	request := sdk.ChatCompletionRequest{
		Model: r.Model, Stream: true, StreamOptions: &sdk.StreamOptions{IncludeUsage: true},
		ReasoningEffort: o.ReasoningEffort,
	}
	maxTokens := r.MaxTokens
	if maxTokens <= 0 {
		maxTokens = model.DefaultMaxTokens
	}
	if wantsCompletionTokens(r.Model, o.BaseURL) {
		request.MaxCompletionTokens = maxTokens
	} else {
		request.MaxTokens = maxTokens
	}
	if strings.TrimSpace(r.System) != "" {
		request.Messages = append(request.Messages, sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleSystem, Content: r.System})
	}
	for _, m := range r.Messages {
		if m.Role == tool.RoleAssistant {
			request.Messages = appendAssistant(request.Messages, m)
		} else {
			request.Messages = appendUser(request.Messages, m)
		}
	}
	for _, t := range r.Tools {
		if !t.Deferred {
			request.Tools = append(request.Tools, sdk.Tool{Type: sdk.ToolTypeFunction, Function: &sdk.FunctionDefinition{
				Name: t.Name, Description: t.Description, Parameters: t.InputSchema, Strict: t.Strict && fitsStrict(t),
			}})
		}
	}
	return request
}

// wantsCompletionTokens says which of the two names of the limit is right:
// OpenAI's reasoning models refuse the old one, many other servers know no other.
func wantsCompletionTokens(name, baseURL string) bool {
	if baseURL == "" || strings.Contains(baseURL, "://api.openai.com/") {
		return true
	}
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5", "gpt-6"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func appendAssistant(to []sdk.ChatCompletionMessage, m tool.Message) []sdk.ChatCompletionMessage {
	out := sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleAssistant, Content: m.Text()}
	for _, use := range m.ToolUses() {
		arguments := "{}"
		var compact bytes.Buffer
		if json.Compact(&compact, use.Input) == nil {
			arguments = compact.String()
		}
		out.ToolCalls = append(out.ToolCalls, sdk.ToolCall{ID: use.ID, Type: sdk.ToolTypeFunction,
			Function: sdk.FunctionCall{Name: use.Name, Arguments: arguments}})
	}
	if out.Content == "" && len(out.ToolCalls) == 0 {
		return to // only thinking, or nothing
	}
	return append(to, out)
}

// appendUser makes a message for each tool result, then one for the rest.
// Images in results follow in the latter, since a tool message holds text only.
func appendUser(to []sdk.ChatCompletionMessage, m tool.Message) []sdk.ChatCompletionMessage {
	var rest parts
	for _, block := range m.Content {
		if block.Type != tool.BlockToolResult {
			continue
		}
		var result parts
		for _, inner := range block.Content {
			result.add(inner)
		}
		text := result.text()
		if images := result.images(); len(images) > 0 {
			note := fmt.Sprintf("(%d image(s) of this result follow in the next user message)", len(images))
			text = strings.TrimPrefix(text+"\n"+note, "\n")
			rest.list = append(rest.list, textPart("Image(s) of the result of "+block.ToolUseID+":"))
			rest.list = append(rest.list, images...)
		}
		if strings.TrimSpace(text) == "" {
			text = noOutput
		}
		if block.IsError {
			text = "Error: " + text
		}
		to = append(to, sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleTool, ToolCallID: block.ToolUseID, Content: text})
	}
	for _, block := range m.Content {
		if block.Type != tool.BlockToolResult {
			rest.add(block)
		}
	}
	switch {
	case len(rest.list) == 0:
		return to
	case len(rest.images()) == 0:
		return append(to, sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleUser, Content: rest.text()})
	}
	return append(to, sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleUser, MultiContent: rest.list})
}

// parts are the contents of one chat message.
type parts struct{ list []sdk.ChatMessagePart }

func textPart(text string) sdk.ChatMessagePart {
	return sdk.ChatMessagePart{Type: sdk.ChatMessagePartTypeText, Text: text}
}

func (p *parts) add(block tool.Block) {
	switch block.Type {
	case tool.BlockText:
		if block.Text != "" {
			p.list = append(p.list, textPart(block.Text))
		}
	case tool.BlockImage:
		if link := imageURL(block.Source); link != "" {
			p.list = append(p.list, sdk.ChatMessagePart{Type: sdk.ChatMessagePartTypeImageURL, ImageURL: &sdk.ChatMessageImageURL{URL: link}})
		}
	case tool.BlockDocument:
		p.list = append(p.list, textPart(documentText(block)))
	case tool.BlockToolReference:
		p.list = append(p.list, textPart("Found tool: "+block.ToolName))
	}
}

func (p *parts) text() string {
	var texts []string
	for _, part := range p.list {
		if part.Type == sdk.ChatMessagePartTypeText {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (p *parts) images() []sdk.ChatMessagePart {
	var out []sdk.ChatMessagePart
	for _, part := range p.list {
		if part.Type == sdk.ChatMessagePartTypeImageURL {
			out = append(out, part)
		}
	}
	return out
}

func imageURL(source *tool.Source) string {
	switch {
	case source == nil:
		return ""
	case source.URL != "":
		return source.URL
	case source.Data != "":
		return "data:" + source.MediaType + ";base64," + source.Data
	}
	return ""
}

func documentText(block tool.Block) string {
	title := block.Title
	if title == "" {
		title = "untitled"
	}
	if block.Source != nil && block.Source.Type == "text" {
		return "Document " + title + ":\n" + block.Source.Data
	}
	kind := "unknown type"
	if block.Source != nil && block.Source.MediaType != "" {
		kind = block.Source.MediaType
	}
	return fmt.Sprintf("(document %s, %s: this model takes no documents; read it as text or as images)", title, kind)
}

// fitsStrict says whether a schema is one that the strict mode of this protocol
// takes, which is narrower than that of the Messages API: no object may have
// optional or additional properties.
func fitsStrict(t schema.APITool) bool {
	var root any
	if json.Unmarshal(t.InputSchema, &root) != nil {
		return false
	}
	return strictValue(root)
}

func strictValue(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !strictValue(item) })
	case map[string]any:
		if properties, isObject := v["properties"].(map[string]any); isObject || v["type"] == "object" {
			required, _ := v["required"].([]any)
			if v["additionalProperties"] != false || len(required) != len(properties) {
				return false
			}
		}
		for _, inner := range v {
			if !strictValue(inner) {
				return false
			}
		}
	}
	return true
}
