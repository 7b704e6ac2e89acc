package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/grep"
	"github.com/sevengate/sevengate/internal/engine/walk"
	"github.com/sevengate/sevengate/tool"
)

// Mode is what a Grep gives.
type Mode string

// The modes.
const (
	FilesWithMatches Mode = "files_with_matches"
	Content          Mode = "content"
	Count            Mode = "count"
)

// Values lists the modes for the schema.
func (Mode) Values() []string {
	return []string{string(FilesWithMatches), string(Content), string(Count)}
}

// GrepInput says what to search for. Zero numbers mean zero; nil ones that
// nothing was said.
type GrepInput struct {
	Pattern      string `json:"pattern" jsonschema:"the regular expression"`
	Path         string `json:"path,omitempty" jsonschema:"the file or folder to search; leave it out for the working directory"`
	Glob         string `json:"glob,omitempty" jsonschema:"search only files that match, such as *.{ts,tsx} or src/**; a leading ! excludes; several are separated by commas"`
	Type         string `json:"type,omitempty" jsonschema:"search only files of a type, such as go, py, js, ts, rust, java"`
	OutputMode   Mode   `json:"output_mode,omitempty" jsonschema:"the files that match (default), the matching lines, or numbers of lines per file"`
	IgnoreCase   bool   `json:"-i,omitempty" jsonschema:"do not distinguish upper and lower case"`
	OnlyMatching bool   `json:"-o,omitempty" jsonschema:"give only the matching parts of lines; content mode"`
	LineNumbers  *bool  `json:"-n,omitempty" jsonschema:"give line numbers (default true); content mode"`
	Before       *int   `json:"-B,omitempty" jsonschema:"lines to give before each match; content mode"`
	After        *int   `json:"-A,omitempty" jsonschema:"lines to give after each match; content mode"`
	Around       *int   `json:"-C,omitempty" jsonschema:"lines to give before and after each match; content mode"`
	Context      *int   `json:"context,omitempty" jsonschema:"the same as -C"`
	HeadLimit    *int   `json:"head_limit,omitempty" jsonschema:"at most this many files or lines (default 250; 0 for all)"`
	Offset       int    `json:"offset,omitempty" jsonschema:"leave out this many files or lines first"`
	Multiline    bool   `json:"multiline,omitempty" jsonschema:"matches may span lines, and . matches a line break"`
}

// GrepOutput is what was found. Filenames are relative to the working directory
// where they lie below it.
type GrepOutput struct {
	Mode      Mode     `json:"mode,omitempty"`
	NumFiles  int      `json:"numFiles"` // in this page, as Filenames
	Filenames []string `json:"filenames"`
	Content   string   `json:"content,omitempty"`
	NumLines  int      `json:"numLines,omitempty"`   // in Content
	TotalLine int      `json:"totalLines,omitempty"` // lines in content mode, matching lines in count mode; if known
	// NumMatches is the sum of all files' numbers, in count mode.
	NumMatches    int `json:"numMatches,omitempty"`
	TotalFiles    int `json:"totalFiles,omitempty"` // before paging, if known
	AppliedLimit  int `json:"appliedLimit,omitempty"`
	AppliedOffset int `json:"appliedOffset,omitempty"`
	// Notes tell what the result leaves out.
	Notes []string `json:"notes,omitempty"`
}

func grepPrompt() string {
	return fmt.Sprintf(`Searches the contents of files for a regular expression. Prefer it to running grep or rg in a shell.

Patterns are RE2, as in rg: \bword\b, (a|b), x{2,3}; no look-around and no back-references. A { that begins no repetition stands for itself. Matches lie within one line unless multiline is set.
output_mode: %s (default) lists the files that match, the most recently changed first; %s gives the lines as path:line:text; %s gives the number of matching lines of each file and of all. At most %d entries come at once: page with head_limit and offset. Lines are shown up to %d characters around the match.
Files that ignore files (.gitignore) name are left out unless named by path; dotfiles are searched; binary files and version-control folders are not.`, FilesWithMatches, Content, Count, DefaultHeadLimit, MaxLineChars)
}

