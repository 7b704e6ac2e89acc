package repl_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sevengate/sevengate/internal/agent"
	"github.com/sevengate/sevengate/internal/builtin/file"
	"github.com/sevengate/sevengate/internal/builtin/repl"
	"github.com/sevengate/sevengate/internal/builtin/search"
	"github.com/sevengate/sevengate/internal/gate"
	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/internal/registry"
	"github.com/sevengate/sevengate/internal/result"
	"github.com/sevengate/sevengate/internal/schedule"
	"github.com/sevengate/sevengate/tool"
)

// house is a real gate with the real scheduler, and the caller that leads to
// them.
type house struct {
	gate *gate.Gate
	conv *gate.Conversation
	pool *registry.Pool

	mu     sync.Mutex
	asked  []string
	phases map[string]int // of calls that are done, by id
}

func (h *house) Tools() (out []repl.ToolInfo) {
	for _, name := range append(h.pool.Names(), repl.Primitives()...) {
		if t, _, ok := h.pool.Lookup(name); ok {
			out = append(out, repl.ToolInfo{Name: t.Name()})
		}
	}
	return out
}

func (h *house) Open(ctx context.Context, _ *tool.Env) repl.Calls {
	return calls{h, agent.NewQueue(ctx, h.conv, schedule.Effects, 0)}
}

type calls struct {
	h     *house
	queue *schedule.Queue[*gate.Result]
}

type job struct {
	schedule.Job[*gate.Result]
	done chan *gate.Result
}

func (j job) Run(ctx context.Context, s *schedule.Slot) *gate.Result {
	r := j.Job.Run(ctx, s)
	j.done <- r
	return r
}

func (c calls) Start(id, name string, input json.RawMessage) func() repl.Result {
	done := make(chan *gate.Result, 1)
	c.queue.Add(job{agent.NewJob(c.h.gate.Admit(c.h.conv, tool.ToolUse(id, name, input))), done})
	return func() repl.Result {
		r := <-done
		data, _ := json.Marshal(r.Outcome.Data)
		return repl.Result{Content: r.Block.Content, IsError: r.Block.IsError, Refused: r.Denied, Data: data, Notes: r.Context, Moved: r.Modifier() != nil}
	}
}

func (c calls) Close() { c.queue.Wait() }

// Prompt refuses everything but what is about allowed.txt.
func (h *house) Prompt(_ context.Context, q gate.Question) (gate.Answer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, q.Call.Name())
	if strings.HasSuffix(q.Call.Path(), "allowed.txt") {
		return gate.Answer{Behavior: tool.Allow}, nil
	}
	return gate.Answer{Behavior: tool.Deny, Message: "not this"}, nil
}

func build(t *testing.T, dir string, more ...tool.Tool) *house {
	t.Helper()
	h := &house{phases: map[string]int{}}
	all := append(append(file.New(file.Deps{}), search.New(search.Deps{})...), repl.New(repl.Deps{Caller: h}))
	reg, err := registry.New(append(all, more...), tool.Features{Flags: map[string]bool{repl.Gate: true}}, "m")
	if err != nil {
		t.Fatal(err)
	}
	h.pool = reg.Pool(registry.Select{Hidden: repl.Primitives()})
	h.gate = gate.New(gate.Config{
		Pool:     func() gate.Pool { return h.pool },
		Policy:   permission.New(permission.Config{Cwd: dir, Home: dir, Disallowed: []string{"Read(secret.txt)"}}),
		Results:  result.NewStore(filepath.Join(dir, "results"), ""),
		Prompter: h,
		Observe: func(e gate.Event) {
			if e.Kind == gate.EventDone {
				h.mu.Lock()
				h.phases[e.ID] = len(e.Result.Trace)
				h.mu.Unlock()
			}
		},
	})
	h.conv = gate.NewConversation(tool.Env{Place: tool.Place{Home: dir}, Files: &tool.FileState{}, State: &tool.State{}}, tool.Context{Cwd: dir, Roots: []string{dir}})
	return h
}

