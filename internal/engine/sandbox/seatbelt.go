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

	// What holds at a path changes only at those that the policy names. From short to long, so that the longer comes later
	// and wins. Denied paths are taken as they are written and where they lead: here what does not exist yet is covered, too.
	both := func(paths []string) (out []string) {
		for _, path := range paths {
			out = append(out, path)
			if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
				out = append(out, real)
			}
		}
		return out
	}
	noWrite, noRead := both(slices.Concat(p.WriteDeny, r.programs)), both(p.ReadDeny)
	paths := slices.Concat(r.write, r.allowRead, noWrite, noRead)
	slices.SortFunc(paths, func(a, b string) int {
		if d := len(a) - len(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	rule := func(allowed bool, what, kind, path string) {
		word := "deny"
		if allowed {
			word = "allow"
		}
		line("(" + word + " " + what + " (" + kind + " " + seatbeltString(path) + "))")
	}
	for _, path := range slices.Compact(paths) {
		a := accessAt(path, r, noWrite, noRead)
		hidden := longest(path, noRead)
		if hidden >= 0 {
			rule(a.read, "file-read*", "subpath", path)
		}
		rule(a.write, "file-write*", "subpath", path)
		if a.read && hidden >= 0 { // the way there
			for dir := parent(path); len(dir) >= hidden; dir = parent(dir) {
				rule(true, "file-read-metadata", "literal", dir)
			}
		}
	}
	for _, path := range slices.Concat(noWrite, noRead) {
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
