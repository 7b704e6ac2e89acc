package grep

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/engine/walk"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func compile(t testing.TB, pattern string, o Options) *Pattern {
	t.Helper()
	p, err := Compile(pattern, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run searches and writes the result as ripgrep would: path:line:text, path-line-text, --.
func run(t testing.TB, p *Pattern, o SearchOptions) (string, Stats) {
	t.Helper()
	var b strings.Builder
	st, err := Search(context.Background(), p, o, func(e Event) error {
		switch e.Kind {
		case KindFile:
			if o.Mode == ModeCount {
				fmt.Fprintf(&b, "%s:%d:%d\n", e.Rel, e.Lines, e.Matches)
			} else {
				fmt.Fprintf(&b, "%s\n", e.Rel)
			}
		case KindMatch:
			fmt.Fprintf(&b, "%s:%d:%s\n", e.Rel, e.Line, e.Text)
		case KindContext:
			fmt.Fprintf(&b, "%s-%d-%s\n", e.Rel, e.Line, e.Text)
		case KindGap:
			b.WriteString("--\n")
		case KindBinary:
			fmt.Fprintf(&b, "%s: binary\n", e.Rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), st
}

func under(dir string) SearchOptions {
	return SearchOptions{Roots: []string{dir}, Walk: walk.Options{NoGlobal: true}, Mode: ModeContent}
}
