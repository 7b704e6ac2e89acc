package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sevengate/sevengate/internal/mcp/config"
	"github.com/sevengate/sevengate/tool"
)

// npm gives the folder of programs that others wrote, and its Node.
func npm(t *testing.T) (root, node string) {
	t.Helper()
	if root = os.Getenv("SEVENGATE_NPM"); root == "" {
		t.Skip("SEVENGATE_NPM does not name a folder with node_modules, as .ci/npm makes it")
	}
	node = filepath.Join(root, "node_modules", "node", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		t.Fatalf("SEVENGATE_NPM is %s: %v", root, err)
	}
	return root, node
}

// reach calls a tool and gives its result in words.
func reach(t *testing.T, m *Manager, server, name string, in any) (tool.Outcome, string) {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := bind(t, m, "mcp__"+server+"__"+name, string(raw))
	o, err := c.Run(ctx, &tool.Env{ResultsDir: t.TempDir()})
	if err != nil {
		t.Fatalf("%s %s: %v", server, name, err)
	}
	blocks, err := c.Map(o)
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

// connected waits for servers that are slow to start.
func connected(t *testing.T, m *Manager) {
	t.Helper()
	wait, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	m.Wait(wait)
	for _, st := range m.Status() {
		log, _, _ := m.Logs(st.Name)
		if st.State != Connected || len(st.Tools) == 0 {
			t.Fatalf("%+v\n%s", st, log)
		}
		t.Logf("%s %s, protocol %s, %d tools", st.ServerName, st.ServerVersion, st.Protocol, len(st.Tools))
	}
	for _, p := range m.Problems() {
		t.Errorf("left out: %+v", p)
	}
}

// Servers that others wrote.
func TestServersFromNPM(t *testing.T) {
	root, node := npm(t)
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "hello.txt"), []byte("hello from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := func(name string, args ...string) config.Server {
		script := filepath.Join(root, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
		return config.Server{Name: name, Scope: config.ScopeUser, Type: config.Stdio, Command: node, Args: append([]string{script}, args...), Dir: files}
	}
	memory := bin("memory")
	memory.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.json")}
	m := start(t, func(c *Config) {
		c.Elicitor, c.Sampler = answers{}, answers{}
		c.Roots = func() []string { return []string{files} }
	}, bin("everything"), bin("filesystem", files), memory, bin("sequential-thinking"))
	connected(t, m)
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
		if _, got := reach(t, m, c.server, c.name, c.in); !strings.Contains(got, c.want) {
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

// A real browser behind a server: it opens a page, reads it, fills it in and
// takes a picture of it.
func TestBrowserServer(t *testing.T) {
	root, node := npm(t)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("chromium is not installed")
		}
		t.Skip("chromium is not installed")
	}
	page := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><title>Gate test</title><h1>Seven gates</h1><label>Name <input id="n"></label>
<button onclick="document.querySelector('h1').textContent = 'Hello ' + document.getElementById('n').value">Greet</button>`)
	}))
	dir := t.TempDir()
	browser := config.Server{Name: "browser", Scope: config.ScopeUser, Type: config.Stdio, Command: node, Dir: dir, Args: []string{
		filepath.Join(root, "node_modules", "@playwright", "mcp", "cli.js"), "--headless", "--isolated", "--no-sandbox",
		"--executable-path", chromium, "--output-dir", dir}}
	m := start(t, func(c *Config) { c.Roots = func() []string { return []string{dir} } }, browser)
	connected(t, m)
	if _, got := reach(t, m, "browser", "browser_navigate", map[string]any{"url": page}); !strings.Contains(got, "Gate test") {
		t.Errorf("navigate: %s", got)
	}
	_, got := reach(t, m, "browser", "browser_snapshot", map[string]any{})
	if !strings.Contains(got, "Seven gates") {
		t.Fatalf("snapshot: %s", got)
	}
	ref := func(kind string) string { // of an element, as the snapshot names it
		_, rest, _ := strings.Cut(got, kind)
		_, rest, _ = strings.Cut(rest, "[ref=")
		id, _, _ := strings.Cut(rest, "]")
		return id
	}
	reach(t, m, "browser", "browser_type", map[string]any{"element": "the name", "target": ref("textbox"), "text": "Ada"})
	reach(t, m, "browser", "browser_click", map[string]any{"element": "the button", "target": ref("button")})
	if _, got := reach(t, m, "browser", "browser_snapshot", map[string]any{}); !strings.Contains(got, "Hello Ada") {
		t.Errorf("after the click: %s", got)
	}
	if _, got := reach(t, m, "browser", "browser_take_screenshot", map[string]any{}); !strings.Contains(got, "image:") {
		t.Errorf("screenshot: %s", got)
	}
	reach(t, m, "browser", "browser_close", map[string]any{})
}
