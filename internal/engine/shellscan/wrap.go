package shellscan

import "strings"

// wrapSpec is a program that runs the command behind its options.
type wrapSpec struct {
	harmless bool
	// flags are its options (see the format at flagSet); others are not understood.
	flags string
	// own is how many words of its own stand before the command; check looks at them.
	own   int
	check func(string) bool
	// assigns tells that NAME=value words may follow; joins that the words are
	// joined to a string for a shell.
	assigns, joins bool
}

// wrappers lists them. Only harmless ones are transparent for allow rules.
var wrappers = map[string]*wrapSpec{
	"timeout":  {harmless: true, flags: "-k: --kill-after: -s: --signal: -f --foreground -p --preserve-status -v --verbose", own: 1, check: isDuration},
	"gtimeout": {harmless: true, flags: "-k: --kill-after: -s: --signal: -f --foreground -p --preserve-status -v --verbose", own: 1, check: isDuration},
	"time":     {harmless: true, flags: "-p --portability -v --verbose -q --quiet -f: --format:"},
	"nice":     {harmless: true, flags: "-n: --adjustment: -#"},
	"nohup":    {harmless: true},
	"stdbuf":   {harmless: true, flags: "-i: -o: -e: --input: --output: --error:"},
	"command":  {harmless: true, flags: "-p"},
	"builtin":  {harmless: true},
	"noglob":   {harmless: true},
	"xargs": {flags: "-0 --null -r --no-run-if-empty -t --verbose -x --exit -n: --max-args: -L: --max-lines? -P: --max-procs: " +
		"-I: --replace? -i? -d: --delimiter: -s: --max-chars: -E: -a: --arg-file: -o --open-tty -p --interactive"},
	"env":     {flags: "-i --ignore-environment -u: --unset: -0 --null -v --debug -C: --chdir:", assigns: true},
	"sudo":    {flags: "-n -E -H -S -k -b -A -i -s -P -u: --user: -g: --group: -h: -p: -C: -D: -R: -T: -U: -r: -t:", assigns: true},
	"doas":    {flags: "-n -u:"},
	"watch":   {flags: "-n: --interval: -d --differences? -t --no-title -e --errexit -g --chgexit -c --color -b --beep -x --exec -w --no-wrap -p --precise", joins: true},
	"setsid":  {flags: "-c -f -w --ctty --fork --wait"},
	"ionice":  {flags: "-c: -n: -t --class: --classdata: --ignore"},
	"chrt":    {flags: "-b -f -i -o -r -a -v", own: 1},
	"taskset": {flags: "-a -c", own: 1},
	"flock": {flags: "-s -x -e -n -u -o -w: -E: -F --shared --exclusive --nonblock --unlock --close --timeout: --wait: --conflict-exit-code: --no-fork --verbose",
		own: 1},
	"exec":       {flags: "-a: -c -l"},
	"caffeinate": {flags: "-d -i -m -s -u -t: -w:"},
	"unbuffer":   {flags: "-p"},
	"busybox":    {}, "toybox": {},
	"strace":      {flags: "-f -ff -e: -o: -p: -s: -t -tt -ttt -T -r -c -C -y -yy -v -q -qq -d -i -k -n -x -xx -w -z -Z -a: -b: -E: -I: -O: -P: -S: -u: -U: -X: --trace: --output: --follow-forks --summary-only --string-limit:"},
	"ltrace":      {flags: "-f -e: -o: -s: -c -S -C -i -L -r -t -tt -T -x: -l: -n: -a: -p: -u:"},
	"nocorrect":   {},
	"proxychains": {flags: "-q"}, "proxychains4": {flags: "-q"},
	"torify": {}, "torsocks": {}, "catchsegv": {}, "fakeroot": {}, "eatmydata": {},
	"firejail": {}, "dbus-run-session": {}, "xvfb-run": {flags: "-a"}, "systemd-run": {flags: "--user --scope --wait -q --quiet --pty -t -P -p: --property: --unit: -u: --uid: --gid: --slice: -d --same-dir -S --shell -r -G --collect --pipe -E: --setenv: --working-directory: --description: --nice: --no-block --on-active: --on-calendar: --on-boot:"}, "chronic": {},
	"unshare":  {flags: "-r -n? -m? -p? -f -u? -i? -U? -C? -T? -c --map-root-user --map-current-user --net? --mount? --pid? --user? --uts? --ipc? --cgroup? --time? --fork --mount-proc? --kill-child? --keep-caps --propagation: --setgroups: -S: -G: --root: --wd: -R: -w:"},
	"nsenter":  {flags: "-t: --target: -a --all -m? -u? -i? -n? -p? -U? -C? -T? -F -r? -w? -S: -G: --mount? --uts? --ipc? --net? --pid? --user? --cgroup? --time? --no-fork --root? --wd? --setuid: --setgid: --preserve-credentials"},
	"valgrind": {flags: "-q -v -s --quiet --verbose --tool: --leak-check: --log-file: --track-origins: --error-exitcode:"}, "numactl": {flags: "-a -l -C: -N: -m: -i: -p: --cpunodebind: --membind: --interleave: --physcpubind: --localalloc --all --preferred:"},
	"prlimit": {flags: "--nofile? --nproc? --core? --cpu? --as? --data? --fsize? --stack? --rss? --memlock?"}, "systemd-inhibit": {flags: "--what: --who: --why: --mode: --list"},
	"ts": {flags: "-n -f -m -B -E -g -d -D: -L: -N: -W:"}, "tsp": {flags: "-n -f -m -B -E -g -d -D: -L: -N: -W:"}, "nq": {flags: "-c -q"},
	"faketime": {flags: "-m -f --exclude-monotonic -p: --date-prog:", own: 1}, "ssh-agent": {flags: "-a: -t: -D -d -k -c -s -E: -O: -P:"},
	"timelimit": {flags: "-p -q -t: -T: -s: -S:"}, "ccache": {flags: "-s -z -c -C -x -p -M: --show-stats --zero-stats --cleanup --clear --show-config --max-size: -v --verbose"},
	"sccache": {flags: "-s -z --show-stats --zero-stats --start-server --stop-server"}, "gnice": {flags: "-n: --adjustment:"}, "gnohup": {}, "gstdbuf": {flags: "-i: -o: -e: --input: --output: --error:"},
	"gtime": {flags: "-p -v -q -f: -o: -a --portability --verbose --quiet --format: --output: --append"},
	"ifne":  {flags: "-n"}, "linux32": {flags: "-R"}, "linux64": {flags: "-R"}, "tini": {flags: "-s -v -g -w -e: -p:"}, "dumb-init": {flags: "-c -v -r:"}, "tsocks": {}, "pkexec": {flags: "--user: --disable-internal-agent --keep-cwd"}, "softlimit": {}, "cpulimit": {flags: "-l:"}, "rlwrap": {}, "gosu": {own: 1}, "su-exec": {own: 1}, "setpriv": {flags: "--no-new-privs --nnp --reuid: --regid: --clear-groups --groups: --keep-groups --init-groups --inh-caps: --bounding-set: --ambient-caps: --reset-env"}, "chroot": {flags: "--userspec: --groups: --skip-chdir", own: 1}, "winpty": {}, "arch": {flags: "-x86_64 -arm64"},
}

