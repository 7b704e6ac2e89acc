package permission

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// Config is what a [Policy] depends on. Every field may be left zero.
type Config struct {
	// Settings gives the current settings; what it returns counts from the next
	// call. Nil means that there are none.
	Settings func() *settings.Snapshot
	// Cwd is the directory that the session started in and Home the user's home:
	// what the patterns of rules are relative to.
	Cwd, Home string
	// Allowed and Disallowed are the rules of the command line; see [SplitRules].
	Allowed, Disallowed []string
	// ToolNames lists the tools of the session, so that rules with misspelt names
	// can be told. Nil means that no name is questioned.
	ToolNames func() []string
	// Classifier answers in auto mode. Nil means that auto mode asks.
	Classifier Classifier
	// RunsHelpers tells whether the configuration of the repository around a
	// directory makes git run programs, and by which key. Nil means
	// [shellscan.RepoRunsHelpers].
	RunsHelpers func(dir string) (runs bool, key string)
	// Store is where [Policy.Save] writes. Nil means that nothing can be saved.
	Store RuleStore
	// SettingsDirs are settings folders at unusual places, protected like the
	// usual ones.
	SettingsDirs []string
}

// Policy holds the rules of a session and decides. It is safe for concurrent
// use.
type Policy struct {
	cfg Config

	mu      sync.Mutex
	session []ruleText
	command []ruleText
	edition int // counts changes of session and command

	current atomic.Pointer[edition]
	roots   sync.Map // string → pathrule.Resolved

	auto refusals
}

// edition is the compiled form of the rules of one moment.
type edition struct {
	*rules
	snapshot *settings.Snapshot
	number   int
	flags    flags
	dirs     []string // additional directories of the settings
}

// flags are the settings that are no rules.
type flags struct {
	noBypass, noAuto        bool
	managedOnly             bool
	blockReads, blockWrites bool
	denyInstead             bool
	broken                  string // the files that could not be used, for a person
	sandboxAsks             bool   // sandboxed commands are not allowed for that alone
}

// New makes a policy.
func New(cfg Config) *Policy {
	if cfg.RunsHelpers == nil {
		cfg.RunsHelpers = shellscan.RepoRunsHelpers
	}
	return &Policy{cfg: cfg}
}

// rulesNow gives the compiled rules, compiling them when something changed.
func (p *Policy) rulesNow() *edition {
	var snap *settings.Snapshot
	if p.cfg.Settings != nil {
		snap = p.cfg.Settings()
	}
	if e := p.current.Load(); e != nil && e.snapshot == snap && e.number == p.number() {
		return e
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.current.Load(); e != nil && e.snapshot == snap && e.number == p.edition {
		return e
	}
	e := p.compile(snap)
	p.current.Store(e)
	return e
}

func (p *Policy) number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.edition
}

// compile gathers the rules of all sources, the strongest first. p.mu is held.
func (p *Policy) compile(snap *settings.Snapshot) *edition {
	e := &edition{snapshot: snap, number: p.edition, flags: readFlags(snap)}
	var texts []ruleText
	var held []Warning
	add := func(list []settings.Entry, b tool.Behavior) {
		for i := range list {
			en := &list[i]
			if b == tool.Allow && !en.InForce() {
				held = append(held, Warning{en.Source, en.File, en.Line, en.Text, "not in force: " + en.Held})
				continue
			}
			texts = append(texts, ruleText{en.Text, b, en.Source, en.File, en.Line, en.Dir})
		}
	}
	if snap != nil {
		perms := &snap.Settings.Permissions
		add(perms.Deny, tool.Deny)
		add(perms.Ask, tool.Ask)
		add(perms.Allow, tool.Allow)
		for i := range perms.AdditionalDirectories {
			if dir := p.additionalDir(&perms.AdditionalDirectories[i]); dir != "" {
				e.dirs = append(e.dirs, dir)
			}
		}
	}
	// Refusals of the command line hold whatever an administrator says of allow rules.
	for _, t := range p.cfg.Disallowed {
		texts = append(texts, ruleText{text: t, behavior: tool.Deny, source: settings.CLIArg, dir: p.cfg.Cwd})
	}
	if !e.flags.managedOnly {
		for _, t := range p.cfg.Allowed {
			texts = append(texts, ruleText{text: t, behavior: tool.Allow, source: settings.CLIArg, dir: p.cfg.Cwd})
		}
	}
	for _, t := range slices.Concat(p.command, p.session) {
		if t.behavior != tool.Allow || !e.flags.managedOnly {
			texts = append(texts, t)
		}
	}
	e.rules = compileRules(texts, place{p.cfg.Cwd, p.cfg.Home})
	e.warnings = append(e.warnings, held...)
	return e
}

