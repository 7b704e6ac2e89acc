//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAvailable(t *testing.T) {
	r := Available()
	t.Log("\n" + r.String())
	for _, s := range r.Parts {
		if s.Reason == "" {
			t.Errorf("%s has no reason", s.Part)
		}
	}
}

// reportWithout is what a machine would report that lacks some parts of this one.
func reportWithout(parts ...Part) Report {
	r := Available()
	for i, s := range r.Parts {
		if slices.Contains(parts, s.Part) {
			r.Parts[i].OK, r.Parts[i].Reason = false, "taken away by the test: "+s.Reason
		}
	}
	return r
}

// TestMissingParts: what cannot be enforced is an error, unless its loss is accepted, and then it is told.
func TestMissingParts(t *testing.T) {
	full := Available()
	noNamespaces := reportWithout(namespaceParts...)
	var missing *UnavailableError
	if _, err := prepare(testContext(t), Policy{}, noNamespaces); !errors.As(err, &missing) {
		t.Fatalf("no error without namespaces: %v", err)
	}
	if _, err := prepare(testContext(t), Policy{}, reportWithout(PartSeccomp)); !errors.As(err, &missing) || !strings.Contains(err.Error(), "seccomp") {
		t.Fatalf("no error without seccomp: %v", err)
	}
	if full.Landlock == 0 || !full.OK(PartSeccomp) {
		t.Skip("neither Landlock nor seccomp")
	}
	// Landlock and seccomp alone still keep the files and the network.
	dir, outside := realTemp(t), realTemp(t)
	s, err := prepare(testContext(t), Policy{Write: []string{dir}, Accept: []Part{PartMount, PartPID}}, noNamespaces)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(s.Lost()) != 2 {
		t.Errorf("lost: %v", s.Lost())
	}
	out, code := sh(t, s, dir, `echo x > here && cat here; echo x > `+outside+`/there; exec 3<>/dev/tcp/127.0.0.1/22; kill -0 $PPID; kill -0 `+strconv.Itoa(os.Getpid())+`; exit 4`)
	if _, err := os.Stat(outside + "/there"); err == nil || code != 4 || !strings.HasPrefix(out, "x\n") || strings.Count(out, "ermitted") < 1 {
		t.Errorf("code %d: %s", code, out)
	}
	t.Log(out)
	// With namespaces, Landlock is a second wall only.
	if full.OK(PartUser) {
		r := reportWithout(PartLandlock)
		r.Landlock = 0
		s, err := prepare(testContext(t), Policy{Write: []string{dir}}, r)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if out, code := sh(t, s, dir, `echo y > here && echo x > `+outside+`/there`); code == 0 || read(t, dir+"/here") != "y\n" {
			t.Errorf("code %d: %s", code, out)
		}
	}
}

// TestBubblewrapMissing: there is no falling back to less than was asked for.
func TestBubblewrapMissing(t *testing.T) {
	for _, path := range []string{"/no/such/bwrap", "/bin/true"} {
		_, err := Prepare(testContext(t), Policy{Bubblewrap: path, Accept: []Part{PartMount, PartUser, PartPID, PartSeccomp, PartBubblewrap}})
		var missing *UnavailableError
		if !errors.As(err, &missing) || missing.Missing[0].Part != PartBubblewrap {
			t.Errorf("%s: %v", path, err)
		}
		t.Log(err)
	}
}

// TestEnd: how a command ends is seen from outside as without a sandbox.
func TestEnd(t *testing.T) {
	eachEngine(t, end)
}

