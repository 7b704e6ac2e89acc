package shellrun

import "strings"

// Descriptors that a command's shell is started with beside the standard three. They are high, so that scripts which pick
// descriptors by hand do not meet them, and above those that shells take for themselves.
const (
	scriptFD = 198 // the command's text, read once
	statusFD = 199 // where the wrapper tells how far it came and where it ended
)

// Records on the status descriptor: readyMark once the start-up files are done, then dirMark and a path at each end.
const (
	readyMark = "R"
	dirMark   = "\x00"
)

// zshReadLimit is the length of a command from which starting cat is faster than zsh's own read, which takes single bytes.
const zshReadLimit = 4 << 10

// wrapper is the text given to the shell with -c. The command itself is read from a descriptor: it has no length limit
// there, and "pkill -f" with a pattern from the command does not match the shell that runs it. All is on one line so that
// line numbers in the shell's messages are those of the command.
//
// The working directory is told twice: by an exit trap, which sees "exit" and "set -e", and by a trailer, which runs even
// if the command sets an exit trap of its own. After "exec" there is no one to tell it, and it counts as unchanged.
func wrapper(sh Shell, snapshot, envFile string, size int) string {
	const tellDir = `{ builtin printf '\0'; builtin pwd -P; } 2>/dev/null >&199`
	var b strings.Builder
	b.WriteString(`trap "` + strings.ReplaceAll(tellDir, `\`, `\\`) + `" EXIT; `)
	for _, file := range []string{snapshot, envFile} {
		if file != "" {
			q := quote(file)
			b.WriteString(`if [ -r ` + q + ` ]; then . ` + q + ` >/dev/null 2>&1 </dev/null || :; fi; `)
		}
	}
	if sh.Kind == "zsh" && size > zshReadLimit {
		b.WriteString(`REPLY=$(command cat <&198); `)
	} else {
		b.WriteString(`IFS= builtin read -r -d '' REPLY <&198 || :; `)
	}
	b.WriteString(`builtin printf ` + readyMark + ` 2>/dev/null >&199; `)
	if sh.Kind == "bash" {
		b.WriteString(`exec 198<&-; `)
	}
	b.WriteString(`eval "$REPLY"; REPLY=$?; ` + tellDir + `; exit $REPLY`)
	return b.String()
}

// quote makes s one word for a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// parseStatus reads what the wrapper wrote.
func parseStatus(b []byte) (ready bool, dir string) {
	s := string(b)
	ready = strings.HasPrefix(s, readyMark)
	i := strings.LastIndex(s, dirMark)
	if i < 0 {
		return ready, ""
	}
	dir, complete := strings.CutSuffix(s[i+1:], "\n")
	if !complete || !strings.HasPrefix(dir, "/") {
		return ready, ""
	}
	return ready, dir
}
