package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// Phase 1: find the tool that a block asks for.

// maxNamedTools bounds the list of names in the answer to an unknown tool.
const maxNamedTools = 60

// Ticket is an admitted tool_use on its way to its one result.
type Ticket struct {
	gate  *Gate
	conv  *Conversation
	use   tool.Block
	tool  tool.Tool
	input json.RawMessage // checked, and repaired where its meaning is beyond doubt
	stop  *stop           // why it ends before it began
	trace Trace
}

// stop ends a call in some phase.
type stop struct {
	phase   Phase
	layer   tool.Layer
	message string
}

// Admit takes a tool_use in: phase 1 and the schema check of phase 2. It is
// quick, touches nothing but memory, and never fails: what is wrong becomes
// the result of the ticket.
func (g *Gate) Admit(c *Conversation, use tool.Block) *Ticket {
	t := &Ticket{gate: g, conv: c, use: use}
	g.cfg.Observe(Event{Kind: EventAdmitted, ID: use.ID, Tool: use.Name, AgentID: c.env.AgentID, Time: time.Now()})
	sch, ok := t.extract()
	if ok {
		t.validateSchema(sch)
	}
	return t
}

func (t *Ticket) extract() (*schema.Schema, bool) {
	start := time.Now()
	fail := func(message string) (*schema.Schema, bool) {
		t.stop = &stop{PhaseExtract, tool.LayerSchema, message}
		t.trace.add(PhaseExtract, start, outcomeError, message)
		return nil, false
	}
	switch {
	case t.use.Type != tool.BlockToolUse:
		return fail(fmt.Sprintf("A block of type %q is not a tool_use.", t.use.Type))
	case t.use.ID == "":
		return fail("The tool_use has no id, so its result cannot be told from others.")
	case !t.conv.firstUse(t.use.ID):
		return fail(fmt.Sprintf("The id %s was used before in this conversation; the call was not made. Every tool_use needs an id of its own.", t.use.ID))
	}
	pool := t.gate.cfg.Pool()
	found, sch, ok := pool.Lookup(t.use.Name)
	if !ok {
		return fail(unknownTool(t.use.Name, pool.Names()))
	}
	t.tool = found
	if len(t.use.Input) > 0 && !json.Valid(t.use.Input) {
		return fail(fmt.Sprintf("The input of %s is not valid JSON, perhaps because it was cut off; the call was not made. Send it again, whole.", found.Name()))
	}
	t.trace.add(PhaseExtract, start, outcomeOK, found.Name())
	return sch, true
}

func unknownTool(name string, known []string) string {
	if !utf8.ValidString(name) || len(name) > 100 {
		name = strings.ToValidUTF8(name[:min(len(name), 100)], "?") + "…"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "There is no tool named %q.", name)
	fold := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	for _, k := range known {
		if fold(k) == fold(name) {
			fmt.Fprintf(&b, " Did you mean %s?", k)
			return b.String()
		}
	}
	if len(known) > maxNamedTools {
		known = slices.Concat(known[:maxNamedTools:maxNamedTools], []string{"…"})
	}
	fmt.Fprintf(&b, " The tools are: %s.", strings.Join(known, ", "))
	return b.String()
}

// Use is the tool_use of the ticket.
func (t *Ticket) Use() tool.Block { return t.use }

// Bind gives the call as it stands in a context; nil when the ticket only
// carries an error.
func (t *Ticket) Bind(now tool.Context) *tool.Call {
	if t.stop != nil {
		return nil
	}
	call, err := t.tool.Bind(t.input, t.conv.place(now))
	if err != nil {
		return nil // Run reports it
	}
	return call
}

// MayChange tells whether hooks may still change the input.
func (t *Ticket) MayChange() bool {
	return t.stop == nil && t.gate.cfg.Hooks != nil && t.gate.cfg.Hooks.Any(hookPreToolUse)
}

// Run takes the call through the remaining phases. It must be called exactly
// once, also when ctx is already done: then the result says so and nothing
// runs. It returns soon after ctx is done, as soon as the tool does.
func (t *Ticket) Run(ctx context.Context, slot Slot) *Result {
	r := &run{gate: t.gate, conv: t.conv, slot: slot, ticket: t,
		res: &Result{Use: t.use, Trace: t.trace}}
	if slot == nil {
		r.slot = FreeSlot{}
	}
	r.phases(ctx)
	r.finish()
	return r.res
}
