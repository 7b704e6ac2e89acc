package atomicfile

import (
	"context"
	"sync"
)

// keyedLock is a set of mutexes by key whose waiting can be cancelled. The zero value
// is ready. It forgets keys that nobody holds or waits for.
type keyedLock struct {
	mu   sync.Mutex
	held map[string]*keyedEntry
}

type keyedEntry struct {
	slot chan struct{} // holds one token while locked
	refs int
}

func (k *keyedLock) lock(ctx context.Context, key string) (unlock func(), err error) {
	k.mu.Lock()
	if k.held == nil {
		k.held = make(map[string]*keyedEntry)
	}
	e := k.held[key]
	if e == nil {
		e = &keyedEntry{slot: make(chan struct{}, 1)}
		k.held[key] = e
	}
	e.refs++
	k.mu.Unlock()

	release := func() {
		k.mu.Lock()
		if e.refs--; e.refs == 0 {
			delete(k.held, key)
		}
		k.mu.Unlock()
	}
	select {
	case e.slot <- struct{}{}:
		return func() { <-e.slot; release() }, nil
	case <-ctx.Done():
		release()
		return nil, context.Cause(ctx)
	}
}
