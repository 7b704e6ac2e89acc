//go:build amd64 || arm64

package sandbox

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestProxyInside reaches the proxy from inside, the only way out.
func TestProxyInside(t *testing.T) {
	eachEngine(t, proxyInside)
}

func proxyInside(t *testing.T, bubblewrap string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello "+r.Host) }))
	defer server.Close()
	dir := realTemp(t)
	policy := Policy{Write: []string{dir}, Bubblewrap: bubblewrap, Network: NetworkPolicy{Mode: NetworkProxy,
		Decide: func(_ context.Context, host string, port int) bool {
			return MatchDomain("*.example.com", host, port)
		}}}
	s := prepared(t, policy)
	s.proxy.mu.Lock()
	s.proxy.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		if host == "bad.example.com" {
			return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("1.1.1.1")}, nil
	}
	s.proxy.connect = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", server.Listener.Addr().String())
	}
	s.proxy.mu.Unlock()
	const get = `get() { exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf 'GET http://%s/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' $1 >&3 && cat <&3; exec 3>&-; }; `
	out, code := sh(t, s, dir, get+`get a.example.com; get evil.org; get bad.example.com; echo; env | grep -ic proxy=`)
	if code != 0 || !strings.Contains(out, "hello a.example.com") || strings.Count(out, "403 Forbidden") != 2 || strings.Contains(out, "hello evil") {
		t.Errorf("code %d: %s", code, out)
	}
	for _, direct := range []string{`exec 3<>/dev/tcp/` + strings.Replace(server.Listener.Addr().String(), ":", "/", 1), `exec 3<>/dev/tcp/1.1.1.1/80`, `echo x >/dev/udp/1.1.1.1/53`} {
		if out, code := sh(t, s, dir, direct); code == 0 {
			t.Errorf("%s: %s", direct, out)
		}
	}
	// Sandboxes of one Policy do not see each other's loopback, and what is left behind still reaches the proxy.
	out, code = sh(t, s, dir, get+`(while [ ! -e go ]; do sleep 0.01; done; get b.example.com > left; mv left done) >/dev/null 2>&1 &`)
	if code != 0 {
		t.Fatal(out)
	}
	write(t, dir+"/go", "")
	for end := time.Now().Add(hangGuard); !strings.Contains(read(t, dir+"/done"), "hello b.example.com"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(read(t, dir+"/done"), read(t, dir+"/left"))
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Wrap(); err != ErrClosed {
		t.Error(err)
	}
}

// TestNetworkOpen and Unix sockets: what is given works.
func TestNetworkOpen(t *testing.T) {
	eachEngine(t, networkOpen)
}

func networkOpen(t *testing.T, bubblewrap string) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	dir := realTemp(t)
	stream, err := net.Listen("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	s := prepared(t, Policy{Write: []string{dir}, Network: NetworkPolicy{Mode: NetworkOpen}, UnixSockets: true, Bubblewrap: bubblewrap})
	for name, arg := range map[string]string{"tcp": tcp.Addr().String(), "unix-socket": dir + "/s"} {
		if out, code := sh(t, s, dir, attackVar+"="+name+"="+arg+" "+exePath(t)); code != 1 || !strings.Contains(out, escaped) {
			t.Errorf("%s: code %d %s", name, code, out)
		}
	}
	// Everything writable is still without devices, other processes and the kernel's switches.
	all := prepared(t, Policy{Write: []string{"/"}, WriteDeny: []string{dir}, Bubblewrap: bubblewrap})
	out, code := sh(t, all, "/tmp", `f=$(mktemp) && rm $f && ! echo x > `+dir+`/x && [ ! -w /proc/sys/kernel/core_pattern ] && ! touch /sys/x && ! mv `+dir+` `+dir+`2`)
	if code != 0 || read(t, dir+"/x") == "x\n" {
		t.Errorf("code %d: %s", code, out)
	}
}
