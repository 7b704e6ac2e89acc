package sevengate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sevengate/sevengate/internal/agent"
	"github.com/sevengate/sevengate/internal/model/fakeapi"
	"github.com/sevengate/sevengate/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type stepIn struct {
	N     int    `json:"n"`
	Do    string `json:"do,omitempty"`
	Delay int    `json:"delay,omitempty"` // microseconds
}

// stepTool counts its calls by their number, and does what it is told: fail,
// panic, wait.
func stepTool(counts *sync.Map) tool.Tool {
	return tool.Define(tool.Def[stepIn, string]{
		Name: "Step", ReadOnly: tool.Always[stepIn], ConcurrencySafe: tool.Always[stepIn],
		Effects:          func(stepIn) tool.Effects { return tool.Nothing() },
		CheckPermissions: tool.AlwaysAllow[stepIn],
		Call: func(ctx context.Context, in stepIn, _ *tool.Env) (tool.Result[string], error) {
			n, _ := counts.LoadOrStore(in.N, new(atomic.Int32))
			n.(*atomic.Int32).Add(1)
			switch in.Do {
			case "panic":
				panic("told to")
			case "fail":
				return tool.Result[string]{}, errors.New("told to fail")
			}
			select {
			case <-ctx.Done():
				return tool.Result[string]{}, context.Cause(ctx)
			case <-time.After(time.Duration(in.Delay) * time.Microsecond):
			}
			return tool.OK(fmt.Sprintf("did %d", in.N)), nil
		},
	})
}

