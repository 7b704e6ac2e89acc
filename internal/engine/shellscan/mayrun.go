package shellscan

import (
	"strings"
	"sync"
)

// maxGuesses bounds the words and strings of one script that are read as commands
// which may be run. Beyond it the script is not Simple.
const maxGuesses = 512

// runnerKind says what follows from a program running what its words name.
type runnerKind uint8

const (
	// runsHere: an ordinary command of this machine. No prefix rule covers it.
	runsHere runnerKind = iota + 1
	// runsBy: a program that is named together with what it runs, such as npx or
	// ssh, so that a prefix rule for both may cover it.
	runsBy
	// runsBoxed: the same, in a container, whose files are not those of this machine.
	runsBoxed
	// runsStrings: only strings among its words are commands, never the words.
	runsStrings
)

// runner is a program that runs what stands somewhere among its words, where the
// words in front cannot all be told apart.
type runner struct {
	names string // separated by blanks
	// subs are the subcommands that run something; "" means that every call does.
	subs string
	kind runnerKind
}

var runners = []runner{
	{names: "perf", subs: "stat record trace top mem lock sched kvm", kind: runsHere},
	{names: "hyperfine entr watchexec nodemon script scriptlive scriptreplay expect autoexpect screen dtach abduco reptyr gdb lldb rr sem env_parallel rust-parallel parallel rush " +
		"daemonize daemon start-stop-daemon mispipe sg newgrp runas cmd cmd.exe powershell powershell.exe pwsh wine wine64 wsl wsl.exe setuidgid envuidgid envdir setlock chpst bwrap proot " +
		"fakechroot dbus-launch retry capsh flatpak-spawn at batch su runuser bash-static xonsh nu elvish concurrently wireit", kind: runsHere},
	{names: "tmux", subs: "new new-session neww new-window splitw split-window respawnp respawn-pane respawnw respawn-window run run-shell if if-shell pipep pipe-pane " +
		"send send-keys popup display-popup bind bind-key set-hook confirm-before confirm command-prompt source-file", kind: runsHere},
	{names: "systemd-cat systemd-nspawn machinectl setarch cgexec runcon aa-exec sandbox-exec", kind: runsHere},
	{names: "docker podman nerdctl docker-compose podman-compose lxc incus crictl ctr", subs: "exec run create start shell", kind: runsBoxed},
	{names: "lxc-attach lxc-execute", kind: runsBoxed},
	{names: "kubectl oc k3s microk8s minikube kubecolor", subs: "exec run debug kubectl ssh rsh", kind: runsBoxed},
	{names: "apptainer singularity", subs: "exec run shell instance", kind: runsBoxed},
	{names: "toolbox distrobox flatpak", subs: "run enter", kind: runsBy},
	{names: "ssh mosh autossh sshpass rsh dbclient plink pdsh clush et", kind: runsBy},
	{names: "vagrant gcloud multipass az fly flyctl heroku", subs: "ssh exec run console run:detached", kind: runsBy},
	{names: "npx pnpx bunx uvx pipx nix-shell dotenv dotenvx env-cmd cross-env aws-vault with-contenv", kind: runsBy},
	{names: "npm pnpm yarn bun", subs: "exec x dlx", kind: runsBy},
	{names: "uv poetry pipenv pdm hatch rye conda mamba micromamba devbox op doppler chamber infisical volta pixi", subs: "run exec x", kind: runsBy},
	{names: "bundle mise asdf rbenv pyenv nodenv nvm fnm direnv rtx aws-vault opam stack cabal", subs: "exec x run", kind: runsBy},
	{names: "nix guix", subs: "run develop shell", kind: runsBy},
	{names: "less more most vim vi nvim view ex ed emacs", kind: runsStrings},
}

var runnerIndex = sync.OnceValue(func() map[string]*runner {
	m := make(map[string]*runner, 160)
	for i := range runners {
		for _, name := range strings.Fields(runners[i].names) {
			m[name] = &runners[i]
		}
	}
	return m
})

// codeRunners are the interpreters whose code may hold strings that are commands.
var codeRunners = map[string]bool{
	"python": true, "python2": true, "python3": true, "pypy": true, "pypy3": true, "perl": true, "ruby": true, "node": true, "nodejs": true, "deno": true, "bun": true,
	"php": true, "lua": true, "luajit": true, "tclsh": true, "osascript": true, "julia": true, "Rscript": true, "R": true, "awk": true, "gawk": true, "mawk": true, "nawk": true, "original-awk": true,
}

