// Package model holds what every provider of a language model speaks: a
// [Request] in, a stream of [Event] out. A provider knows nothing of tools
// beyond their API form, runs nothing, and keeps no conversation.
package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// DefaultMaxTokens bounds one response where nothing else was asked for.
const DefaultMaxTokens = 16_384

// Request is one turn put to a model. The provider must not change it.
type Request struct {
	Model     string
	System    string
	Messages  []tool.Message
	Tools     []schema.APITool
	MaxTokens int // 0 means DefaultMaxTokens
}

// EventKind says what an event reports.
type EventKind int

// The kinds of events, in the order in which they can come: one Start, then
// for each block any number of deltas and one Block, then one End. A Retry
// says that all events since the last Start are void and a new Start follows;
// there is none once a tool_use block was reported, since its call may be
// running.
const (
	EventStart     EventKind = iota + 1 // a response begins
	EventText                           // a piece of visible text
	EventThinking                       // a piece of thinking
	EventToolStart                      // a tool_use block begins: its id and name
	EventBlock                          // a block is complete; a tool_use has its whole input
	EventEnd                            // the response is complete
	EventRetry                          // the provider will try again after Delay
)

// Event is one piece of news of a response.
type Event struct {
	Kind  EventKind
	Index int        // of the block, from 0
	Text  string     // EventText, EventThinking
	Block tool.Block // EventToolStart, EventBlock

	// Message is the whole response at EventEnd: all blocks, in order, with
	// stop reason and usage. At EventStart only ID and Model are set.
	Message tool.Message

	// EventRetry: the attempt that comes next, counted from 2, of how many, the
	// wait before it and why.
	Attempt, MaxAttempts int
	Delay                time.Duration
	Err                  error
}

// Provider streams responses. Implementations are safe for concurrent use.
//
// The sequence ends after EventEnd, or with one error. A tool_use block is
// reported with EventBlock only when its input arrived whole and is valid
// JSON; one that is not is reported with an [*IncompleteError] in place of
// EventEnd when the stream was cut, and is never reported as a block. Stopping
// the iteration, or cancelling ctx, ends the request.
type Provider interface {
	Stream(ctx context.Context, r Request) iter.Seq2[Event, error]
}

// IncompleteError ends a response that was cut and cannot be tried again,
// since a complete tool_use block was already handed on.
type IncompleteError struct {
	Message tool.Message // the blocks that were complete
	Err     error
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("the response was cut after %d complete blocks: %v", len(e.Message.Content), e.Err)
}

func (e *IncompleteError) Unwrap() error { return e.Err }

// APIError is a refusal by the model's API that trying again did not cure.
type APIError struct {
	Status  int    // HTTP status, 0 where there is none
	Type    string // such as rate_limit_error
	Message string // safe to show: holds no key
}

func (e *APIError) Error() string {
	switch {
	case e.Status != 0 && e.Type != "":
		return fmt.Sprintf("the model's API answered %d (%s): %s", e.Status, e.Type, e.Message)
	case e.Status != 0:
		return fmt.Sprintf("the model's API answered %d: %s", e.Status, e.Message)
	}
	return "the model's API: " + e.Message
}

// ErrNoKey says that a provider needs a key that is not there.
var ErrNoKey = errors.New("no API key")
