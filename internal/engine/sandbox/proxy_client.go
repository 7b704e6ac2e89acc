package sandbox

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// maxRequestHead is the longest head of a request.
const maxRequestHead = 64 << 10

// client serves one connection of a command, in the protocol that its first byte shows.
func (p *proxyServer) client(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(RequestTimeout))
	limit := &io.LimitedReader{R: conn, N: maxRequestHead}
	br := bufio.NewReader(limit)
	first, err := br.Peek(1)
	switch {
	case err != nil:
	case first[0] == 5:
		p.socks(conn, br, limit)
	default:
		p.http(conn, br, limit)
	}
}

const unlimited = 1<<63 - 1

// http serves CONNECT, and plain requests for absolute http URLs.
func (p *proxyServer) http(conn net.Conn, br *bufio.Reader, limit *io.LimitedReader) {
	for {
		_ = conn.SetDeadline(time.Now().Add(RequestTimeout))
		limit.N = maxRequestHead
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		limit.N = unlimited
		if req.Method == http.MethodConnect {
			p.connectRequest(conn, br, req)
			return
		}
		if !p.forward(conn, req) {
			return
		}
	}
}

func (p *proxyServer) connectRequest(conn net.Conn, br *bufio.Reader, req *http.Request) {
	host, port, err := splitHostPort(req.Host, 443)
	if err != nil {
		answer(conn, http.StatusBadRequest, "sandbox: the request names no host and port")
		return
	}
	_ = conn.SetDeadline(time.Time{}) // a decision may take its time
	up, err := p.dial(p.ctx, host, port)
	if err != nil {
		answer(conn, statusOf(err), err.Error())
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		up.Close()
		return
	}
	p.splice(conn, br, up)
}

// hopHeaders concern one connection only.
var hopHeaders = []string{"Proxy-Connection", "Proxy-Authorization", "Proxy-Authenticate", "Connection", "Keep-Alive", "Te",
	"Trailer", "Upgrade"}

// forward passes one request on and reports whether the connection can serve another.
func (p *proxyServer) forward(conn net.Conn, req *http.Request) bool {
	if !strings.EqualFold(req.URL.Scheme, "http") || req.URL.Host == "" {
		answer(conn, http.StatusBadRequest, "sandbox: this is a proxy; it takes CONNECT and absolute http URLs")
		return false
	}
	host, port, err := splitHostPort(req.URL.Host, 80)
	if err != nil {
		answer(conn, http.StatusBadRequest, "sandbox: the request names no host and port")
		return false
	}
	_ = conn.SetDeadline(time.Time{})
	up, err := p.dial(p.ctx, host, port)
	if err != nil {
		answer(conn, statusOf(err), err.Error())
		return false
	}
	up = p.own(up)
	defer up.Close()
	keep := !req.Close
	if req.Header.Get("Expect") != "" {
		if _, err := io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return false
		}
		req.Header.Del("Expect")
	}
	for _, name := range strings.Split(req.Header.Get("Connection"), ",") {
		req.Header.Del(strings.TrimSpace(name))
	}
	for _, h := range hopHeaders {
		req.Header.Del(h)
	}
	req.Host = req.URL.Host // what was decided about is what the server is told
	req.Close = true
	sent := make(chan error, 1)
	go func() { sent <- req.Write(up) }() // ends with up, and is waited for
	whole := false                        // the request has been sent to its end
	defer func() {
		if !whole {
			up.Close()
			_ = conn.SetReadDeadline(time.Now()) // the rest of the request is not read any more
			<-sent
		}
	}()
	resp, err := finalResponse(bufio.NewReader(up), req)
	if err != nil {
		answer(conn, http.StatusBadGateway, "sandbox: the server's answer is not understood")
		return false
	}
	defer resp.Body.Close()
	for _, h := range hopHeaders {
		resp.Header.Del(h)
	}
	// A server that did not wait for the whole request leaves a rest that cannot be told from the next one.
	select {
	case err := <-sent:
		whole, keep = true, keep && err == nil
	case <-time.After(sendGrace):
		keep = false
	}
	keep = keep && (resp.ContentLength >= 0 || len(resp.TransferEncoding) > 0)
	resp.Close = !keep
	return resp.Write(conn) == nil && keep
}

