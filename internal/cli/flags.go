package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/permission"
)

// flags are shared by the commands that make a runtime.
type flags struct {
	model          string
	mode           string
	settings       string
	settingSources string
	allowed        []string
	disallowed     []string
	addDirs        []string
	tools          string
	cwd            string
	json           bool
	debug          bool
	verbose        bool
	bypass         bool
	allowBypass    bool
	schedule       string

	mcpConfig []string
	strictMCP bool

	// of a conversation
	print         bool
	outputFormat  string
	inputFormat   string
	partial       bool
	maxTurns      int
	resume        string
	continueLast  bool
	sessionID     string
	noPersistence bool
	system        string
	appendSystem  string
	systemFile    string
	appendFile    string
	replay        bool
}

func (f *flags) add(root *cobra.Command) {
	p := root.PersistentFlags()
	p.StringVar(&f.model, "model", "", "`MODEL`: anthropic:NAME, openai:NAME or script:FILE")
	p.StringVar(&f.mode, "permission-mode", "", "`MODE`: "+strings.Join(modeNames(), ", "))
	p.StringVar(&f.settings, "settings", "", "further settings: a `FILE`, or JSON")
	p.StringVar(&f.settingSources, "setting-sources", "user,project,local", "which settings files to read")
	p.StringArrayVar(&f.allowed, "allowedTools", nil, "permission `RULES` that allow, such as \"Bash(git log *),Read\"")
	p.StringArrayVar(&f.disallowed, "disallowedTools", nil, "permission `RULES` that deny")
	p.StringArrayVar(&f.addDirs, "add-dir", nil, "a further `DIR` to work in")
	p.StringArrayVar(&f.mcpConfig, "mcp-config", nil, "further MCP servers: a `FILE`, or JSON")
	p.BoolVar(&f.strictMCP, "strict-mcp-config", false, "use only the MCP servers of --mcp-config")
	p.StringVar(&f.tools, "tools", "default", "the built-in tools: \"\" none, default all, or `NAMES` separated by commas")
	p.StringVar(&f.cwd, "cwd", "", "work in `DIR`")
	p.BoolVar(&f.json, "json", false, "print JSON")
	p.BoolVar(&f.debug, "debug", false, "log to standard error")
	p.BoolVar(&f.verbose, "verbose", false, "say more")
	p.BoolVar(&f.bypass, "dangerously-skip-permissions", false, "the same as --permission-mode bypassPermissions")
	p.BoolVar(&f.allowBypass, "allow-dangerously-skip-permissions", false, "make the mode bypassPermissions available")
	p.StringVar(&f.schedule, "schedule", "", "when calls may run side by side: effects or batches")
	root.SetGlobalNormalizationFunc(normalize)
}

func (f *flags) addTalk(root *cobra.Command) {
	l := root.Flags()
	l.BoolVarP(&f.print, "print", "p", false, "answer once on standard output and end")
	l.StringVar(&f.outputFormat, "output-format", "text", "with -p: text, json or stream-json")
	l.StringVar(&f.inputFormat, "input-format", "text", "with -p: text or stream-json")
	l.BoolVar(&f.partial, "include-partial-messages", false, "with stream-json: the model's events as they come")
	l.BoolVar(&f.replay, "replay-user-messages", false, "with stream-json: repeat the messages read from standard input")
	l.IntVar(&f.maxTurns, "max-turns", 0, "end after `N` requests to the model; 0 means no limit")
	l.StringVarP(&f.resume, "resume", "r", "", "go on with the session `ID`")
	l.BoolVarP(&f.continueLast, "continue", "c", false, "go on with the latest session here")
	l.StringVar(&f.sessionID, "session-id", "", "name the new session `ID`")
	l.BoolVar(&f.noPersistence, "no-session-persistence", false, "keep no transcript")
	l.StringVar(&f.system, "system-prompt", "", "replace the system prompt by `TEXT`")
	l.StringVar(&f.systemFile, "system-prompt-file", "", "replace the system prompt by what is in `FILE`")
	l.StringVar(&f.appendSystem, "append-system-prompt", "", "add `TEXT` to the system prompt")
	l.StringVar(&f.appendFile, "append-system-prompt-file", "", "add what is in `FILE` to the system prompt")
}

