package permission

import (
	"path/filepath"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/tool"
)

// Kinds of parts.
const (
	PartTool    = "tool"
	PartCommand = "command"
	PartRead    = "read"
	PartWrite   = "write"
	PartRemove  = "remove"
	PartAddress = "address"
	PartName    = "name"
)

// Part is one thing that a call does, judged on its own.
type Part struct {
	Kind     string        `json:"kind"`
	Text     string        `json:"text"` // the command, path, address or name
	Behavior tool.Behavior `json:"behavior"`
	Reason   tool.Reason   `json:"reason"`
}

// part is a Part with what judging it needs.
type part struct {
	Part
	subject *subject
	family  string
	owner   int // index of the command part that a path belongs to; -1

	// commands
	command *shellscan.Command
	first   int // index of the first command part of the same line
	index   int // index in the line's commands
	rule    *compiledRule
	wide    bool // the rule covers the whole of what the command does
	ps      *psCommand
	moves   bool // it only changes the directory, which is a part of its own

	// paths
	paths     []pathrule.Resolved
	placeless bool // some of what is meant cannot be told
	tree      bool
	inRoots   bool
	redirect  bool
	problem   string // why the path cannot be followed
	plain     string // absolute and clean, for suggestions

	host string // addresses
	args string // names
}

func (p *part) writes() bool { return p.Kind == PartWrite || p.Kind == PartRemove }
func (p *part) isPath() bool { return p.Kind == PartRead || p.writes() }

// subject is one subject of the call, taken apart.
type subject struct {
	tool.Subject
	line    string            // commands: the whole line
	unclear string            // why the line is not understood; "" when it is
	invalid bool              // it cannot be parsed at all
	exact   *compiledRule     // an allow rule for exactly this line
	looked  bool              // exact has been looked for
	script  *shellscan.Script // commands of a POSIX shell
}

// collect breaks the call into parts.
func (d *decider) collect() {
	subjects := d.req.Subjects
	if subjects == nil {
		var err error
		if subjects, err = d.call.Subjects(); err != nil {
			d.unclear = err.Error()
		}
	}
	for i := range subjects {
		s := &subject{Subject: subjects[i]}
		switch s.Kind {
		case tool.SubjectPath:
			kind := PartRead
			if s.Family != tool.FamilyRead {
				kind = PartWrite
			}
			d.addPath(s, kind, -1, shellscan.Path{Text: d.at.Abs(s.Value), Raw: s.Value, Known: shellscan.Literal})
		case tool.SubjectCommand:
			d.addLine(s)
		case tool.SubjectURL:
			p := part{Part: Part{Kind: PartAddress, Text: s.Value}, subject: s, family: s.Family, owner: -1}
			host, err := hostOf(s.Value)
			if err != nil {
				p.problem = err.Error()
			}
			p.host = host
			d.parts = append(d.parts, p)
		case tool.SubjectName:
			d.parts = append(d.parts, part{Part: Part{Kind: PartName, Text: s.Value}, subject: s, family: s.Family, owner: -1, args: s.Args})
		default:
			d.parts = append(d.parts, part{Part: Part{Kind: PartTool, Text: d.call.Name()}, subject: s, family: s.Family, owner: -1})
		}
	}
	if len(d.parts) == 0 {
		d.parts = append(d.parts, part{Part: Part{Kind: PartTool, Text: d.call.Name()}, subject: &subject{}, owner: -1})
	}
}

// addLine adds the commands of a line and the files they work on.
func (d *decider) addLine(s *subject) {
	s.line = s.Value
	if s.Family == familyPowerShell {
		d.addPowerShell(s)
		return
	}
	first := len(d.parts)
	if s.Family != familyBash {
		s.unclear = "commands of " + s.Family + " cannot be read here"
		d.parts = append(d.parts, part{Part: Part{Kind: PartCommand, Text: s.Value}, subject: s, family: s.Family, owner: -1, first: first})
		return
	}
	script := shellscan.Scan(s.Value, shellscan.Options{Cwd: d.at.Cwd, Home: d.at.Home, InRoots: d.insideText})
	s.script = script
	if script.Class != shellscan.Simple {
		s.unclear, s.invalid = script.Why, script.Class == shellscan.Invalid
		if s.unclear == "" {
			s.unclear = "it is not understood"
		}
	}
	for i := range script.Commands {
		c := &script.Commands[i]
		text := c.Source
		if text == "" && len(c.Redirs) > 0 {
			text = c.Redirs[0].Op + " " + c.Redirs[0].Target.Source
		}
		d.parts = append(d.parts, part{Part: Part{Kind: PartCommand, Text: text}, subject: s, family: s.Family,
			owner: -1, command: c, first: first, index: i})
	}
	if len(script.Commands) == 0 && s.unclear == "" {
		// Nothing but comments or blanks.
		d.parts = append(d.parts, part{Part: Part{Kind: PartCommand, Text: s.Value}, subject: s, family: s.Family, owner: -1, first: first})
	}
	commands := len(script.Commands)
	for i := range commands {
		c := &script.Commands[i]
		for j := range c.Reads {
			d.addPath(s, PartRead, first+i, c.Reads[j])
		}
		for j := range c.Writes {
			d.addPath(s, PartWrite, first+i, c.Writes[j])
		}
		for j := range c.Removes {
			d.addPath(s, PartRemove, first+i, c.Removes[j])
		}
		if target := leadsTo(c); target != "" {
			d.parts[first+i].moves = true
			d.addPath(s, PartRead, first+i, shellscan.Path{Text: filepath.Clean(target), Raw: target, Known: shellscan.Literal, Tree: true})
		}
	}
	if s.unclear != "" {
		d.parts = append(d.parts, part{Part: Part{Kind: PartCommand, Text: s.Value}, subject: s, family: s.Family, owner: -1, first: first})
	}
}

