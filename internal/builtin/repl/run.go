package repl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"

	"github.com/sevengate/sevengate/tool"
)

// script is one run. The interpreter belongs to the goroutine of main; what
// other goroutines touch is below mu.
type script struct {
	ctx   context.Context
	stop  context.CancelCauseFunc
	env   *tool.Env
	tools []ToolInfo
	calls Calls
	rt    *goja.Runtime

	// For main only.
	parse, stringify func(goja.FunctionCall) goja.Value // the interpreter's own
	descriptor, seal func(goja.FunctionCall) goja.Value
	errorType        *goja.Object
	rangeType        *goja.Object
	pending, sleeps  int
	native, bound    int
	patterns         map[string]*pattern

	wg   sync.WaitGroup
	wake chan struct{}

	mu       sync.Mutex
	closed   bool     // no further call may start
	queue    []func() // to be run on main
	out      Output
	logBytes int
	logCut   bool
	moved    bool
}

// run runs a program. When it returns, all calls are over, and so is the
// program, unless it would not stop.
func (t *scripts) run(ctx context.Context, env *tool.Env, program *goja.Program, limit time.Duration) (Output, bool) {
	ctx, stop := withClock(ctx, limit)
	defer stop(nil)
	s := &script{ctx: ctx, stop: stop, env: env, rt: goja.New(), wake: make(chan struct{}, 1), patterns: map[string]*pattern{},
		tools: slices.DeleteFunc(t.caller.Tools(), func(i ToolInfo) bool { return i.Name == Name })}
	s.calls = t.caller.Open(ctx, env)
	ended := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { s.watch(ended) })
	go func() {
		defer close(ended)
		s.main(program)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		select {
		case <-ended:
		case <-time.After(StopGrace):
			// The goroutine ends with the built-in function that it is in, since
			// it was told to; until then it counts.
			t.stuck.Add(1)
			watch.Go(func() { <-ended; t.stuck.Add(-1) })
			env.Logger().Warn("Script goes on in a built-in function after it was stopped", "id", env.ToolUseID)
		}
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	// Where all went well no call is under way any more, but a sleep may be.
	cause := context.Cause(ctx)
	stop(errors.New("the script ended"))
	s.calls.Close()
	s.wg.Wait()
	out := s.snapshot()
	select {
	case <-ended:
		watch.Wait()
	default:
		if out.Error == "" {
			out.Error = describe(cause)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return out, s.moved
}

func (s *script) snapshot() Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.out
	out.Logs = append([]string{}, out.Logs...)
	out.Calls = append([]CallInfo{}, out.Calls...)
	out.Notes = slices.Clone(out.Notes)
	return out
}

// watch interrupts the program when its time or its memory is over, until it
// has ended.
func (s *script) watch(ended <-chan struct{}) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	limit := heap() + MaxHeapGrowth
	tick := time.NewTicker(heapSample)
	defer tick.Stop()
	done := s.ctx.Done()
	for {
		select {
		case <-ended:
			return
		case <-done:
			done = nil
			s.rt.Interrupt(context.Cause(s.ctx))
		case <-tick.C:
			if done == nil {
				s.rt.Interrupt(context.Cause(s.ctx))
				continue
			}
			now := heap()
			if now <= limit {
				continue
			}
			// Much of it may be garbage; far beyond the limit there is no time to see.
			if now < limit+MaxHeapGrowth {
				runtime.GC()
				now = heap()
			}
			if now > limit {
				s.stop(fmt.Errorf("the script needs more than %d MB of memory", MaxHeapGrowth>>20))
			}
		}
	}
}

