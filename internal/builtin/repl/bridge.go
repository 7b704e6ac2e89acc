package repl

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dop251/goja"

	"github.com/sevengate/sevengate/tool"
)

// install makes the world of the script: the language within bounds, the tools,
// and a few functions more.
func (s *script) install() (err error) {
	ex := s.rt.Try(func() {
		s.capture()
		s.guard()
		s.bridge()
	})
	if ex != nil {
		return ex
	}
	return nil
}

func (s *script) bridge() {
	g := s.rt.GlobalObject()
	tools := s.rt.CreateObject(nil)
	for _, info := range s.tools {
		f := s.function(info.Name, func(c goja.FunctionCall) goja.Value { return s.start(info.Name, c.Argument(0), false) })
		raw := s.function(info.Name+".raw", func(c goja.FunctionCall) goja.Value { return s.start(info.Name, c.Argument(0), true) })
		s.define(f, "raw", s.freeze(raw))
		s.freeze(f)
		_ = tools.DefineDataProperty(info.Name, f, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_TRUE)
		if g.Get(info.Name) == nil && !strings.Contains(info.Name, "-") {
			s.define(g, info.Name, f)
		}
	}
	s.define(g, "tools", s.freeze(tools))
	console := s.rt.NewObject()
	for _, name := range []string{"log", "info", "warn", "error", "debug"} {
		s.define(console, name, s.function(name, func(c goja.FunctionCall) goja.Value {
			s.print(c.Arguments)
			return goja.Undefined()
		}))
	}
	s.define(g, "console", console)
	s.define(g, "sleep", s.function("sleep", func(c goja.FunctionCall) goja.Value { return s.sleep(c.Argument(0).ToFloat()) }))
	s.define(g, "describe", s.function("describe", func(c goja.FunctionCall) goja.Value { return s.describeTools(c.Argument(0)) }))
}

// start begins a call and gives its promise.
func (s *script) start(name string, input goja.Value, raw bool) goja.Value {
	promise, resolve, reject := s.rt.NewPromise()
	value := s.rt.ToValue(promise)
	refuse := func(why string) goja.Value {
		s.must(reject(s.toolError(name, why, false)))
		return value
	}
	text := json.RawMessage("{}")
	if !goja.IsUndefined(input) && !goja.IsNull(input) {
		encoded := s.encode(input, goja.Undefined(), goja.Undefined())
		if text = json.RawMessage(encoded.String()); !strings.HasPrefix(string(text), "{") {
			return refuse(fmt.Sprintf("the input of %s must be one object, such as {name: value}", name))
		}
	}
	s.mu.Lock()
	n := len(s.out.Calls)
	if s.closed || s.ctx.Err() != nil || n >= MaxCalls {
		s.mu.Unlock()
		return refuse(fmt.Sprintf("%s was not called: a script can make at most %d calls", name, MaxCalls))
	}
	s.out.Calls = append(s.out.Calls, CallInfo{Tool: name})
	begin := time.Now()
	wait := s.calls.Start(fmt.Sprintf("%s_%d", s.env.ToolUseID, n+1), name, text)
	s.wg.Go(func() {
		res := wait()
		s.finished(n, res, time.Since(begin))
		s.post(func() {
			s.pending--
			s.deliver(name, res, raw, resolve, reject)
		})
	})
	s.mu.Unlock()
	s.pending++
	s.report()
	return value
}

// finished records what became of a call.
func (s *script) finished(n int, res Result, took time.Duration) {
	s.mu.Lock()
	c := &s.out.Calls[n]
	c.OK, c.Ms, c.Refused = !res.IsError, took.Milliseconds(), res.Refused
	if res.IsError {
		c.Error, _, _ = strings.Cut(strings.TrimSpace(contentText(res.Content)), "\n")
		if r := []rune(c.Error); len(r) > 200 {
			c.Error = string(r[:200]) + "…"
		}
	}
	s.out.Notes = append(s.out.Notes, res.Notes...)
	s.moved = s.moved || res.Moved
	s.mu.Unlock()
	if res.Stop != "" {
		s.stop(errors.New(res.Stop))
	}
}

