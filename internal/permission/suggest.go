package permission

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/tool"
)

// interpreter tells the programs that run what they are given: a prefix rule for one covers
// anything at all.
func interpreter(name string) bool {
	name = strings.TrimRight(name, "0123456789.")
	switch name {
	case "": // "." and the like
		return true
	case "python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "osascript", "pwsh", "powershell",
		"sh", "bash", "zsh", "dash", "ksh", "fish", "csh", "tcsh", "cmd", "awk", "gawk", "mawk", "tclsh", "R", "Rscript", "julia",
		"env", "xargs", "sudo", "doas", "su", "ssh", "eval", "exec", "source", "nohup", "time", "timeout", "nice",
		"setsid", "watch", "ionice", "flock", "chroot", "unshare", "nsenter", "strace", "ltrace", "gdb", "parallel", "script", "find",
		"docker", "podman", "kubectl", "make", "git-shell", "busybox", "command", "builtin", "stdbuf", "caffeinate", "entr", "expect":
		return true
	}
	return false
}

// runner tells package runners: what follows is a program of its own.
func runner(name, next string) bool {
	switch name {
	case "npx", "pnpx", "bunx", "uvx", "pipx", "dlx", "devbox", "mise", "direnv":
		return true
	case "npm", "pnpm", "yarn", "uv", "poetry", "cargo", "go", "bundle", "rye", "hatch", "pdm":
		switch next {
		case "exec", "dlx", "run", "run-script", "x", "start":
			return true
		}
	}
	return false
}

// broad tells the allow rules that auto mode sets aside: those that let anything
// be run.
func (r *compiledRule) broad() bool {
	if !r.Scoped {
		switch r.Tool {
		case familyBash, familyPowerShell, "Monitor", "Agent":
			return true
		}
		return false
	}
	if r.Tool == "Agent" {
		return true
	}
	c := r.command
	if c == nil || c.exact {
		return false
	}
	words := strings.Fields(c.pieces[0])
	if len(words) == 0 {
		return true
	}
	next := ""
	if len(words) > 1 {
		next = words[1]
	}
	name := baseName(words[0])
	switch {
	case interpreter(name):
		// "python3 -m pytest" names what is run, "python3" and "python3 -c" do not.
		return len(words) < 3 || next != "-m"
	case runner(name, next):
		return name == "npx" && len(words) < 2 || name != "npx" && len(words) < 3
	}
	return false
}

// suggest offers rules that would answer the question for good: for each part
// the narrowest useful one.
func (d *decider) suggest() []tool.Suggestion {
	if d.e.flags.managedOnly || d.e.flags.broken != "" {
		return nil
	}
	var out []tool.Suggestion
	var of []*subject            // whom each of out answers
	lines := map[*subject]bool{} // answered by a rule for the whole line
	done := map[int]bool{}       // commands answered with all they work on
	covered := map[int]bool{}    // commands whose rule lets them change what is in the working directories
	for i := range d.parts {
		p := &d.parts[i]
		if p.Behavior == tool.Allow || lines[p.subject] || p.owner >= 0 && (done[p.owner] || covered[p.owner] && p.writes() && p.inRoots && !p.redirect) {
			continue
		}
		s, reach := d.suggestion(p)
		if s.Rule == "" {
			return nil // no set of rules would answer the question
		}
		switch reach {
		case reachLine:
			lines[p.subject] = true
			for j := len(out) - 1; j >= 0; j-- {
				if of[j] == p.subject {
					out, of = slices.Delete(out, j, j+1), slices.Delete(of, j, j+1)
				}
			}
		case reachCommand:
			done[i] = true
		case reachPart:
			covered[i] = p.Kind == PartCommand && p.command != nil && d.mode != ModePlan
		}
		if slices.Contains(out, s) {
			continue
		}
		if _, err := ParseRule(s.Rule); err != nil || len(out) == tool.MaxSuggestions {
			return nil
		}
		out, of = append(out, s), append(of, p.subject)
	}
	return out
}

// reach says what a suggested rule answers beside the part it was made for.
type reach int

const (
	reachPart    reach = iota
	reachCommand       // the command and the files it works on
	reachLine          // the whole line
)

func (d *decider) suggestion(p *part) (tool.Suggestion, reach) {
	var rule, covers string
	how := reachPart
	switch p.Kind {
	case PartCommand:
		rule, covers, how = d.suggestCommand(p)
	case PartRead, PartWrite, PartRemove:
		rule, covers = d.suggestPath(p)
		if rule == "" && p.owner >= 0 {
			rule, covers, how = exactLine(p.subject)
		}
	case PartAddress:
		if p.host != "" {
			rule, covers = fmt.Sprintf("%s(domain:%s)", p.family, bracketed(p.host)), "every address on "+p.host
		}
	case PartName:
		if p.Text != "" && !strings.ContainsAny(p.Text, "*()\n") {
			rule, covers = fmt.Sprintf("%s(%s)", p.family, p.Text), fmt.Sprintf("%s of the name %s, without arguments", p.family, p.Text)
			if p.args != "" {
				rule, covers = fmt.Sprintf("%s(%s *)", p.family, p.Text), fmt.Sprintf("%s of the name %s with any arguments", p.family, p.Text)
			}
		}
	default:
		if d.req.Subjects != nil {
			break // a rule for the tool does not answer what it asks midway
		}
		rule, covers = d.call.Name(), "every call of "+d.call.Name()
		if o := d.call.Tool().Facts().Origin; o != nil {
			covers = "every call of the tool " + o.Tool + " of the server " + o.Server
		}
	}
	return tool.Suggestion{Rule: rule, Covers: covers}, how
}

