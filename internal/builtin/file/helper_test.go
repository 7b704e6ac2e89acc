package file

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

// bench is a scratch directory with the tools of the family and one conversation.
type bench struct {
	t     testing.TB
	dir   string
	tools map[string]tool.Tool
	env   *tool.Env
}

func newBench(t testing.TB, deps Deps) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, tools: map[string]tool.Tool{}}
	for _, each := range New(deps) {
		b.tools[each.Name()] = each
	}
	b.env = &tool.Env{Files: &tool.FileState{}, Place: tool.Place{Cwd: dir, Home: dir}}
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) put(name, content string) string {
	b.t.Helper()
	p := b.path(name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) get(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

type args = map[string]any

// run makes a call and gives the text for the model, the output and the error.
func (b *bench) run(name string, in args) (string, any, error) {
	b.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	call, err := b.tools[name].Bind(raw, b.env.Place)
	if err != nil {
		b.t.Fatalf("bind %s: %v", name, err)
	}
	if err := call.Validate(b.t.Context(), b.env); err != nil {
		return "", nil, err
	}
	out, err := call.Run(b.t.Context(), b.env)
	if err != nil {
		return "", nil, err
	}
	blocks, err := call.Map(out)
	if err != nil {
		b.t.Fatalf("map %s: %v", name, err)
	}
	var text []string
	for _, block := range blocks {
		if block.Type == tool.BlockText {
			text = append(text, block.Text)
		}
	}
	return strings.Join(text, "\n"), out.Data, nil
}

func (b *bench) ok(name string, in args) string {
	b.t.Helper()
	text, _, err := b.run(name, in)
	if err != nil {
		b.t.Fatalf("%s %v: %v", name, in, err)
	}
	return text
}

// fails makes a call that must fail with all the words in its error.
func (b *bench) fails(name string, in args, words ...string) {
	b.t.Helper()
	text, _, err := b.run(name, in)
	if err == nil {
		b.t.Fatalf("%s %v: no error, but %q", name, in, text)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			b.t.Errorf("%s: the error %q does not say %q", name, err, w)
		}
	}
}

func has(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in:\n%s", w, text)
		}
	}
}
