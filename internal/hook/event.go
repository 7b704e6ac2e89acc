package hook

import (
	"sync"
	"time"
)

// The events that hooks can be attached to.
const (
	SessionStart         = "SessionStart"
	Setup                = "Setup"
	InstructionsLoaded   = "InstructionsLoaded"
	UserPromptSubmit     = "UserPromptSubmit"
	UserPromptExpansion  = "UserPromptExpansion"
	MessageDisplay       = "MessageDisplay"
	PreToolUse           = "PreToolUse"
	PermissionRequest    = "PermissionRequest"
	PermissionDenied     = "PermissionDenied"
	PostToolUse          = "PostToolUse"
	PostToolUseFailure   = "PostToolUseFailure"
	PostToolBatch        = "PostToolBatch"
	Notification         = "Notification"
	SubagentStart        = "SubagentStart"
	SubagentStop         = "SubagentStop"
	TaskCreated          = "TaskCreated"
	TaskCompleted        = "TaskCompleted"
	Stop                 = "Stop"
	StopFailure          = "StopFailure"
	TeammateIdle         = "TeammateIdle"
	ConfigChange         = "ConfigChange"
	CwdChanged           = "CwdChanged"
	DirectoryAdded       = "DirectoryAdded"
	FileChanged          = "FileChanged"
	WorktreeCreate       = "WorktreeCreate"
	WorktreeRemove       = "WorktreeRemove"
	PreCompact           = "PreCompact"
	PostCompact          = "PostCompact"
	PreModelSwitch       = "PreModelSwitch"
	PostModelSwitch      = "PostModelSwitch"
	PreSkillShellCommand = "PreSkillShellCommand"
	SessionEnd           = "SessionEnd"
	Elicitation          = "Elicitation"
	ElicitationResult    = "ElicitationResult"
)

// Time limits of handlers that name none themselves.
const (
	DefaultTimeout       = 600 * time.Second // command, http, mcp_tool, callback
	DefaultPromptTimeout = 30 * time.Second
	DefaultAgentTimeout  = 60 * time.Second

	userPromptTimeout  = 30 * time.Second
	modelSwitchTimeout = 30 * time.Second
	displayTimeout     = 10 * time.Second

	// MaxTimeout bounds what a handler may name.
	MaxTimeout = 24 * time.Hour

	// SessionEndBudget is what all SessionEnd handlers have together, unless a
	// settings file names a longer timeout, up to MaxSessionEndBudget.
	SessionEndBudget    = 1500 * time.Millisecond
	MaxSessionEndBudget = 60 * time.Second
)

// exit2 is what exit code 2 does on an event.
type exit2 int

const (
	exit2Ignored exit2 = iota
	exit2User          // the person sees what the handler wrote on stderr
	exit2Block
)

// handlerSet is which types of handlers an event takes.
type handlerSet int

const (
	plainHandlers   handlerSet = iota // command, http, mcp_tool
	allHandlers                       // and prompt, agent
	startupHandlers                   // command, mcp_tool
)

// eventInfo is what is fixed about an event. The zero value is an event
// without a matcher that can only be watched.
type eventInfo struct {
	matcher      bool // a matcher is compared with something
	narrow       bool // only letters, digits, _ and | make an exact matcher
	call         bool // conditions are evaluated: the event is about a call
	guards       bool // what cannot be matched blocks
	handlers     handlerSet
	exit2        exit2
	decision     bool // a top-level "decision": "block" counts
	plain        bool // plain text on stdout is context
	dropContinue bool
	dropSystem   bool
	timeout      time.Duration // default of command, http, mcp_tool; 0 means DefaultTimeout
}

