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

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
	out    *lineReader
	exited chan struct{} // closed when the process was waited for
	err    error         // how it ended; read after exited
	close  func()
	// bye closes the process's input and over, after which nothing is read any
	// more.
	bye    func()
	over   chan struct{}
	reader sync.WaitGroup
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
	p := &process{cmd: cmd, stdin: inW, stdout: outR, out: out, exited: make(chan struct{}), over: make(chan struct{})}
	p.bye = sync.OnceFunc(func() {
		close(p.over)
		_ = p.stdin.Close()
	})
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
	p.bye()
	for _, stop := range []func(*exec.Cmd){terminate, kill} {
		select {
		case <-p.exited:
		case <-time.After(endGrace):
			stop(p.cmd)
		}
	}
	<-p.exited
	kill(p.cmd) // what it left behind in its group
	p.reader.Wait()
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

// Connect implements [sdk.Transport]: a message of the protocol is a line.
func (p *process) Connect(context.Context) (sdk.Connection, error) {
	c := &lineConn{p: p, in: make(chan received)}
	p.reader.Go(c.pump)
	return c, nil
}

// lineConn is the connection to a process.
type lineConn struct {
	p       *process
	in      chan received
	writing sync.Mutex
}

type received struct {
	m   jsonrpc.Message
	err error
}

// pump reads until the end, or until nobody wants to know.
func (c *lineConn) pump() {
	for {
		all, err := c.p.out.read()
		if err != nil {
			all = []jsonrpc.Message{nil}
		}
		for _, m := range all {
			select {
			case c.in <- received{m, err}:
			case <-c.p.over:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Read implements [sdk.Connection].
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case r := <-c.in:
		return r.m, r.err
	case <-c.p.over:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [sdk.Connection].
func (c *lineConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err = c.p.stdin.Write(append(data, '\n'))
	return err
}

// Close implements [sdk.Connection]. It begins the end of the process without
// waiting for it: it is called under a lock that the next call needs too.
func (c *lineConn) Close() error {
	c.p.bye()
	go c.p.close() // ends when the process does; the link's own close waits for it
	return nil
}

// SessionID implements [sdk.Connection].
func (c *lineConn) SessionID() string { return "" }

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
