//go:build unix

package file

import "syscall"

// openFlags keep an open from waiting, from following a last link, and from
// taking a terminal.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW | syscall.O_NOCTTY
