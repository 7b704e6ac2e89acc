package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sevengate/sevengate/bench/build"
)

type bench struct {
	binary string
	dir    string
	home   string
	server *server
	runs   int
}

func main() {
	runs := flag.Int("runs", 15, "repetitions of each measurement")
	binary := flag.String("binary", "", "the program to measure; built if empty")
	flag.Parse()
	if err := run(*runs, *binary); err != nil {
		log.Fatal(err)
	}
}

func run(runs int, binary string) error {
	scratch, err := os.MkdirTemp("", "sevengate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	b := &bench{binary: binary, dir: filepath.Join(scratch, "project"), home: filepath.Join(scratch, "home"), runs: runs}
	if b.binary == "" {
		b.binary = filepath.Join(scratch, "sevengate")
		if err := build.Program(b.binary); err != nil {
			return err
		}
	}
	for _, d := range []string{b.dir, b.home} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(b.dir, "small.txt"), []byte("one\ntwo\nthree\n"), 0o644); err != nil {
		return err
	}
	for i := range 10 {
		text := strings.Repeat("a line of some fifty characters, as in real code\n", 2048)
		if err := os.WriteFile(filepath.Join(b.dir, fmt.Sprintf("f%d.txt", i)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if b.server, err = newServer(); err != nil {
		return err
	}
	defer b.server.close()

	fmt.Printf("%s/%s, %d CPUs, %s, medians of %d runs\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), runs)
	fmt.Println("| what | target | median | best | worst |\n|---|--:|--:|--:|--:|")
	small := call{"Read", map[string]any{"file_path": "small.txt"}}
	var reads, sleeps []call
	for i := range 10 {
		reads = append(reads, call{"Read", map[string]any{"file_path": fmt.Sprintf("f%d.txt", i)}})
		sleeps = append(sleeps, call{"Bash", map[string]any{"command": "sleep 0.3"}})
	}
	for _, m := range []struct {
		what, target string
		measure      func() (float64, error)
	}{
		{"start of the process to the first request, ms", "50", b.firstRequest},
		{"end of a response to the next request, one small read, ms", "5", func() (float64, error) { return b.between(small) }},
		{"the same, ten parallel reads of 100 KB, ms", "30", func() (float64, error) { return b.between(reads...) }},
		{"the same, ten parallel `sleep 0.3`, ms", "345", func() (float64, error) { return b.between(sleeps...) }},
		{"a command's start after its block, while the stream goes on, ms", "20", b.startWhileStreaming},
		{"200 turns of one read, ms a turn", "4", func() (float64, error) { v, _, err := b.turns(small); return v, err }},
		{"the same, last 50 turns to first 50, ratio", "1", func() (float64, error) { _, v, err := b.turns(small); return v, err }},
		{"resident memory at rest, MB", "45", b.resident},
	} {
		n := b.runs
		if strings.Contains(m.what, "turn") {
			n = min(n, 5)
		}
		var values []float64
		for range n {
			v, err := m.measure()
			if err != nil {
				return fmt.Errorf("%s: %w", m.what, err)
			}
			values = append(values, v)
		}
		slices.Sort(values)
		fmt.Printf("| %s | %s | %.2f | %.2f | %.2f |\n", m.what, m.target, values[len(values)/2], values[0], values[len(values)-1])
	}
	return nil
}

// session runs the program once against the server.
func (b *bench) session(replies func(n int) reply) (start time.Time, err error) {
	b.server.play(replies)
	cmd := b.command()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start = time.Now()
	if err := cmd.Run(); err != nil {
		return start, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return start, nil
}

func (b *bench) command() *exec.Cmd {
	cmd := exec.Command(b.binary, "-p", "go")
	cmd.Dir = b.dir
	cmd.Env = []string{"HOME=" + b.home, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/bash", "ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL=" + b.server.url}
	return cmd
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (b *bench) firstRequest() (float64, error) {
	start, err := b.session(func(int) reply { return reply{} })
	if err != nil {
		return 0, err
	}
	arrivals, _, _ := b.server.times()
	return ms(arrivals[0].at.Sub(start)), nil
}

// between is the time from the end of a response with calls to the request
// that brings their results. The second such turn counts, as in a session that
// is under way.
func (b *bench) between(calls ...call) (float64, error) {
	_, err := b.session(func(n int) reply {
		if n < 2 {
			return reply{calls: calls}
		}
		return reply{}
	})
	if err != nil {
		return 0, err
	}
	arrivals, ends, _ := b.server.times()
	if len(arrivals) != 3 {
		return 0, fmt.Errorf("%d requests came, want 3", len(arrivals))
	}
	return ms(arrivals[2].at.Sub(ends[1])), nil
}

var nanos = regexp.MustCompile(`\b(1[0-9]{18})\b`)

func (b *bench) startWhileStreaming() (float64, error) {
	_, err := b.session(func(n int) reply {
		if n < 2 {
			return reply{calls: []call{{"Bash", map[string]any{"command": "date +%s%N"}}}, hold: 300 * time.Millisecond}
		}
		return reply{}
	})
	if err != nil {
		return 0, err
	}
	arrivals, _, blocks := b.server.times()
	all := nanos.FindAll(arrivals[len(arrivals)-1].tail, -1)
	if len(all) == 0 {
		return 0, fmt.Errorf("the command's time is not in the request")
	}
	at, err := strconv.ParseInt(string(all[len(all)-1]), 10, 64)
	if err != nil {
		return 0, err
	}
	return float64(at-blocks[1].UnixNano()) / 1e6, nil
}

// turns measures a long session: the time of a turn, and how much slower its
// end is than its beginning.
func (b *bench) turns(c call) (perTurn, growth float64, err error) {
	const n = 200
	if _, err := b.session(func(i int) reply {
		if i < n {
			return reply{calls: []call{c}}
		}
		return reply{}
	}); err != nil {
		return 0, 0, err
	}
	arrivals, _, _ := b.server.times()
	if len(arrivals) != n+1 {
		return 0, 0, fmt.Errorf("%d requests came, want %d", len(arrivals), n+1)
	}
	span := func(from, to int) time.Duration { return arrivals[to].at.Sub(arrivals[from].at) }
	return ms(span(0, n)) / n, float64(span(n-50, n)) / float64(span(0, 50)), nil
}

// resident reads the memory of the program while it waits for the model, after
// a first turn with a call.
func (b *bench) resident() (float64, error) {
	waiting := make(chan struct{})
	b.server.play(func(n int) reply {
		if n == 0 {
			return reply{calls: []call{{"Read", map[string]any{"file_path": "small.txt"}}}}
		}
		close(waiting)
		return reply{hold: 700 * time.Millisecond}
	})
	cmd := b.command()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	<-waiting
	time.Sleep(400 * time.Millisecond)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	waitErr := cmd.Wait()
	if err != nil {
		return 0, err
	}
	if waitErr != nil {
		return 0, waitErr
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("no VmRSS in /proc")
}
