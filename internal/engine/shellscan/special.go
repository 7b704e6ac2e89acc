package shellscan

import (
	"slices"
	"strings"
)

// effects fills in what the innermost command does, and gives the directories after it.
func (s *scanner) effects(c *Command, u *unwrapped) flow {
	st := u.st
	outside := c.Dirs // where the shell stands, whatever a wrapper does
	if c.Dirs = st.dirs; u.opaque == "" {
		c.Dir, c.DirKnown = "", false
		c.setDir()
	}
	if len(u.argv) == 0 || u.opaque != "" {
		c.deny(u.opaque)
		return same(outside)
	}
	w := u.argv[0]
	if w.Known != Literal {
		c.RunsUnknown = true
		c.deny("the program " + show(w) + " is not certain")
		c.BeyondPrefix = c.WhyNot
		s.complex(c.WhyNot)
		return same(nil)
	}
	if strings.ContainsAny(w.Text, " \t\n") || w.Text == "" {
		c.deny("the program's name is odd")
		c.BeyondPrefix = c.WhyNot
		for i := range c.Forms {
			c.Forms[i].Allow = false
		}
	}
	name := base(w)
	if s.funcs[w.Text] {
		c.deny(name + " is a function of the script")
		return same(nil)
	}
	// A path names a file, never a builtin of the shell.
	if name == w.Text && !u.external {
		if f, done := s.builtin(c, u, name); done {
			return f
		}
	}
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash", "csh", "tcsh":
		s.shell(c, u, name)
	case "su", "runuser":
		s.suString(c, u)
	case "find", "gfind":
		s.find(c, u)
	case "sed", "gsed":
		s.sed(c, u)
	case "awk", "gawk", "mawk", "nawk", "original-awk":
		s.awk(c, u)
	case "git":
		s.git(c, u)
	case "fd", "fdfind":
		s.fdExec(c, u)
		s.table(c, u)
	case "kill", "pkill", "killall", "skill", "killall5":
		s.kill(c, u, name)
	case "parallel", "rush", "env_parallel", "sem":
		c.RunsUnknown = true
		c.BeyondPrefix = name + " runs commands"
		c.deny(c.BeyondPrefix)
		s.inner(join(u.argv[1:]), withWrapper(c, st, u.argv[0]))
		s.complex(c.BeyondPrefix)
	case "ssh":
		s.table(c, u)
	default:
		if !s.fileCommand(c, u, name) {
			s.table(c, u)
		}
	}
	if name != w.Text && !systemDirs[strings.TrimSuffix(w.Text, name)] {
		c.deny(show(w) + " is not a program of the system")
		c.FileCommand = false
		if !isAbs(w.Text) || s.inRoot(cleanPath(w.Text)) {
			c.RunsUnknown = c.RunsUnknown || c.ReadOnly
		}
	}
	return same(outside)
}

// withWrapper is the state for what a command runs.
func withWrapper(c *Command, st state, args ...Word) state {
	st.wrappers = append(c.Wrappers[:len(c.Wrappers):len(c.Wrappers)], Wrapper{Name: base(args[0]), Args: args})
	st.sub = true
	st.nest |= InString
	return st
}

