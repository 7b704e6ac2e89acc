package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// hang is how long a test waits for something that should take moments.
const hang = 15 * time.Second

func TestCommandGetsInputAndEnvironment(t *testing.T) {
	needSh(t)
	dir, project := t.TempDir(), t.TempDir()
	r := runnerOf(t, Config{
		Cwd: dir, ProjectDir: project, SessionID: "s1", TranscriptPath: "/t.jsonl", AgentType: "main",
		Env:    append(os.Environ(), "OTEL_TOKEN=x", "KEEP=y", "CLAUDE_ENV_FILE=outer"),
		Common: func() map[string]any { return map[string]any{"prompt_id": "p1", "session_id": "forged"} },
		Groups: static([]Group{{Event: PreToolUse, Matcher: "Bash", Vars: map[string]string{"CLAUDE_PLUGIN_ROOT": "/plug", "user_config.k": "v"},
			Handlers: []Handler{sh(`cat > in.json; env > env.txt; pwd > pwd.txt; (: > /dev/tty) 2>/dev/null && echo tty > tty.txt; true`)}}}),
	})
	ev := Event{Call: call(t, "Bash", "a < b && c > d"), ToolUseID: "toolu_1", PermissionMode: "manual", AgentID: "a7"}
	res := r.PreToolUse(t.Context(), ev)
	if res.Behavior != "" || len(res.Runs) != 1 || res.Runs[0].Outcome != OutcomeSuccess {
		t.Fatalf("%+v", res)
	}
	raw := read(t, filepath.Join(dir, "in.json"))
	var in map[string]any
	if err := json.Unmarshal([]byte(raw), &in); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"session_id": "s1", "transcript_path": "/t.jsonl", "cwd": dir, "permission_mode": "default", "prompt_id": "p1",
		"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "toolu_1", "agent_id": "a7", "agent_type": "main"}
	for k, v := range want {
		if in[k] != v {
			t.Errorf("%s = %v, want %v", k, in[k], v)
		}
	}
	if !strings.Contains(raw, `"command":"a < b && c > d"`) {
		t.Errorf("the command was escaped: %s", raw)
	}
	env := strings.Split(read(t, filepath.Join(dir, "env.txt")), "\n")
	for _, kv := range []string{"SEVENGATE=1", "CLAUDECODE=1", "KEEP=y", "CLAUDE_PROJECT_DIR=" + project, "SEVENGATE_PROJECT_DIR=" + project,
		"CLAUDE_PLUGIN_ROOT=/plug", "CLAUDE_CODE_SESSION_ID=s1"} {
		if !slices.Contains(env, kv) {
			t.Errorf("the environment lacks %s", kv)
		}
	}
	for _, kv := range env {
		if strings.HasPrefix(kv, "OTEL_") || strings.HasPrefix(kv, "CLAUDE_ENV_FILE") {
			t.Errorf("the environment has %s", kv)
		}
	}
	if exists(filepath.Join(dir, "tty.txt")) {
		t.Error("the hook has a terminal")
	}
	if got := r.PreToolUse(t.Context(), Event{Call: call(t, "Read", "x")}); len(got.Runs) != 0 {
		t.Errorf("the matcher was ignored: %+v", got)
	}
}

func TestMissingFolderDoesNotSilenceAGuard(t *testing.T) {
	needSh(t)
	r := runner(t, PreToolUse, sh("exit 2"))
	ev := bashEvent(t)
	ev.Cwd = filepath.Join(t.TempDir(), "gone")
	if res := r.PreToolUse(t.Context(), ev); res.Behavior != tool.Deny {
		t.Fatalf("%+v", res)
	}
}

