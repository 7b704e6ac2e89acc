// Package form gives what MCP servers offer the form that models and their
// APIs take: names of 1 to 64 letters that stay the same, schemas of the shape
// that APIs accept, descriptions that are bounded. It is pure: it knows no
// connections.
package form

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of names.
const (
	// MaxName is the longest tool name that model APIs take.
	MaxName = 64
	// maxSegment is the longest a server's part of a name can be.
	maxSegment = 30
	hashChars  = 8
	prefix     = "mcp__"
)

// Clean replaces what a tool name cannot hold by an underscore.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, s)
}

// Segments gives each server its part of the tool names. It depends on the set
// of names only, never on their order: of servers that would have the same part
// the one that is spelled so keeps it, and the others get a suffix made from
// their own name. No part contains "__" or ends in "_", so that a whole name
// can be read in one way only.
func Segments(servers []string) map[string]string {
	count := map[string]int{}
	for _, s := range distinct(servers) {
		count[Clean(s)]++
	}
	out := make(map[string]string, len(servers))
	for _, s := range servers {
		c := Clean(s)
		ambiguous := c == "" || strings.Contains(c, "__") || strings.HasSuffix(c, "_")
		if len(c) <= maxSegment && !ambiguous && (count[c] == 1 || c == s) {
			out[s] = c
			continue
		}
		for strings.Contains(c, "__") {
			c = strings.ReplaceAll(c, "__", "_")
		}
		c = strings.TrimRight(c[:min(len(c), maxSegment-hashChars-1)], "_")
		out[s] = strings.TrimLeft(c+"_"+hash(s), "_")
	}
	return out
}

// ToolNames gives the tools of one server, named by their own names, the names
// that models call them by. Like Segments it does not depend on order. Two tools
// of one own name get the same name; a caller keeps the first.
func ToolNames(segment string, tools []string) map[string]string {
	head := prefix + segment + "__"
	room := MaxName - len(head)
	count := map[string]int{}
	for _, t := range distinct(tools) {
		count[Clean(t)]++
	}
	out := make(map[string]string, len(tools))
	plain := map[string]bool{}
	for _, t := range tools {
		if c := Clean(t); c != "" && len(c) <= room && (count[c] == 1 || c == t) {
			out[t], plain[c] = head+c, true
		}
	}
	for _, t := range tools {
		if _, done := out[t]; done {
			continue
		}
		c := Clean(t)
		stem := c[:min(len(c), room-hashChars-1)]
		name := strings.TrimLeft(stem+"_"+hash(t), "_")
		for salt := t; plain[name]; name = strings.TrimLeft(stem+"_"+hash(salt), "_") {
			salt += "'" // a tool that is spelled like another's suffixed name
		}
		out[t], plain[name] = head+name, true
	}
	return out
}

func distinct(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:hashChars]
}

// MaxDescription bounds the description of a tool and the instructions of a
// server, in characters, where nothing else is configured.
const MaxDescription = 2048

// Description makes a server's text fit: control characters are dropped, and
// what is beyond the limit is cut, which is said.
func Description(s string, limit int) string {
	if limit <= 0 {
		limit = MaxDescription
	}
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, s))
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	const mark = "… [cut]"
	return strings.TrimSpace(string([]rune(s)[:max(0, limit-utf8.RuneCountInString(mark))])) + mark
}
