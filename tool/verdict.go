package tool

import "encoding/json"

// Behavior is what a decision comes to.
type Behavior string

// The three behaviours. The empty string is "no opinion": the decision is left
// to whoever is asked next, and in the end to a question.
const (
	Allow Behavior = "allow"
	Deny  Behavior = "deny"
	Ask   Behavior = "ask"
)

// Layer names the part of the gate that made a decision.
type Layer string

// The layers, in the order in which they are consulted.
const (
	LayerSchema    Layer = "schema"
	LayerValidate  Layer = "validate"
	LayerHook      Layer = "hook"
	LayerDenyRule  Layer = "deny-rule"
	LayerAskRule   Layer = "ask-rule"
	LayerTool      Layer = "tool"
	LayerSafety    Layer = "safety"
	LayerMode      Layer = "mode"
	LayerAllowRule Layer = "allow-rule"
	LayerDefault   Layer = "default"
)

// Reason explains a decision: which phase and layer made it, by which rule of
// which file, and in one sentence why.
type Reason struct {
	Phase   string `json:"phase,omitempty"`
	Layer   Layer  `json:"layer,omitempty"`
	Source  string `json:"source,omitempty"` // such as projectSettings
	File    string `json:"file,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message,omitempty"`
}

// Verdict is an answer to "may this call run". The zero Verdict is no opinion.
type Verdict struct {
	Behavior Behavior
	Reason   Reason
	// UpdatedInput, when set, replaces the input of an allowed call.
	UpdatedInput json.RawMessage
	// Suggestions are rules that would answer the question for good, the
	// narrowest first. At most [MaxSuggestions].
	Suggestions []Suggestion
}

// MaxSuggestions bounds the rules offered with one question.
const MaxSuggestions = 5

// Suggestion is a rule offered with a question, and what it would cover, in
// words for a person.
type Suggestion struct {
	Rule   string `json:"rule"`
	Covers string `json:"covers"`
}

// AllowCall is the verdict of a tool that needs nobody's leave; why is for the
// trace.
func AllowCall(why string) Verdict {
	return Verdict{Behavior: Allow, Reason: Reason{Layer: LayerTool, Message: why}}
}

// DenyCall is the verdict of a tool that refuses; why goes to the model.
func DenyCall(why string) Verdict {
	return Verdict{Behavior: Deny, Reason: Reason{Layer: LayerTool, Message: why}}
}

// AskCall is the verdict of a tool that wants a person to decide; why is shown
// to that person.
func AskCall(why string) Verdict {
	return Verdict{Behavior: Ask, Reason: Reason{Layer: LayerTool, Message: why}}
}
