// Package lsp is the tool that answers from language servers: where something is
// defined and used, what it is, what a file or a project holds, and what is wrong
// with it.
//
// Servers are programs of the user's machine, found on PATH or configured. One runs
// for each project and language from the first question to the end of the session,
// with the user's rights; it may run the project's own build tools. What it answers
// is bounded and shown only as far as reading is allowed. The family changes no file
// and decides nothing about permission.
package lsp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// Limits of one answer.
const (
	// MaxResults is how many places or symbols one call shows.
	MaxResults = 200
	// MaxLineChars is how much of a source line is shown.
	MaxLineChars = 200
	// MaxHoverChars bounds the text of a hover.
	MaxHoverChars = 10_000
	// MaxSymbolDepth bounds how deep symbols are nested.
	MaxSymbolDepth = 50
	// MaxHierarchyItems is for how many symbols at one place calls are looked up.
	MaxHierarchyItems = 5
	// DiagnosticsWait is how long the operation diagnostics waits for a server.
	// Since servers report in steps, a report counts as complete when nothing has been
	// added to it for DiagnosticsQuiet; an empty one of a server that was started less
	// than coldTime ago, after coldQuiet.
	DiagnosticsWait  = 10 * time.Second
	DiagnosticsQuiet = time.Second
	coldTime         = 30 * time.Second
	coldQuiet        = 3 * time.Second
	// BusyWait is how long a question waits for a server that is loading the project,
	// in order to be asked once more.
	BusyWait = 10 * time.Second
	// maxRaw bounds the places of one answer that are looked at.
	maxRaw = 20_000
)

// Operation is what is asked.
type Operation string

// The operations.
const (
	Definition      Operation = "definition"
	References      Operation = "references"
	Hover           Operation = "hover"
	DocumentSymbol  Operation = "documentSymbol"
	WorkspaceSymbol Operation = "workspaceSymbol"
	Implementation  Operation = "implementation"
	PrepareCalls    Operation = "prepareCallHierarchy"
	IncomingCalls   Operation = "incomingCalls"
	OutgoingCalls   Operation = "outgoingCalls"
	Diagnostics     Operation = "diagnostics"
)

// Values lists the operations for the schema.
func (Operation) Values() []string {
	var out []string
	for _, o := range []Operation{Definition, References, Hover, DocumentSymbol, WorkspaceSymbol, Implementation, PrepareCalls, IncomingCalls, OutgoingCalls, Diagnostics} {
		out = append(out, string(o))
	}
	return out
}

// atPosition tells whether an operation is about a place in the file.
func (o Operation) atPosition() bool {
	return !slices.Contains([]Operation{DocumentSymbol, WorkspaceSymbol, Diagnostics}, o)
}

// Input is one question.
type Input struct {
	Operation Operation `json:"operation" jsonschema:"what to ask"`
	FilePath  string    `json:"filePath" jsonschema:"the file; for workspaceSymbol, any file of the project and language"`
	Line      int       `json:"line,omitempty" jsonschema:"line of the symbol, from 1, as Read shows it"`
	Character int       `json:"character,omitempty" jsonschema:"character of the symbol in the line, from 1; any character of its name will do"`
	Query     string    `json:"query,omitempty" jsonschema:"for workspaceSymbol: the name or a part of it"`
}

// Item is one place, symbol or diagnostic. Lines and characters count from 1.
type Item struct {
	Path      string `json:"path"` // relative to the working directory where it lies below it
	Line      int    `json:"line,omitempty"`
	Character int    `json:"character,omitempty"`
	EndLine   int    `json:"endLine,omitempty"`
	Text      string `json:"text,omitempty"` // the source line
	Name      string `json:"name,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Container string `json:"container,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Depth     int    `json:"depth,omitempty"`
	Severity  string `json:"severity,omitempty"`
	Message   string `json:"message,omitempty"`
	Calls     []int  `json:"calls,omitempty"` // lines of the calls, for call hierarchies
}

// Output is the answer.
type Output struct {
	Operation Operation `json:"operation"`
	FilePath  string    `json:"filePath"`
	Server    string    `json:"server"`
	Root      string    `json:"root"`
	Items     []Item    `json:"items"`
	Total     int       `json:"total"` // also those that are not shown
	Hover     string    `json:"hover,omitempty"`
	Notes     []string  `json:"notes,omitempty"`
}

var prompt = fmt.Sprintf(`Asks the language server of a project about code: exact answers where text search gives guesses.

- definition, references, implementation: where the symbol at a place is defined, used, implemented. hover: its type and documentation.
- documentSymbol: the outline of a file. workspaceSymbol: symbols of the whole project whose name fits query.
- prepareCallHierarchy, incomingCalls, outgoingCalls: the function at a place, who calls it, what it calls.
- diagnostics: errors and warnings of a file, for its present content on disk.
- Give line and character (both from 1) of the symbol's name for all but documentSymbol, workspaceSymbol and diagnostics. Results read path:line:character and, inside the working directories, the source line; at most %d.
- The first question starts the server, which may take a while in a large project. Where no server is installed, the call fails: use Grep then.`, MaxResults)

