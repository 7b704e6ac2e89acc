// Command search compares searches, side by side in one run, with ripgrep and fd
// started as processes, and prints its tables for the README:
//
//	go run ./bench/search                        # the Go source tree
//	go run ./bench/search -tree many             # 200,000 small files, made for it and removed afterwards
//	go run ./bench/search -all                   # both
//	go run ./bench/search -dir DIR -runs 15
//	go run ./bench/search -rg /path/to/rg -fd /path/to/fd
//
// For every pattern it takes, in turns, the best of several runs of the other
// program, of this one as a process (call Grep, call Glob) and of the same search
// inside this process, and checks that all three found the same number of lines
// or files. "Less start" is the ratio of the process without what the program
// takes to start, which a search of an empty folder shows. Processor times are the
// least of both processes: they say more than the others on a machine with other
// things to do.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/sevengate/sevengate/bench/build"
)

func main() {
	var b bench
	tree := flag.String("tree", "go", "go: the Go source tree; many: small files, made for it")
	all := flag.Bool("all", false, "both trees")
	flag.StringVar(&b.dir, "dir", "", "another tree to search")
	flag.IntVar(&b.files, "files", 200_000, "how many small files")
	flag.IntVar(&b.runs, "runs", 5, "runs of each; the best counts")
	flag.StringVar(&b.rg, "rg", "rg", "ripgrep; empty: no Grep")
	flag.StringVar(&b.fd, "fd", firstOf("fdfind", "fd"), "fd; empty: no Glob")
	flag.Parse()
	trees := []string{*tree}
	if *all {
		trees = []string{"go", "many"}
	}
	if b.dir != "" {
		trees = []string{"dir"}
	}
	if err := b.run(trees); err != nil {
		log.Fatal(err)
	}
}

func firstOf(names ...string) string {
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return ""
}

// bench is what all measurements share.
type bench struct {
	dir    string // the tree
	files  int
	runs   int
	rg, fd string

	scratch string // where the program has its state
	binary  string
	start   time.Duration // of the program
}

func (b *bench) run(trees []string) error {
	scratch, err := os.MkdirTemp("", "sevengate-search-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	b.scratch, b.binary = scratch, filepath.Join(scratch, "sevengate")
	if err := build.Program(b.binary); err != nil {
		return err
	}
	if err := b.measureStart(); err != nil {
		return err
	}
	for _, tree := range trees {
		name := filepath.Base(b.dir)
		switch tree {
		case "go":
			out, err := exec.Command("go", "env", "GOROOT").Output()
			if err != nil {
				return err
			}
			b.dir, name = strings.TrimSpace(string(out)), "of Go's sources ("+runtime.Version()+")"
		case "many":
			b.dir, name = filepath.Join(scratch, "tree"), fmt.Sprintf("of %d small files", b.files)
			if err := makeTree(b.dir, b.files); err != nil {
				return err
			}
		case "dir":
		default:
			return fmt.Errorf("tree %q is unknown; it must be go or many", tree)
		}
		if err := b.tables(name, tree == "many"); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) tables(tree string, many bool) error {
	about := fmt.Sprintf("%d CPUs, %s, best of %d, start of the program %.1f ms, tree %s", runtime.NumCPU(), runtime.Version(), b.runs, ms(b.start), tree)
	if b.rg != "" {
		version, err := firstLine(b.rg, "--version")
		if err != nil {
			return err
		}
		fmt.Printf("%s, %s\n\n", version, about)
		if err := b.grepTable(many); err != nil {
			return err
		}
		fmt.Println()
	}
	if b.fd == "" {
		return nil
	}
	version, err := firstLine(b.fd, "--version")
	if err != nil {
		return err
	}
	fmt.Printf("%s, %s\n\n", version, about)
	if err := b.globTable(); err != nil {
		return err
	}
	fmt.Println()
	return nil
}

func firstLine(program string, args ...string) (string, error) {
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s is needed: %w", program, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line, nil
}

// measureStart takes the best time of a call that has nothing to search.
func (b *bench) measureStart() error {
	empty := filepath.Join(b.scratch, "empty")
	if err := os.MkdirAll(empty, 0o755); err != nil {
		return err
	}
	t, err := b.inTurns(3*b.runs, func() (measured, error) { return b.grepProcess(empty, patterns[0]) })
	if err != nil {
		return err
	}
	b.start = t[0].best
	return nil
}

// measured is what one run gave: how much it found, and the processor time of its process.
type measured struct {
	found int64
	cpu   time.Duration
}

type timing struct {
	best, cpu time.Duration
	found     int64
}

// inTurns measures each function so many times, one after the other.
func (b *bench) inTurns(runs int, measure ...func() (measured, error)) ([]timing, error) {
	times := make([]timing, len(measure))
	for n := range runs {
		for i, m := range measure {
			begin := time.Now()
			got, err := m()
			took := time.Since(begin)
			if err != nil {
				return nil, err
			}
			t := &times[i]
			if t.found = got.found; n == 0 {
				t.best, t.cpu = took, got.cpu
			}
			t.best, t.cpu = min(t.best, took), min(t.cpu, got.cpu)
		}
	}
	return times, nil
}

// output runs a program and gives what it prints, and its processor time.
func output(cmd *exec.Cmd) ([]byte, time.Duration, error) {
	out, err := cmd.Output()
	if err != nil {
		return out, 0, err
	}
	return out, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// row prints the timings of the other program, the process and the search in this process.
func (b *bench) row(name, expr string, t []timing) error {
	if len(t) != 3 {
		return errors.New("a row has three timings")
	}
	note := ""
	if t[0].found != t[1].found || t[0].found != t[2].found {
		note = fmt.Sprintf(" (they differ: %d, %d, %d)", t[0].found, t[1].found, t[2].found)
	}
	other := float64(t[0].best)
	fmt.Printf("| %s `%s`%s | %d | %.0f | %.0f | %.2f | %.2f | %.0f | %.2f | %.0f | %.0f |\n", name, strings.ReplaceAll(expr, "|", "\\|"), note, t[0].found,
		ms(t[0].best), ms(t[1].best), float64(t[1].best)/other, float64(t[1].best-b.start)/other, ms(t[2].best), float64(t[2].best)/other, ms(t[0].cpu), ms(t[1].cpu))
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
