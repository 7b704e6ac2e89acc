package shellrun

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// ways runs a test with and without cgroups, and checks that afterwards no process, descriptor or goroutine is left.
func ways(t *testing.T, f func(t *testing.T, r *Runner)) {
	t.Helper()
	sh := Shell{Path: bash(t), Kind: "bash"}
	for _, noCgroup := range []bool{false, true} {
		t.Run(fmt.Sprintf("nocgroup=%v", noCgroup), func(t *testing.T) {
			fds, goroutines := openFiles(t), runtime.NumGoroutine()
			r, err := New(Options{OutputDir: filepath.Join(t.TempDir(), "out"), Shell: sh, NoCgroup: noCgroup})
			if err != nil {
				t.Fatal(err)
			}
			if !noCgroup && r.root.dir == "" {
				r.Close()
				t.Skip("no writable cgroup v2 here")
			}
			defer func() {
				if err := r.Close(); err != nil {
					t.Error("close:", err)
				}
				if left := marked(r); len(left) > 0 {
					t.Errorf("processes left: %s", pidList(left))
				}
				if r.root.dir != "" {
					if _, err := os.Stat(r.root.dir); err == nil {
						t.Errorf("cgroup left: %s", r.root.dir)
					}
				}
				eventually(t, 5*time.Second, fmt.Sprintf("descriptors back to %d, goroutines to %d", fds, goroutines), func() bool {
					return openFiles(t) <= fds && runtime.NumGoroutine() <= goroutines
				})
			}()
			f(t, r)
		})
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// marked finds all processes of a runner by their environment, whatever the runner thinks.
func marked(r *Runner) []procInfo {
	return findProcs(func(m string) bool { return strings.HasPrefix(m, r.token+".") }, func(procInfo) bool { return false })
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip("needs " + program)
	}
}

// pid reads a process number that a command wrote.
func pid(t *testing.T, file string) int {
	t.Helper()
	n := 0
	eventually(t, 10*time.Second, file+" written", func() bool {
		b, err := os.ReadFile(file)
		if err == nil && strings.HasSuffix(string(b), "\n") {
			n, err = strconv.Atoi(strings.TrimSpace(string(b)))
		}
		return err == nil && n > 1
	})
	return n
}

func TestIgnoresSIGTERM(t *testing.T) {
	ways(t, func(t *testing.T, r *Runner) {
		res, _ := run(t, r, "trap '' TERM; echo $$; while :; do sleep 100; done", func(s *Spec) { s.Timeout = 200 * time.Millisecond })
		if !res.TimedOut() || res.Signal != "SIGKILL" || res.Duration < TermGrace {
			t.Errorf("%+v", res)
		}
		if left := marked(r); len(left) > 0 {
			t.Errorf("left: %s", pidList(left))
		}
	})
}

func TestPoliteEndIsQuick(t *testing.T) {
	ways(t, func(t *testing.T, r *Runner) {
		res, out := run(t, r, "trap 'echo cleaned up; exit 9' TERM; while :; do sleep 0.05; done", func(s *Spec) { s.Timeout = 200 * time.Millisecond })
		if !res.TimedOut() || !strings.HasSuffix(out, "cleaned up\n") || res.ExitCode != 9 {
			t.Errorf("%+v %q", res, out)
		}
	})
}

func TestDaemonHoldingTheOutput(t *testing.T) {
	need(t, "setsid")
	ways(t, func(t *testing.T, r *Runner) {
		dir := realTempDir(t)
		p, err := r.Start(testContext(t), Spec{Dir: dir,
			Command: `(setsid bash -c 'trap "" TERM HUP; echo $$ >pid; while :; do echo tick; sleep 0.05; done' &) ; cat pid 2>/dev/null; echo done`})
		if err != nil {
			t.Fatal(err)
		}
		res, err := p.Wait(testContext(t))
		if err != nil || res.ExitCode != 0 || !res.OutputOpen || !res.LeftBehind || res.Killed != "" {
			t.Fatalf("%+v %v", res, err)
		}
		daemon := pid(t, filepath.Join(dir, "pid"))
		eventually(t, 10*time.Second, "output collected after the end", func() bool {
			info, err := os.Stat(res.OutputFile)
			return err == nil && info.Size() > res.OutputSize+20
		})
		if err := p.Stop(testContext(t)); err != nil || running(daemon) {
			t.Errorf("after Stop: %v, daemon runs: %v", err, running(daemon))
		}
	})
}

func TestKillFindsWhatLeftTheGroup(t *testing.T) {
	need(t, "setsid")
	ways(t, func(t *testing.T, r *Runner) {
		dir := realTempDir(t)
		for name, command := range map[string]string{
			"double fork":       `(setsid bash -c 'echo $$ >pid; exec sleep 1000' >/dev/null 2>&1 &); sleep 1000`,
			"empty environment": `env -i setsid bash -c 'echo $$ >pid; exec sleep 1000' >/dev/null 2>&1 & sleep 1000`,
			"own group":         `set -m; bash -c 'echo $$ >pid; exec sleep 1000' & sleep 1000`,
			"ignores":           `nohup setsid bash -c 'trap "" TERM; echo $$ >pid; sleep 1000; sleep 1000' & sleep 1000`,
		} {
			os.Remove(filepath.Join(dir, "pid"))
			p, err := r.Start(testContext(t), Spec{Command: command, Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			child := pid(t, filepath.Join(dir, "pid"))
			if err := p.Stop(testContext(t)); err != nil || running(child) {
				t.Errorf("%s: stop: %v, child runs: %v", name, err, running(child))
			}
		}
	})
}

func TestServerOutlivesItsShell(t *testing.T) {
	ways(t, func(t *testing.T, r *Runner) {
		dir := realTempDir(t)
		start := time.Now()
		res, out := run(t, r, "sleep 1000 >/dev/null 2>&1 & echo $! >pid; echo hi", func(s *Spec) { s.Dir = dir })
		if out != "hi\n" || !res.LeftBehind || res.OutputOpen || time.Since(start) > hangGuard/2 {
			t.Errorf("%+v %q", res, out)
		}
		server := pid(t, filepath.Join(dir, "pid"))
		if !running(server) {
			t.Error("the server was ended with its shell")
		}
		if res, _ := run(t, r, "sleep 1000 & echo $! >pid2", func(s *Spec) { s.Dir, s.KillLeftovers = dir, true }); res.LeftBehind || running(pid(t, filepath.Join(dir, "pid2"))) {
			t.Errorf("KillLeftovers left something: %+v", res)
		}
		r.Close()
		if running(server) {
			t.Error("the server outlived Close")
		}
	})
}

func TestForkOf500(t *testing.T) {
	ways(t, func(t *testing.T, r *Runner) {
		dir := realTempDir(t)
		p, err := r.Start(testContext(t), Spec{Command: "for i in {1..500}; do sleep 1000 & done; echo 1000 >pid; wait", Dir: dir, Background: true})
		if err != nil {
			t.Fatal(err)
		}
		pid(t, filepath.Join(dir, "pid"))
		if err := p.Stop(testContext(t)); err != nil {
			t.Error(err)
		}
		if left := marked(r); len(left) > 0 {
			t.Errorf("%d left", len(left))
		}
	})
}

func TestForksWhileKilled(t *testing.T) {
	ways(t, func(t *testing.T, r *Runner) {
		res, _ := run(t, r, `trap '' TERM; export f='trap "" TERM; for i in 1 2 3; do (sleep 0.02; sleep 1000) & done; sleep 0.02; exec bash -c "$f"'; bash -c "$f"`,
			func(s *Spec) { s.Timeout = 300 * time.Millisecond })
		if !res.TimedOut() || res.Err != nil {
			t.Errorf("%+v", res)
		}
		if left := marked(r); len(left) > 0 {
			t.Errorf("%d left", len(left))
		}
	})
}

func Test200AtOnce(t *testing.T) {
	ways(t, func(t *testing.T, r *Runner) {
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				res, err := r.Run(testContext(t), Spec{Command: fmt.Sprintf("echo %d; exit %d", i, i%50), Dir: "/"})
				if err != nil || res.ExitCode != i%50 || res.Dir != "/" || res.Err != nil {
					t.Errorf("%d: %+v %v", i, res, err)
					return
				}
				if b, _ := os.ReadFile(res.OutputFile); string(b) != fmt.Sprintf("%d\n", i) {
					t.Errorf("%d: %q", i, b)
				}
			})
		}
		wg.Wait()
	})
}

