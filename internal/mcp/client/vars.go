package client

import (
	"strconv"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/mcp/config"
)

// Times and sizes where nothing else is configured.
const (
	DefaultConnectTimeout = 30 * time.Second               // MCP_TIMEOUT, in ms
	DefaultCallTimeout    = 100_000_000 * time.Millisecond // MCP_TOOL_TIMEOUT, in ms
	// DefaultIdleRemote and DefaultIdleStdio end a call from which nothing was
	// heard, neither an answer nor progress.
	DefaultIdleRemote = 5 * time.Minute // CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT, in ms; 0 is never
	DefaultIdleStdio  = 30 * time.Minute
	// DefaultOutputTokens bounds a result that the model sees.
	DefaultOutputTokens = 25_000 // MAX_MCP_OUTPUT_TOKENS
	// How many servers are connected at once.
	DefaultStdioBatch  = 3  // MCP_SERVER_CONNECTION_BATCH_SIZE
	DefaultRemoteBatch = 20 // MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE
	// DefaultStartupWait is how long a first request without a person may wait
	// for servers, DefaultAlwaysLoadWait any first request for servers whose tools
	// are always loaded.
	DefaultStartupWait    = 2 * time.Second // CLAUDE_CODE_MCP_STARTUP_WAIT_MS
	DefaultAlwaysLoadWait = 5 * time.Second // MCP_CONNECT_TIMEOUT_MS
	// charsPerToken is how many characters a token is taken for.
	charsPerToken = 4
)

// variables are the settings in the environment.
type variables struct {
	lookup func(string) (string, bool)
}

func newVariables(environ []string) variables { return variables{config.Lookup(environ)} }

// text reads a variable; empty when it is not set.
func (v variables) text(name string) string {
	s, _ := v.lookup(name)
	return strings.TrimSpace(s)
}

// number reads a number of at least the least; otherwise the default.
func (v variables) number(name string, least, def int) int {
	if n, err := strconv.Atoi(v.text(name)); err == nil && n >= least {
		return n
	}
	return def
}

func (v variables) millis(name string, least int, def time.Duration) time.Duration {
	return time.Duration(v.number(name, least, int(def.Milliseconds()))) * time.Millisecond
}

func (v variables) on(name string) bool {
	switch strings.ToLower(v.text(name)) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}

// Timeouts are the effective times of one server.
type Timeouts struct {
	Connect time.Duration `json:"connect"`
	Call    time.Duration `json:"call"`
	Idle    time.Duration `json:"idle"` // 0: never
}

// timeouts gives the one value of each time that holds for a server.
func (v variables) timeouts(s *config.Server) Timeouts {
	t := Timeouts{
		Connect: v.millis("MCP_TIMEOUT", 1, DefaultConnectTimeout),
		Call:    v.millis("MCP_TOOL_TIMEOUT", 1, DefaultCallTimeout),
	}
	if s.Timeout > 0 {
		t.Call = s.Timeout
	}
	idle := DefaultIdleRemote
	if s.Type == config.Stdio {
		idle = DefaultIdleStdio
	}
	t.Idle = v.millis("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", 0, idle)
	if s.Timeout > 0 && t.Idle > 0 {
		t.Idle = max(t.Idle, s.Timeout) // what the entry allows is not cut short
	}
	return t
}
