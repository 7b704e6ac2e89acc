package permission

import (
	"context"
	"fmt"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/tool"
)

// safety holds the checks that no mode, rule or hook passes without a person.
func (d *decider) safety(context.Context) (tool.Verdict, bool) {
	for i := range d.parts {
		p := &d.parts[i]
		why, refused := d.danger(p)
		if why == "" {
			continue
		}
		reason := tool.Reason{Phase: phasePermit, Layer: tool.LayerSafety, Message: p.what() + ": " + why}
		p.Behavior, p.Reason = tool.Ask, reason
		if refused {
			p.Behavior = tool.Deny
			reason.Message = fmt.Sprintf("Refused: %s: %s.", p.what(), why)
			p.Reason = reason
		}
		d.step(tool.LayerSafety, p.Behavior, p.what()+": "+why)
		return tool.Verdict{Behavior: p.Behavior, Reason: reason}, true
	}
	d.step(tool.LayerSafety, "", "nothing protected is touched")
	return tool.Verdict{}, false
}

// danger says why a part needs a person, and whether even a person is not asked.
func (d *decider) danger(p *part) (why string, refused bool) {
	switch p.Kind {
	case PartCommand:
		return d.commandDanger(p)
	case PartRead:
		if why := d.copyDanger(p); why != "" {
			return why, false
		}
		return d.outsideBlock(p, d.e.flags.blockReads, "reads", "blockReadsOutsideWorkingDirectories")
	case PartWrite, PartRemove:
		if why := d.writeDanger(p); why != "" {
			return why, false
		}
		return d.outsideBlock(p, d.e.flags.blockWrites, "writes", "blockWritesOutsideWorkingDirectories")
	}
	return "", false
}

func (d *decider) commandDanger(p *part) (string, bool) {
	const unproven = "it cannot be shown that it reads inside the working directories only (blockReadsOutsideWorkingDirectories)"
	proof := d.e.flags.blockReads && !d.call.Sandboxed()
	if p.ps != nil {
		if why, refused := d.psDanger(p.ps); why != "" {
			return why, refused
		}
		if proof && (!p.ps.readOnly || !p.understood()) {
			return unproven, false
		}
		return "", false
	}
	c := p.command
	if c == nil {
		if proof && !p.understood() {
			return unproven, false
		}
		return "", false
	}
	switch {
	case c.Critical != "":
		return c.Critical + "; such a removal always needs a person", false
	case c.KillsRuntime != "":
		return c.KillsRuntime, false
	}
	if proof && (c.UnknownReads && !d.fedByFind(p) || !c.ReadOnly && !c.FileCommand && !p.moves && !p.runsListed()) {
		return unproven, false
	}
	return "", false
}

// writeDanger tells protected and critical paths, by every spelling.
func (d *decider) writeDanger(p *part) string {
	scope := pathrule.Scope{Cwd: d.at.Cwd, Home: d.at.Home}
	for _, r := range d.roots {
		scope.Roots = append(scope.Roots, r.Real)
	}
	for _, r := range p.paths {
		for _, path := range append([]string{r.Given, r.Real}, r.Via...) {
			if yes, why := pathrule.Protected(path, d.p.cfg.SettingsDirs...); yes {
				return why + "; a write to it always needs a person"
			}
			if p.Kind == PartRemove && (!p.tree || p.owner < 0 || d.parts[p.owner].command.FileCommand) {
				// Other commands may remove a part only of what is below a folder.
				if yes, why := pathrule.Critical(path, scope, false); yes {
					return why + "; its removal always needs a person"
				}
			}
		}
	}
	return ""
}

// copyDanger tells that a tree that a file command copies or moves holds
// protected names, which would come to lie somewhere else.
func (d *decider) copyDanger(p *part) string {
	if !p.tree || p.owner < 0 || p.problem != "" {
		return ""
	}
	c := d.parts[p.owner].command
	if c == nil || !c.FileCommand || len(c.Writes) == 0 {
		return ""
	}
	for _, r := range p.paths {
		found, all := protectedBelow(r.Real)
		if found != "" {
			return "it holds " + d.show(found) + ", which is protected; to copy or move it always needs a person"
		}
		if !all && d.mode != ModeBypass {
			return fmt.Sprintf("it holds more than %d files, too many to look for protected ones", maxTreeEntries)
		}
	}
	return ""
}

// outsideBlock applies the settings that keep calls inside the working
// directories: a refusal for a tool's own files, a question for commands.
func (d *decider) outsideBlock(p *part, on bool, verb, key string) (string, bool) {
	if !on || p.Kind == PartRead && (d.isResult(p) || d.handedOn(p)) {
		return "", false
	}
	if p.inRoots {
		if why := d.leadsOut(p); p.Kind == PartRead && why != "" {
			return why + ", and the settings block reads there (" + key + ")", false
		}
		return "", false
	}
	return fmt.Sprintf("the settings block %s outside the working directories (%s)", verb, key), p.owner < 0
}

// isResult tells whether all paths lie in the session's folder of large results.
func (d *decider) isResult(p *part) bool {
	if d.results == "" || len(p.paths) == 0 || p.problem != "" || p.placeless {
		return false
	}
	root, ok := d.p.resolveRoot(d.results)
	if !ok {
		return false
	}
	for i := range p.paths {
		if !p.paths[i].Inside(root) {
			return false
		}
	}
	return true
}

// helpers tells which programs a repository's configuration would make a git
// command run.
func (d *decider) helpers(c *shellscan.Command) string {
	if c.Git == nil {
		return ""
	}
	if !c.Git.DirKnown {
		return "it cannot be told in which repository git would run"
	}
	for _, dir := range c.Git.Dirs {
		if runs, key := d.p.cfg.RunsHelpers(dir); runs {
			return "the configuration of the repository makes git run " + orElse(key, "programs")
		}
	}
	return ""
}
