package hook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// reply is what running a handler gave, before anyone read it.
type reply struct {
	exit   int
	stdout []byte
	stderr []byte
	// err says that there is no answer: it could not start, was killed, could
	// not be reached. Its text is for people and holds no secret.
	err error
	// model is the answer of a prompt or agent handler.
	model *Answer
	// async says that it was started and nobody waits.
	async bool
}

// answer is what one handler came to.
type answer struct {
	run        Run
	out        output // zero where there was no JSON
	behavior   tool.Behavior
	reason     string
	block      bool
	stop       bool
	stopReason string
	context    []string // plain text and model reasons that count as context
	path       string   // WorktreeCreate
}

// refuse blocks what the event is about to do. On an event that cannot be
// blocked it does nothing but keep the reason.
func (a *answer) refuse(f *firing, reason string) {
	a.reason = reason
	switch f.event {
	case PreToolUse, PermissionRequest, PreModelSwitch:
		a.behavior = tool.Deny
	default:
		a.block = f.info.exit2 == exit2Block
		if !a.block {
			return
		}
	}
	a.run.Outcome = OutcomeBlocked
	a.run.Behavior = a.behavior
}

// handle runs one handler and reads its answer.
func (f *firing) handle(ctx context.Context, e *entry) *answer {
	id := f.r.lastID.Add(1)
	f.observe(Observation{ID: id, Name: e.h.label(), Event: f.event, StatusMessage: e.h.StatusMessage})
	limit := f.info.timeoutOf(e.h)
	if f.event == SessionEnd && e.h.Timeout == 0 {
		if d := f.sessionEndVar(); d > 0 {
			limit = d
		}
	}
	start := time.Now()
	hctx, cancel := context.WithTimeout(ctx, limit)
	rep := f.execute(hctx, e, limit, id)
	timedOut := rep.err != nil && errors.Is(hctx.Err(), context.DeadlineExceeded)
	cancel()
	a := &answer{run: f.run(e)}
	switch {
	case rep.async:
		a.run.Outcome = OutcomeAsync
	case rep.err != nil && ctx.Err() != nil && (f.event != SessionEnd || errors.Is(ctx.Err(), context.Canceled)):
		f.cancelled(a)
	case timedOut:
		if ctx.Err() != nil {
			limit = time.Since(start).Round(time.Millisecond)
		}
		f.timedOut(a, e, limit)
	default:
		f.judge(a, e, rep)
	}
	a.run.Duration = time.Since(start)
	a.run.ExitCode = rep.exit
	f.debug(ctx, a, rep)
	if !rep.async {
		f.observe(Observation{ID: id, Name: a.run.Name, Event: f.event, Done: true, Outcome: a.run.Outcome, ExitCode: rep.exit,
			Stdout: clipText(string(rep.stdout)), Stderr: clipText(string(rep.stderr)), Duration: a.run.Duration})
	}
	return a
}

// execute runs the handler; a panic in the host's part is its error.
func (f *firing) execute(ctx context.Context, e *entry, limit time.Duration, id uint64) (rep reply) {
	defer func() {
		if r := recover(); r != nil {
			rep = reply{err: errors.New("it failed because of an internal error")}
		}
	}()
	switch e.h.Type {
	case TypeCommand:
		if e.h.Async || e.h.AsyncRewake {
			return f.startAsync(e, limit, id)
		}
		return f.command(ctx, e)
	case TypeHTTP:
		return f.post(ctx, e)
	case TypeMCPTool:
		return f.callTool(ctx, e)
	case TypePrompt, TypeAgent:
		return f.ask(ctx, e)
	case TypeCallback:
		return f.callback(ctx, e)
	}
	return reply{err: fmt.Errorf("there is no handler type %q", e.h.Type)}
}

func (f *firing) cancelled(a *answer) {
	a.run.Outcome, a.run.Message = OutcomeCancelled, "it was cancelled"
	if f.info.guards {
		a.refuse(f, "the "+f.event+" hook "+a.run.Name+" was cancelled before it answered")
		a.run.Outcome = OutcomeCancelled
	}
}

// closed tells whether a failure of the handler blocks.
func (f *firing) closed(e *entry) bool {
	return f.r.cfg.FailClosed || e.h.OnFailure == OnFailureBlock
}

