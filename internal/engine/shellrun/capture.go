package shellrun

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// maxPipeBytes is more than a pipe holds, so that draining one ends although others still write.
const maxPipeBytes = 1 << 20

// What readNow returns if there is nothing to read.
const (
	readNothing = 0
	readEnd     = -1
)

// copyBuffers are shared by all captures: a command holds one only while it has something to say.
var copyBuffers = sync.Pool{New: func() any { b := make([]byte, copyBufferBytes); return &b }}

// capture writes a command's output to its file and keeps counts and the newest bytes. It goes through a pipe and not
// straight into the file because "echo x >/dev/stderr" opens what the descriptor points to: a plain file would be cut to
// nothing by it.
type capture struct {
	file  *os.File
	limit int64
	over  chan struct{} // closed when limit is passed
	done  chan struct{} // closed when the pipe has ended
	sync  chan struct{} // closed when all is taken that was in the pipe when drain was called

	mu    sync.Mutex
	size  int64 // bytes written to the file
	lines int64 // complete lines among them
	tail  []byte
	part  bool // the newest line is not complete
	err   error
}

func newCapture(file *os.File, limit int64) *capture {
	return &capture{file: file, limit: limit, over: make(chan struct{}), done: make(chan struct{}), sync: make(chan struct{})}
}

// drain, called once, waits until all that the pipe holds now is in the file, and reports whether the pipe has ended. The
// reader does it itself: on a busy machine it may not have had its turn yet, however long one waits.
func (c *capture) drain(pipe *os.File) bool {
	if pipe.SetReadDeadline(time.Now()) != nil {
		return c.ended()
	}
	select {
	case <-c.done:
	case <-c.sync:
	}
	return c.ended()
}

func (c *capture) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// run copies until the pipe ends or is closed. It never stops reading, whatever happens to the file: a writer must not be
// blocked by our trouble.
func (c *capture) run(pipe *os.File) {
	defer close(c.done)
	defer c.file.Close()
	buf := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(buf)
	isOver := false
	take := func(n int) {
		if n > 0 && !isOver {
			if isOver = c.add((*buf)[:n]); isOver {
				close(c.over)
			}
		}
	}
	for {
		n, err := pipe.Read(*buf)
		take(n)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			_ = pipe.SetReadDeadline(time.Time{})
			for taken := 0; taken < maxPipeBytes; taken += n {
				if n = readNow(pipe, *buf); n <= 0 {
					break
				}
				take(n)
			}
			if n == readEnd {
				return
			}
			close(c.sync)
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed):
			return
		default:
			c.fail(err)
			return
		}
	}
}

// add takes one chunk and reports whether the limit is reached.
func (c *capture) add(b []byte) bool {
	c.mu.Lock()
	failed := c.err != nil
	room := c.limit - c.size
	c.mu.Unlock()
	over := int64(len(b)) > room
	if over {
		b = b[:max(room, 0)]
	}
	if !failed {
		n, err := c.file.Write(b)
		if err != nil {
			c.fail(err)
		}
		b = b[:n]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && len(b) > 0 {
		c.size += int64(len(b))
		c.lines += int64(bytes.Count(b, []byte{'\n'}))
		c.part = b[len(b)-1] != '\n'
	}
	if len(b) >= ProgressTailBytes {
		c.tail = append(c.tail[:0], b[len(b)-ProgressTailBytes:]...)
	} else {
		if drop := len(c.tail) + len(b) - ProgressTailBytes; drop > 0 {
			c.tail = c.tail[:copy(c.tail, c.tail[drop:])]
		}
		c.tail = append(c.tail, b...)
	}
	return over
}

func (c *capture) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

type captureState struct {
	size, lines int64
	err         error
}

func (c *capture) state() captureState {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := captureState{size: c.size, lines: c.lines, err: c.err}
	if c.part {
		s.lines++
	}
	return s
}

func (c *capture) newest() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.tail)
}
