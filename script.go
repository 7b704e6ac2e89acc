package sevengate

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"

	"github.com/sevengate/sevengate/internal/agent"
	"github.com/sevengate/sevengate/internal/builtin/repl"
	"github.com/sevengate/sevengate/internal/gate"
	"github.com/sevengate/sevengate/internal/schedule"
	"github.com/sevengate/sevengate/tool"
)

// FeatureREPLMode has the model work by scripts: its primitives are callable
// from scripts only. It needs the feature repl too.
const FeatureREPLMode = "repl-mode"

// hidden are the tools that only scripts can call.
func (r *Runtime) hidden() []string {
	if f := r.features(); f.On(repl.Gate) && f.On(FeatureREPLMode) {
		return repl.Primitives()
	}
	return nil
}

// scriptCaller takes the calls of scripts through the gates.
type scriptCaller struct{ r *Runtime }

// Tools lists what the pool offers, and what it hides.
func (c scriptCaller) Tools() []repl.ToolInfo {
	pool := c.r.pool()
	names := pool.Names()
	prompt := tool.PromptContext{Tools: names, Model: c.r.spec.name, OS: runtime.GOOS}
	var out []repl.ToolInfo
	for _, name := range slices.Concat(names, c.r.hidden()) {
		t, sch, ok := pool.Lookup(name)
		if !ok {
			continue
		}
		raw, err := sch.JSON()
		if err != nil {
			continue
		}
		out = append(out, repl.ToolInfo{Name: t.Name(), Description: t.Prompt(prompt), Schema: raw})
	}
	return out
}

// Open makes a queue of its own for one script, so that its calls are scheduled
// among themselves while the script, which runs alone, holds its place in the
// queue of its message.
func (c scriptCaller) Open(ctx context.Context, _ *tool.Env) repl.Calls {
	return &scriptCalls{r: c.r, queue: agent.NewQueue(ctx, c.r.conv, c.r.schedule, c.r.max)}
}

type scriptCalls struct {
	r     *Runtime
	queue *schedule.Queue[*gate.Result]
}

// scriptJob hands its result out as soon as it is there: others may still run.
type scriptJob struct {
	schedule.Job[*gate.Result]
	done chan *gate.Result
}

func (j scriptJob) Run(ctx context.Context, s *schedule.Slot) *gate.Result {
	res := j.Job.Run(ctx, s)
	j.done <- res
	return res
}

func (c *scriptCalls) Start(id, name string, input json.RawMessage) func() repl.Result {
	done := make(chan *gate.Result, 1)
	c.queue.Add(scriptJob{agent.NewJob(c.r.gate.Admit(c.r.conv, tool.ToolUse(id, name, input))), done})
	return func() repl.Result { return c.result(<-done) }
}

func (c *scriptCalls) Close() { c.queue.Wait() }

// result gives a script the whole of what a call said: the budget is for what
// enters the conversation.
func (c *scriptCalls) result(res *gate.Result) repl.Result {
	out := repl.Result{Content: res.Block.Content, IsError: res.Block.IsError, Refused: res.Denied, Notes: res.Context, Moved: res.Modifier() != nil}
	if res.Saved != nil && res.Call != nil && !res.Block.IsError {
		if whole, err := res.Call.Map(res.Outcome); err == nil {
			out.Content = whole
		}
	}
	switch {
	case len(res.Outcome.Structured) > 0:
		out.Data = res.Outcome.Structured
	case res.Outcome.Data != nil:
		if raw, err := json.Marshal(res.Outcome.Data); err == nil {
			out.Data = raw
		}
	}
	if res.Stop {
		if out.Stop = res.StopReason; out.Stop == "" {
			out.Stop = "a hook ended the turn"
		}
	}
	c.r.keepIfNamed([]*Result{res})
	return out
}

// patientPrompter stops the clock of a script while a person is asked.
type patientPrompter struct{ Prompter }

func (p patientPrompter) Prompt(ctx context.Context, q Question) (Answer, error) {
	defer repl.PauseClock(ctx)()
	return p.Prompter.Prompt(ctx, q)
}

// prompter is who answers questions; nil if nobody does.
func (r *Runtime) prompter() Prompter {
	if r.opts.Prompter == nil {
		return nil
	}
	return patientPrompter{r.opts.Prompter}
}
