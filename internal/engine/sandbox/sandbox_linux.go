//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sevengate/sevengate/internal/engine/sandbox/inner"
)

// ProxyPort is where the proxy is found inside the sandbox, on 127.0.0.1. The network namespace is the command's own, so
// it can only meet what the command itself starts.
const ProxyPort = insidePort

// engine is how the walls are built on Linux.
type engine struct {
	bubblewrap                  string // what makes the namespaces; empty: this program
	userNS                      bool   // bubblewrap makes a user namespace
	namespaces, netns, hostProc bool
	landlock                    int
	seccomp, noInet             bool
	openFiles                   int
}

func (e *engine) proxyOnTCP() bool { return false }

// choose picks the means for a policy and returns what is missing.
func (e *engine) choose(p Policy, r Report) (missing []Status) {
	miss := func(parts ...Part) {
		for _, part := range parts {
			missing = append(missing, r.status(part))
		}
	}
	e.bubblewrap = p.Bubblewrap
	if e.bubblewrap != "" { // what it can do, only a trial tells
		r = Report{Parts: slices.Clone(r.Parts), Landlock: r.Landlock}
		r.Parts = append(slices.DeleteFunc(r.Parts, func(s Status) bool { return slices.Contains(namespaceParts, s.Part) }),
			Status{Part: PartUser, OK: true}, Status{Part: PartMount, OK: true}, Status{Part: PartPID, OK: true}, Status{Part: PartNetwork, OK: true})
	}
	e.namespaces = r.OK(PartUser) && r.OK(PartMount)
	if r.OK(PartLandlock) {
		e.landlock = r.Landlock
	}
	e.seccomp = r.OK(PartSeccomp)
	e.hostProc = !r.OK(PartPID)
	if !e.namespaces {
		miss(PartMount)
	}
	if !e.namespaces && e.landlock == 0 {
		miss(PartLandlock)
	}
	if !e.namespaces || e.hostProc {
		miss(PartPID)
	}
	if !e.seccomp {
		miss(PartSeccomp)
	}
	switch p.Network.Mode {
	case NetworkOff, NetworkProxy:
		e.netns = e.namespaces && r.OK(PartNetwork)
		if !e.netns && p.Network.Mode == NetworkOff {
			e.noInet = true // no loopback either, but no network
		}
		if !e.netns && (p.Network.Mode == NetworkProxy || !e.seccomp) {
			miss(PartNetwork)
		}
	}
	return missing
}

// namespaceParts are the parts that bubblewrap brings.
var namespaceParts = []Part{PartUser, PartMount, PartPID, PartNetwork}

func (e *engine) plan(s *Sandbox, v view) *inner.Plan {
	p := &inner.Plan{
		Namespaces: e.namespaces, NetNS: e.netns, HostProc: e.hostProc, RootWrite: v.rootWrite,
		Landlock: e.landlock, Roots: v.write, Seccomp: e.seccomp, NoInet: e.noInet, UnixOK: s.policy.UnixSockets,
		Env: s.environment(), Unset: s.policy.Unset, Pass: s.policy.Pass, OpenFiles: e.openFiles,
		Bubblewrap: e.bubblewrap, UserNS: e.userNS,
	}
	if e.namespaces {
		p.Layers = v.layers
	}
	if s.proxy != nil && e.netns {
		p.Register, p.Port = s.proxy.socket, ProxyPort
	}
	return p
}

func (e *engine) words(s *Sandbox, v view) []string {
	return append([]string{s.exe}, e.plan(s, v).Args()...)
}

