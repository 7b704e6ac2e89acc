package permission

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// anyInput is the input of the tools of these tests.
type anyInput struct {
	Path    string   `json:"file_path,omitempty"`
	URL     string   `json:"url,omitempty"`
	Name    string   `json:"name,omitempty"`
	Args    string   `json:"args,omitempty"`
	Model   string   `json:"model,omitempty"`
	Command string   `json:"command,omitempty"`
	More    []string `json:"more,omitempty"`
}

func anyTool(name string, subjects func(anyInput) []tool.Subject, change func(*tool.Def[anyInput, string])) tool.Tool {
	d := tool.Def[anyInput, string]{Name: name, Subjects: subjects,
		Call: func(context.Context, anyInput, *tool.Env) (tool.Result[string], error) {
			return tool.OK("nothing was run"), nil
		}}
	if change != nil {
		change(&d)
	}
	return tool.Define(d)
}

func readTool(name string) tool.Tool {
	return anyTool(name, func(in anyInput) []tool.Subject {
		out := []tool.Subject{tool.ReadOf(in.Path)}
		for _, p := range in.More {
			out = append(out, tool.ReadOf(p))
		}
		return out
	}, func(d *tool.Def[anyInput, string]) { d.ReadOnly, d.PrimaryField = tool.Always[anyInput], "file_path" })
}

func editTool(name string) tool.Tool {
	return anyTool(name, func(in anyInput) []tool.Subject { return []tool.Subject{tool.EditOf(in.Path)} },
		func(d *tool.Def[anyInput, string]) { d.PrimaryField = "file_path" })
}

func fetchTool() tool.Tool {
	return anyTool("WebFetch", func(in anyInput) []tool.Subject { return []tool.Subject{tool.URLOf("WebFetch", in.URL)} },
		func(d *tool.Def[anyInput, string]) { d.ReadOnly = tool.Always[anyInput] })
}

func nameTool(name string) tool.Tool {
	return anyTool(name, func(in anyInput) []tool.Subject { return []tool.Subject{tool.NameOf(name, in.Name, in.Args)} }, nil)
}

func plainTool(name string, change func(*tool.Def[anyInput, string])) tool.Tool {
	return anyTool(name, nil, change)
}

// scratch is a small tree: project, home, and a folder outside of both.
type scratch struct {
	dir string
	at  tool.Place
}

func newScratch(tb testing.TB) scratch {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	s := scratch{dir: dir, at: tool.Place{Cwd: filepath.Join(dir, "p"), Home: filepath.Join(dir, "home")}}
	s.at.Roots = []string{s.at.Cwd}
	for _, f := range []string{"p/a.txt", "p/.env", "p/src/x.go", "p/vendor/pkg/src/lib.js", "p-secret/k", "out/y", "home/Desktop/plan.txt", "results/r1.txt"} {
		write(tb, filepath.Join(dir, f), "x\n", 0o644)
	}
	return s
}

func (s scratch) policy(allow, ask, deny []string) *Policy {
	return New(Config{Settings: rulesOf(s.at.Cwd, allow, ask, deny), Cwd: s.at.Cwd, Home: s.at.Home})
}

func (s scratch) decide(tb testing.TB, p *Policy, t tool.Tool, in anyInput, change func(*Request)) Decision {
	tb.Helper()
	req := Request{Call: bind(tb, t, s.at, in), BypassAvailable: true, Interactive: true}
	if change != nil {
		change(&req)
	}
	return p.Decide(context.Background(), req)
}

func mode(m Mode) func(*Request) { return func(r *Request) { r.Mode = m } }

