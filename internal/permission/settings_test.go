package permission

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// load reads real settings files under a scratch tree.
func (s scratch) load(tb testing.TB, files map[string]string) *settings.Snapshot {
	tb.Helper()
	for name, text := range files {
		write(tb, filepath.Join(s.dir, name), text, 0o644)
	}
	snap, err := settings.Load(context.Background(), settings.Options{
		Dir: s.at.Cwd, Home: s.at.Home, StateDir: filepath.Join(s.dir, "state"), ManagedDirs: []string{filepath.Join(s.dir, "managed")},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return snap
}

func (s scratch) with(snap *settings.Snapshot) *Policy {
	return New(Config{Settings: func() *settings.Snapshot { return snap }, Cwd: s.at.Cwd, Home: s.at.Home})
}

func TestTrust(t *testing.T) {
	s := newScratch(t)
	p := s.with(s.load(t, map[string]string{
		"p/.claude/settings.json":    `{"permissions":{"allow":["Edit(a.txt)"],"deny":["Read(.env)"]}}`,
		"home/.claude/settings.json": `{"permissions":{"allow":["Edit(src/**)"]}}`,
	}))
	if d := s.decide(t, p, editTool("Edit"), anyInput{Path: "a.txt"}, nil); d.Behavior != tool.Ask {
		t.Errorf("an allow rule of a folder that is not trusted counts: %s", d.Behavior)
	}
	if d := s.decide(t, p, readTool("Read"), anyInput{Path: ".env"}, nil); d.Behavior != tool.Deny {
		t.Errorf("its deny rule does not: %s", d.Behavior)
	}
	if d := s.decide(t, p, editTool("Edit"), anyInput{Path: "src/x.go"}, nil); d.Behavior != tool.Allow || d.Reason.Source != string(settings.UserSettings) {
		t.Errorf("the user's own rule does not count: %s %+v", d.Behavior, d.Reason)
	}
	if w := p.Warnings(); len(w) == 0 || !strings.Contains(w[0].String(), "not in force") || w[0].Rule != "Edit(a.txt)" {
		t.Errorf("nothing says why the project's rule does not count: %v", w)
	}
}

func TestBrokenSettings(t *testing.T) {
	s := newScratch(t)
	p := s.with(s.load(t, map[string]string{
		"p/.claude/settings.json":    `{"permissions":{"deny":["Read(./.env)"], oops`,
		"home/.claude/settings.json": `{"permissions":{"allow":["Edit(src/**)"]}}`,
	}))
	cases := []struct {
		name string
		tool tool.Tool
		path string
		mode Mode
		want tool.Behavior
	}{
		{"reading inside stays", readTool("Read"), "a.txt", "", tool.Allow},
		{"saved deny rules hold", readTool("Read"), ".env", "", tool.Deny},
		{"an allow rule is not enough", editTool("Edit"), "src/x.go", "", tool.Ask},
		{"nor is a mode", editTool("Edit"), "a.txt", ModeAcceptEdits, tool.Ask},
		{"nor bypass", editTool("Edit"), "a.txt", ModeBypass, tool.Ask},
		{"dontAsk refuses", editTool("Edit"), "src/x.go", ModeDontAsk, tool.Deny},
	}
	for _, c := range cases {
		d := s.decide(t, p, c.tool, anyInput{Path: c.path}, mode(c.mode))
		if d.Behavior != c.want {
			t.Errorf("%s: got %s, want %s: %s", c.name, d.Behavior, c.want, d.Reason.Message)
		}
		if c.want == tool.Ask && !strings.Contains(d.Reason.Message, filepath.Join(s.at.Cwd, ".claude/settings.json")) && c.mode != ModeBypass {
			t.Errorf("%s: the file is not named: %s", c.name, d.Reason.Message)
		}
	}
}

func TestLocks(t *testing.T) {
	s := newScratch(t)
	out := filepath.Join(s.dir, "out/y")
	cases := []struct {
		name, permissions string
		tool              tool.Tool
		path              string
		mode              Mode
		want              tool.Behavior
	}{
		{"bypass switched off", `"disableBypassPermissionsMode":"disable"`, editTool("Edit"), "a.txt", ModeBypass, tool.Ask},
		{"reads outside blocked", `"blockReadsOutsideWorkingDirectories":true`, readTool("Read"), out, ModeBypass, tool.Deny},
		{"reads inside not", `"blockReadsOutsideWorkingDirectories":true`, readTool("Read"), "a.txt", "", tool.Allow},
		{"writes outside blocked", `"blockWritesOutsideWorkingDirectories":true`, editTool("Edit"), out, ModeBypass, tool.Deny},
		{"refusing instead of asking", `"denyInsteadOfPrompting":true`, editTool("Edit"), "a.txt", "", tool.Deny},
		{"an added directory", `"additionalDirectories":["` + filepath.Join(s.dir, "out") + `"]`, readTool("Read"), out, "", tool.Allow},
	}
	for _, c := range cases {
		p := s.with(s.load(t, map[string]string{"home/.claude/settings.json": `{"permissions":{` + c.permissions + `}}`}))
		if d := s.decide(t, p, c.tool, anyInput{Path: c.path}, mode(c.mode)); d.Behavior != c.want {
			t.Errorf("%s: got %s, want %s: %s", c.name, d.Behavior, c.want, d.Reason.Message)
		}
	}
}

func TestBlockedReadsOfCommands(t *testing.T) {
	s := newScratch(t)
	get := rulesOf(s.at.Cwd, []string{"Bash(npm test)", "Bash"}, nil, nil)
	get().Settings.Permissions.BlockReadsOutsideWorkingDirectories = true
	p := New(Config{Settings: get, Cwd: s.at.Cwd, Home: s.at.Home})
	for line, want := range map[string]tool.Behavior{
		"cat a.txt": tool.Allow, "mkdir d": tool.Allow, "cat ../out/y": tool.Ask, "npm test": tool.Ask, `cat "$F"`: tool.Ask, "ls | xargs cat": tool.Ask,
	} {
		if d := s.judge(t, p, line, ModeBypass); d.Behavior != want {
			t.Errorf("%s: got %s, want %s: %s", line, d.Behavior, want, d.Reason.Message)
		}
	}
}

func TestBypassMustBeAvailable(t *testing.T) {
	s := newScratch(t)
	d := s.decide(t, s.policy(nil, nil, nil), editTool("Edit"), anyInput{Path: "a.txt"}, func(r *Request) { r.Mode, r.BypassAvailable = ModeBypass, false })
	if d.Behavior != tool.Ask {
		t.Errorf("got %s", d.Behavior)
	}
}

func TestSupervisedAgentsAskForEverything(t *testing.T) {
	s := newScratch(t)
	for _, change := range []func(*Request){
		func(r *Request) { r.ForceAsk = true },
		func(r *Request) { r.Env = &tool.Env{ForcePermission: true} },
	} {
		if d := s.decide(t, s.policy([]string{"Read"}, nil, nil), readTool("Read"), anyInput{Path: "a.txt"}, change); d.Behavior != tool.Ask {
			t.Errorf("got %s", d.Behavior)
		}
	}
}

func TestManagedRulesOnly(t *testing.T) {
	s := newScratch(t)
	snap := s.load(t, map[string]string{
		"managed/managed-settings.json": `{"allowManagedPermissionRulesOnly":true,"permissions":{"allow":["Edit(src/**)"]}}`,
		"home/.claude/settings.json":    `{"permissions":{"allow":["Edit(a.txt)"]}}`,
	})
	p := New(Config{Settings: func() *settings.Snapshot { return snap }, Cwd: s.at.Cwd, Home: s.at.Home, Allowed: []string{"Edit(b.txt)"}, Disallowed: []string{"Edit(src/no)"}})
	p.SetCommandRules([]string{"Edit(d.txt)"})
	for path, want := range map[string]tool.Behavior{
		"a.txt": tool.Ask, "b.txt": tool.Ask, "d.txt": tool.Ask, "src/x.go": tool.Allow, "src/no": tool.Deny,
	} {
		d := s.decide(t, p, editTool("Edit"), anyInput{Path: path}, nil)
		if d.Behavior != want {
			t.Errorf("%s: got %s, want %s", path, d.Behavior, want)
		}
		if len(d.Suggestions) != 0 {
			t.Errorf("%s: a rule is offered that cannot be saved: %v", path, d.Suggestions)
		}
	}
	if err := p.AddSession(tool.Allow, "Edit"); err == nil {
		t.Error("a session rule was added")
	}
	if _, err := p.Save(tool.Allow, "Edit"); err == nil {
		t.Error("a rule was saved")
	}
}

func TestRulesOfTheSession(t *testing.T) {
	s := newScratch(t)
	p := New(Config{Cwd: s.at.Cwd, Home: s.at.Home, Allowed: SplitRules("Edit(cli.txt)"), Disallowed: SplitRules("Edit(no.txt),WebFetch")})
	judge := func(path string) tool.Behavior {
		return s.decide(t, p, editTool("Edit"), anyInput{Path: path}, nil).Behavior
	}
	if judge("cli.txt") != tool.Allow || judge("no.txt") != tool.Deny {
		t.Error("the rules of the command line do not count")
	}
	p.SetCommandRules([]string{"Edit(turn.txt)", "broken("})
	if judge("turn.txt") != tool.Allow {
		t.Error("the rules of a command do not count")
	}
	p.SetCommandRules(nil)
	if judge("turn.txt") != tool.Ask {
		t.Error("the rules of a command outlive it")
	}
	if err := p.AddSession(tool.Allow, "Edit(s.txt)"); err != nil || judge("s.txt") != tool.Allow {
		t.Errorf("a session rule does not count (%v)", err)
	}
	if err := p.AddSession(tool.Deny, "Edit(s.txt)"); err != nil || judge("s.txt") != tool.Deny {
		t.Errorf("a session refusal does not count (%v)", err)
	}
	for _, bad := range []struct {
		b    tool.Behavior
		rule string
	}{{tool.Allow, "Edit("}, {tool.Allow, "mcp__*"}, {"maybe", "Edit"}, {tool.Allow, ""}} {
		if err := p.AddSession(bad.b, bad.rule); err == nil {
			t.Errorf("%s %q was added", bad.b, bad.rule)
		}
	}
	if _, ok := p.DeniesTool("WebFetch", fetchTool().Facts()); !ok {
		t.Error("a bare deny rule does not take the tool away")
	}
	if _, ok := p.DeniesTool("Edit", editTool("Edit").Facts()); ok {
		t.Error("a scoped deny rule takes the tool away")
	}
}

func TestSettingsCountFromTheNextCall(t *testing.T) {
	s := newScratch(t)
	get := rulesOf(s.at.Cwd, []string{"Edit(a.txt)"}, nil, nil)
	p := New(Config{Settings: func() *settings.Snapshot { return get() }, Cwd: s.at.Cwd, Home: s.at.Home})
	if d := s.decide(t, p, editTool("Edit"), anyInput{Path: "a.txt"}, nil); d.Behavior != tool.Allow {
		t.Fatalf("got %s", d.Behavior)
	}
	get = rulesOf(s.at.Cwd, nil, nil, []string{"Edit(a.txt)"})
	if d := s.decide(t, p, editTool("Edit"), anyInput{Path: "a.txt"}, nil); d.Behavior != tool.Deny {
		t.Errorf("got %s", d.Behavior)
	}
}

func TestReadDenied(t *testing.T) {
	s := newScratch(t)
	p := s.policy(nil, nil, []string{"Read(**/.env*)", "Edit(src/**)"})
	for path, want := range map[string]bool{".env": true, "src/.env.local": true, "a.txt": false, "src/x.go": false} {
		if got := p.ReadDenied(filepath.Join(s.at.Cwd, path)); got != want {
			t.Errorf("%s: got %v", path, got)
		}
	}
	if s.policy(nil, nil, nil).ReadDenied(filepath.Join(s.at.Cwd, ".env")) {
		t.Error("something is denied without rules")
	}
	if s.policy(nil, nil, []string{"Edit(src/**)", "Bash(ls)"}).ReadDenials() != nil {
		t.Error("rules that deny no reading cost a question for every path")
	}
	denials, all := p.ReadDenials(), s.policy(nil, nil, []string{"Read"}).ReadDenials()
	for path, want := range map[string]bool{".env": true, "a.txt": false} {
		path = filepath.Join(s.at.Cwd, path)
		if denials(path, fs.ModeIrregular) != want || denials(path, 0) != want || !all(path, 0) {
			t.Errorf("%s: got %v, %v, %v", path, denials(path, fs.ModeIrregular), denials(path, 0), all(path, 0))
		}
	}
	if err := p.AddSession(tool.Deny, "Read(a.txt)"); err != nil {
		t.Fatal(err)
	}
	if path := filepath.Join(s.at.Cwd, "a.txt"); denials(path, 0) || !p.ReadDenials()(path, 0) {
		t.Error("denials must be those of the moment in which they were asked for")
	}
}

type store struct {
	rules []string
	err   error
}

func (s *store) AddRule(source settings.Source, b settings.Behavior, rule string) (settings.Saved, error) {
	s.rules = append(s.rules, string(source)+" "+string(b)+" "+rule)
	return settings.Saved{File: "f", Changed: true}, s.err
}

func TestSave(t *testing.T) {
	st := &store{}
	p := New(Config{Store: st})
	if saved, err := p.Save(tool.Allow, "Bash(go test:*)"); err != nil || saved.File != "f" {
		t.Fatal(saved, err)
	}
	if want := []string{"localSettings allow Bash(go test:*)"}; !slices.Equal(st.rules, want) {
		t.Errorf("got %q", st.rules)
	}
	st.err = errors.New("disk full")
	if _, err := p.Save(tool.Allow, "Bash"); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v", err)
	}
	if _, err := New(Config{}).Save(tool.Allow, "Bash"); err == nil {
		t.Error("a rule was saved nowhere")
	}
}

func TestWarnings(t *testing.T) {
	get := rulesOf("/p", []string{"Bash(git * main)", "Edit(src/**)", "mcp__*", "Write(src/**)", "Bash(ls) x", "Read(/x)", "Bash(rm foo)"},
		nil, []string{"Bsah(ls)", "Bash(command:rm *)", "Edit", "mcp__any__thing", "Bash(git:* push)", "WebFetch(example.com)", "Bash(rm:*)"})
	p := New(Config{Settings: get, Cwd: "/p", Home: "/h", ToolNames: func() []string { return []string{"Bash", "Read", "Edit", "Write", "WebFetch"} }})
	var all []string
	for _, w := range p.Warnings() {
		all = append(all, w.String())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{
		"settings.json:1: Bash(git * main): the * stands", "settings.json:2: Edit(src/**): it never comes into play",
		"mcp__*: skipped", "Write(src/**): path rules of Write are never consulted", "Bash(ls) x: skipped",
		"Bsah(ls): there is no tool named Bsah; did you mean Bash?", `Bash(command:rm *): skipped: the field "command"`,
		`Bash(git:* push): ":*" counts`, "WebFetch(example.com): skipped", "Bash(rm foo): it never comes into play",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	for _, not := range []string{"mcp__any__thing", "Read(/x)"} {
		if strings.Contains(text, not) {
			t.Errorf("there is a warning about %s:\n%s", not, text)
		}
	}
}

func TestCheckTests(t *testing.T) {
	s := newScratch(t)
	snap := rulesOf(s.at.Cwd, []string{"Edit(a.txt)"}, nil, nil)()
	snap.Settings.Permissions.Tests = []settings.Test{
		{Call: json.RawMessage(`{"file_path":"a.txt"}`), Expect: "allow"},
		{Call: json.RawMessage(`{"file_path":"b.txt"}`), Expect: "allow"},
		{Call: json.RawMessage(`[]`), Expect: "allow"},
	}
	got := s.with(snap).CheckTests(context.Background(), func(x settings.Test) (*tool.Call, Mode, error) {
		call, err := editTool("Edit").Bind(x.Call, s.at)
		return call, ModeDefault, err
	})
	if len(got) != 3 || !got[0].Passed || got[1].Passed || got[1].Error == "" || got[2].Passed || got[2].Error == "" {
		t.Errorf("got %+v", got)
	}
}
