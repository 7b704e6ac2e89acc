package sevengate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sevengate/sevengate/internal/agent"
	"github.com/sevengate/sevengate/internal/builtin"
	"github.com/sevengate/sevengate/internal/builtin/lsp"
	"github.com/sevengate/sevengate/internal/confine"
	"github.com/sevengate/sevengate/internal/disclose"
	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/internal/gate"
	"github.com/sevengate/sevengate/internal/hook"
	"github.com/sevengate/sevengate/internal/mcp/client"
	"github.com/sevengate/sevengate/internal/mcp/config"
	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/internal/registry"
	"github.com/sevengate/sevengate/internal/result"
	"github.com/sevengate/sevengate/internal/schedule"
	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/internal/session"
	"github.com/sevengate/sevengate/internal/session/history"
	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// readerHint tells a model how to look into a result that was saved.
const readerHint = "Look into it with Read (offset and limit) or Grep."

// Runtime serves one conversation. Its methods must not be called at the same
// time, except Explain, Interrupt and Close.
type Runtime struct {
	opts    Options
	env     environment
	dir     string
	home    string
	state   string
	folder  string // of the session, beside its transcript
	keep    atomic.Bool
	shell   lazyShell
	history *history.History // nil where none is kept
	lsp     *lsp.Service     // nil where the feature is off

	confine      *confine.Keeper
	sandboxNotes []string

	mcp         *client.Manager // nil: no servers are configured
	servers     []config.Server
	choices     *config.Choices
	mcpWarnings []string
	startMCP    sync.Once
	onServers   func()
	watcher     *settings.Watcher
	starting    atomic.Pointer[settings.Snapshot] // set while New works
	policy      *permission.Policy
	hooks       *hook.Runner
	registry    *registry.Registry
	results     *result.Store
	gate        *gate.Gate
	conv        *gate.Conversation
	disclose    *disclose.Disclosure
	store       *session.Store
	schedule    schedule.Policy
	max         int
	spec        modelSpec
	specErr     error

	mu       sync.Mutex
	id       string
	session  *session.Session // opened when the conversation begins
	resumed  *session.State
	agent    *agent.Agent
	provider model.Provider
	closed   bool
}

// lazyShell is made when the first command runs.
type lazyShell struct {
	mu     sync.Mutex
	runner *shellrun.Runner
	err    error
	closed bool
}

// New makes a runtime. It reads settings, contacts nobody and runs nothing.
// Errors name the file, the field and what would be right.
func New(ctx context.Context, o Options) (*Runtime, error) {
	r := &Runtime{opts: o, env: o.Environ}
	if r.env == nil {
		r.env = os.Environ()
	}
	for _, step := range []func(context.Context) error{r.locate, r.readSettings, r.openSession, r.assemble, r.checkRules, r.checkSandbox} {
		if err := step(ctx); err != nil {
			r.Close()
			return nil, err
		}
	}
	r.starting.Store(nil)
	return r, nil
}

// settingsNow gives the settings of this moment; to those that make the runtime, the
// same ones all the time.
func (r *Runtime) settingsNow(ctx context.Context) *settings.Snapshot {
	if s := r.starting.Load(); s != nil {
		return s
	}
	return r.watcher.Current(ctx)
}

// locate finds the directories.
func (r *Runtime) locate(context.Context) (err error) {
	r.dir = r.opts.Dir
	if r.dir == "" {
		r.dir = "."
	}
	if r.dir, err = filepath.Abs(r.dir); err != nil {
		return fmt.Errorf("finding the working directory: %w", err)
	}
	if info, err := os.Stat(r.dir); err != nil || !info.IsDir() {
		return fmt.Errorf("working directory %s: it is not a directory that can be entered", r.dir)
	}
	r.home = r.opts.Home
	if r.home == "" {
		r.home = r.env.get("HOME", "USERPROFILE")
	}
	if r.home == "" {
		if r.home, err = os.UserHomeDir(); err != nil {
			return fmt.Errorf("finding the home directory: %w", err)
		}
	}
	r.state = r.env.get(EnvHome)
	if r.state == "" {
		r.state = filepath.Join(r.home, ".sevengate")
	}
	r.store = session.NewStore(r.state, settings.TrustKey(r.dir))
	return nil
}

