package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sevengate/sevengate/internal/mcp/config"
	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

func TestToolsOfAServer(t *testing.T) {
	t.Parallel()
	m := start(t, nil, stdio(t, "good", "good"))
	up(t, m)
	if s, why := state(m, "good"); s != Connected {
		t.Fatal(s, why)
	}
	st := m.Status()[0]
	if st.ServerName != "test" || st.ServerVersion != "1.2" || st.Instructions != "Use echo." || !slices.Contains(st.Tools, "mcp__good__echo") {
		t.Errorf("status: %+v", st)
	}
	echo := find(t, m, "mcp__good__echo")
	f := echo.Facts()
	if *f.Origin != (tool.Origin{Server: "good", Tool: "echo"}) || !f.AlwaysLoad || f.Defer || f.MaxResultChars != 1000 || f.Title != "Echo" {
		t.Errorf("facts: %+v", f)
	}
	if w := find(t, m, "mcp__good__wait").Facts(); !w.Defer || w.MaxResultChars != tool.MaxResultCharsCeiling {
		t.Errorf("facts of wait: %+v", w)
	}
	c := bind(t, m, "mcp__good__echo", `{"text":"a"}`)
	if c.ReadOnly() || !c.ConcurrencySafe() || !c.Destructive() || !c.OpenWorld() || !c.Effects().Known() {
		t.Error("a hint of a server that is not trusted must count for scheduling and nothing else")
	}
	if _, err := schema.For(echo).Check(json.RawMessage(`{"text":["no"]}`)); err == nil {
		t.Error("the schema in an older draft is not enforced")
	}
	api, ok := m.APISchema("mcp__good__echo")
	if !ok || !strings.Contains(string(api), `"#/$defs/T"`) || strings.Contains(string(api), "draft-07") {
		t.Errorf("API form: %s", api)
	}
	_, blocks, err := run(t, m, "mcp__good__echo", `{"text":"<&>"}`)
	if err != nil || blocks[0].Text != `{"text":"<&>"}` {
		t.Errorf("%v %v", blocks, err)
	}
}

