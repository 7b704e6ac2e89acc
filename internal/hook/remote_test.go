package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sevengate/sevengate/tool"
)

func TestHTTP(t *testing.T) {
	var header http.Header
	var body []byte
	mux := http.NewServeMux()
	mux.HandleFunc("/deny", func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		body, _ = io.ReadAll(r.Body)
		io.WriteString(w, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"policy"}}`)
	})
	mux.HandleFunc("/empty", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/text", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	mux.HandleFunc("/500", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
		io.WriteString(w, `{"decision":"block"}`)
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/deny", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // else the end of the connection is not seen
		select {
		case <-r.Context().Done():
		case <-time.After(hang):
		}
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { w.Write(bytes.Repeat([]byte(" "), maxHTTPBody+10)) })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	const secret = "s3cret"
	var log bytes.Buffer
	run := func(h Handler, p Policy) PreResult {
		h.Type = TypeHTTP
		r := New(Config{Env: []string{"TOKEN=" + secret, "OTHER=" + secret, "BAD=a\nb"}, Policy: func() Policy { return p },
			Log:    slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Groups: static([]Group{{Event: PreToolUse, Handlers: []Handler{h}}})})
		defer r.Close()
		return r.PreToolUse(t.Context(), bashEvent(t))
	}
	h := Handler{URL: srv.URL + "/deny?key=" + secret, Headers: map[string]string{"Authorization": "Bearer ${TOKEN}", "X-A": "$TOKEN-$OTHER-$5-$"}, AllowedEnvVars: []string{"TOKEN"}}
	res := run(h, Policy{})
	if res.Behavior != tool.Deny || res.Reason != "policy" {
		t.Errorf("%+v", res)
	}
	if header.Get("Authorization") != "Bearer "+secret || header.Get("X-A") != secret+"--$5-$" || header.Get("Content-Type") != "application/json" || !json.Valid(body) {
		t.Errorf("header %v, body %s", header, body)
	}
	run(h, Policy{LimitEnvVars: true, AllowedEnvVars: []string{"OTHER"}})
	if header.Get("Authorization") != "Bearer" && header.Get("Authorization") != "Bearer " {
		t.Errorf("the outer limit was passed: %q", header.Get("Authorization"))
	}
	host := mustHost(t, srv.URL)
	for path, want := range map[string]Outcome{"/empty": OutcomeSuccess, "/text": OutcomeError, "/500": OutcomeError, "/away": OutcomeError, "/big": OutcomeError, "/slow": OutcomeTimeout} {
		h := Handler{URL: srv.URL + path + "?key=" + secret}
		if path == "/slow" {
			h.Timeout = 100 * time.Millisecond
		}
		if res := run(h, Policy{}); res.Runs[0].Outcome != want || res.Behavior != "" {
			t.Errorf("%s: %q %+v", path, res.Behavior, res.Runs[0])
		}
		h.OnFailure = OnFailureBlock
		if res := run(h, Policy{}); (res.Behavior == tool.Deny) != (want != OutcomeSuccess) || strings.Contains(res.Reason, secret) {
			t.Errorf("%s closed: %q %q", path, res.Behavior, res.Reason)
		}
	}
	for _, h := range []Handler{{URL: "http://127.0.0.1:1/?key=" + secret}, {URL: "ftp://x/"}, {URL: "://" + secret},
		{URL: srv.URL + "/empty", Headers: map[string]string{"X": "$BAD"}, AllowedEnvVars: []string{"BAD"}}} {
		if res := run(h, Policy{}); res.Runs[0].Outcome != OutcomeError || strings.Contains(res.Runs[0].Message+res.Runs[0].Name, secret) {
			t.Errorf("%q: %+v", h.URL, res.Runs[0])
		}
	}
	for pattern, want := range map[string]Outcome{"http://" + host + "/*": OutcomeSuccess, "http://other.example/*": OutcomeError, "": OutcomeError, "*": OutcomeSuccess} {
		if res := run(Handler{URL: srv.URL + "/empty"}, Policy{LimitURLs: true, AllowedURLs: []string{pattern}}); res.Runs[0].Outcome != want {
			t.Errorf("%q: %+v", pattern, res.Runs[0])
		}
	}
	if strings.Contains(log.String(), secret) {
		t.Error("a secret is in the log")
	}
}

func mustHost(t *testing.T, s string) string {
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func TestURLPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, url string
		want         bool
	}{
		{"https://hooks.example.com/*", "https://hooks.example.com/a/b", true},
		{"https://hooks.example.com/*", "https://HOOKS.example.com./a", true},
		{"https://hooks.example.com", "https://hooks.example.com/", true},
		{"https://hooks.example.com", "https://hooks.example.com/a", false},
		{"https://hooks.example.com/*", "http://hooks.example.com/a", false},
		{"https://*.example.com/*", "https://a.b.example.com/x", true},
		{"https://*.example.com/*", "https://evil.test/x.example.com/y", false},
		{"https://hooks.example.com/*", "https://hooks.example.com@evil.test/", false},
		{"https://hooks.example.com/*", "https://hooks.example.com:8443/", false},
		{"http://localhost:*", "http://localhost:8080/any", true},
		{"http://localhost:*/x", "http://localhost:8080/y", false},
		{"hooks.example.com", "https://hooks.example.com/", false},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := urlMatches(c.pattern, u); got != c.want {
			t.Errorf("%s on %s = %v", c.pattern, c.url, got)
		}
	}
}

type fakeTools struct {
	input json.RawMessage
	text  string
	isErr bool
	err   error
}

func (f *fakeTools) CallTool(_ context.Context, _, _ string, in json.RawMessage) (string, bool, error) {
	f.input = in
	return f.text, f.isErr, f.err
}

func TestMCPTool(t *testing.T) {
	h := Handler{Type: TypeMCPTool, Server: "s", Tool: "scan", Input: json.RawMessage(`{"cmd":"run ${tool_input.command}!","all":["${tool_input}"],"n":3,"gone":"${a.b}"}`)}
	for _, c := range []struct {
		tools fakeTools
		want  Outcome
	}{
		{fakeTools{text: `{"decision":"block","reason":"bad"}`}, OutcomeBlocked},
		{fakeTools{text: "fine"}, OutcomeSuccess},
		{fakeTools{text: "oh", isErr: true}, OutcomeError},
		{fakeTools{err: errors.New("not connected")}, OutcomeError},
	} {
		r := runnerOf(t, Config{Tools: &c.tools, Groups: static([]Group{{Event: PreToolUse, Handlers: []Handler{h}}})})
		if res := r.PreToolUse(t.Context(), bashEvent(t)); res.Runs[0].Outcome != c.want {
			t.Errorf("%+v: %+v", c.tools, res.Runs[0])
		}
		if want := `{"all":["{\"command\":\"ls -l\"}"],"cmd":"run ls -l!","gone":"","n":3}`; string(c.tools.input) != want {
			t.Errorf("input %s", c.tools.input)
		}
	}
}

type fakeModel func(context.Context, Question) (Answer, error)

func (f fakeModel) Prompt(ctx context.Context, q Question) (Answer, error) { return f(ctx, q) }

func TestPrompt(t *testing.T) {
	var asked []string
	r := runnerOf(t, Config{Groups: static([]Group{{Event: Stop, Handlers: []Handler{{Type: TypePrompt, Prompt: `costs \$5: $ARGUMENTS.`}}}, {Event: Stop, Handlers: []Handler{{Type: TypePrompt, Prompt: "x", Model: "m", Timeout: time.Hour}}}}),
		Models: fakeModel(func(ctx context.Context, q Question) (Answer, error) {
			if q.Model == "m" {
				return Answer{}, errors.New("overloaded")
			}
			asked = append(asked, q.Text)
			return Answer{Reason: "tests fail"}, nil
		})})
	res := r.Fire(t.Context(), Stop, "", map[string]any{"stop_hook_active": false})
	if !res.Block || res.Reason != "tests fail" || len(res.Problems()) != 1 {
		t.Errorf("%+v", res)
	}
	if len(asked) != 1 || !strings.HasPrefix(asked[0], `costs $5: {"`) || !strings.HasSuffix(asked[0], "}.") {
		t.Errorf("%q", asked)
	}
}

