// Package terminal is the family of tools for programs that need a terminal: Terminal
// starts one, types, presses keys and waits; TerminalCapture looks at it.
//
// What is started or typed is judged like a command of Bash, whatever reads it: a
// line that is typed in parts is judged as the line that it becomes. Keys are not
// commands; but the key Enter behind a line that keys have changed asks, since then
// nobody knows what it runs. The terminals belong to the session's shell runner and
// end with it.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sevengate/sevengate/internal/confine"
	"github.com/sevengate/sevengate/internal/engine/ptyterm"
	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/tool"
)

// Gate is the feature that switches the tools on. They do not exist on Windows.
const Gate = "terminal"

// Limits.
const (
	// MaxTerminals is how many terminals may be open at a time.
	MaxTerminals = 8
	// MaxKeptTerminals is how many are remembered, those that have ended included.
	MaxKeptTerminals = 32
	// MaxText and MaxKeys bound what one call types or presses.
	MaxText = 16 << 10 // bytes
	MaxKeys = 100
	// DefaultWait is how long a call waits where it names no timeout; MaxWait is the
	// most that it may name. Quiet is how long nothing must change for a screen to
	// count as ready.
	DefaultWait = 3 * time.Second
	MaxWait     = 120 * time.Second
	Quiet       = 250 * time.Millisecond
	// UnattendedTime ends a terminal in a session that nobody watches.
	UnattendedTime = 30 * time.Minute
	// CloseWait is how long close waits for all processes to be gone.
	CloseWait = 10 * time.Second
)

const label = "terminal"

// Deps is what the family needs from the program around it.
type Deps struct {
	// Runner gives the session's runner. The caller closes it, which ends all
	// terminals. Without it every call is refused.
	Runner func() (*shellrun.Runner, error)
	// Sandbox keeps the sandbox that commands run in; nil: there is none.
	Sandbox *confine.Keeper
}

// New makes the tools Terminal and TerminalCapture, both behind [Gate].
func New(d Deps) []tool.Tool {
	f := &family{deps: d, open: map[string]*session{}}
	return []tool.Tool{f.terminalTool(), f.captureTool()}
}

type family struct {
	deps  Deps
	mu    sync.Mutex
	open  map[string]*session
	order []string // ids, the oldest first
	seq   int
	seen  judged
}

// session is one terminal.
type session struct {
	id      string
	command string
	term    *ptyterm.Terminal
	line    line
	inside  bool // it runs in the sandbox, and so does what is typed into it
}

// Input is one action.
type Input struct {
	Action  string   `json:"action" jsonschema:"start, type, key, resize, wait or close"`
	ID      string   `json:"id,omitempty" jsonschema:"the terminal; start may choose a name"`
	Command string   `json:"command,omitempty" jsonschema:"for start: the command line; an interactive shell unless given"`
	Text    string   `json:"text,omitempty" jsonschema:"for type: what to type, a newline being Enter; for wait: what to wait for"`
	Keys    []string `json:"keys,omitempty" jsonschema:"for key: names such as enter, up, ctrl-c, in order"`
	Cols    int      `json:"cols,omitempty" jsonschema:"for start and resize: the width"`
	Rows    int      `json:"rows,omitempty" jsonschema:"for start and resize: the height"`
	Timeout float64  `json:"timeout_ms,omitempty" jsonschema:"milliseconds to wait at most for the screen to be ready"`

	// seen is the typed line that the call goes on with, and inside tells whether what
	// the call runs is in the sandbox; in the observed input only.
	seen   *line
	inside func() bool
}

// Output is a look at a terminal.
type Output struct {
	ID         string   `json:"id"`
	Screen     string   `json:"screen"`
	Scrollback []string `json:"scrollback,omitempty"`
	Row        int      `json:"row"` // of the cursor, from 1
	Col        int      `json:"col"`
	Cols       int      `json:"cols"`
	Rows       int      `json:"rows"`
	Title      string   `json:"title,omitempty"`
	// Found tells whether the text that was waited for came.
	Found *bool `json:"found,omitempty"`
	// State is "running", or how the command ended.
	State  string `json:"state"`
	Hidden bool   `json:"hidden,omitempty"` // the cursor
}

