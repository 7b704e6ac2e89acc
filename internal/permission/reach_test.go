package permission

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

func TestLinksOutOfATree(t *testing.T) {
	s := newScratch(t)
	write(t, filepath.Join(s.at.Cwd, "sub/f"), "x\n", 0o644)
	for link, target := range map[string]string{"sub/out": "../../out/y", "src/in": "../a.txt"} {
		if err := os.Symlink(target, filepath.Join(s.at.Cwd, link)); err != nil {
			t.Skip(err)
		}
	}
	p := s.policy(nil, nil, nil)
	for line, want := range map[string]tool.Behavior{
		"find sub -exec cat {} +":           tool.Ask,
		"find sub -type l -exec cat {} \\;": tool.Ask,
		"find -L sub -exec head -1 {} +":    tool.Ask,
		"grep -R x sub":                     tool.Ask,
		"grep -rnR x sub":                   tool.Ask,
		"rg --follow x sub":                 tool.Ask,
		"rg -nL x sub":                      tool.Ask,
		"diff -r sub src":                   tool.Ask,
		"grep -r x sub":                     tool.Allow,
		"rg -n x sub":                       tool.Allow,
		"ls -R sub":                         tool.Allow,
		"find sub":                          tool.Allow,
		"find src -exec cat {} +":           tool.Allow, // its link stays inside
		"grep -R x src":                     tool.Allow,
	} {
		if got := s.judge(t, p, line, ModeDefault); got.Behavior != want {
			t.Errorf("%q: %s, want %s: %s", line, got.Behavior, want, got.Reason.Message)
		}
	}
}

func TestNamesThatFindHandsOn(t *testing.T) {
	s := newScratch(t)
	write(t, filepath.Join(s.at.Cwd, "odd/x /etc/y"), "x\n", 0o644)
	write(t, filepath.Join(s.at.Cwd, "linked/f"), "x\n", 0o644)
	if err := os.Symlink("../../out/y", filepath.Join(s.at.Cwd, "linked/l")); err != nil {
		t.Skip(err)
	}
	p := s.policy(nil, nil, nil)
	for line, want := range map[string]tool.Behavior{
		"find src -name '*.go' -not -path './vendor/*' | xargs grep -l foo": tool.Allow,
		"find src -type f | head -3 | xargs cat":                            tool.Allow,
		"find src | grep -v test | sort | xargs wc -l":                      tool.Allow,
		"find src | xargs cat | head":                                       tool.Allow,
		"find odd -name z | xargs cat":                                      tool.Allow,
		"find . -name '*.go' | xargs grep -l foo":                           tool.Allow, // odd names elsewhere do not matter
		"find odd -name z -o -name y | xargs cat":                           tool.Ask,
		"find odd -not -name z | xargs cat":                                 tool.Ask,
		"find odd -name y | xargs cat":                                      tool.Ask,
		"find odd | xargs cat":                                              tool.Ask, // two names to xargs: odd/x and /etc/y
		"find linked | xargs cat":                                           tool.Ask,
		"find -L src | xargs cat":                                           tool.Ask,
		"find ../out | xargs cat":                                           tool.Ask,
		"find src -printf /etc/shadow | xargs cat":                          tool.Ask,
		"find src | sed s/x/y/ | xargs cat":                                 tool.Ask,
		"find src | grep -o /x | xargs cat":                                 tool.Ask,
		"find src | head -c 4 | xargs cat":                                  tool.Ask,
		"find src | xargs rm":                                               tool.Ask,
		"find src | xargs sh":                                               tool.Ask,
		"find src | xargs -n1 cat":                                          tool.Allow,
		"find src | xargs -I% -P 4 grep x %":                                tool.Allow,
		"find src -print0 | xargs -0 grep -l foo":                           tool.Allow,
		"find src -print0 | xargs --null -r -n 5 wc -l":                     tool.Allow,
		"find odd -print0 | xargs -0 cat":                                   tool.Allow, // blanks in names do not matter then
		"find linked -print0 | xargs -0 cat":                                tool.Ask,
		"find src -print0 | xargs cat":                                      tool.Ask,
		"find src | xargs -0 cat":                                           tool.Ask,
		"find src -print0 | head -3 | xargs -0 cat":                         tool.Ask,
		"find src -print0 | xargs -0 rm":                                    tool.Ask,
		"find src | xargs -I% sh -c 'cat %'":                                tool.Ask,
		"find src | xargs -d x cat":                                         tool.Ask,
		"find src | xargs -a f cat":                                         tool.Ask,
		"find src | xargs cat $X":                                           tool.Ask,
		"find src | xargs cat /etc/shadow":                                  tool.Ask,
		"find src | xargs cat > new":                                        tool.Ask,
		"find src; cat a.txt | xargs cat":                                   tool.Ask,
		"cat a.txt | xargs cat":                                             tool.Ask,
		"cat 'find src | xargs cat'; find src; xargs cat":                   tool.Ask,
		"cat a.txt | { find src; xargs cat; }":                              tool.Ask,
	} {
		if got := s.judge(t, p, line, ModeDefault); got.Behavior != want {
			t.Errorf("%q: %s, want %s: %s", line, got.Behavior, want, got.Reason.Message)
		}
	}
	guarded := s.policy(nil, nil, []string{"Read(x.go)"})
	if got := s.judge(t, guarded, "find src -type f | xargs cat", ModeDefault); got.Behavior == tool.Allow {
		t.Errorf("a guarded file may be among the names: %s", got.Reason.Message)
	}
}
