package lspclient

import (
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Position is a place in a text: line and UTF-16 unit in the line, both from zero.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is a part of a text; End is not in it.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Text is a text whose lines can be looked up. It is immutable.
type Text struct {
	text  string
	lines []int // where each begins
}

// NewText splits a text into lines, which end with LF, CRLF or CR.
func NewText(s string) *Text {
	t := &Text{text: s, lines: []int{0}}
	for i := 0; i < len(s); i++ {
		if s[i] == '\n' || s[i] == '\r' && (i+1 == len(s) || s[i+1] != '\n') {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// Lines is the number of lines; an empty one after the last line end counts.
func (t *Text) Lines() int { return len(t.lines) }

// Line gives a line, from zero, without its end; "" where there is none.
func (t *Text) Line(n int) string {
	if n < 0 || n >= len(t.lines) {
		return ""
	}
	end := len(t.text)
	if n+1 < len(t.lines) {
		end = t.lines[n+1]
	}
	return strings.TrimRight(t.text[t.lines[n]:end], "\r\n")
}

// Position converts a line and a character as people count them, both from one and
// in characters (code points). One character after the end of a line is allowed.
func (t *Text) Position(line, character int) (Position, error) {
	if line < 1 || line > t.Lines() {
		return Position{}, fmt.Errorf("line is %d, but the file has lines 1 to %d", line, t.Lines())
	}
	s := t.Line(line - 1)
	units, at := 0, 1
	for _, r := range s {
		if at == character {
			break
		}
		units += unitsOf(r)
		at++
	}
	if character < 1 || at != character {
		return Position{}, fmt.Errorf("character is %d, but line %d has characters 1 to %d", character, line, utf8.RuneCountInString(s)+1)
	}
	return Position{Line: line - 1, Character: units}, nil
}

// Character converts a position's UTF-16 unit to a character from one. What lies
// beyond the line is its end; the second half of a pair is its character.
func (t *Text) Character(p Position) int {
	units, at := 0, 1
	for _, r := range t.Line(p.Line) {
		if units += unitsOf(r); units > p.Character {
			break
		}
		at++
	}
	return at
}

func unitsOf(r rune) int {
	if n := utf16.RuneLen(r); n > 0 {
		return n
	}
	return 1
}

// URIOf is the file URI of an absolute path.
func URIOf(path string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}

// PathOf is the absolute path that a file URI of this machine names.
func PathOf(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return "", fmt.Errorf("%.200q does not name a file of this machine", uri)
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
		if len(path) > 1 && path[1] == ':' {
			path = strings.ToUpper(path[:1]) + path[1:]
		}
	}
	path = filepath.Clean(filepath.FromSlash(path))
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%.200q does not name a file of this machine", uri)
	}
	return path, nil
}