func residentKB(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.Atoi(strings.Fields(v)[0])
			return n
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

func TestGigabyteInLittleMemory(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's own memory would be measured")
	}
	const allowedKB = 16 << 10
	r := newRunner(t, nil)
	dir := t.TempDir()
	run(t, r, "true", nil)
	for _, c := range []struct {
		name, command string
		size          int64
	}{
		{"no newline", "head -c %d /dev/zero | tr '\\0' x", 1 << 30},
		{"lines", "yes 'a line of output' | head -c %d", 1 << 28},
	} {
		name, size, command := c.name, c.size, fmt.Sprintf(c.command, c.size)
		runtime.GC()
		before, peak := residentKB(t), 0
		p, err := r.Start(testContext(t), Spec{Command: command, Dir: dir, Progress: func(Progress) {}})
		if err != nil {
			t.Fatal(err)
		}
		for ended := false; !ended; {
			select {
			case <-p.Done():
				ended = true
			case <-time.After(20 * time.Millisecond):
			}
			peak = max(peak, residentKB(t))
		}
		res, _ := p.Result()
		v, err := ViewFile(res.OutputFile, Limits{Head: 20_000, Tail: 10_000})
		if err != nil {
			t.Fatal(err)
		}
		peak = max(peak, residentKB(t))
		if res.OutputSize != size || v.Size != size || !v.Truncated || res.ExitCode != 0 {
			t.Errorf("%s: %+v", name, res)
		}
		if peak-before > allowedKB {
			t.Errorf("%s: resident memory grew by %d KB", name, peak-before)
		}
		t.Logf("%s: %v, resident memory %d KB, then at most +%d KB", name, res.Duration, before, peak-before)
		os.Remove(res.OutputFile)
	}
}

