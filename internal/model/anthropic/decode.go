package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/tool"
)

// maxBlocks bounds the blocks of one response.
const maxBlocks = 10_000

// wireEvent is the union of what the events of a stream carry.
type wireEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message *struct {
		ID    string     `json:"id"`
		Model string     `json:"model"`
		Usage *wireUsage `json:"usage"`
	} `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage *wireUsage `json:"usage"`
	Error *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

type wireUsage struct {
	InputTokens              *int `json:"input_tokens"`
	OutputTokens             *int `json:"output_tokens"`
	CacheCreationInputTokens *int `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     *int `json:"cache_read_input_tokens"`
}

// decoder turns the events of one stream into ours.
type decoder struct {
	emit   func(model.Event) error
	refuse func(status int, kind, message string, header http.Header) error

	started bool
	message tool.Message
	usage   tool.Usage
	blocks  []*block
	ids     map[string]bool
	held    *block // a closed tool_use without input, see close
	bad     *block // a closed block whose input is no JSON object
}

// block is a block under construction.
type block struct {
	index           int
	kind            tool.BlockType
	raw             json.RawMessage // as it started
	id, name        string
	text, signature strings.Builder
	closed          bool
	done            bool // reported
	result          tool.Block
}

// event takes one event and says whether the response is complete.
func (d *decoder) event(e ssestream.Event) (done bool, err error) {
	data := bytes.TrimSpace(e.Data)
	if !known(e.Type) || len(data) == 0 {
		return false, nil
	}
	var w wireEvent
	if err := json.Unmarshal(data, &w); err != nil {
		return false, corrupt("data that is no JSON")
	}
	if w.Type == "" {
		w.Type = e.Type
	}
	switch w.Type {
	case "error":
		if w.Error == nil {
			return false, corrupt("an error without its reason")
		}
		return false, d.refuse(statusOf(w.Error.Type), w.Error.Type, w.Error.Message, nil)
	case "message_start":
		if d.started || w.Message == nil {
			return false, corrupt("a second or an empty start")
		}
		d.started = true
		d.ids = map[string]bool{}
		d.message = tool.Message{Role: tool.RoleAssistant, ID: w.Message.ID, Model: w.Message.Model}
		d.count(w.Message.Usage)
		return false, d.emit(model.Event{Kind: model.EventStart, Message: d.message})
	case "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop":
		if !d.started {
			return false, corrupt(w.Type + " before message_start")
		}
	}
	switch w.Type {
	case "content_block_start":
		return false, d.open(w)
	case "content_block_delta":
		return false, d.delta(w)
	case "content_block_stop":
		b := d.find(w.Index)
		if b == nil {
			return false, corrupt("the end of a block that is not open")
		}
		return false, d.close(b)
	case "message_delta":
		d.count(w.Usage)
		if w.Delta.StopReason != "" {
			d.message.StopReason = w.Delta.StopReason
		}
	case "message_stop":
		return true, d.end(model.ErrCut)
	}
	return false, nil
}

// known says whether an event matters by its name. One without a name may.
func known(name string) bool {
	switch name {
	case "", "error", "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop":
		return true
	}
	return false
}

