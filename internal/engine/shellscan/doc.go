// Package shellscan tells what a shell command line means, from its syntax tree.
//
// It lists every simple command that the line can run (also those inside
// substitutions, subshells, control flow, `sh -c` strings, wrappers such as
// timeout and xargs, and find -exec), what each of them reads, writes and
// removes as far as that can be told from the text, where it would run, and
// whether it changes anything at all.
//
// It decides nothing about rules or permissions, runs nothing, and changes
// nothing. Apart from [RepoRunsHelpers], which reads Git configuration files, it
// does not look at the disk. Whatever it does not understand it reports as
// unknown: the zero value of each of its answers is the careful one.
package shellscan
