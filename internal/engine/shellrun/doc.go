// Package shellrun runs shell commands that cannot hang, leak or flood their host.
//
// A [Runner] belongs to one session. Every command it starts is a process of its own session and group, without a terminal
// and with an empty standard input; its standard output and error go, interleaved, to one private file, and memory use does
// not depend on how much it prints. A command ends by itself, by its time limit, by its context, by its output limit, by
// [Process.Stop] or with [Runner.Close]; whichever it is, everything that it started ends with it, except what the shell
// left behind on a normal exit (a server started with "&"), which lives until Stop or Close.
//
// How the whole of a command is found:
//   - Linux with a writable cgroup v2: each command is born in a cgroup of its own and the kernel kills all of it at once.
//   - Linux without: the process group, the session, all descendants, and every process whose environment carries the
//     command's random marker. A process that leaves its session, outlives its parents AND clears its environment escapes.
//   - other Unix systems: the process group; a child that calls setsid escapes.
//   - elsewhere: the shell process alone.
//
// If the host dies without a word, even by SIGKILL, a small watching shell started by the Runner notices within
// milliseconds that its pipe closed and kills what is left (Unix only).
//
// The package does not decide whether a command may run, does not parse commands, and gives no pseudo-terminals.
package shellrun

import "time"

// Limits and waiting times.
const (
	// MaxOutputBytes is the size of an output file past which a command is killed.
	MaxOutputBytes int64 = 5 << 30
	// TermGrace is how long a command may take to end after SIGTERM before SIGKILL follows.
	TermGrace = 1 * time.Second
	// CloseGrace takes the place of TermGrace when the Runner closes.
	CloseGrace = 300 * time.Millisecond
	// PipeGrace is how long a finished command is held back for output that its children still write.
	PipeGrace = 100 * time.Millisecond
	// ProgressInterval is the least time between two progress reports of one command.
	ProgressInterval = 100 * time.Millisecond
	// ProgressIdle is the time after which a silent command is reported again.
	ProgressIdle = 1 * time.Second
	// ProgressTailBytes is how much of the newest output a progress report is made from.
	ProgressTailBytes = 4 << 10
	// MaxCommandBytes is the longest command accepted.
	MaxCommandBytes = 4 << 20
	// MaxKeptTasks is how many finished background tasks a Runner remembers; older ones are forgotten.
	MaxKeptTasks = 256
	// SnapshotTimeout ends a start-up script that does not return while the shell snapshot is taken.
	SnapshotTimeout = 10 * time.Second
	// SnapshotWait is the longest that a command waits for a snapshot being taken; after it the command runs without.
	SnapshotWait = 300 * time.Millisecond
	// SnapshotMaxAge is the age from which a cached snapshot is renewed in the background, while it is still used.
	SnapshotMaxAge = 24 * time.Hour
	// MaxSnapshotBytes is the largest snapshot accepted: every command pays for reading it.
	MaxSnapshotBytes = 1 << 20
	// CloseTimeout bounds Runner.Close.
	CloseTimeout = 5 * time.Second

	copyBufferBytes = 64 << 10
	killTimeout     = 2 * time.Second // for SIGKILL to be obeyed by everything
)

// Names of environment variables with a meaning here.
const (
	EnvShell       = "SEVENGATE_SHELL"   // shell to use, an absolute path to bash or zsh
	EnvShellCompat = "CLAUDE_CODE_SHELL" // same, looked at second

	// markerVar carries, in every process of a command, the chain of markers of the runners around it.
	markerVar = "SEVENGATE_RUN"
)