func TestExecForm(t *testing.T) {
	needSh(t)
	dir := t.TempDir()
	project := filepath.Join(dir, "a b; touch pwned")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	r := runnerOf(t, Config{Cwd: dir, ProjectDir: project, Groups: static([]Group{{Event: Stop, Vars: map[string]string{"user_config.k": "x; touch pwned"}, Handlers: []Handler{
		{Type: TypeCommand, Command: "sh", Args: []string{"-c", `printf '%s\n' "$@" > out.txt`, "x", "${CLAUDE_PROJECT_DIR}", "${SEVENGATE_PROJECT_DIR}/y", "${user_config.k}", "${OTHER} $HOME"}},
		sh(`cd "${CLAUDE_PROJECT_DIR}" && pwd > shell.txt`),
		{Type: TypeCommand, Command: "no-such-program", Args: []string{}},
		{Type: TypeCommand, Command: "/no/such/program", Args: []string{}},
		{Type: TypeCommand, Command: "no-such-program-either"},
	}}})})
	res := r.Fire(t.Context(), Stop, "", nil)
	want := project + "\n" + project + "/y\nx; touch pwned\n${OTHER} $HOME\n"
	if got := read(t, filepath.Join(dir, "out.txt")); got != want {
		t.Errorf("arguments %q, want %q", got, want)
	}
	if got := read(t, filepath.Join(project, "shell.txt")); strings.TrimSpace(got) != project {
		t.Errorf("shell form ran in %q", got)
	}
	if exists(filepath.Join(dir, "pwned")) {
		t.Error("a value was run as a command")
	}
	for _, run := range res.Runs[2:] {
		if run.Outcome != OutcomeError || run.Message == "" {
			t.Errorf("%+v", run)
		}
	}
	if res.Block || len(res.Problems()) != 3 {
		t.Errorf("block %v, problems %q", res.Block, res.Problems())
	}
}

func TestTimeoutKillsTheWholeGroup(t *testing.T) {
	needSh(t)
	dir := t.TempDir()
	for name, h := range map[string]Handler{
		"open":   {Type: TypeCommand, Command: "(sleep 2; " + touch(dir, "survivor") + ") & sleep 60; echo never", Timeout: 200 * time.Millisecond},
		"closed": {Type: TypeCommand, Command: "sleep 60", Timeout: 200 * time.Millisecond, OnFailure: OnFailureBlock},
	} {
		r := runner(t, PreToolUse, h)
		start := time.Now()
		res := r.PreToolUse(t.Context(), bashEvent(t))
		if time.Since(start) > hang {
			t.Fatal("the hook was not ended")
		}
		if res.Runs[0].Outcome != OutcomeTimeout || (res.Behavior == tool.Deny) != (name == "closed") {
			t.Errorf("%s: %q %+v", name, res.Behavior, res.Runs[0])
		}
		if strings.Contains(res.Reason+res.Runs[0].Message, "rejected") || !strings.Contains(res.Runs[0].Message, "200ms") {
			t.Errorf("message %q", res.Runs[0].Message)
		}
	}
	time.Sleep(2500 * time.Millisecond)
	if exists(filepath.Join(dir, "survivor")) {
		t.Error("a child outlived the timeout")
	}
}

func TestBackgroundChildDoesNotHold(t *testing.T) {
	needSh(t)
	dir := t.TempDir()
	r := runnerOf(t, Config{Cwd: dir, Groups: static([]Group{{Event: PreToolUse, Handlers: []Handler{
		sh(`sleep 30 & echo $! > pid; echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"r"}}'`)}}})})
	start := time.Now()
	res := r.PreToolUse(t.Context(), bashEvent(t))
	if d := time.Since(start); d > hang {
		t.Fatalf("waited %v for the child", d)
	}
	if res.Behavior != tool.Deny || res.Reason != "r" {
		t.Errorf("%+v", res)
	}
	pid := 0
	fmt.Sscan(read(t, filepath.Join(dir, "pid")), &pid)
	p, err := os.FindProcess(pid)
	if err != nil || p.Kill() != nil {
		t.Error("the child was ended with the hook")
	}
}

func TestInputThatNobodyReads(t *testing.T) {
	needSh(t)
	big := strings.Repeat("x", 1<<20)
	ev := Event{Call: call(t, "Bash", big)}
	r := runner(t, PreToolUse, sh("exit 0"), sh("exec <&-; echo '{\"decision\":\"block\"}'"), sh("cat >/dev/null; exit 2"))
	res := r.PreToolUse(t.Context(), ev)
	for i, want := range []Outcome{OutcomeSuccess, OutcomeBlocked, OutcomeBlocked} {
		if res.Runs[i].Outcome != want {
			t.Errorf("%d: %+v", i, res.Runs[i])
		}
	}
}

