package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/tool"
)

// eventReader reads an event stream of the Messages API and starts each call
// when its block is complete.
type eventReader struct {
	e      *executor
	data   []string
	stream *sevengate.Stream
	blocks map[int]*openBlock
}

type openBlock struct {
	start json.RawMessage
	input strings.Builder
	call  bool
}

func isEventLine(line string) bool {
	return strings.HasPrefix(line, "event:") || strings.HasPrefix(line, "data:") || strings.HasPrefix(line, ":")
}

// line takes one line of the stream. An empty one ends an event.
func (r *eventReader) line(line string) error {
	switch {
	case strings.HasPrefix(line, "data:"):
		r.data = append(r.data, strings.TrimPrefix(strings.TrimPrefix(line, "data:"), " "))
		return nil
	case line != "" || len(r.data) == 0:
		return nil // event names repeat the type; comments and ids say nothing
	}
	return r.flush()
}

func (r *eventReader) flush() error {
	data := strings.Join(r.data, "\n")
	r.data = nil
	if data == "" || data == "[DONE]" {
		return nil
	}
	var ev struct {
		Type         string          `json:"type"`
		Index        int             `json:"index"`
		ContentBlock json.RawMessage `json:"content_block"`
		Delta        struct {
			Type        string `json:"type"`
			PartialJSON string `json:"partial_json"`
			StopReason  string `json:"stop_reason"`
		} `json:"delta"`
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(data), &ev); err != nil {
		return r.e.complain(fmt.Errorf("not an event: %w", err))
	}
	switch ev.Type {
	case "message_start":
		if err := r.end(true); err != nil {
			return err
		}
		r.begin()
	case "content_block_start":
		r.begin()
		var head struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(ev.ContentBlock, &head); err != nil {
			return r.e.complain(fmt.Errorf("content_block: %w", err))
		}
		r.blocks[ev.Index] = &openBlock{start: ev.ContentBlock, call: head.Type == string(tool.BlockToolUse)}
	case "content_block_delta":
		if b := r.blocks[ev.Index]; b != nil && ev.Delta.Type == "input_json_delta" {
			b.input.WriteString(ev.Delta.PartialJSON)
		}
	case "content_block_stop":
		b := r.blocks[ev.Index]
		delete(r.blocks, ev.Index)
		if b == nil || !b.call {
			return nil
		}
		use, err := b.use()
		if err != nil {
			return r.e.complain(err)
		}
		r.stream.Add(use)
	case "message_stop":
		return r.end(false)
	case "error":
		if err := r.e.complain(fmt.Errorf("the stream reports an error: %s: %s", ev.Error.Type, ev.Error.Message)); err != nil {
			return err
		}
		return r.end(true)
	}
	return nil
}

func (b *openBlock) use() (tool.Block, error) {
	var use tool.Block
	if err := json.Unmarshal(b.start, &use); err != nil {
		return use, fmt.Errorf("content_block: %w", err)
	}
	if s := b.input.String(); strings.TrimSpace(s) != "" {
		use.Input = json.RawMessage(s)
	}
	return use, nil
}

func (r *eventReader) begin() {
	if r.stream == nil {
		r.stream = r.e.runtime.Stream(r.e.ctx)
		r.blocks = map[int]*openBlock{}
	}
}

// end answers the message. A block that was not complete is never run; it is
// told of when the stream was cut in the middle of it.
func (r *eventReader) end(cut bool) error {
	if len(r.data) > 0 {
		if err := r.flush(); err != nil {
			return err
		}
	}
	if r.stream == nil {
		return nil
	}
	open := 0
	for _, b := range r.blocks {
		if b.call {
			open++
		}
	}
	answer, _, ok := r.stream.Finish()
	r.stream, r.blocks = nil, nil
	if !ok {
		answer = emptyAnswer()
	}
	if err := printJSON(r.e.Stdout, answer); err != nil {
		return err
	}
	if cut && open > 0 {
		return r.e.complain(errors.New("the stream ended in the middle of a tool_use, which was not run"))
	}
	return nil
}
