package tool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

// Tool is a declared tool, of any input and output. It is an immutable value;
// the zero Tool is no tool at all.
type Tool struct {
	d declared
}

// declared is what Tool asks of a Def once its type parameters are gone.
type declared interface {
	facts() *Facts
	prompt(PromptContext) string
	enabled(Features) bool
	inputType() reflect.Type
	bind(t Tool, raw json.RawMessage, at Place) (bound, error)
	grouped(calls []*Call) (string, bool)
}

// Facts are the parts of a declaration that no input changes.
type Facts struct {
	Name           string
	Aliases        []string
	Title          string // empty for a tool whose calls are not shown
	SearchHint     string
	InputSchema    json.RawMessage // nil: made from the input type
	OutputSchema   json.RawMessage
	Strict         bool
	FieldAliases   map[string]string
	PrimaryField   string
	Gate           string
	Defer          bool // already false where AlwaysLoad is set
	AlwaysLoad     bool
	Origin         *Origin
	LSP            bool
	MaxResultChars int // resolved: never 0
	Interrupt      Interrupt
	AbortsSiblings bool
}

var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) })

// Define makes a tool from its declaration. It panics when the declaration
// itself is wrong (no valid name, no Call, a bound out of range), since that
// is a fault of the program and not of its input.
func Define[In, Out any](d Def[In, Out]) Tool {
	t, err := TryDefine(d)
	if err != nil {
		panic(err)
	}
	return t
}

// TryDefine is [Define] for declarations that come from outside: what is wrong
// is returned as an error.
func TryDefine[In, Out any](d Def[In, Out]) (Tool, error) {
	fail := func(format string, args ...any) (Tool, error) {
		return Tool{}, fmt.Errorf("tool %q: "+format, append([]any{d.Name}, args...)...)
	}
	if !validName().MatchString(d.Name) {
		return fail("the name must be 1 to 64 letters, digits, _ or -")
	}
	if d.Call == nil {
		return fail("Call is missing")
	}
	limit := d.MaxResultChars
	switch {
	case limit == 0:
		limit = DefaultMaxResultChars
	case limit == Unlimited:
	case limit < 0 || limit > MaxResultCharsCeiling:
		return fail("MaxResultChars is %d; it must be 1 to %d, or Unlimited", limit, MaxResultCharsCeiling)
	}
	for name, schema := range map[string]json.RawMessage{"InputSchema": d.InputSchema, "OutputSchema": d.OutputSchema} {
		if schema != nil && !json.Valid(schema) {
			return fail("%s is not JSON", name)
		}
	}
	title := d.Title
	switch title {
	case "":
		title = d.Name
	case "-":
		title = ""
	}
	return Tool{&definition[In, Out]{def: d, fixed: Facts{
		Name: d.Name, Aliases: d.Aliases, Title: title, SearchHint: d.SearchHint,
		InputSchema: d.InputSchema, OutputSchema: d.OutputSchema, Strict: d.Strict,
		FieldAliases: d.FieldAliases, PrimaryField: d.PrimaryField, Gate: d.Gate,
		Defer: d.Defer && !d.AlwaysLoad, AlwaysLoad: d.AlwaysLoad, Origin: d.Origin, LSP: d.LSP,
		MaxResultChars: limit, Interrupt: d.Interrupt, AbortsSiblings: d.AbortsSiblings,
	}}}, nil
}

// FromSchema makes a tool whose input is described by a foreign JSON Schema,
// such as an MCP server's; its functions get the input as raw JSON. The schema
// is used as it is for validation. Errors are those of [TryDefine].
func FromSchema[Out any](schema json.RawMessage, d Def[json.RawMessage, Out]) (Tool, error) {
	if len(schema) == 0 {
		return Tool{}, fmt.Errorf("tool %q: the schema is missing", d.Name)
	}
	d.InputSchema = schema
	return TryDefine(d)
}

// IsZero tells whether this is no tool at all.
func (t Tool) IsZero() bool { return t.d == nil }

// Name is what the model calls.
func (t Tool) Name() string { return t.d.facts().Name }

// Facts returns what no input changes. It must not be modified.
func (t Tool) Facts() *Facts { return t.d.facts() }

// Answers tells whether the tool answers to a name: its own or an alias.
func (t Tool) Answers(name string) bool {
	f := t.d.facts()
	if f.Name == name {
		return true
	}
	for _, a := range f.Aliases {
		if a == name {
			return true
		}
	}
	return false
}

// Prompt returns the description that the model reads. A panic in it gives an
// empty description.
func (t Tool) Prompt(c PromptContext) (s string) {
	defer careful(&s, "")
	return strings.TrimSpace(t.d.prompt(c))
}

// Enabled tells whether the tool exists in a session with these features: its
// gate is on and its own Enabled does not object. A panic means no.
func (t Tool) Enabled(f Features) (ok bool) {
	defer careful(&ok, false)
	if f.OS == "" {
		f.OS = runtime.GOOS
	}
	if g := t.d.facts().Gate; g != "" && !f.On(g) {
		return false
	}
	return t.d.enabled(f)
}

// InputType is the Go type that inputs are decoded into, from which a schema
// can be made. It is json.RawMessage for tools of foreign schemas.
func (t Tool) InputType() reflect.Type { return t.d.inputType() }

// careful answers a panic in a declaration with the careful value.
func careful[T any](out *T, value T) {
	if r := recover(); r != nil {
		*out = value
	}
}

type definition[In, Out any] struct {
	def   Def[In, Out]
	fixed Facts
}

func (d *definition[In, Out]) facts() *Facts { return &d.fixed }

func (d *definition[In, Out]) prompt(c PromptContext) string {
	if d.def.Prompt == nil {
		return d.fixed.SearchHint
	}
	return d.def.Prompt(c)
}

func (d *definition[In, Out]) enabled(f Features) bool {
	return d.def.Enabled == nil || d.def.Enabled(f)
}

func (d *definition[In, Out]) inputType() reflect.Type { return reflect.TypeFor[In]() }
