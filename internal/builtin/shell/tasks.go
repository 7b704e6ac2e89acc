package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/tool"
)

// Limits of the tools for commands in the background.
const (
	// DefaultWait is how long TaskOutput waits for the end of a task where the call
	// names no timeout, and MaxWait the most that a call may name.
	DefaultWait = 30 * time.Second
	MaxWait     = 600 * time.Second
	// MaxTaskBytes is how much new output one TaskOutput gives.
	MaxTaskBytes = 30_000
	// StopWait is how long TaskStop waits for the task to be gone.
	StopWait = 10 * time.Second

	maxListedTasks = 10
	waitReport     = time.Second
)

// TaskOutputInput asks for the output of a task.
type TaskOutputInput struct {
	TaskID  string  `json:"task_id" jsonschema:"the id that Bash gave"`
	Block   *bool   `json:"block,omitempty" jsonschema:"wait for the end of the task; true unless given"`
	Timeout float64 `json:"timeout,omitempty" jsonschema:"milliseconds to wait at most"`
}

// TaskOutput is the state of a task and the output that was not given before.
type TaskOutput struct {
	// RetrievalStatus is success when the task has ended, timeout when it has not
	// in the time, not_ready when nobody waited.
	RetrievalStatus string `json:"retrieval_status"`
	Task            Task   `json:"task"`
}

// Task is a command in the background.
type Task struct {
	TaskID      string `json:"task_id"`
	TaskType    string `json:"task_type"`
	Status      string `json:"status"` // running, completed, failed or killed
	Description string `json:"description"`
	// Output is what is new since the last call.
	Output     string `json:"output"`
	More       bool   `json:"more,omitempty"`
	OutputFile string `json:"outputFile"`
	ExitCode   *int   `json:"exitCode,omitempty"`
	Killed     string `json:"killed,omitempty"` // why it was killed
	Meaning    string `json:"returnCodeInterpretation,omitempty"`
	DurationMs int64  `json:"durationMs"`
}

var taskOutputPrompt = fmt.Sprintf(`Gives the state of a command in the background, and what it has printed since the last call, at most %d bytes at a time.

It waits for the end of the command, up to timeout milliseconds (%d unless given, at most %d); set block to false to look without waiting. All of the output is in the file that Bash named: read that file to see a part again.`,
	MaxTaskBytes, DefaultWait.Milliseconds(), MaxWait.Milliseconds())

func (f *family) taskOutputTool() tool.Tool {
	return tool.Define(tool.Def[TaskOutputInput, TaskOutput]{
		Name:             "TaskOutput",
		Aliases:          []string{"BashOutput"},
		SearchHint:       "output and state of a command in the background",
		Prompt:           tool.Text(taskOutputPrompt),
		FieldAliases:     map[string]string{"bash_id": "task_id", "shell_id": "task_id", "id": "task_id"},
		Defer:            true,
		ReadOnly:         tool.Always[TaskOutputInput],
		ConcurrencySafe:  tool.Always[TaskOutputInput],
		Effects:          func(in TaskOutputInput) tool.Effects { return tool.Reads(taskResource(in.TaskID)) },
		Kind:             func(TaskOutputInput) tool.Kind { return tool.KindRead },
		Interrupt:        tool.InterruptCancel,
		CheckPermissions: tool.AlwaysAllow[TaskOutputInput],
		Validate: func(_ context.Context, in TaskOutputInput, _ *tool.Env) error {
			if in.Timeout < 0 {
				return fmt.Errorf("timeout is %g; it must be a number of milliseconds from 0 to %d", in.Timeout, MaxWait.Milliseconds())
			}
			return nil
		},
		Call:      f.taskOutput,
		MapResult: mapTask,
		View: tool.View[TaskOutputInput, TaskOutput]{
			Use: func(in TaskOutputInput) string { return in.TaskID },
			Progress: func(_ TaskOutputInput, p tool.Progress) string {
				return progressText(p)
			},
			Result: func(_ TaskOutputInput, out TaskOutput) tool.Rendering {
				return tool.Rendering{Summary: out.Task.TaskID + ": " + out.Task.state(), Detail: lastLines(out.Task.Output, resultLines)}
			},
		},
	})
}