var prompt = sync.OnceValue(func() string {
	return fmt.Sprintf(`Runs a program in a terminal and works with it, for what needs one: editors, pagers, debuggers, prompts, full-screen programs. For plain commands Bash is better.

- start: runs command (an interactive shell unless given) and gives the id. type: types text; a newline is Enter. key: presses keys. wait: waits until text is on the screen, or until nothing changes. resize; close ends the program and all that it started.
- Every action answers with the screen, once nothing has changed for %d ms or timeout_ms is over (%d unless given, at most %d). TerminalCapture looks again, with the lines that left at the top.
- Keys: %s, ctrl-a to ctrl-z, alt- with a character. A single character is text.
- What is typed is judged as a command line; type whole lines, newline included. Enter after keys that change a typed line is asked.
- At most %d terminals are open at a time. They end with the session.`,
		Quiet.Milliseconds(), DefaultWait.Milliseconds(), MaxWait.Milliseconds(), strings.Join(ptyterm.KeyNames(), ", "), MaxTerminals)
})

func exists(f tool.Features) bool { return ptyterm.Supported && f.OS != "windows" }

func (f *family) terminalTool() tool.Tool {
	return tool.Define(tool.Def[Input, Output]{
		Name:         "Terminal",
		SearchHint:   "terminal, tty, interactive program, editor, debugger",
		Prompt:       func(tool.PromptContext) string { return prompt() },
		PrimaryField: "command",
		Gate:         Gate,
		Enabled:      exists,
		Defer:        true,
		ReadOnly:     func(in Input) bool { return in.Action == "wait" },
		Destructive:  func(in Input) bool { return in.Action != "wait" && in.Action != "resize" },
		OpenWorld:    func(in Input) bool { return in.Action == "start" || in.Action == "type" || in.Action == "key" },
		Effects: func(in Input) tool.Effects {
			if in.Action == "wait" {
				return tool.Reads(resource(in.ID))
			}
			return tool.Effects{}
		},
		Interrupt:        tool.InterruptCancel,
		Subjects:         subjects,
		Backfill:         f.backfill,
		ClassifierInput:  classifierInput,
		Validate:         func(_ context.Context, in Input, _ *tool.Env) error { return f.validate(in) },
		CheckPermissions: f.checkPermissions,
		Sandboxed:        func(in Input) bool { return in.inside != nil && in.inside() },
		Call:             f.call,
		MapResult:        mapOutput,
		View:             view(),
	})
}

func resource(id string) string { return tool.Resource("terminal/" + id) }

// commandOf is what start runs.
func commandOf(in Input) string {
	if strings.TrimSpace(in.Command) == "" {
		return "bash"
	}
	return in.Command
}

// subjects are what a call runs. Text is judged with what earlier calls typed of its
// line, and without: all of it must be allowed.
func subjects(in Input) []tool.Subject {
	switch in.Action {
	case "start":
		return []tool.Subject{tool.CommandOf("Bash", commandOf(in))}
	case "type":
		now := line{}
		if in.seen != nil {
			now = *in.seen
		}
		var out []tool.Subject
		for _, reading := range now.readings(in.Text) {
			out = append(out, tool.CommandOf("Bash", reading))
		}
		return out
	}
	return nil
}

func classifierInput(in Input) string {
	if s := subjects(in); len(s) > 0 {
		return s[0].Value
	}
	return in.Action + " " + strings.Join(in.Keys, " ")
}

// startsInside tells whether a new terminal would be in the sandbox.
func (f *family) startsInside(ctx context.Context, in Input, at tool.Place) bool {
	script := shellscan.Scan(commandOf(in), shellscan.Options{Cwd: at.Cwd, Home: at.Home})
	ok, _ := f.deps.Sandbox.Inside(ctx, script, false)
	return ok
}

