package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/tool"
)

// Limits of Monitor.
const (
	// DefaultMonitorTime is how long a command is watched where the call names no
	// time, and MaxMonitorTime the most that a call may name; in a session that
	// nobody watches it is MaxUnattendedMonitorTime.
	DefaultMonitorTime       = 5 * time.Minute
	MaxMonitorTime           = 30 * time.Minute
	MaxUnattendedMonitorTime = 10 * time.Minute
	// MonitorBatch is how long lines are collected for one notice.
	MonitorBatch = 200 * time.Millisecond
	// MaxMonitorLine is how much is told of one line, MaxMonitorNoticeLines and
	// MaxMonitorNoticeChars how much in one notice. The file has all of it.
	MaxMonitorLine        = 500
	MaxMonitorNoticeLines = 40
	MaxMonitorNoticeChars = 6_000
	// MaxMonitorNotices and MaxMonitorChars bound what one monitor tells in all. One
	// that comes to a bound is stopped.
	MaxMonitorNotices = 300
	MaxMonitorChars   = 100_000
	// MaxMonitorBytes is the size of the output at which a monitor is stopped.
	MaxMonitorBytes = 64 << 20
)

// MonitorInput is a command to watch.
type MonitorInput struct {
	Command     string  `json:"command" jsonschema:"the command line; each line that it prints is told"`
	Description string  `json:"description" jsonschema:"what is watched for, in 5 to 10 words"`
	TimeoutMs   float64 `json:"timeout_ms,omitempty" jsonschema:"milliseconds after which the command is stopped"`

	// meaning is set in the observed input only.
	meaning func() *meaning
}

// MonitorOutput names the task that watches.
type MonitorOutput struct {
	TaskID     string `json:"taskId"`
	TimeoutMs  int64  `json:"timeoutMs"`
	OutputFile string `json:"outputFile"`
}

func monitorPrompt(tool.PromptContext) string {
	return fmt.Sprintf(`Runs a command in the background and tells you each line that it prints on standard output, while you go on with other work: for a log to be followed, a build, a test run, or a state that is polled.

- You are told by messages that come by themselves; do not wait or poll for them. The last one tells that the command has ended.
- Print only what matters, one line for each event, and print at once: tail -f app.log | grep --line-buffered ERROR. Watch for failure too, not for success alone. In a pipe use unbuffered output.
- To poll, loop: while true; do <test that prints what changed>; sleep 30; done. To learn only that something has ended, Bash with run_in_background does it.
- Lines that come within %d ms are told together. Standard error is not told, but is in the output file, with all the rest.
- timeout_ms is a deadline: %d unless given, at most %d (%d where nobody is present). A monitor that tells more than %d characters in all is stopped. TaskStop ends one early.`,
		MonitorBatch.Milliseconds(), DefaultMonitorTime.Milliseconds(), MaxMonitorTime.Milliseconds(), MaxUnattendedMonitorTime.Milliseconds(), MaxMonitorChars)
}

