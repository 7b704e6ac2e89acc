// Package settings finds, reads, merges, re-reads and writes the layered settings files, and keeps the record of which
// folders are trusted.
//
// Two families of files are read, of one shape: .sevengate/ and .claude/, in the project, in the home directory and
// where an administrator puts them. Within a level .sevengate wins. JSON may have comments and trailing commas.
//
// A Snapshot is what all files said at one moment. It carries every permission rule with its origin, and marks those
// that wait for trust; it judges no call. What a file says about closing doors is never lost silently: a file that
// cannot be read or parsed is a Problem, its source counts as broken, and its deny and ask rules are saved as far as
// they can be recognised. A managed file that cannot be used stops the program.
package settings

import (
	"encoding/json"
	"slices"
)

// Source names where a setting comes from. The first five are files, the rest live in memory.
type Source string

// The sources. Precedence for single values: policy, flag, local, project, user.
const (
	PolicySettings  Source = "policySettings"  // put there by an administrator
	FlagSettings    Source = "flagSettings"    // --settings
	LocalSettings   Source = "localSettings"   // personal, per repository
	ProjectSettings Source = "projectSettings" // committed
	UserSettings    Source = "userSettings"    // in the home directory
	CLIArg          Source = "cliArg"          // --allowedTools and the like
	Command         Source = "command"         // granted by a command or skill
	Session         Source = "session"         // answered during this session
)

// FileSources returns the sources that are files, the strongest first.
func FileSources() []Source {
	return []Source{PolicySettings, FlagSettings, LocalSettings, ProjectSettings, UserSettings}
}

// Behavior is the list that a permission rule stands in.
type Behavior string

// The behaviors.
const (
	Allow Behavior = "allow"
	Ask   Behavior = "ask"
	Deny  Behavior = "deny"
)

// Entry is one text of a permissions list, with where it stands.
type Entry struct {
	Text   string
	Source Source
	File   string // "" for --settings given inline
	Line   int    // from 1
	// Dir is the folder that a "/path" pattern in it starts from.
	Dir string
	// Held says why the entry is not in force; empty when it is.
	Held string
	// Salvaged tells that the file is broken and the entry was recognised in its text, or kept from its last good
	// state.
	Salvaged bool
}

// InForce reports whether the entry counts.
func (e Entry) InForce() bool { return e.Held == "" }

// Test is an expectation about the rules: a call and the verdict it must get.
type Test struct {
	Call   json.RawMessage
	Expect string
	Source Source
	File   string
	Line   int
}

// Permissions is the merged "permissions" object. The lists hold every level's entries, the strongest level first,
// also those that are held: ask InForce.
type Permissions struct {
	Allow, Ask, Deny      []Entry
	AdditionalDirectories []Entry
	Tests                 []Test
	// DefaultMode is default, acceptEdits, plan, auto, dontAsk or bypassPermissions; empty if unset. auto and
	// bypassPermissions never come from a project or local file.
	DefaultMode string
	// DefaultModeSource is where DefaultMode comes from.
	DefaultModeSource Source
	// The two locks hold when any level sets them.
	DisableBypassPermissionsMode bool
	DisableAutoMode              bool
	// The two blocks hold when any level sets them.
	BlockReadsOutsideWorkingDirectories  bool
	BlockWritesOutsideWorkingDirectories bool
	DenyInsteadOfPrompting               bool
}

// Hook is one element of the list that "hooks" has for an event.
type Hook struct {
	Event  string
	Raw    json.RawMessage // {"matcher": ..., "hooks": [...]}
	Source Source
	File   string
	Line   int
	Dir    string
	// Untrusted tells that a repository supplies it and the folder is not trusted.
	Untrusted bool
}

// EnvVar is one variable of "env".
type EnvVar struct {
	Name, Value string
	Source      Source
	File        string
	// Untrusted tells that a repository supplies it and the folder is not trusted.
	Untrusted bool
}