func TestBinaryAndHalfRunes(t *testing.T) {
	r := newRunner(t, nil)
	res, _ := run(t, r, "head -c 100000 /dev/urandom", nil)
	if v, err := ViewFile(res.OutputFile, Limits{Head: 100}); err != nil || !v.Binary || res.OutputSize != 100000 {
		t.Errorf("%+v %v", v, err)
	}
	p, err := r.Start(testContext(t), Spec{Command: `printf '\xe5\x90'; sleep 0.3; printf '\x8d\n\xe5'`, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = p.Wait(testContext(t))
	if v, _ := ViewFile(p.OutputFile(), Limits{Head: 100}); v.Text != "名\n\ufffd" {
		t.Errorf("%q", v.Text)
	}
}

func TestTasks(t *testing.T) {
	ways(t, func(t *testing.T, r *Runner) {
		ctx, cancel := context.WithCancel(testContext(t))
		dir := realTempDir(t)
		p, err := r.Start(ctx, Spec{Command: "cd /; echo one; until [ -e " + quote(dir+"/go") + " ]; do sleep 0.01; done; echo 二; sleep 1000",
			Dir: dir, Timeout: time.Hour, Progress: func(Progress) {}})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Tasks()) != 0 {
			t.Error("a foreground command is listed")
		}
		short, cancelShort := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancelShort()
		if _, err := p.Wait(short); err == nil {
			t.Error("did not wait")
		}
		if err := p.MoveToBackground(time.Hour); err != nil {
			t.Fatal(err)
		}
		cancel()
		if got, ok := r.Task(p.ID()); !ok || got != p || len(r.Tasks()) != 1 || !p.Background() {
			t.Error("not listed")
		}
		var got string
		read := func(want string) {
			t.Helper()
			eventually(t, 10*time.Second, "output "+want, func() bool {
				b, _, err := p.ReadNew(3)
				if err != nil {
					t.Fatal(err)
				}
				got += string(b)
				return got == want
			})
		}
		read("one\n")
		if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		read("one\n二\n")
		if _, over := p.Result(); over {
			t.Error("ended with the context of its start")
		}
		if err := p.Stop(testContext(t)); err != nil {
			t.Error(err)
		}
		res, over := p.Result()
		if !over || res.Killed != KilledStopped {
			t.Errorf("%+v", res)
		}
		if err := p.MoveToBackground(0); err != nil {
			t.Errorf("a task again: %v", err)
		}
		q, err := r.Start(testContext(t), Spec{Command: "true", Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		<-q.Done()
		if err := q.MoveToBackground(0); err != ErrEnded {
			t.Errorf("ended command: %v", err)
		}
		if _, err := r.Start(testContext(t), Spec{ID: p.ID(), Command: "true", Dir: "/"}); err == nil {
			t.Error("an id in use was accepted")
		}
		limited, err := r.Start(testContext(t), Spec{Command: "sleep 1000", Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		if err := limited.MoveToBackground(50 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if res, err := limited.Wait(testContext(t)); err != nil || !res.TimedOut() {
			t.Errorf("%+v %v", res, err)
		}
		for range 3 { // for Close to end
			if _, err := r.Start(testContext(t), Spec{Command: "trap '' TERM; sleep 1000; sleep 1000", Dir: "/", Background: true}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	ways(t, func(t *testing.T, r *Runner) {
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				p, err := r.Start(testContext(t), Spec{Command: "echo x; sleep 0.0" + strconv.Itoa(i%7), Dir: "/"})
				if err != nil {
					if err != ErrClosed {
						t.Error(err)
					}
					return
				}
				switch i % 4 {
				case 0:
					_ = p.MoveToBackground(time.Minute)
				case 1:
					_ = p.Stop(testContext(t))
				case 2:
					_, _, _ = p.ReadNew(10)
				}
				r.Tasks()
				p.Progress()
				if _, err := p.Wait(testContext(t)); err != nil {
					t.Error(err)
				}
			})
			if i == 30 {
				wg.Go(func() { _ = r.Close() })
			}
		}
		wg.Wait()
	})
}

func TestKilledKeeperIsReplaced(t *testing.T) {
	r := newRunner(t, nil)
	run(t, r, "true", nil)
	first := r.keep.gone
	for _, p := range findProcs(func(string) bool { return false }, func(p procInfo) bool { return p.ppid == os.Getpid() }) {
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid)); strings.Contains(string(b), r.token) {
			p.signal(9)
		}
	}
	<-first
	run(t, r, "true", nil)
	if r.keep.gone == first {
		t.Error("no new keeper")
	}
}

func TestNestedMarkers(t *testing.T) {
	r := newRunner(t, func(o *Options) { o.BaseEnv = append(o.BaseEnv, markerVar+"=outer.1") })
	_, out := run(t, r, "echo $"+markerVar, nil)
	if !strings.HasPrefix(out, "outer.1:"+r.token+".") {
		t.Errorf("%q", out)
	}
}

func TestCgroupThatRefuses(t *testing.T) {
	r := newRunner(t, func(o *Options) { o.NoCgroup = true })
	r.root.dir = t.TempDir() // not a cgroup: the kernel refuses to start anything in it
	for range 2 {
		if res, out := run(t, r, "echo hi", nil); out != "hi\n" || res.Err != nil {
			t.Errorf("%+v %q", res, out)
		}
	}
	if !r.cgroupRefused.Load() {
		t.Error("tried again for every command")
	}
	res, _ := run(t, r, "sleep 1000 & sleep 1000", func(s *Spec) { s.Timeout = 50 * time.Millisecond })
	if left := marked(r); len(left) > 0 || !res.TimedOut() {
		t.Errorf("%+v, left %s", res, pidList(left))
	}
}