func (f *firing) timedOut(a *answer, e *entry, limit time.Duration) {
	a.run.Outcome = OutcomeTimeout
	a.run.Message = fmt.Sprintf("it did not answer within %v", limit)
	guard := f.event == PreModelSwitch || e.h.Type == TypeCallback && (f.event == PreToolUse || f.event == UserPromptSubmit)
	if guard || f.closed(e) {
		a.refuse(f, fmt.Sprintf("the %s hook %s did not answer within %v", f.event, a.run.Name, limit))
		a.run.Outcome = OutcomeTimeout
	}
}

// failed is a handler without a usable answer.
func (f *firing) failed(a *answer, e *entry, message string) {
	a.run.Outcome, a.run.Message = OutcomeError, message
	if f.closed(e) || f.event == WorktreeCreate {
		a.refuse(f, fmt.Sprintf("the %s hook %s failed: %s", f.event, a.run.Name, message))
	}
}

// judge reads a reply by the protocol of exit codes and stdout.
func (f *firing) judge(a *answer, e *entry, rep reply) {
	a.run.Outcome = OutcomeSuccess
	if rep.err != nil {
		f.failed(a, e, rep.err.Error())
		return
	}
	if rep.model != nil {
		f.judgeModel(a, e, *rep.model)
		return
	}
	out, err := parseOutput(f.event, rep.stdout, false)
	switch {
	case rep.exit == 2:
		f.judgeExit2(a, rep, out, err)
		return
	case err == nil && (rep.exit == 0 || f.event != WorktreeCreate):
		// A valid object decides, whatever the exit code.
		f.take(a, out)
		return
	case rep.exit != 0:
		line := clip(string(rep.stderr), maxErrorLine)
		if line == "" {
			line = "no stderr output"
		}
		f.failed(a, e, fmt.Sprintf("Failed with non-blocking status code: %d (%s)", rep.exit, line))
		return
	case !errors.Is(err, errNotObject):
		f.failed(a, e, err.Error())
		return
	}
	f.plain(a, e, strings.TrimSpace(string(rep.stdout)))
}

// maxErrorLine is how many characters of stderr a notice shows.
const maxErrorLine = 200

// judgeExit2: nothing that JSON says can undo the objection.
func (f *firing) judgeExit2(a *answer, rep reply, out output, err error) {
	stderr := strings.TrimSpace(string(rep.stderr))
	switch f.info.exit2 {
	case exit2Ignored:
		a.run.Outcome = OutcomeError
		a.run.Message = "exit code 2 has no effect on " + f.event
		return
	case exit2User:
		a.run.Outcome = OutcomeError
		a.run.Message = f.r.shorten(f.event, stderr)
		if a.run.Message == "" {
			a.run.Message = "exit code 2"
		}
		return
	}
	reason := ""
	if err == nil {
		f.take(a, out)
		if a.behavior == tool.Deny || a.block {
			reason = a.reason
		}
		a.behavior, a.block = "", false
		if f.event == Elicitation || f.event == ElicitationResult {
			a.out.specific = nil
		}
	}
	if reason == "" {
		reason = stderr
	}
	if reason == "" {
		reason = fmt.Sprintf("blocked by the %s hook %s (exit code 2, without a message)", f.event, a.run.Name)
	}
	a.refuse(f, reason)
}

// plain is text on stdout with exit code 0.
func (f *firing) plain(a *answer, e *entry, text string) {
	switch {
	case f.event == WorktreeCreate:
		if a.path = lastLine(text); a.path == "" {
			f.failed(a, e, "it printed no path")
		}
	case text == "":
	case e.h.Type == TypeCallback || e.h.Type == TypeHTTP:
		f.failed(a, e, "the answer is no JSON object")
	case f.info.plain:
		a.context = append(a.context, text)
	case hidesJSON([]byte(text)):
		a.run.Message = "stdout has text beside a JSON object: all of it was taken as text"
		if f.closed(e) {
			f.failed(a, e, a.run.Message)
		}
	}
}

