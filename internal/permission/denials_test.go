package permission

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/settings"
	"pgregory.net/rapid"
)

// In trees with links, hard links and names that are not there, and however a path is written: what is said of many
// paths in turn is what is said of each alone.
func TestDenialsAreThoseOfSinglePaths(t *testing.T) {
	names := []string{"a", "b", "secret", ".env", "link", "Secret"}
	name := rapid.SampledFrom(names)
	rel := rapid.Map(rapid.SliceOfN(name, 1, 4), func(parts []string) string { return filepath.Join(parts...) })
	rules := rapid.SliceOfN(rapid.SampledFrom([]string{
		"Read(**/.env)", "Read(secret/**)", "Read(./a/b)", "Read(a/secret)", "Read(!a/secret/b)", "Read(**/link)", "Read(./b/**)", "Read(link/secret)",
	}), 1, 3)
	rapid.Check(t, func(rt *rapid.T) {
		cwd, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(2, 10).Draw(rt, "entries") {
			path := filepath.Join(cwd, rel.Draw(rt, "entry"))
			if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
				continue
			}
			// What is in the way of another entry stays.
			switch rapid.IntRange(0, 4).Draw(rt, "kind") {
			case 0:
				os.Symlink(filepath.Join(cwd, rel.Draw(rt, "target")), path)
			case 1:
				os.Symlink(rel.Draw(rt, "target"), path)
			case 2:
				os.Link(filepath.Join(cwd, rel.Draw(rt, "target")), path)
			default:
				if _, err := os.Lstat(path); err != nil {
					os.WriteFile(path, fmt.Append(nil, i), 0o644)
				}
			}
		}
		get := rulesOf(cwd, nil, nil, rules.Draw(rt, "rules"))
		p := New(Config{Settings: func() *settings.Snapshot { return get() }, Cwd: cwd, Home: cwd})
		denied := p.ReadDenials()
		if denied == nil {
			return
		}
		for range 20 {
			path := filepath.Join(cwd, rel.Draw(rt, "path"))
			switch rapid.IntRange(0, 6).Draw(rt, "spelling") {
			case 0:
				path += "/"
			case 1:
				path = filepath.Dir(path) + "/./" + filepath.Base(path)
			case 2:
				path = filepath.Dir(path) + "/x/../" + filepath.Base(path)
			case 3:
				path = strings.Replace(path, "secret", "Secret", 1)
			}
			typ := fs.ModeIrregular
			if info, err := os.Lstat(path); err == nil && rapid.Bool().Draw(rt, "type known") {
				typ = info.Mode().Type()
			}
			if got, want := denied(path, typ), p.ReadDenied(path); got != want {
				rt.Errorf("%s (%v): %v, alone %v", path, typ, got, want)
			}
		}
	})
}

func TestDenialsOfOddPaths(t *testing.T) {
	s := newScratch(t)
	p := s.policy(nil, nil, []string{"Read(**/.env)"})
	denied := p.ReadDenials()
	for _, path := range []string{"", "/", ".env", "~/.env", "a\x00b", "/" + strings.Repeat("x/", 9000), s.at.Cwd, "/proc/self", "/none/.env", "//etc//x/../.env"} {
		if got, want := denied(path, fs.ModeIrregular), p.ReadDenied(path); got != want {
			t.Errorf("%.40q: %v, alone %v", path, got, want)
		}
	}
}
