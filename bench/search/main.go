// Command search compares searches, side by side in one run, with ripgrep
// started as a process:
//
//	go run ./bench/search                        # on the Go source tree
//	go run ./bench/search -dir DIR -runs 5
//	go run ./bench/search -files 200000          # on a tree of so many small files, made for it
//	go run ./bench/search -rg /path/to/rg
//
// For every pattern it prints the best of several runs of ripgrep, of this
// program as a process (call Grep) and of the engine inside this process, and
// checks that all three found the same number of lines. "Less start" is the
// ratio of the process without what the program takes to start, which a search
// of an empty folder shows.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/engine/grep"
)

type pattern struct {
	name, expr string
	multiline  bool
}

var patterns = []pattern{
	{"literal", `ErrUnexpectedEOF`, false},
	{"no match", `zzqqNoSuchTextAnywhere`, false},
	{"very many matches", `func `, false},
	{"case-insensitive", `(?i)deadlineexceeded`, false},
	{"short case-insensitive", `(?i)todo`, false},
	{"alternation", `ErrNoProgress|ErrShortBuffer|ErrClosedPipe|ErrShortWrite`, false},
	{"case-insensitive alternation", `(?i)(fixme|hackish|xxx)`, false},
	{"signature", `func \([a-z]+ \*?[A-Za-z]+\) (Read|Write)\(`, false},
	{"inner literal", `[A-Z][a-z]+Handler[A-Za-z]*\(`, false},
	{"suffix literal", `[A-Za-z0-9_]+Deadline\(`, false},
	{"classes only", `[a-z]{3}[0-9]{2}[a-z]{2}[0-9]`, false},
	{"word boundary", `\b(len|cap)\(`, false},
	{"two parts", `return .*errors\.New.*closed`, false},
	{"multiline", `errors\.New\([^)]*\)\n\s*\}`, true},
}

func main() {
	dir := flag.String("dir", "", "the tree to search; the Go source tree if empty")
	files := flag.Int("files", 0, "make a tree of so many small files and search that")
	runs := flag.Int("runs", 5, "runs of each; the best counts")
	rg := flag.String("rg", "rg", "ripgrep")
	flag.Parse()
	if err := run(*dir, *files, *runs, *rg); err != nil {
		log.Fatal(err)
	}
}

func run(dir string, files, runs int, rg string) error {
	scratch, err := os.MkdirTemp("", "sevengate-search-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	binary := filepath.Join(scratch, "sevengate")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "./cmd/sevengate").CombinedOutput(); err != nil {
		return fmt.Errorf("building: %w\n%s", err, out)
	}
	version, err := exec.Command(rg, "--version").Output()
	if err != nil {
		return fmt.Errorf("ripgrep is needed: %w", err)
	}
	name, _, _ := strings.Cut(string(version), "\n")
	if dir == "" && files == 0 {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return err
		}
		dir = strings.TrimSpace(string(out))
	}
	if files > 0 {
		dir = filepath.Join(scratch, "tree")
		if err := makeTree(dir, files); err != nil {
			return err
		}
	}
	fmt.Printf("%s, %d CPUs, %s, best of %d, tree %s\n\n", name, runtime.NumCPU(), runtime.Version(), runs, describe(dir, files))
	fmt.Println("| pattern | lines | ripgrep, ms | Grep as a process, ms | ratio | less start | Grep in process, ms | ratio |\n|---|--:|--:|--:|--:|--:|--:|--:|")
	start, err := startTime(binary, scratch, runs)
	if err != nil {
		return err
	}
	for _, p := range patterns {
		var best [3]time.Duration
		var lines [3]int64
		for range runs {
			for i, measure := range []func() (int64, error){
				func() (int64, error) { return ripgrep(rg, dir, p) },
				func() (int64, error) { return process(binary, scratch, dir, p) },
				func() (int64, error) { return engine(dir, p) },
			} {
				begin := time.Now()
				n, err := measure()
				took := time.Since(begin)
				if err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
				lines[i] = n
				if best[i] == 0 || took < best[i] {
					best[i] = took
				}
			}
		}
		note := ""
		if lines[0] != lines[1] || lines[0] != lines[2] {
			note = fmt.Sprintf(" (they differ: %v)", lines)
		}
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		fmt.Printf("| %s `%s`%s | %d | %.0f | %.0f | %.2f | %.2f | %.0f | %.2f |\n", p.name, strings.ReplaceAll(p.expr, "|", "\\|"), note, lines[0],
			ms(best[0]), ms(best[1]), float64(best[1])/float64(best[0]), float64(best[1]-start)/float64(best[0]), ms(best[2]), float64(best[2])/float64(best[0]))
	}
	return nil
}

