package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sevengate/sevengate/internal/engine/walk"
	"github.com/sevengate/sevengate/tool"
)

// GlobInput says which names to find.
type GlobInput struct {
	Pattern string `json:"pattern" jsonschema:"the glob, such as src/**/*.{ts,tsx}; below path, or absolute"`
	Path    string `json:"path,omitempty" jsonschema:"the folder to look in; leave it out for the working directory"`
}

// GlobOutput is what was found. Filenames are relative to the working directory
// where they lie below it, the newest first.
type GlobOutput struct {
	DurationMs      int64    `json:"durationMs"`
	NumFiles        int      `json:"numFiles"`
	Filenames       []string `json:"filenames"`
	Truncated       bool     `json:"truncated"`
	TotalMatches    int      `json:"totalMatches,omitempty"`
	CountIsComplete bool     `json:"countIsComplete,omitempty"`
	// Notes tell what the result leaves out.
	Notes []string `json:"notes,omitempty"`
}

func (f *family) globPrompt() string {
	left := "Files that ignore files name are listed too"
	if !f.noIgnore {
		left = "Files that ignore files name are left out unless the pattern or path leads into their folder"
	}
	if !f.hidden {
		left += "; names that begin with a dot are left out"
	}
	return fmt.Sprintf(`Finds files by name, the most recently changed first; at most %d.

The pattern is compared with the whole path below path: *.go finds only files directly in it, **/*.go files at any depth. ** stands for any folders, {a,b} for either, [a-z] for a character. A pattern may be absolute or begin with ~/. Only files are found, not folders. %s; version-control folders such as .git are never listed. To search in the contents of files use Grep.`, MaxGlobFiles, left)
}

func (f *family) globTool() tool.Tool {
	rootOf := func(in GlobInput) string {
		plan, err := planGlob(in, tool.Place{})
		if err != nil {
			return in.Path
		}
		return plan.root
	}
	return tool.Define(tool.Def[GlobInput, GlobOutput]{
		Name:       "Glob",
		SearchHint: "find files by name or pattern, list files",
		Prompt:     func(tool.PromptContext) string { return f.globPrompt() },
		FieldAliases: map[string]string{"glob": "pattern", "glob_pattern": "pattern", "query": "pattern", "file_pattern": "pattern",
			"directory": "path", "dir": "path", "folder": "path", "root": "path", "cwd": "path", "target_directory": "path"},
		PrimaryField:    "path",
		ReadOnly:        tool.Always[GlobInput],
		ConcurrencySafe: tool.Always[GlobInput],
		Interrupt:       tool.InterruptCancel,
		Effects:         func(in GlobInput) tool.Effects { return tool.Reads(rootOf(in)) },
		Kind:            func(GlobInput) tool.Kind { return tool.KindSearch },
		Path:            rootOf,
		Subjects:        func(in GlobInput) []tool.Subject { return []tool.Subject{tool.ReadOf(rootOf(in))} },
		Backfill:        backfillGlob,
		ClassifierInput: globLine,
		Validate: func(_ context.Context, in GlobInput, env *tool.Env) error {
			_, err := planGlob(in, env.Place)
			return err
		},
		Call:      f.glob,
		MapResult: func(out GlobOutput) []tool.Block { return []tool.Block{tool.TextBlock(globText(out))} },
		View: tool.View[GlobInput, GlobOutput]{
			Use: globLine,
			Result: func(_ GlobInput, out GlobOutput) tool.Rendering {
				return tool.Rendering{Summary: counted(max(out.NumFiles, out.TotalMatches), "file"), Detail: globText(out)}
			},
			Grouped: func(in []GlobInput) string { return "looking for " + counted(len(in), "name pattern") },
		},
	})
}

// backfillGlob is what hooks and permissions see.
func backfillGlob(in GlobInput, at tool.Place) GlobInput {
	plan, err := planGlob(in, at)
	if err != nil {
		in.Path = at.Abs(in.Path)
		return in
	}
	in.Path = plan.folder
	if plan.outside { // whoever reads only path must not be misled
		in.Path, in.Pattern = plan.root, plan.pattern
		if strings.HasPrefix(in.Pattern, "~") { // a name here, not the home directory
			in.Pattern = "./" + in.Pattern
		}
	}
	return in
}

func globLine(in GlobInput) string { return inPath(in.Pattern, in.Path) }

func inPath(what, path string) string {
	if path == "" {
		return what
	}
	return what + " in " + path
}

func (f *family) glob(ctx context.Context, in GlobInput, env *tool.Env) (tool.Result[GlobOutput], error) {
	return answered(ctx, f.globTimeout(), func() (tool.Result[GlobOutput], error) { return f.globNow(ctx, in, env.Place) })
}