func end(t *testing.T, bubblewrap string) {
	dir := realTemp(t)
	s := prepared(t, Policy{Write: []string{dir}, Bubblewrap: bubblewrap})
	for script, want := range map[string]string{
		"exit 0": "exit status 0", "exit 7": "exit status 7", "kill -TERM $$": "signal: terminated", "kill -KILL $$": "signal: killed",
		"kill -SEGV $$": "signal: segmentation fault", "exec /bin/false": "exit status 1", "trap 'exit 5' TERM; kill -TERM $$; sleep 5": "exit status 5",
	} {
		cmd := command(t, s, dir, script)
		_ = cmd.Run()
		if got := cmd.ProcessState.String(); got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
	words, err := s.Wrap()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(words[0], append(words[1:], "/no/such/shell")...)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 126 || !strings.Contains(string(out), "running /no/such/shell: no such file") {
		t.Errorf("%v %s", cmd.ProcessState, out)
	}
}

// TestHelperKilled: nothing goes on when the helper is killed.
func TestHelperKilled(t *testing.T) {
	eachEngine(t, helperKilled)
}

func helperKilled(t *testing.T, bubblewrap string) {
	dir := realTemp(t)
	s := prepared(t, Policy{Write: []string{dir}, Bubblewrap: bubblewrap})
	cmd := command(t, s, dir, `setsid sleep 300 & echo ready; sleep 300`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	if line, _ := r.ReadString('\n'); line != "ready\n" {
		t.Fatal(line)
	}
	_ = cmd.Process.Kill()
	if _, err := r.ReadByte(); err == nil { // ends only when all that hold the pipe have
		t.Error("output goes on")
	}
	_ = cmd.Wait()
}

// TestTermReachesCommand: a signal to the group is the command's to handle.
func TestTermReachesCommand(t *testing.T) {
	eachEngine(t, func(t *testing.T, bubblewrap string) {
		dir := realTemp(t)
		termReachesCommand(t, prepared(t, Policy{Write: []string{dir}, Bubblewrap: bubblewrap}), dir)
	})
	t.Run("without namespaces", func(t *testing.T) {
		full := Available()
		if full.Landlock == 0 || !full.OK(PartSeccomp) {
			t.Skip("neither Landlock nor seccomp")
		}
		dir := realTemp(t)
		s, err := prepare(testContext(t), Policy{Write: []string{dir}, Accept: []Part{PartMount, PartPID}}, reportWithout(namespaceParts...))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		termReachesCommand(t, s, dir)
	})
}

func termReachesCommand(t *testing.T, s *Sandbox, dir string) {
	cmd := command(t, s, dir, `trap 'echo cleaned > out; exit 3' TERM; echo ready; for i in $(seq 3000); do sleep 0.01; done`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line)
	}
	// As a runner of commands does it: everything below the helper.
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for _, pid := range below(cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 3 || read(t, dir+"/out") != "cleaned\n" {
		t.Errorf("%v %s", cmd.ProcessState, read(t, dir+"/out"))
	}
}

func below(pid int) (out []int) {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(pid) + "/children")
	for f := range strings.FieldsSeq(string(b)) {
		n, _ := strconv.Atoi(f)
		out = append(append(out, n), below(n)...)
	}
	return out
}

// TestLeftBehind: what the command leaves running goes on, behind the same walls.
func TestLeftBehind(t *testing.T) {
	eachEngine(t, leftBehind)
}

func leftBehind(t *testing.T, bubblewrap string) {
	dir := realTemp(t)
	s := prepared(t, Policy{Write: []string{dir}, Bubblewrap: bubblewrap})
	out, code := sh(t, s, dir, `(while [ ! -e go ]; do sleep 0.01; done; echo x > ../escaped; echo done > left) >/dev/null 2>&1 & echo started`)
	if code != 0 || out != "started\n" {
		t.Fatal(code, out)
	}
	write(t, dir+"/go", "")
	for end := time.Now().Add(hangGuard); read(t, dir+"/left") != "done\n"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what was left behind does not run")
		}
	}
	if _, err := os.Stat(filepath.Dir(dir) + "/escaped"); err == nil {
		t.Error("escaped")
	}
}

// TestDescriptors: what is passed on purpose arrives, and nothing else.
func TestDescriptors(t *testing.T) {
	eachEngine(t, descriptors)
}

