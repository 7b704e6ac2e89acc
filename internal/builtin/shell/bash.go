package shell

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/tool"
)

// BashInput is one command.
type BashInput struct {
	Command     string  `json:"command" jsonschema:"the command line"`
	Timeout     float64 `json:"timeout,omitempty" jsonschema:"milliseconds after which the command no longer runs in the foreground"`
	Description string  `json:"description,omitempty" jsonschema:"what the command does, in 5 to 10 words"`
	// RunInBackground returns at once and lets the command go on.
	RunInBackground bool `json:"run_in_background,omitempty" jsonschema:"do not wait for the command"`
	// DangerouslyDisableSandbox has no effect where there is no sandbox.
	DangerouslyDisableSandbox bool `json:"dangerouslyDisableSandbox,omitempty" jsonschema:"run outside the sandbox, if there is one"`

	// meaning is set in the observed input only.
	meaning func() *meaning
}

// BashOutput is what came of a command.
type BashOutput struct {
	// Stdout is the text of both streams, as they came.
	Stdout string `json:"stdout"`
	// Stderr holds notices of the tool itself.
	Stderr      string `json:"stderr"`
	Interrupted bool   `json:"interrupted"`
	IsImage     bool   `json:"isImage,omitempty"`
	Image       *Image `json:"image,omitempty"`
	// BackgroundTaskID names a command that goes on.
	BackgroundTaskID  string `json:"backgroundTaskId,omitempty"`
	RawOutputPath     string `json:"rawOutputPath,omitempty"`
	TimedOutAfterMs   int64  `json:"timedOutAfterMs,omitempty"`
	BackgroundCwdHint string `json:"backgroundCwdHint,omitempty"`
	// ReturnCodeInterpretation explains an exit code that is not 0.
	ReturnCodeInterpretation string `json:"returnCodeInterpretation,omitempty"`
	NoOutputExpected         bool   `json:"noOutputExpected,omitempty"`
	// PersistedOutputPath is the file of an output that is not shown whole.
	PersistedOutputPath string `json:"persistedOutputPath,omitempty"`
	PersistedOutputSize int64  `json:"persistedOutputSize,omitempty"`
	ExitCode            int    `json:"exitCode"`
	DurationMs          int64  `json:"durationMs"`
	Lines               int64  `json:"lines"`
}

// Image is an image that a command printed as a data URL.
type Image struct {
	MediaType string `json:"mediaType"`
	Base64    string `json:"base64"`
}

func (f *family) bashTool() tool.Tool {
	return tool.Define(tool.Def[BashInput, BashOutput]{
		Name:            "Bash",
		SearchHint:      "run a shell command",
		Prompt:          f.bashPrompt,
		FieldAliases:    map[string]string{"cmd": "command", "timeout_ms": "timeout", "background": "run_in_background"},
		PrimaryField:    "command",
		Backfill:        f.backfill,
		ReadOnly:        func(in BashInput) bool { return in.understood().readOnly },
		Destructive:     func(in BashInput) bool { return in.understood().destructive },
		OpenWorld:       func(in BashInput) bool { return in.understood().network },
		ConcurrencySafe: func(in BashInput) bool { return in.understood().concurrent },
		Effects:         func(in BashInput) tool.Effects { return in.understood().effects },
		Kind:            func(in BashInput) tool.Kind { return in.understood().kind },
		Sandboxed:       func(in BashInput) bool { return in.understood().sandboxed() },
		Interrupt:       tool.InterruptCancel,
		AbortsSiblings:  true,
		Subjects: func(in BashInput) []tool.Subject {
			return []tool.Subject{tool.CommandOf("Bash", in.Command)}
		},
		ClassifierInput: func(in BashInput) string { return in.Command },
		Validate:        f.validate,
		Call:            f.bash,
		MapResult:       mapBash,
		View:            f.bashView(),
	})
}

// backfill adds what the command means; it is looked at when first asked for.
func (f *family) backfill(in BashInput, at tool.Place) BashInput {
	in.meaning = onceMeaning(func() *meaning { return f.understand(in.Command, in.RunInBackground, in.DangerouslyDisableSandbox, at) })
	return in
}

// understood is the meaning of an observed input. Of any other nothing is known.
func (in BashInput) understood() *meaning {
	if in.meaning == nil {
		return &meaning{script: &shellscan.Script{}, destructive: true}
	}
	return in.meaning()
}

