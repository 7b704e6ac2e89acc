package sandbox

import (
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// insidePort is where commands find the proxy.
const insidePort = 17917

// register takes in the listening sockets that commands' sandboxes hand over: a socket that listens in a network
// namespace of its own can be served from here, with nothing running inside for it.
func (p *proxyServer) register(ln *net.UnixListener) {
	for {
		conn, err := ln.AcceptUnix()
		if err != nil {
			if p.ctx.Err() != nil {
				return
			}
			select {
			case <-p.ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
			p.mu.Lock()
			closed := p.closed
			p.mu.Unlock()
			if closed {
				return
			}
			continue
		}
		p.start(func() { p.sandboxed(conn) }, conn)
	}
}

// sandboxed serves one sandbox, as long as its first process holds the connection.
func (p *proxyServer) sandboxed(conn *net.UnixConn) {
	_ = conn.SetReadDeadline(time.Now().Add(RequestTimeout))
	buf, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.ReadMsgUnix(buf, oob)
	if err != nil {
		return
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return
	}
	f := os.NewFile(uintptr(fds[0]), "sandbox listener")
	unix.CloseOnExec(fds[0])
	ln, err := net.FileListener(f)
	f.Close()
	if err != nil {
		return
	}
	p.start(func() { p.serve(ln) }, ln)
	_ = conn.SetReadDeadline(time.Time{})
	_, _ = conn.Read(buf) // ends when the sandbox has
	ln.Close()
}