// main runs the program and the loop that settles its promises.
func (s *script) main(program *goja.Program) {
	defer func() {
		if p := recover(); p != nil {
			if cause := context.Cause(s.ctx); cause != nil {
				s.fail(describe(cause))
				return
			}
			s.env.Logger().Error("Interpreter panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			s.fail("the interpreter met an internal error")
		}
	}()
	s.rt.SetMaxCallStackSize(MaxDepth)
	if err := s.install(); err != nil {
		s.failWith(err)
		return
	}
	value, err := s.rt.RunProgram(program)
	if err != nil {
		s.failWith(err)
		return
	}
	promise, ok := value.Export().(*goja.Promise)
	if !ok {
		s.fail("the interpreter met an internal error")
		return
	}
	for settled := false; ; {
		if !settled && promise.State() != goja.PromiseStatePending {
			settled = true
			s.settle(promise)
		}
		switch {
		case s.ctx.Err() != nil:
			s.fail(describe(context.Cause(s.ctx)))
			return
		case settled && s.pending == 0:
			// Calls that nobody awaited have effects too: they were waited for.
			return
		case !settled && s.pending+s.sleeps == 0:
			s.fail("it awaits a promise that nothing will ever settle")
			return
		}
		next := s.next()
		if next == nil {
			continue
		}
		next()
	}
}

// next waits for something to do; nil when the time is over.
func (s *script) next() func() {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			first := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			return first
		}
		s.mu.Unlock()
		select {
		case <-s.wake:
		case <-s.ctx.Done():
			return nil
		}
	}
}

// post has something done on main, if that still runs.
func (s *script) post(f func()) {
	s.mu.Lock()
	s.queue = append(s.queue, f)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// settle takes what the script returned or threw.
func (s *script) settle(p *goja.Promise) {
	value := p.Result()
	if p.State() == goja.PromiseStateRejected {
		s.fail(s.textOf(value))
		return
	}
	raw, err := s.jsonOf(value)
	switch {
	case err != nil:
		s.failWith(err)
		s.mu.Lock()
		s.out.Error = "what the script returned cannot be made JSON: " + s.out.Error
		s.mu.Unlock()
	case len(raw) > MaxResult:
		s.fail(fmt.Sprintf("what the script returned has %d bytes; at most %d are allowed: return less", len(raw), MaxResult))
	default:
		s.mu.Lock()
		s.out.Result = raw
		s.mu.Unlock()
	}
}

// fail notes why the script failed; the first reason stays.
func (s *script) fail(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out.Error == "" {
		s.out.Error = clip(why)
		if s.out.Error == "" {
			s.out.Error = "it threw an empty error"
		}
	}
}

func (s *script) failWith(err error) {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	var thrown *goja.Exception
	switch {
	case s.ctx.Err() != nil:
		s.fail(describe(context.Cause(s.ctx)))
	case errors.As(err, &overflow):
		s.fail(fmt.Sprintf("its functions call each other more than %d deep", MaxDepth))
	case errors.As(err, &interrupted):
		s.fail("it was interrupted")
	case errors.As(err, &thrown):
		s.fail(s.textOf(thrown.Value()))
	default:
		s.fail(err.Error())
	}
}

// describe says why a context ended.
func describe(cause error) string {
	if cause == nil || errors.Is(cause, context.Canceled) {
		return "it was interrupted"
	}
	return cause.Error()
}

// textOf is a thrown value in words, with the line where it arose.
func (s *script) textOf(v goja.Value) string {
	var text string
	ex := s.rt.Try(func() {
		object, ok := v.(*goja.Object)
		if !ok {
			text = v.String()
			return
		}
		if object.ClassName() != "Error" {
			if raw, err := s.jsonOf(v); err == nil && raw != nil {
				text = string(raw)
				return
			}
			text = v.String()
			return
		}
		text = object.String()
		if stack := object.Get("stack"); stack != nil {
			if line := lineOf(stack.String()); line != "" {
				text += " (line " + line + ")"
			}
		}
	})
	if ex != nil {
		return "it threw something that cannot be shown"
	}
	return text
}

// lineOf is the first line of the script that a stack names.
func lineOf(stack string) string {
	_, rest, found := strings.Cut(stack, scriptName+":")
	line, _, ok := strings.Cut(rest, ":")
	if !found || !ok || len(line) > 6 || strings.Trim(line, "0123456789") != "" {
		return ""
	}
	return line
}

// jsonOf encodes a value; nil for undefined and functions.
func (s *script) jsonOf(v goja.Value) (raw json.RawMessage, err error) {
	ex := s.rt.Try(func() {
		text := s.encode(v, goja.Undefined(), goja.Undefined())
		if !goja.IsUndefined(text) {
			raw = json.RawMessage(strings.ToValidUTF8(text.String(), "\uFFFD"))
		}
	})
	if ex != nil {
		return nil, ex
	}
	return raw, nil
}
