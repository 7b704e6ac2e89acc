package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"
	santhosh "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/sevengate/sevengate/tool"
)

// Limits of validation.
const (
	// MaxInputBytes bounds one input.
	MaxInputBytes = 32 << 20
	// maxProblems bounds the list that goes back to the model.
	maxProblems = 20
	// patternTimeout bounds the match of one foreign pattern.
	patternTimeout = 100 * time.Millisecond
)

// Schema is the compiled schema of one tool. It is safe for concurrent use;
// compiling happens at the first use.
type Schema struct {
	name    string
	aliases map[string]string
	raw     func() (json.RawMessage, error)
	doc     func() (*compiled, error)
}

type compiled struct {
	tree      map[string]any
	validator *santhosh.Schema
}

// For gives the schema of a tool: its declared one, else one made from its
// input type.
func For(t tool.Tool) *Schema {
	f := t.Facts()
	s := &Schema{name: f.Name, aliases: f.FieldAliases}
	s.raw = sync.OnceValues(func() (json.RawMessage, error) {
		if f.InputSchema != nil {
			return f.InputSchema, nil
		}
		if t.InputType() == reflect.TypeFor[json.RawMessage]() {
			return nil, fmt.Errorf("tool %s: the schema is missing", f.Name)
		}
		return Generate(t.InputType())
	})
	s.doc = sync.OnceValues(func() (*compiled, error) {
		raw, err := s.raw()
		if err != nil {
			return nil, err
		}
		return compile(f.Name, raw)
	})
	return s
}

// JSON is the schema itself.
func (s *Schema) JSON() (json.RawMessage, error) { return s.raw() }

// Err tells whether the schema can be compiled. A tool whose schema cannot must
// not be called.
func (s *Schema) Err() error {
	_, err := s.doc()
	return err
}

// Problem is one thing that is wrong with an input.
type Problem struct {
	Field   string // such as "todos[2].status"; empty for the input as a whole
	Message string
}

func (p Problem) String() string {
	if p.Field == "" {
		return p.Message
	}
	return p.Field + ": " + p.Message
}

// InvalidError lists all that is wrong with an input.
type InvalidError struct {
	Tool     string
	Problems []Problem
	Expected string // the shape of a right input, in one line
}

func (e *InvalidError) Error() string {
	var b strings.Builder
	noun := "problem"
	if len(e.Problems) > 1 {
		noun = "problems"
	}
	fmt.Fprintf(&b, "The input of %s does not fit its schema (%d %s):", e.Tool, len(e.Problems), noun)
	for _, p := range e.Problems {
		b.WriteString("\n- " + p.String())
	}
	if e.Expected != "" {
		b.WriteString("\nExpected: " + e.Expected)
	}
	return b.String()
}

