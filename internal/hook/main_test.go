package hook

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/sevengate/sevengate/tool"
)

func TestMain(m *testing.M) {
	// The clock of match timeouts belongs to the library and ends by itself.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
}

type bashInput struct {
	Command string `json:"command"`
}

func call(t testing.TB, name, command string) *tool.Call {
	t.Helper()
	tl := tool.Define(tool.Def[bashInput, string]{Name: name,
		Call: func(context.Context, bashInput, *tool.Env) (tool.Result[string], error) { return tool.OK(""), nil }})
	raw, _ := json.Marshal(bashInput{command})
	c, err := tl.Bind(raw, tool.Place{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func bashEvent(t testing.TB) Event {
	return Event{Call: call(t, "Bash", "ls -l"), ToolUseID: "toolu_1", PermissionMode: "default"}
}

func needSh(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts of this test need a POSIX shell")
	}
}

func static(gs []Group) func() []Group { return func() []Group { return gs } }

// runner makes a Runner of handlers for one event.
func runner(t testing.TB, event string, handlers ...Handler) *Runner {
	t.Helper()
	return runnerOf(t, Config{Groups: static([]Group{{Event: event, Handlers: handlers, Source: "userSettings"}})})
}

func runnerOf(t testing.TB, cfg Config) *Runner {
	t.Helper()
	if cfg.Cwd == "" {
		cfg.Cwd = t.TempDir()
	}
	r := New(cfg)
	t.Cleanup(r.Close)
	return r
}

func sh(command string) Handler { return Handler{Type: TypeCommand, Command: command} }

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func touch(dir, name string) string { return "echo x >> " + quote(filepath.Join(dir, name)) }
