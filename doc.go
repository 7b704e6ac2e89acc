// Package sevengate is the execution boundary between a language model and a
// machine: a model's tool_use blocks become checked, scheduled, bounded
// operations, and come back as tool_result blocks.
//
// A [Runtime] serves one conversation. [Runtime.Run] talks to a model until it
// ends its turn. Programs that have a loop of their own use [Runtime.Exec],
// which answers one assistant message with the user message that holds its
// results, or [Runtime.Call] for a single call. [Runtime.Explain] says what
// would happen to a call, and why, without running anything.
//
// Every call passes the same seven phases in the same order: extract,
// validate, pre-hooks, permit, execute, post-hooks, map. What nothing allows
// is asked; where nobody can be asked, it is refused.
//
// Tools of your own are declared with package tool and given in
// [Options.Tools]; they pass the same gates as the built-in ones.
package sevengate
