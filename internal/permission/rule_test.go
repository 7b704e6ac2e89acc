package permission

import (
	"strings"
	"testing"
)

func TestParseRule(t *testing.T) {
	good := []struct {
		text, tool, spec string
		scoped           bool
	}{
		{"Bash", "Bash", "", false},
		{" Bash ", "Bash", "", false},
		{"Bash(*)", "Bash", "", false},
		{"PowerShell(*)", "PowerShell", "", false},
		{"WebFetch(domain:*)", "WebFetch", "", false},
		{"Read(*)", "Read", "*", true},
		{"Bash(git log:*)", "Bash", "git log:*", true},
		{"Bash(echo $(date))", "Bash", "echo $(date)", true},
		{"Read(a (copy).txt)", "Read", "a (copy).txt", true},
		{"Task(reviewer)", "Agent", "reviewer", true},
		{"BashOutput", "TaskOutput", "", false},
		{"KillShell", "TaskStop", "", false},
		{"KillBash", "TaskStop", "", false},
		{"mcp__my server.x__do it", "mcp__my server.x__do it", "", false},
		{"mcp__*", "mcp__*", "", false},
		{"*", "*", "", false},
		{"toString", "toString", "", false},
		{"__proto__", "__proto__", "", false},
	}
	for _, c := range good {
		r, err := ParseRule(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if r.Tool != c.tool || r.Spec != c.spec || r.Scoped != c.scoped {
			t.Errorf("%q: got %q %q %v", c.text, r.Tool, r.Spec, r.Scoped)
		}
	}
	for _, text := range []string{"", "  ", "Bash(ls) x", "Bash(ls", "(ls)", "Bash()", "Bash( )", "Bash\x00", "Bash(a\x00b)", "Ba sh", "Bäsh", "!Bash",
		"Bash(" + strings.Repeat("x", MaxRuleLength) + ")"} {
		if r, err := ParseRule(text); err == nil {
			t.Errorf("%q was accepted: %+v", clipText(text), r)
		} else if strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("%q: the error is not one clean line: %q", text, err)
		}
	}
}

func TestAllowGlobs(t *testing.T) {
	for name, ok := range map[string]bool{
		"Bash": true, "mcp__github__get_*": true, "mcp__github__*": true, "mcp__github": true,
		"*": false, "B*": false, "mcp__*": false, "mcp__git*__x": false, "mcp__*__x": false, "mcp__git*": false,
	} {
		if got := allowGlobError(name) == ""; got != ok {
			t.Errorf("%s: got %v, want %v", name, got, ok)
		}
	}
}

func TestCommandPatterns(t *testing.T) {
	cases := []struct {
		spec, form string
		want       bool
	}{
		{"ls *", "ls", true}, {"ls *", "ls -la", true}, {"ls *", "lsof", false},
		{"ls*", "ls", true}, {"ls*", "ls -la", true}, {"ls*", "lsof", true},
		{"ls:*", "ls", true}, {"ls:*", "ls -la", true}, {"ls:*", "lsof", false},
		{"npm run test:*", "npm run test", true}, {"npm run test:*", "npm run test -- x", true},
		{"npm run test:*", "npm run test:unit", false}, {"npm run test:*", "npm run testevil", false},
		{"npm run test*", "npm run test:unit", true},
		{"git:* push", "git push", false}, {"git:* push", "git: push", true},
		{"git * main", "git checkout main", true}, {"git * main", "git push origin main", true},
		{"git * main", "git main", false}, {"git * main", "git log --oneline main", true}, {"git * main", "git x mainly", false},
		{"* --version", "node --version", true}, {"* --version", "node --version x", false},
		{"git * --force *", "git push --force", true}, {"git * --force *", "git push --force x", true}, {"git * --force *", "git push --forced", false},
		{"git  push", "git push", true}, {"git push", "git push x", false},
		{`echo \*`, "echo *", true}, {`echo \*`, "echo x", false}, {`echo \* *`, "echo * b", true},
		{`git commit -m "a b"`, "git commit -m a b", true},
		{"*", "anything", true},
		{"a*a", "a", false}, {"a*a", "aa", true}, {"a*b*c", "a-b-c", true}, {"a*b*c", "a-c-b", false},
	}
	for _, c := range cases {
		if got := compileCommand(c.spec, false).matches(c.form); got != c.want {
			t.Errorf("%q on %q: got %v", c.spec, c.form, got)
		}
	}
}

