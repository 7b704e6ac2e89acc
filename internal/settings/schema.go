package settings

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

type kind uint8

const (
	anyKind kind = iota
	boolKind
	textKind
	numberKind
	textsKind
	listKind
	objectKind
)

// kinds are the known keys and what their values must be. Unknown keys pass as they are.
func kinds() map[string]kind {
	return map[string]kind{
		"model": textKind, "agent": textKind, "language": textKind, "plansDirectory": textKind,
		"env": objectKind, "sandbox": objectKind, "worktree": objectKind, "autoMode": objectKind,
		"disableAllHooks": boolKind, "allowManagedHooksOnly": boolKind, "allowManagedPermissionRulesOnly": boolKind,
		"allowManagedMcpServersOnly": boolKind, "disableAutoMode": textKind,
		"allowedHttpHookUrls": textsKind, "httpHookAllowedEnvVars": textsKind,
		"enableAllProjectMcpServers": boolKind, "enabledMcpjsonServers": textsKind, "disabledMcpjsonServers": textsKind,
		"allowedMcpServers": listKind, "deniedMcpServers": listKind,
		"disableClaudeAiConnectors": boolKind, "isolatePeerMachines": boolKind, "useAutoModeDuringPlan": boolKind,
		"fileCheckpointingEnabled": boolKind, "respectGitignore": boolKind, "skipWebFetchPreflight": boolKind,
		"disableCommandPluginSources": boolKind, "disableSkillShellExecution": boolKind, "cleanupPeriodDays": numberKind,
		"permissions.defaultMode":                          textKind,
		"permissions.disableBypassPermissionsMode":         textKind,
		"permissions.disableAutoMode":                      textKind,
		"permissions.blockReadsOutsideWorkingDirectories":  boolKind,
		"permissions.blockWritesOutsideWorkingDirectories": boolKind,
		"permissions.denyInsteadOfPrompting":               boolKind,
		"sandbox.enabled":                                  boolKind, "sandbox.failIfUnavailable": boolKind,
		"sandbox.autoAllowBashIfSandboxed": boolKind, "sandbox.allowUnsandboxedCommands": boolKind,
		"sandbox.enableWeakerNestedSandbox": boolKind, "sandbox.enableWeakerNetworkIsolation": boolKind,
		"sandbox.excludedCommands": textsKind, "sandbox.filesystem": objectKind, "sandbox.network": objectKind,
		"sandbox.credentials": objectKind, "sandbox.filesystem.disabled": boolKind,
		"sandbox.filesystem.allowWrite": textsKind, "sandbox.filesystem.denyWrite": textsKind,
		"sandbox.filesystem.allowRead": textsKind, "sandbox.filesystem.denyRead": textsKind,
		"sandbox.filesystem.allowManagedReadPathsOnly": boolKind,
		"sandbox.network.allowedDomains":               textsKind, "sandbox.network.deniedDomains": textsKind,
		"sandbox.network.strictAllowlist": boolKind, "sandbox.network.allowManagedDomainsOnly": boolKind,
	}
}

// locks are keys that close a door: a value that cannot be read counts as the closed one (given here).
func locks() map[string]any {
	return map[string]any{
		"allowManagedHooksOnly": true, "allowManagedMcpServersOnly": true, "allowManagedPermissionRulesOnly": true,
		"disableCommandPluginSources": true, "enforceAvailableModels": true, "disableAutoMode": disabled,
		"allowedMcpServers": []any{}, "availableModels": []any{},
		"permissions.disableBypassPermissionsMode": disabled, "permissions.disableAutoMode": disabled,
		"permissions.blockReadsOutsideWorkingDirectories": true, "permissions.blockWritesOutsideWorkingDirectories": true,
		"permissions.denyInsteadOfPrompting": true, "sandbox.enabled": true, "sandbox.failIfUnavailable": true,
		"sandbox.allowUnsandboxedCommands": false, "sandbox.filesystem.disabled": false,
		"sandbox.filesystem.allowManagedReadPathsOnly": true, "sandbox.network.strictAllowlist": true,
		"sandbox.network.allowManagedDomainsOnly": true,
	}
}

// disabled is the one value that the mode locks know.
const disabled = "disable"

