package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Valued is implemented by string types of an input that take fixed values
// only; the generated schema lists them.
type Valued interface{ Values() []string }

// Generate makes the JSON Schema of a Go type. Optional fields are those with
// omitempty or omitzero; a field's jsonschema tag is its description. Absent is
// the way to leave a field out: null is never offered to a model.
func Generate(t reflect.Type) (json.RawMessage, error) {
	types := map[reflect.Type]*jsonschema.Schema{}
	collectValued(t, types, map[reflect.Type]bool{})
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	tidy(s)
	if s.Type != "object" {
		return nil, fmt.Errorf("schema of %s: an input must be a struct", t)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	return raw, nil
}

func collectValued(t reflect.Type, into map[reflect.Type]*jsonschema.Schema, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	if v, ok := reflect.Zero(t).Interface().(Valued); ok && t.Kind() == reflect.String {
		s := &jsonschema.Schema{Type: "string"}
		for _, value := range v.Values() {
			s.Enum = append(s.Enum, value)
		}
		into[t] = s
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		collectValued(t.Elem(), into, seen)
	case reflect.Struct:
		for i := range t.NumField() {
			collectValued(t.Field(i).Type, into, seen)
		}
	}
}

// tidy removes "null" from types: a model that is offered null sends it.
func tidy(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) > 0 {
		s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
		if len(s.Types) == 1 {
			s.Type, s.Types = s.Types[0], nil
		}
	}
	for _, p := range s.Properties {
		tidy(p)
	}
	tidy(s.Items)
	tidy(s.AdditionalProperties)
}
