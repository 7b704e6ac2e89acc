package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// Phase 2: the input against the schema, then the tool's own check.

func (t *Ticket) validateSchema(s *schema.Schema) {
	start := time.Now()
	input, message := t.gate.checkInput(t.tool, s, t.use.Input)
	if message != "" {
		t.stop = &stop{PhaseValidate, tool.LayerSchema, message}
		t.trace.add(PhaseValidate, start, outcomeError, message)
		return
	}
	t.input = input
}

// checkInput gives the input as it is to be bound, or what is wrong with it.
func (g *Gate) checkInput(t tool.Tool, s *schema.Schema, raw json.RawMessage) (json.RawMessage, string) {
	input, err := s.Check(raw)
	if err == nil {
		return input, ""
	}
	var invalid *schema.InvalidError
	if !errors.As(err, &invalid) {
		g.cfg.Log.Error("Tool has an unusable schema", "tool", t.Name(), "error", err)
		return nil, fmt.Sprintf("%s cannot be called: its schema is unusable (%v).", t.Name(), err)
	}
	message := err.Error()
	if g.cfg.Unseen != nil {
		if hint := g.cfg.Unseen(t.Name()); hint != "" {
			message += "\n" + hint
		}
	}
	return nil, message
}

// validate binds the input where the conversation stands now, and runs the
// tool's semantic check.
func (r *run) validate(ctx context.Context) bool {
	start := time.Now()
	call, err := r.ticket.tool.Bind(r.ticket.input, r.conv.place(r.now))
	if err == nil {
		r.setCall(call)
		err = call.Validate(ctx, r.env)
	}
	if err != nil {
		r.fail(PhaseValidate, tool.LayerValidate, start, r.describe(err))
		return false
	}
	r.res.Trace.add(PhaseValidate, start, outcomeOK, "")
	return true
}

// replaceInput puts another input in place of the call's, as a hook or a person
// may: validated again, bound again, and given time until it may run.
func (r *run) replaceInput(ctx context.Context, raw json.RawMessage, by string) error {
	_, s, ok := r.gate.cfg.Pool().Lookup(r.ticket.tool.Name())
	if !ok {
		return fmt.Errorf("%s is no longer there", r.ticket.tool.Name())
	}
	input, message := r.gate.checkInput(r.ticket.tool, s, raw)
	if message != "" {
		return fmt.Errorf("the input that %s put in its place is wrong: %s", by, message)
	}
	call, err := r.ticket.tool.Bind(input, r.conv.place(r.now))
	if err == nil {
		err = call.Validate(ctx, r.env)
	}
	if err != nil {
		return fmt.Errorf("the input that %s put in its place is wrong: %s", by, r.describe(err))
	}
	if err := r.slot.Rebind(ctx, call); err != nil {
		return err
	}
	r.setCall(call)
	return nil
}
