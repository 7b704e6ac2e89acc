// Package prefault, imported for its effect, makes the program start sooner: it
// asks the kernel for the first pages of the heap at once, before the packages
// that fill them are initialised. Page by page, that takes a trap into the kernel
// for each, of which there are some 900 until main begins; in virtual machines
// where a trap is dear these are a sixth of the start.
//
// It is for programs, not for libraries, and changes nothing but time. Elsewhere
// than on Linux it does nothing.
package prefault