// startTime returns the best time of a call that has nothing to search.
func startTime(binary, scratch string, runs int) (time.Duration, error) {
	empty := filepath.Join(scratch, "empty")
	if err := os.MkdirAll(empty, 0o755); err != nil {
		return 0, err
	}
	best := time.Duration(0)
	for range 2 * runs {
		begin := time.Now()
		if _, err := process(binary, scratch, empty, patterns[0]); err != nil {
			return 0, err
		}
		if took := time.Since(begin); best == 0 || took < best {
			best = took
		}
	}
	fmt.Fprintf(os.Stderr, "start of a process: %v\n", best)
	return best, nil
}

func describe(dir string, files int) string {
	if files > 0 {
		return fmt.Sprintf("of %d small files", files)
	}
	return filepath.Base(dir)
}

// ripgrep counts matching lines (with -U all lines that a match touches), without ignore files, hidden files included.
func ripgrep(rg, dir string, p pattern) (int64, error) {
	args := []string{"-uu", "--no-filename", "--no-config", "-c"}
	if p.multiline { // where -c counts matches
		args = append(args[:3], "-U", "--no-heading", "--color=never")
	}
	out, err := exec.Command(rg, append(args, "-e", p.expr, dir)...).Output()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 {
		err = nil // no match
	}
	if err != nil {
		return 0, err
	}
	if p.multiline {
		return int64(bytes.Count(out, []byte("\n"))), nil
	}
	var n int64
	for line := range strings.Lines(string(out)) {
		k, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return 0, err
		}
		n += k
	}
	return n, nil
}

var total = regexp.MustCompile(`Found ([0-9,]+) matching lines?`)

// process runs the whole program once, as a model's call would.
func process(binary, scratch, dir string, p pattern) (int64, error) {
	input, err := json.Marshal(map[string]any{"pattern": p.expr, "path": dir, "output_mode": "count", "head_limit": 1, "multiline": p.multiline})
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(binary, "call", "Grep", string(input), "--allowedTools", "Read(//**)", "--setting-sources", "")
	cmd.Env = append(os.Environ(), "HOME="+scratch, "SEVENGATE_HOME="+scratch)
	cmd.Dir = scratch
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, stderr.String())
	}
	if strings.Contains(string(out), "No matches") {
		return 0, nil
	}
	m := total.FindStringSubmatch(string(out))
	if m == nil {
		return -1, nil
	}
	return strconv.ParseInt(strings.ReplaceAll(m[1], ",", ""), 10, 64)
}

func engine(dir string, p pattern) (int64, error) {
	re, err := grep.Compile(p.expr, grep.Options{Multiline: p.multiline})
	if err != nil {
		return 0, err
	}
	opts := grep.SearchOptions{Roots: []string{dir}, Mode: grep.ModeCount, Unordered: true}
	opts.Walk.Hidden = true
	stats, err := grep.Search(context.Background(), re, opts, func(grep.Event) error { return nil })
	return stats.Lines, err
}

// makeTree writes small source-like files, the same ones every time.
func makeTree(dir string, files int) error {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("func return len(x) cap(y) err nil ErrUnexpectedEOF FIXME Deadline( errors.New( if for range string int64 abc12de3 ServeHandlerFunc( // comment } {")
	var b bytes.Buffer
	for i := range files {
		sub := filepath.Join(dir, fmt.Sprintf("d%03d", i/1000), fmt.Sprintf("e%02d", i/50%20))
		if i%50 == 0 {
			if err := os.MkdirAll(sub, 0o755); err != nil {
				return err
			}
		}
		b.Reset()
		for range 10 + rnd.IntN(20) {
			for range 3 + rnd.IntN(6) {
				if w := words[rnd.IntN(len(words))]; w != "ErrUnexpectedEOF" || rnd.IntN(200) == 0 {
					b.WriteString(w + " ")
				}
			}
			b.WriteByte('\n')
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%d.go", i)), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
