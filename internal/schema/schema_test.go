package schema

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

type colour string

func (colour) Values() []string { return []string{"red", "green"} }

type item struct {
	Name   string `json:"name"`
	Colour colour `json:"colour,omitempty"`
}

type input struct {
	FilePath string `json:"file_path" jsonschema:"the file"`
	Offset   int    `json:"offset,omitempty"`
	All      bool   `json:"all,omitempty"`
	Items    []item `json:"items,omitempty"`
	Limit    *int   `json:"limit,omitempty"`
}

func schemaOf(t *testing.T) *Schema {
	t.Helper()
	return For(tool.Define(tool.Def[input, string]{
		Name:         "Sample",
		FieldAliases: map[string]string{"path": "file_path"},
		Call: func(context.Context, input, *tool.Env) (tool.Result[string], error) {
			return tool.OK(""), nil
		},
	}))
}

func TestGeneratedSchemaOffersNoNullAndListsValues(t *testing.T) {
	raw, err := schemaOf(t).JSON()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "null") {
		t.Errorf("null is offered: %s", raw)
	}
	for _, want := range []string{`"enum":["red","green"]`, `"required":["file_path"]`, `"additionalProperties":false`, `"the file"`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("schema lacks %s: %s", want, raw)
		}
	}
}

func TestCheckListsEveryProblem(t *testing.T) {
	s := schemaOf(t)
	_, err := s.Check(json.RawMessage(`{"ofset": 1, "items": [{"colour": "blue"}], "limit": "x"}`))
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("got %v, want an InvalidError", err)
	}
	text := err.Error()
	for _, want := range []string{
		"file_path: required, but missing", "ofset: no such field; did you mean offset?",
		`items[0].colour: must be one of "red", "green"`, "items[0].name: required, but missing",
		"limit: must be integer, not string", "Expected: {file_path: string, all?: boolean",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the error does not say %q:\n%s", want, text)
		}
	}
}

func TestCheckRepairsOnlyWhatIsBeyondDoubt(t *testing.T) {
	s := schemaOf(t)
	for name, c := range map[string]struct{ in, want string }{
		"same bytes":       {`{ "file_path":"a" }`, `{ "file_path":"a" }`},
		"number as text":   {`{"file_path":"a","offset":"7"}`, `{"file_path":"a","offset":7}`},
		"boolean as text":  {`{"file_path":"a","all":"true"}`, `{"all":true,"file_path":"a"}`},
		"array as text":    {`{"file_path":"a","items":"[{\"name\":\"n\"}]"}`, `{"file_path":"a","items":[{"name":"n"}]}`},
		"near-miss name":   {`{"path":"a"}`, `{"file_path":"a"}`},
		"equal duplicate":  {`{"path":"a","file_path":"a"}`, `{"file_path":"a"}`},
		"null for omitted": {`{"file_path":"a","limit":null}`, `{"file_path":"a"}`},
		"numeric path":     {`{"file_path":5}`, ""},
		"other duplicate":  {`{"path":"b","file_path":"a"}`, ""},
		"half a number":    {`{"file_path":"a","offset":"7 8"}`, ""},
		"float for int":    {`{"file_path":"a","offset":1.5}`, ""},
		"array":            {`[]`, ""},
		"not JSON":         {`{"file_path":`, ""},
		"two values":       {`{"file_path":"a"} {}`, ""},
	} {
		got, err := s.Check(json.RawMessage(c.in))
		if (err != nil) != (c.want == "") || string(got) != c.want {
			t.Errorf("%s: got %s, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestForeignSchemas(t *testing.T) {
	make := func(schema string) *Schema {
		tl, err := tool.FromSchema(json.RawMessage(schema), tool.Def[json.RawMessage, string]{
			Name: "Foreign",
			Call: func(context.Context, json.RawMessage, *tool.Env) (tool.Result[string], error) {
				return tool.OK(""), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return For(tl)
	}
	for name, c := range map[string]struct {
		schema, in string
		ok, usable bool
	}{
		"draft-07":           {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"F":{"type":"string"}},"properties":{"f":{"$ref":"#/definitions/F"}}}`, `{"f":"x"}`, true, true},
		"unknown dialect":    {`{"$schema":"https://example.com/mine","type":"object"}`, `{}`, true, true},
		"root oneOf":         {`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1,"b":2}`, false, true},
		"recursive":          {`{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"integer"}}}},"$ref":"#/$defs/n"}`, `{"next":{"v":"1"}}`, false, true},
		"look-ahead":         {`{"type":"object","properties":{"p":{"type":"string","pattern":"^(?!x).*$"}}}`, `{"p":"xy"}`, false, true},
		"boolean":            {`true`, `{"any":1}`, true, true},
		"outside file":       {`{"$ref":"file:///etc/passwd"}`, `{}`, false, false},
		"outside network":    {`{"properties":{"a":{"$ref":"https://example.com/s.json"}}}`, `{}`, false, false},
		"names of prototype": {`{"type":"object","properties":{"constructor":{"type":"string"}}}`, `{"constructor":5}`, false, true},
	} {
		s := make(c.schema)
		if usable := s.Err() == nil; usable != c.usable {
			t.Errorf("%s: usable = %v (%v)", name, usable, s.Err())
			continue
		}
		if _, err := s.Check(json.RawMessage(c.in)); (err == nil) != c.ok {
			t.Errorf("%s: Check = %v, want ok = %v", name, err, c.ok)
		}
	}
}

func TestCatastrophicPatternIsBounded(t *testing.T) {
	tl, err := tool.FromSchema(json.RawMessage(`{"type":"object","properties":{"p":{"type":"string","pattern":"^(a+)+$"}}}`),
		tool.Def[json.RawMessage, string]{Name: "Slow", Call: func(context.Context, json.RawMessage, *tool.Env) (tool.Result[string], error) {
			return tool.OK(""), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := For(tl).Check(json.RawMessage(`{"p":"` + strings.Repeat("a", 60) + `!"}`)); err == nil {
		t.Error("a value that does not match was accepted")
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(`{"file_path":"a","offset":"7"}`)
	f.Add(`{"items":[{"name":null}]}`)
	s := For(tool.Define(tool.Def[input, string]{Name: "Sample", Call: func(context.Context, input, *tool.Env) (tool.Result[string], error) {
		return tool.OK(""), nil
	}}))
	f.Fuzz(func(t *testing.T, in string) {
		out, err := s.Check(json.RawMessage(in))
		if err != nil {
			return
		}
		again, err := s.Check(out)
		if err != nil || string(again) != string(out) {
			t.Errorf("repairing twice differs: %s, then %s (%v)", out, again, err)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	s := For(tool.Define(tool.Def[input, string]{Name: "Sample", Call: func(context.Context, input, *tool.Env) (tool.Result[string], error) {
		return tool.OK(""), nil
	}}))
	raw := json.RawMessage(`{"file_path":"/tmp/a","offset":7}`)
	for b.Loop() {
		if _, err := s.Check(raw); err != nil {
			b.Fatal(err)
		}
	}
}
