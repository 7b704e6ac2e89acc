package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxRepairDepth bounds how deep an input is repaired.
const maxRepairDepth = 8

// coerce repairs, in place, values that arrived as JSON text although the
// schema wants another type, and drops nulls for optional fields that do not
// take null. It tells whether it changed anything.
func coerce(object map[string]any, s, root map[string]any, depth int) (changed bool) {
	if depth > maxRepairDepth {
		return false
	}
	props, _ := s["properties"].(map[string]any)
	required := stringList(s["required"])
	for name, value := range object {
		prop, ok := deref(props[name], root)
		if !ok {
			continue
		}
		types := typesOf(prop)
		if value == nil && len(types) > 0 && !slices.Contains(types, "null") && !slices.Contains(required, name) {
			delete(object, name)
			changed = true
			continue
		}
		if v, ok := fromText(value, types); ok {
			object[name], value, changed = v, v, true
		}
		switch v := value.(type) {
		case map[string]any:
			changed = coerce(v, prop, root, depth+1) || changed
		case []any:
			items, ok := deref(prop["items"], root)
			if !ok {
				continue
			}
			for i := range v {
				if m, isMap := v[i].(map[string]any); isMap {
					changed = coerce(m, items, root, depth+1) || changed
				} else if x, ok := fromText(v[i], typesOf(items)); ok {
					v[i], changed = x, true
				}
			}
		}
	}
	return changed
}

// fromText reads a string as the type that the schema wants, when it wants no
// string and the text is exactly one value of that type.
func fromText(value any, types []string) (any, bool) {
	text, ok := value.(string)
	if !ok || len(types) == 0 || slices.Contains(types, "string") {
		return nil, false
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		return nil, false
	}
	got := typeName(v)
	for _, t := range types {
		if t == got || t == "number" && got == "integer" {
			return v, true
		}
	}
	return nil, false
}

func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return "integer"
		}
		return "number"
	}
	return fmt.Sprintf("%T", v)
}

func typesOf(s map[string]any) []string {
	switch t := s["type"].(type) {
	case string:
		return []string{t}
	case []any:
		return stringList(t)
	}
	return nil
}

func stringList(v any) []string {
	list, _ := v.([]any)
	out := make([]string, 0, len(list))
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// deref follows a local $ref once or a few times.
func deref(v any, root map[string]any) (map[string]any, bool) {
	s, ok := v.(map[string]any)
	for hops := 0; ok && hops < maxRepairDepth; hops++ {
		ref, isRef := s["$ref"].(string)
		if !isRef {
			return s, true
		}
		var node any = root
		for _, part := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			m, isMap := node.(map[string]any)
			if !isMap {
				return nil, false
			}
			node = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		}
		s, ok = node.(map[string]any)
	}
	return s, ok
}

// shape writes the top level of a schema in one line, such as
// {file_path: string, offset?: integer}.
func shape(s map[string]any) string {
	props, _ := s["properties"].(map[string]any)
	if len(props) == 0 {
		return ""
	}
	required := stringList(s["required"])
	names := make([]string, 0, len(props))
	for name := range props {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		ra, rb := slices.Contains(required, a), slices.Contains(required, b)
		if ra != rb {
			if ra {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
		if !slices.Contains(required, name) {
			b.WriteByte('?')
		}
		p, _ := deref(props[name], s)
		b.WriteString(": " + shapeOf(p, s))
	}
	b.WriteByte('}')
	return b.String()
}

func shapeOf(p, root map[string]any) string {
	if enum, ok := p["enum"].([]any); ok && len(enum) > 0 {
		parts := make([]string, len(enum))
		for i, e := range enum {
			raw, _ := json.Marshal(e)
			parts[i] = string(raw)
		}
		return strings.Join(parts, "|")
	}
	types := typesOf(p)
	if len(types) == 1 && types[0] == "array" {
		if items, ok := deref(p["items"], root); ok {
			if t := typesOf(items); len(t) == 1 {
				return "array of " + t[0]
			}
		}
	}
	if len(types) == 0 {
		return "any"
	}
	return strings.Join(types, "|")
}

// nearest finds the field that a wrong name was probably meant to be.
func nearest(name string, c *compiled, path []string) string {
	if len(path) > 0 {
		return ""
	}
	props, _ := c.tree["properties"].(map[string]any)
	best, bestDistance := "", len(name)/2+1
	for candidate := range props {
		d := distance(fold(name), fold(candidate))
		if d < bestDistance || d == bestDistance && best != "" && candidate < best {
			best, bestDistance = candidate, d
		}
	}
	return best
}

func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// distance is the edit distance of two short strings.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = min(diagonal, row[j], row[j+1]) + 1
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
