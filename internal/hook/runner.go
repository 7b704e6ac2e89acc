package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// Limits of one firing.
const (
	maxParallel = 32 // handlers at once
	maxModels   = 12 // of these, prompt and agent handlers
)

// Runner runs the hooks of a session. Its methods are safe for concurrent use.
type Runner struct {
	cfg    Config
	log    *slog.Logger
	env    []string
	models chan struct{}

	mu    sync.Mutex // guards building the index
	index atomic.Pointer[index]

	once   sync.Map // handlers that ran their only time
	lastID atomic.Uint64

	// What outlives a firing: async handlers and the HTTP client.
	async      sync.WaitGroup
	asyncMu    sync.Mutex
	closed     bool
	asyncCtx   context.Context
	stopAsync  context.CancelFunc
	httpClient func() *http.Client
	httpUsed   atomic.Bool
}

// New makes a Runner. It starts nothing.
func New(cfg Config) *Runner {
	r := &Runner{cfg: cfg, log: cfg.Log, models: make(chan struct{}, maxModels)}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	env := cfg.Env
	if env == nil {
		env = os.Environ()
	}
	r.env = baseEnv(env, &cfg)
	r.asyncCtx, r.stopAsync = context.WithCancel(context.Background())
	r.httpClient = sync.OnceValue(func() *http.Client { r.httpUsed.Store(true); return newHTTPClient() })
	return r
}

// Close ends the handlers that nobody waits for and waits until they are gone.
// A Runner that is closed starts no more of these.
func (r *Runner) Close() {
	r.asyncMu.Lock()
	r.closed = true
	r.asyncMu.Unlock()
	r.stopAsync()
	r.async.Wait()
	if r.httpUsed.Load() {
		r.httpClient().CloseIdleConnections()
	}
}

// index is the groups of one configuration by event.
type index struct {
	groups  []Group // what it was made from
	byEvent map[string][]entry
}

// entry is a handler with its group.
type entry struct {
	h       *Handler
	g       *Group
	m       *matcher
	key     string // equal keys do the same; empty is unique
	onceKey string // empty: any number of times
}

// current is the index of the groups as they are now.
func (r *Runner) current() *index {
	var groups []Group
	if r.cfg.Groups != nil {
		groups = r.cfg.Groups()
	}
	if ix := r.index.Load(); ix != nil && sameSlice(ix.groups, groups) {
		return ix
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if ix := r.index.Load(); ix != nil && sameSlice(ix.groups, groups) {
		return ix
	}
	ix := newIndex(groups, r.cfg.Callbacks)
	r.index.Store(ix)
	return ix
}

func sameSlice(a, b []Group) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func newIndex(lists ...[]Group) *index {
	ix := &index{groups: lists[0], byEvent: map[string][]entry{}}
	for _, groups := range lists {
		for i := range groups {
			ix.add(&groups[i], i)
		}
	}
	return ix
}

func (ix *index) add(g *Group, at int) {
	event := g.Event
	if g.AgentID != "" && event == Stop {
		event = SubagentStop
	}
	info, ok := eventTable()[event]
	if !ok {
		return
	}
	m := &matcher{all: true}
	if info.matcher {
		m = newMatcher(g.Matcher, info.narrow)
	}
	for j := range g.Handlers {
		h := &g.Handlers[j]
		e := entry{h: h, g: g, m: m}
		if id := h.identity(); id != "" {
			// Settings files share one space; a plugin's, skill's or agent's
			// handler is its own.
			e.key = id
			switch g.Source {
			case SourcePlugin, SourceSkill, SourceAgent:
				e.key = g.Source + "\x00" + g.File + "\x00" + id
			}
		}
		if h.Once && g.Source == SourceSkill {
			e.onceKey = strings.Join([]string{g.File, event, g.Matcher, cmp.Or(e.key, strconv.Itoa(at)+"/"+strconv.Itoa(j))}, "\x00")
		}
		ix.byEvent[event] = append(ix.byEvent[event], e)
	}
}

// Any tells whether an event has handlers at all. It costs next to nothing and
// ignores matchers and the Policy.
func (r *Runner) Any(event string) bool {
	return len(r.current().byEvent[event]) > 0
}

// firing is one event on its way through its handlers.
type firing struct {
	r      *Runner
	event  string
	info   eventInfo
	value  string // what matchers are compared with
	ev     Event
	policy Policy
	fields map[string]any
	input  []byte
}

// due picks the handlers to run. Those that could not be matched come as
// answers in their place.
func (f *firing) due(entries []entry) []job {
	var jobs []job
	seen := map[string]bool{}
	for i := range entries {
		e := &entries[i]
		if !f.enabled(e) || e.g.AgentID != "" && e.g.AgentID != f.ev.AgentID {
			continue
		}
		ok, err := f.matches(e)
		if err != nil {
			jobs = append(jobs, job{e: e, done: f.unmatched(e, err)})
			continue
		}
		if !ok || e.key != "" && seen[e.key] {
			continue
		}
		if e.onceKey != "" {
			if _, ran := f.r.once.LoadOrStore(e.onceKey, true); ran {
				continue
			}
		}
		seen[e.key] = true
		jobs = append(jobs, job{e: e})
	}
	return jobs
}

// enabled applies the Policy.
func (f *firing) enabled(e *entry) bool {
	managed := e.g.Source == SourcePolicy || e.g.Forced
	host := e.g.Source == SourceSDK || e.h.Type == TypeCallback
	switch {
	case f.policy.DisableManaged:
		return false
	case f.policy.DisableAll, f.policy.ManagedOnly:
		return managed || host
	}
	return true
}

func (f *firing) matches(e *entry) (bool, error) {
	if !e.m.all {
		switch {
		case f.event == SubagentStop && f.value == "":
			return false, nil
		case (f.event == PreModelSwitch || f.event == PostModelSwitch) && f.value == "":
			// Who guards a model must hear of one that is not known.
		default:
			if ok, err := e.m.match(f.value); !ok || err != nil {
				return false, err
			}
		}
	}
	if e.h.If == "" {
		return true, nil
	}
	if !f.info.call || f.ev.Call == nil {
		return f.info.call, nil // without a call to compare, the handler runs
	}
	if f.r.cfg.MatchIf == nil {
		return true, nil
	}
	ok, err := matchIf(f.r.cfg.MatchIf, e.h.If, f.ev.Call)
	if err != nil {
		return false, fmt.Errorf("its condition cannot be evaluated: %w", err)
	}
	return ok, nil
}

func matchIf(match func(string, *tool.Call) (bool, error), rule string, call *tool.Call) (ok bool, err error) {
	defer recoverAs(&err, "the comparison failed")
	return match(rule, call)
}

// unmatched is the answer of a handler of which it cannot be told whether it
// is due: a guard blocks, anything else is reported.
func (f *firing) unmatched(e *entry, err error) *answer {
	a := &answer{run: f.run(e)}
	a.run.Outcome, a.run.Message = OutcomeError, err.Error()
	if f.info.guards {
		a.refuse(f, fmt.Sprintf("the %s hook %s cannot be matched: %v", f.event, a.run.Name, err))
	}
	return a
}

func (f *firing) run(e *entry) Run {
	return Run{Name: e.h.label(), Type: e.h.Type, Event: f.event, Source: e.g.Source, File: e.g.File}
}

// job is a handler that is due, and its answer once there is one.
type job struct {
	e    *entry
	done *answer
}

// fire runs the handlers of an event. It returns nil when none was due.
func (r *Runner) fire(ctx context.Context, event, value string, ev Event, fields func() map[string]any) (*firing, []job) {
	entries := r.current().byEvent[event]
	if len(entries) == 0 {
		return nil, nil
	}
	f := &firing{r: r, event: event, info: eventTable()[event], value: value, ev: ev}
	f.ev.AgentID = cmp.Or(ev.AgentID, r.cfg.AgentID)
	f.ev.AgentType = cmp.Or(ev.AgentType, r.cfg.AgentType)
	if r.cfg.Policy != nil {
		f.policy = r.cfg.Policy()
	}
	jobs := f.due(entries)
	if len(jobs) == 0 {
		return nil, nil
	}
	if fields != nil {
		f.fields = fields()
	}
	if err := f.makeInput(); err != nil {
		for i := range jobs {
			jobs[i].done = f.unmatched(jobs[i].e, err)
		}
		return f, jobs
	}
	if event == SessionEnd {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.sessionEndBudget(jobs))
		defer cancel()
	}
	f.runAll(ctx, jobs)
	return f, jobs
}

