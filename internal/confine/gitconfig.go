package confine

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxGitConfig bounds the configuration of a new repository that is looked at, in bytes.
const maxGitConfig = 64 << 10

// quietKeys are what a new repository's configuration may say without making git
// run anything.
var quietKeys = []string{
	"core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates", "core.ignorecase",
	"core.precomposeunicode", "core.symlinks", "core.autocrlf", "core.eol", "core.quotepath",
	"user.name", "user.email", "init.defaultbranch", "commit.gpgsign", "tag.gpgsign",
	"remote.url", "remote.fetch", "remote.tagopt", "branch.remote", "branch.merge", "branch.rebase",
	"pull.rebase", "push.default", "extensions.objectformat", "extensions.partialclone", "remote.promisor", "remote.partialclonefilter",
	"submodule.active", "submodule.url", "gc.auto", "core.worktree",
}

// harmless tells that a path of a repository that a command has made is as git
// itself makes it: no hooks, and a configuration that runs nothing.
func harmless(path string) bool {
	if filepath.Base(filepath.Dir(path)) != ".git" {
		return false
	}
	switch filepath.Base(path) {
	case "hooks":
		return onlySamples(path)
	case "config":
		return quietConfig(path)
	}
	return false
}

// harmlessRepository tells that what a command put under the name .git leads only to
// what git itself makes: a new repository, or one more worktree or submodule of a
// repository whose own configuration no command can change.
func harmlessRepository(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return true // gone again
	}
	dir := path
	if !info.IsDir() {
		var ok bool
		if dir, ok = link(path, "gitdir: ", filepath.Dir(path)); !ok {
			return false
		}
		switch above := filepath.Dir(dir); {
		case filepath.Base(above) == "worktrees" && filepath.Base(filepath.Dir(above)) == ".git":
			return len(repository(filepath.Dir(path))) > 0 && !exists(filepath.Join(dir, "config.worktree"))
		case filepath.Base(above) != "modules" || filepath.Base(filepath.Dir(above)) != ".git":
			return false
		}
	}
	for _, name := range []string{"commondir", "config.worktree"} {
		if exists(filepath.Join(dir, name)) {
			return false
		}
	}
	hooks, config := filepath.Join(dir, "hooks"), filepath.Join(dir, "config")
	return (!exists(hooks) || onlySamples(hooks)) && (!exists(config) || quietConfig(config))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func onlySamples(dir string) bool {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return false
	}
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".sample")
	})
}

// quietConfig reads the simple form in which git itself writes; anything else is
// not quiet.
func quietConfig(file string) bool {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxGitConfig {
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	section := ""
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "":
		case strings.HasSuffix(line, "\\"):
			return false
		case line[0] == '[':
			head, ok := strings.CutSuffix(line, "]")
			if !ok || strings.Contains(head, "]") {
				return false
			}
			name, _, _ := strings.Cut(head[1:], " ")
			section = strings.ToLower(name)
		default:
			key, _, _ := strings.Cut(line, "=")
			if !slices.Contains(quietKeys, section+"."+strings.ToLower(strings.TrimSpace(key))) {
				return false
			}
			if _, value, _ := strings.Cut(line, "="); strings.Contains(value, "ext::") {
				return false
			}
		}
	}
	return lines.Err() == nil
}
