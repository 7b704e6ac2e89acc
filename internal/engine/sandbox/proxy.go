package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Limits of the proxy.
const (
	MaxProxyConns   = 512              // connections at a time; more are closed at once
	MaxDecisions    = 4096             // remembered hosts; past it all are forgotten
	DialTimeout     = 15 * time.Second // to look up a host and to reach one of its addresses
	RequestTimeout  = 30 * time.Second // for a client to say what it wants
	maxSocketPath   = 100              // a Unix socket's path is at most 107 bytes long
	maxDialAttempts = 4                // addresses tried of one host
)

// proxyServer carries connections of sandboxed commands to the hosts that are decided to be allowed.
type proxyServer struct {
	policy  NetworkPolicy
	dir     string
	socket  string // where listening sockets are handed in
	port    int    // where commands find it
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	slots   chan struct{}
	lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
	connect func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)

	mu        sync.Mutex
	closers   map[interface{ Close() error }]struct{}
	closed    bool
	decisions map[string]*decision
}

// decision is the answer about one host and port, once done is closed.
type decision struct {
	done  chan struct{}
	allow bool
}

func startProxy(policy NetworkPolicy, tcp bool) (*proxyServer, error) {
	p := &proxyServer{policy: policy, slots: make(chan struct{}, MaxProxyConns), closers: map[interface{ Close() error }]struct{}{},
		decisions: map[string]*decision{}}
	p.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	p.connect = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", addr.String())
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	var ln net.Listener
	var err error
	if tcp {
		if ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("starting the sandbox's proxy: %w", err)
		}
		p.port = ln.Addr().(*net.TCPAddr).Port
		p.start(func() { p.serve(ln) }, ln)
		return p, nil
	}
	for _, base := range []string{os.TempDir(), "/tmp"} {
		if p.dir, err = os.MkdirTemp(base, "sevengate-net-"); err != nil {
			continue
		}
		p.socket = filepath.Join(p.dir, "proxy")
		if len(p.socket) <= maxSocketPath {
			break
		}
		os.Remove(p.dir)
		err = errors.New("the path of the temporary directory is too long for a socket")
	}
	if err == nil {
		ln, err = net.ListenUnix("unix", &net.UnixAddr{Name: p.socket, Net: "unix"})
	}
	if err != nil {
		return nil, fmt.Errorf("starting the sandbox's proxy: %w", err)
	}
	p.port = insidePort
	p.start(func() { p.register(ln.(*net.UnixListener)) }, ln)
	return p, nil
}

// start runs f in a goroutine that close waits for, and closes c with the proxy or after f.
func (p *proxyServer) start(f func(), c interface{ Close() error }) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		c.Close()
		return
	}
	p.closers[c] = struct{}{}
	p.wg.Add(1)
	p.mu.Unlock()
	go func() {
		defer p.wg.Done()
		defer func() {
			p.mu.Lock()
			delete(p.closers, c)
			p.mu.Unlock()
			c.Close()
		}()
		f()
	}()
}

// own makes a connection end with the proxy. Whoever gets it closes it.
func (p *proxyServer) own(conn net.Conn) net.Conn {
	o := &owned{Conn: conn, p: p}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		conn.Close()
	} else {
		p.closers[o.Conn] = struct{}{}
	}
	return o
}

// owned is a connection that the proxy closes at its end.
type owned struct {
	net.Conn
	p *proxyServer
}

func (o *owned) Close() error {
	o.p.mu.Lock()
	delete(o.p.closers, o.Conn)
	o.p.mu.Unlock()
	return o.Conn.Close()
}

func (o *owned) CloseWrite() error {
	if c, ok := o.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return o.Close()
}

func (p *proxyServer) close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.closers {
		c.Close()
	}
	p.mu.Unlock()
	p.cancel()
	p.wg.Wait()
	if p.dir != "" {
		return os.RemoveAll(p.dir)
	}
	return nil
}

func (p *proxyServer) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.decisions)
}

// serve accepts the connections of commands.
func (p *proxyServer) serve(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || p.ctx.Err() != nil {
				return
			}
			select {
			case <-p.ctx.Done():
				return
			case <-time.After(10 * time.Millisecond): // out of descriptors, perhaps
			}
			continue
		}
		select {
		case p.slots <- struct{}{}:
			p.start(func() {
				defer func() { <-p.slots }()
				p.client(conn)
			}, conn)
		default:
			conn.Close()
		}
	}
}

// errRefused is shown to the command.
type errRefused struct{ why string }

func (e *errRefused) Error() string { return e.why }

// allowed asks about a host, or remembers.
func (p *proxyServer) allowed(ctx context.Context, host string, port int) bool {
	key := net.JoinHostPort(host, strconv.Itoa(port))
	p.mu.Lock()
	d := p.decisions[key]
	if d == nil {
		if len(p.decisions) >= MaxDecisions {
			clear(p.decisions)
		}
		d = &decision{done: make(chan struct{})}
		p.decisions[key] = d
		p.mu.Unlock()
		func() {
			defer close(d.done)
			defer func() {
				if recover() != nil { // a decision that crashes is none
					d.allow = false
				}
			}()
			d.allow = p.policy.Decide(p.ctx, host, port)
		}()
		return d.allow && p.ctx.Err() == nil
	}
	p.mu.Unlock()
	select {
	case <-d.done:
		return d.allow
	case <-ctx.Done():
		return false
	}
}

// dial decides about a host and connects to it. Names are looked up here, once, so that what was checked is what is
// connected to.
func (p *proxyServer) dial(ctx context.Context, rawHost string, port int) (net.Conn, error) {
	host, err := NormalizeHost(rawHost)
	if err != nil || port < 1 || port > 65535 {
		return nil, &errRefused{fmt.Sprintf("sandbox: %.100q is not a host and port", net.JoinHostPort(rawHost, strconv.Itoa(port)))}
	}
	if !p.allowed(ctx, host, port) {
		return nil, &errRefused{"sandbox: connections to " + net.JoinHostPort(host, strconv.Itoa(port)) + " are not allowed"}
	}
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	p.mu.Lock()
	lookup, connect := p.lookup, p.connect
	p.mu.Unlock()
	var addrs []netip.Addr
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{addr}
	} else if addrs, err = lookup(ctx, host); err != nil {
		return nil, fmt.Errorf("looking up %s: %w", host, err)
	}
	good := 0
	err = &errRefused{"sandbox: " + host + " is at an address that is not on the public internet, which is not allowed"}
	for _, addr := range addrs {
		addr = addr.Unmap()
		if !public(addr) && (p.policy.AllowPrivate == nil || !p.policy.AllowPrivate(host, port, addr)) {
			continue
		}
		if good++; good > maxDialAttempts {
			break
		}
		conn, dialErr := connect(ctx, netip.AddrPortFrom(addr, uint16(port)))
		if dialErr == nil {
			return conn, nil
		}
		err = fmt.Errorf("connecting to %s: %w", host, dialErr)
	}
	return nil, err
}
