package tool

import "strings"

// The views of a bound call. What a tool does not draw, or draws with a panic,
// is shown in a plain form.

// maxPlainInput bounds the input shown where a tool draws no line of its own.
const maxPlainInput = 200

// ViewUse is one line for the call.
func (c *Call) ViewUse() string {
	if s := drawn(c.b.viewUse); s != "" {
		return s
	}
	in := string(c.raw)
	if in == "{}" {
		return ""
	}
	return clip(in)
}

// ViewQueued is one line for a call that waits.
func (c *Call) ViewQueued() string {
	if s := drawn(c.b.viewQueued); s != "" {
		return s
	}
	return "waiting"
}

// ViewProgress is one line or more for a running call.
func (c *Call) ViewProgress(p Progress) string {
	if s := drawn(func() string { return c.b.viewProgress(p) }); s != "" {
		return s
	}
	return p.Text
}

// ViewResult shows what came out; without a view, the first line of the
// content for the model.
func (c *Call) ViewResult(o Outcome, content []Block) (r Rendering) {
	fallback := Rendering{Summary: firstLine(content)}
	defer careful(&r, fallback)
	if r, ok := c.b.viewResult(o.Data); ok {
		return r
	}
	return fallback
}

// ViewRejected shows a call that was refused.
func (c *Call) ViewRejected() (r Rendering) {
	defer careful(&r, Rendering{})
	r, _ = c.b.viewRejected()
	return r
}

// ViewError shows a failed call.
func (c *Call) ViewError(err error) string {
	if s := drawn(func() string { return c.b.viewError(err) }); s != "" {
		return s
	}
	return clip(err.Error())
}

// ViewPreview shows what the call would do, for the person who is asked; ok is
// false when there is nothing to show beyond ViewUse.
func (c *Call) ViewPreview() (r Rendering, ok bool) {
	defer careful(&ok, false)
	return c.b.viewPreview(c.place)
}

// ViewGrouped is one line for several calls of the same tool.
func ViewGrouped(calls []*Call) (s string, ok bool) {
	defer careful(&ok, false)
	if len(calls) == 0 {
		return "", false
	}
	for _, c := range calls {
		if c.tool != calls[0].tool {
			return "", false
		}
	}
	return calls[0].tool.d.grouped(calls)
}

func drawn(f func() string) (s string) {
	defer careful(&s, "")
	return f()
}

func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxPlainInput {
		return string(r[:maxPlainInput-1]) + "…"
	}
	return s
}

func firstLine(content []Block) string {
	for _, b := range content {
		if b.Type == BlockText {
			line, _, _ := strings.Cut(strings.TrimSpace(b.Text), "\n")
			return clip(line)
		}
	}
	return ""
}

func (d *definition[In, Out]) grouped(calls []*Call) (string, bool) {
	if d.def.View.Grouped == nil {
		return "", false
	}
	inputs := make([]In, len(calls))
	for i, c := range calls {
		inputs[i] = c.b.(*boundCall[In, Out]).obs
	}
	return d.def.View.Grouped(inputs), true
}

func (b *boundCall[In, Out]) viewUse() string {
	if f := b.d.def.View.Use; f != nil {
		return f(b.obs)
	}
	return ""
}

func (b *boundCall[In, Out]) viewQueued() string {
	if f := b.d.def.View.Queued; f != nil {
		return f(b.obs)
	}
	return ""
}

func (b *boundCall[In, Out]) viewProgress(p Progress) string {
	if f := b.d.def.View.Progress; f != nil {
		return f(b.obs, p)
	}
	return ""
}

func (b *boundCall[In, Out]) viewResult(data any) (Rendering, bool) {
	out, ok := data.(Out)
	if f := b.d.def.View.Result; f != nil && ok {
		return f(b.obs, out), true
	}
	return Rendering{}, false
}

func (b *boundCall[In, Out]) viewRejected() (Rendering, bool) {
	if f := b.d.def.View.Rejected; f != nil {
		return f(b.obs), true
	}
	return Rendering{}, false
}

func (b *boundCall[In, Out]) viewError(err error) string {
	if f := b.d.def.View.Error; f != nil {
		return f(b.obs, err)
	}
	return ""
}

func (b *boundCall[In, Out]) viewPreview(at Place) (Rendering, bool) {
	if f := b.d.def.View.Preview; f != nil {
		return f(b.obs, at), true
	}
	return Rendering{}, false
}
