package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
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

func (b *bench) grepTable(many bool) error {
	fmt.Println("| pattern | lines | ripgrep, ms | Grep as a process, ms | ratio | less start | Grep in process, ms | ratio | processor, ripgrep, ms | Grep, ms |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, p := range patterns {
		runs := b.runs
		switch {
		case p.multiline:
			runs = 1 // half a minute of ripgrep's
		case many:
			runs = min(runs, 7)
		}
		t, err := b.inTurns(runs,
			func() (measured, error) { return b.ripgrep(p) },
			func() (measured, error) { return b.grepProcess(b.dir, p) },
			func() (measured, error) { return grepHere(b.dir, p) })
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if err := b.row(p.name, p.expr, t); err != nil {
			return err
		}
	}
	return nil
}

// ripgrep counts matching lines (with -U all lines that a match touches), without ignore files, hidden files included.
func (b *bench) ripgrep(p pattern) (measured, error) {
	args := []string{"-uu", "--no-filename", "--no-config", "-c"}
	if p.multiline { // where -c counts matches
		args = append(args[:3], "-U", "--no-heading", "--color=never")
	}
	cmd := exec.Command(b.rg, append(args, "-e", p.expr, b.dir)...)
	out, cpu, err := output(cmd)
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 { // no match
		return measured{0, exit.UserTime() + exit.SystemTime()}, nil
	}
	if err != nil {
		return measured{}, err
	}
	if p.multiline {
		return measured{int64(bytes.Count(out, []byte("\n"))), cpu}, nil
	}
	var n int64
	for line := range strings.Lines(string(out)) {
		k, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return measured{}, err
		}
		n += k
	}
	return measured{n, cpu}, nil
}

// call runs the whole program once, as a model's call would.
func (b *bench) call(tool string, input map[string]any) (string, time.Duration, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return "", 0, err
	}
	cmd := exec.Command(b.binary, "call", tool, string(raw), "--allowedTools", "Read(//**)", "--setting-sources", "")
	cmd.Env = append(os.Environ(), "HOME="+b.scratch, "SEVENGATE_HOME="+b.scratch)
	cmd.Dir = b.scratch
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, cpu, err := output(cmd)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), cpu, nil
}

var linesFound = regexp.MustCompile(`Found ([0-9,]+) matching lines?`)

func (b *bench) grepProcess(dir string, p pattern) (measured, error) {
	out, cpu, err := b.call("Grep", map[string]any{"pattern": p.expr, "path": dir, "output_mode": "count", "head_limit": 1, "multiline": p.multiline})
	if err != nil || strings.Contains(out, "No matches") {
		return measured{0, cpu}, err
	}
	return measured{number(linesFound, out), cpu}, nil
}

// number is what the expression finds, or -1.
func number(re *regexp.Regexp, text string) int64 {
	m := re.FindStringSubmatch(text)
	if m == nil {
		return -1
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(m[1], ",", ""), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func grepHere(dir string, p pattern) (measured, error) {
	re, err := grep.Compile(p.expr, grep.Options{Multiline: p.multiline})
	if err != nil {
		return measured{}, err
	}
	opts := grep.SearchOptions{Roots: []string{dir}, Mode: grep.ModeCount, Unordered: true}
	opts.Walk.Hidden = true
	stats, err := grep.Search(context.Background(), re, opts, func(grep.Event) error { return nil })
	return measured{found: stats.Lines}, err
}