func (f *firing) runAll(ctx context.Context, jobs []job) {
	if len(jobs) == 1 {
		if jobs[0].done == nil {
			jobs[0].done = f.handle(ctx, jobs[0].e)
		}
		return
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	for i := range jobs {
		if jobs[i].done != nil {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			jobs[i].done = f.handle(ctx, jobs[i].e)
		})
	}
	wg.Wait()
}

// sessionEndVar sets the time of SessionEnd hooks, in milliseconds.
const sessionEndVar = "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS"

func (f *firing) sessionEndVar() time.Duration {
	ms, err := strconv.ParseInt(lookup(f.r.env, sessionEndVar), 10, 64)
	if err != nil || ms <= 0 || ms > MaxTimeout.Milliseconds() {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

func (f *firing) sessionEndBudget(jobs []job) time.Duration {
	if d := f.sessionEndVar(); d > 0 {
		return d
	}
	budget := SessionEndBudget
	for _, j := range jobs {
		switch j.e.g.Source {
		case SourcePlugin, SourceSkill, SourceAgent:
		default:
			budget = max(budget, min(j.e.h.Timeout, MaxSessionEndBudget))
		}
	}
	return budget
}

// makeInput builds the JSON that handlers get.
func (f *firing) makeInput() error {
	c := &f.r.cfg
	in := map[string]any{}
	if c.Common != nil {
		for k, v := range c.Common() {
			in[k] = v
		}
	}
	for k, v := range f.fields {
		in[k] = v
	}
	set := func(name, value string) {
		if value != "" {
			in[name] = value
		}
	}
	in["session_id"] = c.SessionID
	in["transcript_path"] = c.TranscriptPath
	in["cwd"] = f.cwd()
	in["hook_event_name"] = f.event
	mode := f.ev.PermissionMode
	if mode == "manual" { // a name of the settings, which the protocol does not know
		mode = "default"
	}
	set("permission_mode", mode)
	set("agent_id", f.ev.AgentID)
	set("agent_type", f.ev.AgentType)
	if f.ev.Call != nil {
		in["tool_name"] = f.ev.Call.Name()
		in["tool_input"] = f.ev.Call.Observed()
		if f.event != PermissionRequest {
			set("tool_use_id", f.ev.ToolUseID)
		}
	}
	raw, err := encode(in)
	if err != nil {
		return fmt.Errorf("the event's data cannot be written as JSON")
	}
	f.input = raw
	return nil
}

func (f *firing) cwd() string { return cmp.Or(f.ev.Cwd, f.r.cfg.Cwd) }

// asJSON keeps JSON as it is and makes a string of anything else.
func asJSON(raw json.RawMessage) json.RawMessage {
	if json.Valid(raw) {
		return raw
	}
	out, err := encode(strings.ToValidUTF8(string(raw), "\uFFFD"))
	if err != nil {
		return json.RawMessage("null")
	}
	return out
}
