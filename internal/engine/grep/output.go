package grep

import (
	"context"
	"errors"
	"sync"
)

const (
	// window is how many batches of files may be searched ahead of the one whose turn it is to report.
	window = 32
	// maxHeldBytes limits the events that wait for their turn, of all batches together; one that needs more waits.
	maxHeldBytes = 4 << 20
	// eventCost is what a waiting event takes beside its text.
	eventCost = 200
)

// errStopFile ends the search of one file: it has said all that it has to.
var errStopFile = errors.New("file done")

// output puts the events of many files in order, applies offset and limit, and keeps the totals.
type output struct {
	opts *SearchOptions
	emit func(Event) error

	mu      sync.Mutex
	changed *sync.Cond
	turn    int             // ordered: the batch that reports now
	owner   *slot           // unordered: the file that reports now
	waiting map[int][]Event // ordered: batches that are done before their turn
	held    int
	stopped bool
	err     error
	stats   Stats

	gap      bool   // a gap is due before the next event of lastPath
	lastPath string // of the last reported event
}

func newOutput(opts *SearchOptions, emit func(Event) error) *output {
	o := &output{opts: opts, emit: emit, waiting: make(map[int][]Event)}
	o.changed = sync.NewCond(&o.mu)
	return o
}

func (o *output) stop() {
	o.mu.Lock()
	o.stopped = true
	o.changed.Broadcast()
	o.mu.Unlock()
}

func (o *output) fail(err error) {
	o.mu.Lock()
	if o.err == nil {
		o.err = err
	}
	o.stopped = true
	o.changed.Broadcast()
	o.mu.Unlock()
}

// admit waits until a batch may be searched.
func (o *output) admit(seq int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for seq >= o.turn+window && !o.stopped {
		o.changed.Wait()
	}
	return o.halted()
}

func (o *output) halted() error {
	if !o.stopped {
		return nil
	}
	if o.err != nil {
		return o.err
	}
	return context.Canceled
}

// deliver counts and reports one event; o.mu is held.
func (o *output) deliver(e *Event) error {
	if o.stopped {
		return o.halted()
	}
	if e.Kind == KindGap {
		o.gap = true
		return nil
	}
	o.stats.Events++
	gap := o.gap && o.lastPath == e.Path
	o.gap = false
	if o.stats.Events <= int64(o.opts.Offset) {
		return nil
	}
	if o.opts.Limit > 0 && o.stats.Reported >= int64(o.opts.Limit) {
		o.stats.LimitReached = true
		if o.opts.Totals {
			return nil
		}
		return errEnough
	}
	if gap {
		if err := o.emit(Event{Kind: KindGap, Path: e.Path, Rel: e.Rel, Root: e.Root, ModTime: e.ModTime}); err != nil {
			return err
		}
	}
	o.stats.Reported++
	o.lastPath = e.Path
	return o.emit(*e)
}

func (o *output) deliverAll(events []Event) error {
	for i := range events {
		o.held -= len(events[i].Text) + eventCost
		if err := o.deliver(&events[i]); err != nil {
			return err
		}
	}
	return nil
}

// slot is a place in the output: of a batch of files or, in an unordered search, of one file.
type slot struct {
	o      *output
	seq    int
	events []Event
	live   bool // events go out at once
}

func (s *slot) begin(o *output, seq int) { s.o, s.seq, s.events, s.live = o, seq, nil, false }

// add reports an event, or keeps a copy until the slot's turn comes.
func (s *slot) add(e Event) error {
	o := s.o
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.live {
		return o.deliver(&e)
	}
	cost := len(e.Text) + eventCost
	if o.myTurn(s) || o.held+cost > maxHeldBytes {
		for !o.myTurn(s) && !o.stopped {
			o.changed.Wait()
		}
		if o.stopped {
			return o.halted()
		}
		s.live, o.owner = true, s
		events := s.events
		s.events = nil
		if err := o.deliverAll(events); err != nil {
			return err
		}
		return o.deliver(&e)
	}
	o.held += cost
	e.Text = append([]byte(nil), e.Text...)
	s.events = append(s.events, e)
	return nil
}

// myTurn reports whether a slot may report now. In an unordered search that is so when no other has begun to; a small
// file still gathers its events first if others are at work, which end sees to.
func (o *output) myTurn(s *slot) bool {
	if o.opts.Unordered {
		return o.owner == nil || o.owner == s
	}
	return o.turn == s.seq
}

// end hands over what the slot has gathered and passes the turn on.
func (s *slot) end() error {
	o := s.o
	if o.opts.Unordered && !s.live && len(s.events) == 0 {
		return nil // as of most files
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.changed.Broadcast()
	if o.opts.Unordered {
		for !o.myTurn(s) && !o.stopped {
			o.changed.Wait()
		}
		var err error
		if o.myTurn(s) {
			err = o.deliverAll(s.events)
			o.owner = nil
		}
		s.events = nil
		return err
	}
	if o.turn != s.seq {
		o.waiting[s.seq] = s.events
		s.events = nil
		return nil
	}
	err := o.deliverAll(s.events)
	s.events = nil
	for o.owner = nil; err == nil; {
		o.turn++
		events, ok := o.waiting[o.turn]
		if !ok {
			break
		}
		delete(o.waiting, o.turn)
		err = o.deliverAll(events)
	}
	return err
}