// script runs one REPL call as a model's message would.
func (h *house) script(t *testing.T, code string) (string, *gate.Result) {
	t.Helper()
	raw, _ := json.Marshal(repl.Input{Code: code})
	q := agent.NewQueue(context.Background(), h.conv, schedule.Effects, 0)
	q.Add(agent.NewJob(h.gate.Admit(h.conv, tool.ToolUse("toolu_s", repl.Name, raw))))
	r := q.Wait()[0]
	return r.Block.Content[0].Text, r
}

func TestScriptsPassTheGates(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a.txt": "alpha\n", "b.txt": "beta\n", "secret.txt": "hidden\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := build(t, dir)
	for _, n := range h.pool.Names() {
		if n == "Read" {
			t.Fatal("a primitive is offered")
		}
	}
	got, r := h.script(t, `
		const found = await tools.Glob.raw({pattern: "?.txt"});
		const texts = await Promise.all(["a.txt", "b.txt"].map(f => Read({file_path: f})));
		const out = [found.data.numFiles, texts.filter(t => /alpha|beta/.test(t)).length];
		try { await Read({file_path: "secret.txt"}) } catch (e) { out.push("refused " + e.refused) }
		try { await Write({file_path: "other.txt", content: "x"}) } catch (e) { out.push("refused " + e.refused) }
		await Write({file_path: "allowed.txt", content: "made"});
		try { await Read({nonsense: 1}) } catch (e) { out.push(e.name) }
		try { await tools.REPL({code: "1"}) } catch (e) { out.push("no inner script") }
		return out`)
	if r.Block.IsError || !strings.HasPrefix(got, `[2,2,"refused true","refused true","ToolError","no inner script"]`) || !strings.Contains(got, "3 of 7 calls did not succeed: 4 Read refused") {
		t.Errorf("%q %+v", got, r.Trace)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "allowed.txt")); err != nil || string(raw) != "made" {
		t.Errorf("allowed.txt: %q, %v", raw, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "other.txt")); err == nil {
		t.Error("what was refused was written")
	}
	if strings.Join(h.asked, " ") != "Write Write" {
		t.Errorf("asked for %v", h.asked)
	}
	for _, id := range []string{"toolu_s", "toolu_s_1", "toolu_s_2", "toolu_s_3", "toolu_s_6"} {
		if h.phases[id] != 7 {
			t.Errorf("%s went through %d phases", id, h.phases[id])
		}
	}
}

func TestWritesOfOneFileKeepTheirOrder(t *testing.T) {
	h := build(t, t.TempDir())
	h.conv.Apply(func(c *tool.Context) { c.Mode = string(permission.ModeAcceptEdits) })
	got, r := h.script(t, `
		const all = [Write({file_path: "x.txt", content: "0"})];
		for (let i = 1; i < 10; i++) all.push(Write({file_path: "x.txt", content: String(i)}), Read({file_path: "x.txt"}));
		const seen = (await Promise.all(all)).filter((_, i) => i && i % 2 === 0).map(t => t.match(/\d+\D+(\d)/)[1]);
		return seen.join("")`)
	if r.Block.IsError || got != "123456789" {
		t.Errorf("%q", got)
	}
}

// Both calls wait for each other, which only ends where they run side by side.
func TestInnerCallsRunSideBySideUnderTheScheduler(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	meet := tool.Define(tool.Def[struct{}, string]{
		Name: "Meet", ReadOnly: tool.Always[struct{}], ConcurrencySafe: tool.Always[struct{}], CheckPermissions: tool.AlwaysAllow[struct{}],
		Effects: func(struct{}) tool.Effects { return tool.Nothing() },
		Call: func(context.Context, struct{}, *tool.Env) (tool.Result[string], error) {
			both.Done()
			both.Wait()
			return tool.OK("met"), nil
		},
	})
	if got, _ := build(t, t.TempDir(), meet).script(t, `(await Promise.all([Meet(), Meet()])).join()`); got != "met,met" {
		t.Errorf("%q", got)
	}
}