// sendGrace is how long an answered request may still take to be sent.
const sendGrace = 50 * time.Millisecond

// finalResponse skips interim responses. A change of protocol is none that this proxy carries.
func finalResponse(br *bufio.Reader, req *http.Request) (*http.Response, error) {
	for range 8 {
		resp, err := http.ReadResponse(br, req)
		if err != nil || resp.StatusCode >= 200 {
			return resp, err
		}
		resp.Body.Close()
	}
	return nil, errors.New("too many interim responses")
}

func statusOf(err error) int {
	var refused *errRefused
	if errors.As(err, &refused) {
		return http.StatusForbidden
	}
	return http.StatusBadGateway
}

func answer(conn net.Conn, status int, text string) {
	_ = conn.SetDeadline(time.Now().Add(RequestTimeout))
	text += "\n"
	_, _ = io.WriteString(conn, "HTTP/1.1 "+strconv.Itoa(status)+" "+http.StatusText(status)+"\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: "+strconv.Itoa(len(text))+"\r\nConnection: close\r\n\r\n"+text)
}

func splitHostPort(s string, usual int) (string, int, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		if strings.Contains(s, ":") && !strings.HasSuffix(s, "]") {
			return "", 0, errHost
		}
		return s, usual, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", 0, errHost
	}
	return host, int(n), nil
}

// SOCKS5 answers.
const (
	socksOK          = 0
	socksFailed      = 1
	socksNotAllowed  = 2
	socksBadCommand  = 7
	socksBadAddrKind = 8
)

// socks serves SOCKS5, CONNECT only, without authentication.
func (p *proxyServer) socks(conn net.Conn, br *bufio.Reader, limit *io.LimitedReader) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(br, head); err != nil {
		return
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(br, methods); err != nil {
		return
	}
	if !strings.Contains(string(methods), "\x00") {
		_, _ = conn.Write([]byte{5, 0xff})
		return
	}
	if _, err := conn.Write([]byte{5, 0}); err != nil {
		return
	}
	reply := func(code byte) { _, _ = conn.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0}) }
	req := make([]byte, 4)
	if _, err := io.ReadFull(br, req); err != nil || req[0] != 5 {
		return
	}
	if req[1] != 1 {
		reply(socksBadCommand)
		return
	}
	n := map[byte]int{1: 4, 4: 16}[req[3]]
	if req[3] == 3 {
		b, err := br.ReadByte()
		if err != nil {
			return
		}
		n = int(b)
	} else if n == 0 {
		reply(socksBadAddrKind)
		return
	}
	addr := make([]byte, n+2)
	if _, err := io.ReadFull(br, addr); err != nil {
		return
	}
	host := string(addr[:n])
	if req[3] != 3 {
		ip, _ := netip.AddrFromSlice(addr[:n])
		host = ip.String()
	}
	_ = conn.SetDeadline(time.Time{})
	limit.N = unlimited
	up, err := p.dial(p.ctx, host, int(binary.BigEndian.Uint16(addr[n:])))
	if err != nil {
		if statusOf(err) == http.StatusForbidden {
			reply(socksNotAllowed)
		} else {
			reply(socksFailed)
		}
		return
	}
	reply(socksOK)
	p.splice(conn, br, up)
}

// splice carries bytes both ways until both have ended.
func (p *proxyServer) splice(conn net.Conn, fromClient io.Reader, up net.Conn) {
	_ = conn.SetDeadline(time.Time{})
	half := func(dst net.Conn, src io.Reader) {
		_, err := io.Copy(dst, src)
		if c, ok := dst.(interface{ CloseWrite() error }); ok && err == nil {
			_ = c.CloseWrite()
			return
		}
		conn.Close()
		up.Close()
	}
	up = p.own(up)
	defer up.Close()
	done := make(chan struct{})
	go func() { // waited for below
		defer close(done)
		half(conn, up)
	}()
	half(up, fromClient)
	<-done
}
