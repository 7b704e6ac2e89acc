// Package toolsearch is ToolSearch, by which the model finds tools that it
// knows by name only, and so loads their definitions. It is the face of
// disclose, which decides and searches; this package words the answer.
package toolsearch

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sevengate/sevengate/internal/disclose"
	"github.com/sevengate/sevengate/tool"
)

// Input is what to look for.
type Input struct {
	Query      string `json:"query" jsonschema:"select:NAME or select:A,B for tools whose names you know; otherwise what you need, in a few words; +word must appear"`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"the most tools to load in a search by words; 5 when left out"`
}

// Output is what was found.
type Output struct {
	Query   string           `json:"query"`
	Matches []disclose.Match `json:"matches"`
	Loaded  []string         `json:"alreadyLoaded,omitempty"`
	Missing []string         `json:"missing,omitempty"`
	Near    []disclose.Match `json:"near,omitempty"`
	// Deferred is how many tools were searched.
	Deferred int `json:"totalDeferredTools"`
	// Connecting are servers whose tools are not known yet.
	Connecting []string `json:"connectingServers,omitempty"`
	// Apart: the text stands beside the result, since an API that expands
	// references takes nothing else between them.
	Apart bool `json:"textApart,omitempty"`
}

// Options are what the tool needs from above.
type Options struct {
	// For gives the disclosure of the conversation that a call belongs to; nil
	// means that there is none. Required.
	For func(*tool.Env) *disclose.Disclosure
	// Wait is called when not all was found. It waits, within its own bound,
	// for servers that are still connecting, and updates the conversation's
	// disclosure; changed tells whether tools came, and connecting names the
	// servers that are still not there. Where none is connecting it returns at
	// once. May be nil.
	Wait func(ctx context.Context, env *tool.Env) (connecting []string, changed bool)
}

var prompt = fmt.Sprintf(`Loads the definitions of deferred tools, so that they can be called. Of a deferred tool only the name is known, from a list of deferred tools in the conversation; without its definition its parameters are not known.

Queries:
- select:NAME or select:A,B loads tools by name. A name without its mcp__server__ part will do.
- words such as "create calendar event" load the tools that fit best, at most max_results (%d by default, %d at most).
- +word must appear in the name or description: "+slack send message".

A tool that was loaded stays loaded; call it like any other. If one search finds nothing, try other words before you give up.`, disclose.DefaultResults, disclose.MaxResults)

// New makes the tool.
func New(o Options) tool.Tool {
	t := &toolSearch{o}
	return tool.Define(tool.Def[Input, Output]{
		Name:             disclose.SearchTool,
		SearchHint:       "find and load deferred tools",
		Prompt:           tool.Text(prompt),
		AlwaysLoad:       true,
		FieldAliases:     map[string]string{"q": "query", "limit": "max_results", "maxResults": "max_results"},
		ReadOnly:         tool.Always[Input],
		ConcurrencySafe:  tool.Always[Input],
		Effects:          func(Input) tool.Effects { return tool.Nothing() },
		Kind:             func(Input) tool.Kind { return tool.KindSearch },
		CheckPermissions: tool.AlwaysAllow[Input],
		Validate:         validate,
		Call:             t.call,
		MapResult:        mapResult,
		View: tool.View[Input, Output]{
			Use: func(in Input) string { return in.Query },
			Result: func(_ Input, out Output) tool.Rendering {
				return tool.Rendering{Summary: fmt.Sprintf("%d of %d deferred tools found", len(out.Matches), out.Deferred), Detail: text(out)}
			},
		},
	})
}

type toolSearch struct{ o Options }

func validate(_ context.Context, in Input, _ *tool.Env) error {
	switch {
	case strings.TrimSpace(in.Query) == "":
		return fmt.Errorf("query is empty; give select:NAME or a few words")
	case len(in.Query) > disclose.MaxQueryChars:
		return fmt.Errorf("query has %d characters; at most %d are allowed", utf8.RuneCountInString(in.Query), disclose.MaxQueryChars)
	case in.MaxResults < 0 || in.MaxResults > disclose.MaxResults:
		return fmt.Errorf("max_results is %d; it must be 1 to %d", in.MaxResults, disclose.MaxResults)
	}
	return nil
}

func (t *toolSearch) call(ctx context.Context, in Input, env *tool.Env) (tool.Result[Output], error) {
	d := t.o.For(env)
	if d == nil {
		return tool.Result[Output]{}, fmt.Errorf("there is no conversation to load tools into")
	}
	found := d.Search(in.Query, in.MaxResults)
	var connecting []string
	if t.o.Wait != nil && (len(found.Missing) > 0 || len(found.Matches)+len(found.Loaded) == 0) {
		var changed bool
		if connecting, changed = t.o.Wait(ctx, env); changed {
			found = d.Search(in.Query, in.MaxResults)
		}
	}
	out := Output{Query: in.Query, Matches: found.Matches, Loaded: found.Loaded, Missing: found.Missing, Near: found.Near,
		Deferred: found.Deferred, Connecting: connecting, Apart: d.References() && len(found.Matches) > 0}
	r := tool.OK(out)
	if out.Apart {
		r.Messages = []tool.Message{tool.UserText(text(out))}
	}
	return r, nil
}

// mapResult gives a reference for each tool found, from which its definition is
// loaded, and the same in words.
func mapResult(out Output) []tool.Block {
	var blocks []tool.Block
	for _, m := range out.Matches {
		blocks = append(blocks, tool.ToolReference(m.Name))
	}
	if out.Apart && len(blocks) > 0 {
		return blocks
	}
	return append(blocks, tool.TextBlock(text(out)))
}

// text says what was found and what to do next.
func text(out Output) string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	list := func(matches []disclose.Match) {
		for _, m := range matches {
			if m.Summary == "" {
				add("- %s", m.Name)
			} else {
				add("- %s: %s", m.Name, m.Summary)
			}
		}
	}
	if n := len(out.Matches); n > 0 {
		add("%s loaded:", count(n, "tool is", "tools are"))
		list(out.Matches)
	}
	if len(out.Loaded) > 0 {
		add("Loaded before, call directly: %s.", strings.Join(out.Loaded, ", "))
	}
	if len(out.Missing) > 0 {
		add("There is no tool of the name %s.", strings.Join(out.Missing, ", "))
	}
	if len(out.Near) > 0 {
		add("Not loaded, but perhaps meant:")
		list(out.Near)
	}
	if len(out.Connecting) > 0 {
		add("Still connecting, their tools are not known yet: %s.", strings.Join(out.Connecting, ", "))
	}
	switch {
	case len(out.Matches) > 0:
		add("Next: call the tool that fits, with the parameters of its definition.")
	case len(out.Loaded) > 0:
	case len(out.Connecting) > 0:
		add("Next: go on with other work and search again later.")
	case out.Deferred == 0:
		add("No tool is deferred: all there are can be called directly.")
	case len(out.Near) > 0:
		add("Next: load one of these with select:NAME, or search with other words.")
	default:
		add("None of the %s fits %q. Next: search with other or fewer words, such as what the tool acts on; do not guess a tool's name.",
			count(out.Deferred, "deferred tool", "deferred tools"), clip(out.Query))
	}
	return strings.Join(lines, "\n")
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// clip keeps a query that found nothing short.
func clip(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