func TestDecide(t *testing.T) {
	s := newScratch(t)
	read, edit, write := readTool("Read"), editTool("Edit"), editTool("Write")
	fetch, agent, skill := fetchTool(), nameTool("Agent"), nameTool("Skill")
	state := plainTool("TodoWrite", func(d *tool.Def[anyInput, string]) { d.CheckPermissions = tool.AlwaysAllow[anyInput] })
	ask := plainTool("AskUserQuestion", func(d *tool.Def[anyInput, string]) { d.RequiresUserInteraction = tool.Always[anyInput] })
	mcp := plainTool("mcp__my_server__get_x", func(d *tool.Def[anyInput, string]) {
		d.Origin = &tool.Origin{Server: "my.server", Tool: "get x"}
	})
	asks := plainTool("Asks", func(d *tool.Def[anyInput, string]) {
		d.CheckPermissions = func(context.Context, anyInput, *tool.Env) tool.Verdict { return tool.AskCall("better ask") }
	})
	refuses := plainTool("Refuses", func(d *tool.Def[anyInput, string]) {
		d.CheckPermissions = func(context.Context, anyInput, *tool.Env) tool.Verdict { return tool.DenyCall("never") }
	})
	broken := anyTool("Odd", func(anyInput) []tool.Subject { panic("no") }, nil)
	type list = []string
	path := func(p string) anyInput { return anyInput{Path: p} }
	out := filepath.Join(s.dir, "out/y")
	cases := []struct {
		name             string
		tool             tool.Tool
		in               anyInput
		allow, ask, deny list
		mode             Mode
		want             tool.Behavior
		layer            tool.Layer
	}{
		{name: "read inside", tool: read, in: path("a.txt"), want: tool.Allow, layer: tool.LayerDefault},
		{name: "read outside", tool: read, in: path(out), want: tool.Ask, layer: tool.LayerDefault},
		{name: "sibling with the same beginning", tool: read, in: path(filepath.Join(s.dir, "p-secret/k")), want: tool.Ask, layer: tool.LayerDefault},
		{name: "read outside by rule", tool: read, in: path(out), allow: list{"Read(/" + out + ")"}, want: tool.Allow, layer: tool.LayerAllowRule},
		{name: "an edit rule grants reading", tool: read, in: path(out), allow: list{"Edit(/" + out + ")"}, want: tool.Allow, layer: tool.LayerAllowRule},
		{name: "read denied", tool: read, in: path(".env"), deny: list{"Read(./.env)"}, want: tool.Deny, layer: tool.LayerDenyRule},
		{name: "deny is stronger than allow", tool: read, in: path(".env"), allow: list{"Read"}, deny: list{"Read(.env)"}, want: tool.Deny, layer: tool.LayerDenyRule},
		{name: "deny by another spelling", tool: read, in: path("src/../.env"), deny: list{"Read(**/.env*)"}, want: tool.Deny, layer: tool.LayerDenyRule},
		{name: "home rule", tool: read, in: path("~/Desktop/plan.txt"), deny: list{"Read(~/Desktop/**)"}, want: tool.Deny, layer: tool.LayerDenyRule},
		{name: "a read deny stops edits", tool: edit, in: path(".env"), allow: list{"Edit"}, deny: list{"Read(.env)"}, want: tool.Deny, layer: tool.LayerDenyRule},
		{name: "an edit deny does not stop reads", tool: read, in: path("a.txt"), deny: list{"Edit(a.txt)"}, want: tool.Allow, layer: tool.LayerDefault},
		{name: "ask rule on a path", tool: read, in: path("a.txt"), ask: list{"Read(a.txt)"}, allow: list{"Read"}, want: tool.Ask, layer: tool.LayerAskRule},
		{name: "edit asks", tool: edit, in: path("a.txt"), want: tool.Ask, layer: tool.LayerDefault},
		{name: "edit by rule", tool: edit, in: path("src/x.go"), allow: list{"Edit(src/**)"}, want: tool.Allow, layer: tool.LayerAllowRule},
		{name: "edit rules govern Write", tool: write, in: path("src/new.go"), allow: list{"Edit(src/**)"}, want: tool.Allow, layer: tool.LayerAllowRule},
		{name: "write rules are not consulted", tool: write, in: path("src/new.go"), allow: list{"Write(src/**)"}, want: tool.Ask, layer: tool.LayerDefault},
		{name: "bare Write", tool: write, in: path("src/new.go"), allow: list{"Write"}, want: tool.Allow, layer: tool.LayerAllowRule},
		{name: "allow is anchored", tool: edit, in: path("vendor/pkg/src/lib.js"), allow: list{"Edit(src/**)"}, want: tool.Ask, layer: tool.LayerDefault},
		{name: "deny is not", tool: edit, in: path("vendor/pkg/src/lib.js"), deny: list{"Edit(src/**)"}, want: tool.Deny, layer: tool.LayerDenyRule},
		{name: "acceptEdits inside", tool: edit, in: path("a.txt"), mode: ModeAcceptEdits, want: tool.Allow, layer: tool.LayerMode},
		{name: "acceptEdits outside", tool: edit, in: path(out), mode: ModeAcceptEdits, want: tool.Ask, layer: tool.LayerDefault},
		{name: "plan beats an edit rule", tool: edit, in: path("a.txt"), allow: list{"Edit"}, mode: ModePlan, want: tool.Ask, layer: tool.LayerMode},
		{name: "plan reads", tool: read, in: path("a.txt"), mode: ModePlan, want: tool.Allow, layer: tool.LayerDefault},
		{name: "plan and the session's own state", tool: state, mode: ModePlan, want: tool.Allow, layer: tool.LayerTool},
		{name: "plan and a tool that may write", tool: mcp, allow: list{"mcp__my_server"}, mode: ModePlan, want: tool.Ask, layer: tool.LayerMode},
		{name: "bypass", tool: edit, in: path(out), mode: ModeBypass, want: tool.Allow, layer: tool.LayerMode},
		{name: "bypass and deny", tool: edit, in: path(out), deny: list{"Edit"}, mode: ModeBypass, want: tool.Deny, layer: tool.LayerDenyRule},
		{name: "bypass and ask", tool: edit, in: path(out), ask: list{"Edit"}, mode: ModeBypass, want: tool.Ask, layer: tool.LayerAskRule},
		{name: "bypass and protected", tool: edit, in: path(".git/config"), mode: ModeBypass, want: tool.Ask, layer: tool.LayerSafety},
		{name: "protected by an allow rule", tool: edit, in: path(".claude/settings.json"), allow: list{"Edit(.claude/**)", "Edit"}, want: tool.Ask, layer: tool.LayerSafety},
		{name: "protected whatever the case", tool: edit, in: path(".GIT/hooks/pre-commit"), mode: ModeAcceptEdits, want: tool.Ask, layer: tool.LayerSafety},
		{name: "worktrees are work", tool: edit, in: path(".claude/worktrees/w/a.txt"), mode: ModeAcceptEdits, want: tool.Allow, layer: tool.LayerMode},
		{name: "dontAsk", tool: edit, in: path("a.txt"), mode: ModeDontAsk, want: tool.Deny, layer: tool.LayerDefault},
		{name: "dontAsk and ask rules", tool: read, in: path("a.txt"), ask: list{"Read"}, mode: ModeDontAsk, want: tool.Deny, layer: tool.LayerAskRule},
		{name: "dontAsk and allow rules", tool: edit, in: path("a.txt"), allow: list{"Edit(a.txt)"}, mode: ModeDontAsk, want: tool.Allow, layer: tool.LayerAllowRule},
		{name: "manual is default", tool: read, in: path("a.txt"), mode: "manual", want: tool.Allow, layer: tool.LayerDefault},
		{name: "address", tool: fetch, in: anyInput{URL: "https://example.com/x"}, want: tool.Ask, layer: tool.LayerDefault},
		{name: "address by rule", tool: fetch, in: anyInput{URL: "https://api.example.com/x"}, allow: list{"WebFetch(domain:*.example.com)"}, want: tool.Allow, layer: tool.LayerAllowRule},
		{name: "address denied", tool: fetch, in: anyInput{URL: "https://x.internal/"}, allow: list{"WebFetch"}, deny: list{"WebFetch(domain:*.internal)"}, want: tool.Deny, layer: tool.LayerDenyRule},
		{name: "address that cannot be read", tool: fetch, in: anyInput{URL: "http://example.com\\@x/"}, allow: list{"WebFetch(domain:example.com)"}, want: tool.Ask, layer: tool.LayerDefault},
		{name: "agent", tool: agent, in: anyInput{Name: "reviewer"}, allow: list{"Task(reviewer)"}, want: tool.Allow, layer: tool.LayerAllowRule},
		{name: "other agent", tool: agent, in: anyInput{Name: "writer"}, allow: list{"Agent(reviewer)"}, want: tool.Ask, layer: tool.LayerDefault},
		{name: "parameter", tool: agent, in: anyInput{Name: "x", Model: "opus"}, allow: list{"Agent"}, deny: list{"Agent(model:opus)"}, want: tool.Deny, layer: tool.LayerDenyRule},
		{name: "parameter not given", tool: agent, in: anyInput{Name: "x"}, allow: list{"Agent"}, deny: list{"Agent(model:*)"}, want: tool.Allow, layer: tool.LayerAllowRule},
		{name: "parameters open nothing", tool: agent, in: anyInput{Name: "x", Model: "opus"}, allow: list{"Agent(model:opus)"}, want: tool.Ask, layer: tool.LayerDefault},
		{name: "skill with arguments", tool: skill, in: anyInput{Name: "commit", Args: "-m x"}, allow: list{"Skill(commit *)"}, want: tool.Allow, layer: tool.LayerAllowRule},
		{name: "skill alone", tool: skill, in: anyInput{Name: "commit", Args: "-m x"}, allow: list{"Skill(commit)"}, want: tool.Ask, layer: tool.LayerDefault},
		{name: "server", tool: mcp, allow: list{"mcp__my_server"}, want: tool.Allow, layer: tool.LayerAllowRule},
		{name: "server as it calls itself", tool: mcp, allow: list{"mcp__my.server__get x"}, want: tool.Allow, layer: tool.LayerAllowRule},
		{name: "tools of a server", tool: mcp, allow: list{"mcp__my_server__get_*"}, want: tool.Allow, layer: tool.LayerAllowRule},
		{name: "no globs over servers", tool: mcp, allow: list{"mcp__*", "*", "mcp__my*"}, want: tool.Ask, layer: tool.LayerDefault},
		{name: "globs deny", tool: mcp, allow: list{"mcp__my_server"}, deny: list{"mcp__*"}, want: tool.Deny, layer: tool.LayerDenyRule},
		{name: "everything denied", tool: state, deny: list{"*"}, want: tool.Deny, layer: tool.LayerDenyRule},
		{name: "own check allows", tool: state, want: tool.Allow, layer: tool.LayerTool},
		{name: "own check asks", tool: asks, allow: list{"Asks"}, mode: ModeAcceptEdits, want: tool.Ask, layer: tool.LayerTool},
		{name: "bypass answers for the tool", tool: asks, mode: ModeBypass, want: tool.Allow, layer: tool.LayerMode},
		{name: "own check refuses", tool: refuses, allow: list{"Refuses"}, mode: ModeBypass, want: tool.Deny, layer: tool.LayerTool},
		{name: "questions to a person", tool: ask, allow: list{"AskUserQuestion"}, mode: ModeBypass, want: tool.Ask, layer: tool.LayerTool},
		{name: "questions in dontAsk", tool: ask, allow: list{"AskUserQuestion"}, mode: ModeDontAsk, want: tool.Deny, layer: tool.LayerTool},
		{name: "subjects that panic", tool: broken, allow: list{"Odd"}, mode: ModeBypass, want: tool.Ask, layer: tool.LayerAskRule},
		{name: "exception inside one source", tool: read, in: path("src/x.go"), deny: list{"Read(*.go)", "Read(!src/x.go)"}, want: tool.Allow, layer: tool.LayerDefault},
		{name: "exception alone", tool: read, in: path("src/x.go"), deny: list{"Read(!src/x.go)"}, want: tool.Allow, layer: tool.LayerDefault},
		{name: "parentheses in a path", tool: edit, in: path("a (1).txt"), allow: list{"Edit(a (1).txt)"}, want: tool.Allow, layer: tool.LayerAllowRule},
		{name: "NUL in a rule", tool: edit, in: path("a.txt"), allow: list{"Edit\x00", "Edit(a.txt\x00)"}, want: tool.Ask, layer: tool.LayerDefault},
		{name: "text after the rule", tool: edit, in: path("a.txt"), allow: list{"Edit(a.txt) x"}, want: tool.Ask, layer: tool.LayerDefault},
		{name: "a path with NUL", tool: read, in: path("a\x00b"), want: tool.Ask, layer: tool.LayerDefault},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := s.decide(t, s.policy(c.allow, c.ask, c.deny), c.tool, c.in, mode(c.mode))
			if d.Behavior != c.want || d.Reason.Layer != c.layer {
				t.Errorf("got %s by %s, want %s by %s: %+v", d.Behavior, d.Reason.Layer, c.want, c.layer, d.Reason)
			}
			if d.Reason.Message == "" || d.Reason.Phase == "" || len(d.Parts) == 0 {
				t.Errorf("the decision does not explain itself: %+v", d)
			}
		})
	}
}