func (f *family) globNow(ctx context.Context, in GlobInput, env tool.Place) (tool.Result[GlobOutput], error) {
	start := time.Now()
	none := tool.Result[GlobOutput]{}
	plan, err := planGlob(in, env)
	if err != nil {
		return none, err
	}
	done := func(out GlobOutput) (tool.Result[GlobOutput], error) {
		out.DurationMs = time.Since(start).Milliseconds()
		if out.Filenames == nil {
			out.Filenames = []string{}
		}
		out.NumFiles = len(out.Filenames)
		return tool.OK(out), nil
	}
	at, err := f.open(plan.root, env)
	if errors.Is(err, fs.ErrNotExist) && plan.root != plan.folder && !plan.outside {
		// The pattern's own head is not there: nothing matches, if path is.
		if folder, err := f.open(plan.folder, env); err != nil {
			return none, err
		} else if folder.info.IsDir() {
			return done(GlobOutput{CountIsComplete: true, Notes: []string{"there is no folder " + quoted(relative(plan.root, env.Cwd))}})
		}
	}
	if err != nil {
		return none, err
	}
	if !at.info.IsDir() && plan.root != plan.folder {
		return done(GlobOutput{CountIsComplete: true, Notes: []string{quoted(relative(plan.root, env.Cwd)) + " is a file, so nothing lies below it"}})
	}
	if !at.info.IsDir() {
		return none, fmt.Errorf("%s is a file; Glob looks in folders, so give its folder (to see the file use Read, to search in it Grep)", at.given)
	}

	limit := f.globTimeout()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	best := newest{limit: MaxGlobFiles}
	var folders atomic.Int64
	opts := walk.Options{
		Root: at.given, Globs: []string{plan.pattern}, AnchorGlobs: true, MaxDepth: plan.depth(), Dirs: true, Links: walk.LinksList,
		Hidden: f.hidden, NoIgnore: f.noIgnore, Skip: at.denied,
	}
	stats, err := walk.Walk(limited, opts, func(e walk.Entry) error {
		if limited.Err() != nil {
			return limited.Err()
		}
		if e.Dir() {
			folders.Add(1)
			return nil
		}
		if e.Type&fs.ModeSymlink == 0 {
			if changed, ok := regular(e.Path); ok {
				best.add(found{e.Path, changed})
			}
			return nil
		}
		info, ok := at.linked(e.Path)
		switch {
		case !ok:
		case info.IsDir():
			folders.Add(1)
		case info.Mode().IsRegular():
			best.add(found{e.Path, info.ModTime()})
		}
		return nil
	})
	timedOut, stopErr := stopped(ctx, limited)
	switch {
	case stopErr != nil:
		return none, stopErr
	case err != nil && !timedOut:
		return none, fmt.Errorf("the search cannot begin: %w", err)
	case stats.Dirs == 0 && stats.Unreadable > 0 && len(stats.Errors) > 0:
		return none, fmt.Errorf("the search cannot begin: %w", stats.Errors[0])
	}

	kept, total := best.sorted()
	out := GlobOutput{Truncated: total > len(kept) || timedOut, TotalMatches: total, CountIsComplete: !timedOut}
	for _, k := range kept {
		out.Filenames = append(out.Filenames, relative(k.path, env.Cwd))
	}
	note := func(s string) {
		if s != "" {
			out.Notes = append(out.Notes, s)
		}
	}
	if total > len(kept) {
		note(fmt.Sprintf("these are the %s most recently changed of %s files; use a narrower pattern or path to see the others", grouped(len(kept)), grouped(total)))
	}
	if timedOut {
		note(fmt.Sprintf("the search timed out after %v, so there may be more; use a narrower pattern or path", limit))
	}
	note(unreadable(stats.Unreadable, stats.Errors, env.Cwd))
	if total == 0 && !timedOut {
		if n := folders.Load(); n > 0 && !strings.Contains(plan.pattern, "**") {
			note(fmt.Sprintf("%s matched, but only files are listed; add /** to the pattern for the files inside", counted(n, "folder")))
		} else if !strings.Contains(plan.pattern, "/") && !strings.Contains(plan.pattern, "**") {
			note(fmt.Sprintf("only files directly in %s were looked at; use **/%s for any depth", quoted(relative(at.given, env.Cwd)), plan.pattern))
		}
		note(leftOut(stats))
		for _, part := range strings.Split(plan.pattern, "/") {
			if isVersionControl(part) {
				note(fmt.Sprintf("%s is a version-control folder and not listed; give it as path to look inside", part))
			}
		}
	}
	return done(out)
}

// linked looks at what a link leads to, if that may be read.
func (r *root) linked(path string) (fs.FileInfo, bool) {
	if r.denied.hidesLink(path) {
		return nil, false
	}
	info, err := os.Stat(path)
	return info, err == nil
}

func globText(out GlobOutput) string {
	text := list(out.Filenames)
	if text == "" {
		text = "No files found"
	}
	return withNotes(text, out.Notes)
}
