package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// arrival is one request of the program. Of what is in it only the end is kept: the
// server's own work must not grow with the conversation.
type arrival struct {
	at   time.Time
	tail []byte
}

// maxTail is how much of a request is kept, in bytes.
const maxTail = 4 << 10

// tailOf reads to the end.
func tailOf(r io.Reader) ([]byte, error) {
	var tail []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		tail = append(tail, buf[:n]...)
		tail = append([]byte(nil), tail[max(0, len(tail)-maxTail):]...)
		if err == io.EOF {
			return tail, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// call is a tool_use that the server asks for.
type call struct {
	name  string
	input any
}

// reply is what the server answers a request with.
type reply struct {
	calls []call
	// hold keeps the stream open after the last call was complete.
	hold time.Duration
}

// server speaks just enough of the Messages API to be timed from outside.
type server struct {
	url  string
	http *http.Server

	mu       sync.Mutex
	replies  func(n int) reply
	arrivals []arrival
	ends     []time.Time // when the answer to a request was complete
	blocks   []time.Time // when its last call was complete
	ids      int
}

func newServer() (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{url: "http://" + l.Addr().String()}
	s.http = &http.Server{Handler: s}
	go s.http.Serve(l) // ends with close
	return s, nil
}

func (s *server) close() { s.http.Close() }

// play sets the answers of the next session and forgets the last one's times.
func (s *server) play(replies func(n int) reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies, s.arrivals, s.ends, s.blocks = replies, nil, nil, nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	tail, err := tailOf(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	n := len(s.arrivals)
	s.arrivals = append(s.arrivals, arrival{now, tail})
	answer := s.replies(n)
	s.ids += len(answer.calls)
	id := s.ids
	s.mu.Unlock()

	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, v any) {
		raw, _ := json.Marshal(v)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, raw)
	}
	flush := func() { w.(http.Flusher).Flush() }
	type m = map[string]any
	send("message_start", m{"type": "message_start", "message": m{"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "assistant", "model": "bench",
		"content": []any{}, "usage": m{"input_tokens": 1, "output_tokens": 1}}})
	stop := "end_turn"
	if len(answer.calls) == 0 {
		send("content_block_start", m{"type": "content_block_start", "index": 0, "content_block": m{"type": "text", "text": ""}})
		send("content_block_delta", m{"type": "content_block_delta", "index": 0, "delta": m{"type": "text_delta", "text": "done"}})
		send("content_block_stop", m{"type": "content_block_stop", "index": 0})
	}
	for i, c := range answer.calls {
		stop = "tool_use"
		input, _ := json.Marshal(c.input)
		send("content_block_start", m{"type": "content_block_start", "index": i, "content_block": m{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", id-i), "name": c.name, "input": m{}}})
		send("content_block_delta", m{"type": "content_block_delta", "index": i, "delta": m{"type": "input_json_delta", "partial_json": string(input)}})
		send("content_block_stop", m{"type": "content_block_stop", "index": i})
	}
	blocks := time.Now()
	flush()
	time.Sleep(answer.hold)
	send("message_delta", m{"type": "message_delta", "delta": m{"stop_reason": stop}, "usage": m{"output_tokens": 1}})
	send("message_stop", m{"type": "message_stop"})
	end := time.Now()
	flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, end)
	s.blocks = append(s.blocks, blocks)
}

// times copies what was recorded.
func (s *server) times() (arrivals []arrival, ends, blocks []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]arrival(nil), s.arrivals...), append([]time.Time(nil), s.ends...), append([]time.Time(nil), s.blocks...)
}
