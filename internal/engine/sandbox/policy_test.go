package sandbox

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sevengate/sevengate/internal/engine/sandbox/inner"
)

func TestPolicyErrors(t *testing.T) {
	for name, p := range map[string]Policy{
		"relative": {Write: []string{"x"}}, "nul": {ReadDeny: []string{"/a\x00b"}}, "tmp": {TmpDir: "tmp"}, "env": {Env: []string{"X"}},
		"descriptor": {Pass: []int{2}}, "descriptor high": {Pass: []int{inner.MaxFD + 1}}, "proxy": {Network: NetworkPolicy{Mode: NetworkProxy}},
		"mode": {Network: NetworkPolicy{Mode: 9}}, "many": {Write: make([]string, MaxPaths+1)},
	} {
		if _, err := p.check(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMatchDomain(t *testing.T) {
	for _, c := range []struct {
		pattern, host string
		port          int
		want          bool
	}{
		{"example.com", "example.com", 443, true}, {"example.com", "EXAMPLE.com.", 443, true}, {"Example.COM.", "example.com", 80, true},
		{"example.com", "www.example.com", 443, false}, {"example.com", "evilexample.com", 443, false},
		{"*.example.com", "www.example.com", 443, true}, {"*.example.com", "a.b.example.com", 443, true},
		{"*.example.com", "example.com", 443, false}, {"*.example.com", "evilexample.com", 443, false},
		{"*.example.com", "www.example.com.", 443, true}, {"*.example.com", "www.example.com.evil.org", 443, false},
		{"example.com:443", "example.com", 443, true}, {"example.com:443", "example.com", 80, false}, {"*.example.com:8080", "a.example.com", 8080, true},
		{"example.com:x", "example.com", 443, false}, {"example.com:", "example.com", 443, false},
		{"[::1]:443", "::1", 443, true}, {"[::1]:443", "[0:0::1]", 443, true}, {"[::1]", "::1", 22, true}, {"[::1]:443", "::1", 80, false},
		{"::1", "[::1]", 443, true}, {"[::1", "::1", 1, false}, {"[::1]x", "::1", 1, false},
		{"127.0.0.1", "::ffff:127.0.0.1", 1, true}, {"*.0.0.1", "127.0.0.1", 1, false},
		{"*", "anything.org", 1, true}, {"*", "bad host", 1, false}, {"*:443", "x", 443, true}, {"*:443", "x", 80, false},
		{"", "x", 1, false}, {"*.", "x", 1, false}, {"a.*", "a.b", 1, false}, {"example.com", "", 1, false}, {"example.com", "example.com..", 1, false},
	} {
		if got := MatchDomain(c.pattern, c.host, c.port); got != c.want {
			t.Errorf("MatchDomain(%q, %q, %d) = %v", c.pattern, c.host, c.port, got)
		}
	}
}

func FuzzNormalizeHost(f *testing.F) {
	for _, s := range []string{"a.b", "A.b.", "[::1]", "127.0.0.1", "fe80::1%eth0", "a..b", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := NormalizeHost(s)
		if err != nil {
			return
		}
		if again, err := NormalizeHost(h); err != nil || again != h || strings.ToLower(h) != h || strings.ContainsAny(h, " /\\@%[]\r\n\x00") {
			t.Errorf("%q → %q → %q %v", s, h, again, err)
		}
	})
}

func TestPublic(t *testing.T) {
	for addr, want := range map[string]bool{
		"1.1.1.1": true, "8.8.8.8": true, "2606:4700::1111": true, "127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.100.100.200": false, "0.0.0.0": false, "255.255.255.255": false, "224.0.0.1": false, "198.18.0.1": false,
		"::1": false, "::": false, "fe80::1": false, "fd00:ec2::254": false, "fc00::1": false, "::ffff:10.0.0.1": false, "64:ff9b::7f00:1": false,
		"2002:7f00:1::": false, "2001::1": false, "ff02::1": false, "::7f00:1": false, "168.63.129.16": false,
	} {
		if got := public(netip.MustParseAddr(addr)); got != want {
			t.Errorf("public(%s) = %v", addr, got)
		}
	}
}

// TestViewProperty: whatever the policy, the layers give each path the access that the longest rule says.
func TestViewProperty(t *testing.T) {
	top := realTemp(t)
	names := []string{"/a", "/a/b", "/a/b/c", "/a/b/d", "/a/e", "/f", "/f/g", "/f/g/h"}
	for _, n := range names {
		if err := os.MkdirAll(top+n, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (out []string) {
			for _, n := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, label) {
				out = append(out, top+n)
			}
			return out
		}
		p := Policy{Write: draw("write"), WriteDeny: draw("writeDeny"), ReadDeny: draw("readDeny"), AllowRead: draw("allowRead")}
		v := makeView(p, p.roots())
		for _, n := range names {
			path := top + n
			// What the layers do to the path, by playing them.
			got := access{read: true}
			for _, l := range v.layers {
				if !within(path, l.Path) {
					continue
				}
				switch l.Kind {
				case inner.Writable:
					got = access{true, true}
				case inner.ReadOnly:
					got = access{true, false}
				case inner.HideDir, inner.HideFile:
					got = access{}
				}
			}
			deny, show := longest(path, p.ReadDeny), max(longest(path, p.AllowRead), longest(path, p.Write))
			want := access{read: deny < 0 || show > deny}
			want.write = want.read && longest(path, p.Write) > longest(path, p.WriteDeny)
			if got != want {
				t.Fatalf("%s: %+v, want %+v\n%+v\n%+v", n, got, want, p, v.layers)
			}
			if want.write != (longest(path, v.write) >= 0) && want.write {
				t.Fatalf("%s is not among what Landlock lets write: %v", n, v.write)
			}
		}
		seen := map[string]bool{}
		for _, l := range v.layers { // a place inside a covered directory is made before it is used, and once
			key := string(l.Kind) + l.Path
			if seen[key] {
				t.Fatalf("twice: %s", key)
			}
			seen[key] = true
		}
	})
}
