package hook

import (
	"errors"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		matcher, value string
		narrow, want   bool
		bad            bool
	}{
		{matcher: "", value: "Bash", want: true},
		{matcher: "*", value: "", want: true},
		{matcher: "Bash", value: "Bash", want: true},
		{matcher: "Bash", value: "BashOutput"},
		{matcher: "bash", value: "Bash"},
		{matcher: "Bash|Edit", value: "Edit", want: true},
		{matcher: "Bash,Edit", value: "Edit", want: true},
		{matcher: " Bash , Edit | Write ", value: "Write", want: true},
		{matcher: "Bash|Edit", value: "NotebookEdit"},
		{matcher: "|", value: "Bash"},
		{matcher: "mcp__a-b", value: "mcp__a-b", want: true},
		{matcher: "mcp__a-b", value: "mcp__a-b__tool"},
		{matcher: "mcp__memory", value: "mcp__memory__read"},
		{matcher: "mcp__memory__.*", value: "mcp__memory__read", want: true},
		{matcher: "Edit.*", value: "NotebookEdit", want: true},
		{matcher: "^Edit", value: "NotebookEdit"},
		{matcher: "^(?!Bash$).*", value: "Bash"},
		{matcher: "^(?!Bash$).*", value: "Read", want: true},
		{matcher: `(a)\1`, value: "xaax", want: true},
		{matcher: "plugin:agent", value: "my-plugin:agent", want: true},
		{matcher: "(", value: "Bash", bad: true},
		{matcher: `^(([a-z])+.)+[A-Z]([a-z])+$`, value: strings.Repeat("a", 64), bad: true},
		{matcher: strings.Repeat("(a)", maxMatcherSize), value: "a", bad: true},
		{matcher: "a.*", value: strings.Repeat("a", maxMatchValue+1), bad: true},
		{matcher: "rate_limit|unknown", value: "unknown", narrow: true, want: true},
		{matcher: "a,b", value: "a", narrow: true},
		{matcher: "a,b", value: "xa,bx", narrow: true, want: true},
		{matcher: "a-b", value: "xa-b", narrow: true, want: true},
	} {
		name := c.matcher[:min(len(c.matcher), 40)]
		ok, err := newMatcher(c.matcher, c.narrow).match(c.value)
		if ok != c.want || (err != nil) != c.bad {
			t.Errorf("%q on %.40q = %v, %v; want %v, error %v", name, c.value, ok, err, c.want, c.bad)
		}
	}
}

func TestUnmatchableBlocksGuardsOnly(t *testing.T) {
	never := sh("exit 0")
	for _, matcher := range []string{"(", `^(([a-zA-Z])+.)+[0-9]([a-z])+$`} {
		ev := Event{Call: call(t, strings.Repeat("a", 60), "x")}
		for _, event := range []string{PreToolUse, PermissionRequest, PostToolUse} {
			r := runnerOf(t, Config{Groups: static([]Group{{Event: event, Matcher: matcher, Handlers: []Handler{never}}})})
			var got tool.Behavior
			var runs []Run
			switch event {
			case PreToolUse:
				res := r.PreToolUse(t.Context(), ev)
				got, runs = res.Behavior, res.Runs
				if !strings.Contains(res.Reason, "cannot be matched") {
					t.Errorf("reason %q", res.Reason)
				}
			case PermissionRequest:
				res := r.FireCall(t.Context(), event, ev, nil)
				got, runs = res.Behavior, res.Runs
			default:
				res := r.PostToolUse(t.Context(), ev, nil, 0)
				runs = res.Runs
				if res.Block || res.Problems() == nil {
					t.Errorf("%s: block %v, problems %v", event, res.Block, res.Problems())
				}
			}
			if want := map[bool]tool.Behavior{true: tool.Deny}[event != PostToolUse]; got != want {
				t.Errorf("%s with %q: %q, want %q", event, matcher, got, want)
			}
			if len(runs) != 1 || runs[0].Message == "" {
				t.Errorf("%s: runs %+v", event, runs)
			}
		}
	}
}

func TestCondition(t *testing.T) {
	needSh(t)
	dir := t.TempDir()
	h := sh("exit 2")
	h.If = "Bash(git push *)"
	cases := map[string]struct {
		match func(string, *tool.Call) (bool, error)
		want  tool.Behavior
	}{
		"fits":   {func(r string, c *tool.Call) (bool, error) { return r == h.If && c.Name() == "Bash", nil }, tool.Deny},
		"misses": {func(string, *tool.Call) (bool, error) { return false, nil }, ""},
		"error":  {func(string, *tool.Call) (bool, error) { return false, errors.New("cannot parse") }, tool.Deny},
		"panic":  {func(string, *tool.Call) (bool, error) { panic("x") }, tool.Deny},
		"nil":    {nil, tool.Deny},
	}
	for name, c := range cases {
		r := runnerOf(t, Config{Cwd: dir, MatchIf: c.match, Groups: static([]Group{{Event: PreToolUse, Handlers: []Handler{h}}})})
		if got := r.PreToolUse(t.Context(), bashEvent(t)).Behavior; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	// On events without a call, a handler with a condition never runs.
	r := runnerOf(t, Config{Groups: static([]Group{{Event: Stop, Handlers: []Handler{h}}})})
	if res := r.Fire(t.Context(), Stop, "", nil); res.Block || len(res.Runs) != 0 {
		t.Errorf("Stop: %+v", res)
	}
}

func TestEventMatching(t *testing.T) {
	h := Handler{Type: TypeCallback, Func: echo(`{}`)}
	for _, c := range []struct {
		event, matcher, value string
		want                  int
	}{
		{SubagentStop, ".*", "", 0},
		{SubagentStop, "", "", 1},
		{SubagentStop, "reviewer", "reviewer", 1},
		{PreModelSwitch, "some-model", "", 1},
		{PreModelSwitch, "some-model", "other", 0},
		{Stop, "anything", "", 1}, // the event has no matcher
		{SessionStart, "resume|fork", "fork", 1},
		{"NoSuchEvent", "", "", 0},
	} {
		r := runnerOf(t, Config{Groups: static([]Group{{Event: c.event, Matcher: c.matcher, Handlers: []Handler{h}}})})
		if got := len(r.Fire(t.Context(), c.event, c.value, nil).Runs); got != c.want {
			t.Errorf("%s %q on %q: %d runs, want %d", c.event, c.matcher, c.value, got, c.want)
		}
	}
}