func TestCrashesAreReported(t *testing.T) {
	needSh(t)
	r := runner(t, PreToolUse, sh("kill -SEGV $$"), sh("echo broken >&2; exit 1"), sh("head -c 5000000 /dev/zero"),
		Handler{Type: TypeCallback, Func: func(context.Context, json.RawMessage, string) (json.RawMessage, error) { panic("x") }},
		Handler{Type: TypeCallback, Func: func(context.Context, json.RawMessage, string) (json.RawMessage, error) { return nil, errors.New("no") }},
		Handler{Type: TypeCallback, Func: echo("text")}, Handler{Type: TypeCallback}, Handler{Type: TypeMCPTool, Server: "s", Tool: "t"},
		Handler{Type: TypePrompt, Prompt: "p"}, Handler{Type: "odd"})
	res := r.PreToolUse(t.Context(), bashEvent(t))
	if res.Behavior != "" || len(res.Problems()) != len(res.Runs) {
		t.Errorf("%q, %d problems of %d", res.Behavior, len(res.Problems()), len(res.Runs))
	}
	for _, run := range res.Runs {
		if run.Outcome != OutcomeError || run.Message == "" {
			t.Errorf("%+v", run)
		}
	}
	if !strings.Contains(res.Runs[1].Message, "broken") {
		t.Errorf("%q", res.Runs[1].Message)
	}
	all := runnerOf(t, Config{FailClosed: true, Groups: static([]Group{{Event: PreToolUse, Handlers: []Handler{sh("exit 1")}}})})
	if res := all.PreToolUse(t.Context(), bashEvent(t)); res.Behavior != tool.Deny {
		t.Errorf("FailClosed: %+v", res)
	}
}

func TestCancelledGuardDoesNotAllow(t *testing.T) {
	needSh(t)
	dir := t.TempDir()
	r := runnerOf(t, Config{Cwd: dir, Groups: static([]Group{{Event: PreToolUse, Handlers: []Handler{sh("echo > started; sleep 60")}}})})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for !exists(filepath.Join(dir, "started")) && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	res := r.PreToolUse(ctx, bashEvent(t))
	if res.Runs[0].Outcome != OutcomeCancelled || res.Behavior != tool.Deny {
		t.Errorf("%+v", res)
	}
}

func TestMerge(t *testing.T) {
	specific := func(s string) Handler {
		return Handler{Type: TypeCallback, Func: echo(`{"hookSpecificOutput":{"hookEventName":"PreToolUse",` + s + `}}`)}
	}
	dec := func(b string) Handler {
		return specific(`"permissionDecision":"` + b + `","permissionDecisionReason":"` + b + ` reason","additionalContext":"from ` + b + `"`)
	}
	for _, c := range []struct {
		give []Handler
		want tool.Behavior
	}{
		{[]Handler{dec("allow"), dec("ask"), dec("defer"), dec("deny")}, tool.Deny},
		{[]Handler{dec("allow"), dec("ask"), dec("defer")}, Defer},
		{[]Handler{dec("allow"), dec("ask")}, tool.Ask},
		{[]Handler{dec("allow"), specific(`"additionalContext":"from allow"`)}, tool.Allow},
		{[]Handler{specific(`"updatedInput":{"a":1}`)}, ""},
	} {
		r := runner(t, PreToolUse, c.give...)
		res := r.PreToolUse(t.Context(), bashEvent(t))
		if res.Behavior != c.want || c.want != "" && res.Reason != string(c.want)+" reason" || len(res.Runs) != len(c.give) {
			t.Errorf("%q %q, want %q", res.Behavior, res.Reason, c.want)
		}
		if c.want != "" && (len(res.Context) != len(c.give) || res.Context[0] != "from allow") {
			t.Errorf("context %q", res.Context)
		}
	}
	slow := Handler{Type: TypeCallback, Func: func(context.Context, json.RawMessage, string) (json.RawMessage, error) {
		time.Sleep(30 * time.Millisecond)
		return json.RawMessage(`{"hookSpecificOutput":{"updatedInput":{"command":"first"}}}`), nil
	}}
	last := specific(`"updatedInput":{"command":"last"}`)
	res := runner(t, PreToolUse, slow, last).PreToolUse(t.Context(), bashEvent(t))
	if string(res.UpdatedInput) != `{"command":"last"}` {
		t.Errorf("updated input %s", res.UpdatedInput)
	}
	res = runner(t, PreToolUse, last, dec("deny")).PreToolUse(t.Context(), bashEvent(t))
	if res.UpdatedInput != nil {
		t.Errorf("a denied call got new input %s", res.UpdatedInput)
	}
}

