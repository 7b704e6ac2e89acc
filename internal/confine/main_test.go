package confine

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/sevengate/sevengate/internal/engine/sandbox"
	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/internal/settings"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is a project with settings of several levels.
type place struct {
	t                        *testing.T
	root, dir, home, managed string
}

func newPlace(t *testing.T) place {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{t, root, filepath.Join(root, "project"), filepath.Join(root, "home"), filepath.Join(root, "managed")}
	for _, dir := range []string{p.dir, p.home, p.managed} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p place) write(path, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p place) user(text string)    { p.write(filepath.Join(p.home, ".claude", "settings.json"), text) }
func (p place) project(text string) { p.write(filepath.Join(p.dir, ".claude", "settings.json"), text) }
func (p place) policy(text string) {
	p.write(filepath.Join(p.managed, "managed-settings.json"), text)
}

func (p place) watcher() *settings.Watcher {
	p.t.Helper()
	w, err := settings.NewWatcher(context.Background(), settings.Options{Dir: p.dir, Home: p.home, StateDir: filepath.Join(p.home, ".sevengate"), ManagedDirs: []string{p.managed}})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { w.Close() })
	return w
}

func (p place) keeper(change func(*Config)) *Keeper {
	p.t.Helper()
	w := p.watcher()
	current := func() *settings.Snapshot { return w.Current(context.Background()) }
	cfg := Config{
		Settings: current, Rules: permission.New(permission.Config{Settings: current, Cwd: p.dir, Home: p.home}),
		Roots: func() []string { return []string{p.dir} }, Dir: p.dir, Home: p.home, State: filepath.Join(p.home, ".sevengate"),
	}
	if change != nil {
		change(&cfg)
	}
	k := New(cfg)
	p.t.Cleanup(func() {
		if err := k.Close(); err != nil {
			p.t.Error(err)
		}
	})
	return k
}

func needSandbox(t *testing.T) {
	t.Helper()
	r := sandbox.Available()
	for _, part := range []sandbox.Part{sandbox.PartUser, sandbox.PartMount, sandbox.PartPID, sandbox.PartNetwork, sandbox.PartSeccomp} {
		if !r.OK(part) {
			t.Skipf("this machine has no sandbox:\n%s", r)
		}
	}
}