// mayRun guesses what a command runs that is not listed: any of its words may be
// the beginning of a command, and any string among them one for a shell. Deny and
// ask rules match what comes out; nothing is ever allowed by it.
func (s *scanner) mayRun(c *Command, u *unwrapped) {
	if s.guessed || len(u.argv) == 0 || u.argv[0].Known != Literal {
		return
	}
	argv := u.argv
	name := base(argv[0])
	r := runnerIndex()[name]
	var g guesser
	switch {
	case u.opaque != "":
		g.words = 1
	case r != nil && r.kind != runsStrings:
		g.words = r.start(argv)
		g.skip = r.kind == runsBoxed || strings.HasPrefix(r.names, "ssh")
		if g.words > 0 && g.words < len(argv) && r.kind == runsHere && hasOperand(argv[g.words:]) {
			c.deny(name + " runs another command")
			c.BeyondPrefix = orElse(c.BeyondPrefix, name+" runs another command")
		}
	case name == "git" && gitRuns(argv) > 0:
		g.words = gitRuns(argv)
	case r != nil, c.BeyondPrefix != "" && !c.RunsListed:
	case codeRunners[name], name == "crontab":
	default:
		return
	}
	g.s, g.c = s, c
	g.local = r == nil || r.kind != runsBoxed
	g.code = codeRunners[name]
	if g.words > 0 {
		for i := g.words; i < len(argv); i++ {
			g.word(argv, i)
		}
	}
	for i := 1; i < len(argv); i++ {
		if argv[i].Known == Literal {
			g.strings(argv[i].Text)
		}
	}
	for _, t := range u.texts {
		g.script(t)
	}
	if r != nil && r.kind != runsStrings && g.words > 0 || g.code || name == "crontab" {
		for i := range c.Redirs {
			if body := c.Redirs[i].Body; body != "" && c.Redirs[i].Heredoc {
				g.input(name, body)
			}
		}
	}
	if (name == "at" || name == "batch" || name == "crontab" && len(argv) > 1 && argv[1].Text == "-") && c.Nesting&InPipe != 0 {
		s.complex(name + " runs its input as commands")
	}
}

// start gives the first word behind the subcommand that runs something; 0 when
// there is none.
func (r *runner) start(argv []Word) int {
	if r.subs == "" {
		return 1
	}
	for i := 1; i < len(argv); i++ {
		if argv[i].Known != Literal {
			return 1
		}
		if wordIn(r.subs, argv[i].Text) {
			return i + 1
		}
	}
	return 0
}

// gitRuns gives the first word of the command that git runs for each submodule or
// step; 0 when it runs none.
func gitRuns(argv []Word) int {
	for i := 2; i < len(argv); i++ {
		switch argv[i-1].Text + " " + argv[i].Text {
		case "submodule foreach", "bisect run":
			return i + 1
		}
		if argv[i].Text == "for-each-repo" || argv[i-1].Text == "for-each-repo" {
			return i
		}
	}
	return 0
}

// wordIn tells that a word stands in a list separated by blanks.
func wordIn(list, word string) bool {
	for list != "" {
		var w string
		if w, list, _ = strings.Cut(list, " "); w == word {
			return true
		}
	}
	return false
}

func hasOperand(words []Word) bool {
	for _, w := range words {
		if w.Known != Literal || w.Text != "" && w.Text[0] != '-' || strings.ContainsAny(w.Text, " =") {
			return true
		}
	}
	return false
}

// guesser collects what one command may run.
type guesser struct {
	s     *scanner
	c     *Command
	words int  // the first word that may begin a command; 0: none may
	skip  bool // a word right behind an option is its value, a host or an image
	local bool // it runs on this machine's files, or on those of another that matter
	code  bool // the words are code of a program, with strings in it
}

// take spends a guess.
func (g *guesser) take() bool {
	if g.s.guesses++; g.s.guesses > maxGuesses {
		g.s.complex("it holds more words that may be commands than can be checked")
		return false
	}
	return true
}