func (r *Runtime) readSettings(ctx context.Context) error {
	so := settings.Options{Dir: r.dir, Home: r.home, StateDir: r.state, ClaudeDir: r.env.get("CLAUDE_CONFIG_DIR"),
		Flag: r.opts.Settings, ManagedDirs: r.opts.ManagedDirs, WiderTrust: r.opts.Prompter == nil}
	if r.opts.SettingSources != nil {
		only, err := settings.ParseSources(*r.opts.SettingSources)
		if err != nil {
			return err
		}
		so.Only = only
	}
	w, err := settings.NewWatcher(ctx, so)
	if err != nil {
		return err
	}
	r.watcher = w
	r.starting.Store(w.Current(ctx))
	spec := r.opts.Model
	if spec == "" {
		spec = r.env.get(EnvModel)
	}
	if spec == "" {
		spec = r.settingsNow(ctx).Settings.Model
	}
	r.spec, r.specErr = parseModel(spec, r.env)
	if r.specErr != nil && r.opts.Model != "" {
		return r.specErr
	}
	name := r.opts.Schedule
	if name == "" {
		name = r.env.get(EnvSchedule)
	}
	var ok bool
	if r.schedule, ok = schedule.ParsePolicy(name); !ok {
		return fmt.Errorf("schedule %q: it must be effects or batches", name)
	}
	r.max = r.opts.MaxConcurrent
	if r.max == 0 {
		if text := r.env.get(EnvMaxConcurrency, "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY"); text != "" {
			if r.max, err = strconv.Atoi(text); err != nil || r.max < 1 {
				return fmt.Errorf("%s is %q: it must be a number of calls, at least 1", EnvMaxConcurrency, text)
			}
		}
	}
	return nil
}

// openSession finds the session to go on with, or names a new one.
func (r *Runtime) openSession(context.Context) error {
	resume := r.opts.Resume
	if r.opts.Continue && resume == "" {
		latest, err := r.store.Latest()
		if err != nil {
			return err
		}
		resume = latest
	}
	switch {
	case resume != "" && r.opts.Ephemeral:
		st, err := r.store.Load(resume)
		if err != nil {
			return err
		}
		r.resumed, r.id = st, session.NewID()
	case resume != "":
		s, st, err := r.store.Resume(resume)
		if err != nil {
			return err
		}
		r.session, r.resumed, r.id = s, st, resume
	case r.opts.SessionID != "":
		if !session.ValidID(r.opts.SessionID) {
			return fmt.Errorf("session id %q: it must be letters, digits, - and _ only", r.opts.SessionID)
		}
		r.id = r.opts.SessionID
	default:
		r.id = session.NewID()
	}
	return nil
}

