package shell

import (
	"context"
	"fmt"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// SleepGate is the feature that switches the tool Sleep on.
const SleepGate = "sleep"

// MaxSleepTool is the longest that one call of Sleep waits.
const MaxSleepTool = 600 * time.Second

// SleepInput is how long to wait.
type SleepInput struct {
	Seconds float64 `json:"seconds" jsonschema:"how long to wait, in seconds"`
}

func sleepTool() tool.Tool {
	return tool.Define(tool.Def[SleepInput, string]{
		Name:             "Sleep",
		SearchHint:       "wait for some time, pause",
		Prompt:           tool.Text(fmt.Sprintf("Waits, without a process, for up to %d seconds; a message from the user ends it early. For something that can be tested, a loop in Bash that ends as soon as it is there is better.", MaxSleepTool/time.Second)),
		Gate:             SleepGate,
		Defer:            true,
		ReadOnly:         tool.Always[SleepInput],
		ConcurrencySafe:  tool.Always[SleepInput],
		Effects:          func(SleepInput) tool.Effects { return tool.Nothing() },
		Interrupt:        tool.InterruptCancel,
		CheckPermissions: tool.AlwaysAllow[SleepInput],
		Validate: func(_ context.Context, in SleepInput, _ *tool.Env) error {
			if in.Seconds <= 0 || in.Seconds > MaxSleepTool.Seconds() {
				return fmt.Errorf("seconds is %g; it must be more than 0 and at most %g", in.Seconds, MaxSleepTool.Seconds())
			}
			return nil
		},
		Call: func(ctx context.Context, in SleepInput, _ *tool.Env) (tool.Result[string], error) {
			d := time.Duration(in.Seconds * float64(time.Second))
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-timer.C:
				return tool.OK("Waited " + seconds(d)), nil
			case <-ctx.Done():
				return tool.Result[string]{}, context.Cause(ctx)
			}
		},
		View: tool.View[SleepInput, string]{
			Use: func(in SleepInput) string { return fmt.Sprintf("%gs", in.Seconds) },
		},
	})
}
