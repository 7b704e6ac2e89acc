package textedit

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Bounds of the search for the nearest text, which only serves the error's words.
const (
	maxHintText = 4 << 20 // bytes of the file that are looked at
	maxHintOld  = 64 << 10
	minSimilar  = 0.45 // below it a place is not called near
	quoteChars  = 120
)

// NotFoundError says that Old does not occur.
type NotFoundError struct {
	// Line is the 1-based number of the line where the most similar text begins; 0: there is none.
	Line int
	// Similarity of that text to Old, from 0 to 1.
	Similarity float64
	// Differences say in what they differ, each in a sentence.
	Differences []string
}

func (e *NotFoundError) Error() string {
	if e.Line == 0 {
		return "the old text was not found in the file, nor anything like it; read the file again and copy the text exactly" + tail(e.Differences)
	}
	return fmt.Sprintf("the old text was not found; the nearest is at line %d (%.0f %% alike)%s", e.Line, e.Similarity*100, tail(e.Differences))
}

func tail(sentences []string) string {
	if len(sentences) == 0 {
		return ""
	}
	return ": " + strings.Join(sentences, "; ")
}

// habit is a way in which texts that mean the same differ.
type habit struct {
	says    string
	oldOnly bool
	apply   func(string) string
}

var habits = sync.OnceValue(func() []habit {
	number := regexp.MustCompile(`(?m)^[ \t]*\d+(\t|→|[:|] ?)`)
	unescape := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`, `\\`, `\`)
	plain := strings.NewReplacer("‘", "'", "’", "'", "‚", "'", "“", `"`, "”", `"`, "„", `"`, "–", "-", "—", "-", "−", "-", "…", "...", "\u00a0", " ", "\u202f", " ")
	return []habit{
		{"the old text carries line numbers as the reader shows them; leave out the numbers and the tab after them", true,
			func(s string) string { return number.ReplaceAllString(s, "") }},
		{`the old text has escapes such as \n, \t or \" where the file has the characters themselves; write real line breaks, tabs and quotes`, true, unescape.Replace},
		{"blanks at the end of lines differ", false, dropTrailing},
		{"indentation", false, dropLeading},
		{"blanks inside lines differ (tabs against spaces, or their number)", false, squeeze},
		{"typographic characters differ (curly quotes, long dashes, … or no-break spaces against plain ones); copy them as the file has them", false, plain.Replace},
		{"invisible characters differ (zero-width spaces or joiners, soft hyphens, byte order marks)", false, dropInvisible},
		{"accented characters are composed differently (Unicode NFC against NFD)", false, norm.NFC.String},
		{"carriage returns differ (a lone CR stands in one of them)", false, func(s string) string { return strings.ReplaceAll(s, "\r", "") }},
		{"upper and lower case differ", false, strings.ToLower},
	}
})

const indentation = "indentation"

// The three that work on blanks are loops: a regular expression would take a second
// for the largest texts that are looked at.

func dropTrailing(s string) string {
	return eachLine(s, func(l string) string { return strings.TrimRight(l, " \t") })
}

func dropLeading(s string) string {
	return eachLine(s, func(l string) string { return strings.TrimLeft(l, " \t") })
}

func eachLine(s string, f func(string) string) string {
	var b strings.Builder
	b.Grow(len(s))
	for {
		i := strings.IndexByte(s, '\n')
		if i < 0 {
			b.WriteString(f(s))
			return b.String()
		}
		b.WriteString(f(s[:i]))
		b.WriteByte('\n')
		s = s[i+1:]
	}
}

// squeeze leaves the indentation alone, which is a habit of its own.
func squeeze(s string) string {
	out := make([]byte, 0, len(s))
	start := true
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '\n':
			start = true
		case c != ' ' && c != '\t':
			start = false
		case !start:
			if c = ' '; out[len(out)-1] == ' ' {
				continue
			}
		}
		out = append(out, c)
	}
	return string(out)
}

