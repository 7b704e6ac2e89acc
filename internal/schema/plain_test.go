package schema

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// TestPlainIsCompiled: whatever counts as plain can be compiled; the keywords and
// values are drawn so that most are near the border.
func TestPlainIsCompiled(t *testing.T) {
	keywords := []string{"$schema", "$ref", "$id", "$defs", "title", "description", "format", "default", "const", "examples", "type", "properties", "items",
		"additionalProperties", "not", "anyOf", "oneOf", "allOf", "required", "enum", "minimum", "exclusiveMinimum", "minLength", "maxItems", "uniqueItems", "pattern",
		"patternProperties", "dependencies", "if", "$anchor", "x-own"}
	var value func(r *rapid.T, depth int) any
	value = func(r *rapid.T, depth int) any {
		switch n := rapid.IntRange(0, 11).Draw(r, "kind"); {
		case n == 0:
			return nil
		case n == 1:
			return rapid.Bool().Draw(r, "bool")
		case n == 2:
			return json.Number(rapid.SampledFrom([]string{"0", "3", "-1", "1.5", "1e3", "99999999999999999999"}).Draw(r, "number"))
		case n <= 5:
			return rapid.SampledFrom([]string{"string", "object", "a", "b", "(", "#/x", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema",
				"http://json-schema.org/draft-04/schema#"}).Draw(r, "text")
		case n <= 7 && depth < 4:
			out := []any{}
			for range rapid.IntRange(0, 3).Draw(r, "length") {
				out = append(out, value(r, depth+1))
			}
			return out
		case depth < 4:
			out := map[string]any{}
			for range rapid.IntRange(0, 4).Draw(r, "size") {
				out[rapid.SampledFrom(keywords).Draw(r, "key")] = value(r, depth+1)
			}
			return out
		}
		return "object"
	}
	plain := 0
	rapid.Check(t, func(r *rapid.T) {
		raw, err := json.Marshal(value(r, 0))
		if err != nil {
			r.Fatal(err)
		}
		if !Plain(raw) {
			return
		}
		plain++
		if _, err := compile("x", raw); err != nil {
			r.Fatalf("%s counts as plain: %v", raw, err)
		}
	})
	if plain == 0 {
		t.Error("nothing that was drawn is plain: the test tests nothing")
	}
}

func TestPlain(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"],"description":"d"},"b":{"type":["integer","null"],"minimum":1}},"required":["a"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`: true,
		`{}`: true, `true`: false, `null`: false, `[]`: false, ``: false, `{"type":"any"}`: false, `{"$ref":"#/a"}`: false, `{"pattern":"("}`: false,
		`{"properties":{"a":{"items":[{}]}}}`: false, `{"required":["a","a"]}`: false, `{"type":"object"} {}`: false,
	} {
		if got := Plain(json.RawMessage(raw)); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

func BenchmarkPlain(b *testing.B) {
	raw := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"],"description":"d"},"b":{"type":["integer","null"],"minimum":1},"c":{"type":"array","items":{"type":"string"}}},"required":["a"],"additionalProperties":false}`)
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			Plain(raw)
		}
	})
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			if _, err := compile("x", raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}