// deliver settles the promise of a call.
func (s *script) deliver(name string, res Result, raw bool, resolve, reject func(any) error) {
	text := contentText(res.Content)
	switch {
	case raw:
		data := res.Data
		if len(data) == 0 || !json.Valid(data) {
			data = json.RawMessage("null")
		}
		content := res.Content
		if content == nil {
			content = []tool.Block{}
		}
		whole, err := json.Marshal(struct {
			Content []tool.Block    `json:"content"`
			Data    json.RawMessage `json:"data"`
			IsError bool            `json:"isError"`
		}{content, data, res.IsError})
		if err != nil || len(whole) > 4*MaxString {
			s.must(reject(s.toolError(name, "the result is too large for a script", false)))
			return
		}
		s.must(resolve(s.parse(goja.FunctionCall{Arguments: []goja.Value{s.rt.ToValue(string(whole))}})))
	case res.IsError:
		s.must(reject(s.toolError(name, text, res.Refused)))
	case len(text) > MaxString:
		s.must(reject(s.toolError(name, fmt.Sprintf("the result has %d bytes; a script can take %d", len(text), MaxString), false)))
	default:
		s.must(resolve(s.rt.ToValue(text)))
	}
}

// must passes on what no script can catch: that it was interrupted.
func (s *script) must(err error) {
	if err != nil {
		panic(err)
	}
}

func (s *script) toolError(name, text string, refused bool) goja.Value {
	if text == "" {
		text = name + " failed without saying why"
	}
	e, err := s.rt.New(s.errorType, s.rt.ToValue(text))
	s.must(err)
	s.define(e, "name", s.rt.ToValue("ToolError"))
	s.define(e, "tool", s.rt.ToValue(name))
	s.define(e, "refused", s.rt.ToValue(refused))
	return e
}

// contentText is the text of a result; other blocks are named.
func contentText(content []tool.Block) string {
	parts := make([]string, 0, len(content))
	for _, b := range content {
		if b.Type == tool.BlockText {
			parts = append(parts, b.Text)
		} else {
			parts = append(parts, "["+string(b.Type)+"]")
		}
	}
	return strings.Join(parts, "\n")
}

// sleep gives a promise that is settled after a time.
func (s *script) sleep(ms float64) goja.Value {
	promise, resolve, reject := s.rt.NewPromise()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.sleeps >= MaxSleeps {
		s.must(reject(s.rt.NewTypeError("at most %d sleeps can be under way", MaxSleeps)))
		return s.rt.ToValue(promise)
	}
	d := time.Duration(0)
	if ms > 0 {
		d = time.Duration(min(ms, float64(MaxTimeout.Milliseconds())) * float64(time.Millisecond))
	}
	s.sleeps++
	s.wg.Go(func() {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-s.ctx.Done():
		}
		s.post(func() {
			s.sleeps--
			s.must(resolve(goja.Undefined()))
		})
	})
	return s.rt.ToValue(promise)
}

// print adds a line to what the script printed.
func (s *script) print(args []goja.Value) {
	parts := make([]string, len(args))
	for i, a := range args {
		if object, ok := a.(*goja.Object); ok && object.ClassName() != "Error" {
			if text := s.encode(a, goja.Undefined(), goja.Undefined()); !goja.IsUndefined(text) {
				a = text
			}
		}
		parts[i] = a.String()
		if room := MaxLogChars + 1; len(parts[i]) > room {
			parts[i] = parts[i][:room]
		}
	}
	line := strings.ToValidUTF8(strings.Join(parts, " "), "\uFFFD")
	s.mu.Lock()
	switch room := MaxLogChars - s.logBytes; {
	case s.logCut:
	case len(line) > room || len(s.out.Logs) == MaxLogLines:
		s.logCut = true
		s.out.Logs = append(s.out.Logs, strings.ToValidUTF8(line[:min(max(0, room), len(line))], "")+"… (what was printed after this is cut off)")
	default:
		s.out.Logs = append(s.out.Logs, line)
		s.logBytes += len(line) + 1
	}
	s.mu.Unlock()
	s.env.Report(tool.Progress{Text: line})
}

func (s *script) report() {
	s.mu.Lock()
	n := len(s.out.Calls)
	s.mu.Unlock()
	s.env.Report(tool.Progress{Text: fmt.Sprintf("%d calls, %d running", n, s.pending)})
}

// describeTools lists the tools, or describes one.
func (s *script) describeTools(name goja.Value) goja.Value {
	var names []string
	for _, info := range s.tools {
		if goja.IsUndefined(name) {
			names = append(names, info.Name)
		} else if info.Name == name.String() {
			return s.rt.ToValue(info.Name + "\n\n" + info.Description + "\n\nInput: " + string(info.Schema))
		}
	}
	if !goja.IsUndefined(name) {
		panic(s.rt.NewTypeError("there is no tool named %q", clip(name.String())))
	}
	return s.rt.ToValue(strings.Join(names, "\n"))
}