func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func (d *decider) suggestPath(p *part) (rule, covers string) {
	if p.placeless || p.plain == "" || p.problem != "" || len(p.paths) == 0 {
		return "", ""
	}
	family, verb := tool.FamilyRead, "reading"
	if p.writes() {
		family, verb = tool.FamilyEdit, "changing"
	}
	if p.paths[0].Given != p.paths[0].Real {
		return "", "" // a rule must cover where the link leads, too: not what was shown
	}
	path := p.plain
	if wide, _ := pathrule.Critical(path, pathrule.Scope{Cwd: d.at.Cwd, Home: d.at.Home}, false); wide && isDir(path) {
		return "", "" // it would cover far more than was asked for
	}
	if p.Kind == PartRead && !p.tree && filepath.Dir(path) != "/" && !isDir(path) {
		return fmt.Sprintf("%s(%s)", family, pathrule.Escape(path)), verb + " " + path
	}
	return fmt.Sprintf("%s(%s)", family, pathrule.Escape(path)), verb + " " + path + " and what is in it"
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// maxSuggestedLine is the longest command line that is offered as a rule.
const maxSuggestedLine = 1000

// exactLine offers the line as it is.
func exactLine(s *subject) (rule, covers string, how reach) {
	line := strings.TrimSpace(s.line)
	if s.invalid || line == "" || len(line) > maxSuggestedLine {
		return "", "", reachPart
	}
	return fmt.Sprintf("%s(%s)", s.Family, escapeStars(line)), "exactly this command line", reachLine
}

func (d *decider) suggestCommand(p *part) (rule, covers string, how reach) {
	c := p.command
	switch {
	case p.ps != nil && p.understood():
		rule, covers = p.ps.suggest()
		return rule, covers, reachPart
	case !p.understood() || c != nil && oddRedirect(c) != "":
		return exactLine(p.subject)
	case c == nil:
		return "", "", reachPart
	}
	words := literalWords(c)
	if words == nil || len(c.Wrappers) > 0 || uncommonAssigns(c) || c.BeyondPrefix != "" || c.RunsUnknown || c.UnknownWrites ||
		interpreter(baseName(words[0])) || runner(words[0], second(words)) || d.helpers(c) != "" {
		return d.exactCommand(p)
	}
	prefix := commandPrefix(words)
	return fmt.Sprintf("%s(%s:*)", p.family, escapeStars(prefix)), prefix + " with any arguments", reachPart
}

// exactCommand offers the command itself where a prefix would cover too much.
func (d *decider) exactCommand(p *part) (rule, covers string, how reach) {
	text := strings.TrimSpace(p.command.Source)
	if text == "" || !literal(p.command) || strings.ContainsAny(text, "\n\r") || len(text) > maxSuggestedLine {
		return exactLine(p.subject)
	}
	rule = fmt.Sprintf("%s(%s)", p.family, escapeStars(text))
	parsed, _, err := compileOne(ruleText{text: rule, behavior: tool.Allow}, place{d.at.Cwd, d.at.Home})
	if err != nil || parsed.command == nil || !parsed.command.opens(p.command) {
		return exactLine(p.subject)
	}
	how = reachPart
	if len(p.command.Redirs) == 0 {
		how = reachCommand
	}
	return rule, "exactly the command " + text, how
}

func literalWords(c *shellscan.Command) []string {
	if len(c.Argv) == 0 || c.Argv[0].Known != shellscan.Literal || c.Argv[0].Text == "" || strings.ContainsAny(c.Argv[0].Text, " \t\n") {
		return nil
	}
	out := make([]string, len(c.Argv))
	for i := range c.Argv {
		out[i] = c.Argv[i].Text
		if c.Argv[i].Known != shellscan.Literal {
			out = out[:i]
			break
		}
	}
	return out
}

func second(words []string) string {
	if len(words) > 1 {
		return words[1]
	}
	return ""
}

// commandPrefix is the program with its subcommand, and for programs that run
// scripts by name also that name.
func commandPrefix(words []string) string {
	n := 1
	if len(words) > 1 && isSubcommand(words[1]) && hasSubcommands(words[0]) {
		n = 2
		if len(words) > 2 && isSubcommand(words[2]) && nestedSubcommands(words[0]) {
			n = 3
		}
	}
	return strings.Join(words[:n], " ")
}

func isSubcommand(w string) bool {
	if w == "" || len(w) > 40 {
		return false
	}
	for i, c := range w {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && (c == '-' || c == ':' || c == '_' || c >= '0' && c <= '9') {
			continue
		}
		return false
	}
	return true
}

func hasSubcommands(name string) bool {
	switch name {
	case "cat", "ls", "rm", "cp", "mv", "mkdir", "rmdir", "touch", "chmod", "chown", "grep", "rg", "sed", "sort", "head", "tail", "echo", "ln", "tee",
		"diff", "wc", "tar", "curl", "wget", "ping", "kill", "pkill", "less", "printf", "test", "unzip", "zip", "jq", "tree", "stat", "date":
		return false
	}
	return true
}

func nestedSubcommands(name string) bool {
	switch name {
	case "gh", "aws", "gcloud", "az", "npm", "pnpm", "yarn", "kubectl":
		return true
	}
	return false
}