func modeNames() []string {
	var names []string
	for _, m := range permission.Modes() {
		names = append(names, string(m))
	}
	return names
}

// options turns the flags into those of a runtime.
func (f *flags) options(a *app) (sevengate.Options, error) {
	o := sevengate.Options{
		Dir: f.cwd, Environ: a.Environ, Model: f.model, Mode: f.mode, AllowBypass: f.allowBypass || f.bypass,
		AddDirs: f.addDirs, Settings: f.settings, SettingSources: &f.settingSources, Schedule: f.schedule,
		MaxTurns: f.maxTurns, Resume: f.resume, Continue: f.continueLast, SessionID: f.sessionID, Ephemeral: f.noPersistence,
		System: f.system, AppendSystem: f.appendSystem, Verbose: f.verbose, Debug: f.debug,
		MCPConfig: f.mcpConfig, StrictMCP: f.strictMCP,
	}
	if f.bypass {
		if o.Mode != "" && o.Mode != string(permission.ModeBypass) {
			return o, usage("--dangerously-skip-permissions and --permission-mode %s contradict each other", o.Mode)
		}
		o.Mode = string(permission.ModeBypass)
	}
	if o.Mode != "" {
		if _, err := permission.ParseMode(o.Mode); err != nil {
			return o, usage("--permission-mode: %v", err)
		}
	}
	if o.Mode == string(permission.ModeBypass) && runsAsRoot() && os.Getenv("IS_SANDBOX") == "" && os.Getenv("SEVENGATE_SANDBOXED") == "" {
		return o, usage("the mode bypassPermissions is refused for root; run as another user, or set SEVENGATE_SANDBOXED=1 inside a throw-away machine")
	}
	if f.maxTurns < 0 {
		return o, usage("--max-turns is %d; it must be 0 or more", f.maxTurns)
	}
	for _, list := range f.allowed {
		o.Allowed = append(o.Allowed, permission.SplitRules(list)...)
	}
	for _, list := range f.disallowed {
		o.Disallowed = append(o.Disallowed, permission.SplitRules(list)...)
	}
	if f.tools != "default" {
		o.Only = []string{}
		o.Only = append(o.Only, strings.FieldsFunc(f.tools, func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	for _, file := range []struct {
		path string
		into *string
	}{{f.systemFile, &o.System}, {f.appendFile, &o.AppendSystem}} {
		if file.path == "" {
			continue
		}
		text, err := os.ReadFile(file.path)
		if err != nil {
			return o, usage("reading a system prompt: %v", err)
		}
		if *file.into != "" {
			*file.into = string(text) + "\n\n" + *file.into
		} else {
			*file.into = string(text)
		}
	}
	if f.debug {
		o.Log = slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return o, nil
}

// runtime makes the runtime that the flags ask for, and tells on standard error
// what of the settings could not be used.
func (a *app) runtime(change func(*sevengate.Options)) (*sevengate.Runtime, error) {
	o, err := a.flags.options(a)
	if err != nil {
		return nil, err
	}
	if change != nil {
		change(&o)
	}
	r, err := sevengate.New(a.ctx, o)
	if err != nil {
		return nil, &exitError{ExitUsage, err}
	}
	a.warn(r)
	return r, nil
}

// warn tells what is wrong with settings and rules.
func (a *app) warn(r *sevengate.Runtime) {
	s := r.CurrentSettings(context.Background())
	for _, p := range s.Problems {
		fmt.Fprintf(a.Stderr, "sevengate: settings: %s\n", p)
	}
	for _, p := range s.Warnings {
		fmt.Fprintf(a.Stderr, "sevengate: settings: %s\n", p)
	}
	for _, note := range r.SandboxNotes() {
		fmt.Fprintf(a.Stderr, "sevengate: %s\n", note)
	}
	_, hookWarnings := r.Hooks(context.Background())
	for _, w := range hookWarnings {
		fmt.Fprintf(a.Stderr, "sevengate: %s\n", w)
	}
	for _, w := range r.Policy().Warnings() {
		fmt.Fprintf(a.Stderr, "sevengate: %s\n", w)
	}
}
