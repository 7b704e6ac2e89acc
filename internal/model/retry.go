package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// Limits of trying again.
const (
	// MaxAttempts is how often a request is sent at most.
	MaxAttempts = 10
	// MaxMalformedAttempts bounds the attempts where the model writes a tool's
	// input that is no JSON: it may well do so again.
	MaxMalformedAttempts = 3
	// MinRetryDelay and MaxRetryDelay bound the wait between attempts, which
	// doubles each time.
	MinRetryDelay = 500 * time.Millisecond
	MaxRetryDelay = 32 * time.Second
	// MaxRetryAfter is the longest wait that a server may ask for. When it asks
	// for more, its refusal is final.
	MaxRetryAfter = 5 * time.Minute
)

// ErrCut says that a stream ended before its response was complete.
var ErrCut = errors.New("the stream ended before the response was complete")

// errStopped says that the consumer wants no more events.
var errStopped = errors.New("the iteration was stopped")

// Transient marks an error that trying again may cure.
type Transient struct {
	Err   error
	After time.Duration // what the server asked to wait, 0 where it did not
	Limit int           // attempts, where fewer than the policy's are worth it; 0 means no own limit
}

func (e *Transient) Error() string { return e.Err.Error() }

func (e *Transient) Unwrap() error { return e.Err }

// Retry is the policy by which providers try again. The zero value is the
// default.
type Retry struct {
	MaxAttempts int           // 0 means MaxAttempts
	MinDelay    time.Duration // 0 means MinRetryDelay
	MaxDelay    time.Duration // 0 means MaxRetryDelay
}

// Attempt sends a request once and gives each event to emit, up to EventEnd.
// When emit fails it must return that error at once. It must not use what it
// started after it has returned. Errors worth another attempt are [*Transient].
type Attempt func(ctx context.Context, emit func(Event) error) error

// Stream makes attempts until one succeeds, one fails for good, or the policy's
// attempts are used up. Once a complete tool_use block was handed on there is no
// further attempt: any error, also that of a cancelled ctx, then comes as an
// [*IncompleteError] with the complete blocks.
func (p Retry) Stream(ctx context.Context, attempt Attempt) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		most := p.MaxAttempts
		if most <= 0 {
			most = MaxAttempts
		}
		for n := 1; ; n++ {
			r := run{yield: yield}
			err := r.try(ctx, attempt)
			if err == nil || r.stopped {
				return
			}
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if r.called {
				yield(Event{}, &IncompleteError{Message: r.partial, Err: plain(err)})
				return
			}
			var transient *Transient
			again := errors.As(err, &transient) && ctx.Err() == nil
			limit := most
			if again && transient.Limit > 0 {
				limit = min(limit, transient.Limit)
			}
			if !again || n >= limit || transient.After > MaxRetryAfter {
				yield(Event{}, final(err, n, transient))
				return
			}
			delay := p.delay(n, transient.After)
			if !yield(Event{Kind: EventRetry, Attempt: n + 1, MaxAttempts: limit, Delay: delay, Err: transient.Err}, nil) {
				return
			}
			if err := wait(ctx, delay); err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// run is what one attempt has brought so far.
type run struct {
	yield   func(Event, error) bool
	stopped bool
	called  bool // a complete tool_use was handed on
	partial tool.Message
}

func (r *run) try(ctx context.Context, attempt Attempt) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return attempt(ctx, func(e Event) error {
		if r.stopped {
			return errStopped
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		switch e.Kind {
		case EventStart:
			r.partial = tool.Message{Role: tool.RoleAssistant, ID: e.Message.ID, Model: e.Message.Model}
		case EventBlock:
			r.partial.Content = append(r.partial.Content, e.Block)
			r.called = r.called || e.Block.Type == tool.BlockToolUse
		}
		if !r.yield(e, nil) {
			r.stopped = true
			return errStopped
		}
		return nil
	})
}

// delay is the wait after the n-th attempt: what the server asked for, or a
// doubling one, either with some jitter so that clients do not come all at once.
func (p Retry) delay(n int, after time.Duration) time.Duration {
	if after > 0 {
		return after + rand.N(after/10+1)
	}
	shortest, longest := p.MinDelay, p.MaxDelay
	if shortest <= 0 {
		shortest = MinRetryDelay
	}
	if longest <= 0 {
		longest = MaxRetryDelay
	}
	d := shortest
	for range n - 1 {
		if d *= 2; d >= longest {
			break
		}
	}
	d = min(d, longest)
	return d - rand.N(d/4+1)
}

func plain(err error) error {
	var transient *Transient
	if errors.As(err, &transient) {
		return transient.Err
	}
	return err
}

func final(err error, attempts int, transient *Transient) error {
	switch {
	case transient != nil && transient.After > MaxRetryAfter:
		return fmt.Errorf("%w (it asks to wait %v, more than the %v that are waited for)", transient.Err, transient.After, MaxRetryAfter)
	case transient != nil && attempts > 1:
		return fmt.Errorf("after %d attempts: %w", attempts, transient.Err)
	}
	return plain(err)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Malformed is the error of a tool_use block that came whole, but with an input
// that is no JSON object.
func Malformed(toolName string) error {
	return &Transient{Err: fmt.Errorf("the model called %q with an input that is no JSON object", toolName), Limit: MaxMalformedAttempts}
}

// Refused turns the API's refusal into an [*APIError], [*Transient] where
// trying again may help: by status 408, 409, 425, 429 and from 500, unless the
// header x-should-retry says otherwise. header may be nil.
func Refused(status int, kind, message string, header http.Header) error {
	err := &APIError{Status: status, Type: kind, Message: message}
	again := status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooEarly ||
		status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
	switch header.Get("X-Should-Retry") {
	case "true":
		again = true
	case "false":
		again = false
	}
	if !again {
		return err
	}
	return &Transient{Err: err, After: retryAfter(header, time.Now())}
}

// retryAfter reads the wait that a server asks for: retry-after-ms, or
// retry-after in seconds or as a date. It is 0 where there is none.
func retryAfter(header http.Header, now time.Time) time.Duration {
	for _, h := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		value := strings.TrimSpace(header.Get(h.name))
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			if n > 0 && n < float64(24*time.Hour/h.unit) {
				return time.Duration(n * float64(h.unit))
			}
			if n > 0 {
				return 24 * time.Hour
			}
			continue // negative, zero or no number
		}
		if at, err := http.ParseTime(value); err == nil {
			return max(0, at.Sub(now))
		}
	}
	return 0
}

// Truncated says whether a stop reason means that the last block may be cut.
func Truncated(stopReason string) bool {
	switch stopReason {
	case "max_tokens", "model_context_window_exceeded", "refusal":
		return true
	}
	return false
}
