package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/tool"
)

// stopWait is how long a stopped call waits for its command to be gone, beyond
// the grace that the runner gives it.
const stopWait = 3 * time.Second

// failure is the error of a command that ran and failed. Its text is for the model.
type failure struct {
	text    string
	summary string // one line for a person
}

func (e *failure) Error() string { return e.text }

// bash runs one command.
func (f *family) bash(ctx context.Context, in BashInput, env *tool.Env) (tool.Result[BashOutput], error) {
	var none tool.Result[BashOutput]
	r, err := f.runner()
	if err != nil {
		return none, err
	}
	if res, ok, err := f.lostDir(env); ok || err != nil {
		return res, err
	}
	if edit, ok := f.edits.take(in.Command, env.Cwd); ok {
		out, err := f.applyShown(ctx, edit)
		return tool.OK(out), err
	}
	m := f.understand(in.Command, in.RunInBackground, in.DangerouslyDisableSandbox, env.Place)
	stay, err := f.enter(ctx, m.script, in.DangerouslyDisableSandbox)
	if err != nil {
		return none, err
	}
	if in.RunInBackground {
		return f.start(ctx, r, in, m, stay, env)
	}
	before := watchReads(m, env)
	limit := f.timeout(in)
	movable := f.mayMoveToBackground(m)
	end := f.ends.expect(env)
	spec := shellrun.Spec{Command: in.Command, Dir: env.Cwd, Label: taskBash, Wrap: words(stay), OnTaskEnd: func(p *shellrun.Process) { end.end(p, left(stay, p)) }, Progress: func(p shellrun.Progress) {
		env.Report(tool.Progress{Text: lastLines(p.Tail, progressLines), Bytes: p.Bytes, Lines: p.Lines, Seconds: p.Elapsed.Seconds()})
	}}
	if !movable {
		spec.Timeout = limit
	}
	p, err := r.Start(ctx, spec)
	if err != nil {
		stay.Leave(false)
		return none, err
	}
	var over <-chan time.Time
	if movable {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		// The runner kills the command; its output so far is part of the answer.
		select {
		case <-p.Done():
		case <-time.After(shellrun.TermGrace + stopWait):
			return none, &failure{text: "The command was told to stop, but does not end. Its output is in " + p.OutputFile(), summary: "does not end"}
		}
	case <-over:
		if err := p.MoveToBackground(f.backgroundLimit(0, env)); err == nil {
			f.ends.add(p.ID(), end)
			return tool.OK(moved(p, limit, m, env)), nil
		} else if !errors.Is(err, shellrun.ErrEnded) {
			return none, fmt.Errorf("moving the command to the background: %w", err)
		}
		<-p.Done() // it ended at the same moment
	}
	res, _ := p.Result()
	walls := left(stay, p)
	if res.NotRun {
		return none, &failure{
			text:    "The command was not run: a start-up script of the shell ended the shell first. What it printed:\n" + failureView(res),
			summary: "not run",
		}
	}
	meaning := shellrun.Interpret(lastWords(m.script, res.ExitCode), res.ExitCode)
	if res.Killed != "" || !meaning.OK {
		dir := f.settleDir(res, m, env)
		return tool.Result[BashOutput]{Modify: dir.modify}, f.failed(res, meaning, limit, dir, stay, walls)
	}
	out, err := f.succeeded(res, meaning, m)
	if err != nil {
		return none, err
	}
	dir := f.settleDir(res, m, env)
	out.Stderr = joinNotes(out.Stderr, walls, dir.note)
	recordReads(before, out, env)
	return tool.Result[BashOutput]{Data: out, Modify: dir.modify}, nil
}

// timeout is how long a command may take in the foreground.
func (f *family) timeout(in BashInput) time.Duration {
	if in.Timeout <= 0 {
		return f.deps.DefaultTimeout
	}
	return milliseconds(in.Timeout, f.deps.MaxTimeout)
}

// milliseconds is a time that a call names, at least a millisecond and at most a limit.
func milliseconds(ms float64, limit time.Duration) time.Duration {
	return max(time.Duration(min(ms, float64(limit.Milliseconds()))*float64(time.Millisecond)), time.Millisecond)
}

// backgroundLimit is how long a command may take in the background; 0 is forever.
func (f *family) backgroundLimit(asked float64, env *tool.Env) time.Duration {
	switch {
	case !env.NonInteractive:
		return 0
	case asked <= 0:
		return BackgroundTimeout
	}
	return milliseconds(asked, MaxBackgroundTimeout)
}