var eventTable = sync.OnceValue(func() map[string]eventInfo {
	const drop = true
	return map[string]eventInfo{
		SessionStart:         {matcher: true, handlers: startupHandlers, exit2: exit2User, plain: true},
		Setup:                {matcher: true, handlers: startupHandlers, exit2: exit2User},
		InstructionsLoaded:   {matcher: true, dropContinue: drop, dropSystem: drop},
		UserPromptSubmit:     {handlers: allHandlers, exit2: exit2Block, decision: true, plain: true, timeout: userPromptTimeout},
		UserPromptExpansion:  {matcher: true, handlers: allHandlers, exit2: exit2Block, decision: true, plain: true},
		MessageDisplay:       {dropContinue: drop, dropSystem: drop, timeout: displayTimeout},
		PreToolUse:           {matcher: true, call: true, guards: true, handlers: allHandlers, exit2: exit2Block, decision: true},
		PermissionRequest:    {matcher: true, call: true, guards: true, handlers: allHandlers},
		PermissionDenied:     {matcher: true, call: true, handlers: allHandlers},
		PostToolUse:          {matcher: true, call: true, handlers: allHandlers, exit2: exit2Block, decision: true},
		PostToolUseFailure:   {matcher: true, call: true, handlers: allHandlers, exit2: exit2Block, decision: true},
		PostToolBatch:        {handlers: allHandlers, exit2: exit2Block, decision: true},
		Notification:         {matcher: true, dropContinue: drop, dropSystem: drop},
		SubagentStart:        {matcher: true, exit2: exit2User},
		SubagentStop:         {matcher: true, handlers: allHandlers, exit2: exit2Block, decision: true},
		TaskCreated:          {handlers: allHandlers, exit2: exit2Block, decision: true},
		TaskCompleted:        {handlers: allHandlers, exit2: exit2Block},
		Stop:                 {handlers: allHandlers, exit2: exit2Block, decision: true},
		StopFailure:          {matcher: true, narrow: true, dropContinue: drop, dropSystem: drop},
		TeammateIdle:         {handlers: allHandlers, exit2: exit2Block},
		ConfigChange:         {matcher: true, exit2: exit2Block, decision: true, dropContinue: drop, dropSystem: drop},
		CwdChanged:           {exit2: exit2User, dropContinue: drop},
		DirectoryAdded:       {matcher: true},
		FileChanged:          {matcher: true, narrow: true, exit2: exit2User, dropContinue: drop},
		WorktreeCreate:       {exit2: exit2Block, dropContinue: drop, dropSystem: drop},
		WorktreeRemove:       {dropContinue: drop, dropSystem: drop},
		PreCompact:           {matcher: true, exit2: exit2Block, decision: true, dropContinue: drop, dropSystem: drop},
		PostCompact:          {matcher: true, exit2: exit2User, dropContinue: drop, dropSystem: drop},
		PreModelSwitch:       {matcher: true, exit2: exit2Block, decision: true, timeout: modelSwitchTimeout},
		PostModelSwitch:      {matcher: true, plain: true, timeout: modelSwitchTimeout},
		PreSkillShellCommand: {exit2: exit2Block, decision: true},
		SessionEnd:           {matcher: true, exit2: exit2User, dropContinue: drop, dropSystem: drop},
		Elicitation:          {matcher: true, exit2: exit2Block, decision: true, dropContinue: drop, dropSystem: drop},
		ElicitationResult:    {matcher: true, exit2: exit2Block, decision: true, dropContinue: drop, dropSystem: drop},
	}
})

// Known tells whether an event exists.
func Known(event string) bool {
	_, ok := eventTable()[event]
	return ok
}

// takes tells whether an event takes handlers of a type.
func (e eventInfo) takes(event, handlerType string) bool {
	switch handlerType {
	case TypeCommand, TypeMCPTool, TypeCallback:
		return true
	case TypeHTTP:
		return e.handlers != startupHandlers
	case TypePrompt:
		return e.handlers == allHandlers
	case TypeAgent:
		// A model with tools must not be the one that grants itself leave.
		return e.handlers == allHandlers && event != PermissionRequest
	}
	return false
}

// timeoutOf is the time that a handler has.
func (e eventInfo) timeoutOf(h *Handler) time.Duration {
	switch {
	case h.Timeout > 0:
		return min(h.Timeout, MaxTimeout)
	case h.Type == TypePrompt:
		return DefaultPromptTimeout
	case h.Type == TypeAgent:
		return DefaultAgentTimeout
	case e.timeout > 0:
		return e.timeout
	}
	return DefaultTimeout
}
