//go:build unix

package ptyterm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creack/pty"
	"github.com/sevengate/sevengate/internal/engine/shellrun"
)

// Supported tells whether terminals can be started on this system.
const Supported = true

const (
	drainTime   = 200 * time.Millisecond // for what a terminal still holds when its command has ended
	writeTime   = 2 * time.Second        // for a program to take what is typed
	readBuffer  = 32 << 10
	settlePause = 20 * time.Millisecond
)

// Terminal is a screen with a running command. Its methods are safe for concurrent
// use.
type Terminal struct {
	proc *shellrun.Process
	pty  *os.File

	begin sync.Once
	until atomic.Int64  // when reading must end, as Unix nanoseconds; 0 while the command runs
	done  chan struct{} // the reader has ended
	over  chan struct{} // and so has the command
	write sync.Mutex

	mu      sync.Mutex
	screen  *Screen
	changed chan struct{} // closed at the next change
	at      time.Time     // of the last change
}

// Start starts a command in a terminal. The runner owns it: it ends with the
// runner at the latest.
func Start(ctx context.Context, r *shellrun.Runner, o Options) (*Terminal, error) {
	ours, theirs, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("opening a terminal: %w", err)
	}
	t := &Terminal{pty: ours, screen: NewScreen(o.Cols, o.Rows), done: make(chan struct{}), over: make(chan struct{}), changed: make(chan struct{}), at: time.Now()}
	cols, rows := t.screen.Size()
	if err := pty.Setsize(ours, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)}); err != nil {
		return nil, errors.Join(fmt.Errorf("setting the size of a terminal: %w", err), ours.Close(), theirs.Close())
	}
	p, err := r.Start(ctx, shellrun.Spec{
		Command: o.Command, Dir: o.Dir, Timeout: o.Timeout, Label: o.Label, Background: true, KillLeftovers: true, TTY: theirs, Wrap: o.Wrap,
		Env: append([]string{"TERM=xterm-256color", "COLORTERM="}, o.Env...),
		OnTaskEnd: func(p *shellrun.Process) {
			t.finish(p)
			if o.OnEnd != nil {
				o.OnEnd(p)
			}
		},
	})
	theirs.Close()
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	t.start(p)
	return t, nil
}

// start starts the reader, once, whether Start or the end of the command is first.
func (t *Terminal) start(p *shellrun.Process) {
	t.begin.Do(func() {
		t.proc = p
		go t.run() // finish waits for it
	})
}

// finish waits until all is on the screen that the command wrote, and keeps it in
// the output file of the task.
func (t *Terminal) finish(p *shellrun.Process) {
	defer close(t.over)
	t.start(p)
	until := time.Now().Add(drainTime)
	t.until.Store(until.UnixNano())
	if t.pty.SetReadDeadline(until) != nil {
		t.pty.Close()
	}
	<-t.done
	t.mu.Lock()
	all := append(t.screen.Scrollback(MaxScrollback), t.screen.Text())
	t.mu.Unlock()
	if f, err := os.OpenFile(p.OutputFile(), os.O_WRONLY|os.O_APPEND, 0); err == nil {
		_, _ = f.WriteString(strings.Join(all, "\n") + "\n") // without it only the last look at the task is poorer
		f.Close()
	}
}

func (t *Terminal) run() {
	defer close(t.done)
	defer t.pty.Close()
	buf := make([]byte, readBuffer)
	for {
		n, err := t.pty.Read(buf)
		t.mu.Lock()
		_, _ = t.screen.Write(buf[:max(n, 0)])
		reply := t.screen.Replies()
		t.at = time.Now()
		close(t.changed)
		t.changed = make(chan struct{})
		t.mu.Unlock()
		if len(reply) > 0 {
			_ = t.send(reply) // a program that does not listen does not get its answer
		}
		until := t.until.Load()
		if err != nil || until != 0 && time.Now().UnixNano() >= until {
			return
		}
	}
}

// send writes to the terminal as a keyboard does.
func (t *Terminal) send(b []byte) error {
	t.write.Lock()
	defer t.write.Unlock()
	if t.pty.SetWriteDeadline(time.Now().Add(writeTime)) != nil {
		return errors.New("the terminal is closed")
	}
	if _, err := t.pty.Write(b); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return errors.New("the program does not take what is typed")
		}
		return fmt.Errorf("typing: %w", err)
	}
	return nil
}

// Type types text; a newline is the Enter key.
func (t *Terminal) Type(text string) error {
	return t.send([]byte(strings.ReplaceAll(text, "\n", "\r")))
}

// Press presses keys, by the names that [Key] knows. If one is not known, none is
// pressed.
func (t *Terminal) Press(names []string) error {
	t.mu.Lock()
	app, _ := t.screen.Modes()
	t.mu.Unlock()
	var all strings.Builder
	for _, name := range names {
		code, err := Key(name, app)
		if err != nil {
			return err
		}
		all.WriteString(code)
	}
	return t.send([]byte(all.String()))
}

// Resize changes the size and tells the program.
func (t *Terminal) Resize(cols, rows int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.screen.Resize(cols, rows)
	cols, rows = t.screen.Size()
	if err := pty.Setsize(t.pty, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)}); err != nil {
		return fmt.Errorf("setting the size of a terminal: %w", err)
	}
	return nil
}

// Look returns what is on the screen, with at most a number of the lines that left
// at the top.
func (t *Terminal) Look(scrollback int) Picture {
	t.mu.Lock()
	s := t.screen
	p := Picture{Text: s.Text(), Scrollback: s.Scrollback(scrollback), Title: s.Title(), Alternate: s.Alternate()}
	p.Cols, p.Rows = s.Size()
	p.Row, p.Col, p.CursorShown = s.Cursor()
	t.mu.Unlock()
	select {
	case <-t.over:
		p.Ended = true
	default:
	}
	return p
}

// Wait waits until a text is on the screen, or, for an empty one, until nothing has
// changed for the time quiet. It returns false when ctx ends first or the command has ended
// without it.
func (t *Terminal) Wait(ctx context.Context, text string, quiet time.Duration) bool {
	for {
		t.mu.Lock()
		changed, idle := t.changed, time.Since(t.at)
		found := text != "" && strings.Contains(t.screen.Text(), text)
		t.mu.Unlock()
		if found || text == "" && idle >= quiet {
			return true
		}
		pause := time.Hour
		if text == "" {
			pause = quiet - idle
		}
		timer := time.NewTimer(pause)
		select {
		case <-changed:
			if text != "" {
				settle(ctx)
			}
		case <-timer.C:
		case <-t.over:
			timer.Stop()
			return text == "" || strings.Contains(t.Look(0).Text, text)
		case <-ctx.Done():
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}

// settle keeps a flood of changes from being looked at one by one.
func settle(ctx context.Context) {
	timer := time.NewTimer(settlePause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Process returns the command.
func (t *Terminal) Process() *shellrun.Process { return t.proc }

// Close ends the command and all that it started, and waits for it until ctx ends.
func (t *Terminal) Close(ctx context.Context) error { return t.proc.Stop(ctx) }
