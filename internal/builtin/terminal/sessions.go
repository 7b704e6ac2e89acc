package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/ptyterm"
	"github.com/sevengate/sevengate/tool"
)

// find gives a terminal, or nil. One that is being started is not there yet.
func (f *family) find(id string) *session {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[id]
}

func (f *family) get(id string) (*session, error) {
	if s := f.find(id); s != nil {
		return s, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.order) == 0 {
		return nil, fmt.Errorf("there is no terminal %q: none was started", id)
	}
	return nil, fmt.Errorf("there is no terminal %q; there are %s", id, strings.Join(f.order, ", "))
}

// reserve takes an id for a terminal that is to be started. It forgets the oldest
// of those that have ended, when there are too many.
func (f *family) reserve(id string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	live := 0
	for _, s := range f.open {
		if s == nil || !s.term.Look(0).Ended {
			live++
		}
	}
	if live >= MaxTerminals {
		return "", fmt.Errorf("%d terminals are open, and more are not accepted; close one of %s", live, strings.Join(f.order, ", "))
	}
	if id == "" {
		for taken := true; taken; {
			f.seq++
			id = fmt.Sprintf("t%d", f.seq)
			_, taken = f.open[id]
		}
	}
	if s, taken := f.open[id]; taken {
		if s == nil || !s.term.Look(0).Ended {
			return "", fmt.Errorf("there is a terminal %q already; choose another id, or close it first", id)
		}
		f.forget(id)
	}
	for i := 0; len(f.order) >= MaxKeptTerminals && i < len(f.order); {
		if s := f.open[f.order[i]]; s != nil && s.term.Look(0).Ended {
			f.forget(f.order[i])
			continue
		}
		i++
	}
	f.open[id] = nil
	f.order = append(f.order, id)
	return id, nil
}

// forget is called with mu held.
func (f *family) forget(id string) {
	delete(f.open, id)
	for i, o := range f.order {
		if o == id {
			f.order = append(f.order[:i:i], f.order[i+1:]...)
			return
		}
	}
}

func (f *family) drop(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(id)
}

func (f *family) lineOf(s *session) line {
	f.mu.Lock()
	defer f.mu.Unlock()
	return s.line
}

func (f *family) setLine(s *session, l line) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.line = l
}

func look(s *session, scrollback int) Output {
	p := s.term.Look(scrollback)
	out := Output{ID: s.id, Screen: p.Text, Scrollback: p.Scrollback, Row: p.Row + 1, Col: p.Col + 1, Cols: p.Cols, Rows: p.Rows,
		Title: p.Title, Hidden: !p.CursorShown, State: "running"}
	if res, ended := s.term.Process().Result(); ended {
		out.State = fmt.Sprintf("ended with exit code %d", res.ExitCode)
		if res.Killed != "" {
			out.State = fmt.Sprintf("been ended (%s)", res.Killed)
		}
	}
	return out
}

func mapOutput(out Output) []tool.Block {
	var b strings.Builder
	fmt.Fprintf(&b, "Terminal %s, %d columns and %d rows", out.ID, out.Cols, out.Rows)
	if out.Title != "" {
		fmt.Fprintf(&b, ", title %q", out.Title)
	}
	if out.State == "running" {
		fmt.Fprintf(&b, ", cursor at row %d, column %d", out.Row, out.Col)
		if out.Hidden {
			b.WriteString(" (hidden)")
		}
	} else {
		b.WriteString("; its command has " + out.State)
	}
	if out.Found != nil {
		if *out.Found {
			b.WriteString("; the text is there")
		} else {
			b.WriteString("; the text did not come")
		}
	}
	for _, l := range out.Scrollback {
		b.WriteString("\n" + l)
	}
	if len(out.Scrollback) > 0 {
		b.WriteString("\n--- the screen begins here ---")
	}
	if out.Screen == "" {
		b.WriteString("\n(the screen is empty)")
	} else {
		b.WriteString("\n" + out.Screen)
	}
	return []tool.Block{tool.TextBlock(b.String())}
}

// shown makes text fit to be shown to a person, on one line.
func shown(s string) string {
	s = strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "⏎")
	var b strings.Builder
	for i, r := range []rune(s) {
		if i == maxShown {
			b.WriteString(" …")
			break
		}
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			fmt.Fprintf(&b, "<U+%04X>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

const maxShown = 300

func view() tool.View[Input, Output] {
	return tool.View[Input, Output]{
		Use: func(in Input) string {
			switch in.Action {
			case "start":
				return "start " + shown(commandOf(in))
			case "type":
				s := "type " + shown(in.Text)
				if in.seen != nil && len(in.seen.parts) > 0 {
					s += " (the line is then: " + shown(in.seen.text()+in.Text) + ")"
				}
				return s
			case "key":
				return "press " + shown(strings.Join(in.Keys, " "))
			}
			return shown(in.Action + " " + in.ID)
		},
		Result: func(_ Input, out Output) tool.Rendering {
			return tool.Rendering{Summary: "terminal " + out.ID + ": " + out.State, Detail: out.Screen}
		},
	}
}

// CaptureInput asks for a look at a terminal.
type CaptureInput struct {
	ID         string `json:"id" jsonschema:"the terminal"`
	Scrollback int    `json:"scrollback,omitempty" jsonschema:"how many of the lines that left at the top to give, the newest"`
}

func (f *family) captureTool() tool.Tool {
	return tool.Define(tool.Def[CaptureInput, Output]{
		Name:             "TerminalCapture",
		SearchHint:       "look at the screen of a terminal",
		Prompt:           tool.Text(fmt.Sprintf("Gives what is on the screen of a terminal that Terminal started, and where the cursor is; with scrollback also the lines that left at the top, at most %d.", ptyterm.MaxScrollback)),
		Gate:             Gate,
		Enabled:          exists,
		Defer:            true,
		ReadOnly:         tool.Always[CaptureInput],
		ConcurrencySafe:  tool.Always[CaptureInput],
		Effects:          func(in CaptureInput) tool.Effects { return tool.Reads(resource(in.ID)) },
		Kind:             func(CaptureInput) tool.Kind { return tool.KindRead },
		CheckPermissions: tool.AlwaysAllow[CaptureInput],
		Validate: func(_ context.Context, in CaptureInput, _ *tool.Env) error {
			switch {
			case in.ID == "":
				return errors.New("id is missing; give that of the terminal")
			case in.Scrollback < 0 || in.Scrollback > ptyterm.MaxScrollback:
				return fmt.Errorf("scrollback is %d; it must be a number of lines from 0 to %d", in.Scrollback, ptyterm.MaxScrollback)
			}
			return nil
		},
		Call: func(_ context.Context, in CaptureInput, _ *tool.Env) (tool.Result[Output], error) {
			s, err := f.get(in.ID)
			if err != nil {
				return tool.Result[Output]{}, err
			}
			return tool.OK(look(s, in.Scrollback)), nil
		},
		MapResult: mapOutput,
		View: tool.View[CaptureInput, Output]{
			Use: func(in CaptureInput) string { return shown(in.ID) },
			Result: func(_ CaptureInput, out Output) tool.Rendering {
				return tool.Rendering{Summary: "terminal " + out.ID + ": " + out.State, Detail: out.Screen}
			},
		},
	})
}
