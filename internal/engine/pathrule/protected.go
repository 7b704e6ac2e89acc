package pathrule

import (
	"path/filepath"
	"slices"
	"strings"
)

// Dirs and files whose content some program runs or obeys, so that a write to them is a way to run code later. Names
// are compared folded.
var (
	protectedDirs = []string{
		".git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn", ".claude", ".sevengate", ".cursor",
	}
	protectedFiles = []string{
		".gitconfig", ".gitmodules",
		".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".bash_logout",
		".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".profile", ".envrc",
		".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".pnp.loader.mjs", ".pnpmfile.cjs", "bunfig.toml", ".bunfig.toml",
		".bazelrc", ".bazelversion", ".bazeliskrc",
		".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml",
		"gradle-wrapper.properties", "maven-wrapper.properties",
		".devcontainer.json", ".ripgreprc", "pyrightconfig.json",
		".mcp.json", ".claude.json",
	}
)

// worktreesDir is the one folder in a settings folder that holds ordinary work.
const worktreesDir = "worktrees"

// ProtectedDirs returns the names of the folders that Protected guards at any depth.
func ProtectedDirs() []string { return append(slices.Clone(protectedDirs), ".config/git") }

// ProtectedFiles returns the names of the files that Protected guards at any depth.
func ProtectedFiles() []string { return slices.Clone(protectedFiles) }

// Protected reports whether a write to path needs a person, and why. Path is absolute; ask for the given and for the
// real path. extra names further folders to guard, such as a settings folder at an unusual place.
//
// Guarded are the names of ProtectedDirs with all that is in them, except <settings folder>/worktrees/<name>/..., and
// the names of ProtectedFiles. Letter case, composition, trailing dots and blanks, stream suffixes and the short DOS
// name of .git make no difference, on every system.
func Protected(path string, extra ...string) (bool, string) {
	for _, dir := range extra {
		if dir != "" && InsideFold(dir, path) {
			return true, "it is in the settings folder " + dir
		}
	}
	segs := segments(Slash(path))
	for i := range segs {
		segs[i] = protectedName(segs[i])
	}
	for i, name := range segs {
		if name == ".config" && i+1 < len(segs) && segs[i+1] == "git" {
			return true, "it is in .config/git, which configures git"
		}
		if name == "git~1" {
			name = ".git"
		}
		if slices.Contains(protectedDirs, name) {
			if isSettingsDir(name) && i+2 < len(segs) && segs[i+1] == worktreesDir {
				continue
			}
			if i == len(segs)-1 {
				return true, name + " is protected"
			}
			return true, "it is in " + name + ", which is protected"
		}
	}
	if n := len(segs); n > 0 && slices.Contains(protectedFiles, segs[n-1]) {
		return true, segs[n-1] + " is protected"
	}
	return false, ""
}

func isSettingsDir(name string) bool { return name == ".claude" || name == ".sevengate" }

// protectedName folds a name and takes off what Windows ignores at its end.
func protectedName(name string) string {
	name = fold(name)
	if head, _, ok := strings.Cut(name, ":"); ok && head != "" {
		name = head
	}
	if trimmed := strings.TrimRight(name, ". "); trimmed != "" {
		name = trimmed
	}
	return name
}

// Scope is the folders whose loss would be a disaster; absolute native paths. Empty ones are left out.
type Scope struct {
	Cwd, Home string
	Roots     []string // additional working directories
}

// Critical reports whether removing path (or, with glob set, all that a wildcard directly under path covers) needs a
// person, and why: the root, its children, a drive and its children, the home directory, the working directory or a
// folder above it, and with glob also an additional directory or a folder above one. Path is absolute; ask for the
// given and for the real path. Letter case does not count.
func Critical(path string, scope Scope, glob bool) (bool, string) {
	return host.critical(path, scope, glob)
}

func (p platform) critical(path string, scope Scope, glob bool) (bool, string) {
	if !filepath.IsAbs(path) && !p.windows {
		return true, "it is not an absolute path"
	}
	segs := foldAll(segments(p.slash(path)))
	switch {
	case len(segs) == 0:
		return true, "it is the root of the file system"
	case p.darwin && len(segs) == 2 && segs[0] == "private", len(segs) == 1:
		return true, "it is a top-level folder of the system"
	case p.windows && len(segs) <= 2:
		return true, "it is a top-level folder of a drive"
	}
	above := func(dir string) bool {
		return dir != "" && hasPrefix(foldAll(segments(p.slash(dir))), segs)
	}
	switch {
	case above(scope.Home):
		return true, "it is the home directory or a folder above it"
	case above(scope.Cwd):
		return true, "it is the working directory or a folder above it"
	case glob && slices.ContainsFunc(scope.Roots, above):
		return true, "it is an additional working directory or a folder above one"
	}
	return false, ""
}