// Check validates an input and returns it, repaired where its meaning is
// beyond doubt: near-miss field names that the tool declares, and numbers,
// booleans, arrays and objects that arrived as their own JSON text. An input
// that needs no repair is returned as the same bytes. What is wrong is an
// [*InvalidError]; any other error means that the schema itself cannot be used.
func (s *Schema) Check(raw json.RawMessage) (json.RawMessage, error) {
	c, err := s.doc()
	if err != nil {
		return nil, err
	}
	if len(raw) > MaxInputBytes {
		return nil, s.invalid(c, Problem{Message: fmt.Sprintf("it is larger than %d bytes", MaxInputBytes)})
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	value, err := santhosh.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, s.invalid(c, Problem{Message: "it is not valid JSON: " + err.Error()})
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, s.invalid(c, Problem{Message: "it must be a JSON object, not " + typeName(value)})
	}
	repaired := s.repairNames(object, c)
	if coerce(object, c.tree, c.tree, 0) {
		repaired = true
	}
	if err := c.validator.Validate(object); err != nil {
		var v *santhosh.ValidationError
		if !errors.As(err, &v) {
			return nil, fmt.Errorf("validating the input of %s: %w", s.name, err)
		}
		return nil, s.invalid(c, problems(v, c)...)
	}
	if !repaired {
		return raw, nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(object); err != nil {
		return nil, fmt.Errorf("encoding the repaired input of %s: %w", s.name, err)
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

func (s *Schema) invalid(c *compiled, p ...Problem) error {
	if len(p) > maxProblems {
		more := len(p) - maxProblems
		p = append(p[:maxProblems:maxProblems], Problem{Message: fmt.Sprintf("and %d more", more)})
	}
	return &InvalidError{Tool: s.name, Problems: p, Expected: shape(c.tree)}
}

// repairNames moves a value from a near-miss name to the right one, which must
// be absent. A duplicate with an equal value is dropped.
func (s *Schema) repairNames(object map[string]any, c *compiled) (changed bool) {
	props, _ := c.tree["properties"].(map[string]any)
	for wrong, right := range s.aliases {
		v, ok := object[wrong]
		if _, known := props[wrong]; !ok || known {
			continue
		}
		if have, ok := object[right]; !ok {
			object[right] = v
		} else if !reflect.DeepEqual(have, v) {
			continue
		}
		delete(object, wrong)
		changed = true
	}
	return changed
}

// compile reads a schema of any draft. Unknown dialects are read as 2020-12.
func compile(name string, raw json.RawMessage) (*compiled, error) {
	fail := func(err error) (*compiled, error) { return nil, fmt.Errorf("schema of %s: %w", name, err) }
	doc, err := santhosh.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return fail(err)
	}
	tree, ok := doc.(map[string]any)
	if !ok {
		if b, isBool := doc.(bool); isBool && b {
			tree = map[string]any{}
			doc = tree
		} else {
			return fail(errors.New("it must be an object"))
		}
	}
	compileOnce := func() (*santhosh.Schema, error) {
		c := santhosh.NewCompiler()
		c.DefaultDraft(santhosh.Draft2020)
		c.UseLoader(refusingLoader{})
		c.UseRegexpEngine(compilePattern)
		const url = "sevengate:///input.json"
		if err := c.AddResource(url, doc); err != nil {
			return nil, err
		}
		return c.Compile(url)
	}
	if _, known := knownDialects[dialect(tree)]; !known {
		delete(tree, "$schema")
	}
	validator, err := compileOnce()
	if err != nil {
		return fail(err)
	}
	return &compiled{tree, validator}, nil
}

func dialect(tree map[string]any) string {
	s, _ := tree["$schema"].(string)
	s = strings.TrimSuffix(s, "#")
	s = strings.TrimPrefix(strings.TrimPrefix(s, "https://"), "http://")
	return s
}

var knownDialects = map[string]struct{}{
	"": {}, "json-schema.org/draft-04/schema": {}, "json-schema.org/draft-06/schema": {}, "json-schema.org/draft-07/schema": {},
	"json-schema.org/draft/2019-09/schema": {}, "json-schema.org/draft/2020-12/schema": {},
}

// refusingLoader keeps schemas from reading files or the network.
type refusingLoader struct{}

func (refusingLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s; references must stay inside the schema", url)
}

type pattern struct{ *regexp2.Regexp }

func (p pattern) MatchString(s string) bool {
	ok, err := p.Regexp.MatchString(s)
	return ok && err == nil // too slow to tell: does not match
}

func compilePattern(expr string) (santhosh.Regexp, error) {
	re, err := regexp2.Compile(expr, regexp2.ECMAScript)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = patternTimeout
	return pattern{re}, nil
}

// problems flattens the tree of causes into one entry for each leaf.
func problems(v *santhosh.ValidationError, c *compiled) []Problem {
	var out []Problem
	var walk func(v *santhosh.ValidationError)
	walk = func(v *santhosh.ValidationError) {
		field := fieldName(v.InstanceLocation)
		switch k := v.ErrorKind.(type) {
		case *kind.Required:
			for _, m := range k.Missing {
				out = append(out, Problem{join(field, m), "required, but missing"})
			}
			return
		case *kind.AdditionalProperties:
			for _, p := range k.Properties {
				msg := "no such field"
				if near := nearest(p, c, v.InstanceLocation); near != "" {
					msg += "; did you mean " + near + "?"
				}
				out = append(out, Problem{join(field, p), msg})
			}
			return
		case *kind.Type:
			out = append(out, Problem{field, fmt.Sprintf("must be %s, not %s", strings.Join(k.Want, " or "), k.Got)})
			return
		case *kind.Enum:
			want := make([]string, len(k.Want))
			for i, w := range k.Want {
				b, _ := json.Marshal(w)
				want[i] = string(b)
			}
			out = append(out, Problem{field, "must be one of " + strings.Join(want, ", ")})
			return
		case *kind.AnyOf, *kind.OneOf:
			// The causes of every branch would bury the one that was meant.
			out = append(out, Problem{field, v.ErrorKind.LocalizedString(printer())})
			return
		}
		if len(v.Causes) == 0 {
			out = append(out, Problem{field, v.ErrorKind.LocalizedString(printer())})
			return
		}
		for _, cause := range v.Causes {
			walk(cause)
		}
	}
	walk(v)
	slices.SortStableFunc(out, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	return slices.Compact(out)
}

var printer = sync.OnceValue(func() *message.Printer { return message.NewPrinter(language.English) })

func fieldName(path []string) string {
	var b strings.Builder
	for _, p := range path {
		if p != "" && strings.Trim(p, "0123456789") == "" {
			b.WriteString("[" + p + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}
