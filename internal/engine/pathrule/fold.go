package pathrule

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold brings names that some file system takes for the same file to one form: letter case, Unicode composition, the
// characters that HFS+ ignores, and the ligatures that APFS unfolds. It is for closing doors only: two different files
// may fold to one name.
func fold(s string) string {
	ascii := true
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFC.String(s) {
		switch r {
		case 'ß', 'ẞ', 'ﬆ', 'ﬅ':
			if r == 'ß' || r == 'ẞ' {
				b.WriteString("ss")
			} else {
				b.WriteString("st")
			}
		case 'ﬀ':
			b.WriteString("ff")
		case 'ﬁ':
			b.WriteString("fi")
		case 'ﬂ':
			b.WriteString("fl")
		case 'ﬃ':
			b.WriteString("ffi")
		case 'ﬄ':
			b.WriteString("ffl")
		default:
			if !ignorable(r) {
				b.WriteRune(foldRune(r))
			}
		}
	}
	return norm.NFC.String(b.String())
}

// ignorable names the code points that HFS+ leaves out when it compares names.
func ignorable(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}

// foldRune gives one representative for all letters that differ by case only.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	if least >= 'A' && least <= 'Z' {
		return least + 'a' - 'A'
	}
	return least
}

// foldAll folds each component.
func foldAll(segs []string) []string {
	out := make([]string, len(segs))
	for i, s := range segs {
		out[i] = fold(s)
	}
	return out
}