func TestCallbackTimeoutBlocks(t *testing.T) {
	h := Handler{Type: TypeCallback, Timeout: 50 * time.Millisecond, Func: func(ctx context.Context, _ json.RawMessage, _ string) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	if res := runner(t, PreToolUse, h).PreToolUse(t.Context(), bashEvent(t)); res.Behavior != tool.Deny || res.Runs[0].Outcome != OutcomeTimeout {
		t.Errorf("%+v", res)
	}
	if res := runner(t, UserPromptSubmit, h).Fire(t.Context(), UserPromptSubmit, "", nil); !res.Block {
		t.Errorf("%+v", res)
	}
	if res := runner(t, PostToolUse, h).PostToolUse(t.Context(), bashEvent(t), nil, 0); res.Block || len(res.Problems()) != 1 {
		t.Errorf("%+v", res)
	}
}

func TestParse(t *testing.T) {
	const hooks = `{
		"PreToolUse": [
			{"matcher": "Bash", "hooks": [
				{"type":"command","command":"./a.sh","timeout":1.5,"if":"Bash(rm *)","onFailure":"block","statusMessage":"s"},
				{"type":"command","command":"x","args":[]},
				{"type":"http","url":"http://h/","headers":{"A":"b"}},
				{"type":"mcp_tool","server":"s","tool":"t","input":{"a":1}},
				{"type":"agent","prompt":"p"},
				{"type":"command"},
				{"type":"ftp"},
				{"type":"command","command":"y","timeout":"5","onFailure":"blcok","once":1},
				{"type":"command","command":"z","args":"no"},
				{"type":"callback","command":"z"},
				7 ]},
			{"matcher": 5, "hooks": [{"type":"command","command":"m"}]},
			{"hooks": "none"}, []
		],
		"SessionStart": [{"hooks":[{"type":"http","url":"http://h/"},{"type":"command","command":"c","timeout":1e300}]}],
		"PermissionRequest": [{"hooks":[{"type":"agent","prompt":"p"}]}],
		"Stop": [{"hooks":[{"type":"command","command":"c","if":"Bash"}]}],
		"NoEvent": [], "PostToolUse": {}
	}`
	gs, warnings := Parse(json.RawMessage(hooks), "userSettings", "f.json")
	var paths []string
	for _, w := range warnings {
		paths = append(paths, w.Path)
		if w.Message == "" || w.File != "f.json" {
			t.Errorf("%+v", w)
		}
	}
	want := []string{"hooks.NoEvent", "hooks.PermissionRequest[0].hooks[0].type", "hooks.PostToolUse",
		"hooks.PreToolUse[0].hooks[5]", "hooks.PreToolUse[0].hooks[6].type", "hooks.PreToolUse[0].hooks[7].timeout", "hooks.PreToolUse[0].hooks[7].once",
		"hooks.PreToolUse[0].hooks[7].onFailure", "hooks.PreToolUse[0].hooks[8]", "hooks.PreToolUse[0].hooks[9].type", "hooks.PreToolUse[0].hooks[10]",
		"hooks.PreToolUse[1].matcher", "hooks.PreToolUse[2].hooks", "hooks.PreToolUse[3]", "hooks.SessionStart[0].hooks[0].type", "hooks.Stop[0].hooks[0].if"}
	if !slices.Equal(paths, want) {
		t.Errorf("warnings at\n%q, want\n%q", paths, want)
	}
	if len(gs) != 4 || len(gs[0].Handlers) != 6 || gs[1].Matcher != "" {
		t.Fatalf("%+v", gs)
	}
	h := gs[0].Handlers[0]
	if h.Timeout != 1500*time.Millisecond || h.If != "Bash(rm *)" || h.OnFailure != OnFailureBlock || h.Args != nil || gs[0].Handlers[1].Args == nil {
		t.Errorf("%+v", h)
	}
	if h := gs[0].Handlers[5]; h.OnFailure != OnFailureBlock || h.Timeout != 0 {
		t.Errorf("%+v", h)
	}
	if gs[2].Handlers[0].Timeout != MaxTimeout {
		t.Errorf("%+v", gs[2].Handlers[0])
	}
	for _, bad := range []string{"", "null", "[]", "{", `"x"`} {
		if gs, _ := Parse(json.RawMessage(bad), "", ""); gs != nil {
			t.Errorf("%q: %+v", bad, gs)
		}
	}
}
