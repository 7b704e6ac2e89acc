package sandbox

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/proxy"
)

var allowAll = NetworkPolicy{Mode: NetworkProxy, Decide: func(context.Context, string, int) bool { return true },
	AllowPrivate: func(string, int, netip.Addr) bool { return true }}

// fakeNet is a proxy on TCP whose names and connections are the test's.
func fakeNet(t *testing.T, policy NetworkPolicy, hosts map[string]string) (*proxyServer, *url.URL) {
	t.Helper()
	p, err := startProxy(policy, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	p.mu.Lock()
	p.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		if a := hosts[host]; a != "" {
			return []netip.Addr{netip.MustParseAddr(a)}, nil
		}
		return nil, errors.New("no such host")
	}
	p.mu.Unlock()
	u, _ := url.Parse("http://127.0.0.1:" + strconv.Itoa(p.port))
	return p, u
}

func TestProxy(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+" "+r.Host+" "+string(b)+r.Header.Get("Proxy-Connection"))
	}))
	defer server.Close()
	tls := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secure") }))
	defer tls.Close()
	var asked atomic.Int32
	policy := NetworkPolicy{Mode: NetworkProxy, Decide: func(_ context.Context, host string, port int) bool {
		asked.Add(1)
		if host == "crash.example" {
			panic("x")
		}
		return strings.HasSuffix(host, "good.example") || host == "private.example" || host == "1.1.1.1" || host == "169.254.169.254"
	}}
	p, u := fakeNet(t, policy, map[string]string{"good.example": "1.1.1.1", "private.example": "10.0.0.1", "six.good.example": "::ffff:127.0.0.1"})
	p.mu.Lock()
	p.connect = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
		target := server.Listener.Addr().String()
		if addr.Port() == 443 {
			target = tls.Listener.Addr().String()
		}
		if addr.Addr() != netip.MustParseAddr("1.1.1.1") {
			t.Errorf("connection to %v", addr)
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", target)
	}
	p.mu.Unlock()
	transport := tls.Client().Transport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(u)
	transport.TLSClientConfig.InsecureSkipVerify = true
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	get := func(url string) (string, int) {
		resp, err := client.Get(url)
		if err != nil {
			return err.Error(), 0
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b), resp.StatusCode
	}
	for range 3 { // by one connection
		if body, code := get("http://good.example/"); code != 200 || body != "GET good.example " {
			t.Errorf("%d %q", code, body)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if resp, err := client.Post("http://GOOD.example.:80/", "text/plain", strings.NewReader(strings.Repeat("b", 100000))); err != nil {
		t.Error(err)
	} else {
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if len(b) < 100000 || asked.Load() != 1 {
			t.Errorf("%d bytes, asked %d", len(b), asked.Load())
		}
	}
	if body, code := get("https://good.example/"); code != 200 || body != "secure" {
		t.Errorf("%d %q", code, body)
	}
	for _, bad := range []string{"http://evil.example/", "http://private.example/", "http://six.good.example/", "http://crash.example/",
		"http://169.254.169.254/latest/meta-data/", "http://127.0.0.1.nip.example/", "http://[fe80::1]/"} {
		if body, code := get(bad); code != http.StatusForbidden {
			t.Errorf("%s: %d %q", bad, code, body)
		}
	}
	if body, _ := get("https://evil.example/"); !strings.Contains(body, "Forbidden") {
		t.Errorf("%q", body)
	}
	p.forget()
	before := asked.Load()
	get("http://good.example/")
	if asked.Load() != before+1 {
		t.Error("not asked again")
	}

	socks, err := proxy.SOCKS5("tcp", u.Host, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := socks.Dial("tcp", "good.example:80")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET / HTTP/1.0\r\nHost: x\r\n\r\n")
	b, _ := io.ReadAll(conn)
	conn.Close()
	if !strings.HasSuffix(string(b), "GET x ") {
		t.Errorf("%q", b)
	}
	for _, addr := range []string{"evil.example:80", "127.0.0.1:80", "[::1]:80", "private.example:80"} {
		if c, err := socks.Dial("tcp", addr); err == nil {
			c.Close()
			t.Errorf("%s: no error", addr)
		}
	}
}

// TestProxyGarbage: what is no request reaches nothing.
func TestProxyGarbage(t *testing.T) {
	policy := NetworkPolicy{Mode: NetworkProxy, Decide: func(context.Context, string, int) bool { return true }}
	_, u := fakeNet(t, policy, nil)
	for _, text := range []string{"\x05\x01\x02", "\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", "\x05\x01\x00\x05\x01\x00\x09",
		"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n", "CONNECT good.example:0 HTTP/1.1\r\n\r\n", "CONNECT a:b:c HTTP/1.1\r\n\r\n",
		"\x00\x01\x02", "GET http://" + strings.Repeat("a", 70000), "GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n"} {
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, text)
		_ = conn.(*net.TCPConn).CloseWrite()
		b, _ := io.ReadAll(conn)
		conn.Close()
		if strings.Contains(string(b), " 200 ") || strings.HasSuffix(string(b), "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00") {
			t.Errorf("%.40q: %q", text, b)
		}
	}
}
