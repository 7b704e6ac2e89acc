package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be the attacker inside the sandbox (see attack_linux_test.go).
func TestMain(m *testing.M) {
	if name := os.Getenv(attackVar); name != "" {
		os.Exit(attack(name))
	}
	goleak.VerifyTestMain(m)
}

const attackVar = "SANDBOX_TEST_ATTACK"

// hangGuard ends a test that would wait for ever.
const hangGuard = 2 * time.Minute

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hangGuard)
	t.Cleanup(cancel)
	return ctx
}

// prepared returns a Sandbox, or skips the test where the machine cannot have one.
func prepared(t testing.TB, p Policy) *Sandbox {
	t.Helper()
	s, err := Prepare(testContext(t), p)
	var missing *UnavailableError
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// eachEngine runs a test with this program's own walls and with bubblewrap's, "" standing for the first.
func eachEngine(t *testing.T, f func(t *testing.T, bubblewrap string)) {
	t.Run("own", func(t *testing.T) { f(t, "") })
	t.Run("bubblewrap", func(t *testing.T) {
		path, err := exec.LookPath("bwrap")
		if err != nil {
			t.Skip("bubblewrap is not installed here")
		}
		f(t, path)
	})
}

// command returns a shell command inside the sandbox.
func command(t testing.TB, s *Sandbox, dir, script string) *exec.Cmd {
	t.Helper()
	words, err := s.Wrap()
	if err != nil {
		t.Fatal(err)
	}
	words = append(words, "/bin/bash", "-c", script)
	cmd := exec.CommandContext(testContext(t), words[0], words[1:]...)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// sh runs shell text inside the sandbox and returns what it says and its exit code.
func sh(t testing.TB, s *Sandbox, dir, script string) (string, int) {
	t.Helper()
	cmd := command(t, s, dir, script)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func realTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(b)
}