func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	s := newScratch(t)
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(s.at.Cwd, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("../.env", "src/l")
	link(filepath.Join(s.dir, "out"), "outdir")
	link(filepath.Join(s.dir, "out/new"), "dangling")
	link(".git", "nice")
	cases := []struct {
		name        string
		tool        tool.Tool
		path        string
		allow, deny []string
		mode        Mode
		want        tool.Behavior
	}{
		{"a link to a denied file", readTool("Read"), "src/l", nil, []string{"Read(./.env)"}, "", tool.Deny},
		{"a link that leads out", readTool("Read"), "outdir/y", nil, nil, "", tool.Ask},
		{"writing through it", editTool("Edit"), "outdir/new", nil, nil, ModeAcceptEdits, tool.Ask},
		{"a rule for the given name only", editTool("Edit"), "outdir/new", []string{"Edit(outdir/**)"}, nil, "", tool.Ask},
		{"a link to nothing", editTool("Edit"), "dangling", nil, nil, ModeAcceptEdits, tool.Ask},
		{"a link to a protected folder", editTool("Edit"), "nice/config", nil, nil, ModeBypass, tool.Ask},
	}
	for _, c := range cases {
		d := s.decide(t, s.policy(c.allow, nil, c.deny), c.tool, anyInput{Path: c.path}, mode(c.mode))
		if d.Behavior != c.want {
			t.Errorf("%s: got %s, want %s: %s", c.name, d.Behavior, c.want, d.Reason.Message)
		}
	}
}

