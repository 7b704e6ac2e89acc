package walk

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func collect(t testing.TB, opts Options) ([]string, Stats) {
	t.Helper()
	var mu sync.Mutex
	var out []string
	s, err := Walk(context.Background(), opts, func(e Entry) error {
		mu.Lock()
		defer mu.Unlock()
		out = append(out, e.Rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !opts.Sorted {
		slices.Sort(out)
	}
	return out, s
}

func noEnv(home string) func(string) string {
	return func(k string) string {
		switch k {
		case "HOME":
			return home
		case "GIT_CONFIG_NOSYSTEM":
			return "1"
		}
		return ""
	}
}

func git(t testing.TB, home, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}
	cmd.Stdin = strings.NewReader(stdin)
	var errb bytes.Buffer
	cmd.Stderr = &errb
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("git %v: %v: %s", args, err, errb.String())
	}
	return string(out)
}

func needGit(t testing.TB) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: nothing to compare with")
	}
}

var nameParts = []string{"a", "b", "ab", "foo", "bar", "A", "x.go", "y.txt", ".h", "a b", "c ", "#d", "!e", "[f]", "g*", "h\\", "é", "foo.go", "build", "v1"}

func randomName(r *rand.Rand) string { return nameParts[r.Intn(len(nameParts))] }

func randomPattern(r *rand.Rand) string {
	var b strings.Builder
	if r.Intn(5) == 0 {
		b.WriteByte('!')
	}
	if r.Intn(5) == 0 {
		b.WriteByte('/')
	}
	for i, n := 0, 1+r.Intn(3); i < n; i++ {
		if i > 0 {
			b.WriteByte('/')
		}
		switch r.Intn(9) {
		case 0:
			b.WriteString("**")
		case 1:
			b.WriteString("*")
		case 2:
			b.WriteString([]string{"*.go", "*.txt", "a*", "*o*", "?", "??", "f?o", "*.*", "***"}[r.Intn(9)])
		case 3:
			b.WriteString([]string{"[ab]", "[!a]", "[^b]*", "[a-c]", "[[:alpha:]]", "[[:upper:]]*", "[]a]", "[a", "[\\]a]", "[[:nope:]]", "[b-a]", "[a/b]", "[-a]", "[a-]", "[[:alpha:]", "[[x]"}[r.Intn(16)])
		case 4:
			b.WriteString([]string{"\\a", "\\#d", "\\!e", "\\[f\\]", "g\\*", "h\\\\", "a\\ b", "c\\ ", "c ", "a\\", "foo\\", "\\*", "é"}[r.Intn(13)])
		default:
			b.WriteString(randomName(r))
		}
	}
	if r.Intn(4) == 0 {
		b.WriteByte('/')
	}
	if r.Intn(10) == 0 {
		b.WriteString([]string{" ", "  ", "\\ ", "\t", "\r"}[r.Intn(5)])
	}
	return b.String()
}

func randomIgnore(r *rand.Rand) string {
	var b strings.Builder
	if r.Intn(15) == 0 {
		b.WriteString("\ufeff")
	}
	for i, n := 0, 1+r.Intn(5); i < n; i++ {
		b.WriteString(randomPattern(r))
		b.WriteString([]string{"\n", "\n", "\n", "\r\n"}[r.Intn(4)])
	}
	return b.String()
}

// Random trees with random ignore files at all levels: the files that Walk visits are those that git calls untracked and
// not ignored, and Ignorer says of each single path what git check-ignore says.
func TestAgainstGit(t *testing.T) {
	needGit(t)
	t.Parallel()
	base := t.TempDir()
	trees := int64(100)
	if n, err := strconv.ParseInt(os.Getenv("SEVENGATE_WALK_TREES"), 10, 64); err == nil {
		trees = n
	}
	for seed := range trees {
		r := rand.New(rand.NewSource(seed))
		home := filepath.Join(base, fmt.Sprint(seed), "home")
		repo := filepath.Join(base, fmt.Sprint(seed), "repo")
		write(t, filepath.Join(home, ".config/git/ignore"), randomIgnore(r))
		if r.Intn(3) == 0 {
			write(t, filepath.Join(home, ".gitconfig"), "[user]\nname=x\n[Core]\n\texcludesFile = \"~/my ignore\" # c\n")
			write(t, filepath.Join(home, "my ignore"), randomIgnore(r))
		}
		write(t, filepath.Join(repo, ".git/HEAD"), "ref: refs/heads/main\n")
		write(t, filepath.Join(repo, ".git/config"), "[core]\n\trepositoryformatversion = 0\n")
		for _, d := range []string{"objects", "refs"} {
			if err := os.MkdirAll(filepath.Join(repo, ".git", d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		write(t, filepath.Join(repo, ".git/info/exclude"), randomIgnore(r))
		write(t, filepath.Join(repo, ".gitignore"), randomIgnore(r))
		for range 25 {
			var p []string
			for range 1 + r.Intn(4) {
				p = append(p, randomName(r))
			}
			full := filepath.Join(repo, filepath.Join(p...))
			if os.MkdirAll(filepath.Dir(full), 0o755) != nil {
				continue // a file stands where a folder would be
			}
			if _, err := os.Lstat(full); err == nil {
				continue
			}
			write(t, full, "x")
			if r.Intn(4) == 0 {
				write(t, filepath.Join(filepath.Dir(full), ".gitignore"), randomIgnore(r))
			}
		}
		opts := Options{Root: repo, Hidden: true, Getenv: noEnv(home)}
		got, _ := collect(t, opts)
		want := strings.Split(strings.TrimSuffix(git(t, home, repo, "", "ls-files", "-o", "-z", "--exclude-standard"), "\x00"), "\x00")
		if want[0] == "" {
			want = nil
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: walk differs from git\n got %q\nwant %q", seed, got, want)
			continue
		}
		// Single paths, existing and not, from a sub-directory too.
		all, _ := collect(t, Options{Root: repo, Hidden: true, NoIgnore: true, Dirs: true})
		in := strings.Join(all, "\x00") + "\x00"
		ignored := map[string]bool{}
		for _, p := range strings.Split(git(t, home, repo, in, "check-ignore", "-z", "--stdin"), "\x00") {
			ignored[p] = true
		}
		ig, err := NewIgnorer(repo, opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			info, err := os.Stat(filepath.Join(repo, p))
			if err != nil {
				t.Fatal(err)
			}
			if d := ig.Decide(p, info.IsDir()); d.Ignored != ignored[p] {
				t.Errorf("seed %d: %q: ignored %v by %+v, git says %v", seed, p, d.Ignored, d, ignored[p])
			}
		}
		sorted, _ := collect(t, Options{Root: repo, Hidden: true, Getenv: noEnv(home), Sorted: true})
		slices.Sort(sorted)
		if !slices.Equal(sorted, want) {
			t.Errorf("seed %d: sorted walk differs from git", seed)
		}
	}
}