// Tools makes the tool LSP of a service.
func Tools(s *Service) []tool.Tool {
	if s == nil {
		return nil
	}
	return []tool.Tool{tool.Define(tool.Def[Input, Output]{
		Name:       "LSP",
		SearchHint: "go to definition, find references, types, symbols, call hierarchy, diagnostics from a language server",
		Prompt:     tool.Text(prompt),
		FieldAliases: map[string]string{"file_path": "filePath", "path": "filePath", "file": "filePath",
			"column": "character", "col": "character"},
		PrimaryField:    "filePath",
		Gate:            "lsp",
		Defer:           true,
		LSP:             true,
		ReadOnly:        tool.Always[Input],
		ConcurrencySafe: tool.Always[Input],
		Effects:         func(in Input) tool.Effects { return tool.Reads(s.projectOf(in.FilePath)) },
		Kind:            func(Input) tool.Kind { return tool.KindSearch },
		Interrupt:       tool.InterruptCancel,
		Path:            func(in Input) string { return in.FilePath },
		Subjects:        func(in Input) []tool.Subject { return []tool.Subject{tool.ReadOf(in.FilePath)} },
		Backfill: func(in Input, at tool.Place) Input {
			in.FilePath = at.Abs(in.FilePath)
			return in
		},
		ClassifierInput: func(in Input) string { return string(in.Operation) + " " + in.FilePath + " " + in.Query },
		Validate:        validate,
		Call:            s.call,
		MapResult:       func(out Output) []tool.Block { return []tool.Block{tool.TextBlock(render(out))} },
		View: tool.View[Input, Output]{
			Use: useLine,
			Result: func(_ Input, out Output) tool.Rendering {
				return tool.Rendering{Summary: summary(out), Detail: render(out)}
			},
		},
	})}
}

// projectOf is the folder that a question about a file may read.
func (s *Service) projectOf(path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	spec, _, err := s.choose(path)
	if err != nil {
		return path
	}
	return spec.root(path, s.deps.Home, nil)
}

func useLine(in Input) string {
	switch {
	case in.Operation == WorkspaceSymbol:
		return fmt.Sprintf("%s %q", in.Operation, in.Query)
	case in.Operation.atPosition():
		return fmt.Sprintf("%s %s:%d:%d", in.Operation, in.FilePath, in.Line, in.Character)
	}
	return fmt.Sprintf("%s %s", in.Operation, in.FilePath)
}

func validate(_ context.Context, in Input, _ *tool.Env) error {
	switch {
	case in.FilePath == "":
		return errors.New("filePath is empty; give the path of a file")
	case !slices.Contains(Operation("").Values(), string(in.Operation)):
		return fmt.Errorf("operation is %q; it must be one of %s", in.Operation, strings.Join(Operation("").Values(), ", "))
	case in.Operation.atPosition() && (in.Line < 1 || in.Character < 1):
		return fmt.Errorf("%s needs line and character of the symbol, both from 1", in.Operation)
	case in.Operation == WorkspaceSymbol && strings.TrimSpace(in.Query) == "":
		return fmt.Errorf("%s needs query: the name of a symbol or a part of it", in.Operation)
	}
	return nil
}

// render writes an answer for the model.
func render(out Output) string {
	var b strings.Builder
	switch {
	case out.Operation == Hover && out.Hover != "":
		b.WriteString(out.Hover)
	case len(out.Items) == 0:
		b.WriteString(nothing(out.Operation))
	default:
		b.WriteString(summary(out) + ":\n")
		for _, it := range out.Items {
			b.WriteString(renderItem(it) + "\n")
		}
		if out.Total > len(out.Items) {
			fmt.Fprintf(&b, "(%d more are not shown)\n", out.Total-len(out.Items))
		}
	}
	for _, n := range out.Notes {
		fmt.Fprintf(&b, "\nNote: %s", n)
	}
	return strings.TrimRight(b.String(), "\n")
}

func nothing(o Operation) string {
	switch o {
	case Diagnostics:
		return "The language server reports nothing for this file."
	case Hover:
		return "The language server has nothing to say about this place."
	case DocumentSymbol:
		return "The language server finds no symbols in this file."
	case WorkspaceSymbol:
		return "No symbol of the project fits the query."
	}
	return fmt.Sprintf("The language server found nothing (%s). Line and character must be those of a symbol's name.", o)
}

func summary(out Output) string {
	if out.Operation == Hover {
		first, _, _ := strings.Cut(out.Hover, "\n")
		return first
	}
	noun := map[Operation]string{Definition: "definition", References: "reference", Implementation: "implementation", DocumentSymbol: "symbol",
		WorkspaceSymbol: "symbol", PrepareCalls: "function", IncomingCalls: "caller", OutgoingCalls: "called function", Diagnostics: "diagnostic"}[out.Operation]
	if out.Total != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", out.Total, noun)
}

func renderItem(it Item) string {
	var b strings.Builder
	b.WriteString(strings.Repeat("  ", min(it.Depth, MaxSymbolDepth)))
	b.WriteString(it.Path)
	if it.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", it.Line, it.Character)
	}
	b.WriteString(":")
	add := func(format string, args ...any) { fmt.Fprintf(&b, " "+format, args...) }
	switch {
	case it.Message != "":
		add("%s: %s", it.Severity, strings.ReplaceAll(it.Message, "\n", "\n    "))
		if it.Detail != "" {
			add("[%s]", it.Detail)
		}
	case it.Name != "":
		add("%s %s", it.Kind, it.Name)
		if it.Detail != "" {
			add("%s", it.Detail)
		}
		if it.Container != "" {
			add("(in %s)", it.Container)
		}
		if it.EndLine > it.Line {
			add("(to line %d)", it.EndLine)
		}
	}
	if it.Text != "" {
		add("%s", it.Text)
	}
	if len(it.Calls) > 0 {
		lines := make([]string, len(it.Calls))
		for i, n := range it.Calls {
			lines[i] = fmt.Sprint(n)
		}
		add("(call at line %s)", strings.Join(lines, ", "))
	}
	return b.String()
}
