package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/tailscale/hujson"
)

const (
	// maxDepth is how deep values may be nested; a real file needs six levels.
	maxDepth = 100
	// MaxRule is the longest permission rule, in bytes.
	MaxRule = 16 << 10
	// maxSalvaged bounds how many rules are taken from a broken file.
	maxSalvaged = 10_000
)

// document is one file, parsed.
type document struct {
	place
	state      FileState
	repository bool
	data       []byte
	values     map[string]any // cleaned: known keys have the right kind
	lists      map[Behavior][]Entry
	dirs       []Entry
	tests      []Test
	hooks      []Hook
	problems   []Problem
	warnings   []Problem
}

func (d *document) problem(off int, field, format string, args ...any) {
	d.problems = append(d.problems, d.note(off, field, fmt.Sprintf(format, args...)))
	d.state = Broken
}

func (d *document) warn(off int, field, format string, args ...any) {
	d.warnings = append(d.warnings, d.note(off, field, fmt.Sprintf(format, args...)))
}

// note makes a Problem; off is a byte offset, or negative if unknown.
func (d *document) note(off int, field, text string) Problem {
	p := Problem{Source: d.source, File: d.path, Field: field, Text: text}
	if off >= 0 {
		p.Line, p.Column = d.position(off)
	}
	return p
}

func (d *document) position(off int) (line, column int) {
	off = min(off, len(d.data))
	return 1 + bytes.Count(d.data[:off], []byte("\n")), off - bytes.LastIndexByte(d.data[:off], '\n')
}

func (d *document) entry(text string, off int) Entry {
	line, _ := d.position(off)
	return Entry{Text: text, Source: d.source, File: d.path, Line: line, Dir: d.dir}
}

// parse reads data into the document. What cannot be parsed is salvaged; a broken file opens nothing.
func (d *document) parse(data []byte) {
	d.read(data)
	if d.state == Broken {
		d.closeUp()
	}
}

// closeUp leaves of a broken file only what closes doors.
func (d *document) closeUp() {
	delete(d.lists, Allow)
	d.dirs = nil
	kept := map[string]any{}
	for path, closed := range locks() {
		parts := strings.Split(path, ".")
		if v, ok := lookup(d.values, parts); ok && reflect.DeepEqual(v, closed) {
			for i := 1; i < len(parts); i++ {
				if _, ok := lookup(kept, parts[:i]); !ok {
					store(kept, parts[:i], map[string]any{})
				}
			}
			store(kept, parts, v)
		}
	}
	d.values = kept
}

func (d *document) read(data []byte) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	d.data, d.state = data, Found
	d.lists = map[Behavior][]Entry{}
	if len(bytes.TrimSpace(data)) == 0 {
		d.warn(-1, "", "the file is empty; write {} for no settings")
		return
	}
	if off, deep := tooDeep(data); deep {
		d.problem(off, "", "nested deeper than %d levels", maxDepth)
		d.salvage()
		return
	}
	root, err := hujson.Parse(data)
	if err != nil {
		line, column, text := splitError(err)
		d.problems = append(d.problems, Problem{Source: d.source, File: d.path, Line: line, Column: column, Text: "not valid JSON: " + text})
		d.state = Broken
		d.salvage()
		return
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		d.problem(root.StartOffset, "", "must be an object, is %s", kindOf(root))
		d.salvage()
		return
	}
	d.walk(object)
}

// walk takes the parts that need positions from the tree, and the rest as plain values.
func (d *document) walk(object *hujson.Object) {
	d.values = map[string]any{}
	first := map[string]bool{}
	for i := range object.Members {
		name, value := object.Members[i].Name, object.Members[i].Value
		key := literal(name)
		if first[key] {
			d.warn(name.StartOffset, key, "written twice; both count, and where they clash the later one")
		}
		first[key] = true
		switch key {
		case "permissions":
			d.walkPermissions(value)
		case "hooks":
			d.walkHooks(value)
		default:
			plain := decode(value)
			if plain == nil {
				continue
			}
			d.values[key] = merge(plain, d.values[key])
		}
	}
	d.clean(object)
}

func (d *document) walkPermissions(value hujson.Value) {
	object, ok := value.Value.(*hujson.Object)
	if !ok {
		d.problem(value.StartOffset, "permissions", "must be an object, is %s", kindOf(value))
		d.salvage()
		return
	}
	rest, _ := d.values["permissions"].(map[string]any)
	if rest == nil {
		rest = map[string]any{}
	}
	for i := range object.Members {
		key, value := literal(object.Members[i].Name), object.Members[i].Value
		field := "permissions." + key
		switch key {
		case "allow", "ask", "deny":
			b := Behavior(key)
			d.eachText(value, field, b != Allow, func(text string, off int) {
				if why := badRule(text); why != "" {
					d.warn(off, field, "rule %s left out: %s", strconv.Quote(clip(text)), why)
					return
				}
				d.lists[b] = append(d.lists[b], d.entry(text, off))
			})
		case "additionalDirectories":
			d.eachText(value, field, false, func(text string, off int) {
				if text == "" || strings.ContainsRune(text, 0) {
					d.warn(off, field, "left out: %q is no folder", clip(text))
					return
				}
				d.dirs = append(d.dirs, d.entry(text, off))
			})
		case "tests":
			d.walkTests(value, field)
		default:
			if plain := decode(value); plain != nil {
				rest[key] = plain
			}
		}
	}
	d.values["permissions"] = rest
}

