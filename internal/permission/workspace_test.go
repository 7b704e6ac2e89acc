package permission

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/tool"
)

// workspace builds the trees that the shell cases speak of: ws (a git
// repository), ws-evil-git-config (the same, with helpers in its configuration),
// home, and files outside.
func workspace(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		tb.Fatal(err)
	}
	dir = real
	ws := filepath.Join(dir, "ws")
	for _, d := range []string{"sub", "my dir", "src/one", "src/two", ".claude", "bin", "evil"} {
		mkdir(tb, filepath.Join(ws, d))
	}
	for _, d := range []string{"home/.ssh", "other"} {
		mkdir(tb, filepath.Join(dir, d))
	}
	write(tb, filepath.Join(dir, "outside-secret.txt"), "foo\n", 0o644)
	for name, text := range map[string]string{
		"a.txt": "foo\nstart\nbar\nend\nfoo bar\n", "b.txt": "foo\nbaz\n", ".env": "TOKEN=sekrit-42\n", ".gitignore": "node_modules\n",
		"notes.md": "n\n", "my dir/c.txt": "c\n", "report 100%.txt": "r\n", "sub/log-1.txt": "l\n",
		"src/one/x.go": "x\n", "src/two/y.go": "y\n", "src/main.go": "func (s *Server) x() {}\n",
		"package.json": `{"name":"t","scripts":{"test":"true","test:unit":"true"},"x":1,"y":2}` + "\n", ".claude/keep": "k\n",
		"evil/.bash_profile": "touch pwned\n", "rgrc": "--pre=./pre.sh\n", "script.sed": "w pwned\n",
		"prog.awk": "BEGIN{system(\"touch pwned\")}\n", "m.jq": "def f: 1;\n", "magic": "0 string x y\n", "run.py": "print(1)\n",
	} {
		write(tb, filepath.Join(ws, name), text, 0o644)
	}
	for _, name := range []string{"bin/git", "git", "x.sh", "pre.sh"} {
		write(tb, filepath.Join(ws, name), "#!/bin/sh\ntouch pwned\n", 0o755)
	}
	write(tb, filepath.Join(ws, "comp.sh"), "#!/bin/sh\ntouch pwned\nexec cat\n", 0o755)
	write(tb, filepath.Join(ws, "deploy.sh"), "#!/bin/sh\ncat\n", 0o755)
	if err := os.Symlink("../.env", filepath.Join(ws, "sub/link-env")); err != nil {
		tb.Skipf("the system makes no symbolic links: %v", err)
	}
	git := func(at string, args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir = at
		cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if _, err := exec.LookPath("git"); err != nil {
		tb.Skip("git is not installed")
	}
	git(ws, "init", "-q", ".")
	git(ws, "config", "user.email", "t@example.com")
	git(ws, "config", "user.name", "t")
	git(ws, "add", "-A")
	git(ws, "commit", "-qm", "init")
	write(tb, filepath.Join(ws, "a.txt"), "foo\nstart\nbar\nend\nfoo bar\nmore\n", 0o644)
	evil := filepath.Join(dir, "ws-evil-git-config")
	if err := os.CopyFS(evil, os.DirFS(ws)); err != nil {
		tb.Fatal(err)
	}
	git(evil, "config", "core.fsmonitor", "./x.sh")
	git(evil, "config", "diff.external", "./x.sh")
	return dir
}

func mkdir(tb testing.TB, dir string) {
	tb.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
}

func write(tb testing.TB, path, text string, mode os.FileMode) {
	tb.Helper()
	mkdir(tb, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		tb.Fatal(err)
	}
}

type shellInput struct {
	Command         string `json:"command"`
	RunInBackground bool   `json:"run_in_background,omitempty"`
	Unsandboxed     bool   `json:"dangerouslyDisableSandbox,omitempty"`
}

// shellTool stands in for a shell tool: it declares what such a tool does and
// runs nothing.
func shellTool(family string, change func(*tool.Def[shellInput, string])) tool.Tool {
	d := tool.Def[shellInput, string]{
		Name: family, PrimaryField: "command",
		Subjects: func(in shellInput) []tool.Subject { return []tool.Subject{tool.CommandOf(family, in.Command)} },
		ReadOnly: func(in shellInput) bool {
			quiet, _ := shellscan.Scan(in.Command, shellscan.Options{}).ReadOnly()
			return quiet && family == "Bash"
		},
		ClassifierInput: func(in shellInput) string { return in.Command },
		Call: func(context.Context, shellInput, *tool.Env) (tool.Result[string], error) {
			return tool.OK("nothing was run"), nil
		},
	}
	if change != nil {
		change(&d)
	}
	return tool.Define(d)
}

func bind(tb testing.TB, t tool.Tool, at tool.Place, input any) *tool.Call {
	tb.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(input); err != nil {
		tb.Fatal(err)
	}
	call, err := t.Bind(buf.Bytes(), at)
	if err != nil {
		tb.Fatal(err)
	}
	return call
}

func bash(tb testing.TB, at tool.Place, command string) *tool.Call {
	tb.Helper()
	return bind(tb, shellTool("Bash", nil), at, shellInput{Command: command})
}

func wordsOf(command string) []shellscan.Word {
	var out []shellscan.Word
	for w := range strings.FieldsSeq(command) {
		out = append(out, shellscan.Word{Source: w, Text: w, Known: shellscan.Literal})
	}
	return out
}
