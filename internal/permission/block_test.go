package permission

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

// TestBlocksHoldForCommands: what the settings block outside the working
// directories is asked for commands, in every mode, and nothing inside is.
func TestBlocksHoldForCommands(t *testing.T) {
	s := newScratch(t)
	write(t, filepath.Join(s.at.Cwd, "sub/f"), "x\n", 0o644)
	if err := os.Symlink("../../out/y", filepath.Join(s.at.Cwd, "sub/link")); err != nil {
		t.Skip(err)
	}
	blocked := func(reads, writes bool) *Policy {
		get := rulesOf(s.at.Cwd, []string{"Bash", "PowerShell", "Read", "Edit"}, nil, nil)
		get().Settings.Permissions.BlockReadsOutsideWorkingDirectories = reads
		get().Settings.Permissions.BlockWritesOutsideWorkingDirectories = writes
		return New(Config{Settings: get, Cwd: s.at.Cwd, Home: s.at.Home})
	}
	for line, want := range map[string]tool.Behavior{
		"cat ../out/y":                        tool.Ask,
		"cat < ../out/y":                      tool.Ask,
		"cat ~/Desktop/plan.txt":              tool.Ask,
		"cat sub/link":                        tool.Ask,
		"cat sub/*":                           tool.Ask,
		"grep -R x sub":                       tool.Ask,
		"find sub -exec cat {} +":             tool.Ask,
		"cd .. && ls":                         tool.Ask,
		"cat $X":                              tool.Ask,
		"cat \"$(echo ../out/y)\"":            tool.Ask,
		"ls; cat /etc/passwd":                 tool.Ask,
		"echo $(cat /etc/passwd)":             tool.Ask,
		"python3 x.py":                        tool.Ask,
		"make":                                tool.Ask,
		"eval \"$X\"":                         tool.Ask,
		"cat a.txt | xargs cat":               tool.Ask,
		"echo 'unclosed":                      tool.Ask,
		"cp ../out/y b":                       tool.Ask,
		"cat a.txt | grep x":                  tool.Allow,
		"ls src && wc -l src/x.go":            tool.Allow,
		"grep -r x sub":                       tool.Allow,
		"cp a.txt b":                          tool.Allow,
		"mkdir new && touch new/f":            tool.Allow,
		"cd src && ls":                        tool.Allow,
		"find src | xargs wc -l":              tool.Allow,
		"for f in src/*; do cat \"$f\"; done": tool.Allow,
	} {
		for _, m := range []Mode{ModeDefault, ModeAcceptEdits, ModeBypass} {
			if got := s.judge(t, blocked(true, false), line, m); got.Behavior != want {
				t.Errorf("reads blocked, %s, %q: %s, want %s: %s", m, line, got.Behavior, want, got.Reason.Message)
			}
		}
	}
	for line, want := range map[string]tool.Behavior{
		"echo x > ../out/y":        tool.Ask,
		"echo x >> ~/notes":        tool.Ask,
		"echo x > sub/link":        tool.Ask,
		"echo x > $X":              tool.Ask,
		"touch ../out/new":         tool.Ask,
		"cp a.txt ../out":          tool.Ask,
		"mv a.txt ../out/":         tool.Ask,
		"rm ../out/y":              tool.Ask,
		"ls | tee ../out/y":        tool.Ask,
		"sed -i s/a/b/ ../out/y":   tool.Ask,
		"cd ../out && touch new":   tool.Ask,
		"(cd ../out; echo x > n)":  tool.Ask,
		"mkdir -p ../out/a":        tool.Ask,
		"ln -s a.txt ../out/l":     tool.Ask,
		"echo x > a.txt":           tool.Allow,
		"touch src/new":            tool.Allow,
		"echo x 2>/dev/null":       tool.Allow,
		"cat a.txt | tee src/copy": tool.Allow,
	} {
		for _, m := range []Mode{ModeDefault, ModeAcceptEdits, ModeBypass} {
			if got := s.judge(t, blocked(false, true), line, m); got.Behavior != want {
				t.Errorf("writes blocked, %s, %q: %s, want %s: %s", m, line, got.Behavior, want, got.Reason.Message)
			}
		}
	}
	for line, want := range map[string]tool.Behavior{"Get-Content ../out/y": tool.Ask, "gc a.txt": tool.Allow, "Invoke-Thing": tool.Ask, "gc $x": tool.Ask} {
		call := bind(t, shellTool("PowerShell", nil), s.at, shellInput{Command: line})
		if got := blocked(true, false).Decide(context.Background(), Request{Call: call, Mode: ModeBypass, BypassAvailable: true}); got.Behavior != want {
			t.Errorf("reads blocked, %q: %s, want %s: %s", line, got.Behavior, want, got.Reason.Message)
		}
	}
}
