package client

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sevengate/sevengate/internal/mcp/config"
	"github.com/sevengate/sevengate/tool"
)

// Servers that others wrote, installed for the test. Installing is slow and
// needs the network, so it has to be asked for.
func TestServersFromNPM(t *testing.T) {
	if os.Getenv("SEVENGATE_NPM_TESTS") != "1" {
		t.Skip("installs packages: set SEVENGATE_NPM_TESTS=1")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed")
	}
	prefix := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, npm, "install", "--prefix", prefix, "--no-audit", "--no-fund", "--loglevel=error",
		"@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory", "@modelcontextprotocol/server-sequential-thinking")
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("the packages cannot be installed: %v\n%s", err, out)
	}
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "hello.txt"), []byte("hello from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := func(name string, args ...string) config.Server {
		return config.Server{Name: name, Scope: config.ScopeUser, Type: config.Stdio, Command: filepath.Join(prefix, "node_modules", ".bin", "mcp-server-"+name), Args: args, Dir: files}
	}
	memory := bin("memory")
	memory.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.json")}
	m := start(t, func(c *Config) {
		c.Elicitor, c.Sampler = answers{}, answers{}
		c.Roots = func() []string { return []string{files} }
	}, bin("everything"), bin("filesystem", files), memory, bin("sequential-thinking"))
	wait, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	m.Wait(wait)
	for _, st := range m.Status() {
		log, _, _ := m.Logs(st.Name)
		if st.State != Connected || len(st.Tools) == 0 {
			t.Errorf("%+v\n%s", st, log)
			continue
		}
		t.Logf("%s %s, protocol %s, %d tools", st.ServerName, st.ServerVersion, st.Protocol, len(st.Tools))
	}
	for _, p := range m.Problems() {
		t.Errorf("left out: %+v", p)
	}
	call := func(server, name string, in any) (tool.Outcome, string) {
		t.Helper()
		raw, _ := json.Marshal(in)
		o, blocks, err := run(t, m, "mcp__"+server+"__"+name, string(raw))
		if err != nil {
			t.Fatalf("%s %s: %v", server, name, err)
		}
		if o.IsError {
			t.Errorf("%s %s: %v", server, name, blocks)
		}
		var text []string
		for _, b := range blocks {
			text = append(text, string(b.Type)+":"+b.Text)
		}
		return o, strings.Join(text, "\n")
	}
	for _, c := range []struct {
		server, name string
		in           any
		want         string
	}{
		{"everything", "echo", map[string]any{"message": "hi there"}, "hi there"},
		{"everything", "get-sum", map[string]any{"a": 2, "b": 40}, "42"},
		{"everything", "get-tiny-image", map[string]any{}, "image:"},
		{"everything", "trigger-long-running-operation", map[string]any{"duration": 1, "steps": 3}, "completed"},
		{"everything", "get-structured-content", map[string]any{"location": "New York"}, "temperature"},
		{"filesystem", "read_text_file", map[string]any{"path": filepath.Join(files, "hello.txt")}, "hello from a file"},
		{"filesystem", "list_directory", map[string]any{"path": files}, "hello.txt"},
		{"memory", "create_entities", map[string]any{"entities": []any{map[string]any{"name": "Ada", "entityType": "person", "observations": []string{"writes programs"}}}}, "Ada"},
		{"memory", "search_nodes", map[string]any{"query": "programs"}, "Ada"},
		{"sequential-thinking", "sequentialthinking", map[string]any{"thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}, "thoughtNumber"},
	} {
		if _, got := call(c.server, c.name, c.in); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s", c.server, c.name, got)
		}
	}
	list, problems, err := m.ListResources(t.Context(), "everything")
	if err != nil || len(list) == 0 || len(problems) > 0 {
		t.Errorf("%v %v %v", list, problems, err)
	} else if blocks, err := m.ReadResource(t.Context(), "everything", list[0].URI, t.TempDir()); err != nil || len(blocks) == 0 {
		t.Errorf("%v %v", blocks, err)
	}
	t.Logf("%d resources, %d prompts", len(list), len(m.Prompts()))
}
