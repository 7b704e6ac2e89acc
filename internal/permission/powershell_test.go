package permission

import (
	"context"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

func TestPowerShell(t *testing.T) {
	s := newScratch(t)
	type list = []string
	shell := shellTool("PowerShell", nil)
	cases := []struct {
		line             string
		allow, ask, deny list
		mode             Mode
		want             tool.Behavior
	}{
		{line: "Get-ChildItem", want: tool.Allow},
		{line: "gci src", want: tool.Allow},
		{line: "Get-Content a.txt", want: tool.Allow},
		{line: "Get-Content ..\\..\\x", want: tool.Ask},
		{line: "Get-Content ../out/y", want: tool.Ask},
		{line: "get-content .env", deny: list{"Read(.env)"}, want: tool.Deny},
		{line: "GC -Path:.env", deny: list{"Read(.env)"}, want: tool.Deny},
		{line: "npm test", want: tool.Ask},
		{line: "npm test", allow: list{"PowerShell(npm test)"}, want: tool.Allow},
		{line: "NPM TEST -x", allow: list{"PowerShell(npm test *)"}, want: tool.Allow},
		{line: "npm test; del x", allow: list{"PowerShell(npm test *)"}, want: tool.Ask},
		{line: "npm test | out-file x", allow: list{"PowerShell(npm test *)"}, want: tool.Ask},
		{line: "npm test && rm x", allow: list{"PowerShell(npm test *)"}, deny: list{"PowerShell(Remove-Item *)"}, want: tool.Deny},
		{line: "npm test\nrm x", allow: list{"PowerShell(npm test *)"}, deny: list{"PowerShell(Remove-Item:*)"}, want: tool.Deny},
		{line: "ri x", deny: list{"PowerShell(rm *)"}, want: tool.Deny},
		{line: "gci x", ask: list{"PowerShell(Get-ChildItem *)"}, want: tool.Ask},
		{line: "& 'npm' test", allow: list{"PowerShell(npm test)"}, want: tool.Ask},
		{line: "npm test $(rm x)", allow: list{"PowerShell(npm test *)"}, want: tool.Ask},
		{line: "npm test $(rm x)", allow: list{"PowerShell(npm test *)"}, deny: list{"PowerShell(rm *)"}, want: tool.Deny},
		{line: "npm test > x", allow: list{"PowerShell(npm test *)"}, want: tool.Ask},
		{line: "npm te`st", allow: list{"PowerShell(npm *)"}, want: tool.Ask},
		{line: "{ gci }", want: tool.Ask},
		{line: "Set-Content a.txt x", mode: ModeAcceptEdits, want: tool.Allow},
		{line: "Set-Content '../out/y' x", mode: ModeAcceptEdits, want: tool.Ask},
		{line: "Set-Content .git/config x", mode: ModeBypass, want: tool.Ask},
		{line: "Set-Content a.txt x", mode: ModePlan, allow: list{"PowerShell"}, want: tool.Ask},
		{line: "Remove-Item a.txt", mode: ModeAcceptEdits, want: tool.Allow},
		{line: "Remove-Item *", mode: ModeBypass, want: tool.Deny},
		{line: "rm -Recurse /", mode: ModeBypass, want: tool.Deny},
		{line: "Remove-Item src\\*", mode: ModeBypass, want: tool.Deny},
		{line: "cd ..; Remove-Item a.txt", mode: ModeAcceptEdits, want: tool.Ask},
		{line: "anything at all", allow: list{"PowerShell"}, want: tool.Allow},
		{line: "$x = 1", allow: list{"PowerShell"}, want: tool.Ask},
		{line: "", want: tool.Allow},
	}
	for _, c := range cases {
		p := s.policy(c.allow, c.ask, c.deny)
		d := p.Decide(context.Background(), Request{Call: bind(t, shell, s.at, shellInput{Command: c.line}), Mode: c.mode, BypassAvailable: true})
		if d.Behavior != c.want {
			t.Errorf("%q (allow %q ask %q deny %q %s): got %s, want %s: %s", c.line, c.allow, c.ask, c.deny, c.mode, d.Behavior, c.want, d.Reason.Message)
		}
	}
}

func FuzzPowerShell(f *testing.F) {
	for _, s := range []string{"gci | sort", "rm 'a b'; ls", "\"$x\"", "a && b || c", "& x", "{a}", "Set-Content a:b c", "`", "a\x00b"} {
		f.Add(s)
	}
	s := newScratch(f)
	p := s.policy([]string{"PowerShell(npm *)"}, nil, []string{"PowerShell(Remove-Item *)"})
	shell := shellTool("PowerShell", nil)
	f.Fuzz(func(t *testing.T, line string) {
		commands, why := psSplit(line)
		for _, c := range commands {
			if len(c.words) == 0 || c.words[0] == "" && why == "" && c.readOnly {
				t.Fatalf("%q: an empty command: %+v", line, c)
			}
		}
		d := p.Decide(context.Background(), Request{Call: bind(t, shell, s.at, shellInput{Command: line})})
		if why != "" && d.Behavior == tool.Allow {
			t.Fatalf("%q is not understood (%s) and was allowed", line, why)
		}
	})
}
