package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"weak"

	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// cacheMark is the field that ends a cached prefix. Of the four that a request
// may have, one is for the tools, one for the system prompt and two for the
// last user messages: a prefix is looked for only 20 blocks back from a mark,
// so that one mark is lost behind a turn of many calls.
const (
	cacheMark        = `"cache_control":{"type":"ephemeral"}`
	markedUserBlocks = 2
)

// encoder makes request bodies. Each message is encoded once and remembered
// until the caller lets go of it, so that a long conversation is copied, not
// encoded anew, in each turn.
type encoder struct {
	extra []byte // `,"field":value` for each

	mu       sync.Mutex
	messages map[weak.Pointer[tool.Block]]encoded
	last     []placed // of the last request: the next one mostly begins like it
}

// placed is an encoded message with the first block of what it was made from.
type placed struct {
	encoded
	first *tool.Block
}

// encoded is a message as JSON.
type encoded struct {
	role   tool.Role
	blocks int
	body   []byte // nil for a message without content
	mark   int    // where a cache mark can be put in, 0 for nowhere
}

func newEncoder(extra map[string]json.RawMessage) (*encoder, error) {
	e := &encoder{messages: map[weak.Pointer[tool.Block]]encoded{}}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if isOwnField(name) {
			return nil, fmt.Errorf("the field %q cannot be set as an extra field of a request", name)
		}
		if !json.Valid(extra[name]) {
			return nil, fmt.Errorf("the extra field %q is no valid JSON", name)
		}
		e.extra = append(append(appendString(append(e.extra, ','), name), ':'), extra[name]...)
	}
	return e, nil
}

// encode makes the body of a request, in parts that lie where they were made.
// The bytes of its tools depend on nothing but the tools.
func (e *encoder) encode(r model.Request) (*body, error) {
	messages, err := e.encodeAll(r.Messages)
	if err != nil {
		return nil, err
	}
	maxTokens := r.MaxTokens
	if maxTokens <= 0 {
		maxTokens = model.DefaultMaxTokens
	}
	head := appendString([]byte(`{"model":`), r.Model)
	head = strconv.AppendInt(append(head, `,"max_tokens":`...), int64(maxTokens), 10)
	head = append(append(head, `,"stream":true`...), e.extra...)
	if head, err = appendTools(head, r.Tools); err != nil {
		return nil, err
	}
	if strings.TrimSpace(r.System) != "" {
		head = appendString(append(head, `,"system":[{"type":"text","text":`...), r.System)
		head = append(head, ","+cacheMark+"}]"...)
	}
	out := &body{parts: make([][]byte, 0, 2*len(messages)+8)}
	out.add(append(head, `,"messages":[`...))
	comma, mark := []byte(","), []byte(","+cacheMark)
	marked := marks(messages)
	for i, m := range messages {
		if i > 0 {
			out.add(comma)
		}
		if marked[i] {
			out.add(m.body[:m.mark])
			out.add(mark)
			out.add(m.body[m.mark:])
		} else {
			out.add(m.body)
		}
	}
	out.add([]byte("]}"))
	return out, nil
}

// encodeAll gives the messages that have content.
func (e *encoder) encodeAll(all []tool.Message) ([]encoded, error) {
	e.mu.Lock()
	last := e.last
	e.mu.Unlock()
	now := make([]placed, 0, len(all)+2)
	out := make([]encoded, 0, len(all))
	for i, m := range all {
		var one placed
		if len(m.Content) > 0 {
			one.first = &m.Content[0]
		}
		if i < len(last) && one.first != nil && last[i].first == one.first && last[i].fits(m) {
			one = last[i]
		} else {
			var err error
			if one.encoded, err = e.message(m); err != nil {
				return nil, fmt.Errorf("encode message %d: %w", i, err)
			}
		}
		now = append(now, one)
		if one.body != nil {
			out = append(out, one.encoded)
		}
	}
	e.mu.Lock()
	e.last = now
	e.mu.Unlock()
	return out, nil
}

// fits tells whether a message that begins with the same block is the same.
func (one *encoded) fits(m tool.Message) bool {
	return one.role == m.Role && one.blocks == len(m.Content)
}

// marks chooses the messages that get a cache mark.
func marks(messages []encoded) map[int]bool {
	marked := map[int]bool{}
	for i := len(messages) - 1; i >= 0 && len(marked) < markedUserBlocks; i-- {
		if messages[i].role == tool.RoleUser && messages[i].mark > 0 {
			marked[i] = true
		}
	}
	return marked
}

// appendTools writes the tools in their own bytes, with a cache mark on the last
// that is not deferred (on a deferred one the API refuses it).
func appendTools(body []byte, tools []schema.APITool) ([]byte, error) {
	if len(tools) == 0 {
		return body, nil
	}
	last := -1
	for i, t := range tools {
		if !t.Deferred {
			last = i
		}
	}
	body = append(body, `,"tools":[`...)
	for i, t := range tools {
		definition := t.JSON()
		if len(definition) < 2 || definition[len(definition)-1] != '}' {
			return nil, fmt.Errorf("tool %q has no API form", t.Name)
		}
		if i > 0 {
			body = append(body, ',')
		}
		if i == last {
			body = append(append(body, definition[:len(definition)-1]...), ","+cacheMark+"}"...)
		} else {
			body = append(body, definition...)
		}
	}
	return append(body, ']'), nil
}

