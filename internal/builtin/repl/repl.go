// Package repl is the REPL tool: it runs a script of the model in an embedded
// JavaScript interpreter in which every tool is a function. The calls that a
// script makes go through all gates like any other; what enters the
// conversation is only what the script returns or prints.
//
// The package makes no call itself and judges none: a [Caller] does. A script
// has no modules, files, network or timers of its own, and nothing of it is
// left for the next one.
//
// The limits of a script (see limits.go) are kept inside the process. Time is
// kept for certain: a call that is stopped returns within [StopGrace]. Memory
// is kept as far as can be without a process of its own: what one built-in
// function may make is bounded beforehand, and the growth of the heap is
// watched, which counts what others in the process take meanwhile.
package repl

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// Name is the tool's name. A script cannot call it.
const Name = "REPL"

// Gate is the feature that must be on for the tool to exist.
const Gate = "repl"

// ToolInfo is what a script can learn of a tool.
type ToolInfo struct {
	Name, Description string
	Schema            json.RawMessage // of its input
}

// Result is what became of a call that a script made.
type Result struct {
	// Content is what the tool said, not yet cut to the budget of the
	// conversation, which it does not enter.
	Content []tool.Block
	IsError bool // it failed, or was refused
	Refused bool // permission was refused
	// Data is the tool's output as JSON, where there is one.
	Data json.RawMessage
	// Notes are what hooks want the model to know beside the result.
	Notes []string
	// Stop, when not empty, is why the turn is to end: the script is ended.
	Stop string
	// Moved: the call changed the context of the calls after it.
	Moved bool
}

// Calls makes the calls of one script.
type Calls interface {
	// Start queues a call and returns at once; calls are started in the order
	// of the script and run side by side where their effects allow it. wait
	// gives the result; it is called once, on another goroutine, and returns
	// soon after the context given to Open is done. id is unique in the
	// conversation.
	Start(id, name string, input json.RawMessage) (wait func() Result)
	// Close is called once, after the last Start. It waits for all calls.
	Close()
}

// Caller makes calls through the gates.
type Caller interface {
	// Tools lists what scripts may call, also tools that are hidden from the
	// model. Safe for concurrent use.
	Tools() []ToolInfo
	// Open begins the calls of one script. env is that of the REPL call.
	Open(ctx context.Context, env *tool.Env) Calls
}

// Primitives lists the tools that are hidden from the model, and stay callable
// from scripts, where scripts are its way to work.
func Primitives() []string {
	return []string{"Bash", "Edit", "Glob", "Grep", "NotebookEdit", "PowerShell", "Read", "Write"}
}

// Deps is what the tool needs.
type Deps struct {
	// Caller may be nil: then the tool does not exist.
	Caller Caller
	// Hidden names the tools that only scripts can call, for the prompt.
	Hidden []string
}

// Input is a script.
type Input struct {
	Code        string `json:"code" jsonschema:"JavaScript, the body of an async function"`
	Description string `json:"description,omitempty" jsonschema:"what the script does, in 5 to 10 words"`
	Timeout     int    `json:"timeout,omitempty" jsonschema:"milliseconds until the script is stopped; default 30000, at most 600000"`
}

// Output is what came of it.
type Output struct {
	// Result is what the script returned; absent when it returned nothing or
	// failed.
	Result json.RawMessage `json:"result,omitempty"`
	// Error is why the script ended early.
	Error string `json:"error,omitempty"`
	// Logs are the lines that the script printed.
	Logs []string `json:"logs"`
	// Calls are the calls that it made, in the order in which it made them.
	Calls []CallInfo `json:"calls"`
	// Notes are what hooks said of them.
	Notes []string `json:"notes,omitempty"`
}

// CallInfo tells of one call that a script made.
type CallInfo struct {
	Tool  string `json:"tool"`
	OK    bool   `json:"ok"`
	Ms    int64  `json:"ms"`
	Error string `json:"error,omitempty"` // the first line of why it failed
	// Refused: permission was refused.
	Refused bool `json:"refused,omitempty"`
}

// Tools gives the tool, or none without a Caller.
func Tools(d Deps) []tool.Tool {
	if d.Caller == nil {
		return nil
	}
	return []tool.Tool{New(d)}
}

// New makes the tool.
func New(d Deps) tool.Tool {
	t := &scripts{caller: d.Caller}
	return tool.Define(tool.Def[Input, Output]{
		Name:       Name,
		SearchHint: "run JavaScript that calls tools, loops, filters and combines results",
		Prompt:     func(c tool.PromptContext) string { return prompt(c, d.Hidden) },
		Gate:       Gate,
		Enabled:    func(tool.Features) bool { return d.Caller != nil },
		Interrupt:  tool.InterruptCancel,
		// What the calls of a script touch is not known before: it runs alone,
		// and its calls are scheduled among themselves.
		OpenWorld:       tool.Always[Input],
		ClassifierInput: func(in Input) string { return in.Code },
		Equivalent:      func(a, b Input) bool { return a.Code == b.Code },
		Validate:        t.validate,
		CheckPermissions: func(context.Context, Input, *tool.Env) tool.Verdict {
			return tool.AllowCall("a script by itself touches nothing; every call that it makes is judged as if it were made directly")
		},
		Call:      t.call,
		MapResult: mapResult,
		View: tool.View[Input, Output]{
			Use:    viewUse,
			Result: func(_ Input, out Output) tool.Rendering { return render(out) },
		},
	})
}

