package hook

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

func echo(out string) Callback {
	return func(context.Context, json.RawMessage, string) (json.RawMessage, error) {
		return json.RawMessage(out), nil
	}
}

// judge reads a reply without running anything.
func judgeOf(event string, h Handler, rep reply) *answer {
	f := &firing{r: New(Config{}), event: event, info: eventTable()[event]}
	a := &answer{run: Run{Name: "h", Event: event}}
	f.judge(a, &entry{h: &h, g: &Group{}}, rep)
	return a
}

func TestExitCodes(t *testing.T) {
	const (
		deny    = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"json says no"}}`
		allow   = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`
		defer_  = `{"hookSpecificOutput":{"permissionDecision":"defer"}}`
		blockTL = `{"decision":"block","reason":"old form"}`
		okTL    = `{"decision":"approve"}`
	)
	closed := Handler{Type: TypeCommand, OnFailure: OnFailureBlock}
	open := Handler{Type: TypeCommand}
	for _, c := range []struct {
		name, event    string
		h              Handler
		exit           int
		stdout, stderr string
		outcome        Outcome
		behavior       tool.Behavior
		block          bool
		reason         string
	}{
		{"silent", PreToolUse, open, 0, "", "", OutcomeSuccess, "", false, ""},
		{"text", PreToolUse, open, 0, "hello", "", OutcomeSuccess, "", false, ""},
		{"array", PreToolUse, open, 0, `["deny"]`, "", OutcomeSuccess, "", false, ""},
		{"deny", PreToolUse, open, 0, deny, "", OutcomeBlocked, tool.Deny, false, "json says no"},
		{"leading space", PreToolUse, open, 0, "\n \t" + deny + "\n", "", OutcomeBlocked, tool.Deny, false, "json says no"},
		{"allow", PreToolUse, open, 0, allow, "", OutcomeSuccess, tool.Allow, false, ""},
		{"defer", PreToolUse, open, 0, defer_, "", OutcomeSuccess, Defer, false, ""},
		{"old block", PreToolUse, open, 0, blockTL, "", OutcomeBlocked, tool.Deny, false, "old form"},
		{"old approve", PreToolUse, open, 0, okTL, "", OutcomeSuccess, tool.Allow, false, ""},
		{"both forms", PreToolUse, open, 0, `{"decision":"block","reason":"r","hookSpecificOutput":{"permissionDecision":"allow"}}`, "", OutcomeBlocked, tool.Deny, false, "r"},
		{"not JSON", PreToolUse, open, 0, `{"decision":`, "", OutcomeError, "", false, ""},
		{"text after JSON", PreToolUse, open, 0, deny + "\nbye", "", OutcomeError, "", false, ""},
		{"not JSON, closed", PreToolUse, closed, 0, `{"decision":`, "", OutcomeBlocked, tool.Deny, false, "*"},
		{"wrong type", PreToolUse, open, 0, `{"continue":"no"}`, "", OutcomeError, "", false, ""},
		{"wrong word", PreToolUse, open, 0, `{"hookSpecificOutput":{"permissionDecision":"denied"}}`, "", OutcomeError, "", false, ""},
		{"wrong word, closed", PreToolUse, closed, 0, `{"hookSpecificOutput":{"permissionDecision":"denied"}}`, "", OutcomeBlocked, tool.Deny, false, "*"},
		{"other event", PreToolUse, open, 0, `{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}`, "", OutcomeError, "", false, ""},
		{"input no object", PreToolUse, open, 0, `{"hookSpecificOutput":{"updatedInput":[1]}}`, "", OutcomeError, "", false, ""},
		{"case counts", PreToolUse, open, 0, `{"Decision":"block"}`, "", OutcomeSuccess, "", false, ""},
		{"exit 2", PreToolUse, open, 2, "", "stop it", OutcomeBlocked, tool.Deny, false, "stop it"},
		{"exit 2 silent", PreToolUse, open, 2, "", "", OutcomeBlocked, tool.Deny, false, "*"},
		{"exit 2 unrelated JSON", PreToolUse, open, 2, `{"x":1}`, "why", OutcomeBlocked, tool.Deny, false, "why"},
		{"exit 2 allow", PreToolUse, open, 2, allow, "why", OutcomeBlocked, tool.Deny, false, "why"},
		{"exit 2 approve", PreToolUse, open, 2, okTL, "why", OutcomeBlocked, tool.Deny, false, "why"},
		{"exit 2 deny", PreToolUse, open, 2, deny, "why", OutcomeBlocked, tool.Deny, false, "json says no"},
		{"exit 2 broken JSON", PreToolUse, open, 2, `{"decision":`, "why", OutcomeBlocked, tool.Deny, false, "why"},
		{"exit 2 invalid JSON", PreToolUse, open, 2, `{"continue":3}`, "why", OutcomeBlocked, tool.Deny, false, "why"},
		{"exit 1", PreToolUse, open, 1, "", "oops", OutcomeError, "", false, ""},
		{"exit 1 closed", PreToolUse, closed, 1, "", "oops", OutcomeBlocked, tool.Deny, false, "*"},
		{"exit 1 with JSON", PreToolUse, open, 1, deny, "", OutcomeBlocked, tool.Deny, false, "json says no"},
		{"exit 1 with empty JSON", PreToolUse, closed, 1, "{}", "", OutcomeSuccess, "", false, ""},
		{"post block", PostToolUse, open, 0, blockTL, "", OutcomeBlocked, "", true, "old form"},
		{"post exit 2", PostToolUse, open, 2, "", "fix this", OutcomeBlocked, "", true, "fix this"},
		{"post approve", PostToolUse, open, 0, okTL, "", OutcomeSuccess, "", false, ""},
		{"stop exit 2", Stop, open, 2, "", "go on", OutcomeBlocked, "", true, "go on"},
		{"permission exit 2", PermissionRequest, open, 2, "", "no", OutcomeError, "", false, ""},
		{"permission closed", PermissionRequest, closed, 1, "", "no", OutcomeBlocked, tool.Deny, false, "*"},
		{"permission deny", PermissionRequest, open, 0, `{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"m"}}}`, "", OutcomeBlocked, tool.Deny, false, "m"},
		{"permission without behavior", PermissionRequest, open, 0, `{"hookSpecificOutput":{"decision":{}}}`, "", OutcomeError, "", false, ""},
		{"notification exit 2", Notification, closed, 2, "", "x", OutcomeError, "", false, ""},
		{"start exit 2", SessionStart, open, 2, "", "x", OutcomeError, "", false, ""},
		{"worktree exit 1", WorktreeCreate, open, 1, "", "x", OutcomeBlocked, "", true, "*"},
		{"worktree exit 1 JSON", WorktreeCreate, open, 1, `{"hookSpecificOutput":{"worktreePath":"/x"}}`, "x", OutcomeBlocked, "", true, "*"},
		{"worktree silent", WorktreeCreate, open, 0, "", "", OutcomeBlocked, "", true, "*"},
		{"worktree", WorktreeCreate, open, 0, "made\n\x1b[32m/tmp/w\x1b[0m\n\n", "", OutcomeSuccess, "", false, ""},
		{"compact block", PreCompact, open, 0, blockTL, "", OutcomeBlocked, "", true, "old form"},
		{"task block", TaskCompleted, open, 0, blockTL, "", OutcomeSuccess, "", false, ""},
		{"elicitation block", Elicitation, open, 0, blockTL, "", OutcomeBlocked, "", true, "old form"},
		{"switch ask", PreModelSwitch, open, 0, `{"hookSpecificOutput":{"permissionDecision":"ask"}}`, "", OutcomeSuccess, tool.Ask, false, ""},
		{"switch exit 2", PreModelSwitch, open, 2, "", "no", OutcomeBlocked, tool.Deny, false, "no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := judgeOf(c.event, c.h, reply{exit: c.exit, stdout: []byte(c.stdout), stderr: []byte(c.stderr)})
			if a.run.Outcome != c.outcome || a.behavior != c.behavior || a.block != c.block {
				t.Errorf("outcome %q behavior %q block %v; want %q %q %v (message %q)",
					a.run.Outcome, a.behavior, a.block, c.outcome, c.behavior, c.block, a.run.Message)
			}
			if c.reason == "*" && a.reason == "" || c.reason != "*" && a.reason != c.reason {
				t.Errorf("reason %q, want %q", a.reason, c.reason)
			}
			if a.run.Outcome == OutcomeError && a.run.Message == "" {
				t.Error("a failure without a message")
			}
		})
	}
}

