package lspclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// maxQueued bounds the messages that wait for the server to read them.
const maxQueued = 1024

// ErrEnded says that the connection to the server is over.
var ErrEnded = errors.New("the connection to the language server is over")

// RPCError is an error that the server answered with.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// maxErrorChars bounds the words of a server in an error.
const maxErrorChars = 500

func (e *RPCError) Error() string {
	return fmt.Sprintf("the language server answered with an error: %s (code %d)", clip(e.Message, maxErrorChars), e.Code)
}

// Error codes of the protocol that matter here.
const (
	codeMethodNotFound  = -32601
	codeInternalError   = -32603
	CodeServerCancelled = -32802
	CodeContentModified = -32801
)

type wireMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *RPCError       `json:"error,omitempty"`
}

// handler gets what the server sends on its own. For a notification the answer is
// dropped. It is called from one goroutine and must not wait.
type handler func(method string, params json.RawMessage) (result any, err *RPCError)

// conn is one JSON-RPC connection.
type conn struct {
	handle handler
	queue  chan []byte
	done   chan struct{} // closed at the end
	wg     sync.WaitGroup
	in     io.Closer
	out    io.Closer

	mu      sync.Mutex
	next    int64
	pending map[int64]chan wireMessage
	err     error // why it ended
}

// newConn begins to read from in and to write to out, and closes both at the end.
func newConn(in io.ReadCloser, out io.WriteCloser, h handler) *conn {
	c := &conn{handle: h, queue: make(chan []byte, maxQueued), done: make(chan struct{}), in: in, out: out, pending: map[int64]chan wireMessage{}}
	c.wg.Go(func() { c.fail(c.readAll(bufio.NewReaderSize(in, MaxHeaderBytes))) })
	c.wg.Go(func() { c.writeAll(out) })
	return c
}

// fail ends the connection; the first reason counts. It does not wait.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	c.in.Close()
	c.out.Close()
}

// close ends the connection and waits for its goroutines.
func (c *conn) close() {
	c.fail(errors.New("it was closed"))
	c.wg.Wait()
}

// reason is why the connection ended, as an [ErrEnded].
func (c *conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Errorf("%w: %w", ErrEnded, c.err)
}

func (c *conn) readAll(r *bufio.Reader) error {
	for {
		body, err := readFrame(r)
		if errors.Is(err, io.EOF) {
			return errors.New("the server ended")
		}
		if err != nil {
			return fmt.Errorf("the server sent %w", err)
		}
		var m wireMessage
		if err := json.Unmarshal(body, &m); err != nil {
			return fmt.Errorf("the server sent a message that is not JSON-RPC: %w", err)
		}
		c.receive(m)
	}
}

func (c *conn) receive(m wireMessage) {
	isRequest := len(m.ID) > 0 && string(m.ID) != "null"
	if m.Method == "" {
		var id int64
		if json.Unmarshal(m.ID, &id) != nil {
			return // an answer to nothing
		}
		c.mu.Lock()
		wait := c.pending[id]
		delete(c.pending, id)
		c.mu.Unlock()
		if wait != nil {
			wait <- m
		}
		return
	}
	result, rpcErr := c.handle(m.Method, m.Params)
	if !isRequest {
		return
	}
	answer := wireMessage{JSONRPC: "2.0", ID: m.ID, Error: rpcErr}
	if rpcErr == nil {
		raw, err := json.Marshal(result)
		if err != nil {
			answer.Error = &RPCError{Code: codeInternalError, Message: "the answer cannot be encoded"}
		} else {
			answer.Result = raw
		}
	}
	if body, err := json.Marshal(answer); err == nil {
		c.send(body)
	}
}

// send queues a message. A server that does not read is given up.
func (c *conn) send(body []byte) {
	select {
	case c.queue <- body:
	default:
		c.fail(fmt.Errorf("the server does not read: %d messages wait for it", maxQueued))
	}
}

func (c *conn) writeAll(w io.Writer) {
	for {
		select {
		case <-c.done:
			return
		case body := <-c.queue:
			if err := writeFrame(w, body); err != nil {
				// The reader may still have the better reason.
				select {
				case <-c.done:
				case <-time.After(100 * time.Millisecond):
					c.fail(fmt.Errorf("writing to the server: %w", err))
				}
				return
			}
		}
	}
}

func (c *conn) notify(method string, params any) error {
	body, err := message(nil, method, params)
	if err != nil {
		return err
	}
	select {
	case <-c.done:
		return c.reason()
	default:
	}
	c.send(body)
	return nil
}

func message(id json.RawMessage, method string, params any) ([]byte, error) {
	m := wireMessage{JSONRPC: "2.0", ID: id, Method: method}
	if params != nil {
		raw, err := json.Marshal(params)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", method, err)
		}
		m.Params = raw
	}
	return json.Marshal(m)
}

// call asks and waits for the answer, the end of ctx or of the connection.
func (c *conn) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	wait := make(chan wireMessage, 1)
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return nil, c.reason()
	}
	c.next++
	id := c.next
	c.pending[id] = wait
	c.mu.Unlock()
	body, err := message(json.RawMessage(fmt.Sprint(id)), method, params)
	if err != nil {
		c.forget(id)
		return nil, err
	}
	c.send(body)
	select {
	case m := <-wait:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-c.done:
		select {
		case m := <-wait: // it came just before the end
			if m.Error == nil {
				return m.Result, nil
			}
		default:
		}
		return nil, c.reason()
	case <-ctx.Done():
		c.forget(id)
		_ = c.notify("$/cancelRequest", map[string]any{"id": id})
		return nil, context.Cause(ctx)
	}
}

func (c *conn) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// clip cuts a text after n characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
