package permission

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
)

// What a command reaches beyond the paths that it names: by links in a tree that
// it reads, by names that another command of the pipeline hands to it.

// maxReachEntries bounds the entries of a tree that are looked at for links and
// odd names.
const maxReachEntries = 20_000

// leadsOut says why reading a tree may reach files outside the working
// directories, or "".
func (d *decider) leadsOut(p *part) string {
	if !p.tree || p.owner < 0 || d.listed(p) || !followsLinks(d.parts[p.owner].command) {
		return ""
	}
	for i := range p.paths {
		if why := d.survey(p.paths[i].Real, nil, false); why != "" {
			return why
		}
	}
	return ""
}

// followsLinks tells whether a command that reads a tree may follow the links in it.
func followsLinks(c *shellscan.Command) bool {
	if c == nil || len(c.Run) == 0 || c.Nesting&shellscan.InString != 0 {
		return true // the names come from find
	}
	flags := func(short, long string) bool {
		return slices.ContainsFunc(c.Run[1:], func(w shellscan.Word) bool {
			text := w.Text
			return w.Known != shellscan.Literal || strings.HasPrefix(text, long) ||
				strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.Contains(text, short)
		})
	}
	switch baseName(c.Run[0].Text) {
	case "grep", "egrep", "fgrep":
		return flags("R", "--de")
	case "rg":
		return flags("L", "--fo")
	case "git":
		return false
	}
	return true
}

// oddInNames are the characters that make xargs read one name as several, or as
// another.
const oddInNames = " \t\r\n\v\f'\"\\"

// survey looks below a folder for links that lead out of the working
// directories. With a filter only entries whose names pass it count, and their
// paths must be one plain word unless anyName is set. It says what it found, or that it could not look
// at everything.
func (d *decider) survey(dir string, filter func(name string) bool, anyName bool) (why string) {
	left := maxReachEntries
	var walk func(dir string, odd bool)
	walk = func(dir string, odd bool) {
		err := eachEntry(dir, func(e os.DirEntry) bool {
			path := filepath.Join(dir, e.Name())
			odd := odd || strings.ContainsAny(e.Name(), oddInNames)
			counts := filter == nil || filter(e.Name())
			left--
			switch {
			case left < 0:
				why = fmt.Sprintf("it holds more than %d files, too many to look for links that lead out", maxReachEntries)
			case counts && odd && filter != nil && !anyName:
				why = fmt.Sprintf("the name %s is not one word, and may be read as others", clipText(d.show(path)))
			case counts && e.Type()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
				if r, err := pathrule.Resolve(path, d.at.Cwd, d.at.Home); err != nil || !d.insideAll([]pathrule.Resolved{r}) {
					why = "the link " + clipText(d.show(path)) + " in it leads out of the working directories"
				}
			case e.IsDir():
				walk(path, odd)
			}
			return why == ""
		})
		if err != nil && why == "" {
			why = "its files cannot be listed"
		}
	}
	walk(dir, false)
	return why
}

// nameFilter tells which names a find can print: those that pass its -name,
// where nothing in the expression makes that one choice of several.
func nameFilter(words []shellscan.Word) func(string) bool {
	all := func(string) bool { return true }
	pattern := ""
	for i, w := range words {
		switch w.Text {
		case "-o", "-or", ",", "(", ")":
			return all
		case "-name":
			if i+1 < len(words) && i > 0 && words[i-1].Text != "!" && words[i-1].Text != "-not" {
				pattern = strings.ReplaceAll(words[i+1].Text, "[!", "[^")
			}
		}
	}
	if _, err := filepath.Match(pattern, ""); err != nil || pattern == "" {
		return all
	}
	return func(name string) bool {
		ok, err := filepath.Match(pattern, name)
		return ok || err != nil
	}
}

// fedByFind tells whether the names that a command gets on its input are those
// of a tree in the working directories: "find DIR ... | xargs COMMAND", as a
// line of its own, where the files found have plain names and lead nowhere else.
func (d *decider) fedByFind(p *part) bool {
	script := p.subject.script
	if script == nil || script.Class != shellscan.Simple {
		return false
	}
	// The line must be these commands and bars, so that it is certain what feeds what.
	var stages []int
	var texts []string
	at, inner := -1, 0
	for i := 0; i < len(script.Commands); i++ {
		c := &script.Commands[i]
		if p.index >= i && p.index <= i+c.Inner && at < 0 {
			at, inner = len(stages), c.Inner
		}
		stages = append(stages, i)
		texts = append(texts, c.Source)
		i += c.Inner
	}
	if at < 1 || inner > 1 || strings.Join(texts, " | ") != strings.TrimSpace(script.Source) {
		return false
	}
	last := &script.Commands[stages[at]]
	nul, plain := xargsReads(last)
	if !plain || hasBeyond(last) || !literal(last) || nul && at > 1 {
		return false
	}
	for i := at - 1; i > 0; i-- {
		if !passesNames(&script.Commands[stages[i]]) {
			return false
		}
	}
	return d.plainFind(p.first+stages[0], &script.Commands[stages[0]], nul)
}