func (f *family) grepTool() tool.Tool {
	rootOf := func(in GrepInput) string { return in.Path }
	return tool.Define(tool.Def[GrepInput, GrepOutput]{
		Name:       "Grep",
		SearchHint: "search file contents for text or a regular expression",
		Prompt:     func(tool.PromptContext) string { return grepPrompt() },
		FieldAliases: map[string]string{
			"regex": "pattern", "query": "pattern", "search": "pattern", "regexp": "pattern",
			"directory": "path", "dir": "path", "folder": "path", "file": "path", "file_path": "path", "paths": "path",
			"include": "glob", "file_pattern": "glob", "file_type": "type", "mode": "output_mode", "outputMode": "output_mode",
			"i": "-i", "case_insensitive": "-i", "ignore_case": "-i", "o": "-o", "only_matching": "-o", "n": "-n", "line_numbers": "-n",
			"B": "-B", "before": "-B", "before_context": "-B", "A": "-A", "after": "-A", "after_context": "-A", "C": "-C", "context_lines": "context",
			"limit": "head_limit", "headLimit": "head_limit", "max_results": "head_limit", "max_count": "head_limit", "skip": "offset",
		},
		PrimaryField:    "path",
		MaxResultChars:  MaxGrepResultChars,
		ReadOnly:        tool.Always[GrepInput],
		ConcurrencySafe: tool.Always[GrepInput],
		Interrupt:       tool.InterruptCancel,
		Effects:         func(in GrepInput) tool.Effects { return tool.Reads(rootOf(in)) },
		Kind:            func(GrepInput) tool.Kind { return tool.KindSearch },
		Path:            rootOf,
		Subjects:        func(in GrepInput) []tool.Subject { return []tool.Subject{tool.ReadOf(rootOf(in))} },
		Backfill: func(in GrepInput, at tool.Place) GrepInput {
			in.Path = at.Abs(in.Path)
			return in
		},
		ClassifierInput: grepLine,
		Validate: func(_ context.Context, in GrepInput, _ *tool.Env) error {
			_, err := planGrep(in)
			return err
		},
		Call:      f.grep,
		MapResult: func(out GrepOutput) []tool.Block { return []tool.Block{tool.TextBlock(grepText(out))} },
		View: tool.View[GrepInput, GrepOutput]{
			Use: grepLine,
			Result: func(_ GrepInput, out GrepOutput) tool.Rendering {
				return tool.Rendering{Summary: grepSummary(out), Detail: grepText(out)}
			},
			Grouped: func(in []GrepInput) string { return "searching for " + counted(len(in), "pattern") },
		},
	})
}

func grepLine(in GrepInput) string { return inPath(in.Pattern, in.Path) }

// grepPlan is a checked input.
type grepPlan struct {
	pattern       *grep.Pattern
	mode          Mode
	globs         []string
	types         []string
	before, after int
	limit, offset int
	numbers       bool
	notes         []string
}

