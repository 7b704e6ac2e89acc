package settings

import (
	"encoding/json"
	"slices"
	"strings"
)

// merge joins the values that two levels give for one key: objects by their keys, lists one after the other without
// duplicates, and for anything else the stronger.
func merge(strong, weak any) any {
	if weak == nil {
		return strong
	}
	switch s := strong.(type) {
	case nil:
		return weak
	case map[string]any:
		w, ok := weak.(map[string]any)
		if !ok {
			return strong
		}
		out := make(map[string]any, len(s)+len(w))
		for key, v := range w {
			out[key] = v
		}
		for key, v := range s {
			out[key] = merge(v, w[key])
		}
		return out
	case []any:
		w, ok := weak.([]any)
		if !ok {
			return strong
		}
		return distinct(append(slices.Clone(s), w...))
	}
	return strong
}

func distinct(list []any) []any {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(v any) bool {
		raw, err := json.Marshal(v)
		if err != nil {
			return true
		}
		known := seen[string(raw)]
		seen[string(raw)] = true
		return known
	})
}

// wholeKeys are lists that levels do not add to: the strongest one is used.
var wholeKeys = []string{"fallbackModel", "availableModels"}

// combine makes the typed view from the documents, the strongest first. Entries are marked as held by the caller.
func combine(docs []*document, trust Trust) Settings {
	var s Settings
	merged := map[string]any{}
	excluded := strictSandbox(docs)
	for _, d := range docs {
		values := d.values
		if excluded && fromRepository(d.source) {
			values = without(values, "sandbox", "excludedCommands")
		}
		for key, v := range values {
			if have, ok := merged[key]; ok && slices.Contains(wholeKeys, key) {
				v = have
			} else {
				v = merge(have, v)
			}
			merged[key] = v
		}
		s.Permissions.Allow = append(s.Permissions.Allow, d.lists[Allow]...)
		s.Permissions.Ask = append(s.Permissions.Ask, d.lists[Ask]...)
		s.Permissions.Deny = append(s.Permissions.Deny, d.lists[Deny]...)
		s.Permissions.AdditionalDirectories = append(s.Permissions.AdditionalDirectories, d.dirs...)
		s.Permissions.Tests = append(s.Permissions.Tests, d.tests...)
		for _, h := range d.hooks {
			h.Untrusted = d.repository && !trust.Trusted
			s.Hooks = append(s.Hooks, h)
		}
		s.addEnv(d, trust)
	}
	for _, list := range []*[]Entry{&s.Permissions.Allow, &s.Permissions.Ask, &s.Permissions.Deny, &s.Permissions.AdditionalDirectories} {
		*list = distinctEntries(*list)
	}
	slices.SortFunc(s.Env, func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) })
	s.stricter(docs, merged)
	s.typed(docs, merged)
	delete(merged, "permissions")
	delete(merged, "env")
	s.merged = merged
	return s
}

// distinctEntries leaves out a text that the same source already gave for the same folder.
func distinctEntries(list []Entry) []Entry {
	type key struct {
		text, dir, held string
		source          Source
	}
	seen := make(map[key]bool, len(list))
	return slices.DeleteFunc(list, func(e Entry) bool {
		k := key{e.Text, e.Dir, e.Held, e.Source}
		known := seen[k]
		seen[k] = true
		return known
	})
}

func (s *Settings) addEnv(d *document, trust Trust) {
	env, _ := d.values["env"].(map[string]any)
	known := make(map[string]bool, len(s.Env))
	for _, e := range s.Env {
		known[e.Name] = true
	}
	for name, v := range env {
		if known[name] {
			continue
		}
		value, _ := v.(string)
		s.Env = append(s.Env, EnvVar{name, value, d.source, d.path, d.repository && !trust.Trusted})
	}
}

