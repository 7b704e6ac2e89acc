package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/grep"
	"github.com/sevengate/sevengate/internal/engine/walk"
	"github.com/sevengate/sevengate/tool"
)

// nothingAtOffset begins the text of a page past the end.
const nothingAtOffset = "No entries at this offset"

func (f *family) grep(ctx context.Context, in GrepInput, env *tool.Env) (tool.Result[GrepOutput], error) {
	return answered(ctx, f.grepTimeout, func() (tool.Result[GrepOutput], error) { return f.grepNow(ctx, in, env.Place) })
}

func (f *family) grepNow(ctx context.Context, in GrepInput, env tool.Place) (tool.Result[GrepOutput], error) {
	none := tool.Result[GrepOutput]{}
	plan, err := planGrep(in)
	if err != nil {
		return none, err
	}
	at, err := f.open(env.Abs(in.Path), env)
	if err != nil {
		return none, err
	}
	limited, cancel := context.WithTimeout(ctx, f.grepTimeout)
	defer cancel()
	opts := grep.SearchOptions{
		Roots: []string{at.given},
		Walk:  walk.Options{Hidden: true, Globs: plan.globs, Types: plan.types, Skip: at.denied},
	}
	page := &grepPage{plan: plan, cwd: env.Cwd, direct: !at.info.IsDir()}
	switch plan.mode {
	case Content:
		opts.Mode, opts.Before, opts.After, opts.OnlyMatching = grep.ModeContent, plan.before, plan.after, in.OnlyMatching
		opts.Offset, opts.Limit = plan.offset, plan.limit
	case Count:
		opts.Mode, opts.Totals = grep.ModeCount, true
		opts.Offset, opts.Limit = plan.offset, pageSize(plan.limit)
	default:
		opts.Mode, opts.Unordered = grep.ModeFiles, true
		page.newest.limit = pageSize(plan.limit)
		if plan.offset < maxListed {
			page.newest.limit += plan.offset
		}
	}
	stats, err := grep.Search(limited, plan.pattern, opts, page.event)
	timedOut, stopErr := stopped(ctx, limited)
	switch {
	case stopErr != nil:
		return none, stopErr
	case errors.Is(err, errPageFull):
	case err != nil && !timedOut:
		return none, fmt.Errorf("the search cannot begin: %w", err)
	case stats.Files == 0 && stats.Walk.Dirs == 0 && stats.Walk.Unreadable > 0 && len(stats.Walk.Errors) > 0:
		return none, fmt.Errorf("the search cannot begin: %w", stats.Walk.Errors[0])
	case page.direct && stats.Unreadable > 0 && len(stats.Errors) > 0:
		return none, fmt.Errorf("the search cannot begin: %w", stats.Errors[0])
	}
	return tool.OK(page.output(stats, timedOut, f)), nil
}

// pageSize is a limit, or what stands for none.
func pageSize(limit int) int {
	if limit == 0 || limit > maxListed {
		return maxListed
	}
	return limit
}

// errPageFull ends a search whose text is as long as a result may be.
var errPageFull = errors.New("the page is full")

// grepPage gathers the events of a search.
type grepPage struct {
	plan   grepPlan
	cwd    string
	direct bool // the search root is a file

	newest newest
	text   bytes.Buffer
	names  []string
	last   string // path of the last event
	lines  int
	events int
	full   bool // the text is as long as it may be
}

func (g *grepPage) event(e grep.Event) error {
	if g.plan.mode == FilesWithMatches {
		g.newest.add(found{e.Path, e.ModTime})
		return nil
	}
	if g.text.Len() >= maxContentBytes {
		if g.full = true; g.plan.mode == Count {
			return nil // the totals are to be those of all
		}
		return errPageFull
	}
	name := relative(e.Path, g.cwd)
	if e.Path != g.last {
		g.names = append(g.names, name)
	}
	prefix := quoted(name)
	context := g.plan.before+g.plan.after > 0
	switch e.Kind {
	case grep.KindGap:
		g.text.WriteString("--\n")
		return nil
	case grep.KindFile:
		fmt.Fprintf(&g.text, "%s:%d\n", prefix, e.Lines)
	case grep.KindBinary:
		fmt.Fprintf(&g.text, "%s: binary file matches\n", prefix)
		g.lines++
	default:
		if context && e.Path != g.last && g.last != "" {
			g.text.WriteString("--\n")
		}
		g.writeLines(prefix, e)
	}
	g.events++
	g.last = e.Path
	return nil
}

