// Command shell measures what it costs to run a command under control: the
// command true, in bash, started plainly, through the runner of commands, and
// through the runner inside the sandbox, with this program's own walls and with
// bubblewrap's where that is installed:
//
//	go run ./bench/shell
//	go run ./bench/shell -runs 500 -bwrap /path/to/bwrap
//
// All ways take turns within one run, so that each sees the same machine, and
// the medians are printed as a table in Markdown.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/sevengate/sevengate/internal/engine/sandbox"
	"github.com/sevengate/sevengate/internal/engine/shellrun"

	// The sandbox starts this very program again. With the whole product linked in, it is as large as it is in use.
	_ "github.com/sevengate/sevengate"
)

// way is one way to run a command.
type way struct {
	name   string
	target float64 // milliseconds more than plainly; 0: none
	run    func() error
	took   []time.Duration
}

func main() {
	runs := flag.Int("runs", 200, "runs of each way")
	bwrap := flag.String("bwrap", "bwrap", "bubblewrap")
	flag.Parse()
	if err := measure(*runs, *bwrap); err != nil {
		log.Fatal(err)
	}
}

func measure(runs int, bwrap string) (err error) {
	scratch, err := os.MkdirTemp("", "sevengate-shell-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return err
	}
	project, policy, err := makeProject(scratch)
	if err != nil {
		return err
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		return err
	}
	runner, err := shellrun.New(shellrun.Options{OutputDir: filepath.Join(scratch, "output"), Shell: shellrun.Shell{Path: bash, Kind: "bash"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()

	ctx := context.Background()
	through := func(s *sandbox.Sandbox) func() error {
		return func() error {
			spec := shellrun.Spec{Command: "true", Dir: project}
			if s != nil {
				words, err := s.Wrap()
				if err != nil {
					return err
				}
				spec.Wrap = words
			}
			res, err := runner.Run(ctx, spec)
			if err != nil {
				return err
			}
			if res.ExitCode != 0 || res.Err != nil || res.NotRun {
				text, _ := os.ReadFile(res.OutputFile)
				return fmt.Errorf("it ended with code %d: %s %v", res.ExitCode, text, res.Err)
			}
			return os.Remove(res.OutputFile)
		}
	}
	plain := func(words ...string) func() error {
		return func() error {
			cmd := exec.Command(words[0], words[1:]...)
			cmd.Dir = project
			_, err := cmd.Output()
			return err
		}
	}
	ways := []*way{
		{name: "bash started plainly", run: plain(bash, "-c", "true")},
		{name: "through the runner", target: 3, run: through(nil)},
	}
	confined := func(name string, p sandbox.Policy, target float64) error {
		s, err := sandbox.Prepare(ctx, p)
		var missing *sandbox.UnavailableError
		if errors.As(err, &missing) {
			fmt.Printf("Left out: %s: %v\n\n", name, err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		defer func() { ways = append(ways, &way{name: name, target: target, run: through(s)}) }()
		return nil
	}
	proxy := sandbox.NetworkPolicy{Mode: sandbox.NetworkProxy, Decide: func(context.Context, string, int) bool { return false }}
	withProxy := policy
	withProxy.Network = proxy
	if err := errors.Join(confined("runner and sandbox, no network", policy, 15), confined("runner and sandbox, network by the proxy", withProxy, 15)); err != nil {
		return err
	}
	version := "no bubblewrap"
	if path, err := exec.LookPath(bwrap); err == nil {
		if out, err := exec.Command(path, "--version").Output(); err == nil {
			version = string(out[:max(len(out)-1, 0)])
		}
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
		ways = append(ways, &way{name: "bubblewrap by itself, no network", run: plain(path, "--unshare-all", "--ro-bind", "/", "/", "--bind", project, project,
			"--dev", "/dev", "--proc", "/proc", bash, "-c", "true")})
		policy.Bubblewrap, withProxy.Bubblewrap = path, path
		if err := errors.Join(confined("runner and bubblewrap, no network", policy, 0), confined("runner and bubblewrap, network by the proxy", withProxy, 0)); err != nil {
			return err
		}
	}

	for i := range runs + 5 {
		for _, w := range ways {
			start := time.Now()
			if err := w.run(); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if i >= 5 { // until then caches are filled
				w.took = append(w.took, time.Since(start))
			}
		}
	}
	fmt.Printf("%s/%s, %d CPUs, %s, %s, medians of %d runs\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), version, runs)
	fmt.Println("| `true` in bash | median, ms | nine of ten within | added, ms | target |\n|---|--:|--:|--:|--:|")
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	base := median(ways[0].took)
	for i, w := range ways {
		target, added := "", ""
		if w.target > 0 {
			target = fmt.Sprintf("%.0f", w.target)
		}
		if i > 0 {
			added = fmt.Sprintf("%.2f", ms(median(w.took)-base))
		}
		fmt.Printf("| %s | %.2f | %.2f | %s | %s |\n", w.name, ms(median(w.took)), ms(w.took[len(w.took)*9/10]), added, target)
	}
	return nil
}

// median sorts and returns the middle.
func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// makeProject makes a project with the things that are usually protected in one, and the policy for it.
func makeProject(scratch string) (dir string, p sandbox.Policy, err error) {
	dir = filepath.Join(scratch, "project")
	for _, name := range []string{".git/config", ".git/hooks/pre-commit", ".sevengate/settings.json", ".claude/settings.json", ".mcp.json", ".vscode/tasks.json",
		".env", "src/main.go", "../home/.ssh/id", "../home/.netrc", "../home/.bashrc", "../home/.aws/credentials", "../tmp/x", "../cache/x"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", p, err
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			return "", p, err
		}
	}
	home := filepath.Join(scratch, "home")
	p = sandbox.Policy{
		Write:     []string{dir, filepath.Join(scratch, "cache")},
		WriteDeny: []string{dir + "/.git/config", dir + "/.git/hooks", dir + "/.sevengate", dir + "/.claude", dir + "/.mcp.json", dir + "/.vscode", home + "/.bashrc"},
		ReadDeny:  []string{dir + "/.env", home + "/.ssh", home + "/.netrc", home + "/.aws"},
		TmpDir:    filepath.Join(scratch, "tmp"),
		Pass:      []int{198, 199}, // the runner's own
		Accept:    []sandbox.Part{sandbox.PartLandlock, sandbox.PartScope},
	}
	return dir, p, nil
}
