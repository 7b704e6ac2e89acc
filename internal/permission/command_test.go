package permission

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

func TestCommands(t *testing.T) {
	s := newScratch(t)
	type list = []string
	out := filepath.Join(s.dir, "out/y")
	cases := []struct {
		line             string
		allow, ask, deny list
		mode             Mode
		want             tool.Behavior
	}{
		{line: "ls", want: tool.Allow},
		{line: "ls && git push", allow: list{"Bash(git *)"}, want: tool.Allow},
		{line: "FOO=bar git push", allow: list{"Bash(git *)"}, want: tool.Ask},
		{line: "git   push", allow: list{"Bash(git push)"}, want: tool.Allow},
		{line: "cat a.txt", ask: list{"Read(a.txt)"}, want: tool.Ask},
		{line: "cat " + out, want: tool.Ask},
		{line: "cat " + out, allow: list{"Read(/" + out + ")"}, want: tool.Allow},
		{line: "cat " + out, allow: list{"Bash(cat:*)"}, want: tool.Ask},
		{line: "cat " + out, allow: list{"Bash(cat " + out + ")"}, want: tool.Allow},
		{line: "cat " + out, allow: list{"Bash"}, want: tool.Allow},
		{line: "echo x > src/n", allow: list{"Edit(src/**)"}, want: tool.Allow},
		{line: "echo x > a.txt", allow: list{"Edit(src/**)", "Bash(echo:*)"}, want: tool.Ask},
		{line: "echo x > a.txt", mode: ModeAcceptEdits, want: tool.Allow},
		{line: "echo x > a.txt", deny: list{"Edit(a.txt)"}, mode: ModeBypass, want: tool.Deny},
		{line: "echo x > .env", deny: list{"Read(.env)"}, mode: ModeBypass, want: tool.Deny},
		{line: "npm test > a.txt", mode: ModeAcceptEdits, want: tool.Ask},
		{line: "mkdir -p d && touch d/x", mode: ModeAcceptEdits, want: tool.Allow},
		{line: "LANG=C timeout 5 mkdir d", mode: ModeAcceptEdits, want: tool.Allow},
		{line: "touch " + out, mode: ModeAcceptEdits, want: tool.Ask},
		{line: "touch " + out, allow: list{"Bash(touch:*)"}, want: tool.Ask},
		{line: "cp a.txt .git/config", mode: ModeAcceptEdits, want: tool.Ask},
		{line: "mv .git x", mode: ModeBypass, want: tool.Ask},
		{line: "rm -rf src", mode: ModeAcceptEdits, want: tool.Allow},
		{line: "rm -rf .", mode: ModeBypass, want: tool.Ask},
		{line: "rm -rf .", mode: ModeDontAsk, want: tool.Deny},
		{line: "rm -rf .", deny: list{"Bash(rm:*)"}, mode: ModeBypass, want: tool.Deny},
		{line: "ls", mode: ModePlan, want: tool.Allow},
		{line: "npm test", allow: list{"Bash(npm test)", "Bash"}, mode: ModePlan, want: tool.Ask},
		{line: "touch x", allow: list{"Bash"}, mode: ModePlan, want: tool.Ask},
		{line: "ls", mode: ModeDontAsk, want: tool.Allow},
		{line: "if true; then", mode: ModeDefault, allow: list{"Bash"}, want: tool.Ask},
		{line: `eval "$x"`, allow: list{"Bash"}, want: tool.Ask},
		{line: `eval "$x"`, allow: list{`Bash(eval "$x")`}, want: tool.Allow},
		{line: `eval "$x"`, mode: ModeBypass, want: tool.Allow},
		{line: `eval "$x"`, deny: list{"Bash(curl:*)"}, mode: ModeBypass, want: tool.Ask},
		{line: `eval "$x"`, allow: list{`Bash(eval "$x")`}, mode: ModePlan, want: tool.Ask},
		{line: "sh -c 'git push'", allow: list{"Bash(sh:*)", "Bash(sh -c:*)"}, want: tool.Ask},
		{line: "sh -c 'git push'", allow: list{"Bash(sh -c 'git push')"}, want: tool.Allow},
		{line: "sh -c 'git push'", allow: list{"Bash(git push)"}, want: tool.Allow},
		{line: "sh -c 'git push'", deny: list{"Bash(git push:*)"}, mode: ModeBypass, want: tool.Deny},
		{line: "xargs rm", deny: list{"Bash(rm:*)"}, mode: ModeBypass, want: tool.Deny},
		{line: "a=1 b=2 sudo -u x env c=3 nice -n 3 curl x", deny: list{"Bash(curl:*)"}, want: tool.Deny},
		{line: "echo $(curl x)", deny: list{"Bash(curl:*)"}, want: tool.Deny},
		{line: "cat <(curl x)", deny: list{"Bash(curl:*)"}, want: tool.Deny},
		{line: "git log\ngit push", allow: list{"Bash(git log git push)"}, want: tool.Ask},
		{line: "git log\n\ngit push", allow: list{"Bash(git log)"}, ask: list{"Bash(git push)"}, want: tool.Ask},
		{line: "grep -r x .", deny: list{"Read(./.env)"}, allow: list{"Bash(grep:*)"}, want: tool.Ask},
		{line: "grep -r x src", deny: list{"Read(./.env)"}, want: tool.Allow},
		{line: "cat *.txt", deny: list{"Read(./.env)"}, want: tool.Allow},
		{line: "cat .e*", deny: list{"Read(./.env)"}, want: tool.Deny},
		{line: `cat "$F"`, deny: list{"Read(./.env)"}, allow: list{"Bash(cat:*)"}, want: tool.Ask},
		{line: "cat a.txt # note", want: tool.Allow},
		{line: "# only a note", want: tool.Allow},
		{line: "lsx", allow: list{"Bash(ls:*)"}, want: tool.Ask},
		{line: "cd ../out", want: tool.Ask},
		{line: "cd src && ls", want: tool.Allow},
	}
	for _, c := range cases {
		d := s.judge(t, s.policy(c.allow, c.ask, c.deny), c.line, c.mode)
		if d.Behavior != c.want {
			t.Errorf("%q (allow %q ask %q deny %q %s): got %s, want %s: %+v", c.line, c.allow, c.ask, c.deny, c.mode, d.Behavior, c.want, d.Reason)
		}
	}
}