// stricter settles the keys where the careful value of any level holds.
func (s *Settings) stricter(docs []*document, merged map[string]any) {
	anywhere := func(want any, sources []Source, path ...string) bool {
		return slices.ContainsFunc(docs, func(d *document) bool {
			v, ok := lookup(d.values, path)
			return ok && v == want && (sources == nil || slices.Contains(sources, d.source))
		})
	}
	p := &s.Permissions
	p.DisableBypassPermissionsMode = anywhere(disabled, nil, "permissions", "disableBypassPermissionsMode")
	p.DisableAutoMode = anywhere(disabled, nil, "permissions", "disableAutoMode") || anywhere(disabled, nil, "disableAutoMode")
	p.BlockReadsOutsideWorkingDirectories = anywhere(true, nil, "permissions", "blockReadsOutsideWorkingDirectories")
	p.BlockWritesOutsideWorkingDirectories = anywhere(true, nil, "permissions", "blockWritesOutsideWorkingDirectories")
	for _, key := range []string{"disableClaudeAiConnectors", "isolatePeerMachines"} {
		if anywhere(true, nil, key) {
			merged[key] = true
		}
	}
	if anywhere(false, []Source{ProjectSettings, LocalSettings}, "remoteControlAtStartup") {
		merged["remoteControlAtStartup"] = false
	}
	for _, key := range []string{"useAutoModeDuringPlan", "syncClaudeAiSkills"} {
		if anywhere(false, nil, key) { // a project's own was dropped before
			merged[key] = false
		}
	}
	for _, step := range []string{"refuse", "hold", "accept"} {
		if anywhere(step, nil, "crossSessionInbound") {
			merged["crossSessionInbound"] = step
			break
		}
	}
	for _, path := range [][]string{{"sandbox", "network", "allowManagedDomainsOnly"}, {"sandbox", "filesystem", "allowManagedReadPathsOnly"}} {
		if anywhere(true, []Source{PolicySettings}, path...) {
			store(merged, path, true)
		}
	}
}

// typed fills the fields whose value is the strongest level's.
func (s *Settings) typed(docs []*document, merged map[string]any) {
	flag := func(path ...string) bool {
		v, _ := lookup(merged, path)
		b, _ := v.(bool)
		return b
	}
	s.AllowManagedPermissionRulesOnly = flag("allowManagedPermissionRulesOnly")
	s.AllowManagedHooksOnly = flag("allowManagedHooksOnly")
	s.DisableAllHooks = flag("disableAllHooks")
	s.DisableAllHooksSource = sourceOf(docs, "disableAllHooks")
	s.Permissions.DenyInsteadOfPrompting = flag("permissions", "denyInsteadOfPrompting")
	s.Model, _ = merged["model"].(string)
	mode, _ := lookup(merged, []string{"permissions", "defaultMode"})
	s.Permissions.DefaultMode, _ = mode.(string)
	s.Permissions.DefaultModeSource = sourceOf(docs, "permissions", "defaultMode")
}

func sourceOf(docs []*document, path ...string) Source {
	for _, d := range docs {
		if _, ok := lookup(d.values, path); ok {
			return d.source
		}
	}
	return ""
}

// strictSandbox reports whether an administrator or the command line keeps commands in the sandbox, so that a
// repository may not name commands to run outside.
func strictSandbox(docs []*document) bool {
	return slices.ContainsFunc(docs, func(d *document) bool {
		if d.source != PolicySettings && d.source != FlagSettings {
			return false
		}
		inside, ok := lookup(d.values, []string{"sandbox", "allowUnsandboxedCommands"})
		only, _ := lookup(d.values, []string{"sandbox", "network", "allowManagedDomainsOnly"})
		return ok && inside == false || d.source == PolicySettings && only == true
	})
}

// without copies the way to a value and leaves the value out.
func without(values map[string]any, path ...string) map[string]any {
	out := make(map[string]any, len(values))
	for key, v := range values {
		if key == path[0] {
			m, ok := v.(map[string]any)
			if len(path) == 1 {
				continue
			}
			if ok {
				v = without(m, path[1:]...)
			}
		}
		out[key] = v
	}
	return out
}

func fromRepository(s Source) bool { return s == ProjectSettings || s == LocalSettings }
