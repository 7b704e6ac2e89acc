package sevengate

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sevengate/sevengate/internal/engine/sandbox"
	"github.com/sevengate/sevengate/tool"
)

// sandboxed is a project whose commands run in the sandbox.
type sandboxed struct {
	t          *testing.T
	home, dir  string
	options    Options
	questions  []string
	hosts      []string
	answer     tool.Behavior
	hostAnswer bool
}

func (s *sandboxed) Prompt(_ context.Context, q Question) (Answer, error) {
	s.questions = append(s.questions, q.Decision.Reason.Message)
	return Answer{Behavior: s.answer}, nil
}

func (s *sandboxed) AskHost(_ context.Context, host string, _ int) (allow, always bool, err error) {
	s.hosts = append(s.hosts, host)
	return s.hostAnswer, false, nil
}

func needSandbox(t *testing.T) {
	t.Helper()
	r := sandbox.Available()
	for _, part := range []sandbox.Part{sandbox.PartUser, sandbox.PartMount, sandbox.PartPID, sandbox.PartNetwork, sandbox.PartSeccomp} {
		if !r.OK(part) {
			t.Skipf("this machine has no sandbox:\n%s", r)
		}
	}
}

func newSandboxed(t *testing.T, userSettings string) *sandboxed {
	t.Helper()
	needSandbox(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &sandboxed{t: t, home: filepath.Join(root, "home"), dir: filepath.Join(root, "project"), answer: tool.Deny}
	for path, text := range map[string]string{
		"home/.claude/settings.json": userSettings, "home/.aws/credentials": "aws-key\n", "home/note": "old\n",
		"project/.env": "TOKEN=of-the-project\n", "project/a.txt": "alpha\n", "project/.gitignore": ".env\n",
	} {
		s.write(filepath.Join(root, path), text)
	}
	s.options = Options{Dir: s.dir, Home: s.home, ManagedDirs: []string{}, Ephemeral: true, Prompter: s, NoMCP: true,
		Environ: append(os.Environ(), "HOME="+s.home, EnvHome+"="+filepath.Join(s.home, "state"), "SEVENGATE_NO_SHELL_SNAPSHOT=1",
			"CLAUDE_CONFIG_DIR=", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=e@x", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=e@x")}
	return s
}

func (s *sandboxed) write(path, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sandboxed) start() *Runtime {
	s.t.Helper()
	r, err := New(context.Background(), s.options)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := r.Close(); err != nil {
			s.t.Error(err)
		}
	})
	return r
}

// run makes one Bash call and gives what the model would read.
func (s *sandboxed) run(r *Runtime, command string, more ...any) (text string, failed bool) {
	s.t.Helper()
	in := map[string]any{"command": command}
	for i := 0; i+1 < len(more); i += 2 {
		in[more[i].(string)] = more[i+1]
	}
	raw, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	res := r.Call(context.Background(), "Bash", raw)
	var b strings.Builder
	for _, block := range res.Block.Content {
		b.WriteString(block.Text)
	}
	return b.String(), res.Block.IsError
}

const sandboxOn = `{"sandbox":{"enabled":true},"permissions":{"deny":["Read(.env)","Read(~/.aws/**)","Edit(locked/**)"]}}`

