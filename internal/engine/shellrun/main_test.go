package shellrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets the test binary play a host that is killed (see crash_linux_test.go).
func TestMain(m *testing.M) {
	if dir := os.Getenv("SHELLRUN_TEST_HOST"); dir != "" {
		hostUntilKilled(dir, os.Getenv("SHELLRUN_TEST_NOCGROUP") != "")
		return
	}
	goleak.VerifyTestMain(m)
}

// hangGuard ends a test that would wait for ever.
const hangGuard = 2 * time.Minute

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hangGuard)
	t.Cleanup(cancel)
	return ctx
}

// newRunner returns a Runner that is closed, without complaint, at the end of the test.
func newRunner(t testing.TB, change func(*Options)) *Runner {
	t.Helper()
	home := t.TempDir()
	opts := Options{OutputDir: filepath.Join(t.TempDir(), "out"), Home: home,
		BaseEnv: append(os.Environ(), "HOME="+home)}
	if change != nil {
		change(&opts)
	}
	r, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error("close:", err)
		}
	})
	return r
}

// run runs a command in a fresh directory and returns its result and output.
func run(t testing.TB, r *Runner, command string, change func(*Spec)) (Result, string) {
	t.Helper()
	spec := Spec{Command: command, Dir: realTempDir(t)}
	if change != nil {
		change(&spec)
	}
	res, err := r.Run(testContext(t), spec)
	if err != nil {
		t.Fatalf("run %q: %v", command, err)
	}
	return res, output(t, res)
}

func output(t testing.TB, res Result) string {
	t.Helper()
	b, err := os.ReadFile(res.OutputFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func realTempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// eventually waits for a condition.
func eventually(t testing.TB, within time.Duration, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// shells returns the shells to test with.
func shells(t testing.TB) []Shell {
	t.Helper()
	var out []Shell
	for _, kind := range []string{"bash", "zsh"} {
		if p := lookIn(os.Getenv("PATH"), kind); p != "" {
			out = append(out, Shell{Path: p, Kind: kind})
		}
	}
	if len(out) == 0 {
		t.Skip("neither bash nor zsh is on PATH")
	}
	return out
}

func lines(s string) []string { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") }

func fatalf(format string, a ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", a...)
	os.Exit(1)
}
