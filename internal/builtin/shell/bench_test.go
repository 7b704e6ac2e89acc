package shell

import (
	"context"
	"testing"

	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/tool"
)

// The cost of the tool itself, from the input to the facts by which it is scheduled.
func BenchmarkBind(b *testing.B) {
	bash := New(Deps{})[0]
	at := tool.Place{Cwd: "/w", Home: "/h", Roots: []string{"/w"}}
	raw := []byte(`{"command":"cd /w/src && git log --oneline -5 | head -3","description":"look at history"}`)
	b.ReportAllocs()
	for b.Loop() {
		c, err := bash.Bind(raw, at)
		if err != nil {
			b.Fatal(err)
		}
		c.ReadOnly()
		c.Effects()
	}
}

func BenchmarkEcho(b *testing.B) {
	r, err := shellrun.New(shellrun.Options{OutputDir: b.TempDir()})
	if err != nil {
		b.Skip("no shell to run commands with:", err)
	}
	defer r.Close()
	bash := New(Deps{Runner: func() (*shellrun.Runner, error) { return r, nil }})[0]
	env := &tool.Env{Place: tool.Place{Cwd: b.TempDir()}, Files: &tool.FileState{}}
	for b.Loop() {
		c, err := bash.Bind([]byte(`{"command":"echo hi"}`), env.Place)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Run(context.Background(), env); err != nil {
			b.Fatal(err)
		}
	}
}
