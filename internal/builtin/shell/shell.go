// Package shell is the family of tools that run commands: Bash and PowerShell;
// Monitor, which tells what a command prints while it runs; TaskOutput and TaskStop
// for what runs in the background; and Sleep, which waits without a process.
//
// What a command would do is read from its syntax tree, once for each bound
// call; what is not understood is declared as unknown, so that it runs alone.
// Whether a command may run is not decided here, and the processes belong to the
// runner that the caller makes and closes.
package shell

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sevengate/sevengate/internal/confine"
	"github.com/sevengate/sevengate/internal/engine/atomicfile"
	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/tool"
)

// Limits of the family.
const (
	// DefaultTimeout is how long a command in the foreground may take where the
	// call names no timeout.
	DefaultTimeout = 120 * time.Second
	// MaxTimeout is the longest timeout that a call may name; more is cut to it.
	MaxTimeout = 600 * time.Second
	// BackgroundTimeout is how long a command in the background may take in a
	// session that nobody watches, and MaxBackgroundTimeout the most that a call
	// may ask for there. Where a person is present there is no limit.
	BackgroundTimeout    = 30 * time.Minute
	MaxBackgroundTimeout = 2 * time.Hour
	// MaxSleep is the longest sleep with which a command in the foreground may begin.
	MaxSleep = 2 * time.Second
	// MaxInlineChars is the longest output that is shown whole; of a longer one
	// its first PreviewHeadChars and last PreviewTailChars are, and its file is named.
	MaxInlineChars   = 30_000
	PreviewHeadChars = 2_000
	PreviewTailChars = 1_000
	// MaxFailureChars is how much is shown of the output of a failed command, half
	// from its start and half from its end.
	MaxFailureChars = 10_000
	// MaxImageBytes is the largest printed image, in bytes of base64, that is
	// passed on as an image.
	MaxImageBytes = 5 << 20
	// MaxReadFile is the largest file of which showing it with a command counts as
	// having read it.
	MaxReadFile = 10 << 20
)

// Deps is what the family needs from the program around it.
type Deps struct {
	// Runner gives the session's runner. The caller makes it when it is first asked
	// for, and closes it. Without it every call is refused.
	Runner func() (*shellrun.Runner, error)
	// DefaultTimeout and MaxTimeout replace the constants; 0 keeps them. The larger
	// of the two is the limit.
	DefaultTimeout, MaxTimeout time.Duration
	// NoBackground: nothing may run in the background.
	NoBackground bool
	// KeepDir: every command starts in the directory of the session; cd does not
	// last beyond its call.
	KeepDir bool
	// Home is the user's home directory where the place of a call does not name it.
	Home string
	// Sandbox keeps the sandbox that commands run in; nil: there is none.
	Sandbox *confine.Keeper
	// BeforeChange and AfterChange are called around each file that an edit changes
	// which is made here and not by a program; see file.Deps.
	BeforeChange func(path string) error
	AfterChange  func(ctx context.Context, out atomicfile.Outcome) (notes []string)
	// LookPath finds a program by its name, as exec.LookPath does. It decides
	// whether there is a PowerShell; without it there is none.
	LookPath func(name string) (string, error)
}

// New makes the tools: Bash, Monitor, TaskOutput, TaskStop and, behind
// [PowerShellGate] and [SleepGate], PowerShell and Sleep.
func New(d Deps) []tool.Tool {
	if d.DefaultTimeout <= 0 {
		d.DefaultTimeout = DefaultTimeout
	}
	if d.MaxTimeout <= 0 {
		d.MaxTimeout = MaxTimeout
	}
	d.MaxTimeout = max(d.MaxTimeout, d.DefaultTimeout)
	f := &family{deps: d, pwsh: findPowerShell(d.LookPath)}
	return []tool.Tool{f.bashTool(), f.powerShellTool(), f.monitorTool(), f.taskOutputTool(), f.taskStopTool(), sleepTool()}
}

type family struct {
	deps  Deps
	ends  endings
	edits shownEdits
	pwsh  func() string // path of PowerShell; empty: there is none
}

func (f *family) runner() (*shellrun.Runner, error) {
	if f.deps.Runner == nil {
		return nil, errors.New("commands cannot be run: this session has no shell")
	}
	r, err := f.deps.Runner()
	if err != nil {
		return nil, fmt.Errorf("commands cannot be run: %w", err)
	}
	return r, nil
}

// seconds writes a duration for people and models.
func seconds(d time.Duration) string {
	switch {
	case d >= 10*time.Second && d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0fs", d.Seconds())
	}
	return fmt.Sprintf("%gs", float64(d.Round(10*time.Millisecond))/float64(time.Second))
}

// human writes a number of bytes for people and models.
func human(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}

// counted writes a number with its noun.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