// builtin handles the shell builtins that change the shell or run text.
func (s *scanner) builtin(c *Command, u *unwrapped, name string) (flow, bool) {
	st := u.st
	args := u.argv[1:]
	dirs := c.Dirs
	switch name {
	case "cd", "chdir", "pushd":
		return s.chdir(c, u, name), true
	case "popd":
		c.deny("popd leads to a directory that is not known")
		s.moved(st)
		return flow{nil, dirs}, true
	case "eval":
		c.deny("eval runs its words as commands")
		c.BeyondPrefix = c.WhyNot
		s.complex(c.WhyNot)
		c.RunsUnknown = !s.innerWords(args, st)
		return same(nil), true
	case "trap":
		if len(args) > 0 && args[0].Known == Literal && (args[0].Text == "-l" || args[0].Text == "-p") {
			c.ReadOnly = c.WhyNot == ""
			return same(dirs), true
		}
		c.deny("trap keeps a command to run later")
		c.BeyondPrefix = c.WhyNot
		if len(args) > 1 && !(args[0].Known == Literal && (args[0].Text == "-" || args[0].Text == "")) {
			s.complex(c.WhyNot)
			in := st
			in.dirs = nil
			c.RunsUnknown = !s.innerWords(args[:1], in)
		}
		return same(dirs), true
	case "source", ".":
		c.deny(name + " runs a script in this shell")
		c.RunsUnknown = true
		if len(args) > 0 {
			s.reads(c, args[0], st, false)
		}
		s.complex(c.WhyNot)
		return same(nil), true
	case "exec":
		// Without a program it moves the shell's own streams.
		c.deny("exec moves the streams of the shell")
		return same(dirs), true
	case "compgen", "complete", "compopt":
		c.deny(name + " may run its words")
		c.BeyondPrefix = c.WhyNot
		for i, a := range args {
			if i > 0 && args[i-1].Text == "-C" && a.Known == Literal {
				s.inner(a.Text, withWrapper(c, st, u.argv[0]))
			}
		}
		return same(dirs), true
	case "read", "mapfile", "readarray", "getopts", "unset":
		for _, a := range args {
			if a.Known != Literal || strings.ContainsAny(a.Text, "[$`") {
				c.BeyondPrefix = name + " may evaluate a subscript"
			} else if sensitive(a.Text) && !strings.HasPrefix(a.Text, "-") {
				c.BeyondPrefix = name + " sets a variable that later commands read"
			} else if name != "read" && name != "unset" && strings.HasPrefix(a.Text, "-C") {
				c.BeyondPrefix = name + " -C runs a command"
			}
		}
		if c.BeyondPrefix != "" {
			c.deny(c.BeyondPrefix)
			return same(dirs), true
		}
		if name == "read" && s.readIsPlain(args) {
			c.ReadOnly = c.WhyNot == ""
			return same(dirs), true
		}
		c.deny(name + " changes variables")
		return same(dirs), true
	case "set":
		return s.set(c, args), true
	case "alias", "unalias", "enable", "hash", "shopt", "bind", "fc", "history", "disown", "suspend", "logout", "ulimit", "umask", "let", "coproc", "caller", "bg", "fg", "exit", "dirs":
		if name == "exit" || name == "dirs" && len(args) == 0 {
			c.ReadOnly = c.WhyNot == ""
			return same(dirs), true
		}
		if len(args) == 0 && !u.stdinArgs && wordIn("alias hash umask ulimit history", name) {
			c.ReadOnly = c.WhyNot == "" // it prints
			return same(dirs), true
		}
		if e, n := lookup(name, u.argv); e != nil && (n > 1 || name == "shopt") {
			return flow{}, false
		}
		if name == "alias" || name == "enable" || name == "hash" || name == "bind" || name == "shopt" {
			c.BeyondPrefix = name + " changes what later commands mean"
			if name != "shopt" {
				s.complex(c.BeyondPrefix)
			}
		}
		c.deny(name + " changes the shell")
		return same(dirs), true
	case "export", "declare", "typeset", "local", "readonly", "nameref":
		// Reached only through a wrapper such as builtin or command.
		c.deny(name + " changes variables")
		c.BeyondPrefix = c.WhyNot
		return same(dirs), true
	case "wait", "sleep", "true", "false", ":":
	}
	return flow{}, false
}

// readIsPlain tells that read sets only variables of the script.
func (s *scanner) readIsPlain(args []Word) bool {
	var a = parseFlagSet("-r -s -e -a: -d: -i: -n: -N: -p: -t: -u:").parse("read", args, false, false)
	if a.why != "" || a.has("-e", "-i") {
		return false
	}
	names := a.pos
	if v, ok := a.value("-a"); ok {
		names = append(names, v)
	}
	for _, w := range names {
		if !localVar(w.Text) && !loopName(w.Text) || strings.Contains(w.Text, "[") {
			return false
		}
	}
	return len(names) > 0
}

