package sevengate

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sevengate/sevengate/internal/builtin/toolsearch"
	"github.com/sevengate/sevengate/internal/disclose"
	"github.com/sevengate/sevengate/internal/gate"
	mcpserver "github.com/sevengate/sevengate/internal/mcp/server"
	"github.com/sevengate/sevengate/tool"
)

// WithSearch keeps tools out of the list that clients get, as deferred tools are
// kept from a model, until a call of ToolSearch has found them: its answer holds
// their definitions, and the list has them from then on. Every tool can be called by
// its name all the same. Call it before Serve.
func (g *Gateway) WithSearch() { g.search = true }

// beginSearch decides for the gateway's own way of showing tools.
func (g *Gateway) beginSearch() {
	if g.search {
		g.runtime.disclose = disclose.New(disclose.Config{Mode: disclose.Always})
		g.found = map[string]bool{}
	}
}

// listed drops the tools that are still to be found.
func (g *Gateway) listed(all []mcpserver.Tool) []mcpserver.Tool {
	if !g.search {
		return all
	}
	p := g.runtime.pool()
	api, _ := p.API()
	g.runtime.disclose.Update(p.Tools(), api)
	hidden := map[string]bool{}
	for _, name := range g.runtime.disclose.Deferred() {
		hidden[name] = true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(all, func(t mcpserver.Tool) bool { return hidden[t.Name] && !g.found[t.Name] })
}

// definition is a tool as a client reads it in the answer of a search.
type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// foundTools adds the definitions to the answer of a search, in place of the
// references that only a model's API can follow.
func (g *Gateway) foundTools(res *gate.Result, content []tool.Block) []tool.Block {
	out, ok := res.Outcome.Data.(toolsearch.Output)
	if !g.search || !ok || res.Block.IsError {
		return content
	}
	content = slices.DeleteFunc(slices.Clone(content), func(b tool.Block) bool { return b.Type == tool.BlockToolReference })
	schemas := g.runtime.InputSchemas()
	pool := g.runtime.pool()
	changed := false
	for _, m := range out.Matches {
		t, _, ok := pool.Lookup(m.Name)
		if !ok {
			continue
		}
		raw, err := json.Marshal(definition{m.Name, t.Prompt(tool.PromptContext{}), schemas[m.Name]})
		if err != nil {
			raw = fmt.Appendf(nil, "%s: its definition cannot be shown: %v", m.Name, err)
		}
		content = append(content, tool.TextBlock(string(raw)))
		g.mu.Lock()
		changed = changed || !g.found[m.Name]
		g.found[m.Name] = true
		g.mu.Unlock()
	}
	if changed {
		g.server.Changed()
	}
	return content
}
