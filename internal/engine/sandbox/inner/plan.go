// Package inner is the part of the sandbox that runs inside it: the program is
// started again with a hidden argument, this package recognises it before the
// rest of the program has been initialised, builds the walls that a Plan
// describes and becomes the command.
//
// It decides nothing: which paths, which namespaces and which network is
// written in the Plan by package sandbox. Whatever of the plan cannot be done
// ends the command before it has begun.
package inner

import (
	"errors"
)

// Arg is the hidden first argument. It names the form of the plan, so that a program replaced while it runs refuses the
// plans of its predecessor instead of misreading them.
const Arg = "sevengate-sandboxed-v1"

// Exit codes of the helper itself, used when no command has run.
const (
	ExitUsage  = 125 // the plan is not understood
	ExitFailed = 126 // a wall could not be built, or the command not started
)

// CheckAnswer is what a plan with Check prints instead of running a command.
const CheckAnswer = "sandbox ready\n"

// MaxFD is the highest descriptor number that a command may be given; the helper keeps its own above it.
const MaxFD = 209

// Kind says what a Layer does to its path.
type Kind byte

// Layers. A path that is shown again (Writable, ReadOnly) is taken from the machine's own tree as it was before any layer.
const (
	Writable Kind = 'w' // what is there, writable
	ReadOnly Kind = 'r' // what is there, read-only, whatever lies around it
	HideDir  Kind = 'h' // an empty directory in its place
	HideFile Kind = 'f' // something that cannot be opened in its place
	MakeDir  Kind = 'd' // a directory inside a HideDir, to show something in
	MakeFile Kind = 'c' // an empty file inside a HideDir, to show something on
	CloseDir Kind = 'x' // makes a HideDir read-only once all is in it
)

const layerKinds = "wrhfdcx"

func isLayerKind(k byte) bool {
	_, _, found := cut(layerKinds, k)
	return found
}

// Layer changes what is seen at one path. Layers are applied in order.
type Layer struct {
	Kind Kind
	Path string
}

// Plan is all that the helper is told. The zero value builds no wall but no_new_privs and the closing of descriptors.
type Plan struct {
	Namespaces bool     // own user, mount, PID and IPC namespaces
	NetNS      bool     // own network namespace with nothing but loopback; needs Namespaces
	HostProc   bool     // leave the machine's /proc where it is
	RootWrite  bool     // do not make everything read-only first
	Layers     []Layer  // need Namespaces
	Landlock   int      // ABI to use, 0: none
	Roots      []string // where Landlock lets write; "/" for everywhere
	Seccomp    bool     // install the filter
	NoInet     bool     // the filter refuses IPv4 and IPv6 sockets
	UnixOK     bool     // the filter lets Unix sockets be made, Landlock lets abstract ones be reached
	Register   string   // Unix socket that gets the listening socket; needs NetNS
	Port       int      // port of that listening socket on 127.0.0.1
	Env        []string // NAME=value, replacing what is inherited
	Unset      []string // names of variables to drop
	OpenFiles  int      // the command's soft limit of open files, 0: as it is
	Pass       []int    // descriptors of the command beside 0, 1 and 2, ascending
	Check      bool     // print CheckAnswer instead of running a command

	Bubblewrap string // program that makes the namespaces and Layers, absolute; the rest is done inside by this program again
	UserNS     bool   // Bubblewrap makes a user namespace, too
	Within     bool   // the namespaces are there already
	Link       *link  // to the process outside; needs Within
	Connection int    // descriptor of a connection in place of Register; needs Within
	Default    []int  // signals that are to have their default meaning for the command
}

// link is what connects the process outside with the one inside.
type link struct {
	Stdio [3]int // the command's standard descriptors
	Tell  int    // where the record of the command's end is written
	Life  int    // has ended when the process outside has
}

// Args returns the arguments that stand between the program and the command's own.
func (p *Plan) Args() []string {
	var s []string
	flag := func(name string, on bool) {
		if on {
			s = append(s, name)
		}
	}
	flag("namespaces", p.Namespaces)
	flag("netns", p.NetNS)
	flag("hostproc", p.HostProc)
	flag("rootwrite", p.RootWrite)
	flag("seccomp", p.Seccomp)
	flag("noinet", p.NoInet)
	flag("unix", p.UnixOK)
	flag("check", p.Check)
	flag("userns", p.UserNS)
	flag("within", p.Within)
	if p.Landlock > 0 {
		s = append(s, "landlock="+itoa(p.Landlock))
	}
	if p.OpenFiles > 0 {
		s = append(s, "openfiles="+itoa(p.OpenFiles))
	}
	if p.Port > 0 {
		s = append(s, "port="+itoa(p.Port))
	}
	if p.Register != "" {
		s = append(s, "register="+p.Register)
	}
	if p.Connection > 0 {
		s = append(s, "connection="+itoa(p.Connection))
	}
	if p.Bubblewrap != "" {
		s = append(s, "bubblewrap="+p.Bubblewrap)
	}
	if l := p.Link; l != nil {
		text := "link="
		for _, fd := range []int{l.Stdio[0], l.Stdio[1], l.Stdio[2], l.Tell, l.Life} {
			text += itoa(fd) + ","
		}
		s = append(s, text)
	}
	for _, sig := range p.Default {
		s = append(s, "default="+itoa(sig))
	}
	for _, l := range p.Layers {
		s = append(s, "layer="+string(l.Kind)+l.Path)
	}
	list := func(name string, values []string) {
		for _, v := range values {
			s = append(s, name+"="+v)
		}
	}
	list("root", p.Roots)
	list("env", p.Env)
	list("unset", p.Unset)
	for _, fd := range p.Pass {
		s = append(s, "pass="+itoa(fd))
	}
	return append([]string{Arg, itoa(len(s))}, s...)
}

