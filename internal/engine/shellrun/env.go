package shellrun

import (
	"slices"
	"strings"
)

// fixedEnv is what every command gets: nothing may open an editor, a pager or a question.
var fixedEnv = []string{
	"SEVENGATE=1", "CLAUDECODE=1", "CLAUDE_CODE_CHILD_SESSION=1",
	"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=never", "SUDO_ASKPASS=false",
	"GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true", "EDITOR=true", "VISUAL=true",
	"PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat",
}

// neverInherited names what a command must not get from the host, a trailing * standing for any ending: the host's own
// telemetry, what would tie the command to the host's terminal, and what would give the same text another meaning (where
// cd goes, which files a shell reads first, what a pattern matches).
var neverInherited = []string{"OTEL_*", "GPG_TTY", "SSH_TTY", "PS0", "PS1", "PROMPT_COMMAND",
	"CDPATH", "BASH_ENV", "ENV", "GLOBIGNORE", "SHELLOPTS", "BASHOPTS"}

// environment builds a command's environment. Later entries win; within one source, too.
func environment(base, scrub []string, layers ...[]string) []string {
	size := len(base)
	for _, l := range layers {
		size += len(l)
	}
	out := make([]string, 0, size)
	at := make(map[string]int, size)
	add := func(kv string) {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" || strings.IndexByte(kv, 0) >= 0 {
			return
		}
		if i, dup := at[name]; dup {
			out[i] = kv
			return
		}
		at[name] = len(out)
		out = append(out, kv)
	}
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		if !matchesAny(name, neverInherited) && !matchesAny(name, scrub) {
			add(kv)
		}
	}
	for _, l := range layers {
		for _, kv := range l {
			add(kv)
		}
	}
	return out
}

func matchesAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if prefix, ok := strings.CutSuffix(p, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return name == p
	})
}

func lookupEnv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if n, v, ok := strings.Cut(env[i], "="); ok && n == name {
			return v
		}
	}
	return ""
}