// unwrapped is a command after its wrappers.
type unwrapped struct {
	argv   []Word // the innermost words
	levels []level
	st     state
	// stdinArgs tells that more words come from the standard input (xargs).
	stdinArgs bool
	// external tells that a wrapper is a program, which cannot run builtins.
	external bool
	// opaque says why the wrapper's own options are not understood.
	opaque string
	// texts are command lines that were found in the words.
	texts []string
}

// level is the command with some wrappers taken off.
type level struct {
	argv  []Word
	allow bool
}

// base is the program name of a word, without its folder.
func base(w Word) string {
	if w.Known != Literal {
		return ""
	}
	return w.Text[strings.LastIndexByte(w.Text, '/')+1:]
}

// unwrap looks through the programs that run the rest of the words.
func (s *scanner) unwrap(c *Command, st state) unwrapped {
	u := unwrapped{argv: c.Argv, st: st}
	allow := true
	c.Wrappers = append([]Wrapper(nil), st.wrappers...)
	for depth := 0; len(u.argv) > 0 && depth < 2*MaxDepth; depth++ {
		name := base(u.argv[0])
		w := wrappers[name]
		if w == nil || s.funcs[name] || len(u.argv) == 1 {
			break
		}
		if name == "command" && u.argv[1].Known == Literal && (strings.HasPrefix(u.argv[1].Text, "-v") || strings.HasPrefix(u.argv[1].Text, "-V")) {
			break
		}
		rest, own, why := s.wrapperArgs(name, w, u.argv, &u.st)
		if why != "" {
			u.opaque = why
			s.complex(why)
			c.BeyondPrefix = why
			c.RunsUnknown = true
			break
		}
		if len(rest) == 0 {
			break
		}
		harmless := w.harmless && name == u.argv[0].Text || name == "xargs" && len(own) == 1 && u.argv[0].Text == name
		allow = allow && harmless
		c.Wrappers = append(c.Wrappers, Wrapper{Name: name, Harmless: harmless, Quiet: name == "xargs" && u.argv[0].Text == name, Args: own})
		if name == "xargs" {
			u.stdinArgs = true
		}
		if name == "exec" {
			c.deny("exec replaces the shell")
		}
		switch name {
		case "command", "builtin", "noglob", "nocorrect", "time":
			u.external = u.external || name == "time" || u.argv[0].Text != name
		default:
			u.external = true
		}
		if u.st.replace != "" {
			rest = replaced(rest, u.st.replace)
			u.st.replace = ""
			u.stdinArgs = false // no words are added at the end
		}
		u.argv = rest
		u.levels = append(u.levels, level{rest, allow})
		if w.joins {
			s.joined(c, rest, u.st)
		}
	}
	return u
}

