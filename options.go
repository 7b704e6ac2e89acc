package sevengate

import (
	"log/slog"
	"strings"

	"github.com/sevengate/sevengate/internal/agent"
	"github.com/sevengate/sevengate/internal/gate"
	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/internal/session"
	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// Version of this module.
const Version = "0.1.0"

// Names of environment variables. The articles' and other programs' names are
// read too, after these.
const (
	EnvHome           = "SEVENGATE_HOME"                 // the state folder; default ~/.sevengate
	EnvModel          = "SEVENGATE_MODEL"                // as in --model
	EnvMaxConcurrency = "SEVENGATE_MAX_TOOL_CONCURRENCY" // calls at once; default 10
	EnvSchedule       = "SEVENGATE_SCHEDULE"             // "effects" (default) or "batches"
	EnvFeatures       = "SEVENGATE_FEATURES"             // feature gates to switch on, separated by commas
	EnvKeepSecrets    = "SEVENGATE_PASS_SECRETS"         // "1": the model's API keys reach the commands that tools run
)

// Options says how a [Runtime] works. The zero value serves the current
// directory with the user's own settings and nobody to ask.
type Options struct {
	// Dir is the project's directory; empty means the current one.
	Dir string
	// Home is the user's home directory; empty means the system's answer.
	Home string
	// Environ is the environment, as from [os.Environ]; nil means the process's.
	Environ []string

	// Model is "anthropic:NAME", "openai:NAME" or "script:FILE". Empty means
	// $SEVENGATE_MODEL, the settings, then what the environment has a key for.
	Model string
	// System replaces the system prompt; AppendSystem is added to it.
	System, AppendSystem string
	// MaxTurns bounds the requests of one Run; 0 means no limit. MaxTokens
	// bounds one response; 0 means the provider's default.
	MaxTurns, MaxTokens int

	// Mode is the permission mode to start in; empty means that of the
	// settings, else "default".
	Mode string
	// AllowBypass makes the mode bypassPermissions available.
	AllowBypass bool
	// Allowed and Disallowed are permission rules, as in settings files.
	Allowed, Disallowed []string
	// AddDirs are further directories to work in.
	AddDirs []string
	// Settings is a settings file or inline JSON.
	Settings string
	// SettingSources narrows which settings files are read: "user", "project",
	// "local", separated by commas. Nil reads all.
	SettingSources *string
	// ManagedDirs replaces the system's folders of managed settings, for
	// programs that bring their own policy, and for tests.
	ManagedDirs []string

	// MCPConfig are further files of MCP servers, or inline JSON; StrictMCP reads
	// nothing else. NoMCP uses no servers at all.
	MCPConfig []string
	StrictMCP bool
	NoMCP     bool

	// Tools are tools of the program's own, beside the built-in ones.
	Tools []tool.Tool
	// Only, when not nil, keeps the named built-in tools.
	Only []string
	// Features switches feature gates on (or, with false, off).
	Features map[string]bool
	// Schedule is "effects" or "batches"; MaxConcurrent is how many calls run
	// at once. Empty and 0 mean the environment's answer, else the default.
	Schedule      string
	MaxConcurrent int

	// Prompter answers questions; nil refuses them.
	Prompter Prompter
	// Observe is told what happens in a Run, in order; ObserveCalls what
	// happens to calls, from several goroutines. Both must be quick.
	Observe      func(Event)
	ObserveCalls func(CallEvent)

	// Ephemeral keeps no transcript.
	Ephemeral bool
	// Resume is the id of a session to go on with; Continue takes the latest
	// of the project. SessionID names a new session.
	Resume    string
	Continue  bool
	SessionID string

	// SkipRuleTests starts although an expectation in permissions.tests of the
	// settings fails; otherwise that is an error.
	SkipRuleTests bool

	// Verbose and Debug ask for more talk. Log may be nil.
	Verbose, Debug bool
	Log            *slog.Logger
}

// The types that a runtime hands out and takes in.
type (
	// Event is news of a run.
	Event = agent.Event
	// CallEvent is news of a call on its way.
	CallEvent = gate.Event
	// Outcome is what a run came to.
	Outcome = agent.Outcome
	// Result is what became of one call, with its trace.
	Result = gate.Result
	// Explanation says what would happen to a call, and why.
	Explanation = gate.Explanation
	// Prompter puts questions to a person.
	Prompter = gate.Prompter
	// Question is what a person is asked.
	Question = gate.Question
	// Answer is what was said.
	Answer = gate.Answer
	// Grant is a rule added with an answer.
	Grant = gate.Grant
	// SessionInfo is a session in a list.
	SessionInfo = session.Info
	// Rules judges calls: the session's permission policy.
	Rules = permission.Policy
	// Settings is what all settings files said at one moment.
	Settings = settings.Snapshot
)

// environment looks variables up in a list like that of [os.Environ]; the last
// of a name counts.
type environment []string

func (e environment) get(names ...string) string {
	for _, name := range names {
		for i := len(e) - 1; i >= 0; i-- {
			if v, ok := strings.CutPrefix(e[i], name+"="); ok {
				if v != "" {
					return v
				}
				break
			}
		}
	}
	return ""
}

// secretVariables hold the keys of the model's API; they are of no use to the
// commands that tools run.
var secretVariables = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"}

// forTools is the environment of the commands that tools and hooks run.
func (e environment) forTools() []string {
	if e.get(EnvKeepSecrets) == "1" {
		return e
	}
	out := make([]string, 0, len(e))
next:
	for _, kv := range e {
		for _, secret := range secretVariables {
			if strings.HasPrefix(kv, secret+"=") {
				continue next
			}
		}
		out = append(out, kv)
	}
	return out
}
