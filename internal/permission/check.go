package permission

import (
	"context"
	"fmt"

	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// TestResult is what became of one expectation of permissions.tests.
type TestResult struct {
	settings.Test
	Got    Decision
	Passed bool
	Error  string // why the call could not be judged
}

// CheckTests judges the calls that the settings hold as expectations about their
// own rules. bind turns a call, as it stands in the file, into a bound call and
// the mode that it names. Nothing is run.
func (p *Policy) CheckTests(ctx context.Context, bind func(settings.Test) (*tool.Call, Mode, error)) []TestResult {
	snap := p.rulesNow().snapshot
	if snap == nil {
		return nil
	}
	tests := snap.Settings.Permissions.Tests
	out := make([]TestResult, 0, len(tests))
	for _, t := range tests {
		r := TestResult{Test: t}
		call, mode, err := bind(t)
		switch {
		case err != nil:
			r.Error = err.Error()
		case call == nil:
			r.Error = "there is no call to judge"
		default:
			r.Got = p.Decide(ctx, Request{Call: call, Mode: mode, BypassAvailable: true})
			r.Passed = string(r.Got.Behavior) == t.Expect
			if !r.Passed {
				r.Error = fmt.Sprintf("expected %s, got %s: %s", t.Expect, r.Got.Behavior, r.Got.Reason.Message)
			}
		}
		out = append(out, r)
	}
	return out
}