// writeLines writes a line, or the lines of a match that spans several.
func (g *grepPage) writeLines(name string, e grep.Event) {
	sep, pattern := byte(':'), g.plan.pattern
	if e.Kind == grep.KindContext {
		sep, pattern = '-', nil
	}
	rest := bytes.TrimSuffix(e.Text, []byte("\n"))
	for number, more := e.Line, true; more; number++ {
		var line []byte
		line, rest, more = bytes.Cut(rest, []byte("\n"))
		if !g.direct {
			g.text.WriteString(name)
			g.text.WriteByte(sep)
		}
		if g.plan.numbers {
			g.text.WriteString(strconv.Itoa(number))
			g.text.WriteByte(sep)
		}
		g.text.WriteString(clip(bytes.TrimSuffix(line, []byte("\r")), e.Truncated && !more, pattern))
		g.text.WriteByte('\n')
		g.lines++
	}
}

func (g *grepPage) output(s grep.Stats, timedOut bool, f *family) GrepOutput {
	plan := g.plan
	out := GrepOutput{Mode: plan.mode, Filenames: g.names, AppliedOffset: plan.offset, Notes: plan.notes}
	note := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != "" {
			out.Notes = append(out.Notes, text)
		}
	}
	shown, total, more := g.events, int(s.Events), s.LimitReached
	known := !timedOut && (plan.mode == Count || !g.full) // the totals are those of everything
	switch plan.mode {
	case FilesWithMatches:
		var kept []found
		kept, total = g.newest.sorted()
		kept = kept[min(plan.offset, len(kept)):]
		kept = kept[:min(len(kept), pageSize(plan.limit))]
		for _, k := range kept {
			out.Filenames = append(out.Filenames, relative(k.path, g.cwd))
		}
		shown = len(kept)
		more = plan.offset+shown < total
		out.TotalFiles = total
	case Content:
		out.Content, out.NumLines = g.text.String(), g.lines
		known = known && !more
		if known {
			out.TotalFiles, out.TotalLine = int(s.FilesMatched), total
		}
	case Count:
		out.Content = g.text.String()
		out.NumMatches, out.TotalLine, out.TotalFiles = int(s.Lines), int(s.Lines), int(s.FilesMatched)
	}
	if out.Filenames == nil {
		out.Filenames = []string{}
	}
	out.NumFiles = len(out.Filenames)
	more = more || g.full
	if more {
		out.AppliedLimit = plan.limit
	}

	noun := "file"
	if plan.mode == Content {
		noun = "line"
	}
	switch {
	case shown == 0 && total > 0:
		note("offset is %s, but there are only %s", grouped(plan.offset), counted(total, noun))
	case more:
		of := ""
		if known {
			of = " of " + grouped(total)
		}
		why := ""
		if g.full {
			why = fmt.Sprintf("the result is cut at %d MB; ", maxContentBytes>>20)
		}
		note("%sthese are %ss %s to %s%s; continue with offset=%d", why, noun, grouped(plan.offset+1), grouped(plan.offset+shown), of, plan.offset+shown)
	}
	if timedOut {
		note("the search timed out after %v, so there may be more; use a narrower path, glob or type", f.grepTimeout)
	}
	note("%s", unreadable(s.Unreadable+s.Walk.Unreadable, append(s.Walk.Errors, s.Errors...), g.cwd))
	if total == 0 && !timedOut {
		if s.Files == 0 && s.Walk.Filtered > 0 {
			note("no file was searched, since none fits glob and type; a glob with a slash is compared with the path below path")
		}
		if s.Binary > 0 {
			note("%s not searched; give one as path to search it", were(s.Binary, "binary file"))
		}
		note("%s", leftOut(s.Walk))
	}
	return out
}

func were(n int64, noun string) string {
	if n == 1 {
		return counted(n, noun) + " was"
	}
	return counted(n, noun) + " were"
}

// grepText is what the model reads.
func grepText(out GrepOutput) string {
	text := ""
	switch {
	case out.Mode == Content:
		text = out.Content
	case out.Mode == Count && len(out.Filenames) > 0:
		text = out.Content + fmt.Sprintf("\nFound %s in %s.", counted(out.NumMatches, "matching line"), counted(out.TotalFiles, "file"))
	case len(out.Filenames) > 0:
		text = "Found " + counted(max(out.TotalFiles, len(out.Filenames)), "file") + "\n" + list(out.Filenames)
	}
	switch {
	case text != "":
	case out.TotalFiles > 0 || out.TotalLine > 0:
		text = nothingAtOffset
	case out.Mode == FilesWithMatches:
		text = "No files found"
	default:
		text = "No matches found"
	}
	return withNotes(text, out.Notes)
}

func grepSummary(out GrepOutput) string {
	switch out.Mode {
	case Content:
		if out.TotalLine > out.NumLines {
			return fmt.Sprintf("%s of %s", grouped(out.NumLines), counted(out.TotalLine, "line"))
		}
		return counted(out.NumLines, "line")
	case Count:
		return strings.Join([]string{counted(out.NumMatches, "match"), counted(out.TotalFiles, "file")}, " in ")
	}
	return counted(max(out.TotalFiles, out.NumFiles), "file")
}
