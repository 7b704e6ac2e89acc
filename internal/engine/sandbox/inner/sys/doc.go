// Package sys has the names of the kernel's interface that package inner needs
// and package syscall lacks. golang.org/x/sys/unix has them all, but whoever
// imports it is initialised late, behind packages that have nothing to do with a
// sandbox and take several times as long as all that inner does. The tests compare
// the two.
package sys
