package shell

import (
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/atomicfile"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/tool"
)

// watched is a file that a command shows, as it was before the command ran.
type watched struct {
	real string
	info fs.FileInfo
	view tool.FileView // which part is shown
}

// watchReads recognises a command that does nothing but show one file.
func watchReads(m *meaning, env *tool.Env) *watched {
	if env.Files == nil || !m.readOnly || len(m.script.Commands) != 1 {
		return nil
	}
	c := &m.script.Commands[0]
	if c.Nesting != 0 || len(c.Wrappers) > 0 || len(c.Assigns) > 0 || c.UnknownReads || len(c.Reads) != 1 || len(c.Writes) > 0 {
		return nil
	}
	for i := range c.Redirs {
		if c.Redirs[i].Fd != "2" {
			return nil
		}
	}
	p := c.Reads[0]
	if p.Known != shellscan.Literal || p.Tree {
		return nil
	}
	w := &watched{}
	switch program(c) {
	case "cat", "nl":
	case "head":
		w.view = tool.FileView{Partial: true, Offset: 1, Limit: lineCount(c)}
	case "tail", "grep", "egrep", "fgrep":
		w.view = tool.FileView{Partial: true, Offset: 1, Limit: 1}
	case "sed":
		from, to, ok := sedRange(c)
		if !ok {
			return nil
		}
		w.view = tool.FileView{Partial: true, Offset: from, Limit: to - from + 1}
	default:
		return nil
	}
	var err error
	if w.real, err = atomicfile.Resolve(p.Raw); err != nil {
		return nil
	}
	if w.info, err = os.Lstat(w.real); err != nil || !w.info.Mode().IsRegular() || w.info.Size() > MaxReadFile {
		return nil
	}
	return w
}

// lineCount is the count of head, which shows 10 lines by itself.
func lineCount(c *shellscan.Command) int {
	for _, w := range c.Run[1:] {
		if n, err := strconv.Atoi(strings.TrimLeft(w.Text, "-n=lies")); err == nil && n > 0 {
			return n
		}
	}
	return 10
}

// sedRange reads sed -n 'X,Yp' FILE.
func sedRange(c *shellscan.Command) (from, to int, ok bool) {
	if len(c.Run) != 4 || c.Run[1].Text != "-n" {
		return 0, 0, false
	}
	lines, ok := strings.CutSuffix(c.Run[2].Text, "p")
	if !ok {
		return 0, 0, false
	}
	a, b, ranged := strings.Cut(lines, ",")
	from, err := strconv.Atoi(a)
	to = from
	if err == nil && ranged {
		to, err = strconv.Atoi(b)
	}
	return from, to, err == nil && from >= 1 && to >= from
}

// recordReads notes what a command showed whole, if the file is still as it was
// before: then what was shown is what is there.
func recordReads(w *watched, out BashOutput, env *tool.Env) {
	if w == nil || out.ExitCode != 0 || out.PersistedOutputPath != "" || out.IsImage || out.Stdout == "" {
		return
	}
	file, err := os.Open(w.real)
	if err != nil {
		return
	}
	defer file.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(file, MaxReadFile+1))
	info, statErr := file.Stat()
	if err != nil || statErr != nil || n != w.info.Size() || !os.SameFile(info, w.info) ||
		info.Size() != w.info.Size() || !info.ModTime().Equal(w.info.ModTime()) {
		return
	}
	v := w.view
	v.Size, v.ModTime = n, info.ModTime()
	h.Sum(v.Hash[:0])
	if old, ok := env.Files.Get(w.real); ok && old.Hash == v.Hash && v.Partial && !old.Partial {
		return // more is known already
	}
	env.Files.Put(w.real, v)
}
