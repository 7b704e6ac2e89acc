package form

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	santhosh "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	seg := Segments([]string{"my-s", "my_s", "my s", "a__b", "end_", "日本", strings.Repeat("x", 80), "github"})
	if seg["my-s"] != "my-s" || seg["my_s"] != "my_s" || seg["github"] != "github" || !strings.HasPrefix(seg["my s"], "my_s_") {
		t.Error(seg)
	}
	names := ToolNames("s", []string{"a.b", "a_b", strings.Repeat("t", 70), "plain", "日本語"})
	if names["a_b"] != "mcp__s__a_b" || !strings.HasPrefix(names["a.b"], "mcp__s__a_b_") || names["plain"] != "mcp__s__plain" || len(names[strings.Repeat("t", 70)]) != 64 {
		t.Error(names)
	}
	if ToolNames("s", []string{"a.b"})["a.b"] != "mcp__s__a_b" {
		t.Error("without a clash a name needs no suffix")
	}
}

// Whatever the servers and tools are called: every pair has a valid name of its
// own, which does not depend on the order.
func TestNamesAreDistinctAndStable(t *testing.T) {
	word := rapid.OneOf(rapid.StringMatching(`[ab_.\-]{1,6}`), rapid.StringMatching(`[a-z_]{20,70}`), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		servers := rapid.SliceOfNDistinct(word, 1, 6, rapid.ID[string]).Draw(t, "servers")
		tools := rapid.SliceOfNDistinct(word, 1, 8, rapid.ID[string]).Draw(t, "tools")
		all := func(servers, tools []string) map[string]string {
			out := map[string]string{}
			seg := Segments(servers)
			for _, s := range servers {
				for raw, name := range ToolNames(seg[s], tools) {
					out[s+"\x00"+raw] = name
				}
			}
			return out
		}
		names := all(servers, tools)
		owner := map[string]string{}
		for who, name := range names {
			if other, taken := owner[name]; taken {
				t.Fatalf("%q and %q are both %s", who, other, name)
			}
			owner[name] = who
			if len(name) > MaxName || name != Clean(name) || !strings.HasPrefix(name, prefix) {
				t.Fatalf("%q: %s", who, name)
			}
		}
		slices.Reverse(servers)
		for who, name := range all(servers, tools) {
			if names[who] != name {
				t.Fatalf("%q is %s and %s", who, names[who], name)
			}
		}
	})
}

func TestSchema(t *testing.T) {
	for _, c := range []struct{ in, want, note string }{
		{``, `{"properties":{},"type":"object"}`, ""},
		{`true`, `{"properties":{},"type":"object"}`, ""},
		{`{}`, `{"properties":{},"type":"object"}`, ""},
		{`{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`, ""},
		{`{"type":"object","properties":{"a":{"type":"string"}},"oneOf":[{"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}]}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"type":"object"}`, "exactly one of these forms: {a} or {b}"},
		{`{"anyOf":[{"type":"object","properties":{"k":{"const":"x"}},"required":["k"],"additionalProperties":false},{"type":"object","properties":{"k":{"const":"y"},"z":{}},"required":["k","z"],"additionalProperties":false}]}`,
			`{"additionalProperties":false,"properties":{"k":{"enum":["x","y"]},"z":{}},"required":["k"],"type":"object"}`, `at least one of these forms: {k="x"} or {k="y", z}`},
		{`{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}`,
			`{"properties":{"a":{"type":"string"},"b":{}},"required":["a","b"],"type":"object"}`, ""},
		{`{"$ref":"#/definitions/In","definitions":{"In":{"type":"object","properties":{"n":{"$ref":"#/definitions/N"}}},"N":{"type":"object","properties":{"next":{"$ref":"#/definitions/N"}}}}}`,
			`{"$defs":{"In":{"properties":{"n":{"$ref":"#/$defs/N"}},"type":"object"},"N":{"properties":{"next":{"$ref":"#/$defs/N"}},"type":"object"}},"properties":{"n":{"$ref":"#/$defs/N"}},"type":"object"}`, ""},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","id":"x","properties":{"id":{"type":"number","minimum":0,"exclusiveMinimum":true},"t":{"type":"array","items":[{"type":"string"}],"additionalItems":false}}}`,
			`{"properties":{"id":{"exclusiveMinimum":0,"type":"number"},"t":{"items":false,"prefixItems":[{"type":"string"}],"type":"array"}},"type":"object"}`, ""},
		{`{"properties":{"x":{"$ref":"other.json#/a","description":"d"}}}`, `{"properties":{"x":{"description":"d"}},"type":"object"}`, "A part of the schema (other.json#/a) is not known."},
		{`{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`, ""},
		{`{"properties":{"$odd":{},"ok":{}}}`, `{"properties":{"ok":{}},"type":"object"}`, `"$odd" is left out`},
		{`{"properties":{"a":{"required":true,"type":"any"}},"if":{"required":["a"]}}`, `{"properties":{"a":{}},"type":"object"}`, "A further condition"},
		{`{"properties":{"n":{"maximum":12345678901234567890}}}`, `{"properties":{"n":{"maximum":12345678901234567890}},"type":"object"}`, ""},
	} {
		got, note, err := Schema(json.RawMessage(c.in))
		if err != nil || string(got) != c.want || c.note == "" && note != "" || !strings.Contains(note, c.note) {
			t.Errorf("%s:\n got %s\nnote %q, %v", c.in, got, note, err)
		}
	}
	for in, want := range map[string]string{
		`false`: "no input", `[]`: "must be an object", `{"type":"string"}`: "type string", `{"type":["array"]}`: "does not allow an object", `{`: "not valid JSON",
		`{"$ref":"#"}`: "itself", `{"$ref":"http://x"}`: "not part of it", `{"properties":{"$r":{}},"required":["$r"]}`: "has a name", `{"type":5}`: "cannot be read",
		`{"properties":` + strings.Repeat(`{"a":{"properties":`, 100) + `{}` + strings.Repeat(`}}`, 100) + `}`: "too deep",
		`{"description":"` + strings.Repeat("x", MaxSchemaBytes) + `"}`:                                        "bytes",
	} {
		if _, _, err := Schema(json.RawMessage(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v", in, err)
		}
	}
}

