package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Limits of a foreign schema.
const (
	MaxSchemaBytes = 512 << 10
	maxSchemaDepth = 60
	maxBranches    = 50
)

// Schema gives a foreign JSON Schema, of any draft and shape, the form that
// model APIs accept: an object schema without choices at its root, with local
// references only, in the spelling of the 2020-12 draft. note says in words
// what could not be expressed; it belongs into the description. Inputs are to
// be validated against the original: this form may allow more.
//
// A schema that cannot be an object's is an error.
func Schema(raw json.RawMessage) (out json.RawMessage, note string, err error) {
	if len(raw) > MaxSchemaBytes {
		return nil, "", fmt.Errorf("the schema has %d bytes; at most %d are accepted", len(raw), MaxSchemaBytes)
	}
	var v any
	if len(bytes.TrimSpace(raw)) > 0 {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			return nil, "", errors.New("the schema is not valid JSON")
		}
	}
	p := &presenter{}
	var root map[string]any
	switch v := v.(type) {
	case nil:
		root = map[string]any{}
	case bool:
		if !v {
			return nil, "", errors.New("the schema allows no input at all")
		}
		root = map[string]any{}
	case map[string]any:
		root = v
	default:
		return nil, "", errors.New("the schema must be an object")
	}
	p.root = root
	defs := map[string]any{}
	for _, key := range []string{"definitions", "$defs"} {
		if m, ok := root[key].(map[string]any); ok {
			maps.Copy(defs, m)
		}
	}
	flat, err := p.flatten(root, 0)
	if err != nil {
		return nil, "", err
	}
	if err := p.objectType(flat); err != nil {
		return nil, "", err
	}
	if err := p.keys(flat); err != nil {
		return nil, "", err
	}
	delete(flat, "definitions")
	delete(flat, "$defs")
	clean, err := p.node(flat, 0)
	if err != nil {
		return nil, "", err
	}
	res := clean.(map[string]any)
	if len(defs) > 0 {
		cleanDefs := map[string]any{}
		for name, d := range defs {
			c, err := p.node(d, 0)
			if err != nil {
				return nil, "", err
			}
			cleanDefs[name] = c
		}
		res["$defs"] = cleanDefs
	}
	if _, ok := res["properties"]; !ok {
		res["properties"] = map[string]any{}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(res); err != nil {
		return nil, "", err
	}
	return bytes.TrimSpace(buf.Bytes()), strings.Join(p.notes, " "), nil
}

type presenter struct {
	root  map[string]any
	notes []string
}

func (p *presenter) say(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(p.notes, s) {
		p.notes = append(p.notes, s)
	}
}

// choices are the keywords that APIs refuse at the root.
var choices = []string{"allOf", "anyOf", "oneOf"}

// flatten gives a schema without references and choices at its top.
func (p *presenter) flatten(s map[string]any, depth int) (map[string]any, error) {
	if depth > maxSchemaDepth {
		return nil, errors.New("the schema refers to itself at its root")
	}
	out := maps.Clone(s)
	if ref, ok := out["$ref"].(string); ok {
		target, ok := p.resolve(ref)
		if !ok {
			return nil, fmt.Errorf("the schema's root refers to %s, which is not part of it", clip(ref))
		}
		t, err := p.flatten(target, depth+1)
		if err != nil {
			return nil, err
		}
		delete(out, "$ref")
		out = merge(t, out, union)
	}
	for _, key := range choices {
		list, ok := out[key].([]any)
		delete(out, key)
		if !ok || len(list) == 0 {
			continue
		}
		if len(list) > maxBranches {
			return nil, fmt.Errorf("the schema has more than %d choices at its root", maxBranches)
		}
		var parts []map[string]any
		var shapes []string
		for _, item := range list {
			m, ok := item.(map[string]any)
			if !ok {
				if item == true {
					m = map[string]any{}
				} else {
					continue
				}
			}
			f, err := p.flatten(m, depth+1)
			if err != nil {
				return nil, err
			}
			parts = append(parts, f)
			shapes = append(shapes, fields(f))
		}
		if len(parts) == 0 {
			continue
		}
		mode := union
		if key != "allOf" {
			mode = intersection
			if len(parts) > 1 {
				verb := "at least"
				if key == "oneOf" {
					verb = "exactly"
				}
				p.say("The input must fit %s one of these forms: %s.", verb, strings.Join(shapes, " or "))
			}
		}
		merged := parts[0]
		for _, part := range parts[1:] {
			merged = merge(merged, part, mode)
		}
		out = merge(out, merged, union)
	}
	for _, key := range []string{"not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies"} {
		if rule, ok := out[key]; ok {
			delete(out, key)
			if text, err := json.Marshal(rule); err == nil && len(text) <= 300 {
				p.say("A further condition holds (%s): %s.", key, text)
			}
		}
	}
	delete(out, "enum")
	delete(out, "const")
	return out, nil
}

type required int

const (
	union        required = iota // both hold: what either requires
	intersection                 // one of them holds: what both require
)

