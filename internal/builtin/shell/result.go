package shell

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/confine"
	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/tool"
)

// movedTailChars is how much is shown of the output of a command that goes on.
const movedTailChars = 2_000

// succeeded makes the output of a command that did what it is for.
func (f *family) succeeded(res shellrun.Result, meaning shellrun.Meaning, m *meaning) (BashOutput, error) {
	out := BashOutput{
		ExitCode: res.ExitCode, DurationMs: res.Duration.Milliseconds(), Lines: res.Lines,
		ReturnCodeInterpretation: meaning.Text, NoOutputExpected: silent(m),
	}
	keep := res.OutputOpen
	img, ok, err := shellrun.ImageFile(res.OutputFile)
	switch {
	case err == nil && ok && len(img.Base64) <= MaxImageBytes:
		out.IsImage, out.Image = true, &Image{MediaType: img.MediaType, Base64: img.Base64}
	default:
		view, err := shellrun.ViewFile(res.OutputFile, shellrun.Limits{Head: PreviewHeadChars, Tail: PreviewTailChars, Max: MaxInlineChars})
		if err != nil {
			return out, fmt.Errorf("the command ended with exit code %d, but its output cannot be read: %w", res.ExitCode, err)
		}
		out.Stdout = strings.TrimRight(view.Text, "\n")
		keep = keep || view.Truncated
		if view.Truncated {
			out.PersistedOutputPath, out.PersistedOutputSize = res.OutputFile, res.OutputSize
		}
	}
	if res.OutputOpen {
		out.RawOutputPath = res.OutputFile
		out.Stderr = "A process that the command left running still writes; its output goes on in " + res.OutputFile
	}
	if res.Err != nil {
		out.Stderr = joinNotes(out.Stderr, "Not all went well: "+res.Err.Error())
	}
	if !keep {
		_ = os.Remove(res.OutputFile) // all of it is in the result
	}
	return out, nil
}

// silent tells that no output is the usual result.
func silent(m *meaning) bool {
	for i := range m.script.Commands {
		if c := &m.script.Commands[i]; !c.FileCommand && program(c) != "cd" {
			return false
		}
	}
	return len(m.script.Commands) > 0
}

// failureView is what is shown of the output of a failed command. Its file stays
// if that is not all.
func failureView(res shellrun.Result) string {
	view, err := shellrun.ViewFile(res.OutputFile, shellrun.Limits{Head: MaxFailureChars / 2, Tail: MaxFailureChars / 2})
	if err != nil {
		return fmt.Sprintf("(the output cannot be read: %v)", err)
	}
	text := strings.TrimRight(view.Text, "\n")
	switch {
	case view.Truncated:
		text += fmt.Sprintf("\nAll of the output (%s) is in %s", human(view.Size), res.OutputFile)
	case !res.OutputOpen:
		_ = os.Remove(res.OutputFile)
	}
	return text
}

// failed is the error of a command that failed or was killed.
func (f *family) failed(res shellrun.Result, meaning shellrun.Meaning, limit time.Duration, dir settled, stay *confine.Stay, walls string) error {
	lead := fmt.Sprintf("Exit code %d", res.ExitCode)
	summary := lead
	switch res.Killed {
	case "":
		if meaning.Text != "" {
			lead += " (" + meaning.Text + ")"
			summary = lead
		}
	case shellrun.KilledTimeout:
		summary = "timed out after " + seconds(limit)
		lead += fmt.Sprintf("\nThe command did not complete within its %s timeout and was stopped.", seconds(limit))
		if limit < f.deps.MaxTimeout {
			lead += fmt.Sprintf(" If it needs longer, give a timeout of up to %d ms", f.deps.MaxTimeout.Milliseconds())
			if !f.deps.NoBackground {
				lead += " or set run_in_background"
			}
			lead += "."
		} else if !f.deps.NoBackground {
			lead += " If it needs longer, set run_in_background."
		}
	case shellrun.KilledCancelled:
		summary = "stopped after " + seconds(res.Duration)
		lead = fmt.Sprintf("The command was stopped after %s, before it ended; what it had begun may be done in part.", seconds(res.Duration))
	case shellrun.KilledOutputLimit:
		summary = "too much output"
		lead += fmt.Sprintf("\nThe command was stopped, since it printed more than %s.", human(shellrun.MaxOutputBytes))
	default:
		summary = "stopped"
		lead += fmt.Sprintf("\nThe command was stopped (%s).", res.Killed)
	}
	if res.Err != nil {
		dir.note = joinNotes("Not all went well: "+res.Err.Error(), dir.note)
	}
	if res.OutOfMemory {
		dir.note = joinNotes("The system ended something of it for want of memory: all commands of this session together have "+shellrun.EnvMemoryLimit+".", dir.note)
	}
	view := failureView(res)
	return &failure{text: joinNotes(lead, view, walls, f.sandboxHint(stay, view, walls), dir.note), summary: summary}
}