func TestPostToolUse(t *testing.T) {
	var got map[string]any
	see := Handler{Type: TypeCallback, Func: func(_ context.Context, in json.RawMessage, id string) (json.RawMessage, error) {
		if id != "toolu_1" {
			t.Errorf("id %q", id)
		}
		return json.RawMessage(`{"decision":"block","reason":"look","hookSpecificOutput":{"updatedMCPToolOutput":{"mcp":1},"classifierContext":"cc"}}`), json.Unmarshal(in, &got)
	}}
	change := Handler{Type: TypeCallback, Func: echo(`{"hookSpecificOutput":{"updatedToolOutput":{"n":2},"additionalContext":"c"}}`)}
	res := runner(t, PostToolUse, see, change).PostToolUse(t.Context(), bashEvent(t), json.RawMessage(`{"stdout":"x"}`), 1500*time.Millisecond)
	if !res.Block || res.Reason != "look" || string(res.UpdatedOutput) != `{"n":2}` || len(res.Context) != 1 || res.ClassifierContext != "cc" {
		t.Errorf("%+v", res)
	}
	if got["duration_ms"] != 1500.0 || fmt.Sprint(got["tool_response"]) != "map[stdout:x]" {
		t.Errorf("input %v", got)
	}
	// The deprecated field counts for MCP tools only.
	res = runner(t, PostToolUse, see).PostToolUse(t.Context(), bashEvent(t), json.RawMessage("no json"), 0)
	if res.UpdatedOutput != nil || got["tool_response"] != "no json" {
		t.Errorf("%s, input %v", res.UpdatedOutput, got)
	}
	long := strings.Repeat("é", MaxTextChars+50)
	res = runner(t, PostToolUseFailure, see).PostToolUseFailure(t.Context(), bashEvent(t), long, true, 0)
	if e, _ := got["error"].(string); !res.Block || got["is_interrupt"] != true || !strings.Contains(e, "... [50 characters truncated] ...") {
		t.Errorf("%+v, input %.100v", res, got)
	}
}

func TestPermissionRequest(t *testing.T) {
	allow := Handler{Type: TypeCallback, Func: echo(`{"hookSpecificOutput":{"decision":{"behavior":"allow","updatedInput":{"a":1},"updatedPermissions":[{"type":"setMode"}]}}}`)}
	deny := Handler{Type: TypeCallback, Func: echo(`{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"m","interrupt":true}}}`)}
	ev := bashEvent(t)
	res := runner(t, PermissionRequest, allow).FireCall(t.Context(), PermissionRequest, ev, nil)
	if res.Behavior != tool.Allow || len(res.UpdatedPermissions) != 1 || string(res.UpdatedInput) != `{"a":1}` {
		t.Errorf("%+v", res)
	}
	res = runner(t, PermissionRequest, allow, deny).FireCall(t.Context(), PermissionRequest, ev, nil)
	if res.Behavior != tool.Deny || res.Reason != "m" || !res.Interrupt || res.UpdatedPermissions != nil || res.UpdatedInput != nil {
		t.Errorf("%+v", res)
	}
}

func TestLongTextGoesToAFile(t *testing.T) {
	long := strings.Repeat("ü", MaxTextChars) + "END"
	h := Handler{Type: TypeCallback, Func: echo(`{"systemMessage":"` + long + `"}`)}
	dir := filepath.Join(t.TempDir(), "spill")
	for _, spillDir := range []string{dir, ""} {
		r := runnerOf(t, Config{SpillDir: spillDir, Groups: static([]Group{{Event: Stop, Handlers: []Handler{h}}})})
		msg := r.Fire(t.Context(), Stop, "", nil).SystemMessages[0]
		if strings.Contains(msg, "END") || len([]rune(msg)) > MaxTextChars {
			t.Errorf("not cut: %d characters", len([]rune(msg)))
		}
		if spillDir == "" {
			continue
		}
		i := strings.Index(msg, dir)
		if i < 0 {
			t.Fatalf("no path in %q", msg[len(msg)-100:])
		}
		if got := read(t, strings.TrimSuffix(msg[i:], ")")); got != long {
			t.Errorf("the file has %d bytes, want %d", len(got), len(long))
		}
	}
}

