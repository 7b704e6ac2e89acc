package sandbox

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// seatbeltProfile writes a policy as a profile for sandbox-exec. Of its rules the last that matches holds. proxyPort is
// the port on this machine that NetworkProxy leads to.
func seatbeltProfile(p Policy, r roots, proxyPort int) string {
	var b strings.Builder
	line := func(s string) { b.WriteString(s + "\n") }
	line("(version 1)")
	line("(allow default)")
	line("(deny signal (target others))")
	line("(allow signal (target same-sandbox))")
	line("(deny process-info* (target others))")
	line("(allow process-info* (target same-sandbox))")
	line("(deny appleevent-send)")
	line("(deny lsopen)")
	line("(deny nvram*)")
	line("(deny system-socket)")
	line("(deny file-write*)")
	line(`(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))`)

	// From short to long paths, so that the longer path comes later and wins; a denial after a grant of the same path.
	type rule struct {
		path, text string
		deny       bool
	}
	var rules []rule
	each := func(paths []string, deny bool, action string) {
		for _, path := range paths {
			rules = append(rules, rule{path, "(" + action + " (subpath " + seatbeltString(path) + "))", deny})
		}
	}
	each(r.write, false, "allow file-write*")
	each(r.allowRead, false, "allow file-read*")
	each(r.write, false, "allow file-read*")
	both := func(paths []string, action string) {
		each(paths, true, action)
		for _, path := range paths { // as it is written and where it leads: here also what does not exist yet is covered
			if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
				each([]string{real}, true, action)
			}
		}
	}
	both(p.WriteDeny, "deny file-write*")
	both(r.programs, "deny file-write*")
	both(p.ReadDeny, "deny file-read*")
	slices.SortStableFunc(rules, func(a, b rule) int {
		if d := len(a.path) - len(b.path); d != 0 {
			return d
		}
		switch {
		case a.deny == b.deny:
			return 0
		case a.deny:
			return 1
		}
		return -1
	})
	for _, ru := range rules {
		line(ru.text)
	}
	for _, path := range slices.Concat(p.WriteDeny, r.programs, p.ReadDeny) {
		for dir := parent(path); dir != ""; dir = parent(dir) {
			line("(deny file-write-unlink (literal " + seatbeltString(dir) + "))") // no moving away with a parent
		}
	}

	if p.Network.Mode != NetworkOpen {
		line("(deny network*)")
		line(`(allow network-bind (local ip "localhost:*"))`)
		if proxyPort != 0 {
			line(`(allow network-outbound (remote ip "localhost:` + strconv.Itoa(proxyPort) + `"))`)
		}
		if p.UnixSockets {
			line("(allow network* (local unix-socket))")
			line("(allow network* (remote unix-socket))")
		}
	} else if !p.UnixSockets {
		line("(deny network* (local unix-socket))")
		line(`(deny network-outbound (remote unix-socket))`)
		line(`(allow network-outbound (literal "/private/var/run/mDNSResponder"))`) // names of hosts
	}
	return b.String()
}

// parent returns the directory above an absolute path, or "" above the top level.
func parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return ""
	}
	return path[:i]
}

// seatbeltString quotes a path for a profile.
func seatbeltString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
}