func TestTrustedHints(t *testing.T) {
	t.Parallel()
	s := stdio(t, "good", "good")
	s.TrustHints = true
	m := start(t, nil, s)
	up(t, m)
	if c := bind(t, m, "mcp__good__echo", `{"text":"a"}`); !c.ReadOnly() || c.Destructive() {
		t.Error("hints of a trusted server count")
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	m := start(t, nil, stdio(t, "good", "good"))
	up(t, m)
	_, blocks, err := run(t, m, "mcp__good__media", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) != 7 || blocks[0].Text != "first" || blocks[1].Type != tool.BlockImage {
		t.Fatalf("%+v", blocks)
	}
	for i, want := range map[int]string{2: ".svg", 3: ".png", 4: ".wav"} {
		_, path, ok := strings.Cut(blocks[i].Text, "saved in ")
		path, _, _ = strings.Cut(strings.TrimSuffix(path, "]"), "; ")
		if !ok || !strings.HasSuffix(path, want) {
			t.Errorf("block %d: %q", i, blocks[i].Text)
		} else if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(blocks[5].Text, "test://a") || !strings.Contains(blocks[6].Text, "inside") {
		t.Errorf("%q %q", blocks[5].Text, blocks[6].Text)
	}
	o, blocks, err := run(t, m, "mcp__good__fails", `{}`)
	if err != nil || !o.IsError || len(blocks) != 1 || !strings.HasPrefix(blocks[0].Text, "one\n") || !strings.HasSuffix(blocks[0].Text, "\ntwo") {
		t.Errorf("all texts of an error: %v %+v %v", o.IsError, blocks, err)
	}
	o, blocks, err = run(t, m, "mcp__good__structured", `{}`)
	if err != nil || string(o.Structured) != `{"n":1}` || blocks[0].Text != `{"n":1}` {
		t.Errorf("%s %+v %v", o.Structured, blocks, err)
	}
}

func TestHookMayReplaceOutput(t *testing.T) {
	t.Parallel()
	m := start(t, nil, stdio(t, "good", "good"))
	up(t, m)
	c := bind(t, m, "mcp__good__echo", `{"text":"a"}`)
	for _, raw := range []string{`"new"`, `[{"type":"text","text":"new"}]`, `{"content":[{"type":"text","text":"new"}]}`} {
		o, err := c.WithOutput(tool.Outcome{}, json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := c.Map(o); err != nil || b[0].Text != "new" {
			t.Errorf("%s: %v %v", raw, b, err)
		}
	}
	if _, err := c.WithOutput(tool.Outcome{}, json.RawMessage(`{"x":1}`)); err == nil {
		t.Error("an output of no known shape was taken")
	}
}

// H8: the server dies during calls; all of them fail at once, and the server
// comes back.
func TestCrashDuringCalls(t *testing.T) {
	t.Parallel()
	m := start(t, nil, stdio(t, "good", "good"))
	up(t, m)
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		wg.Go(func() { _, _, errs[i] = run(t, m, "mcp__good__wait", `{}`) })
	}
	eventually(t, "three waiting calls", func() bool { log, _, _ := m.Logs("good"); return strings.Count(log, "waiting") == 3 })
	_, _, err := run(t, m, "mcp__good__crash", `{}`)
	wg.Wait()
	for _, err := range append(errs, err) {
		var ce *CallError
		if !errors.As(err, &ce) || !ce.MayHaveRun {
			t.Errorf("got %v", err)
		}
	}
	eventually(t, "a new connection", func() bool { s, _ := state(m, "good"); return s == Connected })
	if _, blocks, err := run(t, m, "mcp__good__echo", `{"text":"again"}`); err != nil || !strings.Contains(blocks[0].Text, "again") {
		t.Error(blocks, err)
	}
	log, _, _ := m.Logs("good")
	if strings.Count(log, "about to crash") != 1 {
		t.Error("a call that may have had effects was repeated")
	}
}

// H11: the end of one call is told to the server and leaves the other alone.
func TestCancelOne(t *testing.T) {
	t.Parallel()
	m := start(t, nil, stdio(t, "good", "good"))
	up(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := bind(t, m, "mcp__good__wait", `{}`).Run(ctx, &tool.Env{})
		done <- err
	}()
	other := make(chan error)
	go func() {
		_, _, err := run(t, m, "mcp__good__progress", `{}`)
		other <- err
	}()
	eventually(t, "a waiting call", func() bool { log, _, _ := m.Logs("good"); return strings.Contains(log, "waiting") })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-other; err != nil {
		t.Error(err)
	}
	eventually(t, "the notification", func() bool { log, _, _ := m.Logs("good"); return strings.Contains(log, "cancelled") })
	if s, _ := state(m, "good"); s != Connected {
		t.Error(s)
	}
}

func TestIdleAndProgress(t *testing.T) {
	t.Parallel()
	m := start(t, func(c *Config) { c.Environ = append(c.Environ, "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT=1500") }, stdio(t, "good", "good"))
	up(t, m)
	var mu sync.Mutex
	var news []string
	c := bind(t, m, "mcp__good__progress", `{}`)
	silent := make(chan error)
	go func() { _, _, err := run(t, m, "mcp__good__wait", `{}`); silent <- err }()
	_, err := c.Run(t.Context(), &tool.Env{OnProgress: func(p tool.Progress) {
		mu.Lock()
		news = append(news, p.Text)
		mu.Unlock()
	}})
	if err != nil {
		t.Errorf("progress must keep a call alive: %v", err)
	}
	mu.Lock()
	if len(news) == 0 || news[0] != "step (1 of 6)" {
		t.Error(news)
	}
	mu.Unlock()
	var ce *CallError
	if err := <-silent; !errors.As(err, &ce) || !strings.Contains(err.Error(), "1.5s") {
		t.Errorf("the other call's progress disarmed the timer: %v", err)
	}
	if s, _ := state(m, "good"); s != Connected {
		t.Error(s)
	}
}

// H19: one effective value.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  string
		own  time.Duration
		want time.Duration
	}{{"", 0, DefaultCallTimeout}, {"MCP_TOOL_TIMEOUT=500", 0, 500 * time.Millisecond}, {"MCP_TOOL_TIMEOUT=500", 600 * time.Second, 600 * time.Second}} {
		s := config.Server{Name: "x", Timeout: c.own, Type: config.HTTP}
		got := newVariables([]string{c.env}).timeouts(&s)
		if got.Call != c.want || c.own > 0 && got.Idle < c.own {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	m := start(t, func(c *Config) { c.Environ = append(c.Environ, "MCP_TOOL_TIMEOUT=300") }, stdio(t, "good", "good"))
	up(t, m)
	if st := m.Status()[0].Timeouts.Call; st != 300*time.Millisecond {
		t.Error(st)
	}
	if _, _, err := run(t, m, "mcp__good__wait", `{}`); err == nil || !strings.Contains(err.Error(), "300ms") {
		t.Error(err)
	}
}

// H7: what a server writes is not kept for ever.
func TestFloodedLog(t *testing.T) {
	t.Parallel()
	m := start(t, nil, stdio(t, "good", "good"))
	up(t, m)
	if _, _, err := run(t, m, "mcp__good__flood", `{}`); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the flood", func() bool { log, _, _ := m.Logs("good"); return strings.Contains(log, "end of flood") })
	log, dropped, _ := m.Logs("good")
	if len(log) > maxLogBytes || dropped < 4000 {
		t.Error(len(log), dropped)
	}
}

// H14: a changed list arrives, and its watcher is told.
func TestListChanges(t *testing.T) {
	t.Parallel()
	told := make(chan struct{}, 100)
	m := start(t, func(c *Config) { c.OnChange = func() { told <- struct{}{} } }, stdio(t, "good", "good"))
	up(t, m)
	if _, _, err := run(t, m, "mcp__good__grow", `{}`); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new tool", func() bool {
		return slices.Contains(m.Status()[0].Tools, "mcp__good__grown")
	})
	select {
	case <-told:
	case <-time.After(hang):
		t.Fatal("nobody was told")
	}
}

