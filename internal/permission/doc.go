// Package permission decides whether a call may run: allow, deny, or ask a
// person.
//
// It knows the rules of all settings sources and of the command line, the
// permission modes, and the safety checks that no mode passes. [Policy.Decide]
// takes what a call says of itself ([tool.Call.Subjects] and its facts), breaks
// command lines into their simple commands, and judges every part by the same
// order:
//
//	deny rules → ask rules → the tool's own check → safety checks → mode →
//	allow rules → defaults → a question
//
// A call is allowed only when each of its parts is. Every decision carries its
// reason and the steps that led to it.
//
// The package runs nothing, asks nobody and changes nothing on disk, except that
// [Policy.Save] adds a rule to the local settings file. It never looks at a
// tool's name to choose a treatment: names matter only where a rule names them.
package permission
