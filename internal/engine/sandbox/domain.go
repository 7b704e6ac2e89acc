package sandbox

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"sync"
)

var errHost = errors.New("not a host name or an IP address")

// maxHost is the length of the longest host name.
const maxHost = 253

// NormalizeHost returns the one spelling of a host under which it is decided about: lower case, without a trailing dot,
// IP addresses in their shortest form without brackets. Names must be ASCII (international ones in their xn-- form).
func NormalizeHost(host string) (string, error) {
	bare := host
	if inside, ok := strings.CutPrefix(host, "["); ok {
		if bare, ok = strings.CutSuffix(inside, "]"); !ok {
			return "", errHost
		}
	}
	if addr, err := netip.ParseAddr(bare); err == nil {
		if addr.Zone() != "" {
			return "", errHost
		}
		return addr.Unmap().String(), nil
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || len(host) > maxHost {
		return "", errHost
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 {
			return "", errHost
		}
		for i := 0; i < len(label); i++ {
			c := label[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return "", errHost
			}
		}
	}
	return host, nil
}

// MatchDomain reports whether a pattern covers a host and port. Patterns are HOST, *.HOST (any depth below, not HOST
// itself), * (every host), [IPv6], each with or without :PORT. Case and a trailing dot do not matter. A pattern that is none of these
// covers nothing.
func MatchDomain(pattern, host string, port int) bool {
	name, wanted := pattern, ""
	if strings.HasPrefix(pattern, "[") {
		i := strings.IndexByte(pattern, ']')
		if i < 0 {
			return false
		}
		name, wanted = pattern[:i+1], pattern[i+1:]
	} else if i := strings.IndexByte(pattern, ':'); i >= 0 && strings.Count(pattern, ":") == 1 {
		name, wanted = pattern[:i], pattern[i:]
	}
	if wanted != "" {
		n, err := strconv.ParseUint(strings.TrimPrefix(wanted, ":"), 10, 16)
		if wanted[0] != ':' || err != nil || int(n) != port {
			return false
		}
	}
	host, err := NormalizeHost(host)
	if err != nil {
		return false
	}
	if name == "*" {
		return true
	}
	if below, ok := strings.CutPrefix(name, "*."); ok {
		below, err := NormalizeHost(below)
		if _, ip := netip.ParseAddr(host); err != nil || ip == nil {
			return false
		}
		return strings.HasSuffix(host, "."+below)
	}
	name, err = NormalizeHost(name)
	return err == nil && name == host
}

// specialPrefixes are addresses that are not on the public internet beyond those that netip knows.
var specialPrefixes = sync.OnceValue(func() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
		netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("168.63.129.16/32"), // a cloud's metadata service at a public address
		// IPv6: everything but 2000::/3 is refused below; of that, what carries an IPv4 address or is for documentation:
		netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"),
		netip.MustParsePrefix("3fff::/20"),
	}
})

// public reports whether an address is on the public internet.
func public(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.Zone() != "" || !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	if addr.Is6() && addr.As16()[0]>>5 != 1 {
		return false
	}
	for _, p := range specialPrefixes() {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}