func TestThousandTools(t *testing.T) {
	t.Parallel()
	m := start(t, nil, stdio(t, "many", "many"))
	up(t, m)
	if n := len(m.Tools()); n < 1000 {
		t.Errorf("%d tools; problems %v", n, m.Problems())
	}
}

// H10: pages that go round in circles.
func TestPages(t *testing.T) {
	t.Parallel()
	m := start(t, nil, stdio(t, "p", "raw:pages"))
	up(t, m)
	var names []string
	for _, tl := range m.Tools() {
		names = append(names, tl.Facts().Origin.Tool)
	}
	if fmt.Sprint(names) != "[a b c]" {
		t.Error(names)
	}
	if p := m.Problems(); len(p) == 0 || !strings.Contains(p[len(p)-1].Text+p[0].Text, "circles") {
		t.Error(p)
	}
}

// H1, H2, H4, H5: schemas and names of every kind.
func TestForeignSchemas(t *testing.T) {
	t.Parallel()
	m := start(t, nil, stdio(t, "s", "raw:schemas"))
	up(t, m)
	seen := map[string]string{}
	for _, tl := range m.Tools() {
		f := tl.Facts()
		if len(f.Name) > 64 {
			t.Errorf("%s is too long", f.Name)
		}
		if other, taken := seen[f.Name]; taken {
			t.Errorf("%s and %s share a name", other, f.Origin.Tool)
		}
		seen[f.Name] = f.Origin.Tool
		api, ok := m.APISchema(f.Name)
		var root map[string]any
		if !ok || json.Unmarshal(api, &root) != nil || root["type"] != "object" || root["oneOf"] != nil || root["$ref"] != nil {
			t.Errorf("%s: %s", f.Name, api)
		}
	}
	for name, raw := range map[string]string{"mcp__s__choice": "choice", "mcp__s__rootref": "rootref", "mcp__s__truth": "truth", "mcp__s__none": "none",
		"mcp__s__far": "far", "mcp__s__my_dot": "my_dot"} {
		if seen[name] != raw {
			t.Errorf("%s is %q", name, seen[name])
		}
	}
	left := map[string]bool{}
	for _, p := range m.Problems() {
		left[p.Tool] = true
	}
	if !left["text"] {
		t.Error("a tool whose input is a text must be left out, and said so:", m.Problems())
	}
	if _, err := schema.For(find(t, m, "mcp__s__choice")).Check(json.RawMessage(`{"a":"x","b":1}`)); err == nil {
		t.Error("the original schema must be enforced: both branches fit")
	}
	if !strings.Contains(find(t, m, "mcp__s__choice").Prompt(tool.PromptContext{}), "exactly one of these forms: {a} or {b}") {
		t.Error(find(t, m, "mcp__s__choice").Prompt(tool.PromptContext{}))
	}
}

