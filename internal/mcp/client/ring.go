package client

import (
	"bytes"
	"strings"
	"sync"
)

// Limits of what is kept of a server's standard error and log messages.
const (
	maxLogBytes = 256 << 10
	maxLogLine  = 4 << 10
)

// ring keeps the last lines written to it. It is safe for concurrent use; a
// write never blocks and never fails.
type ring struct {
	mu      sync.Mutex
	lines   [][]byte
	bytes   int
	partial []byte
	skip    bool // the rest of a line that was too long
	dropped int  // lines
}

func (r *ring) Write(p []byte) (int, error) {
	n := len(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		part := p
		if i >= 0 {
			part = p[:i]
		}
		if room := maxLogLine - len(r.partial); !r.skip {
			if len(part) > room {
				part, r.skip = part[:room], true
			}
			r.partial = append(r.partial, part...)
		}
		if i < 0 {
			break
		}
		r.end()
		p = p[i+1:]
	}
	return n, nil
}

// end completes the line that is being written.
func (r *ring) end() {
	line := bytes.TrimRight(r.partial, "\r")
	r.partial, r.skip = nil, false
	r.lines = append(r.lines, line)
	r.bytes += len(line) + 1
	for r.bytes > maxLogBytes {
		r.bytes -= len(r.lines[0]) + 1
		r.lines[0] = nil
		r.lines = r.lines[1:]
		r.dropped++
	}
}

// line adds one whole line.
func (r *ring) line(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.partial) > 0 {
		r.end()
	}
	if len(s) > maxLogLine {
		s = s[:maxLogLine]
	}
	r.partial = []byte(strings.ReplaceAll(s, "\n", " "))
	r.end()
}

// text gives what is kept, and how many lines came before it.
func (r *ring) text() (string, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.lines
	if len(r.partial) > 0 {
		all = append(all[:len(all):len(all)], r.partial)
	}
	return strings.ToValidUTF8(string(bytes.Join(all, []byte{'\n'})), "\uFFFD"), r.dropped
}
