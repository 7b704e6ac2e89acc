package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/tool"
)

// PowerShell command lines are split by a tokenizer that knows words, plain
// quotes and the separators of statements. Whatever else a line holds is not
// understood: then deny and ask rules are compared with what can be told, and
// the line is asked.

// psCommand is one command of a line.
type psCommand struct {
	source   string
	words    []string // the cmdlet in its canonical name, lower case, first
	text     string   // the words joined
	name     string   // the cmdlet as rules write it
	readOnly bool
}

// psAliases are the names under which common cmdlets are also called.
var psAliases = map[string]string{
	"gci": "Get-ChildItem", "ls": "Get-ChildItem", "dir": "Get-ChildItem",
	"gc": "Get-Content", "cat": "Get-Content", "type": "Get-Content",
	"gi": "Get-Item", "gp": "Get-ItemProperty", "gl": "Get-Location", "pwd": "Get-Location",
	"ri": "Remove-Item", "rm": "Remove-Item", "del": "Remove-Item", "erase": "Remove-Item", "rd": "Remove-Item", "rmdir": "Remove-Item",
	"cpi": "Copy-Item", "cp": "Copy-Item", "copy": "Copy-Item", "mi": "Move-Item", "mv": "Move-Item", "move": "Move-Item",
	"ni": "New-Item", "md": "New-Item", "mkdir": "New-Item", "rni": "Rename-Item", "ren": "Rename-Item",
	"sc": "Set-Content", "ac": "Add-Content", "clc": "Clear-Content", "sl": "Set-Location", "cd": "Set-Location", "chdir": "Set-Location",
	"sls": "Select-String", "select": "Select-Object", "sort": "Sort-Object", "where": "Where-Object", "foreach": "ForEach-Object", "measure": "Measure-Object",
	"iex": "Invoke-Expression", "icm": "Invoke-Command", "iwr": "Invoke-WebRequest", "curl": "Invoke-WebRequest", "wget": "Invoke-WebRequest",
	"irm": "Invoke-RestMethod", "saps": "Start-Process", "start": "Start-Process", "spps": "Stop-Process", "kill": "Stop-Process",
	"ps": "Get-Process", "gps": "Get-Process", "echo": "Write-Output", "write": "Write-Output", "h": "Get-History", "cls": "Clear-Host", "clear": "Clear-Host",
}

// Cmdlets by what they do with the paths in their words.
var (
	psReaders = []string{"get-childitem", "get-content", "get-item", "test-path", "resolve-path", "select-string", "get-filehash"}
	psQuiet   = []string{"get-location", "get-date", "get-process", "write-output", "get-command", "get-help", "measure-object", "sort-object", "select-object"}
	psWriters = []string{"set-content", "add-content", "clear-content", "new-item", "copy-item", "move-item", "rename-item", "out-file"}
	psEdits   = []string{"set-content", "add-content", "clear-content", "remove-item"} // what acceptEdits lets through
)

const psRemove = "remove-item"

// addPowerShell adds the commands of a PowerShell line.
func (d *decider) addPowerShell(s *subject) {
	s.exact = nil
	commands, why := psSplit(s.Value)
	if why == "" && len(commands) > 1 && slices.ContainsFunc(commands, psCommand.moves) {
		why = "it changes the directory"
	}
	s.unclear = why
	first := len(d.parts)
	for i := range commands {
		c := commands[i]
		d.parts = append(d.parts, part{Part: Part{Kind: PartCommand, Text: c.source}, subject: s, family: s.Family, owner: -1, ps: &c, first: first, index: i})
	}
	for i := range commands {
		d.addPSPaths(s, first+i, &commands[i])
	}
	if why != "" || len(commands) == 0 {
		d.parts = append(d.parts, part{Part: Part{Kind: PartCommand, Text: s.Value}, subject: s, family: s.Family, owner: -1, first: first})
	}
}

func (d *decider) addPSPaths(s *subject, owner int, c *psCommand) {
	kinds := []string{}
	switch {
	case slices.Contains(psReaders, c.words[0]):
		kinds = append(kinds, PartRead)
	case slices.Contains(psWriters, c.words[0]):
		kinds = append(kinds, PartWrite)
		if c.words[0] == "copy-item" || c.words[0] == "move-item" {
			kinds = append(kinds, PartRead)
		}
	case c.words[0] == psRemove:
		kinds = append(kinds, PartRemove)
	}
	for _, w := range psArguments(c.source) {
		for _, kind := range kinds {
			path := shellscan.Path{Text: w, Known: shellscan.Unknown}
			if !strings.ContainsAny(w, "*?[") {
				path = shellscan.Path{Text: d.at.Abs(w), Raw: w, Known: shellscan.Literal, Tree: kind == PartRead}
			}
			d.addPath(s, kind, owner, path)
		}
	}
}

