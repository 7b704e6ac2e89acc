package disclose

import (
	"fmt"
	"slices"
	"strings"
)

// MaxNoticeChars bounds the names of one notice: beyond it the tools of a server
// are told as one line, the largest servers first.
const MaxNoticeChars = 20_000

// The form of a notice. It is read again from the conversation, line by line.
const (
	noticeOpen    = "<deferred-tools>"
	noticeClose   = "</deferred-tools>"
	noticeAdded   = "Deferred tools, known by name only. Before you call one, load its definition with " + SearchTool + " (select:NAME, or keywords):"
	noticeRemoved = "No longer available:"
	groupPattern  = "__* (%d tools)"
)

// told is what the model was told: names, and servers as groups with the number
// of tools last told.
type told struct {
	names  map[string]bool
	groups map[string]int
}

func newTold() told { return told{map[string]bool{}, map[string]int{}} }

// notice says how the deferred set differs from what was told.
func (d *Disclosure) notice(deferred []string, t told) string {
	groups := d.groups(deferred)
	now := make(map[string]bool, len(deferred))
	servers, grouping := map[string]bool{}, map[string]bool{}
	var added, removed []string
	for _, name := range deferred {
		now[name] = true
		server := d.serverOf(name)
		servers[server] = true
		if n, grouped := groups[server]; grouped {
			if t.groups[server] != n && !grouping[server] {
				added = append(added, groupLine(server, n))
			}
			grouping[server] = true
		} else if !t.names[name] {
			added = append(added, name)
		}
	}
	for name := range t.names {
		if !now[name] {
			removed = append(removed, name)
		}
	}
	for server, n := range t.groups {
		if !servers[server] {
			removed = append(removed, groupLine(server, n))
		}
	}
	if len(added)+len(removed) == 0 {
		return ""
	}
	slices.Sort(removed)
	lines := []string{noticeOpen}
	if len(added) > 0 {
		lines = append(append(lines, noticeAdded), added...)
	}
	if len(removed) > 0 {
		lines = append(append(lines, noticeRemoved), removed...)
	}
	return strings.Join(append(lines, noticeClose), "\n")
}

func groupLine(server string, n int) string { return server + fmt.Sprintf(groupPattern, n) }

// serverOf gives the common beginning of the names of a server's tools, or
// nothing for a tool that comes from none or is named otherwise.
func (d *Disclosure) serverOf(name string) string {
	if k := d.known[name]; k == nil || k.facts.Origin == nil || !strings.HasPrefix(name, "mcp__") {
		return ""
	}
	server, _, ok := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	if !ok || server == "" {
		return ""
	}
	return "mcp__" + server
}

// groups chooses the servers that are told as one line, with the number of
// their tools.
func (d *Disclosure) groups(deferred []string) map[string]int {
	chars := 0
	count, size := map[string]int{}, map[string]int{}
	for _, name := range deferred {
		chars += len(name) + 1
		if s := d.serverOf(name); s != "" {
			count[s]++
			size[s] += len(name) + 1
		}
	}
	out := map[string]int{}
	if chars <= MaxNoticeChars {
		return out
	}
	largest := make([]string, 0, len(count))
	for s := range count {
		largest = append(largest, s)
	}
	slices.SortFunc(largest, func(a, b string) int {
		if size[a] != size[b] {
			return size[b] - size[a]
		}
		return strings.Compare(a, b)
	})
	for _, s := range largest {
		if chars <= MaxNoticeChars {
			break
		}
		out[s] = count[s]
		chars -= size[s]
	}
	return out
}

// read takes over what a text block told, if it is a notice.
func (t told) read(text string) {
	body, ok := strings.CutPrefix(text, noticeOpen+"\n")
	if !ok {
		return
	}
	if body, ok = strings.CutSuffix(body, "\n"+noticeClose); !ok {
		return
	}
	removing := false
	for line := range strings.SplitSeq(body, "\n") {
		switch server, n, group := parseGroup(line); {
		case line == noticeAdded:
			removing = false
		case line == noticeRemoved:
			removing = true
		case group && removing:
			delete(t.groups, server)
		case group:
			t.groups[server] = n
		case !isName(line):
		case removing:
			delete(t.names, line)
		default:
			t.names[line] = true
		}
	}
}

func parseGroup(line string) (server string, n int, ok bool) {
	server, rest, found := strings.Cut(line, "__* (")
	if !found || !isName(server) {
		return "", 0, false
	}
	if _, err := fmt.Sscanf(rest, "%d tools)", &n); err != nil || n < 0 || groupLine(server, n) != line {
		return "", 0, false
	}
	return server, n, true
}
