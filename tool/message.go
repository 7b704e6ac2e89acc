package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Role says who speaks in a message.
type Role string

// The two roles of the Messages API.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one turn of a conversation. It is a value; its blocks must not be
// changed once the message was handed on.
type Message struct {
	Role    Role    `json:"role"`
	Content []Block `json:"content"`

	// ID, Model, StopReason and Usage are set on assistant messages only.
	ID         string `json:"id,omitempty"`
	Model      string `json:"model,omitempty"`
	StopReason string `json:"stop_reason,omitempty"`
	Usage      *Usage `json:"usage,omitempty"`
}

// Usage counts the tokens of one response, as the provider reports them.
type Usage struct {
	InputTokens              int `json:"input_tokens"`
	OutputTokens             int `json:"output_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens,omitempty"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens,omitempty"`
}

// UnmarshalJSON accepts content as a list of blocks or, as the Messages API
// does, as a plain string.
func (m *Message) UnmarshalJSON(data []byte) error {
	var wire struct {
		Role       Role        `json:"role"`
		Content    contentList `json:"content"`
		ID         string      `json:"id"`
		Model      string      `json:"model"`
		StopReason *string     `json:"stop_reason"`
		Usage      *Usage      `json:"usage"`
	}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	*m = Message{Role: wire.Role, Content: wire.Content, ID: wire.ID, Model: wire.Model, Usage: wire.Usage}
	if wire.StopReason != nil {
		m.StopReason = *wire.StopReason
	}
	return nil
}

// Text joins the text blocks of the message.
func (m Message) Text() string {
	var b strings.Builder
	for _, block := range m.Content {
		if block.Type == BlockText {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// ToolUses returns the tool_use blocks of the message, in order.
func (m Message) ToolUses() []Block {
	var out []Block
	for _, block := range m.Content {
		if block.Type == BlockToolUse {
			out = append(out, block)
		}
	}
	return out
}

// UserText makes a user message of one text block.
func UserText(text string) Message {
	return Message{Role: RoleUser, Content: []Block{TextBlock(text)}}
}

// BlockType names the kind of a content block.
type BlockType string

// The block types that the runtime reads. Blocks of any other type pass
// through unchanged.
const (
	BlockText          BlockType = "text"
	BlockImage         BlockType = "image"
	BlockDocument      BlockType = "document"
	BlockThinking      BlockType = "thinking"
	BlockToolUse       BlockType = "tool_use"
	BlockToolResult    BlockType = "tool_result"
	BlockToolReference BlockType = "tool_reference"
)

// Block is one content block. Which fields count depends on Type. A block that
// was decoded keeps its bytes: types that this package does not know, and
// thinking blocks, are encoded again exactly as they came.
type Block struct {
	Type BlockType

	Text string // text

	ID    string          // tool_use
	Name  string          // tool_use
	Input json.RawMessage // tool_use; the model's own bytes

	ToolUseID string  // tool_result
	Content   []Block // tool_result
	IsError   bool    // tool_result

	Source *Source // image, document
	Title  string  // document

	ToolName string // tool_reference

	raw json.RawMessage // the bytes of an opaque block
}

// Source is the data of an image or a document.
type Source struct {
	Type      string `json:"type"`                 // "base64", "url" or "text"
	MediaType string `json:"media_type,omitempty"` // such as image/png
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// TextBlock makes a text block.
func TextBlock(text string) Block { return Block{Type: BlockText, Text: text} }

// ImageBlock makes an image block of base64 data.
func ImageBlock(mediaType, base64Data string) Block {
	return Block{Type: BlockImage, Source: &Source{Type: "base64", MediaType: mediaType, Data: base64Data}}
}

// DocumentBlock makes a document block of base64 data, such as a PDF.
func DocumentBlock(mediaType, base64Data, title string) Block {
	return Block{Type: BlockDocument, Title: title, Source: &Source{Type: "base64", MediaType: mediaType, Data: base64Data}}
}

// ToolUse makes a tool_use block.
func ToolUse(id, name string, input json.RawMessage) Block {
	return Block{Type: BlockToolUse, ID: id, Name: name, Input: input}
}

// ToolResult makes a tool_result block.
func ToolResult(toolUseID string, isError bool, content ...Block) Block {
	return Block{Type: BlockToolResult, ToolUseID: toolUseID, IsError: isError, Content: content}
}

// ToolReference makes the block by which a search names a deferred tool.
func ToolReference(name string) Block { return Block{Type: BlockToolReference, ToolName: name} }

// Opaque makes a block of any type from its JSON object, kept byte for byte.
func Opaque(raw json.RawMessage) (Block, error) {
	var b Block
	err := b.UnmarshalJSON(raw)
	return b, err
}

type wireBlock struct {
	Type      BlockType       `json:"type"`
	Text      *string         `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Content   contentList     `json:"content,omitempty"`
	Source    *Source         `json:"source,omitempty"`
	Title     string          `json:"title,omitempty"`
	ToolName  string          `json:"tool_name,omitempty"`
}

// MarshalJSON writes the block in the shape of the Messages API.
func (b Block) MarshalJSON() ([]byte, error) {
	if b.raw != nil {
		return b.raw, nil
	}
	w := wireBlock{Type: b.Type, Source: b.Source, Title: b.Title, ToolName: b.ToolName}
	switch b.Type {
	case BlockText:
		w.Text = &b.Text
	case BlockToolUse:
		w.ID, w.Name, w.Input = b.ID, b.Name, b.Input
		if len(bytes.TrimSpace(w.Input)) == 0 || !json.Valid(w.Input) {
			w.Input = json.RawMessage("{}") // what was cut cannot be sent back; the API wants an object
		}
	case BlockToolResult:
		w.ToolUseID, w.IsError, w.Content = b.ToolUseID, b.IsError, b.Content
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads a block of the Messages API.
func (b *Block) UnmarshalJSON(data []byte) error {
	var w wireBlock
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("content block: %w", err)
	}
	if w.Type == "" {
		return fmt.Errorf(`content block: "type" is missing`)
	}
	*b = Block{
		Type: w.Type, ID: w.ID, Name: w.Name, Input: w.Input, ToolUseID: w.ToolUseID,
		IsError: w.IsError, Content: w.Content, Source: w.Source, Title: w.Title, ToolName: w.ToolName,
	}
	if w.Text != nil {
		b.Text = *w.Text
	}
	switch w.Type {
	case BlockText, BlockImage, BlockDocument, BlockToolUse, BlockToolResult, BlockToolReference:
	default:
		b.raw = bytes.Clone(data)
	}
	return nil
}

// contentList reads what the Messages API allows as content: a string or a
// list of blocks.
type contentList []Block

func (c *contentList) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || bytes.Equal(data, []byte("null")) {
		*c = nil
		return nil
	}
	if data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*c = contentList{TextBlock(s)}
		return nil
	}
	// Content of an opaque block may be an object: it lives on in the raw
	// bytes, so it is no error here.
	if data[0] == '{' {
		*c = nil
		return nil
	}
	var blocks []Block
	if err := json.Unmarshal(data, &blocks); err != nil {
		return err
	}
	*c = blocks
	return nil
}