// backfill adds the line that was typed so far.
func (f *family) backfill(in Input, at tool.Place) Input {
	in.inside = sync.OnceValue(func() bool {
		if in.Action == "start" {
			return f.startsInside(context.Background(), in, at)
		}
		s := f.find(in.ID)
		return s != nil && s.inside
	})
	in.seen = &line{}
	if s := f.find(in.ID); s != nil && (in.Action == "type" || in.Action == "key") {
		now := f.lineOf(s)
		in.seen = &now
	}
	return in
}

var idPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`) })

func (f *family) validate(in Input) error {
	if in.Timeout < 0 {
		return fmt.Errorf("timeout_ms is %g; it must be a number of milliseconds from 1 to %d", in.Timeout, MaxWait.Milliseconds())
	}
	if in.Action != "start" && in.ID == "" {
		return errors.New("id is missing; give that of the terminal")
	}
	switch in.Action {
	case "start":
		switch {
		case in.ID != "" && !idPattern().MatchString(in.ID):
			return fmt.Errorf("id %q: it must be 1 to 40 letters, digits, - and _", in.ID)
		case strings.IndexByte(in.Command, 0) >= 0:
			return errors.New("command holds a NUL character, which no command line can hold")
		case len(in.Command) > MaxText:
			return fmt.Errorf("command has %d bytes; at most %d are accepted", len(in.Command), MaxText)
		case in.Text != "" || len(in.Keys) > 0:
			return errors.New("start takes a command; text and keys come with calls of their own")
		}
	case "type":
		switch {
		case in.Text == "":
			return errors.New("text is missing; give what is to be typed")
		case len(in.Text) > MaxText:
			return fmt.Errorf("text has %d bytes; at most %d are accepted", len(in.Text), MaxText)
		case len(in.Keys) > 0:
			return errors.New("type takes text; keys come with a call of their own")
		}
		for _, r := range in.Text {
			if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0) {
				return fmt.Errorf("text holds the control character %U; only the newline is typed, for others use key", r)
			}
		}
	case "key":
		if len(in.Keys) == 0 || len(in.Keys) > MaxKeys {
			return fmt.Errorf("keys has %d names; it must have 1 to %d", len(in.Keys), MaxKeys)
		}
		for _, name := range in.Keys {
			if _, err := ptyterm.Key(name, false); err != nil {
				return err
			}
		}
	case "resize":
		if in.Cols <= 0 || in.Rows <= 0 {
			return errors.New("resize needs cols and rows")
		}
	case "wait", "close":
	default:
		return fmt.Errorf("action %q: it must be start, type, key, resize, wait or close", in.Action)
	}
	if in.Action == "start" || in.Action == "resize" {
		if in.Cols < 0 || in.Cols > ptyterm.MaxCols || in.Rows < 0 || in.Rows > ptyterm.MaxRows {
			return fmt.Errorf("a size of %d×%d: at most %d columns and %d rows are accepted", in.Cols, in.Rows, ptyterm.MaxCols, ptyterm.MaxRows)
		}
	}
	return nil
}

// checkPermissions leaves commands and text to the rules, and allows the rest, but
// for Enter behind a line that nobody has seen.
func (f *family) checkPermissions(_ context.Context, in Input, env *tool.Env) tool.Verdict {
	if in.seen != nil && env != nil && env.ToolUseID != "" {
		f.seen.put(env.ToolUseID, in.seen.turn)
	}
	switch in.Action {
	case "start", "type":
		if in.Action == "type" && in.seen != nil && in.seen.unknown && strings.Contains(in.Text, "\n") {
			return tool.AskCall("keys have changed the line in this terminal, so what Enter runs is not known")
		}
		return tool.Verdict{}
	case "key":
		now := line{}
		if in.seen != nil {
			now = *in.seen
		}
		for _, k := range in.Keys {
			if ptyterm.NormalKey(k) == "enter" && now.unknown {
				return tool.AskCall("keys have changed the line in this terminal, so what Enter runs is not known")
			}
			now.press(k)
		}
	}
	return tool.AllowCall("it runs nothing that was not judged when it was typed")
}

func (f *family) call(ctx context.Context, in Input, env *tool.Env) (tool.Result[Output], error) {
	var none tool.Result[Output]
	if in.Action == "start" {
		return f.start(ctx, in, env)
	}
	s, err := f.get(in.ID)
	if err != nil {
		return none, err
	}
	turn, was := f.seen.take(env.ToolUseID)
	switch in.Action {
	case "type", "key":
		after := f.lineOf(s)
		if was && turn != after.turn {
			return none, errors.New("what is typed in this terminal has changed since the call was judged; look at the screen and call again")
		}
		if in.Action == "type" {
			after.add(in.Text)
			f.setLine(s, after)
			err = s.term.Type(in.Text)
		} else {
			for _, k := range in.Keys {
				after.press(k)
			}
			f.setLine(s, after)
			err = s.term.Press(in.Keys)
		}
	case "resize":
		err = s.term.Resize(in.Cols, in.Rows)
	case "close":
		closing, cancel := context.WithTimeout(ctx, CloseWait)
		defer cancel()
		err = s.term.Close(closing)
	}
	if err != nil {
		// A terminal closes a moment before it is known how its command ended.
		settling, cancel := context.WithTimeout(ctx, DefaultWait)
		defer cancel()
		s.term.Wait(settling, "\x00", 0) // no screen holds that
		if out := look(s, 0); out.State != "running" {
			return none, fmt.Errorf("terminal %s has %s", s.id, out.State)
		}
		return none, err
	}
	var found *bool
	if in.Action == "wait" && in.Text != "" {
		ok := ready(ctx, s, in.Text, in.Timeout)
		found = &ok
	} else if in.Action != "close" {
		ready(ctx, s, "", in.Timeout)
	}
	out := look(s, 0)
	out.Found = found
	return tool.OK(out), ctx.Err()
}

func (f *family) start(ctx context.Context, in Input, env *tool.Env) (tool.Result[Output], error) {
	var none tool.Result[Output]
	if f.deps.Runner == nil {
		return none, errors.New("terminals cannot be started: this session has no shell")
	}
	r, err := f.deps.Runner()
	if err != nil {
		return none, fmt.Errorf("terminals cannot be started: %w", err)
	}
	if info, err := os.Stat(env.Cwd); err != nil || !info.IsDir() {
		return none, fmt.Errorf("the terminal was not started: the working directory %s does not exist any more", env.Cwd)
	}
	id, err := f.reserve(in.ID)
	if err != nil {
		return none, err
	}
	o := ptyterm.Options{Command: commandOf(in), Dir: env.Cwd, Cols: in.Cols, Rows: in.Rows, Label: label, Env: []string{"HISTFILE=", "PAGER=less", "GIT_PAGER=less"}}
	if strings.TrimSpace(in.Command) == "" {
		// Without the user's start-up files: they may ask, and aliases would give what
		// is typed another meaning.
		o.Command = "PS1='$ ' exec bash --noprofile --norc -i"
	}
	if env.NonInteractive {
		o.Timeout = UnattendedTime
	}
	var stay *confine.Stay
	if f.startsInside(ctx, in, env.Place) {
		if stay, err = f.deps.Sandbox.Enter(ctx); err != nil {
			f.drop(id)
			return none, err
		}
		o.Wrap = stay.Words
		o.OnEnd = func(p *shellrun.Process) {
			res, _ := p.Result()
			stay.Leave(res.LeftBehind)
		}
	}
	t, err := ptyterm.Start(ctx, r, o)
	if err != nil {
		stay.Leave(false)
		f.drop(id)
		return none, err
	}
	s := &session{id: id, command: commandOf(in), term: t, inside: stay != nil}
	f.mu.Lock()
	f.open[id] = s
	f.mu.Unlock()
	ready(ctx, s, "", in.Timeout)
	return tool.OK(look(s, 0)), nil
}

// ready waits until the screen is worth a look.
func ready(ctx context.Context, s *session, text string, asked float64) bool {
	wait := DefaultWait
	if asked > 0 {
		wait = max(time.Duration(min(asked, float64(MaxWait.Milliseconds()))*float64(time.Millisecond)), time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if text == "" {
		// What was typed has not had time to change anything yet.
		timer := time.NewTimer(min(Quiet, wait) / 4)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return s.term.Wait(ctx, text, Quiet)
}
