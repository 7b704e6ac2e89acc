package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
)

// boundCall is a decoded input together with its declaration.
type boundCall[In, Out any] struct {
	d   *definition[In, Out]
	in  In // as the model wrote it
	obs In // as hooks and permissions see it
}

func (d *definition[In, Out]) bind(t Tool, raw json.RawMessage, at Place) (_ bound, err error) {
	b := &boundCall[In, Out]{d: d}
	if in, ok := any(&b.in).(*json.RawMessage); ok {
		if trimmed := bytes.TrimSpace(raw); !json.Valid(raw) || trimmed[0] != '{' {
			return nil, fmt.Errorf("input of %s: it must be one JSON object", t.Name())
		}
		*in = raw
	} else if err := decodeStrict(raw, &b.in); err != nil {
		return nil, fmt.Errorf("input of %s: %w", t.Name(), err)
	}
	b.obs = b.in
	if d.def.Backfill != nil {
		// A failed backfill must not leave rules without what they are to see.
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("input of %s: its derived fields cannot be computed", t.Name())
			}
		}()
		b.obs = d.def.Backfill(b.in, at)
	}
	return b, nil
}

func (b *boundCall[In, Out]) observed() any { return b.obs }

func (b *boundCall[In, Out]) fact(f factID) bool {
	d := &b.d.def
	fn := [...]func(In) bool{
		factReadOnly: d.ReadOnly, factDestructive: d.Destructive, factOpenWorld: d.OpenWorld,
		factConcurrencySafe: d.ConcurrencySafe, factUserInteraction: d.RequiresUserInteraction, factSandboxed: d.Sandboxed,
	}[f]
	return fn != nil && fn(b.obs)
}

func (b *boundCall[In, Out]) effects() Effects {
	if b.d.def.Effects == nil {
		return Effects{}
	}
	return b.d.def.Effects(b.obs)
}

func (b *boundCall[In, Out]) kind() Kind {
	if b.d.def.Kind == nil {
		return KindOther
	}
	return b.d.def.Kind(b.obs)
}

func (b *boundCall[In, Out]) path() string {
	if b.d.def.Path == nil {
		return ""
	}
	return b.d.def.Path(b.obs)
}

func (b *boundCall[In, Out]) subjects() []Subject {
	if b.d.def.Subjects == nil {
		return nil
	}
	return b.d.def.Subjects(b.obs)
}

func (b *boundCall[In, Out]) matchRule(specifier string) bool {
	return b.d.def.MatchRule != nil && b.d.def.MatchRule(b.obs, specifier)
}

func (b *boundCall[In, Out]) classifierInput() string {
	if b.d.def.ClassifierInput == nil {
		return ""
	}
	return b.d.def.ClassifierInput(b.obs)
}

func (b *boundCall[In, Out]) equivalent(other bound) bool {
	o, ok := other.(*boundCall[In, Out])
	if !ok {
		return false
	}
	if b.d.def.Equivalent != nil {
		return b.d.def.Equivalent(b.in, o.in)
	}
	x, errX := encode(b.in)
	y, errY := encode(o.in)
	if errX != nil || errY != nil {
		return false
	}
	var vx, vy any
	return json.Unmarshal(x, &vx) == nil && json.Unmarshal(y, &vy) == nil && reflect.DeepEqual(vx, vy)
}

func (b *boundCall[In, Out]) validate(ctx context.Context, env *Env) error {
	if b.d.def.Validate == nil {
		return nil
	}
	return b.d.def.Validate(ctx, b.in, env)
}

func (b *boundCall[In, Out]) checkPermissions(ctx context.Context, env *Env) Verdict {
	if b.d.def.CheckPermissions == nil {
		return Verdict{}
	}
	return b.d.def.CheckPermissions(ctx, b.obs, env)
}

func (b *boundCall[In, Out]) call(ctx context.Context, env *Env) (Outcome, error) {
	r, err := b.d.def.Call(ctx, b.in, env)
	if err != nil {
		return Outcome{Modify: r.Modify}, err
	}
	return Outcome{Data: r.Data, Messages: r.Messages, Modify: r.Modify, Meta: r.Meta, Structured: r.Structured, IsError: r.IsError}, nil
}

func (b *boundCall[In, Out]) mapResult(data any) ([]Block, error) {
	out, ok := data.(Out)
	if !ok && data != nil {
		return nil, fmt.Errorf("output of %s has type %T", b.d.fixed.Name, data)
	}
	if b.d.def.MapResult != nil {
		return b.d.def.MapResult(out), nil
	}
	switch v := any(out).(type) {
	case nil:
		return nil, nil
	case string:
		if v == "" {
			return nil, nil
		}
		return []Block{TextBlock(v)}, nil
	case []Block:
		return v, nil
	}
	text, err := encode(out)
	if err != nil {
		return nil, fmt.Errorf("output of %s: %w", b.d.fixed.Name, err)
	}
	return []Block{TextBlock(string(text))}, nil
}

func (b *boundCall[In, Out]) decodeOutput(raw json.RawMessage) (any, error) {
	var out Out
	if err := decodeStrict(raw, &out); err != nil {
		return nil, err
	}
	return out, nil
}
