package config

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Policy is what settings and the person's own choices say about which servers
// may run. The zero Policy starts everything but servers of a repository.
type Policy struct {
	// Allowed and Denied are the lists of allowedMcpServers and
	// deniedMcpServers. Limited tells that there is an allow list at all.
	Limited         bool
	Allowed, Denied []Entry
	// EnableAll and Enabled approve servers of the repository by name, Rejected
	// turns them down.
	EnableAll         bool
	Enabled, Rejected []string
	// NoQuestions starts a repository's servers without approval: nobody is
	// there to ask and the person chose to run here.
	NoQuestions bool
	// Approved tells whether the person approved exactly this entry. May be
	// nil.
	Approved func(*Server) bool
	// Disabled are servers that the person switched off for this project.
	Disabled []string
}

// Entry of an allow or deny list: exactly one field is set.
type Entry struct {
	Name    string
	URL     string
	Command []string
}

// PolicyFrom reads the settings' keys about MCP servers, as
// settings.Settings.MCP gives them. In a folder that is not trusted, approvals
// in settings do not count: the repository could have written them. What
// cannot be read closes the door: an unreadable allow list allows nothing.
//
// Where allowManagedMcpServersOnly is on, the merged allow list does not count,
// but the administrator's own in [ManagedAllowKey]; JSON null there says that
// the administrator has none, and then all are allowed.
func PolicyFrom(keys map[string]json.RawMessage, trusted bool, lookup func(string) (string, bool)) Policy {
	var p Policy
	names := func(key string) (out []string) {
		_ = json.Unmarshal(keys[key], &out)
		return out
	}
	if trusted {
		_ = json.Unmarshal(keys["enableAllProjectMcpServers"], &p.EnableAll)
		p.Enabled = names("enabledMcpjsonServers")
	}
	p.Rejected = names("disabledMcpjsonServers")
	x := &expander{lookup: lookup}
	key := "allowedMcpServers"
	if closed(keys["allowManagedMcpServersOnly"]) {
		key = ManagedAllowKey
		p.Limited = true // unless the administrator says that there is none
	}
	if raw, ok := keys[key]; ok {
		p.Limited = key == "allowedMcpServers" || string(bytes.TrimSpace(raw)) != "null"
		p.Allowed, _ = entries(raw, x)
		p.Allowed = slices.DeleteFunc(p.Allowed, func(e Entry) bool { return e.Name != "" && !plainName(e.Name) })
	}
	if raw, ok := keys["deniedMcpServers"]; ok {
		var all bool
		if p.Denied, all = entries(raw, x); !all {
			p.Denied = append(p.Denied, Entry{URL: "*"}) // a denial that cannot be read may mean any address
		}
	}
	return p
}

// ManagedAllowKey is where the administrator's own allow list is looked for,
// apart from the merged one.
const ManagedAllowKey = "managed:allowedMcpServers"

// closed reads a lock: what is there and is not false counts as locked.
func closed(raw json.RawMessage) bool {
	text := string(bytes.TrimSpace(raw))
	return text != "" && text != "false" && text != "null"
}

// entries reads a list; ok is false when one of it could not be read.
func entries(raw json.RawMessage, x *expander) (out []Entry, ok bool) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, false
	}
	ok = true
	for _, item := range list {
		var w struct {
			Name    string   `json:"serverName"`
			URL     string   `json:"serverUrl"`
			Command []string `json:"serverCommand"`
		}
		err := json.Unmarshal(item, &w)
		set := 0
		for _, is := range []bool{w.Name != "", w.URL != "", len(w.Command) > 0} {
			if is {
				set++
			}
		}
		if err != nil || set != 1 {
			ok = false
			continue
		}
		e := Entry{Name: w.Name, URL: x.expand(w.URL)}
		for _, c := range w.Command {
			e.Command = append(e.Command, x.expand(c))
		}
		out = append(out, e)
	}
	return out, ok
}

// Verdict says whether a server may be started.
type Verdict string

// The verdicts.
const (
	Start           Verdict = "start"
	PendingApproval Verdict = "pending-approval" // the person has not yet said yes
	Rejected        Verdict = "rejected"         // the person or the settings said no
	Disabled        Verdict = "disabled"         // switched off
	Blocked         Verdict = "blocked"          // the policy does not allow it
	Invalid         Verdict = "invalid"          // the entry is wrong
)

// Judge decides about one server, and says why not.
func (p *Policy) Judge(s *Server) (Verdict, string) {
	switch {
	case !p.allows(s):
		return Blocked, "the settings do not allow this server (allowedMcpServers, deniedMcpServers)"
	case s.Invalid != "":
		return Invalid, s.Invalid
	case slices.Contains(p.Disabled, s.Name):
		return Disabled, "it is switched off for this project"
	case s.Off:
		return Disabled, "its entry says disabled"
	case !s.FromRepository():
		return Start, ""
	case slices.Contains(p.Rejected, s.Name):
		return Rejected, "it was turned down (disabledMcpjsonServers)"
	case p.EnableAll, slices.Contains(p.Enabled, s.Name), p.NoQuestions, p.Approved != nil && p.Approved(s):
		return Start, ""
	}
	return PendingApproval, "the repository defines it, and nobody has approved it yet"
}

func (p *Policy) allows(s *Server) bool {
	for _, e := range p.Denied {
		if e.matches(s) {
			return false
		}
	}
	// What an administrator gives everyone need not be allowed as well.
	if !p.Limited || s.Scope == ScopeManaged {
		return true
	}
	// Where addresses (or commands) are listed, a name alone does not open
	// remote servers (or local ones).
	byNature := slices.ContainsFunc(p.Allowed, func(e Entry) bool {
		if s.Type == Stdio {
			return len(e.Command) > 0
		}
		return e.URL != ""
	})
	return slices.ContainsFunc(p.Allowed, func(e Entry) bool { return (e.Name == "" || !byNature) && e.matches(s) })
}

func (e Entry) matches(s *Server) bool {
	switch {
	case e.Name != "":
		return e.Name == s.Name
	case e.URL != "":
		return s.Type != Stdio && s.URL != "" && urlMatches(e.URL, s.URL)
	case len(e.Command) > 0:
		return s.Type == Stdio && slices.Equal(e.Command, append([]string{s.Command}, s.Args...))
	}
	return false
}

// urlMatches compares an address with a pattern in which * stands for any
// text. The host's letter case and a dot at its end do not count; a pattern
// without a path fits every path.
func urlMatches(pattern, address string) bool {
	if pattern == "*" {
		return true
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	scheme, rest, ok := strings.Cut(pattern, "://")
	if !ok {
		scheme, rest = "*", pattern
	}
	host, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	target := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if port := u.Port(); port != "" {
		target += ":" + port
	}
	hostPattern := strings.ToLower(host)
	if name, port, ok := strings.Cut(hostPattern, ":"); ok {
		hostPattern = strings.TrimSuffix(name, ".") + ":" + port
	} else {
		hostPattern = strings.TrimSuffix(hostPattern, ".")
	}
	if !starMatch(strings.ToLower(scheme), strings.ToLower(u.Scheme)) || !starMatch(hostPattern, target) {
		return false
	}
	full := u.EscapedPath()
	if full == "" {
		full = "/"
	}
	if u.RawQuery != "" {
		full += "?" + u.RawQuery
	}
	return path == "" || starMatch(path, full)
}

// starMatch compares a whole text with a pattern in which * stands for any
// text.
func starMatch(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	re, err := regexp.Compile(`(?s)\A` + strings.Join(parts, ".*") + `\z`)
	return err == nil && re.MatchString(text)
}
