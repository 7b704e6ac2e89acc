package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
)

// Call is one input bound to its tool. Its facts are computed when first asked
// for and then kept; all methods are safe for concurrent use.
type Call struct {
	tool  Tool
	raw   json.RawMessage
	place Place
	b     bound
	memo  memo
}

// bound is a Call's view of its decoded input.
type bound interface {
	observed() any
	fact(f factID) bool
	effects() Effects
	kind() Kind
	path() string
	subjects() []Subject
	matchRule(specifier string) bool
	classifierInput() string
	equivalent(other bound) bool
	validate(context.Context, *Env) error
	checkPermissions(context.Context, *Env) Verdict
	call(context.Context, *Env) (Outcome, error)
	mapResult(data any) ([]Block, error)
	decodeOutput(raw json.RawMessage) (any, error)
	viewUse() string
	viewQueued() string
	viewProgress(Progress) string
	viewResult(data any) (Rendering, bool)
	viewRejected() (Rendering, bool)
	viewError(error) string
	viewPreview(Place) (Rendering, bool)
}

type factID int

const (
	factReadOnly factID = iota
	factDestructive
	factOpenWorld
	factConcurrencySafe
	factUserInteraction
	factSandboxed
	factCount
)

type memo struct {
	facts    [factCount]func() bool
	effects  func() Effects
	subjects func() []Subject
	observed func() json.RawMessage
}

// Outcome is what a call produced, before it becomes content for the model.
type Outcome struct {
	Data       any
	Messages   []Message
	Modify     func(*Context)
	Meta       json.RawMessage
	Structured json.RawMessage
	IsError    bool
}

// PanicError is the error of a call whose code panicked. Its text is for the
// model; the stack is for the log only.
type PanicError struct {
	Tool  string
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s failed because of an internal error; the call may have been carried out in part", e.Tool)
}

// Bind decodes an input and gives the call that it asks for. raw must be one
// JSON object; unknown fields are an error for tools whose schema is made from
// their Go type. Bind checks types only: the runtime validates raw against the
// tool's schema first, so that the model gets all errors at once.
func (t Tool) Bind(raw json.RawMessage, at Place) (*Call, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	c := &Call{tool: t, raw: bytes.Clone(raw), place: at}
	b, err := t.d.bind(t, c.raw, at)
	if err != nil {
		return nil, err
	}
	c.b = b
	for i := range c.memo.facts {
		c.memo.facts[i] = sync.OnceValue(func() (v bool) {
			defer careful(&v, factID(i) == factUserInteraction || factID(i) == factDestructive || factID(i) == factOpenWorld)
			return b.fact(factID(i))
		})
	}
	c.memo.effects = sync.OnceValue(func() (e Effects) {
		defer careful(&e, Effects{})
		return b.effects().Resolve(at)
	})
	c.memo.subjects = sync.OnceValue(func() (s []Subject) { return b.subjects() })
	c.memo.observed = sync.OnceValue(func() json.RawMessage {
		out, err := encode(b.observed())
		if err != nil {
			return c.raw
		}
		return out
	})
	return c, nil
}

