package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/websocket"

	"github.com/sevengate/sevengate/internal/mcp/config"
)

// wsPeer is the server's end of a WebSocket, as another implementation makes it.
type wsPeer struct{ ws *websocket.Conn }

func (p wsPeer) Connect(context.Context) (sdk.Connection, error) { return p, nil }
func (p wsPeer) SessionID() string                               { return "" }
func (p wsPeer) Close() error                                    { return p.ws.Close() }

func (p wsPeer) Read(context.Context) (jsonrpc.Message, error) {
	var data []byte
	if err := websocket.Message.Receive(p.ws, &data); err != nil {
		return nil, err
	}
	return jsonrpc.DecodeMessage(data)
}

func (p wsPeer) Write(_ context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return websocket.Message.Send(p.ws, string(data))
}

func socketServer(name, address string) config.Server {
	s := remote(name, "ws"+strings.TrimPrefix(address, "http"))
	s.Type = config.WebSocket
	return s
}

func TestWebSocket(t *testing.T) {
	t.Parallel()
	good := goodServer("good")
	var connections atomic.Int32
	ws := websocket.Server{Handshake: func(*websocket.Config, *http.Request) error { return nil }, Handler: func(c *websocket.Conn) {
		connections.Add(1)
		session, err := good.Connect(context.Background(), wsPeer{c}, nil)
		if err != nil {
			t.Error(err)
			return
		}
		_ = session.Wait()
	}}
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "k" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		ws.ServeHTTP(w, r)
	}))
	open := socketServer("web", url+"/mcp?token=s3cret")
	open.Headers = map[string]string{"X-Key": "k"}
	closed := socketServer("closed", url)
	static := socketServer("static", url)
	static.Headers = map[string]string{"Authorization": "Bearer x"}
	m := start(t, func(c *Config) { c.Elicitor = answers{} }, open, closed, static, socketServer("page", serve(t, http.NotFoundHandler())))
	up(t, m)
	if st, why := state2(m); st != Connected {
		t.Fatal(st, why)
	}
	for name, want := range map[string]string{"closed": "by headers only", "static": "Authorization header", "page": "no WebSocket at this address (status 404)"} {
		if st, why := state(m, name); st != Failed || !strings.Contains(why, want) {
			t.Errorf("%s: %s %s", name, st, why)
		}
	}
	if err := m.Authenticate(t.Context(), "closed", browser(t)); err == nil || !strings.Contains(err.Error(), "headers only") {
		t.Error(err)
	}
	// Messages of all lengths, at once, and questions of the server.
	var wg sync.WaitGroup
	for _, n := range []int{1, 100, 125, 126, 127, 500, 65_000, 65_536, 70_000, 3_000_000} {
		wg.Go(func() {
			text := strings.Repeat("é", n/2) + "x"
			if got, _, err := m.CallTool(t.Context(), "web", "echo", json.RawMessage(`{"text":"`+text+`"}`)); err != nil || got != `{"text":"`+text+`"}` {
				t.Errorf("%d: %d bytes, %v", n, len(got), err)
			}
		})
	}
	wg.Go(func() {
		if _, blocks, err := run(t, m, "mcp__web__ask", `{}`); err != nil || blocks[0].Text != "accept web name?" {
			t.Error(blocks, err)
		}
	})
	wg.Wait()
	if _, _, err := run(t, m, "mcp__web__grow", `{}`); err != nil {
		t.Error(err)
	}
	eventually(t, "the new tool", func() bool { return strings.Contains(fmt.Sprint(m.Status()), "grown") })
	// The server ends the connection: it is made anew.
	for session := range good.Sessions() {
		session.Close()
	}
	eventually(t, "a new connection", func() bool { s, _ := state2(m); return s == Connected && connections.Load() == 2 })
	if _, _, err := run(t, m, "mcp__web__echo", `{"text":"a"}`); err != nil {
		t.Error(err)
	}
	if raw, _ := json.Marshal(m.Status()); strings.Contains(string(raw), "s3cret") {
		t.Error("a status shows a secret")
	}
	m.Close()
}