func TestHiddenDecisionIsReported(t *testing.T) {
	const text = "hello\n{\"decision\":\"block\"}\n"
	if a := judgeOf(PreToolUse, Handler{Type: TypeCommand}, reply{stdout: []byte(text)}); a.behavior != "" || a.run.Message == "" {
		t.Errorf("%+v", a)
	}
	a := judgeOf(PreToolUse, Handler{Type: TypeCommand, OnFailure: OnFailureBlock}, reply{stdout: []byte(text)})
	if a.behavior != tool.Deny {
		t.Errorf("%+v", a)
	}
}

func TestUniversalFields(t *testing.T) {
	const out = `{"continue":false,"stopReason":"enough","systemMessage":"note","suppressOutput":true}`
	for event, want := range map[string][2]bool{ // stop, system message
		PreToolUse: {true, true}, PostToolUseFailure: {true, true}, Notification: {false, false},
		SessionEnd: {false, false}, CwdChanged: {false, true}, PreCompact: {false, false},
	} {
		a := judgeOf(event, Handler{Type: TypeCommand}, reply{stdout: []byte(out)})
		if a.stop != want[0] || (a.out.systemMessage != "") != want[1] {
			t.Errorf("%s: stop %v, message %q", event, a.stop, a.out.systemMessage)
		}
	}
	// A block does not hide "continue": false.
	if a := judgeOf(PreToolUse, Handler{Type: TypeCommand}, reply{exit: 2, stdout: []byte(out)}); !a.stop || a.behavior != tool.Deny {
		t.Errorf("%+v", a)
	}
}

