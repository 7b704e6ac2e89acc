package shell

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/tool"
)

// PowerShellGate is the feature that switches the tool PowerShell on. It exists
// only where a PowerShell is found.
const PowerShellGate = "powershell"

// psStart has it run what comes on standard input, without the user's profile and
// without questions. The text travels in a file: it has no limit of length and
// needs no quoting there.
//
// What follows the text, on a line of its own, makes the exit code that of its last
// statement.
const psStart = `[Console]::OutputEncoding=[Text.UTF8Encoding]::new($false);$ProgressPreference='SilentlyContinue';` +
	`& ([ScriptBlock]::Create([Console]::In.ReadToEnd()+[char]10+'if ($?) { exit 0 } elseif ($LASTEXITCODE) { exit $LASTEXITCODE } else { exit 1 }'))`

// findPowerShell looks for the program once.
func findPowerShell(look func(string) (string, error)) func() string {
	return sync.OnceValue(func() string {
		if look == nil {
			return ""
		}
		names := []string{"pwsh"}
		if runtime.GOOS == "windows" {
			names = append(names, "powershell")
		}
		for _, name := range names {
			// A relative path would let a project supply the shell.
			if p, err := look(name); err == nil && filepath.IsAbs(p) {
				return p
			}
		}
		return ""
	})
}

func psProgram(path string) []string {
	argv := []string{path, "-NoLogo", "-NoProfile", "-NonInteractive"}
	if runtime.GOOS == "windows" {
		argv = append(argv, "-ExecutionPolicy", "Bypass")
	}
	return append(argv, "-Command", psStart)
}

func (f *family) powerShellTool() tool.Tool {
	view := tool.View[BashInput, BashOutput]{}
	bash := f.bashView()
	view.Use, view.Progress, view.Result, view.Error, view.Grouped = bash.Use, bash.Progress, bash.Result, bash.Error, bash.Grouped
	view.Preview = func(in BashInput, _ tool.Place) tool.Rendering {
		return tool.Rendering{Summary: visible(in.Description), Detail: visible(in.Command)}
	}
	return tool.Define(tool.Def[BashInput, BashOutput]{
		Name:         "PowerShell",
		SearchHint:   "run a PowerShell command",
		Prompt:       f.psPrompt,
		FieldAliases: map[string]string{"cmd": "command", "timeout_ms": "timeout", "background": "run_in_background"},
		PrimaryField: "command",
		Gate:         PowerShellGate,
		Enabled:      func(tool.Features) bool { return f.pwsh() != "" },
		// What a line does is not understood here: nothing about it is declared safe.
		Destructive:     tool.Always[BashInput],
		OpenWorld:       tool.Always[BashInput],
		Sandboxed:       func(in BashInput) bool { return f.inside(&shellscan.Script{}, in.DangerouslyDisableSandbox) },
		Interrupt:       tool.InterruptCancel,
		AbortsSiblings:  true,
		Subjects:        func(in BashInput) []tool.Subject { return []tool.Subject{tool.CommandOf("PowerShell", in.Command)} },
		ClassifierInput: func(in BashInput) string { return in.Command },
		Validate: func(_ context.Context, in BashInput, _ *tool.Env) error {
			return f.validateInput(in)
		},
		Call:      f.powerShell,
		MapResult: mapBash,
		View:      view,
	})
}

func (f *family) psPrompt(tool.PromptContext) string {
	var b strings.Builder
	fmt.Fprintf(&b, `Runs PowerShell code and returns what it prints: output and errors, interleaved.

- Every call is a new PowerShell without a profile, in the working directory of the session; Set-Location does not last beyond its call, nor do variables.
- The code gets no input and cannot ask: give every cmdlet the parameters by which it does not.
- timeout is in milliseconds: %d unless given, at most %d. A command that takes longer is stopped.
`, f.deps.DefaultTimeout.Milliseconds(), f.deps.MaxTimeout.Milliseconds())
	if !f.deps.NoBackground {
		b.WriteString("- run_in_background returns at once. You are told when the command has ended; until then TaskOutput with the id gives its output, and TaskStop ends it.\n")
	}
	b.WriteString(f.sandboxPrompt())
	fmt.Fprintf(&b, "- Output of more than %d characters is kept in a file, which the result names.\n", MaxInlineChars)
	return b.String()
}

