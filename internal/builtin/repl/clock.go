package repl

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// clock ends a script when its time is over. It can be held while a person is
// asked.
type clock struct {
	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration
	since time.Time
	held  int
}

type clockKey struct{}

// withClock gives a context that ends when the time is over. stop must be
// called.
func withClock(ctx context.Context, limit time.Duration) (_ context.Context, stop context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{left: limit, since: time.Now()}
	c.timer = time.AfterFunc(limit, func() {
		cancel(fmt.Errorf("the script's time of %v is over", limit))
	})
	return context.WithValue(ctx, clockKey{}, c), func(cause error) {
		c.timer.Stop()
		cancel(cause)
	}
}

// PauseClock stops the clock of the script that ctx belongs to, as while a
// person is asked, until resume is called. For any other context it does
// nothing. Safe for concurrent use.
func PauseClock(ctx context.Context) (resume func()) {
	c, ok := ctx.Value(clockKey{}).(*clock)
	if !ok {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held++; c.held == 1 && c.timer.Stop() {
		c.left = max(0, c.left-time.Since(c.since))
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.held--; c.held == 0 && ctx.Err() == nil {
			c.since = time.Now()
			c.timer.Reset(c.left)
		}
	})
}
