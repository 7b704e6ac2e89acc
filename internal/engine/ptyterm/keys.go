package ptyterm

import (
	"fmt"
	"slices"
	"strings"
)

// cursorKeys have another code while a program asks for it.
var cursorKeys = map[string]byte{"up": 'A', "down": 'B', "right": 'C', "left": 'D', "home": 'H', "end": 'F'}

var plainKeys = map[string]string{
	"enter": "\r", "tab": "\t", "escape": "\x1b", "backspace": "\x7f", "space": " ", "shift-tab": "\x1b[Z",
	"insert": "\x1b[2~", "delete": "\x1b[3~", "pageup": "\x1b[5~", "pagedown": "\x1b[6~",
	"f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~", "f6": "\x1b[17~",
	"f7": "\x1b[18~", "f8": "\x1b[19~", "f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",
}

// KeyNames are the names of keys in the order of the alphabet, beside ctrl-X and alt-X.
func KeyNames() []string {
	var out []string
	for name := range plainKeys {
		out = append(out, name)
	}
	for name := range cursorKeys {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Key gives the code of a key by its name: one of [KeyNames], or ctrl- or alt- and a
// letter, such as ctrl-c. A character by itself is text, not a key.
func Key(name string, appCursor bool) (string, error) {
	key := NormalKey(name)
	if code, ok := plainKeys[key]; ok {
		return code, nil
	}
	if final, ok := cursorKeys[key]; ok {
		if appCursor {
			return "\x1bO" + string(final), nil
		}
		return "\x1b[" + string(final), nil
	}
	if c, ok := strings.CutPrefix(key, "ctrl-"); ok && len(c) == 1 {
		switch {
		case c[0] >= 'a' && c[0] <= 'z':
			return string(rune(c[0] - 'a' + 1)), nil
		case c[0] >= '[' && c[0] <= '_':
			return string(rune(c[0] - '[' + 0x1b)), nil
		}
	}
	if c, ok := strings.CutPrefix(key, "alt-"); ok && len(c) == 1 && c[0] > ' ' && c[0] < 0x7f {
		return "\x1b" + c, nil
	}
	return "", fmt.Errorf("key %q is not known; keys are %s, ctrl-a to ctrl-z and alt- with a character; anything else is text to be typed",
		name, strings.Join(KeyNames(), ", "))
}

// NormalKey gives the one spelling of a key's name.
func NormalKey(name string) string {
	key := strings.ToLower(strings.TrimSpace(name))
	switch key {
	case "return", "ctrl-m", "ctrl-j":
		return "enter"
	case "esc", "ctrl-[":
		return "escape"
	case "ctrl-i":
		return "tab"
	case "ctrl-h":
		return "backspace"
	}
	for _, p := range [...][2]string{{"c-", "ctrl-"}, {"m-", "alt-"}, {"control-", "ctrl-"}, {"meta-", "alt-"}, {"ctrl+", "ctrl-"}, {"alt+", "alt-"}, {"shift+", "shift-"}, {"^", "ctrl-"}} {
		if rest, ok := strings.CutPrefix(key, p[0]); ok && rest != "" {
			return NormalKey(p[1] + rest) // no new prefix is an old one
		}
	}
	return key
}
