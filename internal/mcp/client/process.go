package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/internal/mcp/config"
)

// Times of a server's process.
const (
	// endGrace is how long a process may take to end after its input was closed,
	// and again after it was asked to terminate.
	endGrace = 1500 * time.Millisecond
	// drainTime is how long the output of a process that has ended is still read.
	drainTime = 300 * time.Millisecond
)

// process is a server that runs as a child.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	out    io.Reader
	exited chan struct{} // closed when the process was waited for
	err    error         // how it ended; read after exited
	close  func()
}

// startProcess starts a server; its standard error goes to the log.
func startProcess(s *config.Server, env []string, log *ring) (*process, error) {
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Dir, cmd.Env = s.Dir, env
	if !strings.ContainsRune(s.Command, filepath.Separator) {
		// What our own path does not have may be on that of the server's entry.
		if path, ok := config.Lookup(env)("PATH"); ok && cmd.Err != nil {
			for _, dir := range filepath.SplitList(path) {
				if full := filepath.Join(dir, s.Command); filepath.IsAbs(dir) && isExecutable(full) {
					cmd.Path, cmd.Err = full, nil
					break
				}
			}
		}
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		closeAll(inR, inW)
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, log
	cmd.WaitDelay = drainTime
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		closeAll(inR, inW, outR, outW)
		var pe *exec.Error
		var fe *fs.PathError
		switch {
		case errors.As(err, &pe):
			err = pe.Err
		case errors.As(err, &fe):
			err = fe.Err
		}
		return nil, fmt.Errorf("the command %s cannot be started: %w", s.Command, err)
	}
	closeAll(inR, outW)
	out := newLineReader(outR, log)
	p := &process{cmd: cmd, stdin: inW, stdout: outR, out: out, exited: make(chan struct{})}
	go func() { // ends when the process does, which close sees to
		p.err = cmd.Wait()
		select {
		case <-out.ended:
		case <-time.After(drainTime): // a descendant may hold the output open for ever
		}
		_ = outR.Close()
		close(p.exited)
	}()
	p.close = sync.OnceFunc(p.end)
	return p, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// end closes the process's input, and ends the process and its descendants
// where that is not enough.
func (p *process) end() {
	_ = p.stdin.Close()
	for _, stop := range []func(*exec.Cmd){terminate, kill} {
		select {
		case <-p.exited:
		case <-time.After(endGrace):
			stop(p.cmd)
		}
	}
	<-p.exited
	kill(p.cmd) // what it left behind in its group
}

// how says how the process ended, or that it runs.
func (p *process) how() string {
	select {
	case <-p.exited:
	case <-time.After(2 * drainTime):
		return "it closed the connection"
	}
	var exit *exec.ExitError
	switch {
	case errors.As(p.err, &exit):
		return "its process ended with " + exit.ProcessState.String()
	default:
		return "its process ended"
	}
}

// hangUp begins the end of the process without waiting for it: it is called
// under a lock that the next call needs too.
func (p *process) hangUp() {
	_ = p.stdin.Close()
	go p.close() // ends when the process does; the link's own close waits for it
}

// transport makes an SDK transport of a process.
func (p *process) transport() sdk.Transport {
	return &sdk.IOTransport{Reader: processEnd{p.out, p}, Writer: processInput{p}, MaxLineLength: -1}
}

type processEnd struct {
	io.Reader
	p *process
}

func (e processEnd) Close() error { e.p.hangUp(); return nil }

type processInput struct{ p *process }

func (i processInput) Write(b []byte) (int, error) { return i.p.stdin.Write(b) }
func (i processInput) Close() error                { i.p.hangUp(); return nil }

// baseline are the variables that a process gets where the environment is to be
// kept from it.
var baseline = []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ",
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT",
	"TEMP", "TMP", "USERNAME", "USERPROFILE", "COMSPEC", "WINDIR"}

// processEnv is the environment of a server's process.
func (m *Manager) processEnv(s *config.Server) []string {
	var env []string
	onlyBaseline := m.vars.on("CLAUDE_CODE_MCP_ALLOWLIST_ENV")
	for _, kv := range m.cfg.Environ {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case strings.HasPrefix(name, "OTEL_"), name == "CLAUDE_CODE_CHILD_SESSION":
		case onlyBaseline && !slices.Contains(baseline, strings.ToUpper(name)):
		default:
			env = append(env, kv)
		}
	}
	env = append(env, "CLAUDE_PROJECT_DIR="+m.cfg.Dir, "SEVENGATE_PROJECT_DIR="+m.cfg.Dir, "CLAUDECODE=1")
	if m.cfg.SessionID != "" {
		env = append(env, "CLAUDE_CODE_SESSION_ID="+m.cfg.SessionID)
	}
	for name, value := range s.Env {
		env = append(env, name+"="+value)
	}
	return env
}

// sleep waits, and tells whether the whole time passed.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