func prompt(c tool.PromptContext, hidden []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `Runs JavaScript in which every tool is an async function: tools.Grep({pattern: "x"}), or Grep({pattern: "x"}) where the name is an identifier. Use it where several calls depend on each other, or where much output is to be reduced to little: only what the script returns or prints comes back to you.

- A call gives the tool's text as a string and throws an Error with the tool's message when it failed or was refused. tools.NAME.raw(input) gives {content, data, isError} instead and does not throw: data is the tool's output as an object, where it has one.
- Calls are checked and asked for exactly as if you made them directly. Calls that are not awaited one by one, as in Promise.all, run side by side where they do not touch the same things.
- The code is the body of an async function: use await, and return a value (any JSON), or end with an expression. console.log prints. sleep(ms) waits. describe() lists the tools, describe(name) gives one with the schema of its input.
- There is no require, import, fs, fetch, process or setTimeout, no eval, Function, Proxy, BigInt or typed arrays. Nothing is kept for the next script.
- A script has %d s (timeout: up to %d s), %d calls, and %d characters of printed lines. Strings and arrays are limited to %d and %d elements in built-in functions.`,
		DefaultTimeout/time.Second, MaxTimeout/time.Second, MaxCalls, MaxLogChars, MaxString, MaxArray)
	if len(hidden) > 0 {
		fmt.Fprintf(&b, "\n- These tools can be called from scripts only: %s.", strings.Join(hidden, ", "))
	}
	if c.Has("Read") || slices.Contains(hidden, "Read") {
		b.WriteString("\n\nExample: const found = await tools.Grep.raw({pattern: \"TODO\"}); const texts = await Promise.all(found.data.filenames.slice(0, 5).map(f => tools.Read({file_path: f}))); return texts.map(t => t.length);")
	}
	return b.String()
}

func (t *scripts) validate(ctx context.Context, in Input, _ *tool.Env) error {
	if strings.TrimSpace(in.Code) == "" {
		return fmt.Errorf("code is empty: it must be JavaScript")
	}
	if in.Timeout < 0 || int64(in.Timeout) > MaxTimeout.Milliseconds() {
		return fmt.Errorf("timeout is %d: it must be 1 to %d milliseconds, or left out", in.Timeout, MaxTimeout.Milliseconds())
	}
	_, err := t.compile(ctx, in.Code)
	return err
}

// scripts runs the scripts of a session.
type scripts struct {
	caller Caller
	stuck  atomic.Int32 // scripts that were stopped and have not ended yet
}

func (t *scripts) call(ctx context.Context, in Input, env *tool.Env) (tool.Result[Output], error) {
	program, err := t.compile(ctx, in.Code)
	if err != nil {
		return tool.Result[Output]{}, err
	}
	timeout := DefaultTimeout
	if in.Timeout > 0 {
		timeout = min(time.Duration(in.Timeout)*time.Millisecond, MaxTimeout)
	}
	out, moved := t.run(ctx, env, program, timeout)
	if cause := context.Cause(ctx); cause != nil && out.Error != "" {
		return tool.Result[Output]{Modify: movedOf(moved)}, cause
	}
	return tool.Result[Output]{Data: out, IsError: out.Error != "", Modify: movedOf(moved)}, nil
}

// movedOf makes the calls after the script look at the context anew when a call
// inside changed it.
func movedOf(moved bool) func(*tool.Context) {
	if !moved {
		return nil
	}
	return func(*tool.Context) {}
}

func mapResult(out Output) []tool.Block {
	var parts []string
	if out.Error != "" {
		parts = append(parts, "The script failed: "+out.Error)
	}
	if len(out.Result) > 0 {
		var text string
		if json.Unmarshal(out.Result, &text) != nil {
			text = string(out.Result)
		}
		parts = append(parts, text)
	}
	if len(out.Logs) > 0 {
		parts = append(parts, "Printed:\n"+strings.Join(out.Logs, "\n"))
	}
	if s := failures(out.Calls); s != "" {
		parts = append(parts, s)
	}
	parts = append(parts, out.Notes...)
	if len(parts) == 0 {
		return nil
	}
	return []tool.Block{tool.TextBlock(strings.Join(parts, "\n\n"))}
}

// failures is one line for the calls that failed or were refused.
func failures(calls []CallInfo) string {
	var bad []string
	n := 0
	for i, c := range calls {
		if c.OK {
			continue
		}
		if n++; n > maxListedFailures {
			continue
		}
		how := "failed"
		if c.Refused {
			how = "refused"
		}
		bad = append(bad, fmt.Sprintf("%d %s %s: %s", i+1, c.Tool, how, c.Error))
	}
	if n == 0 {
		return ""
	}
	s := fmt.Sprintf("%d of %d calls did not succeed: %s", n, len(calls), strings.Join(bad, "; "))
	if n > maxListedFailures {
		s += fmt.Sprintf("; and %d more", n-maxListedFailures)
	}
	return s
}

func viewUse(in Input) string {
	if in.Description != "" {
		return in.Description
	}
	first, _, more := strings.Cut(strings.TrimSpace(in.Code), "\n")
	if more {
		first += " …"
	}
	return first
}

func render(out Output) tool.Rendering {
	summary := fmt.Sprintf("%d calls", len(out.Calls))
	if len(out.Calls) == 1 {
		summary = "1 call"
	}
	if out.Error != "" {
		summary += ", failed"
	}
	var detail string
	for _, b := range mapResult(out) {
		detail += b.Text
	}
	return tool.Rendering{Summary: summary, Detail: detail}
}
