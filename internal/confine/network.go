package confine

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sevengate/sevengate/internal/engine/sandbox"
	"github.com/sevengate/sevengate/tool"
)

// maxRefusals is how many refused hosts are remembered for the commands that run.
const maxRefusals = 100

// network is the part of the policy that is about hosts.
func (k *Keeper) network(w *walls) sandbox.NetworkPolicy {
	return sandbox.NetworkPolicy{Mode: sandbox.NetworkProxy, AllowPrivate: k.private(w), Decide: func(ctx context.Context, host string, port int) bool {
		allow, why := k.host(ctx, w.options, host, port)
		if !allow {
			k.refused.add(net.JoinHostPort(host, strconv.Itoa(port)), why)
		}
		return allow
	}}
}

// host decides about one host.
func (k *Keeper) host(ctx context.Context, o *options, host string, port int) (allow bool, why string) {
	matches := func(list []string) string {
		i := slices.IndexFunc(list, func(p string) bool { return sandbox.MatchDomain(p, host, port) })
		if i < 0 {
			return ""
		}
		return list[i]
	}
	if p := matches(o.deniedHosts); p != "" {
		return false, fmt.Sprintf("sandbox.network.deniedDomains has %q", p)
	}
	behavior, where := k.cfg.Rules.Host(host)
	if behavior == tool.Deny {
		return false, "denied " + where
	}
	if matches(o.allowedHosts) != "" {
		return true, ""
	}
	if o.managedHostsOnly {
		return false, "only the hosts that an administrator lists in sandbox.network.allowedDomains may be reached"
	}
	if behavior == tool.Allow {
		return true, ""
	}
	accepted := fmt.Sprintf("sandbox.network.allowedDomains or a rule WebFetch(domain:%s) would allow it", host)
	if o.strictHosts {
		return false, "sandbox.network.strictAllowlist refuses what is not listed; sandbox.network.allowedDomains would allow it"
	}
	if k.cfg.AskHost == nil {
		return false, "nobody is there to ask; " + accepted
	}
	allow, why = k.cfg.AskHost(ctx, host, port)
	if !allow && why == "" {
		why = accepted
	}
	return allow, why
}

// refusals are the hosts that were refused, in order.
type refusals struct {
	mu    sync.Mutex
	first int // number of list[0]
	list  []string
}

func (r *refusals) add(host, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, host+" ("+why+")")
	if len(r.list) > maxRefusals {
		r.list, r.first = r.list[1:], r.first+1
	}
}

// now numbers the next refusal.
func (r *refusals) now() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first + len(r.list)
}

// since lists refusals from a number on.
func (r *refusals) since(n int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.list[max(0, min(n-r.first, len(r.list))):])
	slices.Sort(list)
	return slices.Compact(list)
}

// ignores drops messages that the settings call not worth telling for a command.
func (o *options) ignores(command string, messages []string) []string {
	for part, list := range o.ignore {
		if part != "*" && !strings.Contains(command, part) {
			continue
		}
		messages = slices.DeleteFunc(messages, func(m string) bool {
			return slices.ContainsFunc(list, func(s string) bool { return s != "" && strings.Contains(m, s) })
		})
	}
	return messages
}
