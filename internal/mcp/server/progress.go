package server

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/tool"
)

// Limits of the news of a call.
const (
	// minProgress is the time between two pieces of news of one call, in the
	// long run; progressBurst may come at once.
	minProgress   = 100 * time.Millisecond
	progressBurst = 10
)

// reporter passes news of one call to the client that asked for it, and shows
// that the call is alive where there is none.
type reporter struct {
	ctx     context.Context
	session *sdk.ServerSession
	token   any
	began   time.Time
	stop    chan struct{}
	done    sync.WaitGroup

	mu      sync.Mutex
	due     time.Time // when all that was sent would have been sent in the long run
	last    float64
	sent    bool
	numbers bool // the tool counts itself
}

func newReporter(ctx context.Context, session *sdk.ServerSession, token any, every time.Duration) *reporter {
	p := &reporter{ctx: ctx, session: session, token: token, began: time.Now(), stop: make(chan struct{})}
	if p.token == nil {
		return p
	}
	p.done.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-ctx.Done():
				return
			case <-t.C:
				p.send(fmt.Sprintf("still running after %s", time.Since(p.began).Round(time.Second)), nil)
			}
		}
	})
	return p
}

// count is a tool's own measure of its progress.
type count struct{ progress, total float64 }

// counted reads the measure out of a tool's news, as tools of MCP servers give
// it.
func counted(data any) *count {
	m, ok := data.(map[string]any)
	if !ok {
		return nil
	}
	progress, ok := m["progress"].(float64)
	if !ok || math.IsNaN(progress) || math.IsInf(progress, 0) {
		return nil
	}
	total, _ := m["total"].(float64)
	return &count{progress, total}
}

func (p *reporter) report(news tool.Progress) {
	if p.token == nil || !p.may(time.Now()) {
		return
	}
	text := news.Text
	c := counted(news.Data)
	if m, ok := news.Data.(map[string]any); c != nil && ok {
		text, _ = m["message"].(string) // without the numbers, which go beside it
	}
	if i := strings.LastIndexByte(strings.TrimRight(text, "\n"), '\n'); i >= 0 {
		text = text[i+1:]
	}
	p.send(strings.TrimSpace(text), c)
}

// may tells whether news may be sent now, and counts them.
func (p *reporter) may(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.due.Before(now) {
		p.due = now
	}
	if p.due.Sub(now) >= progressBurst*minProgress {
		return false
	}
	p.due = p.due.Add(minProgress)
	return true
}

// send tells the client. The protocol wants numbers that grow.
func (p *reporter) send(text string, c *count) {
	p.mu.Lock()
	defer p.mu.Unlock()
	params := &sdk.ProgressNotificationParams{ProgressToken: p.token, Message: text}
	grown := math.Nextafter(p.last, math.Inf(1))
	switch {
	case c != nil:
		p.numbers = true
		params.Progress, params.Total = c.progress, c.total
		if p.sent && params.Progress <= p.last {
			params.Progress = grown
		}
	case p.numbers:
		params.Progress = grown
	default:
		params.Progress = p.last + 1
	}
	p.last, p.sent = params.Progress, true
	_ = p.session.NotifyProgress(p.ctx, params)
}

func (p *reporter) end() {
	close(p.stop)
	p.done.Wait()
}
