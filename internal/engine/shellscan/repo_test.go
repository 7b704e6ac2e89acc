package shellscan

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestRepoRunsHelpers(t *testing.T) {
	write := func(t *testing.T, path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		config string
		key    string
	}{
		"plain":            {"[core]\n\trepositoryformatversion = 0\n[remote \"origin\"]\n\turl = https://example.com/x\n[user]\n\tname = a # fsmonitor = x\n", ""},
		"fsmonitor":        {"[core]\n\tfsmonitor = ./x.sh\n", "core.fsmonitor"},
		"fsmonitor case":   {"[CORE]\nFsMonitor=./x.sh\n", "core.fsmonitor"},
		"fsmonitor off":    {"[core]\n\tfsmonitor = false\n", ""},
		"same line":        {"[core] fsmonitor = ./x.sh", "core.fsmonitor"},
		"continued":        {"[core]\n\tfsmon\\\nitor = ./x.sh\n", "core.fsmonitor"},
		"external":         {"[diff]\n\texternal = ./x.sh\n", "diff.external"},
		"driver":           {"[diff \"x\"]\n\tcommand = ./x.sh\n", "diff.x.command"},
		"textconv":         {"[diff \"a]b\"]\n\ttextconv = ./x.sh\n", "diff.a]b.textconv"},
		"old section":      {"[diff.x]\n\ttextconv = ./x.sh\n", "diff.x.textconv"},
		"filter":           {"[filter \"x\"]\n\tclean = ./x.sh\n", "filter.x.clean"},
		"lfs":              {"[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n", ""},
		"lfs and more":     {"[filter \"lfs\"]\n\tprocess = git-lfs x; ./x.sh\n", "filter.lfs.process"},
		"include":          {"[include]\n\tpath = ../x\n", "include.path"},
		"include if":       {"[includeIf \"gitdir:/\"]\n\tpath = ../x\n", "includeif.gitdir:/.path"},
		"signatures":       {"[log]\n\tshowSignature\n", "log.showsignature"},
		"gpg":              {"[gpg]\n\tprogram = ./x\n", "gpg.program"},
		"promisor and ext": {"[remote \"o\"]\n\turl = ext::./x\n\tpromisor = true\n", "remote.o.url"},
		"ssh command":      {"[core]\n\tsshCommand = ssh -i k\n", ""},
		"work tree":        {"[core]\n\tworktree = /etc\n", "core.worktree"},
		"broken":           {"[core\nfsmonitor = x\n", "(a section that is not understood)"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, ".git", "config"), c.config, 0o644)
			write(t, filepath.Join(dir, "sub", "a"), "", 0o644)
			for _, d := range []string{dir, filepath.Join(dir, "sub"), filepath.Join(dir, "sub", "missing")} {
				if runs, key := RepoRunsHelpers(d); runs != (c.key != "") || key != c.key {
					t.Errorf("%s: %v %q, want %q", d, runs, key, c.key)
				}
			}
		})
	}
	t.Run("hook", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, ".git", "config"), "", 0o644)
		write(t, filepath.Join(dir, ".git", "hooks", "post-index-change"), "#!/bin/sh\n", 0o755)
		if runs, key := RepoRunsHelpers(dir); !runs || key != "hook post-index-change" {
			t.Fatal(runs, key)
		}
	})
	t.Run("moved hooks", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, ".git", "config"), "[core]\nhooksPath = h\n", 0o644)
		write(t, filepath.Join(dir, "h", "post-index-change"), "#!/bin/sh\n", 0o755)
		if runs, _ := RepoRunsHelpers(dir); !runs {
			t.Fatal("a moved hook is not seen")
		}
	})
	t.Run("work tree file", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "main", ".git", "config"), "[core]\nfsmonitor = x\n", 0o644)
		write(t, filepath.Join(dir, "main", ".git", "worktrees", "w", "commondir"), "../..\n", 0o644)
		write(t, filepath.Join(dir, "w", ".git"), "gitdir: ../main/.git/worktrees/w\n", 0o644)
		if runs, key := RepoRunsHelpers(filepath.Join(dir, "w")); !runs || key != "core.fsmonitor" {
			t.Fatal(runs, key)
		}
	})
	t.Run("bare", func(t *testing.T) {
		dir := t.TempDir()
		for _, d := range []string{"objects", "refs"} {
			if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		write(t, filepath.Join(dir, "HEAD"), "ref: x\n", 0o644)
		write(t, filepath.Join(dir, "config"), "[core]\nfsmonitor = x\n", 0o644)
		if runs, _ := RepoRunsHelpers(dir); !runs {
			t.Fatal("a bare repository is not seen")
		}
	})
	t.Run("none", func(t *testing.T) {
		if runs, key := RepoRunsHelpers(t.TempDir()); runs {
			t.Fatal(key)
		}
	})
}

// What git really runs while it looks, the configuration check names.
func TestGitAgrees(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	for _, setting := range []string{"core.fsmonitor", "diff.external", "diff.x.command", "diff.x.textconv", "filter.x.clean"} {
		t.Run(setting, func(t *testing.T) {
			dir := t.TempDir()
			run := func(args ...string) {
				cmd := exec.Command(git, args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
				_ = cmd.Run()
			}
			run("init", "-q")
			if runs, key := RepoRunsHelpers(dir); runs {
				t.Fatalf("a fresh repository runs %s", key)
			}
			for name, text := range map[string]string{"a": "one\n", ".gitattributes": "* diff=x filter=x\n", "x.sh": "#!/bin/sh\ntouch \"" + dir + "/ran\"\ncat 2>/dev/null\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			run("-c", "user.name=a", "-c", "user.email=a@b", "add", "a")
			run("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
			run("config", setting, "./x.sh")
			if err := os.WriteFile(filepath.Join(dir, "a"), []byte("two\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			run("status")
			run("diff")
			if _, err := os.Stat(filepath.Join(dir, "ran")); err != nil {
				t.Skip("this git runs nothing for it")
			}
			if runs, key := RepoRunsHelpers(dir); !runs || key != setting {
				t.Fatalf("%v %q", runs, key)
			}
		})
	}
}
