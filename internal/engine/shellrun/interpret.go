package shellrun

import (
	"path"
	"strings"
)

// Meaning is what an exit code says.
type Meaning struct {
	// OK: the program did what it is for, although the code may not be 0.
	OK bool
	// Text explains a code other than 0 to a reader; empty if there is nothing to explain.
	Text string
}

// Interpret tells what a program means by an exit code. words are the program and its arguments; for a pipeline those of
// its last stage, whose code it is. No words: only what holds for any program.
func Interpret(words []string, code int) Meaning {
	if code == 0 {
		return Meaning{OK: true}
	}
	if code == 1 && len(words) > 0 {
		switch path.Base(words[0]) {
		case "grep", "egrep", "fgrep", "rg":
			return Meaning{true, "no matches found"}
		case "find":
			return Meaning{true, "some directories could not be read"}
		case "diff":
			return Meaning{true, "the files differ"}
		case "test", "[", "[[":
			return Meaning{true, "the condition is false"}
		case "git":
			switch gitCommand(words[1:]) {
			case "diff":
				return Meaning{true, "there are differences"}
			case "grep":
				return Meaning{true, "no matches found"}
			}
		}
	}
	switch {
	case code == 126:
		return Meaning{false, "found, but cannot be executed"}
	case code == 127:
		return Meaning{false, "command not found"}
	case code > 128 && code < 128+65:
		if name := signalNames[code-128]; name != "" {
			return Meaning{false, "ended by " + name}
		}
	}
	return Meaning{}
}

// gitCommand skips git's own options.
func gitCommand(args []string) string {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-C" || a == "-c" || a == "--git-dir" || a == "--work-tree" || a == "--namespace" || a == "--config-env" || a == "--super-prefix":
			i++
		case strings.HasPrefix(a, "-"):
		default:
			return a
		}
	}
	return ""
}

// signalNames has the numbers that are the same on all systems.
var signalNames = [65]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 8: "SIGFPE",
	9: "SIGKILL (perhaps for want of memory)", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM"}
