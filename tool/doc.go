// Package tool is the contract between Sevengate and everything a model can
// call.
//
// A tool is declared once, as data and functions, in the style of
// [net/http.Server]: a [Def] whose zero fields mean the careful answer. What a
// tool does not declare is taken as "no": not read-only, not safe to run
// beside other calls, effects unknown, at most [DefaultMaxResultChars]
// characters of result. [Define] turns a Def into a [Tool]; [FromSchema] does
// the same for a tool whose input is described by somebody else's JSON Schema.
//
// [Tool.Bind] decodes one input and gives a [Call]: every fact that depends on
// the input (is it read-only, which files does it touch, which permission
// rules speak of it) is a method of the bound call, so nothing decodes twice
// and nothing downstream looks at raw JSON. A panic in a declaration is
// answered with the careful value.
//
// The package also holds the messages and content blocks that models, the
// gate and transcripts exchange ([Message], [Block]), in the shape of the
// Messages API.
//
// It decides nothing and runs nothing by itself: validation, permission,
// scheduling and result budgets belong to the runtime that calls it, and no
// package of this module is imported here.
package tool
