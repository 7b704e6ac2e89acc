package search

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

const (
	// stopGrace is how long a stopped call waits for its search to end.
	stopGrace = 30 * time.Millisecond
	// limitGrace is how long it waits beyond the search's own time limit.
	limitGrace = 2 * time.Second
)

// answered makes a call and returns what it gives, or an error soon after ctx or the
// call's own time limit has ended: a file system that has lost its server or device
// may never answer, and nothing can call back a thread that waits for it. Such a
// call is left behind; it ends when the file system answers, and what it then gives
// is thrown away.
func answered[T any](ctx context.Context, limit time.Duration, call func() (T, error)) (T, error) {
	type answer struct {
		value    T
		err      error
		panicked string
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if v := recover(); v != nil {
				a.panicked = fmt.Sprintf("%v\n\n%s", v, debug.Stack())
			}
			done <- a
		}()
		a.value, a.err = call()
	}()
	given := func(a answer) (T, error) {
		if a.panicked != "" {
			panic(a.panicked)
		}
		return a.value, a.err
	}
	late := time.NewTimer(limit + limitGrace)
	defer late.Stop()
	var none T
	select {
	case a := <-done:
		return given(a)
	case <-late.C:
		return none, fmt.Errorf("the file system does not answer, and the search was given up after %v; search elsewhere", limit+limitGrace)
	case <-ctx.Done():
	}
	last := time.NewTimer(stopGrace)
	defer last.Stop()
	select {
	case a := <-done:
		return given(a)
	case <-last.C:
		_, err := stopped(ctx, ctx)
		return none, err
	}
}
