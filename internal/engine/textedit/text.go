// Package textedit reads text out of bytes, edits it by exact replacement, and writes
// it back so that nothing but the edited span changes: not the encoding, not the byte
// order mark, not the ending of any other line.
//
// Editing happens in "LF space": the decoded text in which each line ending is "\n",
// which is what a reader of the file is shown. If an edit does not apply, the error
// says where the nearest text is and in what it differs.
//
// All functions are pure: they touch no files and keep no state, and a [Text] is
// immutable, so they are safe for concurrent use.
package textedit

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
)

// MaxText is the largest text, in bytes, that is loaded or made by an edit.
const MaxText = 256 << 20

// ErrBinary says that the bytes are not text.
var ErrBinary = errors.New("the content is binary, not text")

// ErrTooLarge says that a text is or would become larger than MaxText.
var ErrTooLarge = fmt.Errorf("a text may have at most %d MB", MaxText>>20)

// Encoding names a character encoding.
type Encoding string

// The encodings that are recognised.
const (
	UTF8        Encoding = "UTF-8"
	UTF16LE     Encoding = "UTF-16LE"
	UTF16BE     Encoding = "UTF-16BE"
	Windows1252 Encoding = "windows-1252" // a superset of Latin-1
	ShiftJIS    Encoding = "Shift_JIS"
	EUCJP       Encoding = "EUC-JP"
	GBK         Encoding = "GBK"
	GB18030     Encoding = "GB18030"
	Big5        Encoding = "Big5"
	EUCKR       Encoding = "EUC-KR"
)

// Ending is the kind of a line ending.
type Ending uint8

// Kinds of line endings. A lone CR counts as an ending only in a text without any LF.
const (
	LF Ending = iota
	CRLF
	CR
	Mixed // of a whole text: both LF and CRLF
)

func (e Ending) String() string { return [...]string{"LF", "CRLF", "CR", "mixed"}[e] }

func (e Ending) chars() string { return [...]string{"\n", "\r\n", "\r", "\n"}[e] }

// Text is a decoded text that remembers the bytes it came from. The zero value is an
// empty UTF-8 text.
type Text struct {
	raw     []byte
	lf      string   // the text in LF space
	uniform Ending   // the ending of all lines, or Mixed
	ends    []Ending // of each line, only if uniform is Mixed
	enc     Encoding // "" is UTF-8
	bom     bool
	guessed bool
	bad     int // 1 + offset of the first byte that is not valid in enc; 0: none
}

// Encoding returns the encoding of the text.
func (t Text) Encoding() Encoding {
	if t.enc == "" {
		return UTF8
	}
	return t.enc
}

// Guessed reports whether the encoding was told by statistics and not by a mark or
// by strict validity. All bytes outside an edit stay as they are even if it is wrong.
func (t Text) Guessed() bool { return t.guessed }

// BOM reports whether the bytes begin with a byte order mark, which is not part of the text.
func (t Text) BOM() bool { return t.bom }

// Endings returns the kind of all line endings, or Mixed. It is LF if there are none.
func (t Text) Endings() Ending { return t.uniform }

// FinalNewline reports whether the last line has an ending.
func (t Text) FinalNewline() bool { return strings.HasSuffix(t.lf, "\n") }

// String returns the text in LF space. Undecodable bytes are U+FFFD.
func (t Text) String() string { return t.lf }

// Bytes returns the bytes of the file. The caller must not change them.
func (t Text) Bytes() []byte { return t.raw }

// Undecodable returns an error if some bytes are not valid in the encoding, and nil
// otherwise. Such a text can be shown but not edited.
func (t Text) Undecodable() error {
	if t.bad == 0 {
		return nil
	}
	off := t.bad - 1
	return &UndecodableError{Encoding: t.Encoding(), Offset: off, Line: 1 + bytes.Count(t.raw[:off], []byte{'\n'}), Byte: t.raw[off]}
}

// UndecodableError says why a text cannot be edited as text.
type UndecodableError struct {
	Encoding Encoding
	Offset   int // of the first bad byte
	Line     int // 1-based
	Byte     byte
}

func (e *UndecodableError) Error() string {
	return fmt.Sprintf("the file is not valid %s: byte 0x%02X at offset %d (line %d) cannot be decoded, and editing it as text would destroy it; convert the file to UTF-8 first, or change it by a program that works on bytes",
		e.Encoding, e.Byte, e.Offset, e.Line)
}

// EncodeError says that new text cannot be written in the file's encoding.
type EncodeError struct {
	Encoding Encoding
	Char     rune
}