func TestDuplicatesRunOnce(t *testing.T) {
	needSh(t)
	dir := t.TempDir()
	h := sh("echo x >> n; exit 0")
	loud := h
	loud.StatusMessage = "working"
	group := func(source, file, matcher string, hs ...Handler) Group {
		return Group{Event: PreToolUse, Source: source, File: file, Matcher: matcher, Handlers: hs}
	}
	r := runnerOf(t, Config{Cwd: dir, Groups: static([]Group{
		group("userSettings", "u", "", h), group("projectSettings", "p", "Bash", loud), group("localSettings", "l", "Read", h),
		group(SourcePlugin, "q1", "", h), group(SourcePlugin, "q2", "", h), group(SourceSkill, "s", "", h),
	})})
	if res := r.PreToolUse(t.Context(), bashEvent(t)); len(res.Runs) != 4 {
		t.Errorf("%d runs: %+v", len(res.Runs), res.Runs)
	}
	if got := strings.Count(read(t, filepath.Join(dir, "n")), "x"); got != 4 {
		t.Errorf("ran %d times", got)
	}
}

func TestOnce(t *testing.T) {
	h := Handler{Type: TypeCallback, Once: true, Func: echo("{}")}
	for source, want := range map[string]int{SourceSkill: 0, "userSettings": 1} {
		gs := []Group{{Event: Stop, Source: source, File: "f", Handlers: []Handler{h}}}
		r := runnerOf(t, Config{Groups: func() []Group { return slices.Clone(gs) }}) // reloaded each time
		if n := len(r.Fire(t.Context(), Stop, "", nil).Runs); n != 1 {
			t.Errorf("%s: first %d", source, n)
		}
		if n := len(r.Fire(t.Context(), Stop, "", nil).Runs); n != want {
			t.Errorf("%s: second %d, want %d", source, n, want)
		}
	}
}

func TestPolicy(t *testing.T) {
	h := Handler{Type: TypePrompt, Prompt: "p"}
	cb := Handler{Type: TypeCallback, Func: echo("{}")}
	gs := []Group{{Event: Stop, Source: SourcePolicy, File: "m", Handlers: []Handler{h}}, {Event: Stop, Source: SourcePlugin, File: "f", Forced: true, Handlers: []Handler{h}},
		{Event: Stop, Source: SourcePlugin, File: "g", Handlers: []Handler{h}}, {Event: Stop, Source: "projectSettings", Handlers: []Handler{cb}}}
	gs[3].Handlers = []Handler{{Type: TypePrompt, Prompt: "other"}}
	for _, c := range []struct {
		p    Policy
		want int
	}{{Policy{}, 5}, {Policy{DisableAll: true}, 3}, {Policy{ManagedOnly: true}, 3}, {Policy{DisableManaged: true}, 0}} {
		r := runnerOf(t, Config{Groups: static(gs), Policy: func() Policy { return c.p }, Callbacks: []Group{{Event: Stop, Source: SourceSDK, Handlers: []Handler{cb}}}})
		if got := len(r.Fire(t.Context(), Stop, "", nil).Runs); got != c.want {
			t.Errorf("%+v: %d runs, want %d", c.p, got, c.want)
		}
	}
}

func TestAgentGroups(t *testing.T) {
	gs := []Group{{Event: Stop, AgentID: "a1", Source: SourceAgent, Handlers: []Handler{{Type: TypeCallback, Func: echo("{}")}}}}
	r := runnerOf(t, Config{Groups: static(gs)})
	for event, fields := range map[string]map[string]any{Stop: nil, SubagentStop: {"agent_id": "a2"}} {
		if res := r.Fire(t.Context(), event, "", fields); len(res.Runs) != 0 {
			t.Errorf("%s %v: %+v", event, fields, res.Runs)
		}
	}
	if res := r.Fire(t.Context(), SubagentStop, "x", map[string]any{"agent_id": "a1"}); len(res.Runs) != 1 {
		t.Errorf("%+v", res.Runs)
	}
}

func TestAsync(t *testing.T) {
	needSh(t)
	got := make(chan AsyncResult, 8)
	async := func(cmd string, wake bool) Handler {
		return Handler{Type: TypeCommand, Command: cmd, Async: true, AsyncRewake: wake}
	}
	r := runnerOf(t, Config{Async: func(a AsyncResult) { got <- a }, Groups: static([]Group{{Event: PostToolUse, Handlers: []Handler{
		async(`grep -q tool_use_id && echo '{"systemMessage":"s","decision":"block","continue":"x","hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"late"}}'`, false),
		async("echo wake up >&2; exit 2", true),
		async("exit 2", false),
		async("/no/such/script", true),
	}}})})
	ctx, cancel := context.WithCancel(t.Context())
	res := r.PostToolUse(ctx, bashEvent(t), nil, 0)
	cancel() // the end of the call must not end them
	for _, run := range res.Runs {
		if run.Outcome != OutcomeAsync {
			t.Errorf("%+v", run)
		}
	}
	if res.Block || res.Context != nil {
		t.Errorf("%+v", res)
	}
	var seen []string
	for range 4 {
		select {
		case a := <-got:
			seen = append(seen, fmt.Sprintf("%s %v %q %q", a.Run.Outcome, a.Wake, a.Context, a.SystemMessage))
		case <-time.After(hang):
			t.Fatal("an answer is missing")
		}
	}
	slices.Sort(seen)
	want := []string{`blocked true "wake up" ""`, `error false "" ""`, `error false "" ""`, `success false "late" "s"`}
	if !slices.Equal(seen, want) {
		t.Errorf("%q", seen)
	}
}

