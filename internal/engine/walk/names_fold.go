//go:build windows || darwin

package walk

// foldNames: names that differ in case only are usually the same file here.
const foldNames = true
