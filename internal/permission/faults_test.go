package permission

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

// Roots come from the session: a call that names its own directory gains nothing.
func TestTheWorkingDirectoryIsNoRoot(t *testing.T) {
	s := newScratch(t)
	at := s.at
	at.Cwd = s.dir
	p := s.policy(nil, nil, nil)
	for _, line := range []string{"cat out/y", "echo x > out/z", "ls", "rm -rf out"} {
		d := p.Decide(context.Background(), Request{Call: bash(t, at, line), Mode: ModeAcceptEdits})
		if d.Behavior != tool.Ask {
			t.Errorf("%s: got %s", line, d.Behavior)
		}
	}
	d := p.Decide(context.Background(), Request{Call: bind(t, editTool("Edit"), at, anyInput{Path: "out/z"}), Mode: ModeAcceptEdits})
	if d.Behavior != tool.Ask {
		t.Errorf("an edit: got %s", d.Behavior)
	}
	if d := p.Decide(context.Background(), Request{Call: bash(t, at, "cat p/a.txt")}); d.Behavior != tool.Allow {
		t.Errorf("reading inside from outside: got %s: %s", d.Behavior, d.Reason.Message)
	}
}

func TestSpellingsOfDeniedFiles(t *testing.T) {
	s := newScratch(t)
	write(t, filepath.Join(s.at.Home, ".aws/credentials"), "k\n", 0o600)
	if runtime.GOOS != "windows" {
		if err := os.Link(filepath.Join(s.at.Cwd, ".env"), filepath.Join(s.at.Cwd, "other-name")); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ rule, line string }{
		{"Read(~/.aws/)", "cat $HOME/.aws/credentials"},
		{"Read(~/.aws)", `cat "${HOME}"/.aws/credentials`},
		{"Read(~/.aws/**)", "cat ~/.aws/credentials"},
		{"Read(~/.aws/**)", "cat ../home/.aws/credentials"},
		{"Read(~/.aws/**)", "cd .. && cat home/.aws/credentials"},
		{"Read(**/.env*)", "cat " + filepath.Join(s.at.Cwd, ".env")},
		{"Read(./.env)", "cat .ENV"},
		{"Read(./.env)", "cat other-name"},
		{"Read(//**/.env)", "cat .env"},
	} {
		d := s.judge(t, s.policy([]string{"Bash"}, nil, []string{c.rule}), c.line, ModeBypass)
		if d.Behavior != tool.Deny {
			t.Errorf("%s, %s: got %s: %s", c.rule, c.line, d.Behavior, d.Reason.Message)
		}
	}
}

func TestOtherRepositories(t *testing.T) {
	s := newScratch(t)
	for _, line := range []string{"git -C ../out reset --hard", "git --git-dir=../out/.git reset --hard", "GIT_DIR=../out/.git git reset --hard",
		"cd ../out && git reset --hard", "git --work-tree=../out reset --hard"} {
		if d := s.judge(t, s.policy([]string{"Bash(git reset:*)"}, nil, nil), line, ModeAcceptEdits); d.Behavior != tool.Ask {
			t.Errorf("%s: got %s: %s", line, d.Behavior, d.Reason.Message)
		}
	}
}

// A pattern or a tree that would take long to look at ends in a question.
func TestDiskLookupsAreBounded(t *testing.T) {
	s := newScratch(t)
	big := filepath.Join(s.at.Cwd, "big")
	mkdir(t, big)
	for i := range maxTreeEntries + 10 {
		if err := os.WriteFile(filepath.Join(big, fmt.Sprint("f", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := s.policy(nil, nil, []string{"Read(.env)"})
	for line, want := range map[string]tool.Behavior{"grep -r x big": tool.Ask, "cat big/*": tool.Ask, "cat src/*": tool.Allow, "cat /*/*/*/*/*/*": tool.Ask} {
		if d := s.judge(t, p, line, ""); d.Behavior != want {
			t.Errorf("%s: got %s: %s", line, d.Behavior, d.Reason.Message)
		}
	}
}

// A folder in the project may hold what must not come to lie elsewhere.
func TestCopiedTrees(t *testing.T) {
	s := newScratch(t)
	write(t, filepath.Join(s.at.Cwd, "tpl/.claude/settings.json"), "{}", 0o644)
	write(t, filepath.Join(s.at.Cwd, "tpl/deep/er/.bashrc"), "x", 0o644)
	for line, want := range map[string]tool.Behavior{
		"cp -r tpl/. .": tool.Ask, "cp -a tpl new": tool.Ask, "mv tpl/deep/er .": tool.Ask, "cp -r src copy": tool.Allow, "mv src moved": tool.Allow, "cp a.txt b.txt": tool.Allow,
	} {
		if d := s.judge(t, s.policy(nil, nil, nil), line, ModeAcceptEdits); d.Behavior != want {
			t.Errorf("%s: got %s, want %s: %s", line, d.Behavior, want, d.Reason.Message)
		}
	}
}