// start runs a command in the background.
func (f *family) start(ctx context.Context, r *shellrun.Runner, in BashInput, m *meaning, stay *confine.Stay, env *tool.Env) (tool.Result[BashOutput], error) {
	end := f.ends.expect(env)
	p, err := r.Start(ctx, shellrun.Spec{
		Command: in.Command, Dir: env.Cwd, Background: true, Timeout: f.backgroundLimit(in.Timeout, env),
		Label: taskBash, Wrap: words(stay), OnTaskEnd: func(p *shellrun.Process) { end.end(p, left(stay, p)) },
	})
	if err != nil {
		stay.Leave(false)
		return tool.Result[BashOutput]{}, err
	}
	f.ends.add(p.ID(), end)
	return tool.OK(begun(p, m, env)), nil
}

// moved is the result of a command that goes on in the background.
func moved(p *shellrun.Process, limit time.Duration, m *meaning, env *tool.Env) BashOutput {
	out := BashOutput{
		BackgroundTaskID: p.ID(), RawOutputPath: p.OutputFile(), TimedOutAfterMs: limit.Milliseconds(), BackgroundCwdHint: cwdHint(m, env),
		DurationMs: time.Since(p.Started()).Milliseconds(), Lines: p.Progress().Lines,
	}
	if view, err := shellrun.ViewFile(p.OutputFile(), shellrun.Limits{Tail: movedTailChars}); err == nil {
		out.Stdout = strings.TrimRight(view.Text, "\n")
	}
	out.Stderr = joinNotes(fmt.Sprintf("Command did not complete within its %s timeout and was moved to the background as task %s. You will be told when it has ended. Its output goes on in %s",
		seconds(limit), p.ID(), p.OutputFile()), out.BackgroundCwdHint)
	return out
}

// cwdHint keeps a model from believing in a cd of the background.
func cwdHint(m *meaning, env *tool.Env) string {
	if !m.script.ChangesDir {
		return ""
	}
	return "The working directory of later calls is still " + env.Cwd
}

// mapBash writes the result for the model.
func mapBash(out BashOutput) []tool.Block {
	var parts []string
	if out.Stdout != "" {
		if out.PersistedOutputPath != "" {
			parts = append(parts, fmt.Sprintf("The output has %s in %s; all of it is in %s", human(out.PersistedOutputSize), counted(out.Lines, "line"), out.PersistedOutputPath))
		}
		parts = append(parts, out.Stdout)
	}
	if out.ReturnCodeInterpretation != "" {
		parts = append(parts, fmt.Sprintf("(exit code %d: %s)", out.ExitCode, out.ReturnCodeInterpretation))
	}
	if out.Stderr != "" {
		parts = append(parts, out.Stderr)
	}
	var blocks []tool.Block
	if out.Image != nil {
		blocks = append(blocks, tool.ImageBlock(out.Image.MediaType, out.Image.Base64))
	}
	if len(parts) > 0 {
		blocks = append(blocks, tool.TextBlock(strings.Join(parts, "\n")))
	}
	return blocks
}
