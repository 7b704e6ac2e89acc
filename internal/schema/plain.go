package schema

import (
	"bytes"
	"encoding/json"
	"slices"
)

// maxPlainDepth is how deep a schema may be nested to count as plain.
const maxPlainDepth = 32

// Plain tells, in a fraction of the time that compiling takes, that a schema surely
// can be compiled: it is an object made of the everyday keywords, with values of the
// right kind and nothing that refers elsewhere. False says nothing.
func Plain(raw json.RawMessage) bool {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var doc map[string]any
	return dec.Decode(&doc) == nil && doc != nil && !dec.More() && plainObject(doc, 0)
}

func plainSchema(v any, depth int) bool {
	if _, ok := v.(bool); ok {
		return true
	}
	m, ok := v.(map[string]any)
	return ok && plainObject(m, depth)
}

func plainObject(m map[string]any, depth int) bool {
	if depth > maxPlainDepth {
		return false
	}
	for key, v := range m {
		if !plainKeyword(key, v, depth) {
			return false
		}
	}
	return true
}

var plainTypes = []any{"object", "array", "string", "number", "integer", "boolean", "null"}

func plainKeyword(key string, v any, depth int) bool {
	switch key {
	case "$schema":
		// The dialects of which all that is plain here means the same.
		s := dialect(map[string]any{"$schema": v})
		return s == "json-schema.org/draft-07/schema" || s == "json-schema.org/draft/2020-12/schema"
	case "title", "description", "format":
		_, ok := v.(string)
		return ok
	case "default", "const":
		return true
	case "examples":
		_, ok := v.([]any)
		return ok
	case "type":
		if list, ok := v.([]any); ok {
			return len(list) > 0 && distinctStrings(list) && !slices.ContainsFunc(list, func(t any) bool { return !slices.Contains(plainTypes, t) })
		}
		return slices.Contains(plainTypes, v)
	case "properties":
		m, ok := v.(map[string]any)
		if !ok {
			return false
		}
		for _, p := range m {
			if !plainSchema(p, depth+1) {
				return false
			}
		}
		return true
	case "items", "additionalProperties", "not":
		return plainSchema(v, depth+1)
	case "anyOf", "oneOf", "allOf":
		list, ok := v.([]any)
		return ok && len(list) > 0 && !slices.ContainsFunc(list, func(s any) bool { return !plainSchema(s, depth+1) })
	case "required":
		list, ok := v.([]any)
		return ok && distinctStrings(list)
	case "enum":
		list, ok := v.([]any)
		return ok && len(list) > 0 && distinctStrings(list)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		_, ok := v.(json.Number)
		return ok
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		n, ok := v.(json.Number)
		if !ok {
			return false
		}
		i, err := n.Int64()
		return err == nil && i >= 0
	case "uniqueItems":
		_, ok := v.(bool)
		return ok
	}
	return false
}

// distinctStrings tells that a list holds strings, each once.
func distinctStrings(list []any) bool {
	seen := make(map[string]bool, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok || seen[s] {
			return false
		}
		seen[s] = true
	}
	return true
}
