package terminal

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sevengate/sevengate/internal/engine/ptyterm"
)

// Bounds of the typed line that is remembered. One beyond them is not known.
const (
	maxLine  = 64 << 10 // bytes
	maxParts = 32
)

// line is what was typed since the last Enter, as far as it is known. Its parts came
// with calls of their own: a program may have taken some of them before another one
// reads the rest, so that the line may begin with any.
type line struct {
	parts   []string
	unknown bool // keys may have changed it, or brought an older one back
	turn    int  // counts the changes
}

func (l line) text() string { return strings.Join(l.parts, "") }

// readings are the lines that text may complete, the longest first.
func (l line) readings(text string) []string {
	out := make([]string, 0, len(l.parts)+1)
	for i := range l.parts {
		out = append(out, strings.Join(l.parts[i:], "")+text)
	}
	return append(out, text)
}

// add is text that is typed. What follows the last newline begins a new line; one
// that goes on behind a backslash stays.
func (l *line) add(text string) {
	l.turn++
	l.parts = append(slices.Clone(l.parts), text)
	all := l.text()
	start, changed := 0, false
	for i := 0; i < len(all); i++ {
		if all[i] == '\n' && !continued(all[start:i]) {
			start, changed = i+1, true
		}
	}
	if changed {
		l.parts, l.unknown = nil, false
		if rest := all[start:]; rest != "" {
			l.parts = []string{rest}
		}
	}
	if len(all)-start > maxLine || len(l.parts) > maxParts {
		l.parts, l.unknown = nil, true
	}
}

// continued tells whether a line ends in a backslash that is not itself escaped.
func continued(s string) bool {
	n := len(s) - len(strings.TrimRight(s, `\`))
	return n%2 == 1
}

// press is a key that is pressed.
func (l *line) press(name string) {
	l.turn++
	switch ptyterm.NormalKey(name) {
	case "enter":
		unknown := l.unknown
		l.add("\n")
		l.unknown = l.unknown || unknown && len(l.parts) > 0
	case "ctrl-c", "ctrl-z", "ctrl-\\":
		l.parts, l.unknown = nil, false
	case "space":
		l.add(" ")
	case "pageup", "pagedown":
	case "backspace":
		if n := len(l.parts); n > 0 && !l.unknown {
			last := l.parts[n-1]
			if r, size := utf8.DecodeLastRuneInString(last); size == 1 && r < utf8.RuneSelf && r != '\n' {
				l.parts = slices.Clone(l.parts)
				if l.parts[n-1] = last[:len(last)-1]; len(last) == 1 {
					l.parts = l.parts[:n-1]
				}
				return
			}
		}
		l.unknown = true
	default:
		l.unknown = true
	}
}

// judged remembers with which typed line a call was judged, by its id. It is
// bounded: the oldest is forgotten.
type judged struct {
	mu   sync.Mutex
	list []judgedCall
}

type judgedCall struct {
	id   string
	turn int
}

const maxJudged = 64

func (j *judged) put(id string, turn int) {
	j.take(id)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.list = append(j.list, judgedCall{id, turn}); len(j.list) > maxJudged {
		j.list = slices.Delete(j.list, 0, 1)
	}
}

func (j *judged) take(id string) (turn int, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, c := range j.list {
		if c.id == id {
			j.list = slices.Delete(j.list, i, i+1)
			return c.turn, true
		}
	}
	return 0, false
}