// xargsReads tells how an xargs takes words from its input: whether they are
// separated by NUL, and that nothing else changes what they are.
func xargsReads(c *shellscan.Command) (nul, plain bool) {
	if len(c.Wrappers) != 1 || c.Wrappers[0].Name != "xargs" || c.Argv[0].Text != "xargs" {
		return false, false
	}
	own := c.Wrappers[0].Args
	for i := 1; i < len(own); i++ {
		switch t := own[i].Text; t {
		case "-0", "--null", "-0r", "-r0":
			nul = true
		case "-r", "--no-run-if-empty", "-x", "--exit", "-t", "--verbose":
		case "-n", "-P", "-L", "-I", "--max-args", "--max-procs":
			i++
		default:
			if len(t) < 3 || t[0] != '-' || strings.IndexByte("nPLI", t[1]) < 0 {
				return false, false
			}
		}
	}
	return nul, true
}

// handedOn tells that a path stands for the names that find hands to a command.
func (d *decider) handedOn(p *part) bool {
	if !p.placeless || len(p.paths) > 0 || p.owner < 0 || d.parts[p.owner].command == nil {
		return false
	}
	return p.Text == inputMark(d.parts[p.owner].command) && d.fedByFind(&d.parts[p.owner])
}

// inputMark is the word that stands for the names from the input: what xargs -I
// names, and otherwise none, as they follow the other words.
func inputMark(c *shellscan.Command) string {
	if len(c.Wrappers) == 0 {
		return ""
	}
	own := c.Wrappers[0].Args
	for i := 1; i < len(own); i++ {
		if t := own[i].Text; t == "-I" && i+1 < len(own) {
			return own[i+1].Text
		} else if strings.HasPrefix(t, "-I") {
			return t[2:]
		}
	}
	return ""
}

func hasBeyond(c *shellscan.Command) bool {
	return len(c.Assigns) > 0 || len(c.Redirs) > 0 || c.UnknownWrites || c.RunsUnknown || len(c.Writes)+len(c.Removes) > 0
}

// passesNames tells that a command prints some of its input lines as they are.
func passesNames(c *shellscan.Command) bool {
	if !c.ReadOnly || len(c.Reads) > 0 || c.UnknownReads || hasBeyond(c) || len(c.Wrappers) > 0 {
		return false
	}
	options := strings.Builder{}
	for _, w := range c.Run[1:] {
		if w.Known != shellscan.Literal || strings.HasPrefix(w.Text, "--") {
			return false
		}
		if strings.HasPrefix(w.Text, "-") {
			options.WriteString(w.Text)
		}
	}
	switch c.Run[0].Text {
	case "head", "tail":
		return !strings.ContainsAny(options.String(), "cfF")
	case "sort":
		return !strings.ContainsAny(options.String(), "zoTST")
	case "grep":
		return !strings.ContainsAny(options.String(), "oclLqnHbZrRfABC")
	}
	return false
}

// plainFind tells that a command is a find that prints names below folders of
// the working directories, and that these are what they look like.
// With nul they are separated by NUL, so that they may hold blanks.
func (d *decider) plainFind(at int, c *shellscan.Command, nul bool) bool {
	if !c.ReadOnly || len(c.Run) == 0 || c.Run[0].Text != "find" || len(c.Wrappers) > 0 || hasBeyond(c) || c.UnknownReads || c.Inner > 0 || len(c.Reads) == 0 {
		return false
	}
	prints := false
	for _, w := range c.Run[1:] {
		if w.Known != shellscan.Literal {
			return false
		}
		switch w.Text {
		case "-print0":
			prints = true
		case "-printf", "-L", "-H", "-follow", "-files0-from", "-ls":
			return false
		}
	}
	if prints != nul {
		return false
	}
	filter := nameFilter(c.Run[1:])
	for i := range d.parts {
		p := &d.parts[i]
		if p.owner != at {
			continue
		}
		if !p.inRoots || p.placeless || !nul && strings.ContainsAny(p.plain, oddInNames) {
			return false
		}
		for j := range p.paths {
			if d.survey(p.paths[j].Real, filter, nul) != "" {
				return false
			}
		}
	}
	return true
}
