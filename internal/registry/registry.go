// Package registry knows which tools exist and assembles the pool of a
// request: feature gates and Enabled, then what deny rules name as a whole,
// then built-in tools sorted by name, then the others sorted by name. The first
// of a name wins.
//
// Built-ins and others are two partitions, not one sort, because a provider's
// cache breakpoint follows the last built-in. The API form of a tool is made
// once for a session, so that no later change of a flag or a prompt can break
// the provider's cache. The package runs no tool and decides no permission.
package registry

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// Registry holds the tools of one session. It is safe for concurrent use.
type Registry struct {
	builtins []entry
	features tool.Features
	model    string

	mu     sync.Mutex
	others []entry                   // sorted by name; tools that came later, such as an MCP server's
	api    map[string]schema.APITool // by name, fixed when first asked for
	last   *Pool                     // assembled last, given again while nothing changed
}

type entry struct {
	tool   tool.Tool
	schema *schema.Schema
	exists bool // its gate is on, and it does not object
	// present gives the schema for a model's API, where it is another one.
	present func() (json.RawMessage, bool)
}

// apiSchema is the schema that a model's API gets.
func (e entry) apiSchema() (json.RawMessage, error) {
	if e.present != nil {
		if raw, ok := e.present(); ok {
			return raw, nil
		}
	}
	return e.schema.JSON()
}

// New makes a registry of built-in tools. Two tools that answer to the same
// name are an error.
func New(builtins []tool.Tool, features tool.Features, model string) (*Registry, error) {
	if features.OS == "" {
		features.OS = runtime.GOOS
	}
	owner := map[string]string{}
	for _, t := range builtins {
		for _, name := range append([]string{t.Name()}, t.Facts().Aliases...) {
			if other, taken := owner[name]; taken {
				return nil, fmt.Errorf("tools %s and %s both answer to the name %q", other, t.Name(), name)
			}
			owner[name] = t.Name()
		}
	}
	r := &Registry{features: features, model: model, api: map[string]schema.APITool{}}
	for _, t := range builtins {
		r.builtins = append(r.builtins, r.entry(t))
	}
	slices.SortFunc(r.builtins, byName)
	return r, nil
}

func (r *Registry) entry(t tool.Tool) entry {
	return entry{tool: t, schema: schema.For(t), exists: t.Enabled(r.features)}
}

func byName(a, b entry) int { return strings.Compare(a.tool.Name(), b.tool.Name()) }

// SetOthers replaces the tools that are not built in. Of two with one name the
// first wins. present, if not nil, gives the schema that a model's API gets in
// place of the one that inputs are validated with.
func (r *Registry) SetOthers(tools []tool.Tool, present func(name string) (json.RawMessage, bool)) {
	var others []entry
	taken := map[string]bool{}
	for _, t := range tools {
		if !taken[t.Name()] {
			taken[t.Name()] = true
			e := r.entry(t)
			if present != nil {
				e.present = func() (json.RawMessage, bool) { return present(t.Name()) }
			}
			others = append(others, e)
		}
	}
	slices.SortFunc(others, byName)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.others, r.last = others, nil
}

// Names lists every tool that exists at all, gated or not: what a rule may
// speak of.
func (r *Registry) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, e := range r.builtins {
		names = append(names, e.tool.Name())
		names = append(names, e.tool.Facts().Aliases...)
	}
	for _, e := range r.others {
		names = append(names, e.tool.Name())
	}
	slices.Sort(names)
	return names
}

// Select narrows a pool.
type Select struct {
	// Denied tells whether a rule takes the tool away as a whole. Nil denies
	// nothing.
	Denied func(*tool.Facts) bool
	// Only, when not nil, keeps the named built-ins; other tools stay.
	Only []string
	// Hidden are tools that can be called from code but are not offered.
	Hidden []string
}

// Pool assembles the tools of one request. While nothing changed, it is the same
// pool.
func (r *Registry) Pool(s Select) *Pool {
	r.mu.Lock()
	defer r.mu.Unlock()
	included := make([]bool, 0, len(r.builtins)+len(r.others))
	for _, e := range r.builtins {
		included = append(included, e.exists && (s.Only == nil || slices.Contains(s.Only, e.tool.Name())) && (s.Denied == nil || !s.Denied(e.tool.Facts())))
	}
	for _, e := range r.others {
		included = append(included, e.exists && (s.Denied == nil || !s.Denied(e.tool.Facts())))
	}
	if r.last != nil && slices.Equal(r.last.included, included) && slices.Equal(r.last.hidden, s.Hidden) {
		return r.last
	}
	p := &Pool{registry: r, byName: map[string]entry{}, included: included, hidden: slices.Clone(s.Hidden)}
	for i, e := range slices.Concat(r.builtins, r.others) {
		name := e.tool.Name()
		if _, taken := p.byName[name]; taken || !included[i] {
			continue
		}
		if !slices.Contains(s.Hidden, name) {
			p.order = append(p.order, e)
			if i < len(r.builtins) {
				p.builtins++
			}
		}
		p.byName[name] = e
	}
	for _, e := range p.order {
		for _, alias := range e.tool.Facts().Aliases {
			if _, taken := p.byName[alias]; !taken {
				p.byName[alias] = e
			}
		}
	}
	r.last = p
	return p
}

// Pool is the set of tools of one request. It does not change.
type Pool struct {
	registry *Registry
	order    []entry
	builtins int
	byName   map[string]entry

	included []bool   // of the registry's tools, in order
	hidden   []string // left out of the order
}

// Lookup finds a tool by its name or an alias.
func (p *Pool) Lookup(name string) (tool.Tool, *schema.Schema, bool) {
	e, ok := p.byName[name]
	return e.tool, e.schema, ok
}

// Tools lists the tools that are offered, in the order of the request.
func (p *Pool) Tools() []tool.Tool {
	out := make([]tool.Tool, len(p.order))
	for i, e := range p.order {
		out[i] = e.tool
	}
	return out
}

// Names lists the names of the tools that are offered, in order.
func (p *Pool) Names() []string {
	out := make([]string, len(p.order))
	for i, e := range p.order {
		out[i] = e.tool.Name()
	}
	return out
}

// Builtins is how many of the offered tools, from the start, are built in.
func (p *Pool) Builtins() int { return p.builtins }

// Problem is a tool that cannot be offered, and why.
type Problem struct {
	Tool string
	Err  error
}

// API gives the API form of the offered tools. A tool whose form cannot be made
// is left out and reported.
func (p *Pool) API() ([]schema.APITool, []Problem) {
	r := p.registry
	ctx := tool.PromptContext{Tools: p.Names(), Model: r.model, OS: r.features.OS}
	var out []schema.APITool
	var problems []Problem
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range p.order {
		f := e.tool.Facts()
		api, ok := r.api[f.Name]
		if !ok {
			raw, err := e.apiSchema()
			if err == nil {
				api, err = schema.NewAPITool(f.Name, e.tool.Prompt(ctx), raw, f.Strict, false)
			}
			if err != nil {
				problems = append(problems, Problem{f.Name, err})
				continue
			}
			r.api[f.Name] = api
		}
		out = append(out, api)
	}
	return out, problems
}
