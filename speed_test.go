package sevengate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

func benchRuntime(b *testing.B, settings string) *Runtime {
	b.Helper()
	dir, home := b.TempDir(), b.TempDir()
	for i := range 10 {
		text := strings.Repeat("a line of some fifty characters, as in real code\n", 2048)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	r, err := New(context.Background(), Options{Dir: dir, Home: home, ManagedDirs: []string{}, Ephemeral: true, Settings: settings,
		Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.Close() })
	return r
}

// BenchmarkTenReads is one message with ten reads of 100 KB.
func BenchmarkTenReads(b *testing.B) {
	r := benchRuntime(b, "")
	m := tool.Message{Role: tool.RoleAssistant}
	for i := range 10 {
		m.Content = append(m.Content, tool.ToolUse(fmt.Sprint(i), "Read", json.RawMessage(fmt.Sprintf(`{"file_path":"f%d.txt"}`, i))))
	}
	for b.Loop() {
		r.Exec(context.Background(), m)
	}
}

// BenchmarkExplain is the decision of an everyday command, with and without a
// thousand rules.
func BenchmarkExplain(b *testing.B) {
	var rules []string
	for i := range 1000 {
		rules = append(rules, fmt.Sprintf("%q", fmt.Sprintf("Bash(program%d *)", i)))
	}
	many := `{"permissions":{"allow":[` + strings.Join(rules, ",") + `]}}`
	for name, settings := range map[string]string{"few rules": "", "1000 rules": many} {
		b.Run(name, func(b *testing.B) {
			r := benchRuntime(b, settings)
			for b.Loop() {
				r.Explain(context.Background(), "Bash", json.RawMessage(`{"command":"git log --oneline -5 | head -3"}`), false)
			}
		})
	}
}