// managedOnly are keys that only an administrator may set.
var managedOnly = []string{
	"allowAllClaudeAiMcps", "allowedChannelPlugins", "allowManagedHooksOnly", "allowManagedMcpServersOnly",
	"allowManagedPermissionRulesOnly", "blockedMarketplaces", "channelsEnabled", "disableCommandPluginSources",
	"disableSideloadFlags", "forceRemoteSettingsRefresh", "managedMcpServers", "parentSettingsBehavior", "policyHelper",
	"requiredMinimumVersion", "requiredMaximumVersion", "sshHostAllowlist", "strictKnownMarketplaces",
	"strictPluginOnlyCustomization", "wslInheritsWindowsSettings", "sandbox.filesystem.allowManagedReadPathsOnly",
	"sandbox.network.allowManagedDomainsOnly", "sandbox.bwrapPath", "sandbox.socatPath",
}

// notFromRepository are keys that neither project nor local files may set; notFromProject may stand in a local file.
var (
	notFromRepository = []string{
		"autoMode", "askUserQuestionTimeout", "dialogExpiry", "skipAutoPermissionPrompt", "pluginConfigs", "processWrapper",
		"footerLinksRegexes", "enableArtifact", "spellcheck", "sshConfigs", "vimInsertModeRemaps",
		"sandbox.allowAppleEvents", "sandbox.filesystem.disabled", "sandbox.ripgrep", "sandbox.network.strictAllowlist",
		"sandbox.network.tlsTerminate", "sandbox.credentials.allowPlaintextInject", "sandbox.credentials.awsPairs",
		"sandbox.credentials.sigv4",
	}
	notFromProject = []string{"skipDangerousModePermissionPrompt", "useAutoModeDuringPlan", "syncClaudeAiSkills"}
)

// Variables that "env" may not set: from a repository, and at all.
var (
	envNotFromRepository = []string{
		"CLAUDE_CODE_PROCESS_WRAPPER", "CLAUDE_CODE_SYNC_SKILLS", "CLAUDE_CODE_SYNC_PLUGINS", "CLAUDE_CODE_PLUGIN_CACHE_DIR",
		"CLAUDE_CODE_PLUGIN_SEED_DIR", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR", "TMPDIR", "TMP", "TEMP", "SEVENGATE_HOME",
	}
	envNever = []string{
		"CLAUDE_CODE_REMOTE", "CLAUDE_CODE_ACCOUNT_UUID", "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN",
		"CLAUDE_CODE_PROJECT_DIR_NAME",
	}
)

// modes are the values of permissions.defaultMode; manual is another name of default.
var modes = []string{"default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"}

// clean drops values of the wrong kind and keys that the file's source may not set.
func (d *document) clean(root *hujson.Object) {
	offsets := func(path string) int { return offsetOf(root, strings.Split(path, ".")) }
	closed := locks()
	for path, want := range kinds() {
		parts := strings.Split(path, ".")
		v, ok := lookup(d.values, parts)
		if !ok {
			continue
		}
		good, clean := check(v, want)
		lock, isLock := closed[path]
		if good && want == textKind && lock == disabled && v != disabled {
			good = false
		}
		switch {
		case good:
			if clean != nil {
				d.warn(offsets(path), path, "what is not a string was left out")
				store(d.values, parts, clean)
			}
		case isLock:
			d.warn(offsets(path), path, "not a value that it can have; taken as %v, the careful one", lock)
			store(d.values, parts, lock)
		default:
			d.warn(offsets(path), path, "left out: must be %s", want)
			remove(d.values, parts)
		}
	}
	forbid := func(paths []string, why string) {
		for _, path := range paths {
			parts := strings.Split(path, ".")
			if _, ok := lookup(d.values, parts); ok {
				d.warn(offsets(path), path, "ignored: %s", why)
				remove(d.values, parts)
			}
		}
	}
	if d.source != PolicySettings {
		forbid(managedOnly, "only managed settings may set it")
	}
	if d.source == ProjectSettings || d.source == LocalSettings {
		forbid(notFromRepository, "a repository may not set it")
		d.dropMasks(offsets("sandbox.credentials"))
	}
	if d.source == ProjectSettings {
		forbid(notFromProject, "a project file may not set it")
	}
	d.cleanMode(offsets("permissions.defaultMode"))
	d.cleanEnv(offsets("env"))
}

