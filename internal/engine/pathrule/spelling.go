package pathrule

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNetworkPath is wrapped by the error for a path on another machine (\\host\share): opening one sends the user's
// credentials to that host.
var ErrNetworkPath = errors.New("network paths are refused")

// platform selects path spellings. It is a value and not a build constraint so that the rules of every system are
// tested on each.
type platform struct{ windows, darwin bool }

// Slash returns the spelling of an absolute native path that rules are compared with: slashes, on Windows with the
// drive as its first component (C:\Users becomes /c/Users), on macOS without the /private that /etc, /tmp and /var
// stand for. On other systems it is the path itself.
func Slash(path string) string { return host.slash(path) }

func (p platform) slash(path string) string {
	switch {
	case p.windows:
		s := strings.ReplaceAll(path, `\`, "/")
		if len(s) >= 2 && s[1] == ':' && isLetter(s[0]) {
			return "/" + strings.ToLower(s[:1]) + ensureSlash(s[2:])
		}
		return s
	case p.darwin:
		return withoutPrivate(path)
	}
	return path
}

// native is the inverse of slash for paths that start with a drive component.
func (p platform) native(slashed string) string {
	if !p.windows {
		return slashed
	}
	if len(slashed) >= 2 && slashed[0] == '/' && isLetter(slashed[1]) && (len(slashed) == 2 || slashed[2] == '/') {
		rest := strings.ReplaceAll(slashed[2:], "/", `\`)
		if rest == "" {
			rest = `\`
		}
		return strings.ToUpper(slashed[1:2]) + ":" + rest
	}
	return strings.ReplaceAll(slashed, "/", `\`)
}

// withoutPrivate drops the /private that macOS puts before the real names of four top folders.
func withoutPrivate(path string) string {
	rest, ok := strings.CutPrefix(path, "/private/")
	if !ok {
		return path
	}
	top, _, _ := strings.Cut(rest, "/")
	switch top {
	case "etc", "var", "tmp", "home":
		return "/" + rest
	}
	return path
}

// windowsPath brings the many Windows spellings of a path to one: device prefixes gone, backslashes, a drive letter
// where a drive is named in any form. Paths on other machines and device or stream names are errors.
func windowsPath(path string) (string, error) {
	s := strings.ReplaceAll(path, "/", `\`)
	device := false
	for {
		rest, ok := cutAnyPrefix(s, `\\?\`, `\??\`, `\\.\`)
		if !ok {
			break
		}
		s, device = rest, true
	}
	if len(s) >= 4 && device && strings.EqualFold(s[:4], `UNC\`) || strings.HasPrefix(s, `\\`) {
		return "", fmt.Errorf("%s: %w", path, ErrNetworkPath)
	}
	if len(s) >= 2 && path[0] == '/' && isLetter(s[1]) && (len(s) == 2 || s[2] == '\\') {
		s = s[1:2] + ":" + ensureBackslash(s[2:])
	}
	drive := ""
	if len(s) >= 2 && s[1] == ':' && isLetter(s[0]) {
		drive, s = strings.ToUpper(s[:1])+":", s[2:]
		if s == "" || s[0] != '\\' {
			if s != "" || device {
				return "", fmt.Errorf("%s: a path relative to a drive's own working directory is refused; write it from %s\\ on", path, drive)
			}
			s = `\`
		}
	} else if device {
		return "", fmt.Errorf("%s: device paths are refused", path)
	}
	if strings.Contains(s, ":") {
		return "", fmt.Errorf("%s: a colon after the drive names an alternate data stream, which is refused", path)
	}
	return drive + s, nil
}

// IsNetwork reports whether a path, as spelled, names another machine: a UNC spelling, or the automounter's
// /net/<host>. Adding such a folder as a working directory would let a call reach that machine.
func IsNetwork(path string) bool {
	s := strings.ReplaceAll(path, "/", `\`)
	if strings.Contains(path, `\`) {
		_, err := windowsPath(path)
		if errors.Is(err, ErrNetworkPath) {
			return true
		}
	}
	rest, ok := strings.CutPrefix(s, `\net\`)
	return ok && strings.Trim(rest, `\`) != ""
}

func cutAnyPrefix(s string, prefixes ...string) (string, bool) {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(s, p); ok {
			return rest, true
		}
	}
	return s, false
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func ensureSlash(s string) string {
	if !strings.HasPrefix(s, "/") {
		return "/" + s
	}
	return s
}

func ensureBackslash(s string) string {
	if !strings.HasPrefix(s, `\`) {
		return `\` + s
	}
	return s
}

// segments splits a slashed absolute path into its components; dots and empty components are dropped.
func segments(slashed string) []string {
	out := make([]string, 0, strings.Count(slashed, "/"))
	for s := range strings.SplitSeq(slashed, "/") {
		switch s {
		case "", ".":
		case "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
		default:
			out = append(out, s)
		}
	}
	return out
}
