package tool

import (
	"context"
	"encoding/json"
)

// Limits of a tool's result, in characters (Unicode code points).
const (
	// DefaultMaxResultChars holds for every tool that declares nothing, and is
	// the most that a declared bound can come to, except for [Unlimited] and
	// the explicit exceptions up to [MaxResultCharsCeiling].
	DefaultMaxResultChars = 50_000
	// MaxResultCharsCeiling is the largest bound that a tool can declare.
	MaxResultCharsCeiling = 100_000
	// Unlimited is for tools that bound their results themselves, such as Read:
	// a file written for a result too large would be read by Read again.
	Unlimited = -1
)

// Def declares a tool. Only Name and Call are required. Every function is
// given the decoded input; none may keep or change it. Functions other than
// Call, Validate and CheckPermissions must be pure and quick: they may be
// called often, from several goroutines, and their answers are cached for the
// bound call.
type Def[In, Out any] struct {
	// Name is what the model calls: 1 to 64 of [a-zA-Z0-9_-].
	Name string
	// Aliases are other names that are accepted, such as former ones.
	Aliases []string
	// Title names the tool to a person. Empty means Name; "-" hides the call.
	Title string
	// SearchHint is a few words by which a search finds the tool.
	SearchHint string
	// Prompt is the description that the model reads. [Text] makes one that is
	// always the same.
	Prompt func(PromptContext) string

	// InputSchema replaces the JSON Schema made from In.
	InputSchema json.RawMessage
	// OutputSchema describes Out where hooks may replace the output.
	OutputSchema json.RawMessage
	// Strict asks the model's side to constrain sampling to the schema.
	Strict bool
	// FieldAliases maps near-miss names of input fields to the right ones,
	// such as "path" to "file_path". They are used only when the right field
	// is absent.
	FieldAliases map[string]string
	// PrimaryField is the input field that permission specifiers speak of,
	// such as "command"; parameter rules on it are refused.
	PrimaryField string

	// Gate names a feature that must be switched on for the tool to exist.
	Gate string
	// Enabled tells whether the tool exists on this platform and session; nil
	// means yes.
	Enabled func(Features) bool
	// Defer keeps the tool out of the first request: the model learns its name
	// only and finds the rest by search.
	Defer bool
	// AlwaysLoad wins over Defer.
	AlwaysLoad bool
	// Origin is set for tools that come from an MCP server.
	Origin *Origin
	// LSP marks a tool that answers from a language server.
	LSP bool

	// MaxResultChars bounds the result that the model sees; 0 means
	// [DefaultMaxResultChars], -1 [Unlimited].
	MaxResultChars int

	// ReadOnly: the call changes nothing. Nil means no.
	ReadOnly func(In) bool
	// Destructive: what the call does cannot be undone. Nil means no.
	Destructive func(In) bool
	// OpenWorld: the call reaches beyond this machine. Nil means no.
	OpenWorld func(In) bool
	// ConcurrencySafe: the call may run beside any other such call. Nil means
	// no.
	ConcurrencySafe func(In) bool
	// Effects: what the call may read and write. Nil means unknown.
	Effects func(In) Effects
	// Kind says whether a call searches, reads or lists, for display. Nil means
	// none of these.
	Kind func(In) Kind
	// RequiresUserInteraction: the call is a question to a person, and nothing
	// can approve it in a person's place. Nil means no.
	RequiresUserInteraction func(In) bool
	// Sandboxed: the call will run inside a sandbox. Nil means no.
	Sandboxed func(In) bool
	// Interrupt says what happens to a running call when the person writes.
	// The zero value lets it finish.
	Interrupt Interrupt
	// AbortsSiblings: when the call fails, the calls running beside it that
	// declare the same are stopped.
	AbortsSiblings bool

	// Path is the one file that the call is about, for display and file
	// history. Nil means none.
	Path func(In) string
	// Subjects are what permission rules are compared with. Nil means that only
	// the tool's name counts.
	Subjects func(In) []Subject
	// MatchRule compares a rule's specifier with the input, for tools whose
	// rules fit no kind of subject. Nil means that no specifier matches.
	MatchRule func(in In, specifier string) bool
	// Backfill gives the input that hooks and permissions see: derived fields
	// filled in, paths made absolute. Call does not see it. Nil means the input
	// as it is.
	Backfill func(in In, at Place) In
	// ClassifierInput is what a permission classifier may see of the call.
	// Empty, or nil, means that it is not shown at all.
	ClassifierInput func(In) string
	// Equivalent tells whether two inputs ask for the same. Nil means that
	// their JSON is equal.
	Equivalent func(a, b In) bool

	// Validate checks what a schema cannot. Its error goes to the model.
	Validate func(ctx context.Context, in In, env *Env) error
	// CheckPermissions is the tool's own opinion; nil, like the zero Verdict,
	// leaves the decision to the rules.
	CheckPermissions func(ctx context.Context, in In, env *Env) Verdict
	// Call does the work. Its error goes to the model as the result; it must
	// return soon after ctx is done.
	Call func(ctx context.Context, in In, env *Env) (Result[Out], error)
	// MapResult turns the output into the content that the model sees. Nil
	// means: a string as text, blocks as they are, anything else as JSON.
	MapResult func(Out) []Block

	// View is how a person sees the call.
	View View[In, Out]
}

// Result is what Call returns.
type Result[Out any] struct {
	// Data is the output.
	Data Out
	// Messages are added to the conversation after the result.
	Messages []Message
	// Modify changes the context of the calls that follow. It is refused, with
	// an error, unless the call ran alone. It is the one part of a Result that
	// counts beside an error too: a command that fails may have moved.
	Modify func(*Context)
	// Meta and Structured carry what an MCP server returned beside the content.
	Meta       json.RawMessage
	Structured json.RawMessage
	// IsError marks a result that is the report of a failure.
	IsError bool
}

// OK wraps data in a Result.
func OK[Out any](data Out) Result[Out] { return Result[Out]{Data: data} }

// Context is what a call may change for the calls after it.
type Context struct {
	Cwd   string
	Roots []string
	Mode  string // permission mode
}

// Kind classifies a call for display.
type Kind int

// The kinds of calls.
const (
	KindOther Kind = iota
	KindSearch
	KindRead
	KindList
)

// Interrupt says what becomes of a running call when the person writes.
type Interrupt int

// The interrupt behaviours.
const (
	InterruptBlock  Interrupt = iota // let it finish
	InterruptCancel                  // stop it
)

// Origin names the MCP server and the tool as that server calls it.
type Origin struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// PromptContext is what a prompt may depend on.
type PromptContext struct {
	Tools []string // the names in the pool
	Model string
	OS    string
}

// Has tells whether a tool is in the pool.
func (c PromptContext) Has(name string) bool {
	for _, t := range c.Tools {
		if t == name {
			return true
		}
	}
	return false
}

// Features is what decides whether a tool exists.
type Features struct {
	OS          string
	Interactive bool
	Flags       map[string]bool
}

// On tells whether a feature is switched on.
func (f Features) On(name string) bool { return f.Flags[name] }

// Text is a Prompt that never changes.
func Text(s string) func(PromptContext) string {
	return func(PromptContext) string { return s }
}

// Always declares a fact that holds for every input.
func Always[In any](In) bool { return true }

// AlwaysAllow is a CheckPermissions for tools that touch nothing but the
// session's own state.
func AlwaysAllow[In any](context.Context, In, *Env) Verdict {
	return AllowCall("the tool touches only the session's own state")
}