func TestResultsAreReadable(t *testing.T) {
	s := newScratch(t)
	results := filepath.Join(s.dir, "results")
	env := func(r *Request) { r.Env = &tool.Env{ResultsDir: results, Place: s.at} }
	in := anyInput{Path: filepath.Join(results, "r1.txt")}
	if d := s.decide(t, s.policy(nil, nil, nil), readTool("Read"), in, env); d.Behavior != tool.Allow {
		t.Errorf("a result cannot be read: %s", d.Reason.Message)
	}
	if d := s.decide(t, s.policy(nil, nil, nil), editTool("Edit"), in, env); d.Behavior != tool.Ask {
		t.Errorf("a result can be written: %s", d.Behavior)
	}
	in.Path = filepath.Join(results, "../out/y")
	if d := s.decide(t, s.policy(nil, nil, nil), readTool("Read"), in, env); d.Behavior != tool.Ask {
		t.Errorf("a way out of the results is open: %s", d.Behavior)
	}
}

func TestHooks(t *testing.T) {
	s := newScratch(t)
	yes := &tool.Reason{Message: "the hook says yes"}
	allow := func(m Mode) func(*Request) { return func(r *Request) { r.Mode, r.HookAllow = m, yes } }
	edit := editTool("Edit")
	cases := []struct {
		name string
		path string
		deny []string
		ask  []string
		req  func(*Request)
		want tool.Behavior
	}{
		{"stands in for a rule", "a.txt", nil, nil, allow(""), tool.Allow},
		{"passes no deny rule", "a.txt", []string{"Edit(a.txt)"}, nil, allow(""), tool.Deny},
		{"passes no ask rule", "a.txt", nil, []string{"Edit(a.txt)"}, allow(""), tool.Ask},
		{"passes no safety check", ".git/config", nil, nil, allow(ModeBypass), tool.Ask},
		{"counts in dontAsk", "a.txt", nil, nil, allow(ModeDontAsk), tool.Allow},
		{"does not end plan mode", "a.txt", nil, nil, allow(ModePlan), tool.Ask},
		{"asks", "a.txt", nil, nil, func(r *Request) { r.HookAsk, r.Mode = &tool.Reason{}, ModeBypass }, tool.Ask},
		{"asks, a rule denies", "a.txt", []string{"Edit"}, nil, func(r *Request) { r.HookAsk = &tool.Reason{} }, tool.Deny},
	}
	for _, c := range cases {
		d := s.decide(t, s.policy(nil, c.ask, c.deny), edit, anyInput{Path: c.path}, c.req)
		if d.Behavior != c.want {
			t.Errorf("%s: got %s, want %s (%s)", c.name, d.Behavior, c.want, d.Reason.Message)
		}
	}
}