func (k kind) String() string {
	return [...]string{"any value", "true or false", "a string", "a number", "a list of strings", "a list", "an object"}[k]
}

// check reports whether v is of the kind; clean is a better list if some elements are not.
func check(v any, want kind) (good bool, clean any) {
	switch t := v.(type) {
	case bool:
		return want == boolKind, nil
	case string:
		return want == textKind, nil
	case map[string]any:
		return want == objectKind, nil
	case []any:
		if want != textsKind {
			return want == listKind, nil
		}
		kept := slices.DeleteFunc(slices.Clone(t), func(e any) bool { _, ok := e.(string); return !ok })
		if len(kept) < len(t) {
			return true, kept
		}
		return true, nil
	default:
		return want == numberKind, nil
	}
}

func (d *document) cleanMode(off int) {
	path := []string{"permissions", "defaultMode"}
	v, ok := lookup(d.values, path)
	if !ok {
		return
	}
	mode, _ := v.(string)
	if mode == "manual" {
		mode = "default"
		store(d.values, path, mode)
	}
	repo := d.source == ProjectSettings || d.source == LocalSettings
	switch {
	case !slices.Contains(modes, mode):
		d.warn(off, "permissions.defaultMode", "ignored: %q is no mode; use one of %s", clip(mode), strings.Join(modes, ", "))
	case repo && (mode == "auto" || mode == "bypassPermissions"):
		d.warn(off, "permissions.defaultMode", "ignored: a repository may not start in mode %s", mode)
	default:
		return
	}
	remove(d.values, path)
}

func (d *document) cleanEnv(off int) {
	env, _ := d.values["env"].(map[string]any)
	repo := d.source == ProjectSettings || d.source == LocalSettings
	for name, v := range env {
		upper := strings.ToUpper(name)
		why := ""
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			why = "not a name that a variable can have"
		case slices.Contains(envNever, upper):
			why = "no file may set it"
		case repo && (slices.Contains(envNotFromRepository, upper) || strings.HasPrefix(upper, "OTEL_")):
			why = "a repository may not set it"
		default:
			if s, ok := v.(string); !ok {
				why = "the value must be a string"
			} else if strings.ContainsRune(s, 0) {
				why = "the value contains a NUL byte"
			}
		}
		if why != "" {
			d.warn(off, "env."+clip(name), "left out: %s", why)
			delete(env, name)
		}
	}
}

// dropMasks takes out credentials that a repository wants masked: masking hands the real value to a proxy.
func (d *document) dropMasks(off int) {
	for _, list := range []string{"files", "envVars"} {
		path := []string{"sandbox", "credentials", list}
		v, _ := lookup(d.values, path)
		entries, ok := v.([]any)
		if !ok {
			continue
		}
		for i, e := range entries {
			if m, ok := e.(map[string]any); ok && m["mode"] == "mask" {
				d.warn(off, strings.Join(path, "."), `entry %d: a repository may not set mode "mask"; taken as "deny"`, i)
				m["mode"] = "deny"
			}
		}
	}
}

func lookup(m map[string]any, path []string) (any, bool) {
	for ; len(path) > 1; path = path[1:] {
		next, ok := m[path[0]].(map[string]any)
		if !ok {
			return nil, false
		}
		m = next
	}
	v, ok := m[path[0]]
	return v, ok
}

func store(m map[string]any, path []string, v any) {
	if parent, ok := parentOf(m, path); ok {
		parent[path[len(path)-1]] = v
	}
}

func remove(m map[string]any, path []string) {
	if parent, ok := parentOf(m, path); ok {
		delete(parent, path[len(path)-1])
	}
}

func parentOf(m map[string]any, path []string) (map[string]any, bool) {
	if len(path) == 1 {
		return m, true
	}
	v, _ := lookup(m, path[:len(path)-1])
	parent, ok := v.(map[string]any)
	return parent, ok
}

// offsetOf finds where a value starts; -1 if it is not there.
func offsetOf(object *hujson.Object, path []string) int {
	for i := range object.Members {
		if literal(object.Members[i].Name) != path[0] {
			continue
		}
		v := object.Members[i].Value
		if len(path) == 1 {
			return v.StartOffset
		}
		if next, ok := v.Value.(*hujson.Object); ok {
			return offsetOf(next, path[1:])
		}
	}
	return -1
}
