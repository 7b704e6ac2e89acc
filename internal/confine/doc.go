// Package confine keeps the sandbox around a session's commands: it makes its
// policy from the settings ("sandbox") and from the permission rules, tells
// before a command runs whether it will be inside, and looks after each command
// at what became of the paths that no command may make.
//
// What the sandbox consists of is engine/sandbox's business, and whether a
// command may run is package permission's. A command that is not inside is
// judged like any other. Nothing here weakens: what cannot be read, covered or
// enforced leaves the command outside, where it is asked about, and is told.
package confine
