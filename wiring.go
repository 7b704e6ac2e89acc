package sevengate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/builtin"
	"github.com/sevengate/sevengate/internal/builtin/file"
	"github.com/sevengate/sevengate/internal/builtin/lsp"
	"github.com/sevengate/sevengate/internal/builtin/repl"
	"github.com/sevengate/sevengate/internal/builtin/search"
	"github.com/sevengate/sevengate/internal/builtin/shell"
	"github.com/sevengate/sevengate/internal/builtin/terminal"
	"github.com/sevengate/sevengate/internal/builtin/toolsearch"
	"github.com/sevengate/sevengate/internal/disclose"
	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/tool"
)

// deps gives the families of built-in tools what they need.
func (r *Runtime) deps() (builtin.Deps, error) {
	v := variables{env: r.env}
	d := builtin.Deps{
		File: file.Deps{
			ReadDenied:    r.policy.ReadDenied,
			MaxReadTokens: v.number("CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS"),
			BeforeChange:  r.beforeChange,
			AfterChange:   r.afterChange,
		},
		Search: search.Deps{
			ReadDenials:  r.policy.ReadDenials,
			GlobNoIgnore: v.choice("CLAUDE_CODE_GLOB_NO_IGNORE"),
			GlobHidden:   v.choice("CLAUDE_CODE_GLOB_HIDDEN"),
			GlobTimeout:  time.Duration(v.number("CLAUDE_CODE_GLOB_TIMEOUT_SECONDS")) * time.Second,
		},
		Shell: shell.Deps{
			Runner:         r.shellRunner,
			Sandbox:        r.confine,
			BeforeChange:   r.beforeChange,
			AfterChange:    r.afterChange,
			DefaultTimeout: time.Duration(v.number("BASH_DEFAULT_TIMEOUT_MS")) * time.Millisecond,
			MaxTimeout:     time.Duration(v.number("BASH_MAX_TIMEOUT_MS")) * time.Millisecond,
			NoBackground:   v.on("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"),
			KeepDir:        v.on("CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR"),
			Home:           r.home,
			LookPath:       exec.LookPath,
		},
		Terminal:   terminal.Deps{Runner: r.shellRunner, Sandbox: r.confine},
		ToolSearch: toolsearch.Options{For: func(*tool.Env) *disclose.Disclosure { return r.disclose }, Wait: r.waitForTools},
		MCP:        r.mcpServers(),
		REPL:       repl.Deps{Caller: scriptCaller{r}, Hidden: r.hidden()},
	}
	if r.features().On("lsp") {
		r.lsp = lsp.New(lsp.Deps{ReadDenied: r.policy.ReadDenied, Environ: environment(r.env).forTools(), Home: r.home})
		d.LSP = r.lsp
	}
	return d, v.err
}

// disclosure decides which tools a request shows.
func (r *Runtime) disclosure() (*disclose.Disclosure, error) {
	cfg := disclose.Config{Mode: disclose.Auto, References: r.spec.provider == "anthropic"}
	if text := r.env.get("ENABLE_TOOL_SEARCH"); text != "" {
		mode, share, err := disclose.ParseMode(text)
		if err != nil {
			return nil, fmt.Errorf("ENABLE_TOOL_SEARCH: %w", err)
		}
		cfg.Mode, cfg.AutoShare = mode, share
	}
	return disclose.New(cfg), nil
}

// variables reads settings from the environment and keeps the first that is
// wrong.
type variables struct {
	env environment
	err error
}

// number reads a positive number; 0 when it is not set.
func (v *variables) number(name string) int {
	text := v.env.get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if (err != nil || n < 1) && v.err == nil {
		v.err = fmt.Errorf("%s is %q: it must be a number, at least 1", name, text)
	}
	return n
}

// on reads a switch.
func (v *variables) on(name string) bool {
	switch strings.ToLower(v.env.get(name)) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}

// choice reads a switch that may be left open.
func (v *variables) choice(name string) *bool {
	if v.env.get(name) == "" {
		return nil
	}
	on := v.on(name)
	return &on
}

// shellRunner makes the runner of shell commands when it is first needed.
func (r *Runtime) shellRunner() (*shellrun.Runner, error) {
	r.shell.mu.Lock()
	defer r.shell.mu.Unlock()
	if r.shell.runner != nil || r.shell.err != nil {
		return r.shell.runner, r.shell.err
	}
	if r.shell.closed {
		return nil, shellrun.ErrClosed
	}
	envFile := r.env.get("CLAUDE_ENV_FILE")
	var memory int64
	if text := r.env.get(shellrun.EnvMemoryLimit); text != "" {
		if memory, r.shell.err = shellrun.ParseMemoryLimit(text); r.shell.err != nil {
			return nil, r.shell.err
		}
	}
	r.shell.runner, r.shell.err = shellrun.New(shellrun.Options{
		OutputDir: filepath.Join(r.folder, "tool-results"), CacheDir: filepath.Join(r.state, "cache", "shell"),
		Home: r.home, BaseEnv: r.env.forTools(), SessionID: r.id, EnvFile: envFile,
		Snapshot: r.env.get("SEVENGATE_NO_SHELL_SNAPSHOT") == "", MemoryLimit: memory,
	})
	return r.shell.runner, r.shell.err
}

// Task is a command in the background.
type Task struct {
	ID, Command string
	State       string // "running", or how it ended
	OutputFile  string
}

// Tasks lists the commands in the background: all that run, and those that ended
// lately.
func (r *Runtime) Tasks() []Task {
	r.shell.mu.Lock()
	runner := r.shell.runner
	r.shell.mu.Unlock()
	if runner == nil {
		return nil
	}
	var out []Task
	for _, p := range runner.Tasks() {
		state := fmt.Sprintf("running for %s", time.Since(p.Started()).Round(time.Second))
		if res, ended := p.Result(); ended {
			state = fmt.Sprintf("ended with exit code %d", res.ExitCode)
			if res.Killed != "" {
				state = "ended by " + string(res.Killed)
			}
		}
		out = append(out, Task{ID: p.ID(), Command: p.Command(), State: state, OutputFile: p.OutputFile()})
	}
	return out
}

// closeShell ends every command that still runs.
func (r *Runtime) closeShell() error {
	r.shell.mu.Lock()
	runner := r.shell.runner
	r.shell.closed = true
	r.shell.mu.Unlock()
	if runner == nil {
		return nil
	}
	return runner.Close()
}

// keepIfNamed remembers that a result names a file of the session's folder, so
// that the folder of a session without transcript is not removed at its end.
func (r *Runtime) keepIfNamed(results []*Result) {
	for _, res := range results {
		if res.Saved != nil {
			r.keep.Store(true)
		}
		for _, b := range res.Block.Content {
			if strings.Contains(b.Text, r.folder) {
				r.keep.Store(true)
			}
		}
	}
}

// dropFolder removes what a session without transcript left and nobody was
// told of.
func (r *Runtime) dropFolder() error {
	if !r.opts.Ephemeral || r.keep.Load() || r.folder == "" {
		return nil
	}
	return os.RemoveAll(r.folder)
}