// leadsTo gives the directory that a command only changes to, where that is not
// already known to be harmless: to go there is to read it.
func leadsTo(c *shellscan.Command) string {
	if c.ReadOnly || len(c.Run) != 2 || c.Run[0].Text != "cd" || len(c.Argv) != 2 || len(c.Redirs) > 0 || len(c.Assigns) > 0 || !c.DirKnown {
		return ""
	}
	w := c.Run[1]
	switch {
	case w.Known != shellscan.Literal || w.Text == "" || strings.HasPrefix(w.Text, "-"):
		return ""
	case filepath.IsAbs(w.Text):
		return w.Text
	}
	return c.Dir + "/" + w.Text
}

// addPath adds a file that is read, written or removed.
func (d *decider) addPath(s *subject, kind string, owner int, path shellscan.Path) {
	p := part{Part: Part{Kind: kind, Text: d.show(path.Text)}, subject: s, owner: owner, tree: path.Tree}
	if owner >= 0 {
		p.redirect = isRedirect(d.parts[owner].command, path, kind)
	}
	switch {
	case path.Known == shellscan.Literal:
		spelling := path.Raw
		if spelling == "" {
			spelling = path.Text
		}
		p.plain = path.Text
		d.resolve(&p, spelling)
		p.inRoots = p.problem == "" && d.insideAll(p.paths)
	case path.Base != "":
		d.resolve(&p, path.Base)
		p.plain = path.Base
		p.inRoots = p.problem == "" && d.insideAll(p.paths)
		p.placeless = true
		if path.Glob && p.problem == "" {
			d.expand(&p, path.Base, path.Text)
		}
	default:
		p.placeless = true
	}
	d.parts = append(d.parts, p)
}

func (d *decider) resolve(p *part, spelling string) {
	r, err := pathrule.Resolve(spelling, d.at.Cwd, d.at.Home)
	if err != nil {
		p.problem = err.Error()
	}
	if r.Given != "" {
		p.paths = append(p.paths, r)
	}
}

func isRedirect(c *shellscan.Command, path shellscan.Path, kind string) bool {
	if c == nil {
		return false
	}
	for i := range c.Redirs {
		r := &c.Redirs[i]
		if kind == PartRead && !r.Reads || kind == PartWrite && !r.Writes {
			continue
		}
		for j := range r.Paths {
			if r.Paths[j] == path {
				return true
			}
		}
	}
	return false
}

// insideText is the quick answer for absolute, clean paths, without links.
func (d *decider) insideText(path string) bool {
	for i := range d.roots {
		if pathrule.Inside(d.roots[i].Given, path) || pathrule.Inside(d.roots[i].Real, path) {
			return true
		}
	}
	return false
}

// insideAll tells whether all paths lie in working directories, links followed.
func (d *decider) insideAll(paths []pathrule.Resolved) bool {
	for i := range paths {
		if !d.inside(paths[i]) {
			return false
		}
	}
	return len(paths) > 0
}

func (d *decider) inside(r pathrule.Resolved) bool {
	for i := range d.roots {
		if r.Inside(d.roots[i]) {
			return true
		}
	}
	return false
}

// show writes a path as short as a person would.
func (d *decider) show(path string) string {
	if d.at.Cwd != "" && pathrule.Inside(d.at.Cwd, path) {
		if rel, err := filepath.Rel(d.at.Cwd, path); err == nil {
			return rel
		}
	}
	if d.at.Home != "" && d.at.Home != "/" && pathrule.Inside(d.at.Home, path) {
		return "~" + path[len(d.at.Home):]
	}
	return path
}
