package confine

import (
	"context"
	"fmt"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/sandbox"
)

// Report tells what commands in the sandbox can do, and what enforces it.
type Report struct {
	Enabled bool   `json:"enabled"`
	Strict  bool   `json:"strict,omitempty"`
	Error   string `json:"error,omitempty"` // why there is none although it is enabled

	Write     []string `json:"write,omitempty"`
	WriteDeny []string `json:"writeDeny,omitempty"`
	ReadDeny  []string `json:"readDeny,omitempty"`
	AllowRead []string `json:"allowRead,omitempty"`
	TmpDir    string   `json:"tmpDir,omitempty"`
	Env       []string `json:"env,omitempty"`
	Unset     []string `json:"unset,omitempty"`

	AllowedHosts []string `json:"allowedHosts,omitempty"`
	DeniedHosts  []string `json:"deniedHosts,omitempty"`
	Others       string   `json:"otherHosts,omitempty"` // what happens to those

	Excluded []string `json:"excludedCommands,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Parts    []Part   `json:"parts"`
}

// Part is one thing that the machine can or cannot enforce.
type Part struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Reason string `json:"reason"`
}

// Report tells how things stand now.
func (k *Keeper) Report(ctx context.Context) Report {
	w := k.now(ctx)
	o := w.options
	r := Report{Enabled: o.enabled, Strict: o.strict, Notes: w.notes, Excluded: o.excluded}
	for _, s := range sandbox.Available().Parts {
		r.Parts = append(r.Parts, Part{Name: string(s.Part), OK: s.OK, Reason: s.Reason})
	}
	if !o.enabled {
		return r
	}
	if w.err != nil {
		r.Error = w.err.Error()
	}
	p := w.policy
	r.Write, r.WriteDeny, r.ReadDeny, r.AllowRead = p.Write, p.WriteDeny, p.ReadDeny, p.AllowRead
	r.TmpDir, r.Env, r.Unset = p.TmpDir, p.Env, p.Unset
	r.AllowedHosts, r.DeniedHosts = o.allowedHosts, o.deniedHosts
	switch {
	case o.managedHostsOnly:
		r.Others = "refused, also by rules: an administrator lists the hosts"
	case o.strictHosts:
		r.Others = "refused unless a rule WebFetch(domain:…) allows them"
	default:
		r.Others = "asked, unless a rule WebFetch(domain:…) speaks of them"
	}
	return r
}

// String is the report for a person.
func (r Report) String() string {
	var b strings.Builder
	switch {
	case !r.Enabled:
		b.WriteString("Commands run without a sandbox: sandbox.enabled is not set.\n")
	case r.Error != "":
		fmt.Fprintf(&b, "There is no sandbox although sandbox.enabled is set: %s\nCommands run without it, after the usual questions.\n", r.Error)
	case r.Strict:
		b.WriteString("Commands run in the sandbox, and nothing runs outside of it on request.\n")
	default:
		b.WriteString("Commands run in the sandbox.\n")
	}
	list := func(head string, items []string) {
		if len(items) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s:\n", head)
		for _, item := range items {
			fmt.Fprintf(&b, "  %s\n", item)
		}
	}
	list("Writable", r.Write)
	if r.TmpDir != "" {
		fmt.Fprintf(&b, "  %s (TMPDIR)\n", r.TmpDir)
	}
	list("Not writable all the same", r.WriteDeny)
	list("Hidden", r.ReadDeny)
	list("Shown in what is hidden", r.AllowRead)
	list("Variables set", r.Env)
	list("Variables dropped", r.Unset)
	list("Hosts allowed", r.AllowedHosts)
	list("Hosts refused", r.DeniedHosts)
	if r.Others != "" {
		fmt.Fprintf(&b, "\nOther hosts: %s\n", r.Others)
	}
	list("Commands that run outside", r.Excluded)
	list("Notes", r.Notes)
	b.WriteString("\nThis machine:\n")
	for _, p := range r.Parts {
		word := "no "
		if p.OK {
			word = "yes"
		}
		fmt.Fprintf(&b, "  %s  %s: %s\n", word, p.Name, p.Reason)
	}
	return b.String()
}