// assemble wires the parts together.
func (r *Runtime) assemble(ctx context.Context) error {
	current := func() *settings.Snapshot { return r.settingsNow(ctx) }
	roots, err := r.roots(current())
	if err != nil {
		return err
	}
	mode, err := r.startMode(current())
	if err != nil {
		return err
	}
	r.policy = permission.New(permission.Config{
		Settings: current, Cwd: r.dir, Home: r.home, Allowed: r.opts.Allowed, Disallowed: r.opts.Disallowed,
		ToolNames:    func() []string { return r.registry.Names() },
		SettingsDirs: []string{r.state},
		Store:        r.watcher,
		Classifier:   &agent.Classifier{Open: r.classifierModel},
	})
	r.openSandbox(current)
	transcript := filepath.Join(r.store.Dir(), r.id+".jsonl")
	r.folder = filepath.Join(r.store.Dir(), r.id)
	r.results = result.NewStore(filepath.Join(r.folder, "tool-results"), readerHint)
	toolEnv := environment(r.env).forTools()
	r.hooks = hook.New(hook.Config{
		Groups: r.hookGroups(current), Policy: func() hook.Policy { return hook.PolicyFrom(current().Settings) },
		Cwd: r.dir, ProjectDir: r.dir, SessionID: r.id, TranscriptPath: transcript, Home: r.home, Env: toolEnv,
		MatchIf: r.policy.MatchCondition, Tools: mcpCaller{r}, SpillDir: filepath.Join(r.folder, "hook-output"), Log: r.opts.Log,
	})
	if r.disclose, err = r.disclosure(); err != nil {
		return err
	}
	r.openHistory()
	if err := r.findServers(ctx); err != nil {
		return err
	}
	deps, err := r.deps()
	if err != nil {
		return err
	}
	r.registry, err = registry.New(slices.Concat(builtin.All(deps), r.opts.Tools), r.features(), r.spec.name)
	if err != nil {
		return err
	}
	env := tool.Env{SessionID: r.id, ResultsDir: r.results.Dir(), Model: r.spec.name,
		NonInteractive: r.opts.Prompter == nil, Verbose: r.opts.Verbose, Debug: r.opts.Debug,
		Files: &tool.FileState{}, State: &tool.State{}, Log: r.opts.Log, Place: tool.Place{Home: r.home},
		OnNotice: r.notify,
		History: func() []tool.Message {
			r.mu.Lock()
			a := r.agent
			r.mu.Unlock()
			if a == nil {
				return nil
			}
			return a.Messages()
		}}
	env.Root = env.State
	now := tool.Context{Cwd: r.dir, Roots: roots, Mode: string(mode)}
	if st := r.resumed; st != nil {
		env.Files = st.Files
		if st.Context != nil {
			if info, err := os.Stat(st.Context.Cwd); err == nil && info.IsDir() {
				now.Cwd = st.Context.Cwd
			}
		}
	}
	r.conv = gate.NewConversation(env, now)
	if st := r.resumed; st != nil {
		for _, m := range st.Messages {
			for _, u := range m.ToolUses() {
				r.conv.Saw(u.ID)
			}
		}
	}
	r.gate = gate.New(gate.Config{
		Pool: func() gate.Pool { return r.pool() }, Policy: r.policy, Hooks: r.hooks, Results: r.results, Prompter: r.prompter(),
		BypassAvailable: r.bypassAvailable(current()), Observe: r.opts.ObserveCalls, Log: r.opts.Log,
		Journal: journal{r}, Unseen: r.disclose.Hint,
	})
	return nil
}

// checkRules refuses to start with rules that do not do what their own tests
// expect. Those of a project that is not trusted do not count: its rules do not
// either.
func (r *Runtime) checkRules(ctx context.Context) error {
	s := r.settingsNow(ctx)
	if r.opts.SkipRuleTests || len(s.Settings.Permissions.Tests) == 0 {
		return nil
	}
	for _, t := range r.CheckTests(ctx) {
		if !t.Passed && (t.Source != settings.ProjectSettings || s.Trust.Trusted) {
			return fmt.Errorf("%s:%d: permissions.tests: %s: %s (sevengate settings check runs them all)", t.File, t.Line, t.Call, t.Error)
		}
	}
	return nil
}

// roots are the directories of the session.
func (r *Runtime) roots(s *settings.Snapshot) ([]string, error) {
	roots := []string{r.dir}
	add := func(dir, base, origin string, must bool) error {
		abs := tool.Place{Cwd: base, Home: r.home}.Abs(dir)
		info, err := os.Stat(abs)
		if err != nil || !info.IsDir() {
			if must {
				return fmt.Errorf("%s %s: it is not a directory that can be entered", origin, dir)
			}
			return nil
		}
		roots = append(roots, abs)
		return nil
	}
	for _, d := range r.opts.AddDirs {
		if err := add(d, r.dir, "--add-dir", true); err != nil {
			return nil, err
		}
	}
	for _, e := range s.Settings.Permissions.AdditionalDirectories {
		if e.InForce() {
			if err := add(e.Text, e.Dir, "", false); err != nil {
				return nil, err
			}
		}
	}
	return roots, nil
}

