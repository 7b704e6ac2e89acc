package hook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// Limits of a command's output. More is read and dropped.
const (
	maxStdout = 4 << 20 // bytes
	maxStderr = 256 << 10

	// pipeGrace is how long output is awaited after the command itself ended,
	// while something that it left behind holds the pipe open.
	pipeGrace = 250 * time.Millisecond
)

// capture keeps the first bytes that are written to it.
type capture struct {
	buf   bytes.Buffer
	limit int
	over  bool
}

func (c *capture) Write(p []byte) (int, error) {
	room := c.limit - c.buf.Len()
	if len(p) > room {
		c.over = true
		c.buf.Write(p[:max(room, 0)])
	} else {
		c.buf.Write(p)
	}
	return len(p), nil
}

// command runs a command handler and waits for it.
func (f *firing) command(ctx context.Context, e *entry) reply {
	if err := ctx.Err(); err != nil {
		return reply{err: errors.New("there was no time left to start it")}
	}
	name, args, err := f.argv(e)
	if err != nil {
		return reply{err: err}
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = f.workDir()
	cmd.Env = f.environ(e)
	cmd.Stdin = bytes.NewReader(f.input)
	stdout, stderr := &capture{limit: maxStdout}, &capture{limit: maxStderr}
	cmd.Stdout, cmd.Stderr = io.Writer(stdout), io.Writer(stderr)
	detach(cmd)
	var killed atomic.Bool
	cmd.Cancel = func() error { killed.Store(true); return killTree(cmd.Process) }
	cmd.WaitDelay = pipeGrace
	if err := cmd.Start(); err != nil {
		return reply{err: fmt.Errorf("it cannot be started: %w", startError(err))}
	}
	err = cmd.Wait()
	rep := reply{exit: cmd.ProcessState.ExitCode(), stdout: stdout.buf.Bytes(), stderr: stderr.buf.Bytes()}
	switch {
	case killed.Load() && !cmd.ProcessState.Success():
		rep.err = errors.New("it was ended")
	case rep.exit < 0:
		rep.err = fmt.Errorf("it was ended by a signal (%v)", cmd.ProcessState)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay) && rep.exit == 0:
		rep.err = errors.New("its input or output failed")
	case stdout.over && rep.exit != 2:
		rep.err = fmt.Errorf("it wrote more than %d bytes", maxStdout)
	}
	return rep
}

// startError is the cause without the path, which the label shows already.
func startError(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var ee *exec.Error
	if errors.As(err, &ee) {
		return ee.Err
	}
	return err
}

