package permission

import (
	"errors"
	"net/url"
	"strings"
)

// domainPattern is the compiled specifier of a rule for addresses:
// "domain:HOST", where "*." at the beginning stands for subdomains of any
// depth, and a star elsewhere for part of one label.
type domainPattern struct {
	any    bool
	labels []string
	deep   bool // began with "*."
}

func compileDomain(spec string) (*domainPattern, error) {
	host, ok := strings.CutPrefix(strings.TrimSpace(spec), "domain:")
	if !ok {
		return nil, errors.New("rules for addresses have the form domain:HOST")
	}
	host = cleanHost(host)
	switch {
	case host == "":
		return nil, errors.New("the host is missing")
	case host == "*":
		return &domainPattern{any: true}, nil
	case strings.ContainsAny(host, "/ @?#"):
		return nil, errors.New("only a host can stand after domain:, without scheme, port or path")
	}
	p := &domainPattern{}
	if rest, ok := strings.CutPrefix(host, "*."); ok {
		p.deep, host = true, rest
	}
	p.labels = hostLabels(host)
	return p, nil
}

func cleanHost(host string) string {
	host = strings.ToLower(strings.TrimSpace(host))
	return strings.TrimSuffix(host, ".")
}

// hostLabels splits at dots; an IPv6 address is one label.
func hostLabels(host string) []string {
	if strings.HasPrefix(host, "[") || strings.Count(host, ":") > 1 {
		return []string{strings.Trim(host, "[]")}
	}
	return strings.Split(host, ".")
}

// hostOf gives the host of an address as rules compare it.
func hostOf(address string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return "", errors.New("the address cannot be read")
	}
	host := cleanHost(u.Hostname())
	if host == "" {
		return "", errors.New("the address names no host")
	}
	return host, nil
}

func (p *domainPattern) matches(host string) bool {
	if p.any {
		return true
	}
	labels := hostLabels(host)
	if p.deep {
		if len(labels) <= len(p.labels) {
			return false
		}
		labels = labels[len(labels)-len(p.labels):]
	}
	if len(labels) != len(p.labels) {
		return false
	}
	for i, want := range p.labels {
		if labels[i] == "" || !matchStar(want, labels[i]) {
			return false
		}
	}
	return true
}