func descriptors(t *testing.T, bubblewrap string) {
	dir := realTemp(t)
	s := prepared(t, Policy{Write: []string{dir}, Pass: []int{198, 199}, Bubblewrap: bubblewrap})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	home, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	cmd := command(t, s, dir, `echo told >&199; head -c 4 <&198 | tail -c 3; for f in /proc/self/fd/*; do echo -n " ${f##*/}"; done`)
	cmd.ExtraFiles = make([]*os.File, 197)
	cmd.ExtraFiles[0], cmd.ExtraFiles[100] = home, home
	cmd.ExtraFiles[195], cmd.ExtraFiles[196] = text, w
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	w.Close()
	if err != nil {
		t.Fatal(err, out.String())
	}
	told, _ := bufio.NewReader(r).ReadString('\n')
	// bash itself opens 3 to list the directory.
	if told != "told\n" || !strings.HasPrefix(out.String(), "ELF 0 1 198 199 2 3") || strings.Contains(out.String(), " 103") {
		t.Errorf("%q %q", told, out.String())
	}
}

// TestLimitsUnchanged: Go programs raise the limit of open files for themselves; commands must not notice.
func TestLimitsUnchanged(t *testing.T) {
	eachEngine(t, limitsUnchanged)
}

func limitsUnchanged(t *testing.T, bubblewrap string) {
	// So that there is a difference to notice.
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	lower := old
	lower.Cur = min(old.Max/2, 700)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lower); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old) }()
	dir := realTemp(t)
	s := prepared(t, Policy{Write: []string{dir}, Bubblewrap: bubblewrap})
	const show = `ulimit -Sn; ulimit -Hn; umask; trap; ps -o args= -p 1`
	plain := exec.Command("/bin/bash", "-c", `ulimit -Sn; ulimit -Hn; umask; trap`)
	want, err := plain.Output()
	if err != nil {
		t.Fatal(err)
	}
	got, _ := sh(t, s, dir, show)
	if bubblewrap != "" {
		got, _, _ = strings.Cut(got, bubblewrap)
		got += "sevengate sandbox\n"
	}
	if got != string(want)+"sevengate sandbox\n" {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestEveryday runs what people run.
func TestEveryday(t *testing.T) {
	dir := realTemp(t)
	cache := realTemp(t)
	p := Policy{Write: []string{dir, cache}, TmpDir: cache, Env: []string{
		"HOME=" + cache, "GOFLAGS=-mod=mod", "GOPATH=" + cache + "/gopath", "GOTOOLCHAIN=local", "GIT_CONFIG_NOSYSTEM=1",
		"npm_config_cache=" + cache + "/npm"}}
	// Building Go's library anew takes longer than all the rest: the user's own build cache is given.
	if b, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
		if goCache := strings.TrimSpace(string(b)); filepath.IsAbs(goCache) {
			if _, err := os.Stat(goCache + "/00"); err == nil {
				p.Write = append(p.Write, goCache)
				p.Env = append(p.Env, "GOCACHE="+goCache, "TEST_GO=1")
			}
		}
	}
	s := prepared(t, p)
	script, err := os.ReadFile("testdata/everyday.sh")
	if err != nil {
		t.Fatal(err)
	}
	out, code := sh(t, s, dir, string(script))
	if code != 0 || strings.Contains(out, "FAILED") || !strings.Contains(out, "all done") {
		t.Errorf("code %d\n%s", code, out)
	}
	t.Log(out)
}

func BenchmarkPlain(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/bash", "-c", ":").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSandboxed(b *testing.B) {
	w, policy := newWorld(b)
	for name, p := range map[string]Policy{"project": policy, "proxy": func() Policy { p := policy; p.Network = allowAll; return p }()} {
		b.Run(name, func(b *testing.B) {
			s := prepared(b, p)
			for b.Loop() {
				words, err := s.Wrap()
				if err != nil {
					b.Fatal(err)
				}
				cmd := exec.Command(words[0], append(words[1:], "/bin/bash", "-c", ":")...)
				cmd.Dir = w.project
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatal(err, string(out))
				}
			}
		})
	}
}