func TestDomains(t *testing.T) {
	cases := []struct {
		spec, url string
		want      bool
	}{
		{"domain:example.com", "https://example.com/x", true},
		{"domain:Example.COM.", "https://eXample.com./x", true},
		{"domain:example.com", "https://www.example.com", false},
		{"domain:example.com", "https://example.com@evil.org/", false},
		{"domain:example.com", "https://evil.org/?q=example.com", false},
		{"domain:*.example.com", "https://a.b.example.com", true},
		{"domain:*.example.com", "https://example.com", false},
		{"domain:*.example.com", "https://evilexample.com", false},
		{"domain:example.*", "https://example.org", true},
		{"domain:example.*", "https://example.evil.com", false},
		{"domain:api-*.example.com", "https://api-1.example.com:8443/", true},
		{"domain:api-*.example.com", "https://api-1.x.example.com", false},
		{"domain:[::1]", "http://[::1]:8080/", true},
		{"domain:*", "http://x", true},
	}
	for _, c := range cases {
		p, err := compileDomain(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		host, err := hostOf(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.matches(host); got != c.want {
			t.Errorf("%s on %s: got %v", c.spec, c.url, got)
		}
	}
	for _, bad := range []string{"example.com", "domain:", "domain:https://x", "domain:x/y"} {
		if _, err := compileDomain(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	for _, bad := range []string{"", "http://", "http://a\\@b/", "::", "/x"} {
		if h, err := hostOf(bad); err == nil {
			t.Errorf("%q has the host %q", bad, h)
		}
	}
}

func TestNameSpecifiers(t *testing.T) {
	cases := []struct {
		spec, name, args string
		closes, want     bool
	}{
		{"commit", "commit", "", false, true},
		{"commit", "commit", "-m x", false, false},
		{"commit", "commit", "-m x", true, true},
		{"commit *", "commit", "", false, true},
		{"commit *", "commit", "-m x", false, true},
		{"commit *", "commits", "", false, false},
		{"lint", "web:lint", "", true, true},
		{"lint", "web:lint", "", false, false},
		{"pack:*", "pack:lint", "", false, true},
		{"pack:*", "packlint", "", false, false},
	}
	for _, c := range cases {
		if got := nameMatches(c.spec, c.name, c.args, c.closes); got != c.want {
			t.Errorf("%q on %q %q (closes %v): got %v", c.spec, c.name, c.args, c.closes, got)
		}
	}
}

func TestParameters(t *testing.T) {
	in := rawFields([]byte(`{"model":"opus","n":3,"yes":true,"list":["opus"],"nil":null}`))
	for spec, want := range map[string]bool{
		"model:opus": true, "model : opus": true, "MODEL:opus": true, "model:o*": true, "model:*": true, "model:sonnet": false,
		"n:3": true, "yes:true": true, "list:opus": false, "nil:*": false, "absent:*": false,
	} {
		if got := compileParam(spec).matches(in); got != want {
			t.Errorf("%s: got %v", spec, got)
		}
	}
	for _, spec := range []string{"x", ":x", "x:", "git log:*", "a.b:c"} {
		if compileParam(spec) != nil {
			t.Errorf("%q is taken for a parameter rule", spec)
		}
	}
}

func TestFlagSpellings(t *testing.T) {
	pattern := func(spec string) *flagPattern { return compileCommand(spec, false).flags }
	cases := []struct {
		rule, command string
		want          bool
	}{
		{"rm -rf:*", "rm --recursive --force build", true},
		{"rm -rf:*", "rm -fr build", true},
		{"rm -rf:*", "rm -r -f build", true},
		{"rm -rf:*", "rm -R --forc build", true},
		{"rm -rf:*", "rm -rvf build", true},
		{"rm -rf:*", "rm build -rf", true},
		{"rm -rf:*", "rm -r build", false},
		{"rm -rf /tmp/x", "rm -fr /tmp/x", true},
		{"rm -rf /tmp/x", "rm -fr /tmp/y", false},
		{"git push --force:*", "git push origin main -f", true},
		{"git push --force:*", "git -C x push -f", true},
		{"git push --force:*", "git push origin", false},
		{"git push -f:*", "git push --force-with-lease", false},
		{"git reset --hard:*", "git reset HEAD~1 --hard", true},
		{"git branch -D:*", "git branch --delete --force x", true},
		{"git branch -D:*", "git branch -d x", false},
		{"chmod -R:*", "chmod --recursive 777 .", true},
	}
	for _, c := range cases {
		f := pattern(c.rule)
		if f == nil {
			t.Errorf("%q has no flag pattern", c.rule)
			continue
		}
		if got := f.matches(wordsOf(c.command)); got != c.want {
			t.Errorf("%q on %q: got %v", c.rule, c.command, got)
		}
	}
	for _, spec := range []string{"rm:*", "curl -s:*", "rm * -rf"} {
		if pattern(spec) != nil {
			t.Errorf("%q has a flag pattern", spec)
		}
	}
}

func TestSplitRules(t *testing.T) {
	got := SplitRules("Bash(git log:*), Read Edit(a b/**),mcp__x__y\tBash(echo a, b)")
	want := []string{"Bash(git log:*)", "Read", "Edit(a b/**)", "mcp__x__y", "Bash(echo a, b)"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q", got)
	}
	if got := SplitRules("  "); len(got) != 0 {
		t.Errorf("got %q of nothing", got)
	}
}
