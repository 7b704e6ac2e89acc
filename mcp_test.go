package sevengate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/mcp/config"
)

// TestAdministratorsServers: an administrator's settings decide which servers there
// are, whatever a person's say.
func TestAdministratorsServers(t *testing.T) {
	servers := `{"mcpServers":{"good":{"type":"http","url":"http://127.0.0.1:1/"},"bad":{"type":"http","url":"http://127.0.0.1:2/"}}}`
	for _, c := range []struct {
		name, managed, user string
		want                []string // that may be started
		err                 string
	}{
		{name: "none", want: []string{"bad", "good"}},
		{name: "a person's list", user: `{"allowedMcpServers":[{"serverName":"bad"}]}`, want: []string{"bad"}},
		{name: "the lists are joined", managed: `{"allowedMcpServers":[{"serverName":"good"}]}`, user: `{"allowedMcpServers":[{"serverName":"bad"}]}`, want: []string{"bad", "good"}},
		{name: "only the administrator's", managed: `{"allowManagedMcpServersOnly":true,"allowedMcpServers":[{"serverName":"good"}]}`,
			user: `{"allowedMcpServers":[{"serverName":"bad"}]}`, want: []string{"good"}},
		{name: "who has none", managed: `{"allowManagedMcpServersOnly":true}`, user: `{"allowedMcpServers":[]}`, want: []string{"bad", "good"}},
		{name: "a person cannot lock", user: `{"allowManagedMcpServersOnly":true,"allowedMcpServers":[{"serverName":"bad"}]}`, want: []string{"bad"}},
		{name: "no servers from flags", managed: `{"disableSideloadFlags":true}`, err: "disableSideloadFlags"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home, managed := t.TempDir(), t.TempDir()
			for path, text := range map[string]string{filepath.Join(home, ".claude", "settings.json"): c.user, filepath.Join(managed, "managed-settings.json"): c.managed} {
				if text == "" {
					continue
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r, err := New(t.Context(), Options{Dir: t.TempDir(), Home: home, ManagedDirs: []string{managed}, Environ: []string{"HOME=" + home}, MCPConfig: []string{servers}, Ephemeral: true})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var got []string
			for _, s := range r.servers {
				if v, _ := r.judgeServer(t.Context())(&s); v == config.Start {
					got = append(got, s.Name)
				}
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("may start: %q, want %q", got, c.want)
			}
		})
	}
}