func (f *family) monitorTool() tool.Tool {
	understood := func(in MonitorInput) *meaning {
		if in.meaning == nil {
			return BashInput{}.understood()
		}
		return in.meaning()
	}
	return tool.Define(tool.Def[MonitorInput, MonitorOutput]{
		Name:         "Monitor",
		SearchHint:   "watch a command, follow a log, be told of events",
		Prompt:       monitorPrompt,
		FieldAliases: map[string]string{"cmd": "command", "timeout": "timeout_ms"},
		PrimaryField: "command",
		Enabled:      func(tool.Features) bool { return !f.deps.NoBackground },
		Defer:        true,
		Backfill: func(in MonitorInput, at tool.Place) MonitorInput {
			in.meaning = onceMeaning(func() *meaning { return f.understand(in.Command, true, false, at) })
			return in
		},
		ReadOnly:    func(in MonitorInput) bool { return understood(in).readOnly },
		Destructive: func(in MonitorInput) bool { return understood(in).destructive },
		OpenWorld:   func(in MonitorInput) bool { return understood(in).network },
		Sandboxed:   func(in MonitorInput) bool { return understood(in).sandboxed() },
		Interrupt:   tool.InterruptCancel,
		// Rules for Bash hold, whatever the tool is called.
		Subjects:        func(in MonitorInput) []tool.Subject { return []tool.Subject{tool.CommandOf("Bash", in.Command)} },
		ClassifierInput: func(in MonitorInput) string { return in.Command },
		Validate: func(ctx context.Context, in MonitorInput, env *tool.Env) error {
			if in.TimeoutMs < 0 {
				return fmt.Errorf("timeout_ms is %g; it must be a number of milliseconds from 1 to %d", in.TimeoutMs, MaxMonitorTime.Milliseconds())
			}
			return f.validate(ctx, BashInput{Command: in.Command, RunInBackground: true}, env)
		},
		Call: f.monitor,
		MapResult: func(out MonitorOutput) []tool.Block {
			return []tool.Block{tool.TextBlock(fmt.Sprintf("The command runs as task %s for at most %s. Each line that it prints will be told to you, and its end; all of its output goes to %s",
				out.TaskID, seconds(time.Duration(out.TimeoutMs)*time.Millisecond), out.OutputFile))}
		},
		View: tool.View[MonitorInput, MonitorOutput]{
			Use: func(in MonitorInput) string { return shown(in.Command) },
			Result: func(_ MonitorInput, out MonitorOutput) tool.Rendering {
				return tool.Rendering{Summary: "watching as " + out.TaskID}
			},
			Preview: func(in MonitorInput, _ tool.Place) tool.Rendering {
				return tool.Rendering{Summary: visible(in.Description), Detail: visible(in.Command)}
			},
		},
	})
}

// monitorTime is how long a command is watched.
func monitorTime(asked float64, env *tool.Env) time.Duration {
	limit := MaxMonitorTime
	if env.NonInteractive {
		limit = MaxUnattendedMonitorTime
	}
	if asked <= 0 {
		return min(DefaultMonitorTime, limit)
	}
	return milliseconds(asked, limit)
}

func (f *family) monitor(ctx context.Context, in MonitorInput, env *tool.Env) (tool.Result[MonitorOutput], error) {
	var none tool.Result[MonitorOutput]
	r, err := f.runner()
	if err != nil {
		return none, err
	}
	if info, err := os.Stat(env.Cwd); err != nil || !info.IsDir() {
		return none, fmt.Errorf("the command was not run: the working directory %s does not exist any more", env.Cwd)
	}
	stay, err := f.enter(ctx, scan(in.Command, env.Place), false)
	if err != nil {
		return none, err
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		stay.Leave(false)
		return none, fmt.Errorf("making a pipe for the command: %w", err)
	}
	limit := monitorTime(in.TimeoutMs, env)
	end := f.ends.expect(env)
	end.drained = make(chan struct{})
	w := newWatch(ours, oneLine(in.Description), end.notify)
	p, err := r.Start(ctx, shellrun.Spec{
		Command: in.Command, Dir: env.Cwd, Background: true, Timeout: limit, Label: taskMonitor, Wrap: words(stay),
		// A pipe that nobody reads any more would only make what is left behind fail.
		Stdout: theirs, KillLeftovers: true,
		OnTaskEnd: func(p *shellrun.Process) {
			note := joinNotes(w.finish(p), left(stay, p))
			close(end.drained)
			end.end(p, note)
		},
	})
	theirs.Close()
	if err != nil {
		stay.Leave(false)
		return none, errors.Join(err, ours.Close())
	}
	f.ends.add(p.ID(), end)
	w.begin(p)
	return tool.OK(MonitorOutput{TaskID: p.ID(), TimeoutMs: limit.Milliseconds(), OutputFile: p.OutputFile()}), nil
}
