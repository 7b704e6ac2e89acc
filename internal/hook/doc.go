// Package hook runs the programs that people attach to events of a session,
// and merges what they answer.
//
// A hook is a handler (a command, an HTTP endpoint, an MCP tool, a question to
// a model, or a function of the host program) that is bound to an event by
// settings. The [Runner] picks the handlers whose matcher and condition fit,
// runs them side by side, reads their answers, and gives back one merged
// result with a [Run] for every handler, so that nothing happens unseen.
//
// A handler fails open by protocol: one that cannot start, times out, exits
// with an unexpected code or writes what cannot be read is reported, and the
// action goes on. `"onFailure": "block"` on the handler, or
// [Config.FailClosed] for all, makes these failures block instead. Two things
// always block a tool call: exit code 2, and a matcher or condition that
// cannot be evaluated.
//
// The package does not find or read settings files, does not know permission
// rules (conditions are matched by [Config.MatchIf]), and decides nothing: what
// a hook's "allow" is worth is the gate's business.
package hook