func TestMisbehaviour(t *testing.T) {
	t.Parallel()
	short := stdio(t, "short", "raw:bad")
	short.Timeout = 3 * time.Second
	m := start(t, nil, stdio(t, "r", "raw:bad"), short)
	up(t, m)
	ok := func() {
		t.Helper()
		if _, blocks, err := run(t, m, "mcp__r__ok", `{}`); err != nil || blocks[0].Text != "ok" {
			t.Fatal(blocks, err)
		}
	}
	if _, blocks, err := run(t, m, "mcp__r__twice", `{}`); err != nil || blocks[0].Text != "first" {
		t.Error(blocks, err)
	}
	ok()
	if _, _, err := run(t, m, "mcp__r__huge", `{}`); err == nil || !strings.Contains(err.Error(), "bytes and was dropped") {
		t.Error(err)
	}
	ok()
	if _, _, err := run(t, m, "mcp__short__never", `{}`); err == nil || !strings.Contains(err.Error(), "within 3s") {
		t.Error(err)
	}
	ok()
	if st, _ := state(m, "r"); st != Connected {
		t.Error(st)
	}
	log, _, _ := m.Logs("r")
	if !strings.Contains(log, "Welcome to the server!") {
		t.Error("what is no message belongs in the log:", log)
	}
	if _, _, err := run(t, m, "mcp__r__leave", `{}`); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Error("a server that closes its output:", err)
	}
	eventually(t, "a new connection", func() bool { s, _ := state(m, "r"); return s == Connected })
	ok()
}

func TestServersThatDoNotCome(t *testing.T) {
	t.Parallel()
	gone := config.Server{Name: "gone", Scope: config.ScopeUser, Type: config.Stdio, Command: "/no/such/program", Dir: t.TempDir()}
	repo := stdio(t, "repo", "good")
	repo.Scope = config.ScopeProject
	m := start(t, func(c *Config) { c.Environ = append(c.Environ, "MCP_TIMEOUT=1500") },
		gone, stdio(t, "dies", "raw:dies"), stdio(t, "deaf", "raw:deaf"), repo)
	began := time.Now()
	if _, _, err := m.CallTool(t.Context(), "repo", "echo", nil); err == nil || !strings.Contains(err.Error(), "approval") || time.Since(began) > time.Second {
		t.Error("a server that will not come must fail at once:", err)
	}
	up(t, m)
	for name, want := range map[string]string{"gone": "cannot be started", "dies": "exit status 3", "deaf": "MCP_TIMEOUT"} {
		if s, why := state(m, name); s != Failed || !strings.Contains(why, want) {
			t.Errorf("%s: %s %q", name, s, why)
		}
	}
	if s, _ := state(m, "repo"); s != PendingApproval {
		t.Error(s)
	}
	if log, _, _ := m.Logs("dies"); !strings.Contains(log, "bad configuration") {
		t.Error(log)
	}
}

