package confine

import (
	"context"
	"net/netip"
	"strings"
	"testing"
)

// TestHosts: denials first, then the lists, then the rules, then the person.
func TestHosts(t *testing.T) {
	p := newPlace(t)
	p.user(`{"sandbox":{"network":{"allowedDomains":["*.ok.example","ok.example:443","10.1.2.3","*"],"deniedDomains":["bad.ok.example"]}},
		"permissions":{"deny":["WebFetch(domain:rule.ok.example)"]}}`)
	k := p.keeper(nil)
	o := read(k.cfg.Settings())
	ask := func(k *Keeper, o *options, host string, port int) (bool, string) {
		return k.host(context.Background(), o, host, port)
	}
	for host, want := range map[string]bool{"a.ok.example": true, "bad.ok.example": false, "rule.ok.example": false, "other.example": true} {
		if got, why := ask(k, o, host, 443); got != want {
			t.Errorf("%s: %v (%s)", host, got, why)
		}
	}
	private := k.private(&walls{options: o})
	addr := netip.MustParseAddr("10.1.2.3")
	for host, want := range map[string]bool{"a.ok.example": true, "10.1.2.3": true, "other.example": false} {
		if got := private(host, 443, addr); got != want {
			t.Errorf("%s at a private address: %v", host, got)
		}
	}

	p.user(`{"sandbox":{"network":{"allowedDomains":["ok.example"]}},"permissions":{"allow":["WebFetch(domain:rule.example)"]}}`)
	asked := ""
	k = p.keeper(func(c *Config) {
		c.AskHost = func(_ context.Context, host string, _ int) (bool, string) {
			asked += host
			return host == "yes.example", ""
		}
	})
	o = read(k.cfg.Settings())
	for host, want := range map[string]bool{"ok.example": true, "rule.example": true, "yes.example": true} {
		if got, _ := ask(k, o, host, 443); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
	if ok, why := ask(k, o, "no.example", 443); ok || !strings.Contains(why, "WebFetch(domain:no.example)") {
		t.Errorf("no.example: %v (%s)", ok, why)
	}
	if strings.Contains(asked, "ok.example") || strings.Contains(asked, "rule.example") {
		t.Errorf("asked for %s", asked)
	}
	o.strictHosts = true
	if ok, why := ask(k, o, "yes.example", 443); ok || !strings.Contains(why, "strictAllowlist") {
		t.Errorf("strict: %v (%s)", ok, why)
	}
	o.managedHostsOnly = true
	if ok, why := ask(k, o, "rule.example", 443); ok || !strings.Contains(why, "administrator") {
		t.Errorf("managed only: %v (%s)", ok, why)
	}
}

func TestRefusals(t *testing.T) {
	var r refusals
	n := r.now()
	r.add("b:1", "x")
	r.add("a:1", "x")
	r.add("a:1", "x")
	if got := r.since(n); len(got) != 2 || got[0] != "a:1 (x)" {
		t.Errorf("%q", got)
	}
	n = r.now()
	for range 3 * maxRefusals {
		r.add("c:1", "x")
	}
	if got := r.since(n); len(got) != 1 || got[0] != "c:1 (x)" {
		t.Errorf("%q", got)
	}
	if got := r.since(r.now()); len(got) != 0 {
		t.Errorf("%q", got)
	}
	o := &options{ignore: map[string][]string{"npm": {"registry"}, "*": {"metrics"}}}
	if got := o.ignores("npm test", []string{"registry.x:443 (no)", "metrics.x:443 (no)", "z:1 (no)"}); len(got) != 1 || got[0] != "z:1 (no)" {
		t.Errorf("%q", got)
	}
}
