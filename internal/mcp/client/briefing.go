package client

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/mcp/config"
)

// maxBriefing bounds what a model is told of the servers, in bytes.
const maxBriefing = 16 << 10

// Briefing is what a model should know of the servers beside their tools: the
// instructions of those that are connected, and why others are not. It is empty
// where there is nothing to say. Instructions are the servers' words.
func (m *Manager) Briefing() string {
	var b, absent strings.Builder
	for _, st := range m.Status() {
		switch st.State {
		case Connected:
			if st.Instructions != "" {
				fmt.Fprintf(&b, "MCP server %s says how its tools are to be used (its words, not the user's):\n%s\n\n", st.Name, st.Instructions)
			}
		case Pending:
			fmt.Fprintf(&absent, "- %s is still being connected to\n", st.Name)
		case NeedsAuth:
			fmt.Fprintf(&absent, "- %s needs the user to sign in: sevengate mcp login %s\n", st.Name, st.Name)
		case Failed:
			fmt.Fprintf(&absent, "- %s is not available: %s\n", st.Name, oneLine(st.Reason))
		case PendingApproval:
			fmt.Fprintf(&absent, "- %s waits for the user's approval\n", st.Name)
		}
	}
	if absent.Len() > 0 {
		b.WriteString("MCP servers whose tools are missing:\n" + absent.String())
	}
	text := strings.TrimSpace(b.String())
	if len(text) > maxBriefing {
		text = strings.ToValidUTF8(text[:maxBriefing], "") + "… [cut]"
	}
	return text
}

// WaitAtStart waits, before a first request, for servers whose tools are to be
// loaded from the beginning and, where no person is there to wait, shortly for
// all. It names those that are still being connected to; both times are bounded
// and can be set to 0.
func (m *Manager) WaitAtStart(ctx context.Context, headless bool) (pending []string) {
	var always []string
	for _, name := range m.names {
		if s := m.servers[name]; s.cfg.AlwaysLoad != nil && *s.cfg.AlwaysLoad {
			always = append(always, name)
		}
	}
	wait := func(limit time.Duration, names ...string) []string {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return m.Wait(limited, names...)
	}
	if len(always) > 0 {
		pending = wait(m.vars.millis("MCP_CONNECT_TIMEOUT_MS", 0, DefaultAlwaysLoadWait), always...)
	}
	if headless {
		pending = wait(m.vars.millis("CLAUDE_CODE_MCP_STARTUP_WAIT_MS", 0, DefaultStartupWait))
	}
	return pending
}

// Server gives a server's configuration, for approval and display; it must not
// be modified.
func (m *Manager) Server(name string) (*config.Server, error) {
	s, err := m.server(name)
	if err != nil {
		return nil, err
	}
	return &s.cfg, nil
}