// merge joins two object schemas. Of the keywords of the root the first's win.
func merge(a, b map[string]any, mode required) map[string]any {
	out := maps.Clone(a)
	props := map[string]any{}
	pa, _ := a["properties"].(map[string]any)
	pb, _ := b["properties"].(map[string]any)
	maps.Copy(props, pa)
	for name, schema := range pb {
		have, ok := props[name]
		switch {
		case !ok:
			props[name] = schema
		case mode == union:
			if !same(have, schema) {
				props[name] = map[string]any{"allOf": []any{have, schema}}
			}
		case !same(have, schema):
			props[name] = either(have, schema)
		}
	}
	if len(props) > 0 {
		out["properties"] = props
	}
	ra, rb := texts(a["required"]), texts(b["required"])
	var req []any
	for _, name := range ra {
		if mode == union || slices.Contains(rb, name) {
			req = append(req, name)
		}
	}
	if mode == union {
		for _, name := range rb {
			if !slices.Contains(ra, name) {
				req = append(req, name)
			}
		}
	}
	delete(out, "required")
	if len(req) > 0 {
		out["required"] = req
	}
	for key, v := range b {
		if _, ok := out[key]; !ok && key != "properties" && key != "required" {
			out[key] = v
		}
	}
	// A closed branch would forbid the fields of the others.
	if a["additionalProperties"] == false && b["additionalProperties"] != false || mode == intersection && a["additionalProperties"] != false {
		if len(pb) > 0 || mode == intersection {
			delete(out, "additionalProperties")
		}
	}
	return out
}

// either is a schema that fits what one of two fits.
func either(a, b any) any {
	if m, ok := a.(map[string]any); ok && len(m) == 1 {
		if list, ok := m["anyOf"].([]any); ok {
			for _, x := range list {
				if same(x, b) {
					return a
				}
			}
			return map[string]any{"anyOf": append(slices.Clone(list), b)}
		}
	}
	ca, okA := constant(a)
	cb, okB := constant(b)
	if okA && okB {
		both := slices.Clone(ca)
		for _, x := range cb {
			if !slices.ContainsFunc(both, func(y any) bool { return same(x, y) }) {
				both = append(both, x)
			}
		}
		return map[string]any{"enum": both}
	}
	return map[string]any{"anyOf": []any{a, b}}
}

// constant gives the values of a schema that is nothing but a list of values.
func constant(v any) ([]any, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	for key := range m {
		if key != "const" && key != "enum" && key != "type" {
			return nil, false
		}
	}
	if c, ok := m["const"]; ok {
		return []any{c}, true
	}
	list, ok := m["enum"].([]any)
	return list, ok
}

func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func texts(v any) (out []string) {
	list, _ := v.([]any)
	for _, x := range list {
		if s, ok := x.(string); ok && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// fields writes one form of the root in a few words.
func fields(s map[string]any) string {
	req := texts(s["required"])
	props, _ := s["properties"].(map[string]any)
	names := slices.Sorted(maps.Keys(props))
	if len(names) == 0 {
		names = req
	}
	parts := make([]string, 0, len(names))
	for _, n := range names {
		text := n
		if c, ok := constant(props[n]); ok && len(c) == 1 {
			if raw, err := json.Marshal(c[0]); err == nil {
				text += "=" + string(raw)
			}
		}
		if !slices.Contains(req, n) {
			text += "?"
		}
		parts = append(parts, text)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// resolve finds what a local reference points to.
func (p *presenter) resolve(ref string) (map[string]any, bool) {
	if ref == "#" {
		return p.root, true
	}
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, false
	}
	var node any = p.root
	for _, part := range strings.Split(path, "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch n := node.(type) {
		case map[string]any:
			node = n[part]
		case []any:
			i := 0
			if _, err := fmt.Sscanf(part, "%d", &i); err != nil || i < 0 || i >= len(n) {
				return nil, false
			}
			node = n[i]
		default:
			return nil, false
		}
	}
	m, ok := node.(map[string]any)
	return m, ok
}

// objectType makes the root an object's schema.
func (p *presenter) objectType(s map[string]any) error {
	switch t := s["type"].(type) {
	case nil:
	case string:
		if t != "object" {
			return fmt.Errorf("the schema is one of type %s; inputs are objects", clip(t))
		}
	case []any:
		if !slices.Contains(texts(t), "object") {
			return errors.New("the schema does not allow an object; inputs are objects")
		}
	default:
		return errors.New("the schema's type cannot be read")
	}
	s["type"] = "object"
	return nil
}

// keys drops fields whose names APIs refuse.
func (p *presenter) keys(s map[string]any) error {
	props, ok := s["properties"].(map[string]any)
	if !ok {
		delete(s, "properties")
		return nil
	}
	props = maps.Clone(props)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if fieldName(name) {
			continue
		}
		if slices.Contains(texts(s["required"]), name) {
			return fmt.Errorf("the required field %q has a name that models cannot be given: 1 to 64 letters, digits, _, . or - are accepted", clip(name))
		}
		delete(props, name)
		p.say("A field named %q is left out, because of its name.", clip(name))
	}
	s["properties"] = props
	return nil
}

func fieldName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		if c != '_' && c != '.' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

func clip(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if r := []rune(s); len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return s
}