// What fits the original fits the form that models see: nothing right is ever
// called wrong by the model's side.
func TestSchemaAllowsWhatTheOriginalAllows(t *testing.T) {
	leaf := rapid.SampledFrom([]string{`{"type":"string"}`, `{"type":"integer"}`, `{"const":"x"}`, `{"enum":["x",1]}`, `{}`, `{"$ref":"#/definitions/D"}`, `{"type":"array","items":[{"type":"string"}]}`})
	// A choice that leaves a field open while another gives it a type is shown
	// with the type, so choices are closed here.
	form := func(closed bool) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			props := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), leaf, 0, 3).Draw(t, "props")
			var ps []string
			for _, k := range []string{"a", "b", "c"} {
				if v, ok := props[k]; ok {
					ps = append(ps, fmt.Sprintf("%q:%s", k, v))
				}
			}
			out := `{"properties":{` + strings.Join(ps, ",") + `}`
			if rapid.Bool().Draw(t, "req") {
				out += `,"required":["a"]`
			}
			if closed || rapid.Bool().Draw(t, "closed") {
				out += `,"additionalProperties":false`
			}
			return out + "}"
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		raw := form(false).Draw(t, "base")
		raw = raw[:len(raw)-1] + `,"definitions":{"D":{"type":"string"}}`
		for _, key := range []string{"oneOf", "anyOf", "allOf"} {
			if rapid.Bool().Draw(t, key) {
				raw += fmt.Sprintf(`,%q:[%s]`, key, strings.Join(rapid.SliceOfN(form(key != "allOf"), 1, 3).Draw(t, key+" parts"), ","))
			}
		}
		raw += "}"
		shown, _, err := Schema(json.RawMessage(raw))
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		input := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.SampledFrom([]any{"x", "y", float64(1), []any{"s"}, []any{float64(2)}})).Draw(t, "input")
		in := map[string]any{}
		for k, v := range input {
			in[k] = v
		}
		if valid(t, raw, santhosh.Draft7, in) && !valid(t, string(shown), santhosh.Draft2020, in) {
			t.Fatalf("%v fits %s, but not %s", in, raw, shown)
		}
	})
}

func valid(t *rapid.T, schema string, d *santhosh.Draft, v any) bool {
	doc, err := santhosh.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := santhosh.NewCompiler()
	c.DefaultDraft(d)
	if err := c.AddResource("x:///s", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("x:///s")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return s.Validate(v) == nil
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","oneOf":[{"$ref":"#/oneOf/0"}]}`)
	f.Add(`{"properties":{"a":{"$ref":"#/properties/a"}},"$defs":{"x":true}}`)
	f.Fuzz(func(t *testing.T, in string) {
		out, _, err := Schema(json.RawMessage(in))
		if err != nil {
			return
		}
		var root map[string]any
		if json.Unmarshal(out, &root) != nil || root["type"] != "object" {
			t.Fatalf("%q gives %s", in, out)
		}
		for _, key := range append([]string{"$ref", "$schema", "definitions"}, choices...) {
			if _, there := root[key]; there {
				t.Fatalf("%q keeps %s: %s", in, key, out)
			}
		}
	})
}

func TestDescription(t *testing.T) {
	if got := Description(" a\x00b\x1b[31m\n"+strings.Repeat("é", 3000), 0); utf8.RuneCountInString(got) > MaxDescription || strings.ContainsAny(got, "\x00\x1b") || !strings.HasSuffix(got, "[cut]") {
		t.Error(len(got))
	}
	if got := Description("short", 10); got != "short" {
		t.Error(got)
	}
}
