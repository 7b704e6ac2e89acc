// Package disclose pages tool definitions in on demand. It decides which tools
// of a pool are deferred (known to the model by name only), reads from the
// conversation which of them were found since, builds the list of tools of the
// next request from that, tells the model what changed, and searches.
//
// What the model was told and has found is read from the conversation itself,
// so that it is right after a resume, a rewind or a compaction. The package
// runs no tool, decides no permission, and calls no model.
package disclose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// SearchTool is the name of the tool that finds deferred tools. Without it in
// the pool nothing is deferred.
const SearchTool = "ToolSearch"

// Limits and defaults of disclosure.
const (
	// DefaultAutoShare is the share of the context window, in percent, that
	// definitions may take before Auto defers them.
	DefaultAutoShare = 10
	// DefaultContextWindow is used where the model's is not known, in tokens.
	DefaultContextWindow = 200_000
	// CharsPerToken estimates the tokens of a definition from its JSON.
	CharsPerToken = 3.85
	// MaxLoaded is how many tools a request shows at most: Auto defers what
	// would go beyond, and of the tools found those used longest ago are left
	// out. Tools that are not deferrable always stay.
	MaxLoaded = 128
	// MaxDeferred is how many deferred definitions a request carries at most.
	MaxDeferred = 10_000
)

// Mode says when deferrable tools are deferred.
type Mode string

// The modes. The zero Mode is Always.
const (
	Always Mode = "always"
	Never  Mode = "never"
	Auto   Mode = "auto" // when there are too many, by size or by number
)

// ParseMode reads a mode as settings write it: always or true, never or false,
// auto, or auto:N with a share of 0 to 100 percent. Empty means Always. The
// share is 0 where none is given.
func ParseMode(s string) (m Mode, share int, err error) {
	switch s := strings.ToLower(strings.TrimSpace(s)); {
	case s == "" || s == "always" || s == "true":
		return Always, 0, nil
	case s == "never" || s == "false":
		return Never, 0, nil
	case s == "auto":
		return Auto, 0, nil
	case strings.HasPrefix(s, "auto:"):
		n, err := strconv.Atoi(strings.TrimPrefix(s, "auto:"))
		if err != nil || n < 0 || n > 100 {
			break
		}
		if n == 0 {
			return Always, 0, nil
		}
		return Auto, n, nil
	}
	return "", 0, fmt.Errorf("tool search mode %q is unknown; it must be always, never, auto, or auto:N with N from 0 to 100", s)
}

// Config is how a conversation discloses tools.
type Config struct {
	Mode Mode
	// AutoShare is the share of the context window for Auto, in percent; 0
	// means DefaultAutoShare.
	AutoShare int
	// ContextWindow of the model, in tokens; 0 means DefaultContextWindow.
	ContextWindow int
	// References: the model's API takes deferred definitions and expands
	// tool_reference blocks. Otherwise deferred tools are left out of requests
	// until they were found, and then appended.
	References bool
}

// Disclosure serves one conversation. Its methods are safe for concurrent use.
type Disclosure struct {
	cfg Config

	mu      sync.Mutex
	known   map[string]*known // every tool ever seen, by name
	order   []string          // of first sight; never changes but at its end
	begun   bool              // the first pool was decided
	canFind bool              // the pool has the search tool
	aliases map[string]string // alias or name to name, of the current pool
	tail    []string          // without references: what was appended, in order
	found   map[string]bool   // deferred tools whose definition the last Select showed
	index   *index            // of the deferred tools; nil: to be built
	reading reading           // how far the conversation was read
}

// known is what was decided for a tool.
type known struct {
	name   string
	facts  *tool.Facts
	api    schema.APITool // as the pool gives it: not deferred
	hidden schema.APITool // the same, deferred
	defers bool           // the decision
	late   bool           // came after the first request was planned
	here   bool           // is in the pool
}

// New makes the disclosure of a conversation.
func New(cfg Config) *Disclosure {
	if cfg.Mode == "" {
		cfg.Mode = Always
	}
	if cfg.AutoShare <= 0 {
		cfg.AutoShare = DefaultAutoShare
	}
	if cfg.ContextWindow <= 0 {
		cfg.ContextWindow = DefaultContextWindow
	}
	return &Disclosure{cfg: cfg, known: map[string]*known{}, aliases: map[string]string{}, found: map[string]bool{}}
}

// References tells whether found tools are handed to the model as references.
func (d *Disclosure) References() bool { return d.cfg.References }

// Deferrable tells whether a tool may be deferred at all: it says so itself or
// comes from a server, and does not ask to be loaded always.
func Deferrable(f *tool.Facts) bool {
	return f.Name != SearchTool && !f.AlwaysLoad && (f.Defer || f.Origin != nil)
}