// keep adds what a guess found.
func (g *guesser) keep(found []Command) {
	for i := range found {
		x := &found[i]
		if g.local {
			g.c.Critical = orElse(g.c.Critical, x.Critical)
			g.c.KillsRuntime = orElse(g.c.KillsRuntime, x.KillsRuntime)
		}
		for k := range x.Forms {
			x.Forms[k].Allow = false
		}
		more := x.MayRun
		x.MayRun = nil
		g.c.MayRun = append(append(g.c.MayRun, *x), more...)
	}
	if len(g.c.MayRun) > MaxCommands {
		g.s.complex("it holds too many commands")
		g.c.MayRun = g.c.MayRun[:MaxCommands]
	}
}

// fork is a scanner for a guess, whose findings stay apart.
func (g *guesser) fork(words bool) *scanner {
	return &scanner{src: g.s.src, whole: g.s.whole, o: g.s.o, class: Simple, depth: g.s.depth, guesses: g.s.guesses, guessed: words}
}

// word takes the words from the i-th on as a command.
func (g *guesser) word(argv []Word, i int) {
	w := argv[i]
	if w.Known != Literal || w.Text == "" || w.Text[0] == '-' || strings.ContainsAny(w.Text, " \t\n") {
		return
	}
	if prev := argv[i-1]; g.skip && i > g.words && len(prev.Text) > 1 && prev.Text[0] == '-' && prev.Text != "--" && !strings.HasSuffix(prev.Text, "entrypoint") {
		return
	}
	if !g.take() {
		return
	}
	f := g.fork(true)
	x := Command{Nesting: g.c.Nesting | InString, Argv: argv[i:], Source: join(argv[i:])}
	f.cmds = append(f.cmds, Command{})
	f.finish(&x, state{nest: x.Nesting, sub: true})
	f.cmds[0] = x
	g.s.guesses = max(g.s.guesses, f.guesses)
	g.keep(f.cmds)
}

// script takes a text as a command line.
func (g *guesser) script(text string) {
	text = strings.TrimLeft(text, " \t\n:!|+@")
	if text == "" || !g.take() {
		return
	}
	f := g.fork(false)
	f.whole = text
	f.inner(text, state{nest: g.c.Nesting, sub: true})
	g.s.guesses = max(g.s.guesses, f.guesses)
	g.keep(f.cmds)
}

// strings takes what in a word may be a command line: the word itself, the value
// of an option or a setting, what stands behind an editor's "!".
func (g *guesser) strings(t string) {
	if g.code {
		g.literals(t)
		return
	}
	blank := strings.IndexAny(t, " \t\n")
	option := strings.HasPrefix(t, "-")
	if blank >= 0 && !option {
		g.script(strings.ReplaceAll(t, "spawn ", "\n"))
	}
	if blank > 2 && option && t[1] != '-' {
		g.script(t[2:])
	}
	head := t
	if blank >= 0 {
		head = t[:blank]
	}
	for k := 0; k < len(head); k++ {
		if head[k] == '=' && (option || blank >= 0 || k+1 < len(t) && t[k+1] == '!') {
			g.script(t[k+1:])
		}
	}
	if k := strings.IndexByte(t, '!'); k >= 0 && k+1 < len(t) {
		g.script(t[k+1:])
	}
}

// callHints are what code says that starts a program.
var callHints = []string{"system", "exec", "popen", "spawn", "subprocess", "shell", "qx", "run(", "call(", "`", "| getline", "|getline", "|"}

// literals takes the quoted strings of code that starts programs.
func (g *guesser) literals(code string) {
	lower := strings.ToLower(code)
	hint := false
	for _, h := range callHints {
		hint = hint || strings.Contains(lower, h)
	}
	if !hint {
		return
	}
	for i := 0; i < len(code); i++ {
		q := code[i]
		if q != '"' && q != '\'' && q != '`' {
			continue
		}
		j := i + 1
		for j < len(code) && code[j] != q {
			if code[j] == '\\' {
				j++
			}
			j++
		}
		if j >= len(code) {
			return
		}
		g.script(code[i+1 : j])
		i = j
	}
}

// input takes text from the script that is the input of a runner.
func (g *guesser) input(name, body string) {
	switch {
	case g.code:
		g.literals(body)
	case name == "crontab":
		g.cronLines(body)
	default:
		g.script(body)
	}
}

// cronLines takes the commands of a table of cron.
func (g *guesser) cronLines(body string) {
	for _, line := range strings.Split(body, "\n") {
		fields := strings.Fields(line)
		n := 5
		if len(fields) > 0 && strings.HasPrefix(fields[0], "@") {
			n = 1
		}
		if len(fields) > n {
			g.script(strings.Join(fields[n:], " "))
		}
	}
}
