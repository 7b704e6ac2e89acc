package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/mcp/config"
)

// Limits of a headers helper.
const (
	helperTimeout  = 10 * time.Second
	maxHelperBytes = 64 << 10
)

// secretParts mark variables that a helper from a repository does not get.
var secretParts = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "KEY", "AUTH", "COOKIE", "PAT", "DSN", "CREDENTIAL", "CREDENTIALS"}

// runHelper runs the command that prints the headers of a server as a JSON
// object of strings.
func (s *server) runHelper(ctx context.Context) (map[string]string, error) {
	out, err := s.runShell(ctx, s.cfg.HeadersHelper, "the headers helper")
	if err != nil {
		return nil, err
	}
	var headers map[string]string
	if json.Unmarshal(out, &headers) != nil {
		return nil, errors.New("the headers helper must print a JSON object of strings")
	}
	for name, value := range headers {
		if strings.ContainsAny(name+value, "\r\n\x00") || name == "" {
			return nil, errors.New("the headers helper printed a header with a line break")
		}
	}
	return headers, nil
}

// helps tells whether helper commands of the server's entry may run.
func (s *server) helps() bool {
	if s.cfg.Scope != config.ScopeProject && s.cfg.Scope != config.ScopeLocal {
		return true
	}
	return s.m.cfg.Trusted != nil && s.m.cfg.Trusted()
}

// runShell runs a helper of a server's entry and gives what it printed.
func (s *server) runShell(ctx context.Context, command, what string) ([]byte, error) {
	if !s.helps() {
		return nil, fmt.Errorf("%s does not run before the folder is trusted", what)
	}
	ctx, cancel := context.WithTimeout(ctx, helperTimeout)
	defer cancel()
	shell := []string{"/bin/sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1], command)
	cmd.Dir = s.cfg.Dir
	ownGroup(cmd)
	cmd.Cancel = func() error { kill(cmd); return os.ErrProcessDone }
	cmd.WaitDelay = drainTime
	for _, kv := range s.m.cfg.Environ {
		name, _, _ := strings.Cut(kv, "=")
		if s.cfg.FromRepository() && slices.ContainsFunc(strings.Split(strings.ToUpper(name), "_"), func(part string) bool {
			return slices.Contains(secretParts, part)
		}) {
			continue
		}
		cmd.Env = append(cmd.Env, kv)
	}
	cmd.Env = append(cmd.Env, "CLAUDE_CODE_MCP_SERVER_NAME="+s.cfg.Name, "CLAUDE_CODE_MCP_SERVER_URL="+s.cfg.URL,
		"SEVENGATE_MCP_SERVER_NAME="+s.cfg.Name, "SEVENGATE_MCP_SERVER_URL="+s.cfg.URL)
	var out limitedBuffer
	cmd.Stdout, cmd.Stderr = &out, s.log
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s did not end within %s", what, helperTimeout)
	case err != nil:
		return nil, fmt.Errorf("%s failed: %w", what, err)
	case out.over:
		return nil, fmt.Errorf("%s printed more than %d bytes", what, maxHelperBytes)
	}
	return out.buf.Bytes(), nil
}

// limitedBuffer keeps the first bytes and swallows the rest.
type limitedBuffer struct {
	buf  bytes.Buffer
	over bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.buf.Len()+len(p) > maxHelperBytes {
		b.over = true
		return len(p), nil
	}
	return b.buf.Write(p)
}
