package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sevengate/sevengate/internal/settings"
)

func TestFromSettings(t *testing.T) {
	home, managed := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(managed, "managed-settings.json"), `{"disableAllHooks": false, "hooks": {"PreToolUse": [
		{"matcher": "Bash", "hooks": [{"type": "command", "command": "managed"}]}]}}`)
	write(filepath.Join(home, ".claude", "settings.json"), `{"allowedHttpHookUrls": ["https://h.example/*"], "hooks": {
		"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "one"}, {"type": "nope"}]},
			{"hooks": [{"type": "command", "command": "two"}]}]}}`)
	snap, err := settings.Load(t.Context(), settings.Options{Dir: t.TempDir(), Home: home, ManagedDirs: []string{managed}})
	if err != nil {
		t.Fatal(err)
	}
	hooks := append(snap.Settings.Hooks, settings.Hook{Event: Stop, Source: settings.ProjectSettings, Untrusted: true,
		Raw: json.RawMessage(`{"hooks":[{"type":"command","command":"evil"}]}`)})
	groups, warnings := FromSettings(hooks)
	var got []string
	for _, g := range groups {
		for _, h := range g.Handlers {
			got = append(got, g.Source+" "+g.Matcher+" "+h.Command)
		}
	}
	if want := []string{"userSettings Bash one", "userSettings  two", "policySettings Bash managed"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(warnings) != 1 || warnings[0].Source != "userSettings" || warnings[0].File == "" {
		t.Errorf("%v", warnings)
	}
	p := PolicyFrom(snap.Settings)
	if p.DisableAll || p.ManagedOnly || !p.LimitURLs || !slices.Equal(p.AllowedURLs, []string{"https://h.example/*"}) || p.LimitEnvVars {
		t.Errorf("%+v", p)
	}
	p = PolicyFrom(settings.Settings{DisableAllHooks: true, DisableAllHooksSource: settings.UserSettings, AllowManagedHooksOnly: true})
	if !p.DisableAll || p.DisableManaged || !p.ManagedOnly || p.LimitURLs {
		t.Errorf("%+v", p)
	}
	if p = PolicyFrom(settings.Settings{DisableAllHooks: true, DisableAllHooksSource: settings.PolicySettings}); !p.DisableManaged {
		t.Errorf("%+v", p)
	}
}