// TestSandboxedCommands: what a rule closes is closed for what a command line does
// not show, and everything else runs without a question.
func TestSandboxedCommands(t *testing.T) {
	s := newSandboxed(t, sandboxOn)
	s.write(filepath.Join(s.dir, "locked", "x"), "old\n")
	if out, err := exec.Command("git", "init", "-q", s.dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	hooked := filepath.Join(s.dir, ".git", "hooks")
	r := s.start()
	if notes := r.SandboxNotes(); len(notes) > 0 {
		t.Errorf("notes: %q", notes)
	}
	s.write(filepath.Join(s.dir, "try.sh"), `eval "$1"`)
	try := func(line string) string { return "bash try.sh '" + line + "'" } // nothing of it is understood beforehand
	for _, c := range []struct {
		name, command string
		failed        bool
		has, hasNot   string
	}{
		{name: "write inside", command: try("echo new > made; cat made"), has: "new"},
		{name: "temporary files", command: try(`echo x > "$TMPDIR/t" && mktemp >/dev/null && echo fine`), has: "fine"},
		{name: "commit", command: try("git add -A . && git commit -qm first && git log --oneline"), has: "first"},
		{name: "write outside", command: try("echo new > " + s.home + "/note"), failed: true, has: "Read-only"},
		{name: "write through a link", command: try("ln -s " + s.home + "/note link; echo new > link"), failed: true, has: "Read-only"},
		{name: "read what a rule denies", command: try("cat .env"), failed: true, hasNot: "of-the-project"},
		{name: "read in the home directory", command: try("cat ~/.aws/credentials"), failed: true, hasNot: "aws-key"},
		{name: "write what a rule denies", command: try("echo new > locked/x"), failed: true},
		{name: "move it away", command: try("mv locked elsewhere"), failed: true},
		{name: "git configuration", command: try("git config core.pager evil"), failed: true},
		{name: "git hooks", command: try("echo evil > .git/hooks/pre-commit"), failed: true},
		{name: "own settings, there already", command: try("echo {} > ~/.claude/settings.json"), failed: true, has: "Read-only"},
		{name: "own settings, not there yet", command: try("mkdir -p .claude && echo {} > .claude/settings.json"), failed: true},
		{name: "own settings by renaming", command: try("mkdir x && echo {} > x/settings.json && mv -T x .claude"), failed: true},
		{name: "servers", command: try("echo {} > .mcp.json"), failed: true},
		{name: "other processes", command: try("test $(ls /proc | grep -c ^[0-9]) -lt 10 && ! kill -0 " + strconv.Itoa(os.Getpid()) + " && echo alone"), has: "alone"},
		{name: "raw network", command: try("exec 3<>/dev/tcp/192.0.2.1/80"), failed: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.questions = nil
			text, failed := s.run(r, c.command)
			if failed != c.failed || !strings.Contains(text, c.has) || c.hasNot != "" && strings.Contains(text, c.hasNot) {
				t.Errorf("failed %v, want %v, with %q and without %q:\n%s", failed, c.failed, c.has, c.hasNot, text)
			}
			if len(s.questions) > 0 {
				t.Errorf("asked: %q", s.questions)
			}
			if c.has == "Read-only" && !strings.Contains(text, "dangerouslyDisableSandbox") {
				t.Errorf("no word of what can be done:\n%s", text)
			}
		})
	}
	for path, want := range map[string]string{s.home + "/note": "old\n", s.dir + "/locked/x": "old\n"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{s.dir + "/.claude", s.dir + "/.sevengate", s.dir + "/.mcp.json", hooked + "/pre-commit"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is there", path)
		}
	}
}

// TestOutsideTheSandbox: what does not run inside is judged like any other command.
func TestOutsideTheSandbox(t *testing.T) {
	on := `{"sandbox":{"enabled":true,"excludedCommands":["sort *","bash *"]},"permissions":{"ask":["Bash"]}}`
	s := newSandboxed(t, on)
	r := s.start()
	s.write(filepath.Join(s.dir, "run.sh"), "echo ran; echo new > "+s.home+"/note")

	// A rule that asks for every command is passed inside, and holds outside.
	if text, failed := s.run(r, "sh run.sh"); !failed || !strings.Contains(text, "ran") || len(s.questions) != 0 {
		t.Errorf("inside: failed %v, asked %q: %s", failed, s.questions, text)
	}
	if text, failed := s.run(r, "sh run.sh", "dangerouslyDisableSandbox", true); !failed || strings.Contains(text, "ran") || len(s.questions) != 1 {
		t.Errorf("outside, refused: failed %v, asked %q: %s", failed, s.questions, text)
	}
	s.answer, s.questions = tool.Allow, nil
	if text, failed := s.run(r, "sh run.sh", "dangerouslyDisableSandbox", true); failed || !strings.Contains(text, "ran") || len(s.questions) != 1 {
		t.Errorf("outside, allowed: failed %v, asked %q: %s", failed, s.questions, text)
	}
	if got, _ := os.ReadFile(s.home + "/note"); string(got) != "new\n" {
		t.Errorf("the command outside did not write: %q", got)
	}
	// Excluded commands run outside only if all of a line is excluded.
	for command, asked := range map[string]int{"bash run.sh": 1, "timeout 5 bash run.sh | sort -u": 1, "bash run.sh; touch x": 0} {
		s.questions = nil
		if s.run(r, command); len(s.questions) != asked {
			t.Errorf("%s: asked %q", command, s.questions)
		}
	}
	// In strict mode there is no outside.
	s.write(s.home+"/.claude/settings.json", `{"sandbox":{"enabled":true,"allowUnsandboxedCommands":false},"permissions":{"ask":["Bash"]}}`)
	s.write(s.home+"/note", "old\n")
	s.questions = nil
	text, failed := s.run(r, "sh run.sh", "dangerouslyDisableSandbox", true)
	if !failed || len(s.questions) != 0 || !strings.Contains(text, "allowUnsandboxedCommands") {
		t.Errorf("strict: failed %v, asked %q: %s", failed, s.questions, text)
	}
}