func (p *Policy) additionalDir(en *settings.Entry) string {
	if !en.InForce() || en.Text == "" || strings.ContainsRune(en.Text, 0) || pathrule.IsNetwork(en.Text) {
		return ""
	}
	at := tool.Place{Cwd: p.cfg.Cwd, Home: p.cfg.Home}
	dir := at.Abs(en.Text)
	if !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

func readFlags(snap *settings.Snapshot) flags {
	if snap == nil {
		return flags{}
	}
	perms := &snap.Settings.Permissions
	f := flags{
		noBypass: perms.DisableBypassPermissionsMode, noAuto: perms.DisableAutoMode,
		managedOnly: snap.Settings.AllowManagedPermissionRulesOnly,
		blockReads:  perms.BlockReadsOutsideWorkingDirectories, blockWrites: perms.BlockWritesOutsideWorkingDirectories,
		denyInstead: perms.DenyInsteadOfPrompting,
	}
	if raw, ok := snap.Settings.Raw("sandbox", "autoAllowBashIfSandboxed"); ok {
		f.sandboxAsks = string(raw) != "true"
	}
	if broken := snap.AnyBroken(); len(broken) > 0 {
		var names []string
		for _, file := range snap.Files {
			if file.State == settings.Broken && file.Path != "" {
				names = append(names, file.Path)
			}
		}
		if len(names) == 0 {
			for _, s := range broken {
				names = append(names, string(s))
			}
		}
		f.broken = strings.Join(names, ", ")
	}
	return f
}

// SplitRules splits a list of rules as it is given on the command line, at
// commas and blanks outside of parentheses.
func SplitRules(list string) []string {
	var out []string
	depth, start := 0, 0
	cut := func(end int) {
		if s := strings.TrimSpace(list[start:end]); s != "" {
			out = append(out, s)
		}
		start = end + 1
	}
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case depth == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\n'):
			cut(i)
		}
	}
	if start < len(list) {
		cut(len(list))
	}
	return out
}

// AddSession adds a rule for the rest of the session. Errors: a rule that cannot
// be parsed or means nothing in its list; an allow rule where only those of an
// administrator count.
func (p *Policy) AddSession(behavior tool.Behavior, rule string) error {
	t := ruleText{text: rule, behavior: behavior, source: settings.Session, dir: p.cfg.Cwd}
	if err := p.checkNew(t); err != nil {
		return fmt.Errorf("add a session rule: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.session = append(p.session, t)
	p.edition++
	return nil
}

// SetCommandRules replaces the allow rules that a command or skill brings for
// its turn; nil takes them away. Rules that mean nothing are left out and become
// warnings.
func (p *Policy) SetCommandRules(allow []string) {
	texts := make([]ruleText, len(allow))
	for i, r := range allow {
		texts[i] = ruleText{text: r, behavior: tool.Allow, source: settings.Command, dir: p.cfg.Cwd}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.command = texts
	p.edition++
}

func (p *Policy) checkNew(t ruleText) error {
	switch t.behavior {
	case tool.Allow, tool.Deny, tool.Ask:
	default:
		return fmt.Errorf("behavior %q is unknown; it must be allow, ask or deny", t.behavior)
	}
	if t.behavior == tool.Allow && p.rulesNow().flags.managedOnly {
		return fmt.Errorf("only the administrator's rules count here (allowManagedPermissionRulesOnly)")
	}
	_, _, err := compileOne(t, place{p.cfg.Cwd, p.cfg.Home})
	return err
}

// DeniesTool tells whether a deny rule takes the whole tool away, so that it
// should not be offered at all. Facts may be nil.
func (p *Policy) DeniesTool(name string, f *tool.Facts) (tool.Reason, bool) {
	n := namesOf(name, f)
	r := p.rulesNow().deny.tool(&n)
	if r == nil {
		return tool.Reason{}, false
	}
	return ruleReason(tool.LayerDenyRule, r, fmt.Sprintf("%s is denied %s", name, r.where())), true
}

// ReadDenied tells whether a deny rule stops the path from being read, so that it
// should not appear in listings and search results. The path must be absolute.
func (p *Policy) ReadDenied(path string) bool {
	e := p.rulesNow()
	if e.deny.family(tool.FamilyRead) != nil {
		return true
	}
	if !e.deny.hasPathRules(tool.FamilyRead) {
		return false
	}
	return p.pathDenied(e, path, tool.FamilyRead)
}

// pathDenied follows the path anew.
func (p *Policy) pathDenied(e *edition, path, family string) bool {
	r, err := pathrule.Resolve(path, p.cfg.Cwd, p.cfg.Home)
	if err != nil && r.Given == "" {
		return true
	}
	return e.deny.pathRule(r, family) != nil
}

// resolveRoot gives both spellings of a working directory. They are kept: a link
// that is changed later leads outside then, and outside is asked.
func (p *Policy) resolveRoot(dir string) (pathrule.Resolved, bool) {
	if v, ok := p.roots.Load(dir); ok {
		return v.(pathrule.Resolved), true
	}
	r, err := pathrule.Resolve(dir, p.cfg.Cwd, p.cfg.Home)
	if err != nil || r.Given == "" {
		return pathrule.Resolved{}, false
	}
	p.roots.Store(dir, r)
	return r, true
}