// argv is the program and its arguments.
func (f *firing) argv(e *entry) (string, []string, error) {
	h := e.h
	if h.Args != nil {
		vars := f.vars(e)
		args := make([]string, len(h.Args))
		for i, a := range h.Args {
			args[i] = substitute(a, vars)
		}
		name := substitute(h.Command, vars)
		if !filepath.IsAbs(name) && !strings.ContainsAny(name, `/\`) {
			path, err := lookPath(name, lookup(f.r.env, "PATH"))
			if err != nil {
				return "", nil, fmt.Errorf("the program %q is not on the PATH", clip(name, maxLabel))
			}
			name = path
		} else if !filepath.IsAbs(name) {
			name = filepath.Join(f.workDir(), name)
		}
		return name, args, nil
	}
	line := h.Command
	if h.Shell != "powershell" {
		if sh, err := f.shell(h.Shell); err == nil {
			if prefix := lookup(f.r.env, "CLAUDE_CODE_SHELL_PREFIX"); prefix != "" {
				line = prefix + " " + quote(line)
			}
			return sh, []string{"-c", line}, nil
		} else if runtime.GOOS != "windows" {
			return "", nil, err
		}
	}
	for _, name := range []string{"pwsh", "powershell"} {
		if path, err := lookPath(name, lookup(f.r.env, "PATH")); err == nil {
			return path, []string{"-NoProfile", "-NonInteractive", "-Command", powershellVars(line, f.vars(e))}, nil
		}
	}
	return "", nil, errors.New("there is no PowerShell on the PATH")
}

// shell finds the POSIX shell.
func (f *firing) shell(want string) (string, error) {
	path := lookup(f.r.env, "PATH")
	if runtime.GOOS == "windows" {
		return lookPath("bash", path)
	}
	if want == "bash" {
		if sh, err := lookPath("bash", path); err == nil {
			return sh, nil
		}
	}
	const sh = "/bin/sh"
	if _, err := os.Stat(sh); err == nil {
		return sh, nil
	}
	return lookPath("sh", path)
}

// lookPath finds a program on the PATH that the hook will have. Relative
// entries are passed over: what lies in a project must not become the shell.
func lookPath(name, path string) (string, error) {
	exts := []string{""}
	if runtime.GOOS == "windows" {
		exts = []string{".exe", ".com", ""}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, ext := range exts {
			file := filepath.Join(dir, name+ext)
			st, err := os.Stat(file)
			if err == nil && st.Mode().IsRegular() && (runtime.GOOS == "windows" || st.Mode().Perm()&0o111 != 0) {
				return file, nil
			}
		}
	}
	return "", exec.ErrNotFound
}

// workDir is where commands run. A folder that is gone must not keep a guard
// from running.
func (f *firing) workDir() string {
	for _, dir := range []string{f.cwd(), f.r.cfg.ProjectDir, f.r.cfg.Home} {
		if st, err := os.Stat(dir); dir != "" && err == nil && st.IsDir() {
			return dir
		}
	}
	return os.TempDir()
}

// quote makes one shell word.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Environment variables that every command gets.
const (
	projectVar       = "SEVENGATE_PROJECT_DIR"
	projectVarCompat = "CLAUDE_PROJECT_DIR"
)

// baseEnv is what all commands of a session have in common.
func baseEnv(env []string, cfg *Config) []string {
	out := make([]string, 0, len(env)+8)
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "SEVENGATE_ENV_FILE", "CLAUDE_ENV_FILE": // an outer session's
			continue
		}
		if !strings.HasPrefix(name, "OTEL_") {
			out = append(out, kv)
		}
	}
	out = append(out, "SEVENGATE=1", "CLAUDECODE=1", "CLAUDE_CODE_CHILD_SESSION=1")
	project := cmp.Or(cfg.ProjectDir, cfg.Cwd)
	for name, value := range map[string]string{
		projectVar: project, projectVarCompat: project,
		"SEVENGATE_SESSION_ID": cfg.SessionID, "CLAUDE_CODE_SESSION_ID": cfg.SessionID,
		"SEVENGATE_EFFORT": cfg.Effort, "CLAUDE_EFFORT": cfg.Effort,
	} {
		if value != "" {
			out = append(out, name+"="+value)
		}
	}
	return out
}

// environ is a command's environment. Of a name that comes twice, the last
// counts.
func (f *firing) environ(e *entry) []string {
	env := f.r.env[:len(f.r.env):len(f.r.env)]
	for name, value := range e.g.Vars {
		if isVarName(name) {
			env = append(env, name+"="+value)
		}
	}
	switch f.event {
	case SessionStart, Setup, CwdChanged, FileChanged:
		if file := f.r.cfg.EnvFile; file != "" {
			env = append(env, "SEVENGATE_ENV_FILE="+file, "CLAUDE_ENV_FILE="+file)
		}
	}
	return env
}

// vars are the placeholders of a handler.
func (f *firing) vars(e *entry) map[string]string {
	project := cmp.Or(f.r.cfg.ProjectDir, f.r.cfg.Cwd)
	vars := map[string]string{projectVar: project, projectVarCompat: project}
	for k, v := range e.g.Vars {
		vars[k] = v
	}
	return vars
}

// substitute replaces ${NAME} of the given names, once each and as plain text.
func substitute(s string, vars map[string]string) string {
	return expand(s, func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
}

// expand replaces every ${name} that get knows.
func expand(s string, get func(string) (string, bool)) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			break
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			break
		}
		b.WriteString(s[:i])
		if v, ok := get(s[i+2 : i+end]); ok {
			b.WriteString(v)
		} else {
			b.WriteString(s[i : i+end+1])
		}
		s = s[i+end+1:]
	}
	b.WriteString(s)
	return b.String()
}

// powershellVars rewrites placeholders to PowerShell's way of naming them.
func powershellVars(line string, vars map[string]string) string {
	return expand(line, func(name string) (string, bool) {
		_, ok := vars[name]
		return "${env:" + name + "}", ok && isVarName(name)
	})
}

func isVarName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// lookup finds a variable; the last of a name counts.
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		k, v, ok := strings.Cut(env[i], "=")
		if ok && (k == name || runtime.GOOS == "windows" && strings.EqualFold(k, name)) {
			return v
		}
	}
	return ""
}