func TestPlainText(t *testing.T) {
	for event, want := range map[string]int{SessionStart: 1, UserPromptSubmit: 1, UserPromptExpansion: 1, PostModelSwitch: 1, PreToolUse: 0, Stop: 0} {
		if a := judgeOf(event, Handler{Type: TypeCommand}, reply{stdout: []byte(" some text\n")}); len(a.context) != want {
			t.Errorf("%s: context %q", event, a.context)
		}
	}
}

func TestModelAnswers(t *testing.T) {
	no := &Answer{Reason: "not done"}
	for _, c := range []struct {
		event    string
		h        Handler
		answer   *Answer
		behavior tool.Behavior
		block    bool
		stop     bool
	}{
		{PreToolUse, Handler{Type: TypePrompt}, &Answer{OK: true}, "", false, false},
		{PreToolUse, Handler{Type: TypePrompt}, no, tool.Deny, false, true},
		{PreToolUse, Handler{Type: TypePrompt, ContinueOnBlock: true}, no, tool.Deny, false, false},
		{PreToolUse, Handler{Type: TypeAgent}, no, tool.Deny, false, false},
		{PostToolUse, Handler{Type: TypePrompt}, no, "", true, true},
		{Stop, Handler{Type: TypePrompt}, no, "", true, false},
		{Stop, Handler{Type: TypePrompt}, &Answer{Impossible: true}, "", false, false},
		{Stop, Handler{Type: TypeAgent}, &Answer{Impossible: true}, "", true, false},
		{UserPromptSubmit, Handler{Type: TypePrompt}, no, "", true, true},
		{PostToolUseFailure, Handler{Type: TypePrompt}, no, "", true, false},
		{PermissionRequest, Handler{Type: TypePrompt}, no, "", false, false},
	} {
		a := judgeOf(c.event, c.h, reply{model: c.answer})
		if a.behavior != c.behavior || a.block != c.block || a.stop != c.stop {
			t.Errorf("%s %+v: %q %v %v", c.event, c.h, a.behavior, a.block, a.stop)
		}
	}
}

func TestTerminalSequence(t *testing.T) {
	for s, want := range map[string]bool{
		"\a": true, "\x1b]0;title\a": true, "\x1b]9;done\x1b\\": true, "\x1b]777;notify;a;b\a\a": true,
		"\x1b]52;c;aGk=\a": false, "\x1b[2J": false, "text": false, "\x1b]0;title": false,
		"\x1b]0;a\x1b]52;c;x\a": false, "\x1b]0;t\a\x1b[2J": false, "\x1b]0;a\u009b2J\a": false,
	} {
		if _, ok := terminalSequence(s); ok != want {
			t.Errorf("%q: %v", s, ok)
		}
	}
}

func FuzzParseOutput(f *testing.F) {
	for _, s := range []string{``, `{}`, `{"decision":"block"}`, `hello`, "\ufeff{}", `{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"a":1}}}`,
		`{"hookSpecificOutput":{"decision":{"behavior":"deny"}}}`, `{"continue":false}`, `[{}]`, `{"hookSpecificOutput":null}`} {
		f.Add(s, uint8(6), true)
	}
	var names []string
	for name := range eventTable() {
		names = append(names, name)
	}
	f.Fuzz(func(t *testing.T, s string, n uint8, exit2 bool) {
		event := names[int(n)%len(names)]
		strict, err := parseOutput(event, []byte(s), false)
		soft, lerr := parseOutput(event, []byte(s), true)
		if err == nil && (lerr != nil || strict.decision != soft.decision || strict.stop != soft.stop) {
			t.Fatalf("strict accepts what lenient reads otherwise: %v", lerr)
		}
		if looks := strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(s, "\ufeff"), " \t\r\n"), "{"); looks == errors.Is(err, errNotObject) {
			t.Fatalf("looks like an object: %v, but %v", looks, err)
		}
		if err == nil && !json.Valid([]byte(strings.TrimPrefix(s, "\ufeff"))) {
			t.Fatal("accepted what is no JSON")
		}
		rep := reply{stdout: []byte(s)}
		if exit2 {
			rep.exit = 2
			if a := judgeOf(PreToolUse, Handler{Type: TypeCommand}, rep); a.behavior != tool.Deny || a.reason == "" {
				t.Fatalf("exit code 2 was undone: %+v", a)
			}
			return
		}
		a := judgeOf(event, Handler{Type: TypeCommand}, rep)
		if in := a.updatedInput(); in != nil {
			if _, err := object(in); err != nil {
				t.Fatalf("updated input %s", in)
			}
		}
		switch a.behavior {
		case "", tool.Allow, tool.Ask, tool.Deny, Defer:
		default:
			t.Fatalf("behavior %q", a.behavior)
		}
	})
}