// planGrep is pure: it looks at no disk. Its error lists all that is wrong.
func planGrep(in GrepInput) (grepPlan, error) {
	plan := grepPlan{mode: in.OutputMode, limit: DefaultHeadLimit, offset: in.Offset, numbers: in.LineNumbers == nil || *in.LineNumbers}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch plan.mode {
	case "":
		plan.mode = FilesWithMatches
	case FilesWithMatches, Content, Count:
	default:
		bad("output_mode is %q; it must be %s", in.OutputMode, strings.Join(in.OutputMode.Values(), ", "))
	}
	for _, f := range []struct{ name, value string }{{"pattern", in.Pattern}, {"path", in.Path}, {"glob", in.Glob}, {"type", in.Type}} {
		if strings.IndexByte(f.value, 0) >= 0 {
			bad("%s contains a NUL byte; write \\x00 in a pattern, and no path can have one", f.name)
		}
	}
	if in.Pattern == "" {
		bad("pattern is empty; give a regular expression (to list files use Glob)")
	} else if p, err := grep.Compile(in.Pattern, grep.Options{CaseInsensitive: in.IgnoreCase, Multiline: in.Multiline, DotAll: in.Multiline, LiteralBraces: true}); err != nil {
		bad("pattern: %w", err)
	} else {
		plan.pattern = p
	}
	for _, g := range splitGlobs(in.Glob) {
		if err := walk.ValidGlob(g); err != nil {
			bad("glob: %w", err)
		}
		plan.globs = append(plan.globs, g)
	}
	if in.Type != "" {
		plan.types = []string{in.Type}
		if err := knownType(in.Type); err != nil {
			errs = append(errs, err)
		}
	}
	lines := func(name string, v *int, into ...*int) {
		switch {
		case v == nil:
		case *v < 0:
			bad("%s is %d; it must be 0 or more", name, *v)
		case *v > MaxContextLines:
			bad("%s is %d; at most %d lines of context can be given (to see more use Read)", name, *v, MaxContextLines)
		default:
			for _, p := range into {
				*p = *v
			}
		}
	}
	// The wider setting first, so that the narrower one wins.
	lines("context", in.Context, &plan.before, &plan.after)
	lines("-C", in.Around, &plan.before, &plan.after)
	lines("-B", in.Before, &plan.before)
	lines("-A", in.After, &plan.after)
	switch {
	case in.HeadLimit == nil:
	case *in.HeadLimit < 0:
		bad("head_limit is %d; it must be 0 (no limit) or more", *in.HeadLimit)
	default:
		plan.limit = *in.HeadLimit
	}
	if in.Offset < 0 {
		bad("offset is %d; it must be 0 or more", in.Offset)
	}
	if in.OnlyMatching && plan.mode != Content {
		bad(`-o works only with output_mode %q, not with %q`, Content, plan.mode)
	}
	if plan.before+plan.after > 0 {
		switch {
		case plan.mode != Content:
			plan.notes = append(plan.notes, fmt.Sprintf("lines of context come only with output_mode %q and were not given", Content))
			plan.before, plan.after = 0, 0
		case in.OnlyMatching:
			plan.notes = append(plan.notes, "lines of context do not come with -o and were not given")
			plan.before, plan.after = 0, 0
		}
	}
	return plan, errors.Join(errs...)
}

// splitGlobs splits a list of globs at commas that are in no braces or brackets,
// and at spaces where each part looks like a glob by itself.
func splitGlobs(s string) []string {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil
	}
	var out []string
	if fields := strings.Fields(s); len(fields) > 1 && !slices.ContainsFunc(fields, func(f string) bool { return !strings.HasPrefix(f, "*") && !strings.HasPrefix(f, "!") }) {
		for _, f := range fields {
			out = append(out, splitGlobs(f)...)
		}
		return out
	}
	depth, start, class := 0, 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth <= 0:
			out = append(out, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
	}
	out = append(out, strings.TrimSpace(s[start:]))
	return slices.DeleteFunc(out, func(g string) bool { return g == "" })
}

// knownType tells what may be meant by a type that there is not.
func knownType(name string) error {
	var near []string
	all := walk.Types()
	for _, t := range all {
		if t.Name == name {
			return nil
		}
		bare := strings.ToLower(strings.TrimLeft(name, ".*"))
		if t.Name == bare || len(bare) > 1 && (strings.HasPrefix(t.Name, bare) || strings.HasPrefix(bare, t.Name) && len(t.Name) > 1) || slices.Contains(t.Globs, "*."+bare) {
			near = append(near, t.Name)
		}
	}
	hint := "known are for example go, py, js, ts, rust, java, c, cpp, md, json, yaml"
	if len(near) > 0 {
		hint = "did you mean " + strings.Join(near[:min(len(near), 5)], " or ") + "?"
	}
	return fmt.Errorf("type %q is unknown; %s (use glob, such as *.ext, for any other)", name, hint)
}
