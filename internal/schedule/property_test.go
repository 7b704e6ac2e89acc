package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/sevengate/sevengate/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// step is one call of a random program over a small store of values by path.
// A directory stands for all values beneath it.
type step struct {
	ID      int      `json:"id"`
	Reads   []string `json:"reads,omitempty"`
	Writes  []string `json:"writes,omitempty"`
	Unknown bool     `json:"unknown,omitempty"`
	Cd      string   `json:"cd,omitempty"`      // changes the directory; undeclared effects
	Becomes *step    `json:"becomes,omitempty"` // what a hook makes of it once it runs
	Late    bool     `json:"late,omitempty"`    // and nobody knew that it might
	Sleep   int      `json:"sleep,omitempty"`   // microseconds
}

type store struct {
	mu     sync.Mutex
	values map[string]int
}

func (s *store) sum(dir string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, k := range slices.Sorted(maps.Keys(s.values)) {
		if within(dir, k) {
			n = n*31 + s.values[k]
		}
	}
	return n
}

func (s *store) set(dir string, v int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.values {
		if within(dir, k) && k != dir {
			s.values[k] = v + len(k)
		}
	}
	s.values[dir] = v
}

func stepTool(s *store) tool.Tool {
	return tool.Define(tool.Def[step, int]{
		Name:            "Step",
		ConcurrencySafe: func(in step) bool { return len(in.Writes) == 0 && !in.Unknown && in.Cd == "" },
		Effects: func(in step) tool.Effects {
			if in.Unknown || in.Cd != "" {
				return tool.Effects{}
			}
			return tool.Reads(in.Reads...).And(tool.Writes(in.Writes...))
		},
		Call: func(_ context.Context, in step, env *tool.Env) (tool.Result[int], error) {
			got := in.ID
			for _, r := range in.Reads {
				got = got*17 + s.sum(env.Abs(r))
				runtime.Gosched()
			}
			time.Sleep(time.Duration(in.Sleep) * time.Microsecond)
			for _, w := range in.Writes {
				s.set(env.Abs(w), got)
				runtime.Gosched()
			}
			r := tool.OK(got)
			if in.Cd != "" {
				r.Modify = func(c *tool.Context) { c.Cwd = in.Cd }
			}
			return r, nil
		},
	})
}

type outcome struct {
	value  int
	modify func(*tool.Context)
	err    error
}

// job carries a step out as the gate does: bound in the current context, bound
// again when its input changes.
type job struct {
	t   tool.Tool
	in  step
	now func() tool.Context
}

func (j *job) bind(in step, c tool.Context) *tool.Call {
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	call, err := j.t.Bind(raw, tool.Place{Cwd: c.Cwd})
	if err != nil {
		panic(err)
	}
	return call
}

func (j *job) Bind(c tool.Context) *tool.Call { return j.bind(j.in, c) }

func (j *job) MayChange() bool { return j.in.Becomes != nil && !j.in.Late }

func (j *job) Run(ctx context.Context, s *Slot) outcome {
	call := j.bind(j.in, j.now())
	if j.in.Becomes != nil {
		call = j.bind(*j.in.Becomes, j.now())
		if err := s.Rebind(ctx, call); err != nil {
			return outcome{err: err}
		}
	} else {
		s.Settle()
	}
	o, err := call.Run(ctx, &tool.Env{Place: call.Place()})
	if err != nil {
		return outcome{err: err}
	}
	if o.Modify != nil && !s.Alone() {
		return outcome{err: fmt.Errorf("step %d changes the context but did not run alone", j.in.ID)}
	}
	return outcome{value: o.Data.(int), modify: o.Modify}
}

// oneByOne is the meaning of a program.
func oneByOne(program []step) ([]int, map[string]int) {
	s := &store{values: map[string]int{"/": 1, "/a/x": 2, "/a/y": 3, "/b": 4}}
	c := tool.Context{Cwd: "/"}
	j := &job{t: stepTool(s)}
	var results []int
	for _, in := range program {
		if in.Becomes != nil {
			in = *in.Becomes
		}
		o, err := j.bind(in, c).Run(context.Background(), &tool.Env{Place: tool.Place{Cwd: c.Cwd}})
		if err != nil {
			panic(err)
		}
		if o.Modify != nil {
			o.Modify(&c)
		}
		results = append(results, o.Data.(int))
	}
	return results, s.values
}

func scheduled(program []step, p Policy, limit int, stream bool) ([]int, map[string]int, error) {
	s := &store{values: map[string]int{"/": 1, "/a/x": 2, "/a/y": 3, "/b": 4}}
	var mu sync.Mutex
	c := tool.Context{Cwd: "/"}
	now := func() tool.Context { mu.Lock(); defer mu.Unlock(); return c }
	q := New(context.Background(), Config[outcome]{
		Max: limit, Policy: p, Context: now,
		Modifier: func(o outcome) func(*tool.Context) { return o.modify },
		Apply:    func(f func(*tool.Context)) { mu.Lock(); defer mu.Unlock(); f(&c) },
	})
	t := stepTool(s)
	for _, in := range program {
		if stream && rand.IntN(2) == 0 {
			time.Sleep(50 * time.Microsecond)
		}
		q.Add(&job{t: t, in: in, now: now})
	}
	var results []int
	for _, o := range q.Wait() {
		if o.err != nil {
			return nil, nil, o.err
		}
		results = append(results, o.value)
	}
	return results, s.values, nil
}

func drawStep(t *rapid.T, id int, mayBecome bool) step {
	paths := rapid.SliceOfN(rapid.SampledFrom([]string{"/a", "/a/x", "/a/y", "/ab", "/b", "x", "../b", "."}), 0, 2)
	s := step{ID: id, Reads: paths.Draw(t, "reads"), Writes: paths.Draw(t, "writes"), Sleep: rapid.IntRange(0, 200).Draw(t, "sleep")}
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		s.Unknown = true
	case 1:
		s.Cd = rapid.SampledFrom([]string{"/", "/a", "/b"}).Draw(t, "cd")
	case 2, 3:
		if mayBecome {
			other := drawStep(t, id, false)
			s.Becomes = &other
			s.Late = rapid.IntRange(0, 3).Draw(t, "late") == 0
			if other.Cd != "" {
				s.Cd = other.Cd // what changes the context must have declared that it may
			}
		}
	}
	return s
}

func TestSchedulingMeansOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 14).Draw(t, "n")
		program := make([]step, n)
		for i := range program {
			program[i] = drawStep(t, i+1, true)
		}
		p := rapid.SampledFrom([]Policy{Effects, Batches}).Draw(t, "policy")
		limit := rapid.IntRange(1, 10).Draw(t, "max")
		wantResults, wantValues := oneByOne(program)
		results, values, err := scheduled(program, p, limit, rapid.Bool().Draw(t, "stream"))
		if errors.Is(err, ErrTooLate) {
			return // refused, which is right: the order could not be kept any more
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(results, wantResults) {
			t.Fatalf("results %v, want %v", results, wantResults)
		}
		if !reflect.DeepEqual(values, wantValues) {
			t.Fatalf("values %v, want %v", values, wantValues)
		}
	})
}