// TestRepositoryCannotOpenTheSandbox: what an untrusted repository says makes the
// walls higher, never lower.
func TestRepositoryCannotOpenTheSandbox(t *testing.T) {
	s := newSandboxed(t, sandboxOn)
	s.write(s.dir+"/.claude/settings.json", `{"sandbox":{"enabled":false,"allowUnsandboxedCommands":true,"excludedCommands":["bash *"],
		"filesystem":{"allowWrite":["~"],"denyRead":["./hidden"]},"network":{"allowedDomains":["*"],"allowAllUnixSockets":true}}}`)
	s.write(s.dir+"/hidden/x", "hidden text\n")
	s.write(s.dir+"/run.sh", "cat hidden/x; echo new > "+s.home+"/note")
	r := s.start()
	rep := r.Sandbox(context.Background())
	if !rep.Enabled || rep.Error != "" || len(rep.Excluded) > 0 || len(rep.AllowedHosts) > 0 {
		t.Errorf("report: %+v", rep)
	}
	if text, failed := s.run(r, "bash run.sh"); !failed || strings.Contains(text, "hidden text") || len(s.questions) > 0 {
		t.Errorf("failed %v, asked %q: %s", failed, s.questions, text)
	}
	// The person trusts it: now it counts.
	if err := r.Trust().SetTrust(s.dir, true); err != nil {
		t.Fatal(err)
	}
	s.answer = tool.Allow
	if text, failed := s.run(r, "bash run.sh"); failed || !strings.Contains(text, "hidden text") {
		t.Errorf("trusted: failed %v, asked %q: %s", failed, s.questions, text)
	}
}

// TestSandboxNetwork: hosts are reached through the proxy only, and decided about by
// lists, rules, and the person.
func TestSandboxNetwork(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("served")) }))
	defer server.Close()
	host, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSandboxed(t, sandboxOn)
	r := s.start()
	get := "curl -sS --noproxy '' --max-time 10 http://" + net.JoinHostPort(host, port) + "/"
	text, failed := s.run(r, get)
	if strings.Contains(text, "served") || !strings.Contains(text, "refused connections to: "+host) || len(s.hosts) != 1 {
		t.Errorf("not allowed: failed %v, asked for %q: %s", failed, s.hosts, text)
	}
	if text, failed := s.run(r, get+" --noproxy '*'"); !failed || strings.Contains(text, "served") {
		t.Errorf("past the proxy: failed %v: %s", failed, text)
	}
	s.write(s.home+"/.claude/settings.json", `{"sandbox":{"enabled":true,"network":{"allowedDomains":["`+host+`:`+port+`"]}}}`)
	s.hosts = nil
	if text, failed := s.run(r, get); failed || !strings.Contains(text, "served") || len(s.hosts) > 0 {
		t.Errorf("listed: failed %v, asked for %q: %s", failed, s.hosts, text)
	}
	s.write(s.home+"/.claude/settings.json", `{"sandbox":{"enabled":true},"permissions":{"allow":["WebFetch(domain:`+host+`)"]}}`)
	if text, failed := s.run(r, get); failed || !strings.Contains(text, "served") || len(s.hosts) > 0 {
		t.Errorf("by a rule: failed %v, asked for %q: %s", failed, s.hosts, text)
	}
	s.write(s.home+"/.claude/settings.json", `{"sandbox":{"enabled":true,"network":{"allowedDomains":["*"]}},"permissions":{"deny":["WebFetch(domain:`+host+`)"]}}`)
	if text, _ := s.run(r, get); strings.Contains(text, "served") || len(s.hosts) > 0 {
		t.Errorf("denied by a rule: asked for %q: %s", s.hosts, text)
	}
	s.hostAnswer = true
	s.write(s.home+"/.claude/settings.json", sandboxOn)
	if text, failed := s.run(r, get); failed || !strings.Contains(text, "served") || len(s.hosts) != 1 {
		t.Errorf("the person said yes: failed %v, asked for %q: %s", failed, s.hosts, text)
	}
}