// A server that prefers HTTP/2 is still asked for a WebSocket in HTTP/1.1.
func TestWebSocketOverTLS(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(websocket.Server{Handler: func(c *websocket.Conn) { _, _ = io.Copy(c, c) }})
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	cfg := socketServer("web", srv.URL)
	cfg.URL = "wss" + strings.TrimPrefix(srv.URL, "https")
	m := New(Config{Servers: []config.Server{cfg}})
	hc := m.servers["web"].newHTTP()
	defer hc.close()
	hc.base.TLSClientConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig
	conn, err := (&socketTransport{hc, cfg.URL, &ring{}}).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sent, err := jsonrpc.DecodeMessage([]byte(`{"jsonrpc":"2.0","id":5,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Write(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	got, err := conn.Read(t.Context())
	if r, ok := got.(*jsonrpc.Request); !ok || fmt.Sprint(r.ID.Raw()) != "5" {
		t.Error(got, err)
	}
}

// wire is a socket whose other end sent some bytes, and takes what is written.
type wire struct {
	io.Reader
	out bytes.Buffer
}

func (w *wire) Write(p []byte) (int, error) { return w.out.Write(p) }
func (w *wire) Close() error                { return nil }

func frames(parts ...string) io.Reader { return strings.NewReader(strings.Join(parts, "")) }

func TestSocketFrames(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}` // 40 bytes
	if len(ping) != 40 {
		t.Fatal(len(ping))
	}
	for name, c := range map[string]struct {
		in     string
		want   string // the id of the message, or an error's text
		answer byte   // the kind of the frame that is written back
	}{
		"whole":             {"\x81\x28" + ping, "1", 0},
		"binary":            {"\x82\x28" + ping, "1", 0},
		"in parts":          {"\x01\x14" + ping[:20] + "\x80\x14" + ping[20:], "1", 0},
		"a ping in between": {"\x01\x14" + ping[:20] + "\x89\x02hi" + "\x80\x14" + ping[20:], "1", framePong},
		"a longer length":   {"\x81\x7e\x00\x28" + ping, "1", 0},
		"the longest":       {"\x81\x7f\x00\x00\x00\x00\x00\x00\x00\x28" + ping, "1", 0},
		"no message":        {"\x81\x05hello\x81\x00\x81\x02{}\x81\x28" + ping, "1", 0},

		"masked":         {"\x81\xa8" + ping, "not agreed", 0},
		"compressed":     {"\xc1\x28" + ping, "not agreed", 0},
		"no beginning":   {"\x80\x28" + ping, "no meaning", 0},
		"two beginnings": {"\x01\x14" + ping[:20] + "\x81\x28" + ping, "no meaning", 0},
		"unknown":        {"\x83\x28" + ping, "no meaning", 0},
		"unknown word":   {"\x8b\x00", "no meaning", 0},
		"long ping":      {"\x89\x7e\x00\x80" + strings.Repeat("x", 128), "no meaning", 0},
		"ping in parts":  {"\x09\x00", "no meaning", 0},
		"below zero":     {"\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff", "no possible size", 0},
		"cut off":        {"\x81\x28" + ping[:20], "EOF", 0},
		"nothing comes":  {"\x81\x7f\x00\x00\x00\x00\x01\x00\x00\x00abc", "EOF", 0},
		"closed":         {"\x88\x00", "EOF", 0},
		"closed well":    {"\x88\x02\x03\xe8", "EOF", 0},
		"closed, why":    {"\x88\x07\x03\xf3sorry", "code 1011 sorry", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{Reader: frames(c.in)}
			s := newSocket(w, &ring{})
			msg, err := s.Read(t.Context())
			if r, ok := msg.(*jsonrpc.Request); ok {
				if got := fmt.Sprint(r.ID.Raw()); got != c.want {
					t.Errorf("got %s", got)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v %v", msg, err)
			}
			if c.answer != 0 && (w.out.Len() < 2 || w.out.Bytes()[0] != 0x80|c.answer) {
				t.Errorf("answered %x", w.out.Bytes())
			}
		})
	}
	// A message that is too large becomes an error of its call.
	chunk := strings.Repeat("y", 1<<20)
	parts := []io.Reader{strings.NewReader("\x01\x29" + `{"jsonrpc":"2.0","id":77,"result":{"x":"y`)}
	for range MaxMessageBytes>>20 + 3 {
		parts = append(parts, strings.NewReader("\x00\x7f\x00\x00\x00\x00\x00\x10\x00\x00"), strings.NewReader(chunk))
	}
	parts = append(parts, strings.NewReader("\x80\x03\"}}"), strings.NewReader("\x81\x28"+ping))
	s := newSocket(&wire{Reader: io.MultiReader(parts...)}, &ring{})
	msg, err := s.Read(t.Context())
	if r, ok := msg.(*jsonrpc.Response); !ok || fmt.Sprint(r.ID.Raw()) != "77" || r.Error == nil || !strings.Contains(r.Error.Error(), "was dropped") {
		t.Error(msg, err)
	}
	if msg, err := s.Read(t.Context()); err != nil {
		t.Error("the socket goes on:", msg, err)
	}
}

func FuzzSocket(f *testing.F) {
	f.Add([]byte("\x81\x02{}\x89\x00\x01\x01a\x80\x01b\x88\x02\x03\xe8"))
	f.Add([]byte("\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newSocket(&wire{Reader: bytes.NewReader(data)}, &ring{})
		for range 1000 {
			if _, err := s.Read(t.Context()); err != nil {
				return
			}
		}
	})
}