// set handles options of the shell.
func (s *scanner) set(c *Command, args []Word) flow {
	fine := len(args) > 0
	for i, a := range args {
		t := a.Text
		if a.Known != Literal {
			fine = false
			break
		}
		switch {
		case t == "pipefail" || t == "errexit" || t == "nounset" || t == "noclobber":
			fine = fine && i > 0 && strings.HasSuffix(args[i-1].Text, "o")
		case len(t) > 1 && (t[0] == '-' || t[0] == '+') && strings.Trim(t[1:], "eufoC") == "":
		default:
			fine = false
		}
	}
	if fine {
		c.ReadOnly = c.WhyNot == ""
	} else {
		c.deny("set changes the shell")
		c.BeyondPrefix = "set changes what later commands mean"
	}
	return same(c.Dirs)
}

// innerWords lists what words mean when a shell reads them joined.
func (s *scanner) innerWords(args []Word, st state) bool {
	for _, w := range args {
		if w.Known != Literal {
			return false
		}
	}
	s.inner(join(args), st)
	return true
}

// moved notes that the directory of the calling shell may change.
func (s *scanner) moved(st state) {
	if !st.sub {
		s.cd = true
	}
}

// chdir handles cd and pushd.
func (s *scanner) chdir(c *Command, u *unwrapped, name string) flow {
	st := u.st
	s.moved(st)
	var a args
	if name == "pushd" {
		a = parseFlagSet("-n").parse(name, u.argv[1:], false, false)
	} else {
		a = parseFlagSet("-L -P -e -@").parse(name, u.argv[1:], false, false)
	}
	target := lit(s.o.Home)
	switch {
	case a.why != "" || len(a.pos) > 1 || a.multi || name == "pushd" && (len(a.pos) != 1 || a.has("-n")):
		target = Word{}
	case len(a.pos) == 1:
		target = a.pos[0]
		if name == "pushd" && target.Known == Literal && len(target.Text) > 1 && (target.Text[0] == '+' || target.Text[0] == '-') {
			target = Word{}
		}
	case s.assigned("HOME"):
		target = Word{}
	}
	for _, v := range c.Assigns {
		if v.Name == "CDPATH" || v.Name == "HOME" || v.Name == "OLDPWD" || v.Name == "PWD" {
			target = Word{}
		}
	}
	to := s.change(target, c.Dirs)
	// Through a symbolic link, .. may lead elsewhere than it seems.
	if a.has("-P") && to != nil && strings.Contains(target.Text, "..") {
		to = nil
	}
	switch {
	case to == nil:
		c.deny("the directory that " + name + " leads to is not known")
		c.UnknownReads = true
	case !s.inRoots(to):
		c.deny(name + " leads out of the working directories")
	default:
		c.ReadOnly = c.WhyNot == ""
	}
	if s.funcs["cd"] {
		to = nil
	}
	return flow{to, c.Dirs}
}

