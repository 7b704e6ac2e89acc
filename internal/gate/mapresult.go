package gate

import (
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/result"
	"github.com/sevengate/sevengate/tool"
)

// Phase 7: what the model sees.

func (r *run) mapResult() {
	start := time.Now()
	limit := r.call.Tool().Facts().MaxResultChars
	r.res.Own = limit == tool.Unlimited
	isError := r.err != nil || r.res.Outcome.IsError
	var content []tool.Block
	if r.err != nil {
		content = []tool.Block{tool.TextBlock(r.describe(r.err))}
		if limit == tool.Unlimited {
			limit = tool.DefaultMaxResultChars
		}
	} else {
		mapped, err := r.call.Map(r.res.Outcome)
		if err != nil {
			r.gate.cfg.Log.Error("Result cannot be mapped", "tool", r.call.Name(), "error", err)
			mapped, isError = []tool.Block{tool.TextBlock(r.describe(err))}, true
		}
		content = mapped
	}
	content = clean(content)
	if result.IsEmpty(content) {
		content = []tool.Block{tool.TextBlock(result.Empty(r.call.Name()))}
	}
	content, r.res.Saved = r.gate.cfg.Results.Fit(r.ticket.use.ID, content, limit)
	outcome, detail := outcomeOK, ""
	if r.res.Saved != nil {
		outcome, detail = outcomeSaved, r.res.Saved.Path
	}
	r.res.Block = tool.ToolResult(r.ticket.use.ID, isError, content...)
	r.res.Trace.add(PhaseMap, start, outcome, detail)
}

// clean makes text fit for JSON: what is not UTF-8 is replaced.
func clean(content []tool.Block) []tool.Block {
	for i, b := range content {
		if b.Type == tool.BlockText {
			content[i].Text = strings.ToValidUTF8(b.Text, "\uFFFD")
		}
	}
	return content
}

// MessageOf makes the user message that answers an assistant message: all
// results in order, kept within the budget of one message, then what hooks and
// tools add for the model.
func (g *Gate) MessageOf(results []*Result) tool.Message {
	items := make([]result.Item, len(results))
	for i, r := range results {
		items[i] = result.Item{ID: r.Use.ID, Content: r.Block.Content, Own: r.Own}
	}
	g.cfg.Results.FitMessage(items, result.MaxMessageChars)
	m := tool.Message{Role: tool.RoleUser}
	for i, r := range results {
		r.Block.Content = items[i].Content
		if items[i].Saved != nil {
			r.Saved = items[i].Saved
		}
		m.Content = append(m.Content, r.Block)
	}
	for _, r := range results {
		for _, text := range r.Context {
			m.Content = append(m.Content, tool.TextBlock(text))
		}
		for _, extra := range r.Outcome.Messages {
			m.Content = append(m.Content, extra.Content...)
		}
	}
	return m
}
