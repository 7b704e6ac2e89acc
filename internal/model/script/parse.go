package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// lineFields are the fields that a line may have; the last are those that a
// response of the Messages API brings along.
var lineFields = []string{"role", "content", "stop_reason", "expect", "id", "model", "usage", "type", "stop_sequence", "stop_details", "container", "context_management"}

// maxPattern bounds an expect pattern.
const maxPattern = 10_000

func parseLine(line []byte, n int, ids map[string]int) (message, error) {
	var fields map[string]json.RawMessage
	if err := decodeObject(line, &fields); err != nil {
		return message{}, err
	}
	for name := range fields {
		if !slices.Contains(lineFields, name) {
			return message{}, fmt.Errorf("field %q is unknown; the fields are %s", name, strings.Join(lineFields[:4], ", "))
		}
	}
	m := message{line: n, body: tool.Message{Role: tool.RoleAssistant}}
	var role string
	if err := optional(fields, "role", &role, `"assistant"`); err != nil {
		return message{}, err
	}
	if role != string(tool.RoleAssistant) {
		return message{}, fmt.Errorf(`field "role" is %q; a script holds what the model says: "assistant"`, role)
	}
	var expect string
	for _, f := range []struct {
		name string
		to   *string
	}{{"stop_reason", &m.body.StopReason}, {"id", &m.body.ID}, {"model", &m.body.Model}, {"expect", &expect}} {
		if err := optional(fields, f.name, f.to, "a string"); err != nil {
			return message{}, err
		}
	}
	if err := optional(fields, "usage", &m.body.Usage, `an object such as {"input_tokens":1,"output_tokens":2}`); err != nil {
		return message{}, err
	}
	if expect != "" {
		if len(expect) > maxPattern {
			return message{}, fmt.Errorf(`field "expect" is longer than %d bytes`, maxPattern)
		}
		var err error
		if m.expect, err = regexp.Compile(expect); err != nil {
			return message{}, fmt.Errorf(`field "expect" is no regular expression (RE2 syntax): %w`, err)
		}
	}
	if err := m.parseContent(fields["content"], ids); err != nil {
		return message{}, err
	}
	if m.body.ID == "" {
		m.body.ID = fmt.Sprintf("msg_script_%d", n)
	}
	if m.body.StopReason == "" {
		m.body.StopReason = "end_turn"
		if len(m.body.ToolUses()) > 0 {
			m.body.StopReason = "tool_use"
		}
	}
	return m, nil
}

func (m *message) parseContent(raw json.RawMessage, ids map[string]int) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return errors.New(`field "content" is missing; give a string or a list of blocks`)
	}
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return fmt.Errorf(`field "content": %w`, err)
		}
		m.body.Content, m.delays = []tool.Block{tool.TextBlock(text)}, []time.Duration{0}
		return nil
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return errors.New(`field "content" must be a string or a list of blocks, such as [{"type":"text","text":"Hi"}]`)
	}
	for i, rawBlock := range blocks {
		at := fmt.Sprintf("content[%d]", i)
		block, delay, err := parseBlock(rawBlock)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if block.Type == tool.BlockToolUse {
			if block.ID == "" {
				block.ID = fmt.Sprintf("toolu_script_%d_%d", m.line, i)
			}
			if earlier, taken := ids[block.ID]; taken {
				return fmt.Errorf(`%s: field "id" is %q, as in line %d already; ids must differ, or leave the field out`, at, block.ID, earlier)
			}
			ids[block.ID] = m.line
		}
		m.body.Content = append(m.body.Content, block)
		m.delays = append(m.delays, delay)
	}
	return nil
}

func parseBlock(raw json.RawMessage) (tool.Block, time.Duration, error) {
	var fields map[string]json.RawMessage
	if err := decodeObject(raw, &fields); err != nil {
		return tool.Block{}, 0, err
	}
	var ms float64
	if err := optional(fields, "delay_ms", &ms, "a number of milliseconds"); err != nil {
		return tool.Block{}, 0, err
	}
	if ms < 0 || math.IsNaN(ms) || ms > float64(MaxDelay/time.Millisecond) {
		return tool.Block{}, 0, fmt.Errorf(`field "delay_ms" is %v; it must be from 0 to %d`, ms, MaxDelay/time.Millisecond)
	}
	delay := time.Duration(ms * float64(time.Millisecond))
	if _, has := fields["delay_ms"]; has {
		delete(fields, "delay_ms")
		var err error
		if raw, err = json.Marshal(fields); err != nil {
			return tool.Block{}, 0, err
		}
	}
	var kind, text string
	if err := optional(fields, "type", &kind, `a string such as "text" or "tool_use"`); err != nil {
		return tool.Block{}, 0, err
	}
	switch tool.BlockType(kind) {
	case "":
		return tool.Block{}, 0, errors.New(`field "type" is missing; it is "text", "tool_use", "thinking" or another type of the Messages API`)
	case tool.BlockToolResult, tool.BlockImage, tool.BlockDocument, tool.BlockToolReference:
		return tool.Block{}, 0, fmt.Errorf("a %s block belongs into a user message; the model writes text, tool_use and thinking", kind)
	case tool.BlockText:
		if _, has := fields["text"]; !has {
			return tool.Block{}, 0, errors.New(`field "text" is missing in a text block`)
		}
		if err := optional(fields, "text", &text, "a string"); err != nil {
			return tool.Block{}, 0, err
		}
	case tool.BlockToolUse:
		if err := checkToolUse(fields); err != nil {
			return tool.Block{}, 0, err
		}
	}
	block, err := tool.Opaque(raw)
	if err != nil {
		return tool.Block{}, 0, err
	}
	if block.Type == tool.BlockToolUse && len(block.Input) == 0 {
		block.Input = json.RawMessage("{}")
	}
	return block, delay, nil
}

func checkToolUse(fields map[string]json.RawMessage) error {
	var name, id string
	if err := optional(fields, "name", &name, "the name of a tool"); err != nil {
		return err
	}
	if name == "" {
		return errors.New(`field "name" is missing in a tool_use block; give the name of a tool`)
	}
	if err := optional(fields, "id", &id, "a string"); err != nil {
		return err
	}
	if input := bytes.TrimSpace(fields["input"]); len(input) > 0 && input[0] != '{' {
		return errors.New(`field "input" of a tool_use must be an object, such as {"file_path":"/tmp/x"}`)
	}
	return nil
}

// optional decodes a field that may be missing or null.
func optional(fields map[string]json.RawMessage, name string, to any, want string) error {
	raw, has := fields[name]
	if !has {
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("field %q must be %s", name, want)
	}
	return nil
}

func decodeObject(raw []byte, to *map[string]json.RawMessage) error {
	if err := json.Unmarshal(raw, to); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return fmt.Errorf("no valid JSON at byte %d: %w; write one whole object on one line", syntax.Offset, err)
		}
		return fmt.Errorf(`must be a JSON object, such as {"role":"assistant","content":"Hello"}`)
	}
	if *to == nil {
		return errors.New("must be a JSON object, not null")
	}
	return nil
}