// shell handles sh, bash and their like.
func (s *scanner) shell(c *Command, u *unwrapped, name string) {
	args := u.argv[1:]
	plain := true
	i := 0
	var script *Word
	stdin := true
	for ; i < len(args); i++ {
		a := args[i]
		if a.Known != Literal {
			c.RunsUnknown = true
			plain, stdin = false, false
			if a.Prefix == "" || a.Prefix[0] == '-' {
				s.complex("an option of " + name + " is not certain")
				c.BeyondPrefix = "an option of " + name + " is not certain"
			}
			break
		}
		t := a.Text
		if t == "--" {
			i++
			break
		}
		if t == "--version" || t == "--help" {
			c.ReadOnly = len(args) == 1 && c.WhyNot == ""
			c.deny(name + " runs commands")
			return
		}
		if len(t) < 2 || t[0] != '-' && t[0] != '+' {
			break
		}
		if strings.HasPrefix(t, "--") {
			plain = false
			switch t {
			case "--norc", "--noprofile", "--posix":
			case "--rcfile", "--init-file":
				i++
				c.RunsUnknown = true
				if i < len(args) && args[i].process {
					c.BeyondPrefix = name + " runs what another command prints"
					s.complex(c.BeyondPrefix)
				}
			default:
				c.RunsUnknown = true
			}
			continue
		}
		if strings.Trim(t[1:], "ceuxnvfo") != "" {
			plain = false // -l and -i read start-up files, others are not known
			c.RunsUnknown = true
		}
		if strings.Contains(t, "o") {
			i++
			if i < len(args) && !(args[i].Known == Literal && (args[i].Text == "pipefail" || args[i].Text == "errexit" || args[i].Text == "nounset")) {
				plain = false
			}
		}
		if strings.Contains(t, "c") && t[0] == '-' && script == nil {
			script = &Word{}
		}
	}
	inner := withWrapper(c, u.st, u.argv[:min(i+1, len(u.argv))]...)
	before := len(s.cmds)
	switch {
	case script != nil:
		c.BeyondPrefix = name + " -c runs a command string"
		if i >= len(args) || args[i].Known != Literal {
			c.RunsUnknown = true
			c.deny("the command string of " + name + " is not certain")
			s.complex(c.WhyNot)
			return
		}
		if u.stdinArgs && i == len(args)-1 {
			plain = false
		}
		s.foreign(name, args[i].Text)
		s.inner(args[i].Text, inner)
	case i < len(args):
		c.RunsUnknown = true
		c.deny(name + " runs a script")
		if args[i].process || args[i].Known == Literal && wordIn("/dev/stdin - /dev/fd/0 /proc/self/fd/0", args[i].Text) {
			c.BeyondPrefix = name + " runs what another command prints"
			s.complex(c.BeyondPrefix)
		}
		if !u.stdinArgs {
			s.reads(c, args[i], u.st, false)
		}
		return
	default:
		fed := false
		for _, r := range c.Redirs {
			if !r.Heredoc {
				continue
			}
			fed = true
			c.BeyondPrefix = name + " runs its input as commands"
			if r.Body == "" {
				plain = false
				c.RunsUnknown = true
				s.complex("the commands that " + name + " reads are not certain")
				continue
			}
			s.foreign(name, r.Body)
			s.inner(r.Body, inner)
		}
		if !fed || u.stdinArgs {
			c.RunsUnknown = true
			c.BeyondPrefix = name + " runs its input as commands"
			c.deny(c.BeyondPrefix)
			printed := slices.ContainsFunc(c.Redirs, func(r Redir) bool { return r.Op == "<" && r.Target.process })
			if printed || stdin && c.Nesting&InPipe != 0 {
				s.complex(name + " runs its input as commands")
			}
			return
		}
	}
	c.RunsListed = plain && !c.RunsUnknown
	s.fromInner(c, before)
	if !c.RunsListed {
		c.deny(name + " may run more than its command string")
	}
}

// fromInner makes a command that only runs others as read-only as those are.
func (s *scanner) fromInner(c *Command, before int) {
	if !c.RunsListed || c.WhyNot != "" {
		return
	}
	c.ReadOnly = true
	for k := before; k < len(s.cmds); k++ {
		if !s.cmds[k].ReadOnly {
			c.deny(s.cmds[k].WhyNot)
		}
	}
}

// foreign notes syntax that other shells read in another way than bash.
func (s *scanner) foreign(name, script string) {
	if name == "bash" || name == "rbash" {
		return
	}
	if name == "fish" || name == "csh" || name == "tcsh" || name == "zsh" {
		s.complex("a script of " + name + " is not read as bash would")
		return
	}
	for _, x := range []string{"$'", "$\"", "&>", "|&", "<(", ">(", "[[", "((", "<<<", "{", "~+", "~-", "^"} {
		if strings.Contains(script, x) {
			s.complex("a script of " + name + " holds syntax that shells read differently")
			return
		}
	}
}

// suString handles su -c.
func (s *scanner) suString(c *Command, u *unwrapped) {
	name := base(u.argv[0])
	c.RunsUnknown = true
	c.BeyondPrefix = name + " runs commands as another user"
	c.deny(c.BeyondPrefix)
	for i := 1; i < len(u.argv); i++ {
		t := u.argv[i].Text
		next := i+1 < len(u.argv) && u.argv[i+1].Known == Literal
		switch {
		case u.argv[i].Known != Literal || len(t) < 2 || t[0] != '-':
		case strings.HasPrefix(t, "--"):
			option, v, has := strings.Cut(t, "=")
			if len(option) < 3 || !strings.HasPrefix("--command", option) && !strings.HasPrefix("--session-command", option) {
				continue
			}
			if has {
				s.inner(v, withWrapper(c, u.st, u.argv[0]))
			} else if next {
				s.inner(u.argv[i+1].Text, withWrapper(c, u.st, u.argv[0]))
			}
		default:
			if k := strings.IndexByte(t, 'c'); k > 0 && k+1 < len(t) {
				s.inner(t[k+1:], withWrapper(c, u.st, u.argv[0]))
			} else if k > 0 && next {
				s.inner(u.argv[i+1].Text, withWrapper(c, u.st, u.argv[0]))
			}
		}
	}
}

