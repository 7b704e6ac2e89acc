package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sevengate/sevengate/internal/engine/sandbox/inner"
)

// MaxPaths is the largest number of paths in a Policy.
const MaxPaths = 500

// NetworkMode says what of the network a command can reach.
type NetworkMode int

// The modes.
const (
	NetworkOff   NetworkMode = iota // nothing but its own loopback
	NetworkProxy                    // hosts that NetworkPolicy.Decide allows, through a proxy
	NetworkOpen                     // everything that the machine reaches
)

// NetworkPolicy is the network part of a Policy. The zero value is no network.
type NetworkPolicy struct {
	Mode NetworkMode
	// Decide is asked once for each host and port; the answer is kept for the life of the Sandbox. host is a lower-case
	// name without trailing dot, or an IP address. It may take its time (ask a person); it is called concurrently, and
	// ctx ends with the Sandbox.
	Decide func(ctx context.Context, host string, port int) bool
	// AllowPrivate lets an allowed host be at an address that is not on the public internet (loopback, private,
	// link-local and the like); nil: no such address is connected to.
	AllowPrivate func(host string, port int, addr netip.Addr) bool
}

// Policy says what a command may do. The zero value: read everything, write nothing, no network. Paths are absolute and
// stand for themselves and everything below. Between Write and WriteDeny, and between ReadDeny and AllowRead, the longer path wins,
// and of equal ones the denial.
type Policy struct {
	// Write is where files may be changed. Symbolic links are followed once, by Prepare; what does not exist
	// then is left out.
	Write []string
	// WriteDeny is where they may not, even inside Write.
	WriteDeny []string
	// ReadDeny is covered: a directory looks empty, a file cannot be opened. What does not exist is not covered.
	ReadDeny []string
	// AllowRead is shown inside ReadDeny. So is Write, if its path is longer.
	AllowRead []string
	Network   NetworkPolicy
	// Bubblewrap, an absolute path, is the bubblewrap program (0.5 or newer) that makes namespaces and mounts in place of this
	// program, for machines that let only that one. Landlock, the filter and the proxy are the same; see the package's
	// documentation for what is not. It counts on Linux only.
	Bubblewrap string
	// UnixSockets lets commands make Unix sockets, and reach by them every service of the machine that they may open.
	UnixSockets bool
	// TmpDir, if set, is writable and the command's TMPDIR.
	TmpDir string
	// Env sets ("NAME=value") and Unset drops variables of the command.
	Env, Unset []string
	// Pass are descriptors beside 0, 1 and 2 that the command gets; all others are closed. At most inner.MaxFD.
	Pass []int
	// Accept names parts that may be missing.
	Accept []Part
}

// Part is something that a sandbox is made of.
type Part string

// The parts.
const (
	PartUser       Part = "user namespace"    // what PartMount, PartPID and PartNetwork need
	PartMount      Part = "mount namespace"   // covering what must not be read, protecting paths inside writable ones
	PartPID        Part = "PID namespace"     // other processes out of sight and reach
	PartNetwork    Part = "network namespace" // cutting off or filtering the network
	PartLandlock   Part = "Landlock"          // second wall for writing; the only one without PartMount
	PartScope      Part = "Landlock scopes"   // second wall for signals and abstract sockets
	PartSeccomp    Part = "seccomp"           // system calls and kinds of sockets
	PartCgroup     Part = "cgroup"            // not used for walls: whether a command's processes can be ended as one
	PartBubblewrap Part = "bubblewrap"        // in place of the four namespaces, if Policy.Bubblewrap is set; never accepted to be missing
	PartSeatbelt   Part = "sandbox-exec"      // all of it, on macOS
)

// Status tells about a part.
type Status struct {
	Part   Part
	OK     bool
	Reason string // what there is, or why not
}

// Report tells what a machine can enforce.
type Report struct {
	Parts    []Status
	Landlock int // version of its interface, 0: none
}

// OK reports whether a part is there.
func (r Report) OK(p Part) bool { return r.status(p).OK }

func (r Report) status(p Part) Status {
	for _, s := range r.Parts {
		if s.Part == p {
			return s
		}
	}
	return Status{Part: p, Reason: "not on this system"}
}

// String returns a line for each part.
func (r Report) String() string {
	var b strings.Builder
	for _, s := range r.Parts {
		word := "no "
		if s.OK {
			word = "yes"
		}
		fmt.Fprintf(&b, "%s  %s: %s\n", word, s.Part, s.Reason)
	}
	return b.String()
}

// Available tries what this machine can enforce, once for each process.
func Available() Report {
	r := available()
	r.Parts = slices.Clone(r.Parts)
	return r
}

var available = sync.OnceValue(probe)

// UnavailableError tells which parts that a Policy needs are missing.
type UnavailableError struct{ Missing []Status }

func (e *UnavailableError) Error() string {
	var s []string
	for _, m := range e.Missing {
		s = append(s, string(m.Part)+" ("+m.Reason+")")
	}
	return "this machine cannot enforce the sandbox that is asked for; missing: " + strings.Join(s, ", ")
}

// check validates the policy and returns it with clean paths.
func (p Policy) check() (Policy, error) {
	n := 0
	for _, list := range []*[]string{&p.Write, &p.WriteDeny, &p.ReadDeny, &p.AllowRead} {
		out := make([]string, 0, len(*list))
		for _, path := range *list {
			if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
				return p, fmt.Errorf("sandbox path %q is not absolute", path)
			}
			out = append(out, filepath.Clean(path))
		}
		*list = out
		n += len(out)
	}
	if n > MaxPaths {
		return p, fmt.Errorf("the sandbox policy has %d paths; at most %d are possible", n, MaxPaths)
	}
	if p.TmpDir != "" {
		if !filepath.IsAbs(p.TmpDir) {
			return p, fmt.Errorf("sandbox temporary directory %q is not absolute", p.TmpDir)
		}
		p.Write = append(p.Write, filepath.Clean(p.TmpDir))
	}
	if p.Bubblewrap != "" && (!filepath.IsAbs(p.Bubblewrap) || strings.ContainsRune(p.Bubblewrap, 0)) {
		return p, fmt.Errorf("the path %q of bubblewrap is not absolute", p.Bubblewrap)
	}
	for _, kv := range p.Env {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" || strings.ContainsRune(kv, 0) {
			return p, errors.New("a variable of the sandbox policy is not of the form NAME=value")
		}
	}
	p.Pass = slices.Compact(slices.Sorted(slices.Values(p.Pass)))
	for _, fd := range p.Pass {
		if fd < 3 || fd > inner.MaxFD {
			return p, fmt.Errorf("descriptor %d cannot be passed into the sandbox; 3 to %d can", fd, inner.MaxFD)
		}
	}
	switch p.Network.Mode {
	case NetworkOff, NetworkOpen:
	case NetworkProxy:
		if p.Network.Decide == nil {
			return p, errors.New("the sandbox policy asks for a network proxy but has nothing that decides about hosts")
		}
	default:
		return p, fmt.Errorf("unknown network mode %d of the sandbox policy", p.Network.Mode)
	}
	return p, nil
}

func (p Policy) accepts(part Part) bool { return slices.Contains(p.Accept, part) }
