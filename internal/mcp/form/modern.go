package form

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
)

// schemaMaps are keywords whose value is an object of schemas, schemaLists a
// list of schemas, schemas one schema.
var (
	schemaMaps  = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
	schemaLists = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	schemas     = []string{"items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedItems", "unevaluatedProperties"}
)

// node brings a schema below the root into the spelling of the 2020-12 draft.
func (p *presenter) node(v any, depth int) (any, error) {
	if depth > maxSchemaDepth {
		return nil, errors.New("the schema is nested too deep")
	}
	s, ok := v.(map[string]any)
	if !ok {
		if b, isBool := v.(bool); isBool {
			return b, nil
		}
		return map[string]any{}, nil // no schema at all: anything goes
	}
	out := maps.Clone(s)
	for _, key := range []string{"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$comment"} {
		if _, isText := out[key].(string); isText || key[0] == '$' {
			delete(out, key)
		}
	}
	if ref, ok := out["$ref"].(string); ok {
		if _, found := p.resolve(ref); !found {
			delete(out, "$ref")
			p.say("A part of the schema (%s) is not known.", clip(ref))
		} else if rest, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
			out["$ref"] = "#/$defs/" + rest
		} else if !strings.HasPrefix(ref, "#/$defs/") && ref != "#" {
			// The place that it points to may not be there any more once the
			// root is flat: what stood there is put in its place.
			delete(out, "$ref")
			if target, _ := p.resolve(ref); depth < maxSchemaDepth/4 {
				out = merge(target, out, union)
			}
		}
	}
	if t, ok := out["type"].(string); ok && t == "any" {
		delete(out, "type")
	}
	p.bounds(out)
	if list, ok := out["items"].([]any); ok { // a tuple, as drafts before 2020-12 wrote it
		delete(out, "items")
		out["prefixItems"] = list
		if more, ok := out["additionalItems"]; ok {
			out["items"] = more
		}
	}
	delete(out, "additionalItems")
	for _, key := range schemaMaps {
		m, ok := out[key].(map[string]any)
		if !ok {
			delete(out, key)
			continue
		}
		clean := make(map[string]any, len(m))
		for name, sub := range m {
			c, err := p.node(sub, depth+1)
			if err != nil {
				return nil, err
			}
			clean[name] = c
		}
		out[key] = clean
	}
	for _, key := range schemaLists {
		list, ok := out[key].([]any)
		if !ok || len(list) == 0 {
			delete(out, key)
			continue
		}
		clean := make([]any, len(list))
		for i, sub := range list {
			c, err := p.node(sub, depth+1)
			if err != nil {
				return nil, err
			}
			clean[i] = c
		}
		out[key] = clean
	}
	for _, key := range schemas {
		sub, ok := out[key]
		if !ok {
			continue
		}
		c, err := p.node(sub, depth+1)
		if err != nil {
			return nil, err
		}
		out[key] = c
	}
	if req, ok := out["required"]; ok {
		if _, isList := req.([]any); !isList { // draft 3 wrote it into the field
			delete(out, "required")
		} else if len(texts(req)) == 0 {
			delete(out, "required")
		}
	}
	return out, nil
}

// bounds turns the flags of draft 4 into numbers.
func (p *presenter) bounds(s map[string]any) {
	for flag, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		on, isFlag := s[flag].(bool)
		if !isFlag {
			continue
		}
		delete(s, flag)
		if n, ok := s[limit].(json.Number); ok && on {
			s[flag] = n
			delete(s, limit)
		}
	}
}
