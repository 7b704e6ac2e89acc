package search

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a scratch directory with the tools of the family.
type bench struct {
	t     testing.TB
	dir   string
	tools map[string]tool.Tool
	env   *tool.Env
	clock time.Time
}

func newBench(t testing.TB, deps Deps) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, tools: map[string]tool.Tool{}, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, each := range New(deps) {
		b.tools[each.Name()] = each
	}
	b.env = &tool.Env{Place: tool.Place{Cwd: dir, Home: filepath.Join(dir, "home")}}
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// put writes a file that is a minute newer than the one before.
func (b *bench) put(name, content string) {
	b.t.Helper()
	p := b.path(name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.clock = b.clock.Add(time.Minute)
	if err := os.Chtimes(p, b.clock, b.clock); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) link(target, name string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Symlink(target, b.path(name)); err != nil {
		b.t.Skipf("no links here: %v", err)
	}
}

type args = map[string]any

func (b *bench) bind(name string, in args) *tool.Call {
	b.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	if raw, err = schema.For(b.tools[name]).Check(raw); err != nil {
		b.t.Fatalf("%s %v: %v", name, in, err)
	}
	call, err := b.tools[name].Bind(raw, b.env.Place)
	if err != nil {
		b.t.Fatalf("bind %s %v: %v", name, in, err)
	}
	return call
}

// runCtx makes a call and gives the text for the model, the output and the error.
func (b *bench) runCtx(ctx context.Context, name string, in args) (string, any, error) {
	b.t.Helper()
	call := b.bind(name, in)
	if err := call.Validate(ctx, b.env); err != nil {
		return "", nil, err
	}
	out, err := call.Run(ctx, b.env)
	if err != nil {
		return "", nil, err
	}
	blocks, err := call.Map(out)
	if err != nil {
		b.t.Fatalf("map %s: %v", name, err)
	}
	var text []string
	for _, block := range blocks {
		text = append(text, block.Text)
	}
	return strings.Join(text, "\n"), out.Data, nil
}

func (b *bench) ok(name string, in args) string {
	b.t.Helper()
	text, _, err := b.runCtx(b.t.Context(), name, in)
	if err != nil {
		b.t.Fatalf("%s %v: %v", name, in, err)
	}
	return filepath.ToSlash(text)
}

func (b *bench) globbed(in args) GlobOutput {
	b.t.Helper()
	_, out, err := b.runCtx(b.t.Context(), "Glob", in)
	if err != nil {
		b.t.Fatalf("Glob %v: %v", in, err)
	}
	return out.(GlobOutput)
}

func (b *bench) grepped(in args) GrepOutput {
	b.t.Helper()
	_, out, err := b.runCtx(b.t.Context(), "Grep", in)
	if err != nil {
		b.t.Fatalf("Grep %v: %v", in, err)
	}
	return out.(GrepOutput)
}

// is makes a call whose whole text is known.
func (b *bench) is(name string, in args, want string) {
	b.t.Helper()
	if got := b.ok(name, in); got != want {
		b.t.Errorf("%s %v:\n%s\nwant:\n%s", name, in, got, want)
	}
}

// fails makes a call that must fail with all the words in its error.
func (b *bench) fails(name string, in args, words ...string) {
	b.t.Helper()
	text, _, err := b.runCtx(b.t.Context(), name, in)
	if err == nil {
		b.t.Errorf("%s %v: no error, but %q", name, in, text)
		return
	}
	has(b.t, err.Error(), words...)
}

func has(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in:\n%s", w, text)
		}
	}
}

func hasNot(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if strings.Contains(text, w) {
			t.Errorf("%q must not be in:\n%s", w, text)
		}
	}
}