// encode is json.Marshal without the escaping of <, > and &, so that hooks see
// commands as the model wrote them.
func encode(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		return raw, nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

// Tool is the tool that the call is bound to.
func (c *Call) Tool() Tool { return c.tool }

// Name is the name of the tool.
func (c *Call) Name() string { return c.tool.Name() }

// Place is where the call was bound.
func (c *Call) Place() Place { return c.place }

// Input is the model's own input, or what a hook put in its place.
func (c *Call) Input() json.RawMessage { return c.raw }

// Observed is the input that hooks and permissions see: backfilled.
func (c *Call) Observed() json.RawMessage { return c.memo.observed() }

// ReadOnly tells whether the call changes nothing.
func (c *Call) ReadOnly() bool { return c.memo.facts[factReadOnly]() }

// Destructive tells whether what the call does cannot be undone.
func (c *Call) Destructive() bool { return c.memo.facts[factDestructive]() }

// OpenWorld tells whether the call reaches beyond this machine.
func (c *Call) OpenWorld() bool { return c.memo.facts[factOpenWorld]() }

// ConcurrencySafe tells whether the call may run beside other such calls.
func (c *Call) ConcurrencySafe() bool { return c.memo.facts[factConcurrencySafe]() }

// RequiresUserInteraction tells whether only a person can answer the call.
func (c *Call) RequiresUserInteraction() bool { return c.memo.facts[factUserInteraction]() }

// Sandboxed tells whether the call will run inside a sandbox.
func (c *Call) Sandboxed() bool { return c.memo.facts[factSandboxed]() }

// Effects is what the call may read and write, with absolute paths.
func (c *Call) Effects() Effects { return c.memo.effects() }

// Kind tells whether the call searches, reads or lists.
func (c *Call) Kind() (k Kind) {
	defer careful(&k, KindOther)
	return c.b.kind()
}

// Path is the one file that the call is about, absolute, or empty.
func (c *Call) Path() (p string) {
	defer careful(&p, "")
	if p = c.b.path(); p == "" {
		return ""
	}
	return c.place.Abs(p)
}

// Subjects is what permission rules are compared with. A declaration that
// panics is an error: then no rule can be shown to fit, and none to miss.
func (c *Call) Subjects() (s []Subject, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s cannot tell what the call is about", c.Name())
		}
	}()
	return slices.Clone(c.memo.subjects()), nil
}

// MatchRule compares a specifier with the input where the tool declares how.
// A panic is an error, for the same reason as in Subjects.
func (c *Call) MatchRule(specifier string) (ok bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s cannot compare the call with a rule", c.Name())
		}
	}()
	return c.b.matchRule(specifier), nil
}

// ClassifierInput is what a classifier may see; empty means nothing.
func (c *Call) ClassifierInput() (s string) {
	defer careful(&s, "")
	return c.b.classifierInput()
}

// Equivalent tells whether two calls ask the same of the same tool.
func (c *Call) Equivalent(other *Call) (ok bool) {
	defer careful(&ok, false)
	return c.tool == other.tool && c.b.equivalent(other.b)
}

// Validate runs the tool's semantic check. A panic is an error.
func (c *Call) Validate(ctx context.Context, env *Env) (err error) {
	defer recoverTo(&err, c.Name())
	return c.b.validate(ctx, env)
}

// CheckPermissions is the tool's own opinion. A panic is a question.
func (c *Call) CheckPermissions(ctx context.Context, env *Env) (v Verdict) {
	defer careful(&v, AskCall("the tool's own permission check failed"))
	return c.b.checkPermissions(ctx, env)
}

// Run carries the call out. A panic is a [*PanicError].
func (c *Call) Run(ctx context.Context, env *Env) (o Outcome, err error) {
	defer recoverTo(&err, c.Name())
	return c.b.call(ctx, env)
}

// Map turns an outcome into content for the model. A panic is an error.
func (c *Call) Map(o Outcome) (blocks []Block, err error) {
	defer recoverTo(&err, c.Name())
	return c.b.mapResult(o.Data)
}

// WithOutput gives the outcome with its data replaced, as a hook may ask. raw
// must decode into the tool's output type.
func (c *Call) WithOutput(o Outcome, raw json.RawMessage) (Outcome, error) {
	data, err := c.b.decodeOutput(raw)
	if err != nil {
		return o, fmt.Errorf("the new output does not fit the output of %s: %w", c.Name(), err)
	}
	o.Data = data
	return o, nil
}

func recoverTo(err *error, name string) {
	if r := recover(); r != nil {
		*err = &PanicError{Tool: name, Value: r, Stack: debug.Stack()}
	}
}

// MarshalJSON writes a call so that another process can bind it again.
func (c *Call) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
		Place Place           `json:"place"`
	}{c.Name(), c.raw, c.place})
}

func decodeStrict(raw json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}