func (r *Runtime) bypassAvailable(s *settings.Snapshot) bool {
	p := s.Settings.Permissions
	if p.DisableBypassPermissionsMode {
		return false
	}
	return r.opts.AllowBypass || r.opts.Mode == string(permission.ModeBypass) || p.DefaultMode == string(permission.ModeBypass)
}

func (r *Runtime) startMode(s *settings.Snapshot) (permission.Mode, error) {
	text := r.opts.Mode
	if text == "" {
		text = s.Settings.Permissions.DefaultMode
	}
	mode, err := permission.ParseMode(text)
	if err != nil {
		return "", err
	}
	if mode == permission.ModeBypass && s.Settings.Permissions.DisableBypassPermissionsMode {
		return "", errors.New("the mode bypassPermissions is disabled by permissions.disableBypassPermissionsMode in the settings")
	}
	if mode == permission.ModeAuto && s.Settings.Permissions.DisableAutoMode {
		return "", errors.New("the mode auto is disabled by permissions.disableAutoMode in the settings")
	}
	return mode, nil
}

// features are the feature gates: the environment's, then the program's.
func (r *Runtime) features() tool.Features {
	f := tool.Features{OS: runtime.GOOS, Interactive: r.opts.Prompter != nil, Flags: map[string]bool{}}
	for _, name := range strings.Split(r.env.get(EnvFeatures), ",") {
		if name = strings.TrimSpace(name); name != "" {
			f.Flags[name] = true
		}
	}
	if on := r.env.get("CLAUDE_CODE_USE_POWERSHELL_TOOL"); on == "1" || on == "true" {
		f.Flags["powershell"] = true
	}
	for name, on := range r.opts.Features {
		f.Flags[name] = on
	}
	return f
}

// hooksInForce are the hooks that may run. Those of a repository that is not
// trusted run only where nobody sits at a terminal: there, to run here at all
// is taken as trust, as with other programs that read these files.
func (r *Runtime) hooksInForce(s *settings.Snapshot) []settings.Hook {
	if r.opts.Prompter != nil {
		return s.Settings.Hooks
	}
	all := slices.Clone(s.Settings.Hooks)
	for i := range all {
		all[i].Untrusted = false
	}
	return all
}

// hookGroups gives the hooks of the current settings, made once for each
// snapshot.
func (r *Runtime) hookGroups(current func() *settings.Snapshot) func() []hook.Group {
	var mu sync.Mutex
	var of *settings.Snapshot
	var groups []hook.Group
	return func() []hook.Group {
		s := current()
		mu.Lock()
		defer mu.Unlock()
		if s != of {
			of = s
			groups, _ = hook.FromSettings(r.hooksInForce(s))
		}
		return groups
	}
}

// pool assembles the tools of the next request.
func (r *Runtime) pool() *registry.Pool {
	return r.registry.Pool(registry.Select{
		Only:   r.opts.Only,
		Hidden: r.hidden(),
		Denied: r.policy.Denier(),
	})
}

// journal records calls in the session, if there is one.
type journal struct{ r *Runtime }

func (j journal) Starting(id, name string, input json.RawMessage) error {
	if s := j.r.openedSession(); s != nil {
		return s.Starting(id, name, input)
	}
	return nil
}

func (j journal) Finished(id string) {
	if s := j.r.openedSession(); s != nil {
		s.Finished(id)
	}
}

func (r *Runtime) openedSession() *session.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.session
}

// SessionID is the id of the conversation.
func (r *Runtime) SessionID() string { return r.id }

// Dir is the project's directory.
func (r *Runtime) Dir() string { return r.dir }