// kill handles the programs that end processes.
func (s *scanner) kill(c *Command, u *unwrapped, name string) {
	args := u.argv[1:]
	if name == "kill" && len(args) == 1 && args[0].Known == Literal && args[0].Text == "-l" {
		c.ReadOnly = c.WhyNot == ""
		return
	}
	c.deny(name + " ends processes")
	for i, a := range args {
		switch {
		case a.Known != Literal && strings.Contains(a.Text, "PPID"):
			c.KillsRuntime = "its target is the process that runs this command"
		case a.Known != Literal && name == "kill" && !strings.HasPrefix(a.Prefix, "%") && !strings.Contains(a.Text, "$!"):
			if c.KillsRuntime == "" {
				c.KillsRuntime = "its target is not certain, and may be the process that runs this command"
			}
		case name == "kill" && a.Known == Literal && (a.Text == "-1" && i == len(args)-1 && i > 0 || a.Text == "0" || a.Text == "1" || strings.HasPrefix(a.Text, "-") && i > 0 && isDigits(a.Text[1:])):
			c.KillsRuntime = "its target is a group of processes, which may hold the one that runs this command"
		case a.Known != Literal && name != "kill":
			c.KillsRuntime = "the name that " + name + " looks for is not certain"
		}
	}
	if name != "kill" {
		set := parseFlagSet("-f -x -n -o -i -v -e -c -A -# -u: -U: -g: -G: -P: -s: -t: -F< -I -l -q -r -V -w -y: -Z: --signal: --full --exact --newest --oldest --echo --inverse --euid: --uid: --parent: --session: --terminal: " +
			"--group: --pgroup: --ignore-case --count --pidfile< --user: --regexp --interactive --wait --quiet --verbose --older-than: --younger-than: --ns: --context:")
		a := set.parse(name, args, true, false)
		owners := a.has("-P", "-u", "-U", "-g", "-G", "-s", "-t", "-A", "--parent", "--euid", "--uid", "--group", "--pgroup", "--session", "--terminal", "--user")
		switch {
		case a.has("-f", "--full") || a.has("-v", "--inverse") || name != "killall" && clusterHas(args, 'f'):
			c.KillsRuntime = "it ends processes by any part of their command line, which may match the one that runs this command"
		case owners && !(name == "killall" && !a.has("-u", "--user", "-A") && len(a.pos) > 0):
			c.KillsRuntime = "it ends processes by their owner or group, which may hold the one that runs this command"
		case a.why != "" && longOption(args):
			c.KillsRuntime = "an option of " + name + " is not known, and may choose the process that runs this command"
		}
		for _, w := range a.pos {
			if w.Known == Literal && strings.Trim(w.Text, "^$.*+?()[]|") == "" {
				c.KillsRuntime = "the name that " + name + " looks for matches every process"
			}
		}
	}
	if name == "killall5" {
		c.KillsRuntime = "it ends every process"
	}
	if u.stdinArgs {
		c.KillsRuntime = orElse(c.KillsRuntime, "its targets come from the input, and may hold the process that runs this command")
	}
	if name != "kill" {
		for _, a := range args {
			if a.Known == Literal && strings.Contains("sevengate", strings.Trim(a.Text, "^$.*")) && len(a.Text) > 1 || a.Text == "." || a.Text == ".*" {
				c.KillsRuntime = "the name that " + name + " looks for may be that of the process that runs this command"
			}
		}
	}
}

func longOption(words []Word) bool {
	for _, w := range words {
		if strings.HasPrefix(w.Text, "--") && len(w.Text) > 2 {
			return true
		}
	}
	return false
}

// clusterHas tells that a letter stands in a word of short options.
func clusterHas(words []Word, letter byte) bool {
	for _, w := range words {
		if len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-' && strings.IndexByte(w.Text, letter) > 0 && strings.ToUpper(w.Text) != w.Text {
			return true
		}
	}
	return false
}