// taskResource names a task among the effects of calls.
func taskResource(id string) string { return tool.Resource("shell-task/" + id) }

func (f *family) taskOutput(ctx context.Context, in TaskOutputInput, env *tool.Env) (tool.Result[TaskOutput], error) {
	p, err := f.task(in.TaskID)
	if err != nil {
		return tool.Result[TaskOutput]{}, err
	}
	drained, done := f.ends.ask(p.ID())
	told := false
	defer func() { done(told) }()
	out := TaskOutput{RetrievalStatus: "not_ready"}
	if in.Block == nil || *in.Block {
		wait := DefaultWait
		if in.Timeout > 0 {
			wait = milliseconds(in.Timeout, MaxWait)
		}
		out.RetrievalStatus = "timeout"
		if err := waitFor(ctx, p, wait, env); err != nil {
			return tool.Result[TaskOutput]{}, err
		}
	}
	// The state first: then no output of an ended task can be missing.
	out.Task = taskState(p)
	if out.Task.Status != "running" {
		out.RetrievalStatus = "success"
		if drained != nil {
			<-drained // soon: what is left of the output is in a pipe
		}
	}
	data, more, err := p.ReadNew(MaxTaskBytes)
	if err != nil {
		return tool.Result[TaskOutput]{}, err
	}
	if len(data) > 0 {
		out.Task.Output = shellrun.ViewBytes(data, shellrun.Limits{Head: MaxTaskBytes, Max: MaxTaskBytes}).Text
	}
	out.Task.More = more
	told = out.Task.Status != "running"
	return tool.OK(out), nil
}

// waitFor waits for the end of a task. Only the end of ctx is an error.
func waitFor(ctx context.Context, p *shellrun.Process, wait time.Duration, env *tool.Env) error {
	over := time.NewTimer(wait)
	defer over.Stop()
	tick := time.NewTicker(waitReport)
	defer tick.Stop()
	for {
		select {
		case <-p.Done():
			return nil
		case <-over.C:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("waiting for task %s: %w", p.ID(), context.Cause(ctx))
		case <-tick.C:
			s := p.Progress()
			env.Report(tool.Progress{Text: lastLines(s.Tail, progressLines), Bytes: s.Bytes, Lines: s.Lines, Seconds: s.Elapsed.Seconds()})
		}
	}
}

func taskState(p *shellrun.Process) Task {
	t := Task{TaskID: p.ID(), TaskType: p.Label(), Status: "running", Description: shown(p.Command()), OutputFile: p.OutputFile()}
	res, ended := p.Result()
	if !ended {
		t.DurationMs = time.Since(p.Started()).Milliseconds()
		return t
	}
	t.DurationMs, t.ExitCode = res.Duration.Milliseconds(), &res.ExitCode
	meaning := exitMeaning(p, res.ExitCode)
	t.Meaning = meaning.Text
	switch {
	case res.Killed != "":
		t.Status, t.Killed = "killed", string(res.Killed)
	case meaning.OK:
		t.Status = "completed"
	default:
		t.Status = "failed"
	}
	return t
}

// exitMeaning is what the exit code of a task says.
func exitMeaning(p *shellrun.Process, code int) shellrun.Meaning {
	if p.Label() == taskPowerShell {
		return interpretPowerShell(p.Command(), code)
	}
	return shellrun.Interpret(lastWords(scan(p.Command(), tool.Place{}), code), code)
}

// state says in a few words how a task stands.
func (t Task) state() string {
	took := seconds(time.Duration(t.DurationMs) * time.Millisecond)
	switch {
	case t.ExitCode == nil:
		return "running for " + took
	case t.Killed != "":
		return fmt.Sprintf("killed after %s (%s)", took, t.Killed)
	case t.Meaning != "":
		return fmt.Sprintf("%s after %s with exit code %d (%s)", t.Status, took, *t.ExitCode, t.Meaning)
	}
	return fmt.Sprintf("%s after %s with exit code %d", t.Status, took, *t.ExitCode)
}

func mapTask(out TaskOutput) []tool.Block {
	t := out.Task
	text := fmt.Sprintf("Task %s: %s", t.TaskID, t.state())
	switch {
	case t.Output != "":
		text += "\n" + strings.TrimRight(t.Output, "\n")
	default:
		text += "\n(no new output)"
	}
	if t.More {
		text += "\nThere is more: call again, or read " + t.OutputFile
	}
	return []tool.Block{tool.TextBlock(text)}
}

