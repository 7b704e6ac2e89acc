package ptyterm

import (
	"time"

	"github.com/sevengate/sevengate/internal/engine/shellrun"
)

// Options describe a terminal and its command.
type Options struct {
	// Command is shell text.
	Command string
	// Dir is the absolute directory to run in.
	Dir string
	// Env are further variables, as "NAME=value".
	Env []string
	// Cols and Rows are the size; 0 is the default.
	Cols, Rows int
	// Timeout ends the command; 0: no limit.
	Timeout time.Duration
	// Label is that of the runner's process.
	Label string
	// Wrap is put before the command: a sandbox; see shellrun.Spec.
	Wrap []string
	// OnEnd is called once when the command has ended; it must return soon.
	OnEnd func(*shellrun.Process)
}

// Picture is what a terminal shows at one moment.
type Picture struct {
	Text        string   // the rows
	Scrollback  []string // lines that left at the top, the oldest first
	Cols, Rows  int
	Row, Col    int // of the cursor, from 0
	CursorShown bool
	Title       string
	Alternate   bool // a program has the whole screen for itself
	Ended       bool // the command has ended, and this is the last picture
}