// TestSandboxInBackground: the walls stay up for what goes on, and what it makes
// where nothing may be made is moved away.
func TestSandboxInBackground(t *testing.T) {
	s := newSandboxed(t, `{"sandbox":{"enabled":true},"hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":"bash ./hook.sh"}]}]}}`)
	s.write(s.dir+"/hook.sh", "true\n")
	s.write(s.dir+"/late.sh", `sleep 0.4; mkdir .claude; echo '{"hooks":{}}' > .claude/settings.json; echo new > ~/note; touch late`)
	r := s.start()
	if text, failed := s.run(r, "nohup bash late.sh >/dev/null 2>&1 & true"); failed {
		t.Fatalf("left running: %s", text)
	}
	if text, failed := s.run(r, "bash late.sh && touch late2", "run_in_background", true); failed {
		t.Fatalf("in the background: %s", text)
	}
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(s.dir + "/late"); err == nil {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the command in the background does not get on")
		}
	}
	if _, err := os.Stat(s.dir + "/.claude/settings.json"); err == nil {
		t.Error("a command in the background made settings")
	}
	if got, _ := os.ReadFile(s.home + "/note"); string(got) != "old\n" {
		t.Errorf("a command in the background wrote outside: %q", got)
	}
	// No command rewrites the script of a hook, which runs outside.
	if text, failed := s.run(r, "bash -c 'echo evil > hook.sh'"); !failed {
		t.Errorf("a hook's script was rewritten: %s", text)
	}
	// A new repository is fine as git makes it, and not with more in it.
	if text, failed := s.run(r, "git init -q . && git status --short | head -1"); failed || strings.Contains(text, "moved away") {
		t.Errorf("git init: %s", text)
	}
	s.write(s.dir+"/nested.sh", "git init -q sub && git init -q bad && git -C bad config core.fsmonitor evil && mkdir link && echo gitdir: ../bad/.git > link/.git")
	text, _ := s.run(r, "bash nested.sh")
	for name, there := range map[string]bool{"sub": true, "bad": false, "link": false} {
		if _, err := os.Lstat(s.dir + "/" + name + "/.git"); (err == nil) != there {
			t.Errorf("the repository %s: %v: %s", name, err, text)
		}
	}
	if text, failed := s.run(r, "bash -c 'echo evil > sub/.git/hooks/pre-commit'"); !failed {
		t.Errorf("a hook in a repository of an earlier command: %s", text)
	}
	s.write(s.dir+"/code.sh", "mkdir .vscode && echo {} > .vscode/tasks.json")
	text, _ = s.run(r, "bash code.sh")
	if _, err := os.Lstat(s.dir + "/.vscode"); err == nil || !strings.Contains(text, "moved away") {
		t.Errorf("tasks of an editor: %v: %s", err, text)
	}
}

// TestSandboxRequired: where the settings demand a sandbox and there is none, the
// session does not start; where they only ask for one, it is said, and commands are
// asked about.
func TestSandboxThatCannotBe(t *testing.T) {
	s := newSandboxed(t, `{"sandbox":{"enabled":true,"failIfUnavailable":true}}`)
	many := make([]string, sandbox.MaxPaths+1)
	for i := range many {
		many[i] = filepath.Join(s.home, "x", strings.Repeat("y", i+1))
	}
	raw, err := json.Marshal(map[string]any{"sandbox": map[string]any{"enabled": true, "failIfUnavailable": true, "filesystem": map[string]any{"denyRead": many}}})
	if err != nil {
		t.Fatal(err)
	}
	s.write(s.home+"/.claude/settings.json", string(raw))
	if r, err := New(context.Background(), s.options); err == nil || !strings.Contains(err.Error(), "failIfUnavailable") {
		t.Errorf("started: %v", err)
		r.Close()
	}
	s.write(s.home+"/.claude/settings.json", strings.Replace(string(raw), `"failIfUnavailable":true`, `"failIfUnavailable":false`, 1))
	r := s.start()
	if notes := r.SandboxNotes(); len(notes) != 1 || !strings.Contains(notes[0], "there is no sandbox") {
		t.Errorf("notes: %q", notes)
	}
	if text, failed := s.run(r, "bash a.txt"); !failed || len(s.questions) != 1 {
		t.Errorf("failed %v, asked %q: %s", failed, s.questions, text)
	}
}
