package shell

import (
	"context"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/confine"
	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
)

// inside tells whether a command would run in the sandbox.
func (f *family) inside(script *shellscan.Script, outside bool) bool {
	ok, _ := f.deps.Sandbox.Inside(context.Background(), script, outside)
	return ok
}

// enter lets a command into the sandbox if it belongs there. A nil stay means that
// it runs outside, where it was judged as such.
func (f *family) enter(ctx context.Context, script *shellscan.Script, outside bool) (*confine.Stay, error) {
	if ok, _ := f.deps.Sandbox.Inside(ctx, script, outside); !ok {
		return nil, nil
	}
	return f.deps.Sandbox.Enter(ctx)
}

// words come before those of a command.
func words(stay *confine.Stay) []string {
	if stay == nil {
		return nil
	}
	return stay.Words
}

// left ends the stay of a command that has ended, and says what the model should
// know of it.
func left(stay *confine.Stay, p *shellrun.Process) string {
	if stay == nil {
		return ""
	}
	res, _ := p.Result()
	return found(stay, p.Command(), stay.Leave(res.LeftBehind))
}

func found(stay *confine.Stay, command string, all confine.Findings) string {
	all = stay.Worth(command, all)
	var notes []string
	if len(all.Refused) > 0 {
		notes = append(notes, "The sandbox refused connections to: "+strings.Join(all.Refused, "; "))
	}
	if len(all.Removed) > 0 {
		notes = append(notes, "No command may make these; they were moved away: "+strings.Join(all.Removed, "; "))
	}
	return joinNotes(notes...)
}

// refusals are how programs say that they were not let, in lower case.
var refusals = []string{
	"read-only file system", "permission denied", "operation not permitted", "network is unreachable", "could not resolve",
	"name resolution", "name or service not known", "connection refused", "eacces", "erofs", "eperm", "enetunreach", "eai_again",
	"403 forbidden",
}

// sandboxHint tells of a failure that may be the sandbox's doing what can be done.
func (f *family) sandboxHint(stay *confine.Stay, output, walls string) string {
	if stay == nil {
		return ""
	}
	output = strings.ToLower(output)
	if walls == "" && !slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(output, r) }) {
		return ""
	}
	next := "If that made it fail, call it again with dangerouslyDisableSandbox set to true: it is then judged by the usual permission rules."
	if f.deps.Sandbox.Strict() {
		next = "Nothing may run outside of it: sandbox.allowUnsandboxedCommands is false."
	}
	return "(The command ran in a sandbox: it can write below the working directories and $TMPDIR, and reach only allowed hosts. " + next + ")"
}

// outsideMark tells a person that a call wants out of the sandbox.
func (f *family) outsideMark(in BashInput) string {
	if in.DangerouslyDisableSandbox && f.deps.Sandbox.Enabled() && !f.deps.Sandbox.Strict() {
		return "(outside the sandbox) "
	}
	return ""
}

// sandboxPrompt is what a model reads about the sandbox.
func (f *family) sandboxPrompt() string {
	if !f.deps.Sandbox.Enabled() {
		return ""
	}
	text := "- Commands run in a sandbox: they can write below the working directories and in $TMPDIR (use it for temporary files, not /tmp), not to settings or git hooks, and reach only allowed hosts. "
	if f.deps.Sandbox.Strict() {
		return text + "Nothing runs outside of it; dangerouslyDisableSandbox has no effect.\n"
	}
	return text + "Set dangerouslyDisableSandbox only for a command that failed because of it, or that the user wants outside: it is then judged like any other command.\n"
}