func dropInvisible(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x80 && unicode.Is(unicode.Cf, r) || r == 0x034f || r >= 0xfe00 && r <= 0xfe0f {
			return -1
		}
		return r
	}, s)
}

// canon applies all habits to a text of the file, but the one with index skip.
func canon(s string, skip int) string {
	for i, h := range habits() {
		if i != skip && !h.oldOnly {
			s = h.apply(s)
		}
	}
	return s
}

func notFound(text, old string) error {
	if len(old) > maxHintOld {
		return &NotFoundError{Differences: []string{fmt.Sprintf("it is %d bytes long; shorter old texts match more reliably", len(old))}}
	}
	if len(text) > maxHintText {
		text = text[:maxHintText]
	}
	file := canon(text, -1)
	if e := habitual(text, file, old); e != nil {
		return e
	}
	return similar(text, file, old)
}

// habitual finds old in text when only habits differ. The canonical form of text is file.
func habitual(text, file, old string) *NotFoundError {
	for _, o := range []string{old, habits()[1].apply(old)} { // escapes may be meant literally
		key := strings.Trim(canonSkip(o, -1), " \t")
		if strings.TrimSpace(key) == "" {
			continue
		}
		i := strings.Index(file, key)
		if i < 0 {
			continue
		}
		// No habit of the file adds or removes a line, so lines of both forms agree.
		line := strings.Count(file[:i], "\n")
		region := lines(text, line, strings.Count(key, "\n")+1)
		e := &NotFoundError{Line: line + 1}
		e.Similarity = alike(region, o)
		for n, h := range habits() {
			if n == 1 {
				if o != old {
					e.Differences = append(e.Differences, h.says)
				}
				continue
			}
			if strings.Contains(canon(region, n), strings.Trim(canonSkip(o, n), " \t")) {
				continue
			}
			if h.says == indentation {
				e.Differences = append(e.Differences, indentWords(region, o))
			} else {
				e.Differences = append(e.Differences, h.says)
			}
		}
		if len(e.Differences) == 0 {
			e.Differences = []string{firstDifference(region, o, line)}
		}
		return e
	}
	return nil
}

// canonSkip is canon of an old text without unescaping and without the habit skip.
func canonSkip(s string, skip int) string {
	for i, h := range habits() {
		if i != 1 && i != skip {
			s = h.apply(s)
		}
	}
	return s
}

// lines returns n lines of s from the given 0-based one.
func lines(s string, from, n int) string {
	for ; from > 0; from-- {
		s = s[strings.IndexByte(s, '\n')+1:]
	}
	end := 0
	for ; n > 0; n-- {
		i := strings.IndexByte(s[end:], '\n')
		if i < 0 {
			return s
		}
		end += i + 1
	}
	return s[:end-1]
}

