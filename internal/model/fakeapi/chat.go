package fakeapi

import (
	"fmt"

	"github.com/sevengate/sevengate/tool"
)

// chatSteps makes the stream of an OpenAI-compatible server.
func chatSteps(request Request, reply Reply) []step {
	message := defaults(request, reply.Message)
	c := chat{message: message}
	ping := []byte(": keep-alive\n\n")
	errorEvent := fmt.Appendf(nil, "data: %s\n\n", errorJSON(reply))
	steps := []step{{data: c.chunk(map[string]any{"role": "assistant", "content": ""}, nil)}}
	var calls [][]step // the fragments of each call
	for i, block := range message.Content {
		before, end := faults(reply, i+1, ping, errorEvent)
		if steps = append(steps, before...); end {
			return steps
		}
		if reply.Garbage {
			steps = append(steps, step{data: []byte(": a comment\n\nevent: noise\nid: 7\n\n\n")},
				step{data: []byte("data: {\"object\":\"from.the.future\",\"choices\":[]}\n\n")})
		}
		switch block.Type {
		case tool.BlockText:
			for _, piece := range split(block.Text, reply.ChunkSize) {
				steps = append(steps, step{data: c.chunk(map[string]any{"content": piece}, nil)})
			}
		case tool.BlockThinking:
			thinking, _ := thinkingOf(mustJSON(block))
			for _, piece := range split(thinking, reply.ChunkSize) {
				steps = append(steps, step{data: c.chunk(map[string]any{"reasoning_content": piece}, nil)})
			}
		case tool.BlockToolUse:
			fragments := c.call(len(calls), block, reply)
			calls = append(calls, fragments)
			if len(calls) == reply.CutInTool {
				steps = append(steps, fragments[:(len(fragments)+1)/2]...)
				return append(steps, step{cut: true})
			}
			if !reply.Chat.Interleave {
				steps = append(steps, fragments...)
			}
		}
	}
	if reply.Chat.Interleave {
		for k, more := 0, true; more; k++ {
			more = false
			for _, fragments := range calls {
				if k < len(fragments) {
					steps, more = append(steps, fragments[k]), true
				}
			}
		}
	}
	before, end := faults(reply, len(message.Content)+1, ping, errorEvent)
	if steps = append(steps, before...); end {
		return steps
	}
	steps = append(steps, step{data: c.chunk(map[string]any{}, finishReason(message, reply))})
	if !reply.Chat.NoUsage {
		steps = append(steps, step{data: c.usage()})
	}
	if !reply.Chat.NoDone {
		steps = append(steps, step{data: []byte("data: [DONE]\n\n")})
	}
	return steps
}

func finishReason(message tool.Message, reply Reply) string {
	if reply.Chat.FinishReason != "" {
		return reply.Chat.FinishReason
	}
	switch message.StopReason {
	case "tool_use":
		return "tool_calls"
	case "max_tokens":
		return "length"
	case "refusal":
		return "content_filter"
	}
	return "stop"
}

type chat struct{ message tool.Message }

func (c chat) chunk(delta map[string]any, finish any) []byte {
	return c.data(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
}

func (c chat) usage() []byte {
	u := c.message.Usage
	return c.data(map[string]any{"choices": []any{}, "usage": map[string]any{
		"prompt_tokens": u.InputTokens + u.CacheReadInputTokens, "completion_tokens": u.OutputTokens,
		"total_tokens":          u.InputTokens + u.CacheReadInputTokens + u.OutputTokens,
		"prompt_tokens_details": map[string]any{"cached_tokens": u.CacheReadInputTokens}}})
}

func (c chat) data(fields map[string]any) []byte {
	fields["id"], fields["object"], fields["created"], fields["model"] = c.message.ID, "chat.completion.chunk", 1, c.message.Model
	return fmt.Appendf(nil, "data: %s\n\n", mustJSON(fields))
}

func (c chat) call(index int, block tool.Block, reply Reply) []step {
	pieces := split(string(block.Input), reply.ChunkSize)
	first := ""
	if reply.Chat.WholeCalls {
		first, pieces = string(block.Input), nil
	}
	head := map[string]any{"type": "function", "function": map[string]any{"name": block.Name, "arguments": first}}
	if !reply.Chat.NoIDs {
		head["id"] = block.ID
	}
	deltas := []map[string]any{head}
	for _, piece := range pieces {
		deltas = append(deltas, map[string]any{"function": map[string]any{"arguments": piece}})
	}
	var steps []step
	for _, delta := range deltas {
		if !reply.Chat.NoIndex {
			delta["index"] = index
		}
		steps = append(steps, step{data: c.chunk(map[string]any{"tool_calls": []any{delta}}, nil)})
	}
	return steps
}
