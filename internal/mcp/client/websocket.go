package client

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Times of a WebSocket.
const (
	// socketWrite bounds how long one message may take to be taken.
	socketWrite = 30 * time.Second
	// socketPing is how often a sign of life is asked for; a socket from which
	// nothing came for three times as long is dead.
	socketPing = 30 * time.Second
)

// Kinds of frames (RFC 6455).
const (
	frameMore   = 0x0
	frameText   = 0x1
	frameBinary = 0x2
	frameClose  = 0x8
	framePing   = 0x9
	framePong   = 0xA
)

// socketTransport speaks the protocol over a WebSocket, one message a text.
type socketTransport struct {
	hc  *httpClient
	url string // ws or wss
	log *ring
}

// Connect implements [sdk.Transport]. The context bounds the handshake only.
func (t *socketTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	address, ok := strings.CutPrefix(t.url, "ws")
	if !ok {
		return nil, errors.New("the address must begin with ws:// or wss://")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http"+address, nil)
	if err != nil {
		return nil, errors.New("the address cannot be used")
	}
	nonce := make([]byte, 16)
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	key := base64.StdEncoding.EncodeToString(nonce)
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key, "Sec-WebSocket-Protocol": "mcp"} {
		req.Header.Set(name, value)
	}
	resp, err := t.hc.RoundTrip(req)
	if err != nil {
		return nil, errors.New(withoutAddress(err))
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		discard(resp)
		if refusal(resp) {
			return nil, &AuthError{Status: resp.StatusCode, Static: t.hc.static(), Cause: errors.New("a server of type ws is authenticated by headers only")}
		}
		return nil, fmt.Errorf("there is no WebSocket at this address (status %d)", resp.StatusCode)
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	raw, ok := resp.Body.(io.ReadWriteCloser)
	if !ok || resp.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]) || resp.Header.Get("Sec-WebSocket-Extensions") != "" {
		_ = resp.Body.Close()
		return nil, errors.New("the server's answer to the WebSocket handshake is wrong")
	}
	c := newSocket(raw, t.log)
	c.done.Go(c.keepAlive)
	return c, nil
}

// socket is one WebSocket, of which we are the client.
type socket struct {
	raw io.ReadWriteCloser
	in  *bufio.Reader
	log *ring

	writing sync.Mutex
	close   func() error
	over    chan struct{} // closed by close
	done    sync.WaitGroup

	mu    sync.Mutex
	heard time.Time
}

func newSocket(raw io.ReadWriteCloser, log *ring) *socket {
	c := &socket{raw: raw, in: bufio.NewReaderSize(raw, 64<<10), log: log, over: make(chan struct{}), heard: time.Now()}
	c.close = sync.OnceValue(func() error {
		close(c.over)
		return raw.Close()
	})
	return c
}

// SessionID implements [sdk.Connection].
func (c *socket) SessionID() string { return "" }

// Close implements [sdk.Connection].
func (c *socket) Close() error {
	// The word of farewell does not wait for a message that is stuck.
	if c.writing.TryLock() {
		select {
		case <-c.over:
		default:
			_ = c.frame(frameClose, binary.BigEndian.AppendUint16(nil, 1000))
		}
		c.writing.Unlock()
	}
	err := c.close()
	c.done.Wait()
	return err
}

// keepAlive asks for signs of life until the socket is closed.
func (c *socket) keepAlive() {
	tick := time.NewTicker(socketPing)
	defer tick.Stop()
	for {
		select {
		case <-c.over:
			return
		case <-tick.C:
		}
		c.mu.Lock()
		silent := time.Since(c.heard)
		c.mu.Unlock()
		if silent > 3*socketPing || c.send(framePing, nil) != nil {
			_ = c.close()
			return
		}
	}
}

// Write implements [sdk.Connection].
func (c *socket) Write(_ context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return c.send(frameText, data)
}

func (c *socket) send(kind byte, data []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.frame(kind, data); err != nil {
		return fmt.Errorf("writing to the WebSocket: %s: %w", withoutAddress(err), sdk.ErrConnectionClosed)
	}
	return nil
}