func indent(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// indentWords says how the indentation of the first line that differs in it differs.
func indentWords(region, old string) string {
	a, b := strings.Split(region, "\n"), strings.Split(habits()[0].apply(old), "\n")
	for i := range min(len(a), len(b)) {
		if x, y := indent(a[i]), indent(b[i]); x != y {
			return fmt.Sprintf("the indentation differs: the file has %s where the old text has %s", blanks(x), blanks(y))
		}
	}
	return "the indentation differs"
}

func blanks(s string) string {
	tabs, spaces := strings.Count(s, "\t"), strings.Count(s, " ")
	switch {
	case tabs == 0 && spaces == 0:
		return "none"
	case tabs == 0:
		return plural(spaces, "space")
	case spaces == 0:
		return plural(tabs, "tab")
	}
	return plural(tabs, "tab") + " and " + plural(spaces, "space")
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// similar finds the place where most lines of old occur, or else the line most like
// the longest line of old.
func similar(text, file, old string) *NotFoundError {
	want := strings.Split(strings.Trim(canonSkip(old, -1), "\n"), "\n")
	have := strings.Split(file, "\n")
	at, hits := bestWindow(have, want)
	if hits == 0 {
		at = bestLine(have, want)
	}
	if at < 0 {
		return &NotFoundError{}
	}
	region := lines(text, at, len(want))
	sim := alike(region, old)
	if sim < minSimilar {
		return &NotFoundError{}
	}
	return &NotFoundError{Line: at + 1, Similarity: sim, Differences: []string{firstDifference(region, old, at)}}
}

// bestWindow returns where a window of len(want) lines shares most distinct lines with want.
func bestWindow(have, want []string) (at, hits int) {
	need := make(map[string]int)
	for _, l := range want {
		if len(strings.TrimSpace(l)) > 2 {
			need[l]++
		}
	}
	n := 0
	for i, l := range have {
		if c, ok := need[l]; ok {
			if c > 0 {
				n++
			}
			need[l] = c - 1
		}
		if j := i - len(want); j >= 0 {
			if c, ok := need[have[j]]; ok {
				if c >= 0 {
					n--
				}
				need[have[j]] = c + 1
			}
		}
		if n > hits {
			at, hits = max(0, i-len(want)+1), n
		}
	}
	if hits == 0 {
		return 0, 0
	}
	// The window may begin before the first shared line; align on it.
	for k, l := range want {
		for i := at; i < min(len(have), at+len(want)); i++ {
			if have[i] == l && len(strings.TrimSpace(l)) > 2 {
				return max(0, i-k), hits
			}
		}
	}
	return at, hits
}

// bestLine returns the window of the line most like the longest line of want, or -1.
func bestLine(have, want []string) int {
	longest := 0
	for i, l := range want {
		if len(l) > len(want[longest]) {
			longest = i
		}
	}
	target := want[longest]
	if len(target) > 400 {
		target = target[:400]
	}
	if len(target) < 4 {
		return -1
	}
	grams := bigrams(target)
	best, at := minSimilar, -1
	for i, l := range have {
		if len(l)*3 < len(target) || len(l) > len(target)*3 {
			continue
		}
		if s := grams.dice(l); s > best {
			best, at = s, i
		}
	}
	if at < 0 {
		return -1
	}
	return max(0, at-longest)
}

// pairs counts the pairs of neighbouring bytes of a text.
type pairs struct {
	count [1 << 16]int32
	n     int
}

func bigrams(s string) *pairs {
	p := &pairs{n: max(0, len(s)-1)}
	for i := 1; i < len(s); i++ {
		p.count[uint16(s[i-1])<<8|uint16(s[i])]++
	}
	return p
}

// dice returns the share of pairs that s has in common with p.
func (p *pairs) dice(s string) float64 {
	if p.n+len(s) <= 1 {
		return 0
	}
	common := 0
	for i := 1; i < len(s); i++ {
		c := &p.count[uint16(s[i-1])<<8|uint16(s[i])]
		if *c > 0 {
			common++
		}
		*c--
	}
	for i := 1; i < len(s); i++ {
		p.count[uint16(s[i-1])<<8|uint16(s[i])]++
	}
	return 2 * float64(common) / float64(p.n+max(0, len(s)-1))
}

func alike(a, b string) float64 {
	if a == b {
		return 1
	}
	return min(bigrams(b).dice(a), 0.99)
}

func firstDifference(region, old string, at int) string {
	a, b := strings.Split(region, "\n"), strings.Split(strings.Trim(old, "\n"), "\n")
	for i := range b {
		if i >= len(a) {
			return fmt.Sprintf("the file ends there, but the old text goes on with %s", quote(b[i]))
		}
		if a[i] != b[i] && strings.TrimSpace(a[i]) != strings.TrimSpace(b[i]) {
			return fmt.Sprintf("first difference at line %d: the file has %s where the old text has %s", at+i+1, quote(a[i]), quote(b[i]))
		}
	}
	return "they differ only in blanks"
}

func quote(s string) string {
	if len(s) > quoteChars {
		s = strings.ToValidUTF8(s[:quoteChars], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}
