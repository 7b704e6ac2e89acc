package hook

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// startAsync starts a command and does not wait for it. Its answer goes to
// Config.Async. It outlives the event, but not the Runner.
func (f *firing) startAsync(e *entry, limit time.Duration, id uint64) reply {
	r := f.r
	r.asyncMu.Lock()
	defer r.asyncMu.Unlock()
	if r.closed {
		return reply{err: errors.New("the session is over")}
	}
	r.async.Go(func() {
		start := time.Now()
		ctx, cancel := context.WithTimeout(r.asyncCtx, limit)
		defer cancel()
		rep := f.command(ctx, e)
		res := f.asyncResult(ctx, e, rep, limit)
		res.Run.Duration = time.Since(start)
		res.Run.ExitCode = rep.exit
		f.observe(Observation{ID: id, Name: res.Run.Name, Event: f.event, Done: true, Outcome: res.Run.Outcome, ExitCode: rep.exit,
			Stdout: clipText(string(rep.stdout)), Stderr: clipText(string(rep.stderr)), Duration: res.Run.Duration})
		f.debug(ctx, &answer{run: res.Run}, rep)
		if r.cfg.Async != nil {
			r.cfg.Async(res)
		}
	})
	return reply{async: true}
}

func (f *firing) asyncResult(ctx context.Context, e *entry, rep reply, limit time.Duration) AsyncResult {
	res := AsyncResult{Run: f.run(e)}
	run := &res.Run
	run.Outcome = OutcomeSuccess
	switch {
	case rep.err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		run.Outcome, run.Message = OutcomeTimeout, "it did not end within "+limit.String()
		return res
	case rep.err != nil && ctx.Err() != nil:
		run.Outcome, run.Message = OutcomeCancelled, "it was ended with the session"
		return res
	case rep.err != nil:
		run.Outcome, run.Message = OutcomeError, rep.err.Error()
		return res
	}
	if rep.exit == 2 && e.h.AsyncRewake {
		text := strings.TrimSpace(string(rep.stderr))
		if text == "" {
			text = strings.TrimSpace(string(rep.stdout))
		}
		if text == "" {
			text = "the " + f.event + " hook " + run.Name + " ended with exit code 2"
		}
		run.Outcome = OutcomeBlocked
		res.Wake, res.Context = true, f.r.shorten(f.event, text)
		return res
	}
	out, err := parseOutput(f.event, rep.stdout, true)
	switch {
	case err == nil:
		res.SystemMessage = f.r.shorten(f.event, out.systemMessage)
		if out.specific != nil {
			res.Context = f.r.shorten(f.event, out.specific.AdditionalContext)
		}
	case rep.exit != 0:
		run.Outcome, run.Message = OutcomeError, "exit code "+strconv.Itoa(rep.exit)+": "+clip(string(rep.stderr), maxErrorLine)
	case !errors.Is(err, errNotObject):
		run.Outcome, run.Message = OutcomeError, err.Error()
	}
	return res
}
