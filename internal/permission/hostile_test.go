package permission

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// hostileTime is far more than any of the calls below needs.
const hostileTime = 20 * time.Second

// Neither rules nor commands that are made to be slow hold a decision up.
func TestHostileRulesAndCommands(t *testing.T) {
	s := newScratch(t)
	long := func(unit string, n int) string { return strings.Repeat(unit, n/len(unit)) }
	var rules []string
	for _, spec := range []string{
		long("*a", 16000), long("a*", 16000) + "b", "ls " + long("* ", 16000), long("a ", 8000) + "*", long("a", 16000) + ":*", long("\\*", 16000), long("'\"", 16000), "docker run " + long("a ", 8000) + "*",
		long("{a,b}", 16000), long("[", 16000), long("[a-", 16000), long("**/", 16000) + "x", long("*/", 16000) + "x", long("../", 16000), long("!", 16000), long("/", 16000), "//" + long("?*", 16000), "~/" + long("a/", 16000) + "**", long("(", 16000), long(":", 16000),
	} {
		rules = append(rules, "Bash("+spec+")", "Read("+spec+")", "Edit("+spec+")", "WebFetch(domain:"+spec+")", spec, "mcp__"+spec)
	}
	rules = append(rules, "Bash("+long("a", 1<<20)+")")
	start := time.Now()
	p := s.policy(rules, rules, rules)
	p.rulesNow()
	for _, command := range []string{
		"docker run " + long("a ", 9000), "docker run " + long("'ls x' ", 9000), "docker exec c sh -c '" + long("docker exec c ", 8000) + "'", long("sudo ", 9000) + "ls", long("env a=1 ", 9000) + "ls", long("bash -c ", 9000),
		"ssh h " + long("ssh h ", 9000), "npx " + long("npx ", 9000), "ssh h '" + long("a;", 9000) + "'", "python3 -c '" + long(`system("ls x");`, 9000) + "'", "tmux new " + long("a=b=c ", 9000), long("{a,b}", 9000), "echo " + long("{a,b}", 9000), "echo {1..99999999}", "echo " + long("{", 9000), "echo " + long("a{", 4000) + long("}", 4000),
		long("(", 9000), long("$(", 9000), long("`", 9000), "echo " + long("${x:-", 9000), "[[ " + long("( ", 9000), "echo $((" + long("(", 9000), long("if ", 9000), long("! ", 9000), long("a|", 9000) + "b", long("a&&", 9000) + "b", long("cat <<E\n", 9000), long("f(){ ", 9000), long("x=", 9000), long("ls;", 9000),
		"find . " + long("-o -name x ", 9000), "find . " + long("-exec ls {} \\; ", 9000), "sed '" + long("s/a/b/;", 9000) + "' a.txt", "awk '" + long("/a/", 9000) + "'", "sed '" + long("{", 9000) + "'", "for x in " + long("a ", 9000) + "; do rm -rf \"$x\"; done", long("for x in a b; do ", 1700) + "ls " + long("; done", 600), long("a", 200_000), "xargs " + long("xargs ", 9000) + "ls",
		"git " + long("-c a=b ", 9000) + "log", "cat " + long("*", 9000), "cat " + long("*/", 9000), "cat " + long("../", 9000), "cat " + long("a.txt ", 9000), "rm -rf " + long("$X", 9000), "cat .{" + long("e,", 9000) + "nv}", "case x in " + long("a) ls;; ", 9000) + "esac",
	} {
		d := p.Decide(context.Background(), Request{Call: bind(t, shellTool("Bash", nil), s.at, shellInput{Command: command})})
		if d.Behavior == "" {
			t.Errorf("%.60q: no verdict", command)
		}
	}
	for _, path := range []string{long("a/", 4000), long("../", 4000), long("a", 4000), long("é/", 4000), filepath.Join(s.at.Cwd, long("x/", 3000))} {
		if d := s.decide(t, p, readTool("Read"), anyInput{Path: path}, nil); d.Behavior == "" {
			t.Errorf("%.60q: no verdict", path)
		}
	}
	if took := time.Since(start); took > hostileTime {
		t.Errorf("%d rules and some calls took %s", len(rules), took)
	}
}

// FuzzPathRule: any pattern compiles or is refused, and an allow rule never covers
// what lies outside of where it starts.
func FuzzPathRule(f *testing.F) {
	for _, spec := range []string{"src/**", "//etc/**", "~/x", "/a", "./b", "**", "*", "a/../b", "!x", "[a-z]", "{a,b}", "\\*", "../../..", "a//b", "~", "~root/x", "./**/../x", "a\x00b", "**/**", "/", "//", "."} {
		f.Add(spec, "src/x.go")
		f.Add(spec, "../out/y")
	}
	s := newScratch(f)
	f.Fuzz(func(t *testing.T, spec, path string) {
		if len(spec) > 1000 || len(path) > 1000 || strings.ContainsRune(path, 0) || path == "" {
			t.Skip("not a path, or a rule longer than this test is about")
		}
		rule := fmt.Sprintf("Read(%s)", spec)
		r, _, err := compileOne(ruleText{text: rule, behavior: tool.Allow, dir: s.at.Cwd}, place{s.at.Cwd, s.at.Home})
		p := s.policy([]string{rule}, nil, nil)
		d := s.decide(t, p, readTool("Read"), anyInput{Path: path}, nil)
		if d.Behavior != tool.Allow || d.Reason.Rule == "" {
			return
		}
		if err != nil || !r.Scoped {
			t.Fatalf("%q was not compiled (%v), but allowed %q", rule, err, path)
		}
		outward := strings.HasPrefix(spec, "/") || strings.HasPrefix(strings.TrimSpace(spec), "~") || strings.Contains(spec, "..")
		if abs := s.at.Abs(path); !outward && !strings.HasPrefix(abs, s.at.Cwd) {
			t.Fatalf("%q allowed %q, which lies outside of where it starts", rule, path)
		}
	})
}