// message encodes a message, or finds what it was encoded to. Messages are told
// apart by where their blocks lie, since blocks do not change once a message
// was handed on.
func (e *encoder) message(m tool.Message) (encoded, error) {
	if len(m.Content) == 0 {
		return encoded{role: m.Role}, nil
	}
	first := &m.Content[0]
	key := weak.Make(first)
	e.mu.Lock()
	one, known := e.messages[key]
	e.mu.Unlock()
	if known && one.fits(m) {
		return one, nil
	}
	one, err := encodeMessage(m)
	if err != nil {
		return encoded{}, err
	}
	e.mu.Lock()
	_, known = e.messages[key]
	e.messages[key] = one
	e.mu.Unlock()
	if !known {
		runtime.AddCleanup(first, e.forget, key)
	}
	return one, nil
}

func (e *encoder) forget(key weak.Pointer[tool.Block]) {
	e.mu.Lock()
	delete(e.messages, key)
	e.mu.Unlock()
}

func encodeMessage(m tool.Message) (encoded, error) {
	one := encoded{role: m.Role, blocks: len(m.Content)}
	body := appendString([]byte(`{"role":`), string(m.Role))
	body = append(body, `,"content":[`...)
	count := 0
	for _, block := range ordered(m) {
		block, keep := sendable(block)
		if !keep {
			continue
		}
		// Not json.Marshal: it would rewrite the bytes of an opaque block.
		raw, err := block.MarshalJSON()
		if err != nil {
			return encoded{}, fmt.Errorf("%s block: %w", block.Type, err)
		}
		if count++; count > 1 {
			body = append(body, ',')
		}
		body = append(body, raw...)
		one.mark = 0
		switch block.Type {
		case tool.BlockText, tool.BlockImage, tool.BlockDocument, tool.BlockToolUse, tool.BlockToolResult:
			one.mark = len(body) - 1
		}
	}
	if count == 0 {
		return one, nil // the API refuses a message without content
	}
	one.body = slices.Clip(append(body, `]}`...))
	return one, nil
}

// ordered puts the tool results of a user message first, as the API wants it.
func ordered(m tool.Message) []tool.Block {
	isResult := func(b tool.Block) bool { return b.Type == tool.BlockToolResult }
	for i := 1; i < len(m.Content); i++ {
		if isResult(m.Content[i]) && !isResult(m.Content[i-1]) {
			blocks := slices.Clone(m.Content)
			slices.SortStableFunc(blocks, func(a, b tool.Block) int {
				switch {
				case isResult(a) == isResult(b):
					return 0
				case isResult(a):
					return -1
				}
				return 1
			})
			return blocks
		}
	}
	return m.Content
}

// sendable leaves out what the API refuses: text without any visible character,
// and thinking without a signature, which is that of another provider's model.
func sendable(block tool.Block) (tool.Block, bool) {
	switch block.Type {
	case tool.BlockText:
		return block, strings.TrimSpace(block.Text) != ""
	case tool.BlockThinking:
		var fields struct {
			Signature string `json:"signature"`
		}
		raw, err := block.MarshalJSON()
		return block, err == nil && json.Unmarshal(raw, &fields) == nil && fields.Signature != ""
	case tool.BlockToolResult:
		empty := func(b tool.Block) bool { return b.Type == tool.BlockText && strings.TrimSpace(b.Text) == "" }
		if slices.ContainsFunc(block.Content, empty) {
			block.Content = slices.DeleteFunc(slices.Clone(block.Content), empty)
		}
	}
	return block, true
}

func appendString(to []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil { // a string can always be encoded
		quoted = []byte(`""`)
	}
	return append(to, quoted...)
}

// body is a request body of many parts.
type body struct {
	parts [][]byte
	size  int64
}

func (b *body) add(part []byte) {
	b.parts = append(b.parts, part)
	b.size += int64(len(part))
}

// reader gives a new reader of the whole.
func (b *body) reader() *bodyReader { return &bodyReader{body: b, rest: b.parts} }

// bodyReader reads a body. The client asks it for its length, and for another
// like it where it must send the request again; see [model.Body].
type bodyReader struct {
	body *body
	rest [][]byte
	at   int // in the first of rest
}

func (r *bodyReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(r.rest) == 0 {
			if n == 0 && len(p) > 0 {
				return 0, io.EOF
			}
			return n, nil
		}
		k := copy(p[n:], r.rest[0][r.at:])
		n += k
		if r.at += k; r.at == len(r.rest[0]) {
			r.rest, r.at = r.rest[1:], 0
		}
	}
	return n, nil
}

func (r *bodyReader) Close() error { return nil }

func (r *bodyReader) Size() int64 { return r.body.size }

func (r *bodyReader) Again() io.ReadCloser { return r.body.reader() }
