//go:build !windows && !darwin

package walk

// foldNames: names that differ in case only are different files here.
const foldNames = false