func TestCloseEndsAsync(t *testing.T) {
	needSh(t)
	var mu sync.Mutex
	var outcomes []Outcome
	r := New(Config{Cwd: t.TempDir(), Async: func(a AsyncResult) { mu.Lock(); outcomes = append(outcomes, a.Run.Outcome); mu.Unlock() },
		Groups: static([]Group{{Event: Stop, Handlers: []Handler{{Type: TypeCommand, Command: "sleep 60", Async: true}}}})})
	r.Fire(t.Context(), Stop, "", nil)
	start := time.Now()
	r.Close()
	if time.Since(start) > hang || !slices.Equal(outcomes, []Outcome{OutcomeCancelled}) {
		t.Errorf("after %v: %v", time.Since(start), outcomes)
	}
	if res := r.Fire(t.Context(), Stop, "", nil); res.Runs[0].Outcome != OutcomeError {
		t.Errorf("a closed runner started %+v", res.Runs)
	}
}

func TestSessionEndBudget(t *testing.T) {
	needSh(t)
	r := runnerOf(t, Config{Env: append(os.Environ(), sessionEndVar+"=300"), Groups: static([]Group{{Event: SessionEnd, Handlers: []Handler{sh("sleep 60"), sh("sleep 61")}}})})
	start := time.Now()
	res := r.Fire(t.Context(), SessionEnd, "other", nil)
	if time.Since(start) > hang || res.Runs[0].Outcome != OutcomeTimeout {
		t.Errorf("after %v: %+v", time.Since(start), res.Runs)
	}
}

func TestObserve(t *testing.T) {
	var mu sync.Mutex
	var got []Observation
	h := Handler{Type: TypeCallback, Name: "cb", StatusMessage: "checking", Func: echo("{}")}
	r := runnerOf(t, Config{Observe: func(o Observation) { mu.Lock(); got = append(got, o); mu.Unlock() }, Groups: static([]Group{{Event: Stop, Handlers: []Handler{h}}})})
	r.Fire(t.Context(), Stop, "", nil)
	if len(got) != 2 || got[0].Done || !got[1].Done || got[0].ID != got[1].ID || got[0].StatusMessage != "checking" || got[1].Stdout != "{}" {
		t.Errorf("%+v", got)
	}
}

func TestGroupsChange(t *testing.T) {
	gs := []Group{{Event: Stop, Handlers: []Handler{{Type: TypeCallback, Func: echo("{}")}}}}
	r := runnerOf(t, Config{Groups: func() []Group { return gs }})
	if !r.Any(Stop) || r.Any(PreToolUse) {
		t.Error("Any is wrong")
	}
	gs = []Group{{Event: PreToolUse, Handlers: gs[0].Handlers}}
	if r.Any(Stop) || !r.Any(PreToolUse) {
		t.Error("the change was not seen")
	}
}

func BenchmarkPreToolUseNone(b *testing.B) {
	gs := []Group{{Event: Stop, Handlers: []Handler{sh("true")}}}
	r := runnerOf(b, Config{Groups: static(gs)})
	ev := bashEvent(b)
	for b.Loop() {
		r.PreToolUse(b.Context(), ev)
	}
}

func BenchmarkPreToolUseOtherTool(b *testing.B) {
	gs := []Group{{Event: PreToolUse, Matcher: "Write|Edit", Handlers: []Handler{sh("true")}}}
	r := runnerOf(b, Config{Groups: static(gs)})
	ev := bashEvent(b)
	for b.Loop() {
		r.PreToolUse(b.Context(), ev)
	}
}

func BenchmarkPreToolUseCommand(b *testing.B) {
	needSh(b)
	r := runner(b, PreToolUse, sh("exit 0"))
	ev := bashEvent(b)
	for b.Loop() {
		r.PreToolUse(b.Context(), ev)
	}
}