func TestSandboxedCommands(t *testing.T) {
	s := newScratch(t)
	shell := shellTool("Bash", func(d *tool.Def[shellInput, string]) {
		d.Sandboxed = func(in shellInput) bool { return !in.Unsandboxed }
	})
	cases := []struct {
		in        shellInput
		ask, deny []string
		mode      Mode
		want      tool.Behavior
	}{
		{shellInput{Command: "npm test"}, []string{"Bash"}, nil, "", tool.Allow},
		{shellInput{Command: "npm test"}, []string{"Bash(*)"}, nil, "", tool.Allow},
		{shellInput{Command: "npm test", Unsandboxed: true}, []string{"Bash"}, nil, "", tool.Ask},
		{shellInput{Command: "npm test"}, []string{"Bash(npm:*)"}, nil, "", tool.Ask},
		{shellInput{Command: "npm test"}, []string{"Bash", "Bash(npm:*)"}, nil, "", tool.Ask},
		{shellInput{Command: "npm test"}, nil, []string{"Bash(npm:*)"}, "", tool.Deny},
		{shellInput{Command: "npm test"}, nil, nil, ModePlan, tool.Ask},
		{shellInput{Command: "rm -rf ."}, nil, nil, "", tool.Ask},
		{shellInput{Command: "npm test"}, []string{"Bash(dangerouslyDisableSandbox:true)"}, nil, "", tool.Allow},
		{shellInput{Command: "ls", Unsandboxed: true}, []string{"Bash(dangerouslyDisableSandbox:true)"}, nil, "", tool.Ask},
		// What is not understood, and which files a command reads, is the walls' business
		// as far as they enforce the rules.
		{shellInput{Command: `eval "$X"`}, nil, nil, "", tool.Allow},
		{shellInput{Command: `eval "$X"`}, []string{"Bash"}, []string{"Read(.env)", "Edit(//etc/**)"}, "", tool.Allow},
		{shellInput{Command: `eval "$X"`}, nil, []string{"Bash(curl:*)"}, "", tool.Ask},
		{shellInput{Command: `eval "$X"`}, []string{"Read(notes)"}, nil, "", tool.Ask},
		{shellInput{Command: `eval "$X"`}, nil, []string{"Edit(**/*.lock)"}, "", tool.Ask},
		{shellInput{Command: `eval "$X"`}, nil, nil, ModePlan, tool.Ask},
		{shellInput{Command: `eval "$X"`, Unsandboxed: true}, nil, nil, "", tool.Ask},
		{shellInput{Command: `eval "$X"; rm -rf ~`}, nil, nil, "", tool.Ask},
		{shellInput{Command: `cat "$X"`}, nil, []string{"Read(.env)"}, "", tool.Allow},
		{shellInput{Command: `cat "$X"`}, []string{"Read(.env)"}, nil, "", tool.Ask},
		{shellInput{Command: "cat .env"}, nil, []string{"Read(.env)"}, "", tool.Deny},
		{shellInput{Command: "if then"}, nil, nil, "", tool.Ask},
	}
	for _, c := range cases {
		d := s.policy(nil, c.ask, c.deny).Decide(context.Background(), Request{Call: bind(t, shell, s.at, c.in), Mode: c.mode})
		if d.Behavior != c.want {
			t.Errorf("%+v (ask %q deny %q %s): got %s, want %s: %s", c.in, c.ask, c.deny, c.mode, d.Behavior, c.want, d.Reason.Message)
		}
	}
}