func TestApprovalStartsAndRejectionEnds(t *testing.T) {
	t.Parallel()
	repo := stdio(t, "repo", "good")
	repo.Scope = config.ScopeProject
	var mu sync.Mutex
	verdict := config.PendingApproval
	m := start(t, func(c *Config) {
		c.Judge = func(*config.Server) (config.Verdict, string) {
			mu.Lock()
			defer mu.Unlock()
			return verdict, "because"
		}
	}, repo)
	say := func(v config.Verdict) {
		mu.Lock()
		verdict = v
		mu.Unlock()
		m.Rejudge()
	}
	say(config.Start)
	eventually(t, "the connection", func() bool { s, _ := state(m, "repo"); return s == Connected })
	say(config.Rejected)
	eventually(t, "the end", func() bool { return len(m.Tools()) == 0 })
	say(config.Start)
	eventually(t, "the connection", func() bool { s, _ := state(m, "repo"); return s == Connected })
}

type answers struct{}

func (answers) Elicit(_ context.Context, q Elicitation) (Reply, error) {
	time.Sleep(2 * time.Second) // longer than the idle time: a person thinks
	return Reply{"accept", map[string]any{"name": q.Server + " " + q.Message}}, nil
}

func (answers) Sample(_ context.Context, q Sampling) (tool.Message, error) {
	return tool.Message{Role: tool.RoleAssistant, Content: []tool.Block{tool.TextBlock("model says " + q.Messages[0].Text())}}, nil
}

// H20: a server asks back while its call runs.
func TestQuestionsOfServers(t *testing.T) {
	t.Parallel()
	m := start(t, func(c *Config) {
		c.Elicitor, c.Sampler = answers{}, answers{}
		c.Environ = append(c.Environ, "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT=1500")
		c.Roots = func() []string { return []string{"/one", "/two words"} }
	}, stdio(t, "good", "good"))
	up(t, m)
	for name, want := range map[string]string{"ask": "accept good name?", "sample": "model says hi", "roots": "file:///one\nfile:///two%20words\n"} {
		if _, blocks, err := run(t, m, "mcp__good__"+name, `{}`); err != nil || blocks[0].Text != want {
			t.Errorf("%s: %v %v", name, blocks, err)
		}
	}
}

func TestEnvironmentOfServers(t *testing.T) {
	t.Parallel()
	m := start(t, func(c *Config) {
		c.Environ = append(c.Environ, "OTEL_X=1", "CLAUDE_CODE_MCP_ALLOWLIST_ENV=1", "MY_TOKEN=s3cret")
		c.SessionID = "sid"
	}, stdio(t, "good", "good"))
	up(t, m)
	_, blocks, err := run(t, m, "mcp__good__env", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	env := blocks[0].Text
	if strings.Contains(env, "s3cret") || strings.Contains(env, "OTEL_X") || !strings.Contains(env, "CLAUDE_CODE_SESSION_ID=sid") || !strings.Contains(env, "PATH=") {
		t.Error(env)
	}
}

func TestStartDelaysNothing(t *testing.T) {
	t.Parallel()
	began := time.Now()
	m := start(t, nil, stdio(t, "deaf", "raw:deaf"))
	if d := time.Since(began); d > 2*time.Second {
		t.Error(d)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if p := m.Wait(ctx); len(p) != 1 {
		t.Error(p)
	}
}

func TestBriefing(t *testing.T) {
	t.Parallel()
	yes := true
	slow := stdio(t, "slow", "raw:deaf")
	slow.AlwaysLoad = &yes
	good := stdio(t, "good", "good")
	good.AlwaysLoad = &yes
	m := start(t, func(c *Config) {
		c.Environ = append(c.Environ, "MCP_CONNECT_TIMEOUT_MS=4000", "CLAUDE_CODE_MCP_STARTUP_WAIT_MS=100")
	}, good, slow, stdio(t, "dies", "raw:dies"))
	if p := m.WaitAtStart(t.Context(), true); fmt.Sprint(p) != "[slow]" {
		t.Error(p)
	}
	text := m.Briefing()
	for _, want := range []string{"MCP server good says", "Use echo.", "- slow is still being connected to", "- dies is not available: its process ended"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if f := find(t, m, "mcp__good__wait").Facts(); f.Defer || !f.AlwaysLoad {
		t.Error("the tools of such a server are not deferred")
	}
}