// frame writes one frame. The caller holds the lock.
func (c *socket) frame(kind byte, data []byte) error {
	head := []byte{0x80 | kind}
	switch n := len(data); {
	case n < 126:
		head = append(head, 0x80|byte(n))
	case n < 1<<16:
		head = binary.BigEndian.AppendUint16(append(head, 0x80|126), uint16(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 0x80|127), uint64(n))
	}
	var mask [4]byte
	if _, err := rand.Read(mask[:]); err != nil {
		return err
	}
	head = append(head, mask[:]...)
	masked := make([]byte, len(data))
	for i, b := range data {
		masked[i] = b ^ mask[i&3]
	}
	stuck := time.AfterFunc(socketWrite, func() { _ = c.close() })
	defer stuck.Stop()
	_, err := c.raw.Write(append(head, masked...))
	return err
}

// Read implements [sdk.Connection]. What is no message goes to the log, and one
// that is too large is replaced by an error of its call.
func (c *socket) Read(context.Context) (jsonrpc.Message, error) {
	for {
		data, err := c.message()
		if err != nil {
			select {
			case <-c.over:
				return nil, io.EOF
			default:
			}
			return nil, err
		}
		if len(data) == 0 {
			continue
		}
		if !json.Valid(data) {
			c.log.line("[websocket] " + string(data[:min(len(data), maxLogLine/2)]))
			continue
		}
		msg, err := jsonrpc.DecodeMessage(data)
		if err != nil {
			c.log.line("[websocket] what came is no message: " + oneLine(err.Error()))
			continue
		}
		return msg, nil
	}
}

// message reads the frames of one message, and answers those that are about the
// socket itself.
func (c *socket) message() ([]byte, error) {
	var data []byte
	var over *idScanner
	begun := false
	for {
		kind, last, size, err := c.header()
		if err != nil {
			return nil, err
		}
		if kind >= frameClose {
			if err := c.control(kind, last, size); err != nil {
				return nil, err
			}
			continue
		}
		if kind != frameMore && kind != frameText && kind != frameBinary || (kind == frameMore) != begun {
			return nil, errors.New("the server sent a WebSocket frame that has no meaning")
		}
		begun = true
		body := io.LimitReader(c.in, size)
		if over == nil && size > int64(MaxMessageBytes-len(data)) {
			over = &idScanner{}
			_, _ = over.Write(data)
			data = nil
		}
		if over != nil {
			n, err := io.Copy(over, body)
			if err == nil && n < size {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				return nil, err
			}
		} else {
			part, err := io.ReadAll(body) // grows with what comes, not with what is announced
			if err == nil && int64(len(part)) < size {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				return nil, err
			}
			data = append(data, part...)
		}
		if !last {
			continue
		}
		if over == nil {
			return data, nil
		}
		c.log.line(fmt.Sprintf("[sevengate] a message of more than %d bytes was dropped", MaxMessageBytes))
		if len(over.id) == 0 || over.request {
			return nil, nil
		}
		return tooLarge(over.id), nil
	}
}

// header reads the beginning of a frame.
func (c *socket) header() (kind byte, last bool, size int64, err error) {
	var b [8]byte
	if _, err = io.ReadFull(c.in, b[:2]); err != nil {
		return 0, false, 0, err
	}
	c.mu.Lock()
	c.heard = time.Now()
	c.mu.Unlock()
	if b[0]&0x70 != 0 || b[1]&0x80 != 0 {
		return 0, false, 0, errors.New("the server sent a WebSocket frame that was not agreed on")
	}
	kind, last, size = b[0]&0x0F, b[0]&0x80 != 0, int64(b[1])
	switch size {
	case 126:
		_, err = io.ReadFull(c.in, b[:2])
		size = int64(binary.BigEndian.Uint16(b[:2]))
	case 127:
		_, err = io.ReadFull(c.in, b[:8])
		size = int64(binary.BigEndian.Uint64(b[:8]))
	}
	if err == nil && size < 0 {
		err = errors.New("the server sent a WebSocket frame of no possible size")
	}
	return kind, last, size, err
}

// control takes a frame about the socket itself.
func (c *socket) control(kind byte, last bool, size int64) error {
	if size > 125 || !last {
		return errors.New("the server sent a WebSocket frame that has no meaning")
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(c.in, data); err != nil {
		return err
	}
	switch kind {
	case framePing:
		return c.send(framePong, data)
	case framePong:
		return nil
	case frameClose:
		if len(data) < 2 {
			return io.EOF
		}
		code := binary.BigEndian.Uint16(data)
		if code == 1000 && len(data) == 2 {
			return io.EOF
		}
		return fmt.Errorf("the server closed the WebSocket (code %d %s)", code, oneLine(string(data[2:])))
	}
	return errors.New("the server sent a WebSocket frame that has no meaning")
}