// take applies a valid object.
func (f *firing) take(a *answer, out output) {
	a.out = out
	if out.async {
		a.run.Outcome = OutcomeAsync
	}
	if out.stop && !f.info.dropContinue {
		a.stop, a.stopReason = true, out.stopReason
	}
	if f.info.dropSystem {
		a.out.systemMessage = ""
	}
	s := out.specific
	if s != nil && s.AdditionalContext != "" {
		a.context = append(a.context, s.AdditionalContext)
	}
	objection := f.info.decision && out.decision == "block"
	switch f.event {
	case PreToolUse, PreModelSwitch:
		switch {
		case s != nil && s.PermissionDecision != "":
			a.behavior, a.reason = s.PermissionDecision, s.PermissionDecisionReason
		case out.decision == "block":
			a.behavior, a.reason = tool.Deny, out.reason
		case out.decision == "approve" && f.event == PreToolUse:
			a.behavior, a.reason = tool.Allow, out.reason
		}
		if objection && a.behavior != tool.Deny {
			// Both forms at once: the stricter one counts.
			a.behavior, a.reason = tool.Deny, out.reason
		}
	case PermissionRequest:
		if s != nil && s.Decision != nil {
			a.behavior, a.reason = s.Decision.Behavior, s.Decision.Message
		}
	case WorktreeCreate:
		if s != nil {
			a.path = s.WorktreePath
		}
		if a.path == "" {
			a.refuse(f, "the WorktreeCreate hook "+a.run.Name+" named no path")
		}
	default:
		if objection {
			a.block, a.reason = true, out.reason
		}
	}
	a.run.Behavior = a.behavior
	a.run.UpdatedInput = a.updatedInput() != nil
	if a.behavior == tool.Deny || a.block {
		a.run.Outcome = OutcomeBlocked
		if a.reason == "" {
			a.reason = "blocked by the " + f.event + " hook " + a.run.Name
		}
	}
}

// updatedInput is the input that the handler puts in place of the call's.
func (a *answer) updatedInput() []byte {
	s := a.out.specific
	switch {
	case s == nil:
		return nil
	case s.Decision != nil:
		if s.Decision.Behavior != tool.Allow {
			return nil
		}
		return s.Decision.UpdatedInput
	}
	return s.UpdatedInput
}

// judgeModel applies a model's answer.
func (f *firing) judgeModel(a *answer, e *entry, m Answer) {
	if m.OK {
		return
	}
	reason := m.Reason
	if reason == "" {
		reason = "the " + f.event + " hook " + a.run.Name + " objects"
	}
	goOn := e.h.ContinueOnBlock || e.h.Type == TypeAgent
	end := func() { a.stop, a.stopReason = true, reason }
	switch f.event {
	case PermissionRequest, PermissionDenied:
		a.run.Message = "its objection has no effect on " + f.event
		return
	case Stop, SubagentStop:
		if m.Impossible && e.h.Type == TypePrompt {
			a.run.Message = reason
			return
		}
	case PreToolUse, PostToolUse, TeammateIdle:
		if !goOn {
			end()
		}
	case PostToolBatch, UserPromptSubmit, UserPromptExpansion:
		end()
	}
	a.refuse(f, reason)
}

func lastLine(text string) string {
	lines := strings.Split(text, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(stripEscapes(lines[i])); line != "" {
			return line
		}
	}
	return ""
}

// stripEscapes takes out terminal control sequences.
func stripEscapes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '[':
			for i += 2; i < len(s) && (s[i] < 0x40 || s[i] > 0x7e); i++ {
			}
			i++
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == ']':
			for i += 2; i < len(s) && s[i] != '\a' && s[i] != 0x1b; i++ {
			}
			if i < len(s) && s[i] == 0x1b {
				i++
			}
			i++
		case s[i] < ' ' && s[i] != '\t' || s[i] == 0x7f:
			i++
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

func (f *firing) observe(o Observation) {
	if f.r.cfg.Observe != nil {
		f.r.cfg.Observe(o)
	}
}

func (f *firing) debug(ctx context.Context, a *answer, rep reply) {
	f.r.log.DebugContext(ctx, "hook", "event", f.event, "name", a.run.Name, "outcome", a.run.Outcome,
		"exit", rep.exit, "duration", a.run.Duration, "message", a.run.Message,
		"stdout", clipText(string(rep.stdout)), "stderr", clipText(string(rep.stderr)))
}