func TestRefusalsSayWhatWhoAndWhatElse(t *testing.T) {
	s := newScratch(t)
	d := s.decide(t, s.policy(nil, nil, []string{"Read(./.env)"}), readTool("Read"), anyInput{Path: ".env"}, nil)
	for _, want := range []string{".env", "Read(./.env)", "settings.json", "ask the user"} {
		if !strings.Contains(d.Reason.Message, want) {
			t.Errorf("%q is missing in %q", want, d.Reason.Message)
		}
	}
	if d.Reason.Source != string(settings.ProjectSettings) || d.Reason.Rule != "Read(./.env)" || d.Reason.File == "" {
		t.Errorf("the reason does not name its rule: %+v", d.Reason)
	}
	d = s.decide(t, s.policy(nil, nil, nil), editTool("Edit"), anyInput{Path: "a.txt"}, mode(ModeDontAsk))
	for _, want := range []string{"a.txt", "dontAsk", "Edit("} {
		if !strings.Contains(d.Reason.Message, want) {
			t.Errorf("%q is missing in %q", want, d.Reason.Message)
		}
	}
}

func TestNoCall(t *testing.T) {
	if d := New(Config{}).Decide(context.Background(), Request{}); d.Behavior != tool.Deny {
		t.Errorf("got %s", d.Behavior)
	}
}

func TestSubjectsOfARunningCall(t *testing.T) {
	s := newScratch(t)
	p := s.policy([]string{"Bash", "WebFetch(domain:example.com)"}, nil, []string{"WebFetch(domain:evil.org)"})
	call := bash(t, s.at, "npm test")
	for url, want := range map[string]tool.Behavior{"https://example.com/": tool.Allow, "https://evil.org/": tool.Deny, "https://other.org/": tool.Ask} {
		d := p.Decide(context.Background(), Request{Call: call, Subjects: []tool.Subject{tool.URLOf("WebFetch", url)}})
		if d.Behavior != want {
			t.Errorf("%s: got %s, want %s: %s", url, d.Behavior, want, d.Reason.Message)
		}
	}
	d := p.Decide(context.Background(), Request{Call: call, Subjects: []tool.Subject{}})
	if d.Behavior != tool.Ask {
		t.Errorf("a question about nothing: got %s", d.Behavior)
	}
	d = p.Decide(context.Background(), Request{Call: call, Subjects: []tool.Subject{tool.URLOf("WebFetch", "https://other.org/")}, Mode: ModeDontAsk})
	if d.Behavior != tool.Deny {
		t.Errorf("dontAsk: got %s", d.Behavior)
	}
}
