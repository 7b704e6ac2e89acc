package confine

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
)

// Limits of the search for repositories inside the working directories.
const (
	// NestedDepth is how far below a working directory repositories are looked for, and
	// MaxNested how many folders are looked at.
	NestedDepth = 3
	MaxNested   = 2_000
)

// ownSettings are the names, in a working directory, of what this program itself
// reads and may run: no command may even make them.
var ownSettings = []string{".claude", ".sevengate", ".mcp.json"}

// Names, in a working directory and in the home directory, of what other programs
// run or obey without being asked to. It is less than what permission guards: the
// files of package managers, which their own commands have to write, are not here.
var (
	guardedNames = []string{
		".claude", ".sevengate", ".mcp.json", ".claude.json", ".vscode", ".idea", ".cursor", ".devcontainer", ".husky",
		".gitconfig", ".gitmodules", ".config/git", ".envrc",
		".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".bash_logout",
		".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".profile",
	}
	homeNames = []string{".ssh", ".gnupg", ".config/fish", ".config/systemd", ".config/autostart"}
)

// protected are the paths that no command in the sandbox may change, whatever the
// settings and rules say.
func (k *Keeper) protected(roots []string) (deny []string) {
	under := func(dir string, names []string) {
		for _, name := range names {
			deny = append(deny, filepath.Join(dir, filepath.FromSlash(name)))
		}
	}
	for _, root := range roots {
		under(root, guardedNames)
		if isRepository(root) {
			deny = append(deny, gitDir(root).closed()...)
		}
	}
	if k.cfg.Home != "" {
		under(k.cfg.Home, guardedNames)
		under(k.cfg.Home, homeNames)
	}
	deny = append(deny, k.cfg.State)
	if k.cfg.UserDir != "" {
		deny = append(deny, k.cfg.UserDir)
	}
	return deny
}

// gitDir is the folder of a repository, or of one of its worktrees.
type gitDir string

// closed is what git runs or obeys.
func (g gitDir) closed() []string {
	var out []string
	for _, name := range []string{"hooks", "config", "config.worktree"} {
		out = append(out, filepath.Join(string(g), name))
	}
	if filepath.Base(string(g)) == ".git" {
		// In a repository's own folder git never makes it; it would lead to another configuration.
		out = append(out, filepath.Join(string(g), "commondir"))
	}
	modules, _ := filepath.Glob(filepath.Join(string(g), "modules", "*"))
	for _, m := range modules {
		out = append(out, filepath.Join(m, "hooks"), filepath.Join(m, "config"))
	}
	return out
}

// gitDirs finds the repositories that a working directory belongs to or holds, and
// where a .git stands. A folder that is no repository yet is among the first.
func gitDirs(root string) (repos []gitDir, links []string) {
	add := func(dir string) {
		for _, d := range repository(dir) {
			if !slices.Contains(repos, d) {
				repos = append(repos, d)
			}
		}
	}
	for dir := root; ; dir = filepath.Dir(dir) {
		_, err := os.Lstat(filepath.Join(dir, ".git"))
		if err == nil || dir == root {
			add(dir)
		}
		if err == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	for _, link := range gitLinks(root) {
		links = append(links, link)
		add(filepath.Dir(link))
	}
	return repos, links
}

// gitLinks finds what stands under the name .git in a folder and in those below it.
func gitLinks(root string) (out []string) {
	left := MaxNested
	var look func(dir string, depth int)
	look = func(dir string, depth int) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			if left--; left < 0 {
				return
			}
			switch {
			case e.Name() == ".git":
				out = append(out, filepath.Join(dir, ".git"))
			case e.IsDir() && depth > 0 && e.Name() != "node_modules" && !strings.HasPrefix(e.Name(), "."):
				look(filepath.Join(dir, e.Name()), depth-1)
			}
		}
	}
	look(root, NestedDepth)
	return out
}

// repository gives the folders that hold the repository of a working tree: its own,
// and the one that a linked worktree shares. Where there is none yet it is the
// folder that git would make.
func repository(tree string) []gitDir {
	path := filepath.Join(tree, ".git")
	info, err := os.Lstat(path)
	if err != nil || info.IsDir() {
		return []gitDir{gitDir(path)}
	}
	own, ok := link(path, "gitdir: ", tree)
	if !ok {
		return nil
	}
	if isRepository(own) { // a submodule's
		return []gitDir{gitDir(own)}
	}
	// Anybody can write such a file; that the other side knows of this worktree only
	// the repository's owner can arrange.
	back, ok := link(filepath.Join(own, "gitdir"), "", own)
	if !ok || back != path {
		return nil
	}
	common, ok := link(filepath.Join(own, "commondir"), "", own)
	if !ok || !isRepository(common) || !pathrule.Inside(filepath.Join(common, "worktrees"), own) {
		return nil
	}
	return []gitDir{gitDir(own), gitDir(common)}
}

// isRepository tells whether a folder is what git takes for a repository.
func isRepository(dir string) bool {
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	info, err := os.Stat(filepath.Join(dir, "HEAD"))
	return err == nil && info.Mode().IsRegular()
}

// link reads a path from the first line of a small file.
func link(file, prefix, base string) (string, bool) {
	f, err := os.Open(file)
	if err != nil {
		return "", false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	lines := bufio.NewScanner(f)
	if !lines.Scan() {
		return "", false
	}
	text, ok := strings.CutPrefix(lines.Text(), prefix)
	text = strings.TrimSpace(text)
	if !ok || text == "" {
		return "", false
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(base, text)
	}
	return filepath.Clean(text), true
}
