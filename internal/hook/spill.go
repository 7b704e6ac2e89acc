package hook

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// Limits of what hooks write for people and the model.
const (
	MaxTextChars     = 10_000 // more is saved to a file
	previewChars     = 2_000  // what is shown of it then
	maxClassifier    = 2_000  // of all classifier contexts of one call
	maxTitle         = 200    // characters of a session's title
	maxTerminalBytes = 4096
)

// shorten keeps a text within MaxTextChars. The whole of a longer one goes to
// a file in SpillDir first; the rest is a preview with the file's path.
func (r *Runner) shorten(event, text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	n := utf8.RuneCountInString(text)
	if n <= MaxTextChars {
		return text
	}
	if r.cfg.SpillDir != "" {
		if path, err := spill(r.cfg.SpillDir, event, text); err == nil {
			return fmt.Sprintf("%s\n… (%d characters in all; the whole text is in %s)", firstRunes(text, previewChars), n, path)
		} else {
			r.log.Warn("hook output cannot be saved", "event", event, "error", err)
		}
	}
	return fmt.Sprintf("%s\n… (%d characters in all; the rest was not kept)", firstRunes(text, MaxTextChars-100), n)
}

func spill(dir, event, text string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "hook-"+event+"-*.txt")
	if err != nil {
		return "", err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.WriteString(text)
	return f.Name(), err
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// clipText bounds a text for the log.
func clipText(s string) string {
	return strings.ToValidUTF8(firstRunes(s, previewChars), "\uFFFD")
}

// middle cuts a long text in its middle.
func middle(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	n := utf8.RuneCountInString(s)
	if n <= MaxTextChars {
		return s
	}
	runes := []rune(s)
	const half = MaxTextChars / 2
	return fmt.Sprintf("%s... [%d characters truncated] ...%s", string(runes[:half]), n-2*half, string(runes[n-half:]))
}
