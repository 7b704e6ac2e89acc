package permission

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

func TestMatchConditionOfCommands(t *testing.T) {
	s := newScratch(t)
	p := s.policy(nil, nil, []string{"Bash(git push:*)", "Read(.env)"}) // rules in force do not matter
	for _, c := range []struct {
		rule, line string
		want       bool
	}{
		{"Bash", "ls", true},
		{"Bash(*)", "anything at all", true},
		{"PowerShell", "ls", false},
		{"Bash(rm *)", "rm -rf x", true},
		{"Bash(rm *)", "rmdir x", false},
		{"Bash(rm *)", "ls && rm x", true},
		{"Bash(rm *)", "A=1 B=2 rm x", true},
		{"Bash(rm *)", "PATH=/x sudo rm x", true},
		{"Bash(rm *)", "/bin/rm x", true},
		{"Bash(rm *)", "echo $(rm x)", true},
		{"Bash(rm *)", "echo `rm x`", true},
		{"Bash(rm *)", "cat <(rm x)", true},
		{"Bash(rm *)", "sh -c 'rm x'", true},
		{"Bash(rm *)", "find . -exec rm {} \\;", true},
		{"Bash(rm *)", "echo 'rm x'", false},
		{"Bash(rm *)", "ls # rm x", false},
		{"Bash(rm *)", "$CMD x", true},
		{"Bash(rm *)", "echo 'unclosed", true},
		{"Bash(rm -rf *)", "rm $FLAGS x", true},
		{"Bash(rm -rf *)", "rm -r -f x", true},
		{"Bash(rm -rf *)", "rm x", false},
		{"Bash(cat *)", "echo $(date)", false},
		{"Bash(cat *)", "git log -n $(date +%d)", false},
		{"Bash(cat *)", "echo $HOME `pwd`", false},
		{"Bash(git push *)", "git add \"$FILE\"", false},
		{"Bash(git push *)", "git $SUB origin", true},
		{"Bash(git push *)", "git -C sub $SUB", true},
		{"Bash(git push *)", "git -C sub push", true},
		{"Bash(git push)", "git push $X", true},
		{"Bash(git push)", "git push origin", false},
		{"Bash(git * main)", "git checkout $BRANCH", true},
		{"Bash(git * main)", "npm run $X", false},
		{"Read(.env)", "cat .env", true},
		{"Read(.env)", "cat a.txt", false},
		{"Edit(a.txt)", "echo x > a.txt", true},
		{"Edit(a.txt)", "cat a.txt", false},
		{"Bash(run_in_background:true)", "ls", false},
	} {
		got, err := p.MatchCondition(c.rule, bash(t, s.at, c.line))
		if err != nil || got != c.want {
			t.Errorf("%s, %q: got %v, %v, want %v", c.rule, c.line, got, err, c.want)
		}
	}
	call := bind(t, shellTool("Bash", nil), s.at, shellInput{Command: "ls", RunInBackground: true})
	if got, err := p.MatchCondition("Bash(run_in_background:true)", call); err != nil || !got {
		t.Errorf("a field of the input: %v, %v", got, err)
	}
	shell := bind(t, shellTool("PowerShell", nil), s.at, shellInput{Command: "gci; ri x"})
	for rule, want := range map[string]bool{"PowerShell(Remove-Item *)": true, "PowerShell(rm *)": true, "PowerShell(Get-Date)": false, "Bash(rm *)": false} {
		if got, err := p.MatchCondition(rule, shell); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", rule, got, err, want)
		}
	}
}

func TestMatchConditionOfFilesAndNames(t *testing.T) {
	s := newScratch(t)
	p := s.policy(nil, nil, nil)
	read, edit, write := readTool("Read"), editTool("Edit"), editTool("Write")
	mcp := plainTool("mcp__my_server__get_x", func(d *tool.Def[anyInput, string]) {
		d.Origin = &tool.Origin{Server: "my.server", Tool: "get x"}
	})
	if err := os.Symlink("../src/x.go", filepath.Join(s.at.Cwd, "vendor/link")); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		rule string
		tool tool.Tool
		in   anyInput
		want bool
	}{
		{"Edit(src/**)", edit, anyInput{Path: "src/x.go"}, true},
		{"Edit(src/**)", write, anyInput{Path: "src/new/y.go"}, true},
		{"Edit(src/**)", edit, anyInput{Path: "vendor/pkg/src/lib.js"}, false},
		{"Edit(**/src/**)", edit, anyInput{Path: "vendor/pkg/src/lib.js"}, true},
		{"Edit(src/**)", edit, anyInput{Path: "vendor/link"}, false},
		{"Edit(src/**)", read, anyInput{Path: "src/x.go"}, false},
		{"Read(src/**)", read, anyInput{Path: "src/x.go"}, true},
		{"Read(src/**)", edit, anyInput{Path: "src/x.go"}, false},
		{"Read(//**/.env)", read, anyInput{Path: filepath.Join(s.dir, "p/.env")}, true},
		{"Write(*.go)", write, anyInput{Path: "src/x.go"}, true},
		{"Write(*.go)", edit, anyInput{Path: "src/x.go"}, false},
		{"Edit", write, anyInput{Path: "a.txt"}, true},
		{"Write", edit, anyInput{Path: "a.txt"}, false},
		{"*", edit, anyInput{Path: "a.txt"}, true},
		{"mcp__*", mcp, anyInput{}, true},
		{"mcp__my_server", mcp, anyInput{}, true},
		{"mcp__other", mcp, anyInput{}, false},
		{"Agent(Explore)", nameTool("Agent"), anyInput{Name: "Explore"}, true},
		{"Agent(Explore)", nameTool("Agent"), anyInput{Name: "Plan"}, false},
		{"Skill(deploy *)", nameTool("Skill"), anyInput{Name: "deploy"}, true},
		{"WebFetch(domain:example.com)", fetchTool(), anyInput{URL: "https://EXAMPLE.com./x"}, true},
		{"WebFetch(domain:example.com)", fetchTool(), anyInput{URL: "https://evil.com/example.com"}, false},
	} {
		got, err := p.MatchCondition(c.rule, bind(t, c.tool, s.at, c.in))
		if err != nil || got != c.want {
			t.Errorf("%s, %s %+v: got %v, %v, want %v", c.rule, c.tool.Facts().Name, c.in, got, err, c.want)
		}
	}
	for _, rule := range []string{"", "Bash(", "Bash(ls) x", "Bash()", "Edit(!x)", "Edit([)", "Edi?", "m*(x)", "WebFetch(example.com)"} {
		if got, err := p.MatchCondition(rule, bash(t, s.at, "ls")); err == nil || got {
			t.Errorf("%q is no rule, and gives %v, %v", rule, got, err)
		}
	}
	if _, err := p.MatchCondition("Bash", nil); err == nil {
		t.Error("no call, and no error")
	}
}