// powerShell runs one command line.
func (f *family) powerShell(ctx context.Context, in BashInput, env *tool.Env) (tool.Result[BashOutput], error) {
	var none tool.Result[BashOutput]
	r, err := f.runner()
	if err != nil {
		return none, err
	}
	path := f.pwsh()
	if path == "" {
		return none, errors.New("the command was not run: no PowerShell is found on PATH")
	}
	if res, ok, err := f.lostDir(env); ok || err != nil {
		return res, err
	}
	stay, err := f.enter(ctx, &shellscan.Script{}, in.DangerouslyDisableSandbox)
	if err != nil {
		return none, err
	}
	end := f.ends.expect(env)
	limit := f.timeout(in)
	spec := shellrun.Spec{
		Command: in.Command, Dir: env.Cwd, Program: psProgram(path), Label: taskPowerShell, Timeout: limit, Wrap: words(stay),
		Env:       []string{"POWERSHELL_TELEMETRY_OPTOUT=1", "POWERSHELL_UPDATECHECK=Off", "NO_COLOR=1"},
		OnTaskEnd: func(p *shellrun.Process) { end.end(p, left(stay, p)) },
		Progress: func(p shellrun.Progress) {
			env.Report(tool.Progress{Text: lastLines(p.Tail, progressLines), Bytes: p.Bytes, Lines: p.Lines, Seconds: p.Elapsed.Seconds()})
		},
	}
	m := &meaning{script: &shellscan.Script{}}
	if in.RunInBackground {
		spec.Background, spec.Timeout = true, f.backgroundLimit(in.Timeout, env)
		p, err := r.Start(ctx, spec)
		if err != nil {
			stay.Leave(false)
			return none, err
		}
		f.ends.add(p.ID(), end)
		return tool.OK(begun(p, m, env)), nil
	}
	p, err := r.Start(ctx, spec)
	if err != nil {
		stay.Leave(false)
		return none, err
	}
	res, err := p.Wait(context.WithoutCancel(ctx)) // it ends soon after ctx, and its output is part of the answer
	if err != nil {
		return none, err
	}
	walls := left(stay, p)
	meaning := interpretPowerShell(in.Command, res.ExitCode)
	if res.Killed != "" || !meaning.OK {
		return none, f.failed(res, meaning, limit, settled{}, stay, walls)
	}
	out, err := f.succeeded(res, meaning, m)
	out.Stderr = joinNotes(out.Stderr, walls)
	return tool.OK(out), err
}

// interpretPowerShell tells what the exit code of a line says, as far as its last
// command is certain.
func interpretPowerShell(command string, code int) shellrun.Meaning {
	words := lastPSWords(command)
	if len(words) == 0 {
		return shellrun.Interpret(nil, code)
	}
	name := strings.TrimSuffix(strings.ToLower(words[0][strings.LastIndexAny(words[0], `/\`)+1:]), ".exe")
	switch {
	case name == "robocopy" && code > 0 && code < 8:
		return shellrun.Meaning{OK: true, Text: "robocopy: below 8 nothing failed"}
	case name == "findstr" && code == 1:
		return shellrun.Meaning{OK: true, Text: "no matches found"}
	case slices.Contains([]string{"grep", "egrep", "fgrep", "rg", "git"}, name):
		return shellrun.Interpret(append([]string{name}, words[1:]...), code)
	}
	return shellrun.Interpret(nil, code)
}

// lastPSWords are the words of the last command of a line; none where quotes do not
// close or blocks would make them uncertain.
func lastPSWords(command string) []string {
	var words []string
	var word strings.Builder
	begun := false
	end := func() {
		if begun {
			words, begun = append(words, word.String()), false
			word.Reset()
		}
	}
	var quote rune
	fresh := false // what follows a separator begins a new command
	for _, r := range strings.TrimRight(command, " \t\r\n;") {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case strings.ContainsRune("`{}()@#$", r):
			return nil
		case r == '\'' || r == '"':
			if fresh {
				words, fresh = nil, false
			}
			quote, begun = r, true
		case r == ' ' || r == '\t' || r == '\r':
			end()
		case r == '\n' || r == ';' || r == '|' || r == '&':
			end()
			fresh = true
		default:
			if fresh {
				words, fresh = nil, false
			}
			begun = true
			word.WriteRune(r)
		}
	}
	if quote != 0 {
		return nil
	}
	end()
	return words
}

// begun is the result of a command that was started in the background.
func begun(p *shellrun.Process, m *meaning, env *tool.Env) BashOutput {
	out := BashOutput{BackgroundTaskID: p.ID(), RawOutputPath: p.OutputFile(), BackgroundCwdHint: cwdHint(m, env)}
	out.Stderr = joinNotes(fmt.Sprintf("The command runs in the background as task %s. You will be told when it has ended. Its output goes to %s", p.ID(), p.OutputFile()), out.BackgroundCwdHint)
	return out
}