func (f *family) bashPrompt(c tool.PromptContext) string {
	var b strings.Builder
	fmt.Fprintf(&b, `Runs a command line in a shell and returns what it prints: standard output and error, interleaved.

- Every call is a new shell. Its working directory is that of the call before, as cd left it, while that lies in the directories of the session; variables and functions do not last. Prefer absolute paths to cd.
- The command gets no input and no terminal: give every program the options by which it does not ask.
- timeout is in milliseconds: %d unless given, at most %d. `, f.deps.DefaultTimeout.Milliseconds(), f.deps.MaxTimeout.Milliseconds())
	if f.deps.NoBackground {
		b.WriteString("A command that takes longer is stopped.\n")
	} else {
		b.WriteString("A command that takes longer goes on in the background, or is stopped where that could do harm.\n" +
			"- run_in_background returns at once, for servers, watchers and long builds; no & is needed. The result names the task and the file with its output. You are told when it has ended: do not poll. Until then read the file, or call TaskOutput with the id; TaskStop ends it.\n")
	}
	fmt.Fprintf(&b, "- Output of more than %d characters is kept in a file, which the result names.\n", MaxInlineChars)
	b.WriteString(f.sandboxPrompt())
	fmt.Fprintf(&b, "- Do not begin with a sleep of more than %s; to wait for something, test for it in a loop that ends as soon as it is there.\n", seconds(MaxSleep))
	b.WriteString("- Quote paths with blanks. Join commands that depend on each other with &&; make calls that do not depend on each other side by side.\n")
	var better []string
	for _, t := range []struct{ name, use string }{{"Read", "Read for files"}, {"Edit", "Edit and Write to change them"}, {"Grep", "Grep to search in them"}, {"Glob", "Glob to find them"}} {
		if c.Has(t.name) {
			better = append(better, t.use)
		}
	}
	if len(better) > 0 {
		fmt.Fprintf(&b, "- Other tools do some things better than commands: %s.\n", strings.Join(better, ", "))
	}
	return b.String()
}

// validateInput refuses what no shell could run.
func (f *family) validateInput(in BashInput) error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return errors.New("command is empty; give a command line")
	case strings.IndexByte(in.Command, 0) >= 0:
		return errors.New("command holds a NUL character, which no command line can hold")
	case len(in.Command) > shellrun.MaxCommandBytes:
		return fmt.Errorf("command has %d bytes; at most %d are accepted: write the data to a file first", len(in.Command), shellrun.MaxCommandBytes)
	case in.Timeout < 0:
		return fmt.Errorf("timeout is %g; it must be a number of milliseconds from 1 to %d", in.Timeout, f.deps.MaxTimeout.Milliseconds())
	case in.RunInBackground && f.deps.NoBackground:
		return errors.New("run_in_background is switched off in this session; run the command in the foreground, with a timeout that is long enough")
	}
	return nil
}

// validate refuses what cannot work or would only wait.
func (f *family) validate(_ context.Context, in BashInput, _ *tool.Env) error {
	if err := f.validateInput(in); err != nil {
		return err
	}
	if in.RunInBackground || !strings.Contains(in.Command, "sleep") {
		return nil
	}
	script := shellscan.Scan(in.Command, shellscan.Options{})
	if d, ok := leadingSleep(script); ok && d > MaxSleep {
		how := "; if the command must run later all the same, set run_in_background"
		if f.deps.NoBackground {
			how = ""
		}
		return fmt.Errorf("the command begins with a sleep of %s, and at most %s are accepted: the conversation would only wait. To wait for something, test for it: until <test>; do sleep 1; done%s",
			seconds(d), seconds(MaxSleep), how)
	}
	return nil
}

// leadingSleep is how long a script sleeps before it does anything else.
func leadingSleep(script *shellscan.Script) (time.Duration, bool) {
	if len(script.Commands) == 0 {
		return 0, false
	}
	c := &script.Commands[0]
	if c.Nesting&^shellscan.InPipe != 0 || len(c.Wrappers) > 0 || len(c.Run) < 2 || !isProgram(c.Run[0], "sleep") {
		return 0, false
	}
	var sum float64
	for _, w := range c.Run[1:] {
		d, ok := sleepSeconds(w.Text)
		if w.Known != shellscan.Literal || !ok {
			return 0, false
		}
		sum += d
	}
	return time.Duration(min(sum, 1e9) * float64(time.Second)), true
}

// sleepSeconds reads an operand of sleep.
func sleepSeconds(s string) (float64, bool) {
	unit := 1.0
	if n := len(s); n > 0 {
		if u, ok := map[byte]float64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400}[s[n-1]]; ok {
			s, unit = s[:n-1], u
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v < 0 {
		return 0, false
	}
	return v * unit, true
}

func isProgram(w shellscan.Word, name string) bool {
	return w.Known == shellscan.Literal && (w.Text == name || strings.HasSuffix(w.Text, "/"+name))
}
