// Package fakeapi is a model's API for tests and benchmarks: a real HTTP server
// on a loopback port that speaks Messages API event streams and
// OpenAI-compatible chat streams, plays the replies that a Go function gives,
// and can fail in the ways in which real servers fail. It understands nothing
// of what it is asked and must not be linked into the program.
package fakeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// MaxRequestBytes bounds the body of one request.
const MaxRequestBytes = 256 << 20

// API says which of the two protocols a request speaks.
type API string

// The protocols, told apart by the path of the request.
const (
	Messages API = "messages" // a path that ends in /messages
	Chat     API = "chat"     // a path that ends in /chat/completions
)

// Request is one request as it came in.
type Request struct {
	N      int // from 1, in order of arrival
	API    API
	Path   string
	Header http.Header
	Body   []byte
	Length int64 // as the client announced it, -1 for none
}

// Handler answers a request. It runs on the request's own goroutine and may be
// called from several at once; ctx ends when the client goes away.
type Handler func(ctx context.Context, r Request) Reply

// Reply is one answer. Its zero value is an empty message that ends the turn.
type Reply struct {
	// Message is what is streamed. ID, Model, StopReason and Usage have
	// defaults. The Input of a tool_use is sent as it is, also when it is no
	// valid JSON.
	Message tool.Message

	// A Status other than 0 and 200 refuses the request.
	Status       int
	ErrorType    string
	ErrorMessage string
	Header       map[string]string // such as retry-after

	// Raw, when set, is sent as the body in place of Message.
	Raw string

	// Pace. Zero durations do not wait.
	Delay      time.Duration // before the response headers
	BlockDelay time.Duration // before each block
	ChunkDelay time.Duration // before each event
	ChunkSize  int           // bytes of text or tool input in one delta; 0 means 16
	WriteSize  int           // bytes of the stream in one network write; 0 means one event

	// Faults.
	CutAfter    int           // drop the connection after so many bytes of the stream
	CutInTool   int           // cut in the middle of the input of the n-th tool_use, from 1
	CleanCut    bool          // a cut ends the body properly in place of dropping the connection
	StallBefore int           // before the n-th block, from 1: stall for Stall
	Stall       time.Duration // how long; 0 means until the client goes away
	PingEvery   time.Duration // while stalling, send keep-alives; 0 means none
	Garbage     bool          // unknown events, comments and data that is no JSON in between
	ErrorBefore int           // before the n-th block, from 1: an error event, then the end

	Chat ChatStyle
}

// ChatStyle is how an OpenAI-compatible server deviates.
type ChatStyle struct {
	WholeCalls   bool   // a tool call comes in one piece
	NoIDs        bool   // tool calls have no id
	NoIndex      bool   // tool calls have no index
	Interleave   bool   // the fragments of all calls alternate
	FinishReason string // in place of the one that fits
	NoDone       bool   // no [DONE] at the end
	NoUsage      bool
}

// Text makes a reply of one text block.
func Text(text string) Reply {
	return Reply{Message: tool.Message{Content: []tool.Block{tool.TextBlock(text)}}}
}

// Blocks makes a reply of blocks.
func Blocks(blocks ...tool.Block) Reply {
	return Reply{Message: tool.Message{Content: blocks}}
}

// Script makes a handler that gives the replies one after the other, and
// refuses what comes after the last with status 400.
func Script(replies ...Reply) Handler {
	return func(_ context.Context, r Request) Reply {
		if r.N > len(replies) {
			return Reply{Status: http.StatusBadRequest, ErrorType: "invalid_request_error",
				ErrorMessage: fmt.Sprintf("request %d, but the script has %d replies", r.N, len(replies))}
		}
		return replies[r.N-1]
	}
}

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	// URL is the root, without a slash at the end. The Messages API is at
	// URL/v1/messages, the chat API at URL/v1/chat/completions.
	URL string

	handler Handler
	server  *http.Server
	serving sync.WaitGroup

	mu       sync.Mutex
	requests []Request
	active   int
}

// New starts a server on a free loopback port. The caller must close it.
func New(h Handler) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the fake API: %w", err)
	}
	s := &Server{URL: "http://" + listener.Addr().String(), handler: h}
	s.server = &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	s.serving.Go(func() { _ = s.server.Serve(listener) })
	return s, nil
}

// Close drops all connections and waits until all handlers have returned.
func (s *Server) Close() error {
	err := s.server.Close()
	s.serving.Wait()
	return err
}

// Requests returns what came in so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Active says how many requests are being answered now.
func (s *Server) Active() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.serving.Add(1)
	defer s.serving.Done()
	request := Request{Path: r.URL.Path, Header: r.Header.Clone(), Length: r.ContentLength}
	switch {
	case r.Method != http.MethodPost:
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		request.API = Chat
	case strings.HasSuffix(r.URL.Path, "/messages"):
		request.API = Messages
	default:
		http.NotFound(w, r)
		return
	}
	var err error
	if request.Body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, MaxRequestBytes)); err != nil {
		return
	}
	s.mu.Lock()
	request.N = len(s.requests) + 1
	s.requests = append(s.requests, request)
	s.active++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.active--
		s.mu.Unlock()
	}()
	reply := s.handler(r.Context(), request)
	if sleep(r.Context(), reply.Delay) != nil {
		return
	}
	if reply.Status != 0 && reply.Status != http.StatusOK {
		refuse(w, reply)
		return
	}
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	out := &stream{w: w, flush: http.NewResponseController(w), cutAfter: reply.CutAfter, writeSize: reply.WriteSize, chunkDelay: reply.ChunkDelay}
	var steps []step
	switch {
	case reply.Raw != "":
		steps = []step{{data: []byte(reply.Raw)}}
	case request.API == Chat:
		steps = chatSteps(request, reply)
	default:
		steps = messagesSteps(request, reply)
	}
	if err := out.play(r.Context(), steps); errors.Is(err, errCut) && !reply.CleanCut {
		panic(http.ErrAbortHandler) // the way to drop a connection
	}
}

func refuse(w http.ResponseWriter, reply Reply) {
	w.Header().Set("Content-Type", "application/json")
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(reply.Status)
	if reply.Raw != "" {
		_, _ = io.WriteString(w, reply.Raw)
		return
	}
	_, _ = w.Write(errorJSON(reply))
}

func errorJSON(reply Reply) []byte {
	kind, message := reply.ErrorType, reply.ErrorMessage
	if kind == "" {
		kind = "api_error"
	}
	if message == "" {
		message = "a fault was asked for"
	}
	return mustJSON(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}})
}

// mustJSON encodes values that this package makes itself, raw JSON in its own
// bytes but for white space.
func mustJSON(v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(fmt.Sprintf("fakeapi: %v", err))
	}
	return bytes.TrimSpace(out.Bytes())
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