// Update takes over the tools of a pool, with their API forms (not deferred; a
// tool without one is passed over). What was decided for a tool before stays.
// Select does the same; Update is for pools that change while a turn runs.
func (d *Disclosure) Update(tools []tool.Tool, api []schema.APITool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.update(tools, api)
}

func (d *Disclosure) update(tools []tool.Tool, api []schema.APITool) {
	forms := make(map[string]schema.APITool, len(api))
	for _, a := range api {
		forms[a.Name] = a
	}
	changed := false
	was := make(map[string]bool, len(d.known))
	for name, k := range d.known {
		was[name] = k.here
		k.here = false
	}
	d.canFind = false
	clear(d.aliases)
	var fresh []*known
	for _, t := range tools {
		f := t.Facts()
		form, ok := forms[f.Name]
		if !ok {
			continue
		}
		d.canFind = d.canFind || f.Name == SearchTool
		k := d.known[f.Name]
		if k == nil {
			k = &known{name: f.Name, late: d.begun}
			d.known[f.Name] = k
			d.order = append(d.order, f.Name)
			fresh = append(fresh, k)
		}
		if k.here {
			continue // a second tool of the name
		}
		if k.facts != f || string(k.api.JSON()) != string(form.JSON()) {
			k.facts, k.api, k.hidden = f, form, schema.APITool{}
			changed = true
		}
		k.here = true
		changed = changed || !was[f.Name]
		delete(was, f.Name)
		for _, a := range f.Aliases {
			if _, taken := d.aliases[a]; !taken {
				d.aliases[a] = f.Name
			}
		}
	}
	for name, k := range d.known {
		if k.here {
			d.aliases[name] = name // a name wins over another tool's alias
		}
		changed = changed || was[name]
	}
	d.decide(fresh)
	if changed {
		d.index, d.reading = nil, reading{}
	}
}

// decide settles for new tools whether they are deferred.
func (d *Disclosure) decide(fresh []*known) {
	if len(fresh) == 0 && d.begun {
		return
	}
	candidates, chars, total := []*known{}, 0, 0
	for _, k := range fresh {
		if Deferrable(k.facts) {
			candidates = append(candidates, k)
			chars += len(k.api.JSON())
		}
		total++
	}
	yes := d.cfg.Mode != Never
	if d.cfg.Mode == Auto && !d.begun {
		share := float64(d.cfg.ContextWindow) * float64(d.cfg.AutoShare) / 100
		yes = float64(chars)/CharsPerToken > share || total > MaxLoaded
	}
	// In Auto a tool that comes late is deferred also where the first were
	// not: a longer list would break the provider's cache.
	for _, k := range candidates {
		k.defers = yes
	}
	d.begun = d.begun || len(fresh) > 0
}

// deferred tells whether a tool of the pool is deferred now: without a search
// nothing could be found, so nothing is.
func (d *Disclosure) deferred(k *known) bool { return k.here && k.defers && d.canFind }

// form gives the API form of a tool, deferred or not, always the same bytes.
func (k *known) form(deferred bool) schema.APITool {
	if !deferred {
		return k.api
	}
	if k.hidden.Name == "" {
		hidden, err := schema.NewAPITool(k.api.Name, k.api.Description, k.api.InputSchema, k.api.Strict, true)
		if err != nil { // its schema was JSON before
			return k.api
		}
		k.hidden = hidden
	}
	return k.hidden
}

// gone is the definition of a tool that the conversation refers to and that no
// longer exists: an API refuses a reference to what it was not sent.
func gone(name string) (schema.APITool, bool) {
	if !isName(name) {
		return schema.APITool{}, false
	}
	t, err := schema.NewAPITool(name, "This tool is not available at the moment; do not call it.", json.RawMessage(`{"type":"object"}`), false, true)
	return t, err == nil
}

// Hint is what a model should be told when its input of a tool was wrong and
// the tool's definition was never sent to it; otherwise it is empty.
func (d *Disclosure) Hint(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if own, ok := d.aliases[name]; ok {
		name = own
	}
	k := d.known[name]
	if k == nil || !d.deferred(k) || d.found[name] {
		return ""
	}
	return fmt.Sprintf("The definition of %s is not loaded, so its parameters were a guess. Call %s with the query %q, then call %s again.",
		name, SearchTool, "select:"+name, name)
}

// Deferred lists the names of the deferred tools, in the order of the pool.
func (d *Disclosure) Deferred() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.deferredNames()
}

func (d *Disclosure) deferredNames() []string {
	var names []string
	for _, name := range d.order {
		if d.deferred(d.known[name]) {
			names = append(names, name)
		}
	}
	return slices.Clip(names)
}