// mayMoveToBackground tells whether a command that takes too long may go on: not
// one that only sleeps, not git, which would keep its locks, and not what is not
// understood.
func (f *family) mayMoveToBackground(m *meaning) bool {
	if f.deps.NoBackground || m.script.Class != shellscan.Simple {
		return false
	}
	for i := range m.script.Commands {
		c := &m.script.Commands[i]
		if c.Git != nil || len(c.Run) > 0 && (isProgram(c.Run[0], "git") || i == 0 && isProgram(c.Run[0], "sleep")) {
			return false
		}
	}
	return true
}

// lostDir answers a call whose working directory is gone: nothing is run, since
// its paths were meant for another place.
func (f *family) lostDir(env *tool.Env) (tool.Result[BashOutput], bool, error) {
	info, err := os.Stat(env.Cwd)
	if err == nil && info.IsDir() {
		return tool.Result[BashOutput]{}, false, nil
	}
	what := fmt.Sprintf("The command was not run: the working directory %s does not exist any more.", env.Cwd)
	if env.Cwd == "" {
		return tool.Result[BashOutput]{}, true, errors.New("the command was not run: no working directory is known")
	}
	for _, root := range env.Roots {
		if info, err := os.Stat(root); err == nil && info.IsDir() && env.Depth == 0 {
			return tool.Result[BashOutput]{
				Data:   BashOutput{Stderr: what + " " + resetNote(root) + "; call again if the command is still right there.", ExitCode: -1},
				Modify: func(c *tool.Context) { c.Cwd = root },
			}, true, nil
		}
	}
	return tool.Result[BashOutput]{}, true, errors.New(what)
}

func resetNote(dir string) string { return "Shell cwd was reset to " + dir }

// settled is what becomes of the directory in which a shell ended.
type settled struct {
	modify func(*tool.Context)
	note   string
}

// settleDir decides whether the directory in which the shell ended becomes that of
// the calls that follow, and says so where it does not.
func (f *family) settleDir(res shellrun.Result, m *meaning, env *tool.Env) settled {
	if !res.DirKnown {
		if m.script.ChangesDir {
			return settled{note: resetNote(env.Cwd)}
		}
		return settled{}
	}
	start, err := filepath.EvalSymlinks(env.Cwd)
	if err != nil {
		start = env.Cwd
	}
	if res.Dir == start {
		return settled{}
	}
	dir, inside := within(res.Dir, env)
	info, err := os.Stat(res.Dir)
	if err != nil || !info.IsDir() {
		inside = false
	}
	// What a call changes that may have run beside others is not taken over.
	if !inside || !m.mayMove || env.Depth > 0 || f.deps.KeepDir {
		return settled{note: resetNote(env.Cwd)}
	}
	return settled{modify: func(c *tool.Context) { c.Cwd = dir }}
}

// within finds a physical directory under a root of the session, and names it the
// way the root is named.
func within(dir string, env *tool.Env) (string, bool) {
	roots := env.Roots
	if len(roots) == 0 {
		roots = []string{env.Cwd}
	}
	if pathrule.InsideAny(roots, dir) {
		return dir, true
	}
	for _, root := range roots {
		real, err := filepath.EvalSymlinks(root)
		if err != nil || !pathrule.Inside(real, dir) {
			continue
		}
		if rel, err := filepath.Rel(real, dir); err == nil {
			return filepath.Join(root, rel), true
		}
	}
	return "", false
}

// lastWords are the words of the command whose exit code the script's is, as far
// as that is certain.
func lastWords(script *shellscan.Script, code int) []string {
	if script.Class != shellscan.Simple {
		return nil
	}
	for i := len(script.Commands) - 1; i >= 0; i-- {
		c := &script.Commands[i]
		if c.Nesting&(shellscan.InSubstitution|shellscan.InString|shellscan.InFunction) != 0 {
			continue
		}
		if c.Nesting&(shellscan.InBackground|shellscan.InLoop) != 0 {
			return nil
		}
		// Behind && or ||, what only prints is not what failed.
		if c.Nesting&shellscan.InCondition != 0 && code != 0 && listed(" echo printf true : ", program(c)) {
			continue
		}
		var words []string
		for _, w := range c.Run {
			words = append(words, w.Text)
		}
		return words
	}
	return nil
}

func joinNotes(notes ...string) string {
	var out []string
	for _, n := range notes {
		if n != "" {
			out = append(out, n)
		}
	}
	return strings.Join(out, "\n")
}
