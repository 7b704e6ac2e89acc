//go:build unix

package shellrun

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostUntilKilled starts three background tasks, tells that they run, and waits to be killed.
func hostUntilKilled(dir string, noCgroup bool) {
	r, err := New(Options{OutputDir: dir, NoCgroup: noCgroup})
	if err != nil {
		fatalf("%v", err)
	}
	write := `echo $BASHPID >>pids; `
	for i, command := range []string{
		write + `trap '' TERM HUP; (` + write + `sleep 1000) & sleep 1000`,
		write + `setsid bash -c '` + write + `while :; do sleep 1; done' & wait`,
		write + `(setsid bash -c '` + write + `trap "" TERM HUP; sleep 1000' >/dev/null 2>&1 &) ; sleep 1000`,
	} {
		if _, err := r.Start(context.Background(), Spec{Command: command, Dir: dir, Background: true, ID: fmt.Sprint("t", i)}); err != nil {
			fatalf("%v", err)
		}
	}
	for {
		if b, _ := os.ReadFile(filepath.Join(dir, "pids")); strings.Count(string(b), "\n") == 6 {
			fmt.Println("ready")
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(hangGuard)
}

func TestKilledHostLeavesNothing(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs setsid, and Linux to find what leaves its group")
	}
	for _, noCgroup := range []bool{false, true} {
		t.Run(fmt.Sprintf("nocgroup=%v", noCgroup), func(t *testing.T) {
			dir := realTempDir(t)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "SHELLRUN_TEST_HOST="+dir, EnvShell+"="+bash(t))
			if noCgroup {
				cmd.Env = append(cmd.Env, "SHELLRUN_TEST_NOCGROUP=1")
			}
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if line != "ready\n" {
				t.Errorf("host said %q: %v", line, err)
			}
			_ = cmd.Process.Signal(syscall.SIGKILL)
			killed := time.Now()
			_ = cmd.Wait()
			b, err := os.ReadFile(filepath.Join(dir, "pids"))
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, 2*time.Second, "all processes of the killed host gone", func() bool {
				for _, s := range strings.Fields(string(b)) {
					if pid, err := strconv.Atoi(s); err != nil || running(pid) {
						return false
					}
				}
				return true
			})
			t.Logf("gone after %v", time.Since(killed))
		})
	}
}

// running reports whether a process runs; a zombie that nobody reaps does not.
func running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	i := strings.LastIndexByte(string(b), ')')
	return i < 0 || len(b) < i+3 || b[i+2] != 'Z' && b[i+2] != 'X'
}

func bash(t testing.TB) string {
	t.Helper()
	p := lookIn(os.Getenv("PATH"), "bash")
	if p == "" {
		t.Skip("no bash on PATH")
	}
	return p
}