func newRuntime(t *testing.T, url string, change func(*Options)) *Runtime {
	t.Helper()
	home := t.TempDir()
	o := Options{Dir: t.TempDir(), Home: home, ManagedDirs: []string{},
		Environ: []string{"HOME=" + home, "ANTHROPIC_API_KEY=key-for-tests", "ANTHROPIC_BASE_URL=" + url, "PATH=/usr/bin:/bin"}}
	if change != nil {
		change(&o)
	}
	r, err := New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

func modelServer(t *testing.T, h fakeapi.Handler) *fakeapi.Server {
	t.Helper()
	s, err := fakeapi.New(h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// paired checks a conversation: every tool_use has exactly one tool_result, in
// order, at the start of the next message; nothing else has one.
func paired(messages []tool.Message) error {
	for i, m := range messages {
		uses := m.ToolUses()
		var results []string
		if i+1 < len(messages) {
			for j, b := range messages[i+1].Content {
				if b.Type == tool.BlockToolResult {
					if j != len(results) {
						return fmt.Errorf("message %d: a result stands behind other content", i+1)
					}
					results = append(results, b.ToolUseID)
				}
			}
		}
		if m.Role == tool.RoleUser && len(uses) > 0 {
			return fmt.Errorf("message %d: a user calls tools", i)
		}
		if m.Role == tool.RoleAssistant && len(results) != len(uses) {
			return fmt.Errorf("message %d has %d calls, the next %d results", i, len(uses), len(results))
		}
		for k := range uses {
			if uses[k].ID != results[k] {
				return fmt.Errorf("message %d: result %d is for %s, want %s", i, k, results[k], uses[k].ID)
			}
		}
	}
	return nil
}

// requestMessages reads the last messages of a request; 0 means all.
func requestMessages(t *testing.T, body []byte, last int) []tool.Message {
	t.Helper()
	var req struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		t.Fatal(err)
	}
	if last > 0 && len(req.Messages) > last {
		req.Messages = req.Messages[len(req.Messages)-last:]
	}
	out := make([]tool.Message, len(req.Messages))
	for i, raw := range req.Messages {
		if err := json.Unmarshal(raw, &out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func use(n int, do string, delay int) tool.Block {
	in, _ := json.Marshal(stepIn{n, do, delay})
	return tool.ToolUse(fmt.Sprintf("toolu_%d", n), "Step", in)
}

func TestTwoHundredTurnsAndAThousandCalls(t *testing.T) {
	const turns, perTurn = 200, 5
	n := 0
	var mu sync.Mutex
	srv := modelServer(t, func(_ context.Context, r fakeapi.Request) fakeapi.Reply {
		mu.Lock()
		defer mu.Unlock()
		if n == turns*perTurn {
			return fakeapi.Text("done")
		}
		var blocks []tool.Block
		for range perTurn {
			do := ""
			switch n % 97 {
			case 13:
				do = "panic"
			case 31:
				do = "fail"
			}
			blocks = append(blocks, use(n, do, rand.IntN(300)))
			n++
		}
		return fakeapi.Blocks(blocks...)
	})
	var counts sync.Map
	r := newRuntime(t, srv.URL, func(o *Options) { o.Tools = []tool.Tool{stepTool(&counts)} })
	out, err := r.Run(context.Background(), "go")
	if err != nil || out.Reason != agent.Completed || out.Turns != turns+1 || out.Calls != turns*perTurn || out.Text != "done" {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	for i := range turns * perTurn {
		if c, ok := counts.Load(i); !ok || c.(*atomic.Int32).Load() != 1 {
			t.Fatalf("call %d was made %v times", i, c)
		}
	}
	var section []byte
	for i, req := range srv.Requests() {
		// Each request ends with the call and its results; the last holds all.
		last := 2
		if i == turns {
			last = 0
		}
		if err := paired(requestMessages(t, req.Body, last)); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		var body struct {
			Tools json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(req.Body, &body); err != nil {
			t.Fatal(err)
		}
		if section == nil {
			section = body.Tools
		}
		if !bytes.Equal(section, body.Tools) {
			t.Fatalf("request %d carries other tool bytes", i)
		}
	}
	if len(section) == 0 {
		t.Fatal("no tools were sent")
	}
	if strings.Contains(string(srv.Requests()[0].Body), "key-for-tests") {
		t.Error("the key is in the request's body")
	}
}

func TestCutStreamsNeverRunHalfACallNorACallTwice(t *testing.T) {
	for _, cutIn := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("in call %d", cutIn), func(t *testing.T) {
			first := fakeapi.Blocks(tool.TextBlock("let me"), use(1, "", 0), use(2, "", 0), use(3, "", 0))
			first.CutInTool = cutIn
			second := fakeapi.Blocks(use(11, "", 0))
			replies := []fakeapi.Reply{first, second, fakeapi.Text("done")}
			if cutIn == 1 {
				// Nothing was handed on: the request is made again.
				whole := fakeapi.Blocks(use(1, "", 0), use(2, "", 0), use(3, "", 0))
				replies = []fakeapi.Reply{first, whole, fakeapi.Text("done")}
			}
			srv := modelServer(t, fakeapi.Script(replies...))
			var counts sync.Map
			r := newRuntime(t, srv.URL, func(o *Options) { o.Tools = []tool.Tool{stepTool(&counts)} })
			out, err := r.Run(context.Background(), "go")
			if err != nil || out.Text != "done" {
				t.Fatalf("outcome %+v, %v", out, err)
			}
			counts.Range(func(k, v any) bool {
				if v.(*atomic.Int32).Load() != 1 {
					t.Errorf("call %v was made %d times", k, v.(*atomic.Int32).Load())
				}
				if cutIn > 1 && k.(int) >= cutIn && k.(int) < 10 {
					t.Errorf("call %v was cut and was made", k)
				}
				return true
			})
			if err := paired(r.Messages()); err != nil {
				t.Error(err)
			}
			for i, req := range srv.Requests() {
				if err := paired(requestMessages(t, req.Body, 0)); err != nil {
					t.Errorf("request %d: %v", i, err)
				}
			}
		})
	}
}

func TestInterruptsAtRandomMomentsLeaveEveryCallAnswered(t *testing.T) {
	var n atomic.Int32
	srv := modelServer(t, func(_ context.Context, r fakeapi.Request) fakeapi.Reply {
		var blocks []tool.Block
		blocks = append(blocks, tool.TextBlock("some words"))
		for range 4 {
			blocks = append(blocks, use(int(n.Add(1)), "", rand.IntN(3000)))
		}
		reply := fakeapi.Blocks(blocks...)
		reply.BlockDelay = 200 * time.Microsecond
		return reply
	})
	var counts sync.Map
	r := newRuntime(t, srv.URL, func(o *Options) { o.Tools = []tool.Tool{stepTool(&counts)} })
	for i := range 40 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(12_000))*time.Microsecond)
		out, err := r.Run(ctx, fmt.Sprintf("go %d", i))
		cancel()
		if err != nil || out.Reason != agent.Interrupted && out.Reason != agent.ToolsHalted {
			t.Fatalf("run %d: %+v, %v", i, out, err)
		}
		if err := paired(r.Messages()); err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
	}
	for i, req := range srv.Requests() {
		if err := paired(requestMessages(t, req.Body, 0)); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
}

func TestSessionsGoOnAfterTheirEnd(t *testing.T) {
	srv := modelServer(t, fakeapi.Script(fakeapi.Blocks(use(1, "", 0)), fakeapi.Text("first"), fakeapi.Text("second")))
	home, dir := t.TempDir(), t.TempDir()
	var counts sync.Map
	open := func(change func(*Options)) *Runtime {
		o := Options{Dir: dir, Home: home, ManagedDirs: []string{}, Environ: []string{"HOME=" + home, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + srv.URL},
			Tools: []tool.Tool{stepTool(&counts)}}
		change(&o)
		r, err := New(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a := open(func(*Options) {})
	if _, err := a.Run(context.Background(), "one"); err != nil {
		t.Fatal(err)
	}
	id := a.SessionID()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b := open(func(o *Options) { o.Continue = true })
	defer b.Close()
	if b.SessionID() != id || len(b.Messages()) != 4 {
		t.Fatalf("went on with %s and %d messages", b.SessionID(), len(b.Messages()))
	}
	if out, err := b.Run(context.Background(), "two"); err != nil || out.Text != "second" {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	last := srv.Requests()[2]
	if got := requestMessages(t, last.Body, 0); len(got) != 5 || got[4].Text() != "two" {
		t.Errorf("the request has %d messages", len(got))
	}
	list, err := b.Sessions()
	if err != nil || len(list) != 1 || list[0].Title != "one" {
		t.Errorf("sessions %+v, %v", list, err)
	}
	if _, err := New(context.Background(), Options{Dir: t.TempDir(), Home: home, ManagedDirs: []string{}, Continue: true}); err == nil {
		t.Error("a project without sessions can be continued")
	}
}

func TestLimitsAndFailuresEndARun(t *testing.T) {
	var counts sync.Map
	tools := func(o *Options) { o.Tools = []tool.Tool{stepTool(&counts)} }
	var n atomic.Int32
	endless := modelServer(t, func(context.Context, fakeapi.Request) fakeapi.Reply {
		return fakeapi.Blocks(use(1000+int(n.Add(1)), "", 0))
	})
	r := newRuntime(t, endless.URL, func(o *Options) { tools(o); o.MaxTurns = 3 })
	if out, err := r.Run(context.Background(), "go"); err != nil || out.Reason != agent.MaxTurns || out.Turns != 3 {
		t.Errorf("endless: %+v, %v", out, err)
	}
	if err := paired(r.Messages()); err != nil {
		t.Error(err)
	}
	refused := modelServer(t, fakeapi.Script(fakeapi.Reply{Status: 401, ErrorType: "authentication_error", ErrorMessage: "invalid x-api-key"}))
	r = newRuntime(t, refused.URL, tools)
	if out, err := r.Run(context.Background(), "go"); err == nil || out.Reason != agent.Failed || strings.Contains(err.Error(), "key-for-tests") {
		t.Errorf("refused: %+v, %v", out, err)
	}
	long := fakeapi.Blocks(tool.TextBlock("and so"), use(9, "", 0))
	long.Message.StopReason = "max_tokens"
	long.Message.Content[1].Input = json.RawMessage(`{"n":9,"do":"pan`)
	cut := modelServer(t, fakeapi.Script(long, fakeapi.Text("done")))
	r = newRuntime(t, cut.URL, tools)
	if out, err := r.Run(context.Background(), "go"); err != nil || out.Text != "done" {
		t.Errorf("cut by max_tokens: %+v, %v", out, err)
	}
	if _, made := counts.Load(9); made {
		t.Error("half a call was made")
	}
	if m := r.Messages(); len(m) < 3 || !strings.Contains(m[2].Text(), "output tokens") {
		t.Errorf("the model was not told: %+v", m)
	}
}