// parse reads what Args wrote (without Arg) and returns the command behind it.
func parse(args []string) (p Plan, command []string, err error) {
	if len(args) == 0 {
		return p, nil, errors.New("no plan")
	}
	n, err := atoi(args[0])
	if err != nil || n < 0 || n > len(args)-1 {
		return p, nil, errors.New("the plan's length " + quote(args[0]) + " is wrong")
	}
	for _, s := range args[1 : 1+n] {
		if err := p.set(s); err != nil {
			return p, nil, err
		}
	}
	command = args[1+n:]
	switch {
	case len(command) == 0 && !p.Check:
		err = errors.New("no command")
	case p.NetNS && !p.Namespaces, len(p.Layers) > 0 && !p.Namespaces, p.Register != "" && !p.NetNS:
		err = errors.New("the plan needs namespaces that it does not ask for")
	case (p.Register != "" || p.Connection > 0) && p.Port == 0:
		err = errors.New("the plan names no port")
	case p.Within && p.Namespaces, p.Connection > 0 && !p.Within, p.Link != nil && !p.Within, p.Bubblewrap != "" && !p.Namespaces, p.UserNS && p.Bubblewrap == "":
		err = errors.New("the plan contradicts itself about who makes the namespaces")
	}
	return p, command, err
}

func (p *Plan) set(s string) (err error) {
	name, value, hasValue := cut(s, '=')
	flags := map[string]*bool{"namespaces": &p.Namespaces, "netns": &p.NetNS, "hostproc": &p.HostProc, "rootwrite": &p.RootWrite,
		"seccomp": &p.Seccomp, "noinet": &p.NoInet, "unix": &p.UnixOK, "check": &p.Check, "userns": &p.UserNS, "within": &p.Within}
	if f := flags[name]; f != nil && !hasValue {
		*f = true
		return nil
	}
	bad := func() error { return errors.New("plan entry " + quote(s) + " is not understood") }
	if !hasValue {
		return bad()
	}
	switch name {
	case "landlock":
		p.Landlock, err = natural(value)
	case "openfiles":
		p.OpenFiles, err = natural(value)
	case "port":
		p.Port, err = atoi(value)
		if err == nil && (p.Port < 1 || p.Port > 65535) {
			return bad()
		}
	case "connection":
		p.Connection, err = atoi(value)
		if err == nil && p.Connection <= MaxFD {
			return bad()
		}
	case "link":
		p.Link = &link{}
		for _, fd := range []*int{&p.Link.Stdio[0], &p.Link.Stdio[1], &p.Link.Stdio[2], &p.Link.Tell, &p.Link.Life} {
			text, rest, ok := cut(value, ',')
			if *fd, err = atoi(text); err != nil || !ok || *fd <= MaxFD {
				return bad()
			}
			value = rest
		}
		if value != "" {
			return bad()
		}
	case "default":
		sig := 0
		sig, err = atoi(value)
		if err == nil && (sig < 1 || sig > 64) {
			return bad()
		}
		p.Default = append(p.Default, sig)
	case "bubblewrap":
		if value == "" || value[0] != '/' {
			return bad()
		}
		p.Bubblewrap = value
	case "register":
		p.Register = value
	case "layer":
		if len(value) < 2 || value[1] != '/' || !isLayerKind(value[0]) {
			return bad()
		}
		p.Layers = append(p.Layers, Layer{Kind: Kind(value[0]), Path: value[1:]})
	case "root":
		p.Roots = append(p.Roots, value)
	case "env":
		p.Env = append(p.Env, value)
	case "unset":
		p.Unset = append(p.Unset, value)
	case "pass":
		fd := 0
		fd, err = atoi(value)
		if err == nil && (fd < 3 || fd > MaxFD || len(p.Pass) > 0 && fd <= p.Pass[len(p.Pass)-1]) {
			return bad()
		}
		p.Pass = append(p.Pass, fd)
	default:
		return bad()
	}
	if err != nil {
		return bad()
	}
	return nil
}

func natural(s string) (int, error) {
	n, err := atoi(s)
	if err == nil && n < 0 {
		err = errNoNumber
	}
	return n, err
}
