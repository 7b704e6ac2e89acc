package settings

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Every way of changing a file counts from the very next call on.
func TestNoChangeIsMissed(t *testing.T) {
	home, dir, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	w, err := NewWatcher(context.Background(), Options{Dir: dir, Home: home, ManagedDirs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.quiet.looks = looksBefore // as after many calls
	file := filepath.Join(dir, ".sevengate", "settings.json")
	deny := func(i int) []byte { return fmt.Appendf(nil, `{"permissions":{"deny":["Bash(x%d)"]}}`, i) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	changes := []func(i int){
		func(i int) {
			must(os.MkdirAll(filepath.Dir(file), 0o755))
			must(os.WriteFile(file, deny(i), 0o644))
		},
		func(i int) { must(os.WriteFile(file, deny(i), 0o644)) },
		func(i int) {
			must(os.WriteFile(file+".new", deny(i), 0o644))
			must(os.Rename(file+".new", file))
		},
		func(i int) {
			must(os.RemoveAll(filepath.Dir(file)))
			must(os.MkdirAll(filepath.Dir(file), 0o755))
			must(os.WriteFile(file, deny(i), 0o644))
		},
		func(i int) {
			must(os.Remove(file))
			must(os.WriteFile(filepath.Join(elsewhere, "s.json"), deny(i), 0o644))
			must(os.Symlink(filepath.Join(elsewhere, "s.json"), file))
		},
		func(i int) { must(os.WriteFile(filepath.Join(elsewhere, "s.json"), deny(i), 0o644)) },
		func(i int) {
			must(os.Remove(file))
			must(os.WriteFile(file, deny(i), 0o644))
		},
	}
	w.Current(context.Background())
	for round := range 20 {
		for k, change := range changes {
			i := round*len(changes) + k
			change(i)
			want := fmt.Sprintf("Bash(x%d)", i)
			got := w.Current(context.Background()).Settings.Permissions.Deny
			if len(got) != 1 || got[0].Text != want {
				t.Fatalf("change %d of round %d: the rules are %+v, want %s", k, round, got, want)
			}
			if again := w.Current(context.Background()); len(again.Settings.Permissions.Deny) != 1 {
				t.Fatalf("change %d of round %d: lost again", k, round)
			}
		}
	}
}

func BenchmarkCurrentUnchanged(b *testing.B) {
	w, err := NewWatcher(context.Background(), Options{Dir: b.TempDir(), Home: b.TempDir(), ManagedDirs: []string{}})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	w.quiet.looks = looksBefore // as after many calls
	for b.Loop() {
		w.Current(context.Background())
	}
}