func (e *EncodeError) Error() string {
	if e.Char == utf8.RuneError {
		return fmt.Sprintf("the new text is not valid UTF-8 or holds U+FFFD, which cannot be written in the file's encoding, %s", e.Encoding)
	}
	return fmt.Sprintf("the new text has the character %q (U+%04X), which the file's encoding, %s, cannot express; use other characters or convert the file to UTF-8 first", e.Char, e.Char, e.Encoding)
}

// Load decodes data, which the Text keeps and the caller must not change afterwards.
// It fails with ErrBinary if data is no text, and with ErrTooLarge. A text with a few
// undecodable bytes loads; see [Text.Undecodable].
func Load(data []byte) (Text, error) {
	if len(data) > MaxText {
		return Text{}, ErrTooLarge
	}
	t, decoded, err := detect(data)
	if err != nil {
		return Text{}, err
	}
	t.raw = data
	t.lf, t.uniform, t.ends = toLF(decoded)
	return t, nil
}

// WithContent returns t with content in place of its whole text, in the encoding of t
// and with its byte order mark. Line endings of content become those of t (the more
// frequent ones if mixed); an empty t takes content with its own endings.
func (t Text) WithContent(content string) (Text, error) {
	if err := t.Undecodable(); err != nil {
		return Text{}, err
	}
	if len(content) > MaxText {
		return Text{}, ErrTooLarge
	}
	n := Text{enc: t.enc, bom: t.bom, guessed: t.guessed}
	if t.lf == "" {
		n.lf, n.uniform, n.ends = toLF(content)
	} else {
		n.uniform = t.frequent()
		n.lf = normalise(content, n.uniform)
		if !strings.Contains(n.lf, "\n") {
			n.uniform = LF
		}
	}
	return n.encode()
}

// frequent returns the ending that most lines have.
func (t Text) frequent() Ending {
	if t.uniform != Mixed {
		return t.uniform
	}
	crlf := 0
	for _, e := range t.ends {
		if e == CRLF {
			crlf++
		}
	}
	if crlf*2 > len(t.ends) {
		return CRLF
	}
	return LF
}

// normalise brings a text that somebody typed into the LF space of a text with the given endings.
func normalise(s string, file Ending) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if file == CR {
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	return s
}

// toLF splits s into its LF space and its endings.
func toLF(s string) (lf string, uniform Ending, ends []Ending) {
	if !strings.Contains(s, "\r") {
		return s, LF, nil
	}
	crlf, all := strings.Count(s, "\r\n"), strings.Count(s, "\n")
	switch {
	case all == 0:
		return strings.ReplaceAll(s, "\r", "\n"), CR, nil
	case crlf == 0:
		return s, LF, nil
	case crlf == all:
		return strings.ReplaceAll(s, "\r\n", "\n"), CRLF, nil
	}
	ends = make([]Ending, 0, all)
	for rest := s; ; {
		i := strings.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		if i > 0 && rest[i-1] == '\r' {
			ends = append(ends, CRLF)
		} else {
			ends = append(ends, LF)
		}
		rest = rest[i+1:]
	}
	return strings.ReplaceAll(s, "\r\n", "\n"), Mixed, ends
}

// fromLF is the inverse of toLF.
func (t Text) fromLF() string {
	switch t.uniform {
	case LF:
		return t.lf
	case CRLF, CR:
		return strings.ReplaceAll(t.lf, "\n", t.uniform.chars())
	}
	var b strings.Builder
	b.Grow(len(t.lf) + len(t.ends))
	rest := t.lf
	for _, e := range t.ends {
		i := strings.IndexByte(rest, '\n')
		b.WriteString(rest[:i])
		b.WriteString(e.chars())
		rest = rest[i+1:]
	}
	b.WriteString(rest)
	return b.String()
}

// encode fills in the bytes of a text.
func (t Text) encode() (Text, error) {
	s := t.fromLF()
	if len(s) > MaxText {
		return Text{}, ErrTooLarge
	}
	if !utf8.ValidString(s) {
		return Text{}, &EncodeError{Encoding: t.Encoding(), Char: utf8.RuneError}
	}
	var mark string
	if t.bom {
		mark = "\ufeff"
	}
	if t.Encoding() == UTF8 {
		t.raw = []byte(mark + s)
		return t, nil
	}
	raw, err := codec(t.enc).NewEncoder().Bytes([]byte(mark + s))
	if err != nil {
		return Text{}, &EncodeError{Encoding: t.enc, Char: firstUnencodable(s, codec(t.enc))}
	}
	t.raw = raw
	return t, nil
}

func firstUnencodable(s string, c encoding.Encoding) rune {
	e := c.NewEncoder()
	for _, r := range s {
		if r >= 0x80 {
			if _, err := e.String(string(r)); err != nil {
				return r
			}
		}
	}
	return utf8.RuneError
}
