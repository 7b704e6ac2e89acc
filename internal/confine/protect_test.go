package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=e@x", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=e@x")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
}

// TestRepositories: a worktree opens the repository that it shares, and a file that
// only says so opens nothing.
func TestRepositories(t *testing.T) {
	p := newPlace(t)
	main := filepath.Join(p.root, "main")
	if err := os.Mkdir(main, 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, main, "init", "-q")
	git(t, main, "commit", "-q", "--allow-empty", "-m", "x")
	tree := filepath.Join(p.root, "tree")
	git(t, main, "worktree", "add", "-q", tree)
	want := []gitDir{gitDir(main + "/.git/worktrees/tree"), gitDir(main + "/.git")}
	if got := repository(tree); !slices.Equal(got, want) {
		t.Errorf("worktree: %q, want %q", got, want)
	}
	if got, _ := gitDirs(filepath.Join(main, "sub", "dir")); !slices.Contains(got, gitDir(main+"/.git")) {
		t.Errorf("a folder inside: %q", got)
	}
	// What a hostile archive could hold.
	victim := filepath.Join(p.home, ".config")
	p.write(filepath.Join(victim, "x"), "")
	for name, text := range map[string]string{
		"plain": "gitdir: " + victim, "worktree of another": "gitdir: " + main + "/.git/worktrees/tree", "relative": "gitdir: ../home/.config", "nothing": "", "long": "gitdir: /" + string(make([]byte, 1<<17)),
	} {
		dir := filepath.Join(p.root, "hostile", name)
		p.write(filepath.Join(dir, ".git"), text)
		if got := repository(dir); len(got) > 0 {
			t.Errorf("%s: opens %q", name, got)
		}
	}
}

// TestHolds: names are held while any command needs them, the user's own are left
// alone, and nothing is left behind.
func TestHolds(t *testing.T) {
	p := newPlace(t)
	p.write(p.dir+"/.claude/settings.json", "{}")
	if err := os.Mkdir(p.dir+"/.mcp.json", 0o755); err != nil { // by a program that was killed
		t.Fatal(err)
	}
	var h holds
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			mu.Lock()
			held, err := h.take([]string{p.dir, filepath.Join(p.root, "missing")})
			mu.Unlock()
			if err != nil || len(held) != 2 {
				t.Errorf("held %q: %v", held, err)
			}
			if _, err := os.Stat(p.dir + "/.sevengate"); err != nil {
				t.Error(err)
			}
			mu.Lock()
			h.release(held)
			mu.Unlock()
		})
	}
	wg.Wait()
	for _, name := range []string{".sevengate", ".mcp.json"} {
		if _, err := os.Lstat(filepath.Join(p.dir, name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	if _, err := os.Stat(p.dir + "/.claude/settings.json"); err != nil {
		t.Error(err)
	}
}

// TestNewRepository: only what git itself writes is harmless.
func TestNewRepository(t *testing.T) {
	p := newPlace(t)
	git(t, p.dir, "init", "-q")
	config, hooks := p.dir+"/.git/config", p.dir+"/.git/hooks"
	if !harmless(config) || !harmless(hooks) {
		t.Fatal("what git init makes counts as harmful")
	}
	git(t, p.dir, "remote", "add", "origin", "https://example.com/x.git")
	git(t, p.dir, "config", "user.name", "n")
	if !harmless(config) {
		t.Error("a remote counts as harmful")
	}
	for _, text := range []string{
		"[core]\n\tfsmonitor = evil\n", "[core]\n\thooksPath = /x\n", "[alias]\n\tx = !evil\n", "[include]\n\tpath = /x\n", "[core] pager = evil\n",
		"[filter \"x\"]\n\tsmudge = evil\n", "[remote \"o\"]\n\turl = ext::evil\n", "[user]\n\tname = a\\\n\tb\n", "[remote \"o\"]\n\tuploadpack = evil\n", "[credential]\n\thelper = !evil\n",
		"[user]\nname=x\n[CORE]\nPAGER=x\n",
	} {
		p.write(config, text)
		if harmless(config) {
			t.Errorf("harmless: %q", text)
		}
	}
	p.write(hooks+"/pre-commit", "evil")
	if harmless(hooks) {
		t.Error("a hook is harmless")
	}
	if harmless(p.dir+"/.vscode") || harmless(p.dir+"/config") {
		t.Error("other paths are harmless")
	}
}

// TestProgramFiles: the scripts that this program runs outside are found in the
// command lines that name them.
func TestProgramFiles(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"hooks/a.sh", "b.py", "c", "other/d"} {
		p.write(filepath.Join(p.dir, name), "")
	}
	p.write(p.home+"/e", "")
	lines := []string{`"$CLAUDE_PROJECT_DIR"/hooks/a.sh --x`, "python3 b.py;./c", "~/e other", p.dir + "/missing"}
	want := []string{p.dir + "/hooks/a.sh", p.dir + "/b.py", p.dir + "/c"}
	if got := programFiles(lines, []string{p.dir}, p.dir, p.home); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRepositoriesThatCommandsMake: what git makes stays, what leads elsewhere goes.
func TestRepositoriesThatCommandsMake(t *testing.T) {
	p := newPlace(t)
	git(t, p.dir, "init", "-q")
	git(t, p.dir, "commit", "-q", "--allow-empty", "-m", "x")
	git(t, p.dir, "worktree", "add", "-q", "wt")
	git(t, p.dir, "init", "-q", "sub")
	for _, dir := range []string{"sub", "wt"} {
		if !harmlessRepository(filepath.Join(p.dir, dir, ".git")) {
			t.Errorf("%s counts as harmful", dir)
		}
	}
	git(t, p.dir, "init", "-q", "evil")
	for name, make := range map[string]func(dir string){
		"a hook":             func(dir string) { p.write(dir+"/.git/hooks/pre-commit", "x") },
		"a pager":            func(dir string) { git(t, dir, "config", "core.pager", "evil") },
		"another repository": func(dir string) { p.write(dir+"/.git/commondir", "../../evil/.git") },
		"a link":             func(dir string) { os.RemoveAll(dir + "/.git"); p.write(dir+"/.git", "gitdir: ../evil/.git") },
		"a symbolic link":    func(dir string) { os.RemoveAll(dir + "/.git"); os.Symlink("../evil/.git", dir+"/.git") },
		"a module": func(dir string) {
			os.RemoveAll(dir + "/.git")
			p.write(p.dir+"/.git/modules/m/config", "[core]\n\tfsmonitor = evil\n")
			p.write(dir+"/.git", "gitdir: ../.git/modules/m")
		},
	} {
		dir := filepath.Join(p.dir, "x")
		os.RemoveAll(dir)
		git(t, p.dir, "init", "-q", "x")
		make(dir)
		if harmlessRepository(dir + "/.git") {
			t.Errorf("%s is harmless", name)
		}
	}
}
