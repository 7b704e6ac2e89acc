package fakeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sevengate/sevengate/tool"
)

var errCut = errors.New("the stream is cut here")

// step is one thing that a stream does: wait, stall, cut, or send bytes.
type step struct {
	wait      time.Duration
	stall     bool // wait for stallFor (0: until the client goes), with keep-alives
	stallFor  time.Duration
	pingEvery time.Duration
	ping      []byte
	cut       bool
	data      []byte
}

type stream struct {
	w          http.ResponseWriter
	flush      *http.ResponseController
	cutAfter   int
	writeSize  int
	chunkDelay time.Duration
	sent       int
}

func (s *stream) play(ctx context.Context, steps []step) error {
	for _, st := range steps {
		if err := sleep(ctx, st.wait); err != nil {
			return err
		}
		if st.stall {
			if err := s.stall(ctx, st); err != nil {
				return err
			}
		}
		if st.cut {
			return errCut
		}
		if len(st.data) == 0 {
			continue
		}
		if err := sleep(ctx, s.chunkDelay); err != nil {
			return err
		}
		if err := s.write(st.data); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) stall(ctx context.Context, st step) error {
	if st.stallFor > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, st.stallFor)
		defer cancel()
	}
	for {
		every := st.pingEvery
		if every <= 0 {
			every = time.Hour
		}
		if err := sleep(ctx, every); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				return nil
			}
			return err
		}
		if err := s.write(st.ping); err != nil {
			return err
		}
	}
}

func (s *stream) write(data []byte) error {
	for len(data) > 0 {
		piece := data
		if s.writeSize > 0 && len(piece) > s.writeSize {
			piece = piece[:s.writeSize]
		}
		cut := s.cutAfter > 0 && s.sent+len(piece) >= s.cutAfter
		if cut {
			piece = piece[:s.cutAfter-s.sent]
		}
		n, err := s.w.Write(piece)
		s.sent += n
		if err != nil {
			return err
		}
		if err := s.flush.Flush(); err != nil {
			return err
		}
		if cut {
			return errCut
		}
		data = data[len(piece):]
	}
	return nil
}

// faults gives the steps that come before the n-th block, from 1, and says
// whether the stream ends there.
func faults(reply Reply, n int, ping, errorEvent []byte) (steps []step, end bool) {
	if reply.StallBefore == n {
		steps = append(steps, step{stall: true, stallFor: reply.Stall, pingEvery: reply.PingEvery, ping: ping})
	}
	if reply.ErrorBefore == n {
		return append(steps, step{data: errorEvent}), true
	}
	return append(steps, step{wait: reply.BlockDelay}), false
}

func sse(event string, v any) []byte {
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", event, mustJSON(v))
}

// messagesSteps makes the event stream of the Messages API.
func messagesSteps(request Request, reply Reply) []step {
	message := defaults(request, reply.Message)
	ping := sse("ping", map[string]any{"type": "ping"})
	errorEvent := fmt.Appendf(nil, "event: error\ndata: %s\n\n", errorJSON(reply))
	steps := []step{{data: sse("message_start", map[string]any{"type": "message_start", "message": map[string]any{
		"id": message.ID, "type": "message", "role": "assistant", "model": message.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": message.Usage.InputTokens, "output_tokens": 1,
			"cache_creation_input_tokens": message.Usage.CacheCreationInputTokens,
			"cache_read_input_tokens":     message.Usage.CacheReadInputTokens},
	}})}, {data: ping}}
	tools := 0
	for i, block := range message.Content {
		before, end := faults(reply, i+1, ping, errorEvent)
		if steps = append(steps, before...); end {
			return steps
		}
		if reply.Garbage {
			steps = append(steps,
				step{data: []byte(": a comment\n\nevent: from_the_future\ndata: {\"type\":\"from_the_future\"}\n\n")},
				step{data: []byte("event: noise\ndata: {not json\n\ndata: \n\n\n\nid: 7\nretry: 10\n\n")})
		}
		start, deltas := messagesBlock(block, reply.ChunkSize)
		steps = append(steps, step{data: sse("content_block_start", map[string]any{"type": "content_block_start", "index": i, "content_block": start})})
		if block.Type == tool.BlockToolUse {
			tools++
		}
		cutHere := block.Type == tool.BlockToolUse && tools == reply.CutInTool
		for k, delta := range deltas {
			if cutHere && k >= (len(deltas)+1)/2 {
				break
			}
			steps = append(steps, step{data: sse("content_block_delta", map[string]any{"type": "content_block_delta", "index": i, "delta": delta})})
		}
		if cutHere {
			return append(steps, step{cut: true})
		}
		steps = append(steps, step{data: sse("content_block_stop", map[string]any{"type": "content_block_stop", "index": i})})
	}
	before, end := faults(reply, len(message.Content)+1, ping, errorEvent)
	if steps = append(steps, before...); end {
		return steps
	}
	return append(steps,
		step{data: sse("message_delta", map[string]any{"type": "message_delta",
			"delta": map[string]any{"stop_reason": message.StopReason, "stop_sequence": nil},
			"usage": map[string]any{"output_tokens": message.Usage.OutputTokens}})},
		step{data: sse("message_stop", map[string]any{"type": "message_stop"})})
}

// messagesBlock gives the block as it starts, and its deltas.
func messagesBlock(block tool.Block, size int) (start any, deltas []any) {
	switch block.Type {
	case tool.BlockText:
		for _, piece := range split(block.Text, size) {
			deltas = append(deltas, map[string]any{"type": "text_delta", "text": piece})
		}
		return map[string]any{"type": "text", "text": ""}, deltas
	case tool.BlockToolUse:
		for _, piece := range split(string(block.Input), size) {
			deltas = append(deltas, map[string]any{"type": "input_json_delta", "partial_json": piece})
		}
		return map[string]any{"type": "tool_use", "id": block.ID, "name": block.Name, "input": map[string]any{}}, deltas
	}
	raw := mustJSON(block)
	if block.Type == tool.BlockThinking {
		thinking, signature := thinkingOf(raw)
		for _, piece := range split(thinking, size) {
			deltas = append(deltas, map[string]any{"type": "thinking_delta", "thinking": piece})
		}
		deltas = append(deltas, map[string]any{"type": "signature_delta", "signature": signature})
		return map[string]any{"type": "thinking", "thinking": "", "signature": ""}, deltas
	}
	return json.RawMessage(raw), nil
}

func thinkingOf(raw []byte) (thinking, signature string) {
	var t struct{ Thinking, Signature string }
	_ = json.Unmarshal(raw, &t)
	return t.Thinking, t.Signature
}

func defaults(request Request, message tool.Message) tool.Message {
	if message.ID == "" {
		message.ID = fmt.Sprintf("msg_fake_%d", request.N)
	}
	if message.Model == "" {
		message.Model = "fake-model"
	}
	if message.StopReason == "" {
		message.StopReason = "end_turn"
		if len(message.ToolUses()) > 0 {
			message.StopReason = "tool_use"
		}
	}
	if message.Usage == nil {
		message.Usage = &tool.Usage{InputTokens: len(request.Body) / 4, OutputTokens: 10}
	}
	return message
}

// split cuts a text into pieces of about size bytes, never inside a character.
func split(text string, size int) []string {
	if size <= 0 {
		size = 16
	}
	var out []string
	var piece strings.Builder
	for _, r := range text {
		piece.WriteRune(r)
		if piece.Len() >= size {
			out = append(out, piece.String())
			piece.Reset()
		}
	}
	if piece.Len() > 0 {
		out = append(out, piece.String())
	}
	return out
}
