package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/tool"
)

// maxExecLine bounds one line of input.
const maxExecLine = 64 << 20

func (a *app) execCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "exec [FILE|-]",
		Short: "Answer assistant messages with their tool results",
		Long: `Read assistant messages and answer each with one user message that holds a
tool_result for every tool_use, in order, as one line of JSON.

The input is JSON Lines of assistant messages, or an event stream of the
Messages API: then each call starts as soon as its block is complete. A line
that cannot be read is answered with a line {"type":"error", …}, and the rest
goes on; the exit code is 1 in the end.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.exec(args) },
	}
}

func (a *app) exec(args []string) error {
	in := a.Stdin
	name := "standard input"
	if len(args) == 1 && args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return usage("reading assistant messages: %v", err)
		}
		defer f.Close()
		in, name = f, args[0]
	}
	r, err := a.runtime(func(o *sevengate.Options) { o.Ephemeral = true })
	if err != nil {
		return err
	}
	defer r.Close()
	a.withServers(r, "")
	e := &executor{app: a, runtime: r, name: name, lines: bufio.NewReaderSize(in, 64<<10)}
	if err := e.run(); err != nil {
		return err
	}
	switch {
	case a.ctx.Err() != nil:
		return exit(ExitInterrupted)
	case e.failed:
		return exit(ExitFailed)
	}
	return nil
}

type executor struct {
	*app
	runtime *sevengate.Runtime
	name    string
	lines   *bufio.Reader
	n       int // of the current line
	failed  bool
	sse     *eventReader
}

func (e *executor) run() error {
	for e.ctx.Err() == nil {
		line, err := e.readLine()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", e.name, e.n, err)
		}
		if err := e.line(line); err != nil {
			return err
		}
	}
	if e.sse != nil {
		return e.sse.end(true)
	}
	return nil
}

func (e *executor) line(line string) error {
	trimmed := strings.TrimSpace(line)
	if e.sse != nil || isEventLine(trimmed) {
		if e.sse == nil {
			e.sse = &eventReader{e: e}
		}
		return e.sse.line(trimmed)
	}
	if trimmed == "" {
		return nil
	}
	var m tool.Message
	if err := json.Unmarshal([]byte(trimmed), &m); err != nil {
		return e.complain(fmt.Errorf("not an assistant message: %w", err))
	}
	if m.Role != tool.RoleAssistant {
		return e.complain(fmt.Errorf(`"role" is %q; it must be "assistant"`, m.Role))
	}
	answer, _, ok := e.runtime.Exec(e.ctx, m)
	if !ok {
		answer = emptyAnswer()
	}
	return printJSON(e.Stdout, answer)
}

// emptyAnswer is the answer to a message without calls: every message has one.
func emptyAnswer() tool.Message {
	return tool.Message{Role: tool.RoleUser, Content: []tool.Block{}}
}

// complain answers a line that cannot be read.
func (e *executor) complain(err error) error {
	e.failed = true
	return printJSON(e.Stdout, struct {
		Type  string `json:"type"`
		Line  int    `json:"line"`
		Error string `json:"error"`
	}{"error", e.n, err.Error()})
}

func (e *executor) readLine() (string, error) {
	var line []byte
	e.n++
	for {
		part, err := e.lines.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxExecLine {
			return "", fmt.Errorf("it is longer than %d bytes", maxExecLine)
		}
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return string(line), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}