func (d *decoder) open(w wireEvent) error {
	if err := d.release(); err != nil {
		return err
	}
	if d.find(w.Index) != nil || len(d.blocks) >= maxBlocks {
		return corrupt("a block that is open already, or too many")
	}
	var head struct {
		Type     tool.BlockType  `json:"type"`
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Text     string          `json:"text"`
		Thinking string          `json:"thinking"`
		Input    json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(w.ContentBlock, &head); err != nil || head.Type == "" {
		return corrupt("a block without a type")
	}
	b := &block{index: w.Index, kind: head.Type, raw: bytes.Clone(w.ContentBlock), id: head.ID, name: head.Name}
	d.blocks = append(d.blocks, b)
	switch b.kind {
	case tool.BlockText:
		return d.piece(b, model.EventText, head.Text)
	case tool.BlockThinking:
		return d.piece(b, model.EventThinking, head.Thinking)
	case tool.BlockToolUse:
		if b.id == "" || d.ids[b.id] {
			b.id = model.NewToolUseID()
		}
		d.ids[b.id] = true
		if len(head.Input) > 2 { // more than {}: a server that does not stream the input
			b.text.Write(head.Input)
		}
		return d.emit(model.Event{Kind: model.EventToolStart, Index: b.index, Block: tool.Block{Type: tool.BlockToolUse, ID: b.id, Name: b.name}})
	}
	return nil
}

func (d *decoder) piece(b *block, kind model.EventKind, text string) error {
	if text == "" {
		return nil
	}
	b.text.WriteString(text)
	return d.emit(model.Event{Kind: kind, Index: b.index, Text: text})
}

func (d *decoder) delta(w wireEvent) error {
	b := d.find(w.Index)
	if b == nil {
		return corrupt("a piece of a block that is not open")
	}
	switch w.Delta.Type {
	case "text_delta":
		if b.kind == tool.BlockText {
			return d.piece(b, model.EventText, w.Delta.Text)
		}
	case "thinking_delta":
		if b.kind == tool.BlockThinking {
			return d.piece(b, model.EventThinking, w.Delta.Thinking)
		}
	case "signature_delta":
		b.signature.WriteString(w.Delta.Signature)
	case "input_json_delta":
		b.text.WriteString(w.Delta.PartialJSON)
	}
	return nil
}

// find gives the open block of an index.
func (d *decoder) find(index int) *block {
	for i := len(d.blocks) - 1; i >= 0; i-- {
		if b := d.blocks[i]; b.index == index && !b.closed {
			return b
		}
	}
	return nil
}

// close ends a block and reports it. A tool_use without any input is held back:
// it is either a call without arguments or one that was cut before the first,
// which only what follows can tell. One with a broken input is set aside for
// the same reason.
func (d *decoder) close(b *block) error {
	if err := d.release(); err != nil {
		return err
	}
	b.closed = true
	text := b.text.String()
	switch b.kind {
	case tool.BlockText:
		b.result = tool.TextBlock(text)
	case tool.BlockThinking:
		raw, err := thinking(b, text)
		if err != nil {
			return err
		}
		b.result = raw
	case tool.BlockToolUse:
		if strings.TrimSpace(text) == "" {
			b.result = tool.ToolUse(b.id, b.name, json.RawMessage("{}"))
			d.held = b
			return nil
		}
		if !isObject(text) {
			d.bad = b
			return nil
		}
		b.result = tool.ToolUse(b.id, b.name, json.RawMessage(text))
	default:
		raw, err := withInput(b.raw, text)
		if err != nil {
			d.bad = b
			return nil
		}
		if b.result, err = tool.Opaque(raw); err != nil {
			return corrupt("a block that cannot be read")
		}
	}
	return d.report(b)
}

func (d *decoder) report(b *block) error {
	b.done = true
	return d.emit(model.Event{Kind: model.EventBlock, Index: b.index, Block: b.result})
}

// release reports the held block, now that more came after it. After a broken
// one, nothing can come.
func (d *decoder) release() error {
	if d.bad != nil {
		return model.Malformed(d.bad.name)
	}
	if b := d.held; b != nil {
		d.held = nil
		return d.report(b)
	}
	return nil
}

// end completes the response if its stop reason has come; cut is the error if
// not.
func (d *decoder) end(cut error) error {
	if d.message.StopReason == "" {
		return model.ConnectionError(cut)
	}
	truncated := model.Truncated(d.message.StopReason)
	if truncated {
		d.held, d.bad = nil, nil
	}
	if err := d.release(); err != nil {
		return err
	}
	for _, b := range d.blocks {
		if b.closed {
			continue
		}
		switch {
		case b.kind == tool.BlockText && b.text.Len() > 0:
			if err := d.close(b); err != nil {
				return err
			}
		case !truncated:
			return model.ConnectionError(fmt.Errorf("%w: a %s block never ended", model.ErrCut, b.kind))
		}
	}
	for _, b := range d.blocks {
		if b.done {
			d.message.Content = append(d.message.Content, b.result)
		}
	}
	d.message.Usage = &d.usage
	return d.emit(model.Event{Kind: model.EventEnd, Message: d.message})
}

func (d *decoder) count(u *wireUsage) {
	if u == nil {
		return
	}
	for _, f := range []struct{ from, to *int }{
		{u.InputTokens, &d.usage.InputTokens},
		{u.OutputTokens, &d.usage.OutputTokens},
		{u.CacheCreationInputTokens, &d.usage.CacheCreationInputTokens},
		{u.CacheReadInputTokens, &d.usage.CacheReadInputTokens},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
}

func thinking(b *block, text string) (tool.Block, error) {
	var start struct {
		Signature string `json:"signature"`
	}
	_ = json.Unmarshal(b.raw, &start)
	raw, err := encodePlain(struct {
		Type      tool.BlockType `json:"type"`
		Thinking  string         `json:"thinking"`
		Signature string         `json:"signature"`
	}{tool.BlockThinking, text, start.Signature + b.signature.String()})
	if err != nil {
		return tool.Block{}, fmt.Errorf("keep a thinking block: %w", err)
	}
	return tool.Opaque(raw)
}

// withInput puts the streamed input of a server's own tool into its block.
func withInput(raw json.RawMessage, input string) (json.RawMessage, error) {
	if strings.TrimSpace(input) == "" {
		return raw, nil
	}
	if !isObject(input) {
		return nil, corrupt("an input that is no JSON")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	fields["input"] = json.RawMessage(input)
	return encodePlain(fields)
}

// encodePlain encodes without the escapes that only HTML needs.
func encodePlain(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func isObject(text string) bool {
	trimmed := strings.TrimLeft(text, " \t\r\n")
	return strings.HasPrefix(trimmed, "{") && json.Valid([]byte(text))
}

// corrupt is the error of a stream that breaks its own protocol: as good as cut.
func corrupt(what string) error {
	return model.ConnectionError(fmt.Errorf("%w: it brought %s", model.ErrCut, what))
}

// statusOf gives the HTTP status that belongs to the type of an error event.
func statusOf(kind string) int {
	switch kind {
	case "invalid_request_error":
		return http.StatusBadRequest
	case "authentication_error":
		return http.StatusUnauthorized
	case "billing_error":
		return http.StatusPaymentRequired
	case "permission_error":
		return http.StatusForbidden
	case "not_found_error":
		return http.StatusNotFound
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "rate_limit_error":
		return http.StatusTooManyRequests
	case "timeout_error":
		return http.StatusGatewayTimeout
	case "overloaded_error":
		return 529
	}
	return http.StatusInternalServerError
}