// task finds a command in the background.
func (f *family) task(id string) (*shellrun.Process, error) {
	r, err := f.runner()
	if err != nil {
		return nil, err
	}
	if p, ok := r.Task(id); ok {
		return p, nil
	}
	tasks := r.Tasks()
	if len(tasks) == 0 {
		return nil, fmt.Errorf("there is no task %q: nothing was started in the background", id)
	}
	var ids []string
	for _, p := range tasks[max(0, len(tasks)-maxListedTasks):] {
		ids = append(ids, p.ID())
	}
	return nil, fmt.Errorf("there is no task %q; the newest are %s", id, strings.Join(ids, ", "))
}

// TaskStopInput names a task to end.
type TaskStopInput struct {
	TaskID string `json:"task_id,omitempty" jsonschema:"the id that Bash gave"`
	// ShellID is the former name of TaskID.
	ShellID string `json:"shell_id,omitempty" jsonschema:"former name of task_id"`
}

func (in TaskStopInput) id() string {
	if in.TaskID != "" {
		return in.TaskID
	}
	return in.ShellID
}

// TaskStopOutput tells what was ended.
type TaskStopOutput struct {
	Message  string `json:"message"`
	TaskID   string `json:"task_id"`
	TaskType string `json:"task_type"`
	Command  string `json:"command,omitempty"`
}

func (f *family) taskStopTool() tool.Tool {
	return tool.Define(tool.Def[TaskStopInput, TaskStopOutput]{
		Name:             "TaskStop",
		Aliases:          []string{"KillShell", "KillBash"},
		SearchHint:       "stop, kill a command in the background",
		Prompt:           tool.Text("Ends a command in the background, and all that it started. What it printed stays in its file."),
		FieldAliases:     map[string]string{"bash_id": "task_id", "id": "task_id"},
		Defer:            true,
		Destructive:      tool.Always[TaskStopInput],
		Effects:          func(in TaskStopInput) tool.Effects { return tool.Writes(taskResource(in.id())) },
		CheckPermissions: tool.AlwaysAllow[TaskStopInput],
		Validate: func(_ context.Context, in TaskStopInput, _ *tool.Env) error {
			if in.id() == "" {
				return errors.New("task_id is missing; give the id of the task to end")
			}
			if in.TaskID != "" && in.ShellID != "" && in.TaskID != in.ShellID {
				return errors.New("task_id and shell_id name different tasks; give task_id alone")
			}
			return nil
		},
		Call:      f.taskStop,
		MapResult: func(out TaskStopOutput) []tool.Block { return []tool.Block{tool.TextBlock(out.Message)} },
		View: tool.View[TaskStopInput, TaskStopOutput]{
			Use:    func(in TaskStopInput) string { return in.id() },
			Result: func(_ TaskStopInput, out TaskStopOutput) tool.Rendering { return tool.Rendering{Summary: out.Message} },
		},
	})
}

func (f *family) taskStop(ctx context.Context, in TaskStopInput, _ *tool.Env) (tool.Result[TaskStopOutput], error) {
	p, err := f.task(in.id())
	if err != nil {
		return tool.Result[TaskStopOutput]{}, err
	}
	_, done := f.ends.ask(p.ID())
	told := false
	defer func() { done(told) }()
	out := TaskStopOutput{TaskID: p.ID(), TaskType: p.Label(), Command: p.Command()}
	before, ended := p.Result()
	stopping, cancel := context.WithTimeout(ctx, StopWait)
	defer cancel()
	if err := p.Stop(stopping); err != nil {
		return tool.Result[TaskStopOutput]{}, err
	}
	told = true
	switch {
	case ended && before.LeftBehind:
		out.Message = fmt.Sprintf("Task %s had ended; what it left running was ended too.", p.ID())
	case ended:
		out.Message = fmt.Sprintf("Task %s had ended by itself: %s.", p.ID(), taskState(p).state())
	default:
		out.Message = fmt.Sprintf("Task %s was stopped. Its output is in %s", p.ID(), p.OutputFile())
	}
	return tool.OK(out), nil
}
