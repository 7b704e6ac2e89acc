// Package script is a provider that plays the assistant messages of a JSON
// Lines file, one for each request: for demonstrations, tests and replays. It
// does not read what it is asked, but for the patterns that the script expects.
//
// Each line is one assistant message in the form of the Messages API:
//
//	{"role":"assistant","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}
//
// Content may be a plain string. A block may carry "delay_ms", the pause before
// its events; a line may carry "expect", a regular expression that the text of
// the last user message must match. Where stop_reason, ids or the input of a
// tool_use are left out, they are filled in.
package script

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/tool"
)

// Limits of a script.
const (
	MaxBytes     = 64 << 20         // of the whole script
	MaxDelay     = 10 * time.Minute // before one block
	pieceBytes   = 24               // about how much text one event carries
	excerptRunes = 200              // how much of a text an error quotes
)

// Provider plays a script. It is safe for concurrent use: each Stream takes
// the next message when its iteration begins.
type Provider struct {
	name     string
	messages []message

	mu   sync.Mutex
	next int
}

type message struct {
	line   int
	body   tool.Message
	delays []time.Duration // one for each block
	expect *regexp.Regexp
}

// Load reads a script from a file. Its errors name the file, the line, the
// field, and what would be right.
func Load(path string) (*Provider, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	defer f.Close()
	return New(filepath.Base(path), f)
}

// New reads a script; name stands for it in errors.
func New(name string, r io.Reader) (*Provider, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the script %s: %w", name, err)
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("script %s: larger than %d MiB, the most that is read", name, MaxBytes>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	p := &Provider{name: name}
	ids := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, MaxBytes+1)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		m, err := parseLine(line, n, ids)
		if err != nil {
			return nil, fmt.Errorf("script %s, line %d: %w", name, n, err)
		}
		p.messages = append(p.messages, m)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	if len(p.messages) == 0 {
		return nil, fmt.Errorf(`script %s: it has no messages; each line is one, such as {"role":"assistant","content":"Hello"}`, name)
	}
	return p, nil
}

// Len is the number of messages in the script.
func (p *Provider) Len() int { return len(p.messages) }

// Stream plays the next message. After the last it ends with an error that
// names the script and how many messages it has.
func (p *Provider) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Event{}, err)
			return
		}
		m, err := p.take(r)
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		body := m.body
		if body.Model == "" {
			body.Model = r.Model
		}
		if !yield(model.Event{Kind: model.EventStart, Message: tool.Message{Role: tool.RoleAssistant, ID: body.ID, Model: body.Model}}, nil) {
			return
		}
		for i, block := range body.Content {
			if err := pause(ctx, m.delays[i]); err != nil {
				yield(model.Event{}, err)
				return
			}
			for _, event := range blockEvents(i, block) {
				if !yield(event, nil) {
					return
				}
				if err := ctx.Err(); err != nil {
					yield(model.Event{}, err)
					return
				}
			}
		}
		body.Content = slices.Clone(body.Content)
		yield(model.Event{Kind: model.EventEnd, Message: body}, nil)
	}
}

func (p *Provider) take(r model.Request) (message, error) {
	p.mu.Lock()
	n := p.next
	p.next++
	p.mu.Unlock()
	if n >= len(p.messages) {
		return message{}, fmt.Errorf("script %s: request %d, but it has %s; add a line, or let the last message end the turn (no tool_use in it)",
			p.name, n+1, count(len(p.messages), "message"))
	}
	m := p.messages[n]
	if m.expect != nil {
		if text := lastUserText(r.Messages); !m.expect.MatchString(text) {
			return message{}, fmt.Errorf("script %s, line %d: expected the last user message to match %q, but it is %q", p.name, m.line, m.expect, excerpt(text))
		}
	}
	return m, nil
}

func blockEvents(index int, block tool.Block) []model.Event {
	var events []model.Event
	switch block.Type {
	case tool.BlockText:
		for _, piece := range pieces(block.Text) {
			events = append(events, model.Event{Kind: model.EventText, Index: index, Text: piece})
		}
	case tool.BlockThinking:
		for _, piece := range pieces(thinkingText(block)) {
			events = append(events, model.Event{Kind: model.EventThinking, Index: index, Text: piece})
		}
	case tool.BlockToolUse:
		events = append(events, model.Event{Kind: model.EventToolStart, Index: index, Block: tool.Block{Type: tool.BlockToolUse, ID: block.ID, Name: block.Name}})
	}
	return append(events, model.Event{Kind: model.EventBlock, Index: index, Block: block})
}

func thinkingText(block tool.Block) string {
	var fields struct {
		Thinking string `json:"thinking"`
	}
	raw, err := block.MarshalJSON()
	if err != nil || json.Unmarshal(raw, &fields) != nil {
		return ""
	}
	return fields.Thinking
}

// pieces cuts a text as a model's stream would, never inside a character.
func pieces(text string) []string {
	var out []string
	for len(text) > pieceBytes {
		end := pieceBytes
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		out, text = append(out, text[:end]), text[end:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}

// lastUserText joins the texts of the last user message, those in its tool
// results too, a line each.
func lastUserText(messages []tool.Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role != tool.RoleUser {
			continue
		}
		var texts []string
		for _, block := range m.Content {
			switch block.Type {
			case tool.BlockText:
				texts = append(texts, block.Text)
			case tool.BlockToolResult:
				for _, inner := range block.Content {
					if inner.Type == tool.BlockText {
						texts = append(texts, inner.Text)
					}
				}
			}
		}
		return strings.Join(texts, "\n")
	}
	return ""
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func excerpt(text string) string {
	if runes := []rune(text); len(runes) > excerptRunes {
		return string(runes[:excerptRunes]) + "…"
	}
	return text
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
