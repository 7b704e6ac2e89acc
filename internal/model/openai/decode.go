package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/tool"
)

// maxBlocks bounds the blocks of one response.
const maxBlocks = 10_000

// wireChunk is one chunk. Servers differ in the types of some fields, so that
// those are read leniently.
type wireChunk struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content          json.RawMessage `json:"content"`
			ReasoningContent *string         `json:"reasoning_content"`
			Reasoning        json.RawMessage `json:"reasoning"`
			Refusal          *string         `json:"refusal"`
			ToolCalls        []wireCall      `json:"tool_calls"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		Details          *struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

type wireCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// decoder turns the chunks of one stream into events.
type decoder struct {
	emit   func(model.Event) error
	refuse func(status int, kind, message string, header http.Header) error

	started bool
	finish  string
	message tool.Message
	usage   *tool.Usage
	blocks  []*block
	ids     map[string]bool
}

// block is a block under construction: text, thinking or a tool call.
type block struct {
	kind     tool.BlockType
	position int    // in the response
	index    int    // what the server calls it, -1 for none
	wireID   string // as the server gave it
	id, name string
	text     strings.Builder
	started  bool // the start of a call was reported
	done     bool
	result   tool.Block
}

func (d *decoder) chunk(data []byte) error {
	var w wireChunk
	if err := json.Unmarshal(data, &w); err != nil {
		return corrupt("data that is no chunk")
	}
	if len(w.Error) > 0 && !bytes.Equal(w.Error, []byte("null")) {
		kind, message := readError(data)
		return d.refuse(statusOf(kind, w.Error), kind, message, nil)
	}
	if !d.started && len(w.Choices) > 0 {
		d.started, d.ids = true, map[string]bool{}
		d.message = tool.Message{Role: tool.RoleAssistant, ID: w.ID, Model: w.Model}
		if err := d.emit(model.Event{Kind: model.EventStart, Message: d.message}); err != nil {
			return err
		}
	}
	if w.Usage != nil && w.Usage.PromptTokens+w.Usage.CompletionTokens > 0 {
		d.usage = &tool.Usage{InputTokens: w.Usage.PromptTokens, OutputTokens: w.Usage.CompletionTokens}
		if w.Usage.Details != nil {
			d.usage.CacheReadInputTokens = w.Usage.Details.Cached
			d.usage.InputTokens = max(0, d.usage.InputTokens-w.Usage.Details.Cached)
		}
	}
	for _, choice := range w.Choices {
		if choice.Index != 0 {
			continue
		}
		delta := choice.Delta
		thinking := text(delta.Reasoning)
		if delta.ReasoningContent != nil {
			thinking = *delta.ReasoningContent
		}
		if err := d.piece(tool.BlockThinking, model.EventThinking, thinking); err != nil {
			return err
		}
		if err := d.piece(tool.BlockText, model.EventText, text(delta.Content)); err != nil {
			return err
		}
		if delta.Refusal != nil {
			if err := d.piece(tool.BlockText, model.EventText, *delta.Refusal); err != nil {
				return err
			}
		}
		for _, call := range delta.ToolCalls {
			if err := d.call(call); err != nil {
				return err
			}
		}
		if choice.FinishReason != nil && *choice.FinishReason != "" {
			d.finish = *choice.FinishReason
		}
	}
	return nil
}

// text reads a string; anything else is no text.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, &s)
	}
	return s
}

// last is the block that is being written.
func (d *decoder) last() *block {
	if len(d.blocks) == 0 {
		return nil
	}
	return d.blocks[len(d.blocks)-1]
}

func (d *decoder) add(b *block) (*block, error) {
	if len(d.blocks) >= maxBlocks {
		return nil, corrupt("too many blocks")
	}
	b.position = len(d.blocks)
	d.blocks = append(d.blocks, b)
	return b, nil
}

func (d *decoder) piece(kind tool.BlockType, event model.EventKind, piece string) error {
	if piece == "" {
		return nil
	}
	b := d.last()
	if b == nil || b.kind != kind || b.done {
		if err := d.settle(); err != nil {
			return err
		}
		var err error
		if b, err = d.add(&block{kind: kind}); err != nil {
			return err
		}
	}
	b.text.WriteString(piece)
	return d.emit(model.Event{Kind: event, Index: b.position, Text: piece})
}

// call takes a fragment of a tool call.
func (d *decoder) call(w wireCall) error {
	arguments := text(w.Function.Arguments)
	if trimmed := bytes.TrimSpace(w.Function.Arguments); len(trimmed) > 0 && trimmed[0] == '{' {
		arguments = string(trimmed) // a server that sends the object itself
	}
	b := d.find(w)
	if b == nil {
		if err := d.settle(); err != nil {
			return err
		}
		var err error
		if b, err = d.add(&block{kind: tool.BlockToolUse, index: -1, wireID: w.ID}); err != nil {
			return err
		}
		if w.Index != nil {
			b.index = *w.Index
		}
	}
	if b.wireID == "" {
		b.wireID = w.ID
	}
	if b.name == "" {
		b.name = w.Function.Name
	}
	if b.done && strings.TrimSpace(arguments) != "" {
		return model.Malformed(b.name)
	}
	b.text.WriteString(arguments)
	return d.start(b, false)
}

// start reports that a call begins, when its name is known. An id is made for a
// call that has none of its own by then.
func (d *decoder) start(b *block, now bool) error {
	if b.started || b.name == "" && !now {
		return nil
	}
	b.started = true
	if b.id = b.wireID; b.id == "" || d.ids[b.id] {
		b.id = model.NewToolUseID()
	}
	d.ids[b.id] = true
	return d.emit(model.Event{Kind: model.EventToolStart, Index: b.position, Block: tool.Block{Type: tool.BlockToolUse, ID: b.id, Name: b.name}})
}

// find gives the call that a fragment belongs to, nil for a new one. Some
// servers give no index, some give every call the same.
func (d *decoder) find(w wireCall) *block {
	for i := len(d.blocks) - 1; i >= 0; i-- {
		b := d.blocks[i]
		if b.kind != tool.BlockToolUse {
			continue
		}
		if w.Index != nil && b.index >= 0 && b.index != *w.Index {
			continue
		}
		switch {
		case w.ID != "" && b.wireID != "":
			if w.ID == b.wireID {
				return b
			}
			if w.Index == nil {
				continue
			}
			return nil
		case w.Function.Name != "" && b.name != "" && (w.Index == nil || isObject(b.text.String())):
			return nil
		}
		return b
	}
	return nil
}

// settle reports the blocks that are complete now that another begins: text and
// thinking, and calls whose arguments are a whole object, to which nothing can
// be added any more.
func (d *decoder) settle() error {
	for _, b := range d.blocks {
		if b.kind == tool.BlockToolUse && !isObject(b.text.String()) {
			continue
		}
		if err := d.report(b); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) report(b *block) error {
	if b.done {
		return nil
	}
	b.done = true
	switch b.kind {
	case tool.BlockText:
		b.result = tool.TextBlock(b.text.String())
	case tool.BlockThinking:
		raw, err := json.Marshal(struct {
			Type      tool.BlockType `json:"type"`
			Thinking  string         `json:"thinking"`
			Signature string         `json:"signature"`
		}{tool.BlockThinking, b.text.String(), ""})
		if err != nil {
			return fmt.Errorf("keep a thinking block: %w", err)
		}
		if b.result, err = tool.Opaque(raw); err != nil {
			return err
		}
	case tool.BlockToolUse:
		if err := d.start(b, true); err != nil {
			return err
		}
		b.result = tool.ToolUse(b.id, b.name, json.RawMessage(b.text.String()))
	}
	return d.emit(model.Event{Kind: model.EventBlock, Index: b.position, Block: b.result})
}

// end completes the response if a finish reason has come; cut is the error if
// not.
func (d *decoder) end(cut error) error {
	if d.finish == "" || !d.started {
		return model.ConnectionError(cut)
	}
	if d.finish == "error" {
		return model.ConnectionError(fmt.Errorf("%w: the server reports an error", model.ErrCut))
	}
	d.message.StopReason = d.stopReason()
	truncated := model.Truncated(d.message.StopReason)
	for _, b := range d.blocks {
		if b.kind == tool.BlockToolUse && !b.done {
			if arguments := strings.TrimSpace(b.text.String()); !truncated && (arguments == "" || arguments == "null") {
				b.text.Reset()
				b.text.WriteString("{}") // a call without arguments
			}
			if !isObject(b.text.String()) {
				if truncated {
					continue
				}
				return model.Malformed(b.name)
			}
		}
		if err := d.report(b); err != nil {
			return err
		}
	}
	for _, b := range d.blocks {
		if b.done {
			d.message.Content = append(d.message.Content, b.result)
		}
	}
	if d.message.Usage = d.usage; d.usage == nil {
		d.message.Usage = &tool.Usage{}
	}
	return d.emit(model.Event{Kind: model.EventEnd, Message: d.message})
}

// stopReason gives the Messages API's word. Servers do not agree on theirs, so
// that what is not known counts by whether there are calls.
func (d *decoder) stopReason() string {
	switch strings.ToLower(d.finish) {
	case "length", "max_tokens", "model_length", "max_output_tokens":
		return "max_tokens"
	case "content_filter", "refusal", "safety":
		return "refusal"
	}
	for _, b := range d.blocks {
		if b.kind == tool.BlockToolUse {
			return "tool_use"
		}
	}
	return "end_turn"
}

func isObject(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") && json.Valid([]byte(text))
}

// corrupt is the error of a stream that breaks its own protocol: as good as cut.
func corrupt(what string) error {
	return model.ConnectionError(fmt.Errorf("%w: it brought %s", model.ErrCut, what))
}

// statusOf gives the HTTP status that an error within a stream stands for.
func statusOf(kind string, raw json.RawMessage) int {
	var inner struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(raw, &inner) == nil && inner.Code >= 400 && inner.Code < 600 {
		return inner.Code
	}
	switch kind {
	case "invalid_request_error", "context_length_exceeded":
		return http.StatusBadRequest
	case "authentication_error", "invalid_api_key":
		return http.StatusUnauthorized
	case "permission_error":
		return http.StatusForbidden
	case "not_found_error":
		return http.StatusNotFound
	case "rate_limit_error", "rate_limit_exceeded", "insufficient_quota":
		return http.StatusTooManyRequests
	}
	return http.StatusInternalServerError
}