// replaced marks the words that xargs -I fills in from its input.
func replaced(words []Word, mark string) []Word {
	out := append([]Word(nil), words...)
	for i, w := range out {
		if k := strings.Index(w.Text, mark); k >= 0 {
			out[i].Known, out[i].Prefix, out[i].pattern = Unknown, "", false
			if w.Known == Literal && k > 0 {
				out[i].Known, out[i].Prefix = Partial, w.Text[:k]
			}
		}
	}
	return out
}

// joined lists the command that a wrapper makes of its words by joining them for a shell.
func (s *scanner) joined(c *Command, rest []Word, st state) {
	for _, w := range rest {
		if w.Known != Literal {
			c.RunsUnknown = true
			s.complex("a command string is not certain")
			return
		}
	}
	text := join(rest)
	if !strings.ContainsAny(text, "|&;<>()$`\\\"'*?[#~{}\n=!") {
		return // it means the same as the words themselves
	}
	st.wrappers = c.Wrappers
	st.sub = true
	s.inner(text, st)
}

// wrapperArgs splits a wrapper's own words from the command behind them.
func (s *scanner) wrapperArgs(name string, w *wrapSpec, argv []Word, st *state) (rest, own []Word, why string) {
	set := parseFlagSet(w.flags)
	i := 1
	for i < len(argv) {
		a := argv[i]
		if a.Known != Literal {
			if w.assigns && !a.Multi && strings.IndexByte(a.Prefix, '=') > 0 && a.Prefix[0] != '-' {
				break // NAME="$value"
			}
			if w.assigns {
				return nil, nil, "the word " + show(a) + " behind " + name + " is not certain"
			}
			if strings.HasPrefix(a.Prefix, "-") || a.Prefix == "" && w.own == 0 && set.any() || a.Prefix == "" && w.own > 0 {
				return nil, nil, "the word " + show(a) + " behind " + name + " is not certain"
			}
			break
		}
		if a.Text == "--" {
			i++
			break
		}
		if a.Text == "-" && name == "env" {
			i++
			continue
		}
		if len(a.Text) < 2 || a.Text[0] != '-' {
			break
		}
		if name == "env" && (strings.HasPrefix(a.Text, "-S") || strings.HasPrefix(a.Text, "--split-string") || strings.HasPrefix(a.Text, "-vS")) {
			s.splitString(argv[i:], *st)
			return nil, nil, "env -S splits a string into a command"
		}
		n, ok := set.skip(argv[i:])
		if !ok {
			return nil, nil, "the option " + show(a) + " of " + name + " is not understood"
		}
		switch {
		case name == "env" && (strings.HasPrefix(a.Text, "-C") || strings.HasPrefix(a.Text, "--chdir")):
			st.dirs = nil
		case name == "xargs" && (strings.HasPrefix(a.Text, "-p") || strings.HasPrefix(a.Text, "-o") || strings.HasPrefix(a.Text, "-a") || strings.HasPrefix(a.Text, "--arg")):
			return nil, nil, "the option " + show(a) + " of xargs is not understood"
		case name == "xargs" && (strings.HasPrefix(a.Text, "-I") || strings.HasPrefix(a.Text, "-i") || strings.HasPrefix(a.Text, "--replace")):
			st.replace = "{}"
			if a.Text == "-I" {
				if st.replace = argv[i+1].Text; argv[i+1].Known != Literal || st.replace == "" {
					return nil, nil, "the option " + show(a) + " of xargs is not understood"
				}
			} else if t := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(a.Text, "--replace="), "--replace"), "-I"), "-i"); t != "" {
				st.replace = t
			}
		case name == "xargs" && strings.ContainsAny(strings.TrimLeft(a.Text, "-"), "Ii") && !strings.HasPrefix(a.Text, "--"):
			return nil, nil, "the option " + show(a) + " of xargs is not understood"
		case name == "sudo" && strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "--") && strings.ContainsAny(a.Text, "isDR"):
			st.dirs = nil
		}
		i += n
	}
	for k := 0; k < w.own; k++ {
		if i >= len(argv) {
			return nil, argv, ""
		}
		if argv[i].Known != Literal || w.check != nil && !w.check(argv[i].Text) || argv[i].Multi {
			return nil, nil, "the word " + show(argv[i]) + " behind " + name + " is not understood"
		}
		i++
	}
	if w.assigns {
		for i < len(argv) && argv[i].Known == Literal && strings.Contains(argv[i].Text, "=") {
			i++
		}
		if i < len(argv) && argv[i].Known != Literal && strings.Contains(argv[i].Text, "=") {
			i++ // NAME=$value: still an assignment when the name is literal
			if !strings.Contains(argv[i-1].Prefix, "=") || argv[i-1].Multi {
				return nil, nil, "the word " + show(argv[i-1]) + " behind " + name + " is not certain"
			}
			for i < len(argv) && strings.Contains(argv[i].Prefix+argv[i].Text, "=") {
				i++
			}
		}
	}
	if name == "flock" && i < len(argv) && argv[i].Known == Literal && (argv[i].Text == "-c" || argv[i].Text == "--command") {
		if i+1 < len(argv) && argv[i+1].Known == Literal {
			s.inner(argv[i+1].Text, *st)
		}
		return nil, nil, "flock -c runs a string"
	}
	return argv[i:], argv[:i:i], ""
}

// splitString lists what env -S would run, so that deny rules see it.
func (s *scanner) splitString(argv []Word, st state) {
	text := ""
	for _, w := range argv {
		if w.Known != Literal {
			return
		}
		text += " " + w.Text
	}
	text = strings.TrimSpace(text)
	for _, p := range []string{"-vS", "-S", "--split-string=", "--split-string"} {
		if t, ok := strings.CutPrefix(text, p); ok {
			text = t
			break
		}
	}
	s.inner(text, st)
}

// isDuration tells of a number with an optional unit.
func isDuration(t string) bool {
	t = strings.TrimRight(t, "smhd")
	return t != "" && strings.Trim(t, "0123456789.") == ""
}
