package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sevengate/sevengate/tool"
)

func collect(ctx context.Context, p Retry, attempt Attempt) (events []Event, err error) {
	for e, failed := range p.Stream(ctx, attempt) {
		if failed != nil {
			return events, failed
		}
		events = append(events, e)
	}
	return events, nil
}

// TestDefaultPolicy counts attempts and adds up waits, in no time at all.
func TestDefaultPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries, start := 0, time.Now()
		events, err := collect(t.Context(), Retry{}, func(context.Context, func(Event) error) error {
			tries++
			return Refused(529, "overloaded_error", "busy", nil)
		})
		var refused *APIError
		if !errors.As(err, &refused) || refused.Status != 529 || !strings.Contains(err.Error(), "after 10 attempts") {
			t.Errorf("error %v", err)
		}
		if tries != MaxAttempts || len(events) != MaxAttempts-1 {
			t.Errorf("%d tries, %d events", tries, len(events))
		}
		var sum time.Duration
		for i, e := range events {
			full := min(MinRetryDelay<<i, MaxRetryDelay)
			if e.Kind != EventRetry || e.Attempt != i+2 || e.MaxAttempts != MaxAttempts || e.Delay > full || e.Delay < full*3/4 || e.Err == nil {
				t.Errorf("event %d: %+v", i, e)
			}
			sum += e.Delay
		}
		if took := time.Since(start); took != sum {
			t.Errorf("took %v, announced %v", took, sum)
		}
	})
}

func TestServersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		header := http.Header{"Retry-After": {"40"}}
		tries := 0
		events, err := collect(t.Context(), Retry{}, func(_ context.Context, emit func(Event) error) error {
			if tries++; tries == 1 {
				return Refused(429, "rate_limit_error", "slow down", header)
			}
			if err := emit(Event{Kind: EventStart}); err != nil {
				return err
			}
			return emit(Event{Kind: EventEnd})
		})
		if err != nil || len(events) != 3 || events[0].Delay < 40*time.Second || events[0].Delay > 45*time.Second {
			t.Errorf("%+v, %v", events, err)
		}
	})
	_, err := collect(t.Context(), Retry{}, func(context.Context, func(Event) error) error {
		return Refused(429, "rate_limit_error", "tomorrow", http.Header{"Retry-After": {"1e300"}})
	})
	if err == nil || !strings.Contains(err.Error(), "asks to wait 24h0m0s, more than the 5m0s") {
		t.Errorf("error %v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "3", 3 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After", "Mon, 30 Nov 2026 12:00:07 GMT", 7 * time.Second},
		{"Retry-After", "Mon, 30 Nov 2020 12:00:07 GMT", 0},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "1e40", 24 * time.Hour},
	} {
		if got := retryAfter(http.Header{c.name: {c.value}}, now); got != c.want {
			t.Errorf("%s: %s is %v, want %v", c.name, c.value, got, c.want)
		}
	}
}

// TestNothingTwice: over any attempts, no attempt follows a complete call, and
// what was complete is never lost.
func TestNothingTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		call := false
		tries := 0
		var blocks []string
		attempt := func(_ context.Context, emit func(Event) error) error {
			if call {
				t.Fatal("another attempt although a call was handed on")
			}
			tries++
			blocks = nil
			if err := emit(Event{Kind: EventStart, Message: tool.Message{ID: fmt.Sprint(tries)}}); err != nil {
				return err
			}
			for i := range rapid.IntRange(0, 4).Draw(t, "blocks") {
				b := tool.TextBlock(fmt.Sprint(i))
				if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
					b, call = tool.ToolUse(fmt.Sprint(i), "A", nil), true
				}
				blocks = append(blocks, fmt.Sprint(b))
				if err := emit(Event{Kind: EventBlock, Block: b}); err != nil {
					return err
				}
			}
			switch rapid.IntRange(0, 3).Draw(t, "end") {
			case 0:
				return emit(Event{Kind: EventEnd})
			case 1:
				return &APIError{Status: 400}
			}
			return &Transient{Err: ErrCut}
		}
		most := rapid.IntRange(1, 4).Draw(t, "most")
		_, err := collect(context.Background(), Retry{MaxAttempts: most, MinDelay: 1, MaxDelay: 2}, attempt)
		var partial *IncompleteError
		if errors.As(err, &partial) != (call && err != nil) {
			t.Fatalf("call %v, but the error is %v", call, err)
		}
		if partial != nil {
			var kept []string
			for _, b := range partial.Message.Content {
				kept = append(kept, fmt.Sprint(b))
			}
			if !slices.Equal(kept, blocks) || partial.Message.ID != fmt.Sprint(tries) {
				t.Fatalf("kept %v of %v", kept, blocks)
			}
		}
		var transient *Transient
		if errors.As(err, &transient) {
			t.Fatalf("the mark is visible outside: %v", err)
		}
		if tries > most {
			t.Fatalf("%d attempts of %d", tries, most)
		}
	})
}

func TestScrub(t *testing.T) {
	got := Scrub("a\x1b[31m key=sk-1234 \xff\n"+strings.Repeat("ü", 3000), "sk-1234", "", "x")
	if strings.Contains(got, "sk-1234") || strings.ContainsAny(got, "\x1b\n") || len([]rune(got)) > maxMessageRunes+1 {
		t.Errorf("%q", got)
	}
}