func TestRepositoriesThatRunHelpers(t *testing.T) {
	s := newScratch(t)
	p := New(Config{Cwd: s.at.Cwd, Home: s.at.Home, Settings: rulesOf(s.at.Cwd, []string{"Bash(git log:*)"}, nil, nil),
		RunsHelpers: func(dir string) (bool, string) { return strings.HasSuffix(dir, "/p"), "core.fsmonitor" }})
	for line, want := range map[string]tool.Behavior{"git status": tool.Ask, "git log -1": tool.Ask, "ls": tool.Allow, "cd src && git status": tool.Allow} {
		d := s.judge(t, p, line, "")
		if d.Behavior != want {
			t.Errorf("%s: got %s: %s", line, d.Behavior, d.Reason.Message)
		}
		if want == tool.Ask && !strings.Contains(d.Reason.Message, "core.fsmonitor") {
			t.Errorf("%s: the helper is not named: %s", line, d.Reason.Message)
		}
	}
}

func TestQuestionsNameThePart(t *testing.T) {
	s := newScratch(t)
	d := s.judge(t, s.policy(nil, nil, nil), "ls && make all", "")
	if !strings.Contains(d.Reason.Message, "make all") || strings.Contains(d.Reason.Message, "ls") {
		t.Errorf("got %q", d.Reason.Message)
	}
	if len(d.Parts) < 2 || d.Parts[0].Behavior != tool.Allow || d.Parts[1].Behavior != tool.Ask {
		t.Errorf("got %+v", d.Parts)
	}
}

func TestSuggestions(t *testing.T) {
	s := newScratch(t)
	out := filepath.Join(s.dir, "out")
	cases := []struct {
		line string
		want []string
	}{
		{"git push origin main", []string{"Bash(git push:*)"}},
		{"npm install left-pad", []string{"Bash(npm install left-pad:*)"}},
		{"go test ./... && go vet ./...", []string{"Bash(go test:*)", "Bash(go vet:*)"}},
		{"python3 x.py", []string{"Bash(python3 x.py)"}},
		{"env A=1 npm test", []string{"Bash(env A=1 npm test)"}},
		{"FOO=1 npm test", []string{"Bash(FOO=1 npm test)"}},
		{"sh -c 'make \"a b\"'", []string{`Bash(make "a b")`}},
		{"find . -name '*.o' -delete", []string{`Bash(find . -name '\*.o' -delete)`}},
		{"cd " + out, []string{"Read(/" + out + ")"}},
		{"ls /", []string{"Bash(ls /)"}},
		{`rm -rf "$1"; ls`, []string{`Bash(rm -rf "$1"; ls)`}},
		{"cat " + out + "/y", []string{"Read(/" + out + "/y)"}},
		{"echo x > 'src/a[1].txt'", []string{`Edit(/` + s.at.Cwd + `/src/a\[1\].txt)`}},
	}
	for _, c := range cases {
		d := s.judge(t, s.policy(nil, nil, nil), c.line, "")
		var got []string
		for _, sug := range d.Suggestions {
			got = append(got, sug.Rule)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q (%s)", c.line, got, c.want, d.Reason.Message)
		}
	}
	long := strings.Repeat("a; b; c; d; e; f", 1)
	if d := s.judge(t, s.policy(nil, nil, nil), long, ""); len(d.Suggestions) != 0 {
		t.Errorf("more parts than can be offered gave %v", d.Suggestions)
	}
}

func TestARuleForAWrapperIsNotARuleForEverything(t *testing.T) {
	s := newScratch(t)
	for _, c := range []struct {
		rule, line string
		want       tool.Behavior
	}{
		{"Bash(timeout *)", "timeout 5 rm x", tool.Ask},
		{"Bash(timeout:*)", "timeout -s KILL 5 touch x", tool.Ask},
		{"Bash(nice *)", "nice -n 5 make", tool.Ask},
		{"Bash(nohup * x)", "nohup touch x", tool.Ask},
		{"Bash(t*)", "timeout 5 rm x", tool.Ask},
		{"Bash(timeout 5 *)", "timeout 5 rm x", tool.Ask},
		{"Bash(timeout 5 npm test:*)", "timeout 5 npm test -- a", tool.Allow},
		{"Bash(timeout 5 npm *)", "timeout 5 npm test", tool.Allow},
		{"Bash(timeout 5 rm x)", "timeout 5 rm x", tool.Allow},
		{"Bash(npm test:*)", "timeout 5 nice npm test", tool.Allow},
		{"Bash(timeout *)", "timeout 5 ls", tool.Allow}, // for ls itself
	} {
		if got := s.judge(t, s.policy([]string{c.rule}, nil, nil), c.line, ModeDefault); got.Behavior != c.want {
			t.Errorf("%s, %q: %s, want %s: %s", c.rule, c.line, got.Behavior, c.want, got.Reason.Message)
		}
	}
}