// try builds the walls once, around nothing.
func (s *Sandbox) try(ctx context.Context) error {
	s.engine.openFiles = openFileLimit(ctx)
	if s.engine.bubblewrap == "" {
		return s.tryOnce(ctx)
	}
	// Root needs no user namespace, and without one knows all users; in a container it may be unable to do without. Nor does
	// every container let a new /proc be mounted.
	var first error
	for _, hostProc := range []bool{false, true} {
		for _, userNS := range []bool{false, true} {
			if hostProc && !s.policy.accepts(PartPID) || !userNS && os.Geteuid() != 0 {
				continue
			}
			s.engine.userNS, s.engine.hostProc = userNS, hostProc
			err := s.tryOnce(ctx)
			if err == nil {
				if hostProc {
					s.lost = append(s.lost, Status{Part: PartPID, Reason: first.Error()})
				}
				return nil
			}
			if first == nil {
				first = err
			}
		}
	}
	return &UnavailableError{Missing: []Status{{Part: PartBubblewrap, Reason: first.Error()}}}
}

func (s *Sandbox) tryOnce(ctx context.Context) error {
	plan := s.engine.plan(s, makeView(s.policy, s.roots))
	plan.Check = true
	cmd := exec.CommandContext(ctx, s.exe, plan.Args()...)
	cmd.Dir = "/"
	cmd.Env = os.Environ()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || string(out) != inner.CheckAnswer {
		text, _, _ := strings.Cut(errs.String(), "\n")
		if err == nil {
			err = fmt.Errorf("the program does not answer as it should")
		}
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}

// openFileLimit returns the soft limit of open files with which this process starts others, or 0. Go raises its own and
// keeps the old value to itself; the helper, being a Go program, would hand the raised one to the command.
func openFileLimit(ctx context.Context) int {
	out, err := exec.CommandContext(ctx, "/bin/sh", "-c", "ulimit -Sn").Output()
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// probe tries each part in a process that does nothing else.
func probe() Report {
	var r Report
	try := func(part Part, ok string, p inner.Plan) bool {
		p.Check = true
		s := Status{Part: part, OK: true, Reason: ok}
		if err := inner.Probe(&p); err != nil {
			s.OK, s.Reason = false, err.Error()
		}
		r.Parts = append(r.Parts, s)
		return s.OK
	}
	needs := func(part, what Part) {
		r.Parts = append(r.Parts, Status{Part: part, Reason: "needs a " + string(what)})
	}
	// The mounts are tried with the user namespace, so that one reason covers both.
	if try(PartUser, "works", inner.Plan{Namespaces: true, HostProc: true}) {
		r.Parts = append(r.Parts, Status{Part: PartMount, OK: true, Reason: "works"})
		try(PartPID, "works, with its own /proc", inner.Plan{Namespaces: true})
		try(PartNetwork, "works", inner.Plan{Namespaces: true, HostProc: true, NetNS: true})
	} else {
		reason := r.Parts[0].Reason
		r.Parts = append(r.Parts, Status{Part: PartMount, Reason: reason})
		needs(PartPID, PartUser)
		needs(PartNetwork, PartUser)
	}
	abi := inner.ABI()
	if abi == 0 {
		r.Parts = append(r.Parts, Status{Part: PartLandlock, Reason: "the kernel does not offer it"})
	} else if try(PartLandlock, "version "+strconv.Itoa(abi), inner.Plan{Landlock: abi}) {
		r.Landlock = abi
	}
	scope := Status{Part: PartScope, OK: r.Landlock >= 6, Reason: "version " + strconv.Itoa(abi) + " of Landlock; 6 is needed"}
	r.Parts = append(r.Parts, scope)
	try(PartSeccomp, "works", inner.Plan{Seccomp: true})
	r.Parts = append(r.Parts, cgroupStatus())
	return r
}

func cgroupStatus() Status {
	s := Status{Part: PartCgroup}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		s.Reason = err.Error()
		return s
	}
	for line := range strings.Lines(string(text)) {
		own, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		if !ok {
			continue
		}
		for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
			if unix.Access(root+own+"/cgroup.procs", unix.W_OK) == nil && unix.Access(root+own, unix.W_OK) == nil {
				s.OK, s.Reason = true, "version 2, writable at "+root+own
				return s
			}
		}
	}
	s.Reason = "no writable cgroup of version 2"
	return s
}