// Settings is the typed view of all levels together.
type Settings struct {
	Permissions Permissions
	// AllowManagedPermissionRulesOnly: the rules of all other files are held, and nothing may be saved.
	AllowManagedPermissionRulesOnly bool
	// Hooks of all levels, the strongest first.
	Hooks []Hook
	// DisableAllHooks and where it comes from: only from PolicySettings does it stop the administrator's hooks too.
	DisableAllHooks       bool
	DisableAllHooksSource Source
	AllowManagedHooksOnly bool
	// Env holds each variable once, sorted by name.
	Env   []EnvVar
	Model string

	merged map[string]any
}

// Raw returns the merged value of a key, by its path ("sandbox", "network"), as JSON: single values by precedence,
// lists joined without duplicates, objects merged. Permissions and hooks have their own fields; they and "env" are not
// found here.
func (s Settings) Raw(path ...string) (json.RawMessage, bool) {
	var v any = s.merged
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[key]; !ok {
			return nil, false
		}
	}
	if v == nil {
		return nil, false
	}
	raw, err := json.Marshal(v)
	return raw, err == nil
}

// Sandbox returns the merged "sandbox" object, or nil.
func (s Settings) Sandbox() json.RawMessage {
	raw, _ := s.Raw("sandbox")
	return raw
}

// mcpKeys are the keys that say which MCP servers may run.
var mcpKeys = []string{
	"enableAllProjectMcpServers", "enabledMcpjsonServers", "disabledMcpjsonServers", "allowedMcpServers",
	"deniedMcpServers", "allowManagedMcpServersOnly", "managedMcpServers",
}

// MCP returns the merged values of the keys that say which MCP servers may run.
func (s Settings) MCP() map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, key := range mcpKeys {
		if raw, ok := s.Raw(key); ok {
			out[key] = raw
		}
	}
	return out
}

// Problem is something wrong with a file. As a Problem of a Snapshot the file could not be used; as a Warning one of
// its entries was left out or looks wrong.
type Problem struct {
	Source Source
	File   string // "" for --settings given inline
	Line   int    // 0 if unknown
	Column int
	Field  string // "permissions.deny[2]"; "" for the whole file
	Text   string
}

// File is one settings file that was looked for.
type File struct {
	Source Source
	Path   string // "" for --settings given inline
	State  FileState
	// Repository tells that the file is taken for part of the repository.
	Repository bool
	// Counts of its entries.
	Allow, Ask, Deny, Directories, Hooks, Env int
}

// FileState tells what became of a file.
type FileState string

// The states of a file.
const (
	Absent FileState = "absent"
	Found  FileState = "found"
	Broken FileState = "broken"
)

// Trust is what is known of the start folder.
type Trust struct {
	// Key is the folder that trust is recorded for: the root of the main checkout, or the start folder outside git.
	Key string
	// Trusted tells that Key itself is trusted.
	Trusted bool
	// Parent tells that a folder above Key is.
	Parent bool
}

// Snapshot is what all files said at one moment. It is immutable; do not change what its slices hold. The nil Snapshot
// must not be used.
type Snapshot struct {
	Settings Settings
	// Problems are files that could not be used; Warnings are entries that were left out or look wrong.
	Problems, Warnings []Problem
	// Files lists every file looked for, the strongest first.
	Files []File
	Trust Trust

	broken map[Source]bool
	layout *layout
	docs   []*document
	prints []fingerprint
}

// Broken reports whether some file of the source could not be used, so that its deny and ask rules are known in part
// at best. Nothing should be allowed without a question on the strength of what such a source does not forbid.
func (s *Snapshot) Broken(source Source) bool { return s.broken[source] }

// AnyBroken returns the broken sources, the strongest first.
func (s *Snapshot) AnyBroken() []Source {
	return slices.DeleteFunc(FileSources(), func(src Source) bool { return !s.broken[src] })
}