// Model is the name of the model, as "PROVIDER:NAME"; empty if there is none.
func (r *Runtime) Model() string {
	if r.specErr != nil {
		return ""
	}
	return r.spec.provider + ":" + r.spec.name
}

// Mode is the permission mode that calls are judged in.
func (r *Runtime) Mode() string { return r.conv.Context().Mode }

// SetMode changes the permission mode for the calls that follow.
func (r *Runtime) SetMode(mode string) error {
	m, err := permission.ParseMode(mode)
	if err != nil {
		return err
	}
	if m == permission.ModeBypass && !r.bypassAvailable(r.settingsNow(context.Background())) {
		return errors.New("the mode bypassPermissions was not made available when the session began")
	}
	r.conv.Apply(func(c *tool.Context) { c.Mode = string(m) })
	return nil
}

// Policy is the session's permission policy.
func (r *Runtime) Policy() *Rules { return r.policy }

// CurrentSettings is what the settings files say now.
func (r *Runtime) CurrentSettings(ctx context.Context) *Settings { return r.settingsNow(ctx) }

// Tools are the tools that a model would be offered, in order, and those that
// had to be left out.
func (r *Runtime) Tools() ([]tool.Tool, []schema.APITool, []registry.Problem) {
	p := r.pool()
	api, problems := p.API()
	return p.Tools(), api, problems
}

// Sessions lists the project's sessions, the latest first.
func (r *Runtime) Sessions() ([]SessionInfo, error) { return r.store.List() }

// Trust is the record of trusted projects.
func (r *Runtime) Trust() *settings.TrustStore { return r.watcher.Trust() }

// Withheld says in words what the project's own settings bring that does not
// count, since the project is not trusted; nil when there is nothing.
func (r *Runtime) Withheld(ctx context.Context) []string {
	s := r.settingsNow(ctx)
	if s.Trust.Trusted {
		return nil
	}
	var out []string
	add := func(n int, what string) {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, what))
		}
	}
	held := func(entries []settings.Entry) (n int) {
		for _, e := range entries {
			if !e.InForce() {
				n++
			}
		}
		return n
	}
	add(held(s.Settings.Permissions.Allow), "rules that allow calls without asking")
	add(held(s.Settings.Permissions.AdditionalDirectories), "further directories to work in")
	hooks := 0
	for _, h := range s.Settings.Hooks {
		if h.Untrusted {
			hooks++
		}
	}
	add(hooks, "hooks, which are programs that it runs")
	return out
}

// Hooks lists the hooks of the current settings, and what is wrong with them.
func (r *Runtime) Hooks(ctx context.Context) ([]hook.Group, []hook.Warning) {
	return hook.FromSettings(r.hooksInForce(r.settingsNow(ctx)))
}

// CheckTests judges the calls that the settings hold as expectations about
// their own rules. Nothing is run.
func (r *Runtime) CheckTests(ctx context.Context) []permission.TestResult {
	return r.policy.CheckTests(ctx, func(t settings.Test) (*tool.Call, permission.Mode, error) {
		var c struct {
			Tool  string          `json:"tool"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
			Mode  string          `json:"mode"`
		}
		if err := json.Unmarshal(t.Call, &c); err != nil {
			return nil, "", fmt.Errorf("call: %w", err)
		}
		if c.Tool == "" {
			c.Tool = c.Name
		}
		mode, err := permission.ParseMode(c.Mode)
		if err != nil {
			return nil, "", fmt.Errorf("call.mode: %w", err)
		}
		found, s, ok := r.registry.Pool(registry.Select{}).Lookup(c.Tool)
		if !ok {
			return nil, "", fmt.Errorf("call.tool: there is no tool %q", c.Tool)
		}
		input, err := s.Check(c.Input)
		if err != nil {
			return nil, "", err
		}
		now := r.conv.Context()
		call, err := found.Bind(input, tool.Place{Cwd: now.Cwd, Home: r.home, Roots: now.Roots})
		return call, mode, err
	})
}
