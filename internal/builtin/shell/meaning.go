package shell

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/tool"
)

// meaning is what a command line would do. The zero value is the careful answer,
// except for destructive.
type meaning struct {
	script      *shellscan.Script
	readOnly    bool
	concurrent  bool
	destructive bool
	network     bool
	effects     tool.Effects
	kind        tool.Kind
	// mayMove: the shell may end in another directory. Such a call conflicts with
	// every other, so that it runs alone.
	mayMove bool
	// inside tells whether it would run in the sandbox; nil: it would not.
	inside func() bool
}

func onceMeaning(f func() *meaning) func() *meaning { return sync.OnceValue(f) }

// understand reads a command line that is to run at a place.
func (f *family) understand(command string, background, outside bool, at tool.Place) *meaning {
	if at.Home == "" {
		at.Home = f.deps.Home
	}
	m := &meaning{script: scan(command, at)}
	m.inside = sync.OnceValue(func() bool { return f.inside(m.script, outside) })
	if m.script.Class != shellscan.Simple {
		m.destructive = m.script.Class == shellscan.Invalid
	} else {
		m.readOnly, _ = m.script.ReadOnly()
		if !background && !m.script.ChangesDir {
			m.effects = effectsOf(m.script, at.Cwd)
		}
	}
	m.concurrent = m.readOnly && m.effects.Known()
	m.mayMove = !background && !m.effects.Known()
	m.kind = tool.KindOther
	if m.readOnly {
		m.kind = kindOf(m.script)
	}
	for i := range m.script.Commands {
		c := &m.script.Commands[i]
		m.destructive = m.destructive || len(c.Removes) > 0 || c.Critical != ""
		m.network = m.network || reachesOut(c)
	}
	return m
}

func scan(command string, at tool.Place) *shellscan.Script {
	o := shellscan.Options{Cwd: at.Cwd, Home: at.Home}
	if len(at.Roots) > 0 {
		o.InRoots = func(path string) bool { return pathrule.InsideAny(at.Roots, path) }
	}
	return shellscan.Scan(command, o)
}

// exact names the programs that read no file but those that a scan tells: what a
// program outside of it reads by itself (a repository, a package list, a
// configuration) may be anything.
const exact = " cat tac head tail wc nl sort uniq cut tr rev fold fmt paste join comm column grep egrep fgrep rg find fd ls tree du stat file" +
	" diff cmp basename dirname realpath readlink echo printf true false : sleep seq date pwd cd test [ [[ sed awk jq od xxd hexdump strings" +
	" md5sum sha1sum sha256sum sha512sum cksum base64 whoami id uname hostname which type command nproc uptime arch tty exit "

// printers do nothing but print, wherever their output goes.
const printers = " echo printf cat "

func listed(list, name string) bool { return strings.Contains(list, " "+name+" ") }

func program(c *shellscan.Command) string {
	if len(c.Run) == 0 || c.Run[0].Known != shellscan.Literal {
		return ""
	}
	return c.Run[0].Text
}

// effectsOf joins what the commands of a script read and write. A read that is not
// known is a read of everything, which conflicts with every write and no read.
func effectsOf(script *shellscan.Script, cwd string) tool.Effects {
	all := tool.Nothing()
	for i := range script.Commands {
		c := &script.Commands[i]
		if c.Nesting&shellscan.InBackground != 0 || c.RunsUnknown || c.UnknownWrites {
			return tool.Effects{}
		}
		name := program(c)
		prints := listed(printers, name) && len(c.Wrappers) == 0 && len(c.Assigns) == 0
		if !c.ReadOnly && !c.FileCommand && !prints && !(c.RunsListed && c.Inner > 0) {
			return tool.Effects{}
		}
		written, ok := paths(c.Writes, c.Removes)
		if !ok {
			return tool.Effects{}
		}
		read, ok := paths(c.Reads)
		if !ok || c.UnknownReads || c.Git != nil || (len(c.Run) > 0 && !c.FileCommand && !c.RunsListed && !listed(exact, name)) {
			read = []string{everything(cwd)}
		}
		all = all.And(tool.Reads(read...)).And(tool.Writes(written...))
	}
	return all
}

// everything is the directory above all others.
func everything(dir string) string {
	return filepath.VolumeName(dir) + string(filepath.Separator)
}

// paths gives the directories and files that surely hold all that is meant.
func paths(lists ...[]shellscan.Path) ([]string, bool) {
	var out []string
	for _, list := range lists {
		for _, p := range list {
			base := p.Base
			if p.Known == shellscan.Literal {
				base = p.Text
			}
			// With .. behind a link the file is not where it seems to be.
			if !filepath.IsAbs(base) || strings.Contains(p.Raw, "/..") {
				return nil, false
			}
			out = append(out, base)
		}
	}
	return out, true
}

// Programs by what they are for, for display.
const (
	searchers = " grep egrep fgrep rg ag ack find fd fdfind locate zgrep git-grep "
	readers   = " cat head tail tac nl less more wc stat file strings jq yq awk cut sort uniq tr sed bat od xxd hexdump diff cmp "
	listers   = " ls tree du df "
	neutral   = " echo printf true : cd pwd test [ "
)

// kindOf classifies a script of which every command only searches, reads or lists.
func kindOf(script *shellscan.Script) tool.Kind {
	kind := tool.KindOther
	for i := range script.Commands {
		name := program(&script.Commands[i])
		var k tool.Kind
		switch {
		case listed(searchers, name):
			k = tool.KindSearch
		case listed(listers, name):
			k = tool.KindList
		case listed(readers, name):
			k = tool.KindRead
		case listed(neutral, name):
			continue
		default:
			return tool.KindOther
		}
		if kind == tool.KindOther || k == tool.KindSearch {
			kind = k // what follows in a pipe only shows what was found
		}
	}
	return kind
}

// remote programs talk to other machines, whatever their arguments.
const remote = " curl wget http https xh ssh scp sftp rsync nc ncat netcat socat telnet ftp ping ping6 traceroute dig nslookup host whois" +
	" gh glab aws gcloud az kubectl helm terraform npx pnpx bunx uvx "

// fetchers talk to other machines with some of their subcommands.
const fetchers = " git:push git:pull git:fetch git:clone git:ls-remote git:submodule git:remote npm:install npm:i npm:ci npm:publish npm:update npm:view" +
	" pnpm:install pnpm:add yarn:install yarn:add pip:install pip:download pip3:install uv:pip uv:add uv:sync cargo:install cargo:publish cargo:update" +
	" go:get go:install go:mod apt:install apt:update apt-get:install apt-get:update brew:install brew:update docker:pull docker:push docker:login" +
	" podman:pull podman:push gem:install bundle:install composer:install "

func reachesOut(c *shellscan.Command) bool {
	for i := range c.Redirs {
		if c.Redirs[i].Network {
			return true
		}
	}
	name := filepath.Base(program(c))
	if listed(remote, name) {
		return true
	}
	if c.Git != nil {
		return listed(fetchers, "git:"+c.Git.Subcommand)
	}
	for _, w := range c.Run[min(1, len(c.Run)):] {
		if w.Known == shellscan.Literal && !strings.HasPrefix(w.Text, "-") {
			return listed(fetchers, name+":"+w.Text)
		}
	}
	return false
}

// sandboxed tells whether the command would run in the sandbox.
func (m *meaning) sandboxed() bool { return m.inside != nil && m.inside() }
