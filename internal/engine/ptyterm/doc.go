// Package ptyterm runs programs that need a terminal and tells what is on it.
//
// A [Screen] is the model of a terminal as xterm describes it: it takes what a
// program writes and keeps the characters, the place of the cursor and the lines
// that left at the top. Colours and other attributes are not kept. A [Terminal] joins
// one to a pseudo-terminal with a command, which a shell runner starts and owns:
// whatever the command starts ends with it.
//
// The package does not decide what may be run or typed, and draws nothing.
package ptyterm

// Limits.
const (
	// MinCols to MaxRows bound the size of a screen; other sizes are cut to them.
	MinCols, MaxCols = 2, 500
	MinRows, MaxRows = 2, 300
	// DefaultCols and DefaultRows are the size where none is named.
	DefaultCols, DefaultRows = 80, 24
	// MaxScrollback and MaxScrollbackBytes bound the lines that are kept after they
	// left at the top; the oldest go first.
	MaxScrollback      = 2_000
	MaxScrollbackBytes = 1 << 20

	maxParams    = 32
	maxParam     = 65_535
	maxString    = 4 << 10 // of an OSC or DCS string, in bytes; the rest is dropped
	maxCombining = 4       // marks kept on one character
	maxReplies   = 1 << 10 // bytes of answers that nobody took
	maxTitle     = 200
	scrollSlack  = 256 // lines beyond MaxScrollback before the oldest are dropped
)