// psSplit cuts a line into commands. why is not empty where something in it is
// not understood; the commands are then a guess, good for closing rules only.
func psSplit(line string) (commands []psCommand, why string) {
	var words []string
	var word strings.Builder
	started, start := false, 0
	unsure := func(s string) {
		if why == "" {
			why = s
		}
	}
	endWord := func() {
		if started {
			words = append(words, word.String())
		}
		word.Reset()
		started = false
	}
	endCommand := func(end, next int) {
		endWord()
		if len(words) > 0 {
			commands = append(commands, newPSCommand(strings.TrimSpace(line[start:end]), words))
		}
		words, start = nil, next
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == ' ' || c == '\t':
			endWord()
		case c == ';' || c == '\n' || c == '\r' || c == '|' || c == '&':
			if c == '&' && i+1 < len(line) && line[i+1] != '&' && (i == 0 || line[i-1] != '&') {
				unsure("& runs something in another way")
			}
			endCommand(i, i+1)
		case c == '\'' || c == '"':
			end := strings.IndexByte(line[i+1:], c)
			if end < 0 {
				unsure("a quote is not closed")
				end = len(line) - i - 1
			}
			text := line[i+1 : i+1+end]
			if c == '"' && strings.ContainsAny(text, "$`") {
				unsure("text in double quotes is computed")
			}
			word.WriteString(text)
			started = true
			i += end + 1
		case strings.IndexByte("(){}", c) >= 0:
			unsure("it holds expressions or script blocks")
			endCommand(i, i+1)
		case strings.IndexByte("$`@<>#%", c) >= 0:
			unsure(fmt.Sprintf("the meaning of %q cannot be told", c))
			word.WriteByte(c)
			started = true
		case c == 0 || c >= 0x80:
			unsure("it holds characters that PowerShell may take for others")
			word.WriteByte(c)
			started = true
		default:
			word.WriteByte(c)
			started = true
		}
	}
	endCommand(len(line), len(line))
	return commands, why
}

// moves tells whether a command changes the directory.
func (c psCommand) moves() bool {
	switch c.words[0] {
	case "set-location", "push-location", "pop-location", "pushd", "popd":
		return true
	}
	return len(c.words[0]) == 2 && c.words[0][1] == ':'
}

func newPSCommand(source string, words []string) psCommand {
	name := words[0]
	lower := strings.TrimSuffix(strings.ToLower(name), ".exe")
	if full, ok := psAliases[lower]; ok {
		name = full
	}
	switch lower {
	case "cd..", `cd\`, "cd~":
		name = "Set-Location"
	}
	c := psCommand{source: source, name: name, words: slices.Clone(words)}
	c.words[0] = strings.ToLower(name)
	c.text = strings.ToLower(strings.Join(c.words, " "))
	c.readOnly = slices.Contains(psReaders, c.words[0]) || slices.Contains(psQuiet, c.words[0])
	return c
}

// psArguments gives the words that may be paths: all that are no parameter.
func psArguments(source string) []string {
	commands, _ := psSplit(source)
	if len(commands) == 0 {
		return nil
	}
	var out []string
	for _, w := range commands[0].words[1:] {
		w = strings.ReplaceAll(w, `\`, "/") // PowerShell takes either for a separator, everywhere
		if strings.HasPrefix(w, "-") {
			if _, value, ok := strings.Cut(w, ":"); ok && value != "" {
				out = append(out, value)
			}
			continue
		}
		for _, item := range strings.Split(w, ",") {
			if item != "" {
				out = append(out, item)
			}
		}
	}
	return out
}

// psRule finds a scoped rule for a command. The first words of rules are
// canonical too, so that a rule for an alias speaks of the cmdlet.
func (s *ruleSet) psRule(c *psCommand) *compiledRule {
	f := s.scoped[familyPowerShell]
	if f == nil {
		return nil
	}
	original := strings.ToLower(strings.Join(strings.Fields(unquote(c.source)), " "))
	try := func(rules []*compiledRule) *compiledRule {
		for _, r := range rules {
			if r.command.matches(c.text) || s.behavior != tool.Allow && r.command.matches(original) {
				return r
			}
		}
		return nil
	}
	for _, word := range []string{c.words[0], firstWord(original, true)} {
		if r := try(f.byWord[word]); r != nil {
			return r
		}
	}
	return try(f.loose)
}

// canonicalPS writes the cmdlet of a rule in its canonical name.
func canonicalPS(spec string) string {
	end := strings.IndexAny(spec, " *:")
	if end < 0 {
		end = len(spec)
	}
	if full, ok := psAliases[strings.ToLower(spec[:end])]; ok && (end == len(spec) || spec[end] != '*') {
		return full + spec[end:]
	}
	return spec
}

// psDanger: removals that no rule allows. Wildcards and the system's own folders
// are refused outright.
func (d *decider) psDanger(c *psCommand) (string, bool) {
	if c.words[0] != psRemove {
		return "", false
	}
	for _, w := range psArguments(c.source) {
		if w == "*" || strings.HasSuffix(w, "/*") {
			return "it removes by a wildcard", true
		}
		if yes, why := pathrule.Critical(d.at.Abs(w), pathrule.Scope{Home: d.at.Home}, false); yes {
			return why, true
		}
	}
	return "", false
}

func (d *decider) judgePowerShell(p *part) {
	c := p.ps
	if !p.understood() {
		p.unanswered("the command cannot be understood in full (" + p.subject.unclear + ")")
		return
	}
	if r := d.usable(d.e.allow.psRule(c)); r != nil {
		p.allow(r, false)
		return
	}
	switch {
	case c.readOnly:
		p.allowed(tool.LayerDefault, "read-only command")
	case d.mode == ModeAcceptEdits && slices.Contains(psEdits, c.words[0]) && !strings.ContainsAny(c.source, `'"`):
		p.allowed(tool.LayerMode, "acceptEdits allows file commands inside the working directories")
	default:
		p.unanswered(p.what() + " is allowed by no rule")
	}
}

func (c *psCommand) suggest() (rule, covers string) {
	if strings.ContainsAny(c.name, "()*\n") || interpreter(strings.ToLower(c.name)) || strings.HasPrefix(c.words[0], "invoke-") || c.words[0] == "start-process" || c.words[0] == "foreach-object" {
		return fmt.Sprintf("%s(%s)", familyPowerShell, escapeStars(c.source)), "exactly the command " + c.source
	}
	return fmt.Sprintf("%s(%s *)", familyPowerShell, c.name), c.name + " with any arguments"
}