// eachText visits the strings of a list. A single string where a list belongs is taken as a list of one if single is
// set: it is clear what was meant, and it closes a door.
func (d *document) eachText(value hujson.Value, field string, single bool, visit func(text string, off int)) {
	if value.Value.Kind() == '"' && single {
		d.warn(value.StartOffset, field, "must be a list; taken as a list of one")
		visit(literal(value), value.StartOffset)
		return
	}
	array, ok := value.Value.(*hujson.Array)
	if !ok {
		if value.Value.Kind() == 'n' {
			return
		}
		if single {
			d.problem(value.StartOffset, field, "must be a list of strings, is %s", kindOf(value))
		} else {
			d.warn(value.StartOffset, field, "left out: must be a list of strings, is %s", kindOf(value))
		}
		return
	}
	for i, e := range array.Elements {
		if e.Value.Kind() != '"' {
			d.warn(e.StartOffset, fmt.Sprintf("%s[%d]", field, i), "left out: must be a string, is %s", kindOf(e))
			continue
		}
		visit(literal(e), e.StartOffset)
	}
}

func badRule(text string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "it is empty"
	case len(text) > MaxRule:
		return fmt.Sprintf("longer than %d bytes", MaxRule)
	case strings.ContainsRune(text, 0):
		return "it contains a NUL byte"
	}
	return ""
}

func (d *document) walkTests(value hujson.Value, field string) {
	array, ok := value.Value.(*hujson.Array)
	if !ok {
		d.warn(value.StartOffset, field, "left out: must be a list of {call, expect}, is %s", kindOf(value))
		return
	}
	for i, e := range array.Elements {
		var t struct {
			Call   json.RawMessage
			Expect string
		}
		if err := json.Unmarshal(standard(e), &t); err != nil || t.Call == nil || t.Expect == "" {
			d.warn(e.StartOffset, fmt.Sprintf("%s[%d]", field, i), `left out: must be {"call": ..., "expect": "allow" | "ask" | "deny"}`)
			continue
		}
		line, _ := d.position(e.StartOffset)
		d.tests = append(d.tests, Test{t.Call, t.Expect, d.source, d.path, line})
	}
}

func (d *document) walkHooks(value hujson.Value) {
	object, ok := value.Value.(*hujson.Object)
	if !ok {
		d.problem(value.StartOffset, "hooks", "must be an object of events, is %s", kindOf(value))
		return
	}
	for i := range object.Members {
		event, list := literal(object.Members[i].Name), object.Members[i].Value
		array, ok := list.Value.(*hujson.Array)
		if !ok {
			d.problem(list.StartOffset, "hooks."+event, "must be a list of matchers, is %s", kindOf(list))
			continue
		}
		for j, e := range array.Elements {
			if e.Value.Kind() != '{' {
				d.problem(e.StartOffset, fmt.Sprintf("hooks.%s[%d]", event, j), "must be an object, is %s", kindOf(e))
				continue
			}
			line, _ := d.position(e.StartOffset)
			d.hooks = append(d.hooks, Hook{Event: event, Raw: standard(e), Source: d.source, File: d.path, Line: line, Dir: d.dir})
		}
	}
}

// standard gives the value as strict JSON. Standardizing works in place, so it is done on a copy.
func standard(v hujson.Value) json.RawMessage {
	c := v.Clone()
	c.Minimize()
	return bytes.TrimSpace(c.Pack())
}

// decode gives plain values: maps, slices, strings, json.Number, bool, nil. A key written twice is merged.
func decode(v hujson.Value) any {
	switch t := v.Value.(type) {
	case *hujson.Object:
		m := make(map[string]any, len(t.Members))
		for i := range t.Members {
			if plain := decode(t.Members[i].Value); plain != nil {
				key := literal(t.Members[i].Name)
				m[key] = merge(plain, m[key])
			}
		}
		return m
	case *hujson.Array:
		s := make([]any, 0, len(t.Elements))
		for _, e := range t.Elements {
			s = append(s, decode(e))
		}
		return s
	case hujson.Literal:
		switch t.Kind() {
		case '"':
			return t.String()
		case '0':
			return json.Number(string(t))
		case 't', 'f':
			return t.Bool()
		}
	}
	return nil
}

func literal(v hujson.Value) string {
	if l, ok := v.Value.(hujson.Literal); ok {
		return l.String()
	}
	return ""
}

func kindOf(v hujson.Value) string {
	switch v.Value.Kind() {
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	}
	return "a list"
}

var errorPosition = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^hujson: line (\d+), column (\d+): (.*)$`)
})

func splitError(err error) (line, column int, text string) {
	m := errorPosition().FindStringSubmatch(err.Error())
	if m == nil {
		return 0, 0, err.Error()
	}
	line, err1 := strconv.Atoi(m[1])
	column, err2 := strconv.Atoi(m[2])
	if errors.Join(err1, err2) != nil {
		return 0, 0, m[3]
	}
	return line, column, m[3]
}

func clip(s string) string {
	const most = 80
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
