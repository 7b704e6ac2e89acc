package settings

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a start folder, a home and folders for an administrator, all empty.
type world struct {
	t    *testing.T
	o    Options
	root string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root, o: Options{
		Dir: filepath.Join(root, "proj"), Home: filepath.Join(root, "home"),
		ManagedDirs: []string{filepath.Join(root, "etc/claude-code"), filepath.Join(root, "etc/sevengate")},
	}}
	for _, dir := range []string{w.o.Dir, w.o.Home} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// write puts text at a path whose first element names a folder: proj, home, etc.
func (w *world) write(path, text string) string {
	w.t.Helper()
	full := filepath.Join(w.root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return full
}

func (w *world) load() *Snapshot {
	w.t.Helper()
	s, err := Load(context.Background(), w.o)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) trust() {
	w.t.Helper()
	if err := OpenTrust(filepath.Join(w.o.Home, ownFolder), w.o.Home).SetTrust(w.o.Dir, true); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) git(args ...string) {
	w.t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		w.t.Skip("needs git")
	}
	cmd := exec.Command(git, append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = w.o.Dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func texts(entries []Entry, inForce bool) string {
	var out []string
	for _, e := range entries {
		if e.InForce() == inForce {
			out = append(out, e.Text)
		}
	}
	return strings.Join(out, " ")
}

func notes(list []Problem) string {
	var out []string
	for _, p := range list {
		out = append(out, p.String())
	}
	return strings.Join(out, "\n")
}

func TestPrecedenceAndMerge(t *testing.T) {
	w := newWorld(t)
	w.trust()
	w.write("home/.claude/settings.json", `{"model": "user-c", "permissions": {"allow": ["A", "B"], "deny": ["X"]}, "env": {"V": "user", "W": "user"},
		"sandbox": {"enabled": false, "network": {"allowedDomains": ["a", "b"]}}, "hooks": {"PreToolUse": [{"matcher": "u"}]}, "unknown": 1, "fallbackModel": ["u"]}`)
	w.write("home/.sevengate/settings.json", `{"model": "user-s", "permissions": {"allow": ["B", "C"]}}`)
	w.write("proj/.claude/settings.json", `{"permissions": {"allow": ["P"], "ask": ["Q"]}, "env": {"V": "project"}, "sandbox": {"network": {"allowedDomains": ["b", "c"]}},
		"hooks": {"PreToolUse": [{"matcher": "p"}]}, "toString": {"x": 1}}`)
	w.write("proj/.sevengate/settings.local.json", `{"permissions": {"defaultMode": "acceptEdits"}}`)
	w.write("etc/claude-code/managed-settings.json", `{"sandbox": {"enabled": true}, "permissions": {"deny": ["M"]}, "disableAllHooks": false}`)
	w.write("etc/sevengate/managed-settings.d/20.json", `{"model": "late", "permissions": {"deny": ["/etc/x"]}}`)
	w.write("etc/sevengate/managed-settings.d/10.json", `{"model": "early"}`)
	w.write("etc/sevengate/managed-settings.d/30.txt", `not read`)
	w.o.Flag = `{"fallbackModel": ["f"], "disableAllHooks": true}`
	s := w.load()
	if len(s.Problems)+len(s.Warnings) > 0 {
		t.Errorf("unexpected: %s%s", notes(s.Problems), notes(s.Warnings))
	}
	p := s.Settings.Permissions
	for _, c := range []struct{ got, want string }{
		{s.Settings.Model, "late"},
		{texts(p.Allow, true), "P B C A B"}, // the two Bs start from different folders
		{texts(p.Deny, true), "/etc/x M X"},
		{texts(p.Ask, true), "Q"},
		{p.DefaultMode + " " + string(p.DefaultModeSource), "acceptEdits localSettings"},
		{string(s.Settings.Sandbox()), `{"enabled":true,"network":{"allowedDomains":["b","c","a"]}}`},
		{s.Settings.Env[0].Value + s.Settings.Env[1].Value, "projectuser"},
		{string(s.Settings.Hooks[0].Raw) + string(s.Settings.Hooks[1].Raw), `{"matcher":"p"}{"matcher":"u"}`},
		{string(s.Settings.DisableAllHooksSource), "policySettings"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if s.Settings.DisableAllHooks {
		t.Error("the managed false does not win")
	}
	if raw, _ := s.Settings.Raw("fallbackModel"); string(raw) != `["f"]` {
		t.Errorf("fallbackModel: %s", raw)
	}
	if _, ok := s.Settings.Raw("permissions"); ok {
		t.Error("permissions are found raw")
	}
	for _, e := range p.Deny {
		if e.Source == PolicySettings && (e.Dir != "/" || e.Line != 1 || e.File == "") {
			t.Errorf("%+v", e)
		}
	}
	report := s.Report()
	for _, want := range []string{"policySettings", "found", "absent", "(given inline)", "2 allow, 1 deny, 1 hooks, 2 env", "is trusted"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
}

func TestAnchors(t *testing.T) {
	w := newWorld(t)
	w.o.Flag = w.write("elsewhere/flags.json", `{"permissions": {"deny": ["flag"]}}`)
	for _, f := range []string{"proj/.claude/settings.json", "proj/.sevengate/settings.local.json", "home/.claude/settings.json", "home/.sevengate/settings.json"} {
		w.write(f, `{"permissions": {"deny": ["`+f+`"]}}`)
	}
	want := map[string]string{"flag": "elsewhere", "proj/.claude/settings.json": "proj", "proj/.sevengate/settings.local.json": "proj",
		"home/.claude/settings.json": "home/.claude", "home/.sevengate/settings.json": "home/.sevengate"}
	deny := w.load().Settings.Permissions.Deny
	if len(deny) != len(want) {
		t.Fatalf("%+v", deny)
	}
	for _, e := range deny {
		if e.Dir != filepath.Join(filepath.Dir(w.o.Dir), want[e.Text]) {
			t.Errorf("%s starts from %s", e.Text, e.Dir)
		}
	}
}

func TestJSONC(t *testing.T) {
	w := newWorld(t)
	file := w.write("home/.claude/settings.json", "\xef\xbb\xbf// top\n{\n  \"permissions\": {\n    // why\n    \"deny\": [\n      \"A\", /* b */\n      \"B\",\n    ],\n  },\n}\n")
	s := w.load()
	deny := s.Settings.Permissions.Deny
	if texts(deny, true) != "A B" || deny[1].Line != 7 || deny[0].File != file || len(s.Problems)+len(s.Warnings) > 0 {
		t.Errorf("%+v %s", deny, s.Report())
	}
}

func TestBadEntries(t *testing.T) {
	w := newWorld(t)
	w.write("home/.claude/settings.json", `{
  "permissions": {
    "allow": ["A", 7, "", "x\u0000y"],
    "deny": "One",
    "defaultMode": "bogus",
    "additionalDirectories": 5,
    "tests": [{"call": "Bash(ls)", "expect": "allow"}, {"call": 1}],
    "denyInsteadOfPrompting": "yes",
    "deny": ["Two"]
  },
  "model": 5,
  "allowedHttpHookUrls": ["a", 1],
  "env": {"OK": "1", "BAD": 1, "A=B": "x", "CLAUDE_CODE_REMOTE": "1"},
  "disableAllHooks": "true",
  "allowManagedHooksOnly": true
}`)
	s := w.load()
	p := s.Settings.Permissions
	if texts(p.Allow, true) != "A" || texts(p.Deny, true) != "One Two" || p.DefaultMode != "" || len(p.Tests) != 1 || len(s.Settings.Env) != 1 {
		t.Errorf("%+v %+v", p, s.Settings.Env)
	}
	if !p.DenyInsteadOfPrompting || s.Settings.DisableAllHooks || s.Settings.AllowManagedHooksOnly {
		t.Error("a closing key of a wrong kind must count as closed, another one must be left out")
	}
	all := notes(s.Warnings)
	for _, want := range []string{
		"settings.json:3:20: permissions.allow[1]: left out: must be a string, is a number", "it is empty", "NUL",
		"permissions.deny: must be a list", "bogus", "permissions.additionalDirectories", "permissions.tests[1]", "model: left out: must be a string",
		"allowedHttpHookUrls: what is not a string", "env.BAD", "env.A=B", "env.CLAUDE_CODE_REMOTE", "only managed settings may set it",
		"disableAllHooks: left out: must be true or false",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning %q in\n%s", want, all)
		}
	}
	if len(s.Problems) > 0 || s.Broken(UserSettings) {
		t.Errorf("a bad entry broke the file: %s", notes(s.Problems))
	}
}

func TestBrokenFileKeepsItsDenyIntent(t *testing.T) {
	for name, c := range map[string]struct{ text, deny, ask string }{
		"no end":           {`{"permissions": {"allow": ["Bash"], "deny": ["Read(./.env)", "Bash(rm *)"`, "Read(./.env) Bash(rm *)", ""},
		"no comma":         {`{"permissions": {"deny": ["A" "B"] "ask": ["C"]}}`, "A B", "C"},
		"no bracket":       {`{"permissions": {"deny": ["A", "B", "allow": ["C"], "ask": ["D"]}}`, "A B", "D"},
		"open string":      {"{\"permissions\": {\"deny\": [\"Read(x),\n \"B\"]}}", "Read(x) B", ""},
		"comments":         {`{"permissions": {/* "deny": ["No"] */ "deny": [ // "No"` + "\n" + `"A"]`, "A", ""},
		"top-level list":   {`[{"deny": ["A"]}]`, "A", ""},
		"permissions list": {`{"permissions": [{"deny": ["A"]}]}`, "A", ""},
		"deny is a number": {`{"permissions": {"deny": 5, "ask": ["B"]}}`, "", "B"},
		"prose":            {`{"permissions": {"deny": ["not a rule at all", "A"]`, "A", ""},
		"string":           {`{"permissions": {"deny": "A",,}}`, "A", ""},
		"deep":             {`{"permissions": {"deny": ["A"]}, "x": ` + strings.Repeat("[", 1<<20), "A", ""},
	} {
		w := newWorld(t)
		w.write("proj/.claude/settings.json", c.text)
		s := w.load()
		p := s.Settings.Permissions
		if !s.Broken(ProjectSettings) || s.Broken(UserSettings) || len(s.Problems) == 0 || len(s.AnyBroken()) != 1 {
			t.Errorf("%s: not broken: %s", name, s.Report())
		}
		if texts(p.Deny, true) != c.deny || texts(p.Ask, true) != c.ask || len(p.Allow) > 0 {
			t.Errorf("%s: deny %q ask %q allow %v", name, texts(p.Deny, true), texts(p.Ask, true), p.Allow)
		}
		for _, e := range p.Deny {
			if !e.Salvaged && name != "deny is a number" {
				t.Errorf("%s: %q is not marked as salvaged", name, e.Text)
			}
		}
	}
	w := newWorld(t)
	w.write("home/.claude/settings.json", `{"model": "m", "sandbox": {"enabled": true, "excludedCommands": ["x"]}, "permissions": {"allow": ["A"], "deny": 5,
		"additionalDirectories": ["/"], "defaultMode": "bypassPermissions", "disableAutoMode": "disable"}, "hooks": {"Stop": [{}]}}`)
	if s := w.load().Settings; len(s.Permissions.Allow)+len(s.Permissions.AdditionalDirectories) > 0 || s.Permissions.DefaultMode != "" || !s.Permissions.DisableAutoMode ||
		s.Model != "" || string(s.Sandbox()) != `{"enabled":true}` || len(s.Hooks) != 1 {
		t.Errorf("a broken file opens doors, or loses what closes: %+v", s)
	}
	w = newWorld(t)
	w.write("proj/.claude/settings.json", "{\n  \"a\": 1,\n  \"b\": }\n")
	if s := w.load(); !strings.Contains(notes(s.Problems), "settings.json:3:8: not valid JSON") {
		t.Errorf("no position: %s", notes(s.Problems))
	}
	w = newWorld(t)
	if err := os.MkdirAll(filepath.Join(w.o.Dir, ".claude/settings.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if s := w.load(); !s.Broken(ProjectSettings) || !strings.Contains(notes(s.Problems), "not a regular file") {
		t.Errorf("a folder in place of a file: %s", s.Report())
	}
}

func TestBrokenStrongFilesStop(t *testing.T) {
	for _, text := range []string{"{", "[]", `{"permissions": []}`, `{"permissions": {"deny": 5}}`} {
		w := newWorld(t)
		path := w.write("etc/claude-code/managed-settings.json", text)
		if _, err := Load(context.Background(), w.o); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("managed %s: %v", text, err)
		}
	}
	for _, flag := range []string{"{", "no-such-file.json", `{"permissions": 1}`} {
		w := newWorld(t)
		w.o.Flag = flag
		if _, err := Load(context.Background(), w.o); err == nil {
			t.Errorf("--settings %s passed", flag)
		}
	}
	w := newWorld(t)
	w.write("etc/claude-code/managed-settings.json", `{"allowManagedPermissionRulesOnly": "yes", "allowManagedHooksOnly": 1, "allowedMcpServers": "x", "sandbox": {"enabled": 1, "network": {"strictAllowlist": true}}}`)
	s := w.load().Settings
	if !s.AllowManagedPermissionRulesOnly || !s.AllowManagedHooksOnly || string(s.MCP()["allowedMcpServers"]) != "[]" || string(s.Sandbox()) != `{"enabled":true,"network":{"strictAllowlist":true}}` {
		t.Errorf("mistyped locks do not count as on: %+v %s", s, s.Sandbox())
	}
	w = newWorld(t)
	w.o.Dir = "rel"
	if _, err := Load(context.Background(), w.o); err == nil {
		t.Error("a relative start folder passed")
	}
}

func TestManagedRulesOnly(t *testing.T) {
	w := newWorld(t)
	w.write("etc/sevengate/managed-settings.json", `{"allowManagedPermissionRulesOnly": true, "permissions": {"allow": ["M"]}}`)
	w.write("home/.claude/settings.json", `{"permissions": {"allow": ["U"], "deny": ["D"]}, "allowManagedPermissionRulesOnly": false}`)
	s := w.load()
	p := s.Settings.Permissions
	if texts(p.Allow, true) != "M" || texts(p.Allow, false) != "U" || texts(p.Deny, false) != "D" {
		t.Errorf("%+v", p)
	}
	watcher, err := NewWatcher(context.Background(), w.o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watcher.AddRule(UserSettings, Allow, "Bash(ls)"); err != ErrManagedOnly {
		t.Errorf("a rule was saved: %v", err)
	}
}

func TestKeysOfRepositories(t *testing.T) {
	w := newWorld(t)
	w.trust()
	text := `{"permissions": {"defaultMode": "bypassPermissions"}, "autoMode": {"allow": ["x"]}, "useAutoModeDuringPlan": true,
		"sandbox": {"ripgrep": {"command": "x"}, "excludedCommands": ["docker *"], "credentials": {"envVars": [{"name": "T", "mode": "mask"}], "sigv4": {}}, "filesystem": {"disabled": true}},
		"env": {"TMPDIR": "/x", "tmp": "/x", "OTEL_EXPORTER_OTLP_ENDPOINT": "x", "FINE": "1"}}`
	w.write("proj/.claude/settings.json", text)
	w.write("proj/.claude/settings.local.json", text)
	w.o.Flag = `{"sandbox": {"allowUnsandboxedCommands": false}}`
	s := w.load()
	if s.Settings.Permissions.DefaultMode != "" || len(s.Settings.Env) != 1 {
		t.Errorf("%+v %+v", s.Settings.Permissions, s.Settings.Env)
	}
	want := `{"allowUnsandboxedCommands":false,"credentials":{"envVars":[{"mode":"deny","name":"T"}]},"filesystem":{}}`
	if got := string(s.Settings.Sandbox()); got != want {
		t.Errorf("sandbox %s", got)
	}
	if raw, ok := s.Settings.Raw("autoMode"); ok {
		t.Errorf("autoMode %s", raw)
	}
	if raw, _ := s.Settings.Raw("useAutoModeDuringPlan"); string(raw) != "true" { // the local file may
		t.Errorf("useAutoModeDuringPlan %s", raw)
	}
	w.write("home/.claude/settings.json", `{"permissions": {"defaultMode": "bypassPermissions"}}`)
	if s := w.load(); s.Settings.Permissions.DefaultMode != "bypassPermissions" {
		t.Error("the user's own mode is lost")
	}
	w.write("proj/.claude/settings.json", `{"permissions": {"disableBypassPermissionsMode": "disable"}}`)
	if s := w.load(); s.Settings.Permissions.DefaultMode != "" || !s.Settings.Permissions.DisableBypassPermissionsMode {
		t.Error("the lock of any level must hold")
	}
}

func TestStricterWins(t *testing.T) {
	w := newWorld(t)
	w.trust()
	w.write("etc/sevengate/managed-settings.json", `{"permissions": {"blockReadsOutsideWorkingDirectories": false}, "isolatePeerMachines": false, "crossSessionInbound": "accept"}`)
	w.write("home/.claude/settings.json", `{"useAutoModeDuringPlan": false, "isolatePeerMachines": true, "disableAutoMode": "disable"}`)
	w.write("proj/.claude/settings.json", `{"permissions": {"blockReadsOutsideWorkingDirectories": true}, "crossSessionInbound": "hold"}`)
	w.o.Flag = `{"useAutoModeDuringPlan": true}`
	s := w.load().Settings
	p := s.Permissions
	if !p.BlockReadsOutsideWorkingDirectories || p.BlockWritesOutsideWorkingDirectories || !p.DisableAutoMode {
		t.Errorf("%+v", p)
	}
	for key, want := range map[string]string{"useAutoModeDuringPlan": "false", "isolatePeerMachines": "true", "crossSessionInbound": `"hold"`} {
		if raw, _ := s.Raw(key); string(raw) != want {
			t.Errorf("%s = %s, want %s", key, raw, want)
		}
	}
}

func TestSourcesNarrowed(t *testing.T) {
	w := newWorld(t)
	for _, f := range []string{"home/.claude/settings.json", "proj/.claude/settings.json", "proj/.claude/settings.local.json", "etc/sevengate/managed-settings.json"} {
		w.write(f, `{"permissions": {"deny": ["`+strings.Split(filepath.Base(f), ".")[0]+f[:4]+`"]}}`)
	}
	var err error
	if w.o.Only, err = ParseSources("user, local"); err != nil {
		t.Fatal(err)
	}
	if got := len(w.load().Settings.Permissions.Deny); got != 3 {
		t.Errorf("%d rules", got)
	}
	w.o.Only, _ = ParseSources("")
	if got := w.load().Settings.Permissions.Deny; len(got) != 1 || got[0].Source != PolicySettings {
		t.Errorf("%+v", got)
	}
	if _, err := ParseSources("user,managed"); err == nil {
		t.Error("an unknown source passed")
	}
	// In the home directory the user's file is not the project's as well.
	w.o.Only, w.o.Dir = nil, w.o.Home
	if got := w.load().Settings.Permissions.Deny; slices.ContainsFunc(got, func(e Entry) bool { return e.Source == ProjectSettings }) {
		t.Errorf("%+v", got)
	}
}
