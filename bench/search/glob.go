package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"

	"github.com/sevengate/sevengate/internal/builtin/search"
	"github.com/sevengate/sevengate/tool"
)

// globs are patterns of Glob with what fd calls the same.
var globs = []struct {
	name, glob string
	fd         []string
}{
	{"all files", "**/*", nil},
	{"a suffix", "**/*.go", []string{"--glob", "*.go"}},
	{"few", "**/*1_test.go", []string{"--glob", "*1_test.go"}},
	{"none", "**/zzqq*", []string{"--glob", "zzqq*"}},
	{"two suffixes", "**/*.{s,txt}", []string{"--glob", "*.{s,txt}"}},
	{"a folder at any depth", "**/{testdata,e01}/**/*.go", []string{"--full-path", "--glob", "**/{testdata,e01}/**/*.go"}},
}

func (b *bench) globTable() error {
	fmt.Println("| pattern | files | fd, ms | Glob as a process, ms | ratio | less start | Glob in process, ms | ratio | processor, fd, ms | Glob, ms |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, g := range globs {
		t, err := b.inTurns(b.runs,
			func() (measured, error) { return b.fdFind(g.fd) },
			func() (measured, error) {
				out, cpu, err := b.call("Glob", map[string]any{"pattern": g.glob, "path": b.dir})
				return measured{filesIn(out), cpu}, err
			},
			func() (measured, error) { return b.globHere(g.glob) })
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		if err := b.row(g.name, g.glob, t); err != nil {
			return err
		}
	}
	return nil
}

// fdFind lists all files, hidden and ignored ones too, which is what Glob does.
func (b *bench) fdFind(args []string) (measured, error) {
	args = append([]string{"--unrestricted", "--hidden", "--case-sensitive", "--type", "f", "--color", "never"}, args...)
	if len(args) == 7 {
		args = append(args, ".")
	}
	out, cpu, err := output(exec.Command(b.fd, append(args, b.dir)...))
	return measured{int64(bytes.Count(out, []byte("\n"))), cpu}, err
}

var filesFound = regexp.MustCompile(`most recently changed of ([0-9,]+) files`)

// filesIn tells how many files there are by what Glob says.
func filesIn(text string) int64 {
	if n := number(filesFound, text); n >= 0 {
		return n
	}
	return int64(len(regexp.MustCompile(`(?m)^/`).FindAllString(text, -1)))
}

// globHere makes the same call inside this process, without the gates.
func (b *bench) globHere(pattern string) (measured, error) {
	for _, t := range search.New(search.Deps{}) {
		if t.Name() != "Glob" {
			continue
		}
		raw, err := json.Marshal(map[string]any{"pattern": pattern, "path": b.dir})
		if err != nil {
			return measured{}, err
		}
		env := &tool.Env{Place: tool.Place{Cwd: b.scratch, Home: b.scratch}}
		call, err := t.Bind(raw, env.Place)
		if err != nil {
			return measured{}, err
		}
		out, err := call.Run(context.Background(), env)
		if err != nil {
			return measured{}, err
		}
		data, ok := out.Data.(search.GlobOutput)
		if !ok {
			return measured{}, fmt.Errorf("the answer of Glob is a %T", out.Data)
		}
		return measured{found: int64(data.TotalMatches)}, nil
	}
	return measured{}, fmt.Errorf("there is no Glob")
}
