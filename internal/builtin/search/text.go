package search

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sevengate/sevengate/internal/engine/grep"
	"github.com/sevengate/sevengate/internal/engine/walk"
)

// relative gives a path as seen from the working directory if it lies below it,
// and absolute otherwise.
func relative(path, cwd string) string {
	if cwd == "" {
		return path
	}
	if path == cwd {
		return "."
	}
	prefix := cwd
	if !strings.HasSuffix(prefix, string(filepath.Separator)) {
		prefix += string(filepath.Separator)
	}
	if rest, ok := strings.CutPrefix(path, prefix); ok {
		return rest
	}
	return path
}

// quoted writes a name so that it stays on its line: names with line breaks,
// control characters or bytes that are no text are put in quotes.
func quoted(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}

// grouped writes a number with its thousands apart.
func grouped[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// counted writes a number with its noun.
func counted[N int | int64](n N, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		noun += "e"
	case strings.HasSuffix(noun, "y"):
		noun = strings.TrimSuffix(noun, "y") + "ie"
	}
	return grouped(n) + " " + noun + "s"
}

// unreadable is the note on what a search could not read.
func unreadable(n int64, errs []error, cwd string) string {
	if n == 0 {
		return ""
	}
	note := fmt.Sprintf("%s could not be read, so the result may not be complete", counted(n, "file or folder"))
	if n > 1 {
		note = fmt.Sprintf("%s files or folders could not be read, so the result may not be complete", grouped(n))
	}
	if len(errs) > 0 {
		what := errs[0].Error()
		if cwd != "" {
			what = strings.ReplaceAll(what, cwd+string(filepath.Separator), "")
		}
		note += fmt.Sprintf(" (for example: %s)", quoted(what))
	}
	return note
}

// leftOut is the note on what an empty result may owe to ignore files.
func leftOut(s walk.Stats) string {
	switch s.Ignored {
	case 0:
		return ""
	case 1:
		return "1 file or folder was left out because an ignore file names it; give it as path to look there"
	}
	return fmt.Sprintf("%s files or folders were left out because ignore files name them; give one as path to look there", grouped(s.Ignored))
}

// clip shortens a line to MaxLineChars. It keeps the part around the first match
// of p (nil: the beginning), and says how long the line is. cut tells that the
// line itself was longer than text.
func clip(text []byte, cut bool, p *grep.Pattern) string {
	if !cut && (len(text) <= MaxLineChars || utf8.RuneCount(text) <= MaxLineChars) {
		return strings.ToValidUTF8(string(text), "\uFFFD")
	}
	from := 0
	if p != nil {
		if spans := p.Spans(text, 1); spans != nil && utf8.RuneCount(text[:spans[0][1]]) > MaxLineChars {
			from = back(text, spans[0][0], MaxLineChars/5)
		}
	}
	to := from
	for range MaxLineChars {
		_, size := utf8.DecodeRune(text[to:])
		to += size
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString("…")
	}
	b.WriteString(strings.ToValidUTF8(string(text[from:to]), "\uFFFD"))
	if to < len(text) || cut {
		b.WriteString("…")
	}
	if cut {
		fmt.Fprintf(&b, " [line of more than %s bytes]", grouped(len(text)))
	} else {
		fmt.Fprintf(&b, " [line of %s characters]", grouped(utf8.RuneCount(text)))
	}
	return b.String()
}

// back goes n characters back from a place in text.
func back(text []byte, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRune(text[:at])
		at -= size
	}
	return at
}

// withNotes appends notes, each on its own line.
func withNotes(text string, notes []string) string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(text, "\n"))
	for _, n := range notes {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("[" + n + "]")
	}
	return b.String()
}

// list writes names one a line.
func list(names []string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteString(quoted(n))
		b.WriteByte('\n')
	}
	return b.String()
}
