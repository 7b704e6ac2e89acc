package confine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/settings"
)

// options are the settings of one moment.
type options struct {
	enabled     bool
	required    bool // sandbox.failIfUnavailable
	strict      bool // nothing runs outside on request
	nested      bool // fewer walls are acceptable, for containers
	filesOpen   bool // no walls around files
	unixSockets bool
	bwrap       string

	excluded []string

	allowWrite, denyWrite, denyRead, allowRead []located
	allowedHosts, deniedHosts                  []string
	managedHostsOnly, strictHosts              bool
	unset                                      []string
	// ignore maps a part of a command line to parts of messages that are not worth telling.
	ignore map[string][]string

	notes []string // what is set and has no effect here
}

// located is a path as it stands in a settings file.
type located struct {
	settings.Value
	text string
}

// reader takes the options from the levels, the strongest first.
type reader struct {
	snap *settings.Snapshot
	o    *options
}

func read(snap *settings.Snapshot) *options {
	o := &options{}
	if snap == nil {
		return o
	}
	r := reader{snap, o}
	o.enabled = r.flag(false, true, "enabled")
	o.required = r.flag(false, true, "failIfUnavailable")
	o.strict = !r.flag(true, false, "allowUnsandboxedCommands")
	o.nested = r.flag(false, false, "enableWeakerNestedSandbox")
	o.filesOpen = r.flag(false, false, "filesystem", "disabled")
	o.unixSockets = r.flag(false, false, "network", "allowAllUnixSockets")
	o.strictHosts = r.flag(false, true, "network", "strictAllowlist")
	o.managedHostsOnly = r.managed("network", "allowManagedDomainsOnly")
	managedReads := r.managed("filesystem", "allowManagedReadPathsOnly")

	o.excluded = r.texts(func(v *settings.Value) bool { return !v.Untrusted && !(r.keptInside() && ofRepository(v)) }, "excludedCommands")
	o.allowWrite = r.paths(trusted, "filesystem", "allowWrite")
	o.denyWrite = r.paths(all, "filesystem", "denyWrite")
	o.denyRead = r.paths(all, "filesystem", "denyRead")
	o.allowRead = r.paths(func(v *settings.Value) bool {
		return trusted(v) && (!managedReads || v.Source == settings.PolicySettings)
	}, "filesystem", "allowRead")
	o.allowedHosts = r.texts(func(v *settings.Value) bool {
		return trusted(v) && (!o.managedHostsOnly || v.Source == settings.PolicySettings)
	}, "network", "allowedDomains")
	o.deniedHosts = r.texts(all, "network", "deniedDomains")
	r.credentials()
	r.ignored()
	for _, v := range r.values("bwrapPath") {
		if v.Source == settings.PolicySettings && o.bwrap == "" {
			_ = json.Unmarshal(v.JSON, &o.bwrap)
		}
	}
	r.without("network", "httpProxyPort")
	r.without("network", "socksProxyPort")
	r.without("network", "tlsTerminate")
	r.without("socatPath")
	return o
}

func all(*settings.Value) bool       { return true }
func trusted(v *settings.Value) bool { return !v.Untrusted }
func ofRepository(v *settings.Value) bool {
	return v.Source == settings.ProjectSettings || v.Source == settings.LocalSettings
}

func (r reader) values(path ...string) []settings.Value {
	return r.snap.Values(append([]string{"sandbox"}, path...)...)
}

// flag is the strongest level's value. A repository that is not trusted may set
// the careful one only.
func (r reader) flag(otherwise, careful bool, path ...string) bool {
	for _, v := range r.values(path...) {
		var b bool
		if json.Unmarshal(v.JSON, &b) != nil {
			b = careful
		}
		if !v.Untrusted || b == careful {
			return b
		}
	}
	return otherwise
}

func (r reader) managed(path ...string) bool {
	return slices.ContainsFunc(r.values(path...), func(v settings.Value) bool {
		return v.Source == settings.PolicySettings && string(v.JSON) == "true"
	})
}

// keptInside tells that an administrator or the command line keeps commands
// inside, so that a repository may not name those that run outside.
func (r reader) keptInside() bool {
	strict := slices.ContainsFunc(r.values("allowUnsandboxedCommands"), func(v settings.Value) bool {
		return (v.Source == settings.PolicySettings || v.Source == settings.FlagSettings) && string(v.JSON) != "true"
	})
	return strict || r.managed("network", "allowManagedDomainsOnly")
}

func (r reader) texts(use func(*settings.Value) bool, path ...string) []string {
	var out []string
	for _, l := range r.paths(use, path...) {
		if !slices.Contains(out, l.text) {
			out = append(out, l.text)
		}
	}
	return out
}

// paths are the texts of a list with where they come from.
func (r reader) paths(use func(*settings.Value) bool, path ...string) []located {
	var out []located
	for _, v := range r.values(path...) {
		var list []string
		if !use(&v) || json.Unmarshal(v.JSON, &list) != nil {
			continue
		}
		for _, text := range list {
			if text = strings.TrimSpace(text); text != "" {
				out = append(out, located{v, text})
			}
		}
	}
	return out
}

// credentials are files and variables that commands must not see.
func (r reader) credentials() {
	for _, v := range r.values("credentials", "files") {
		var list []struct{ Path, Mode string }
		if json.Unmarshal(v.JSON, &list) != nil {
			continue
		}
		for _, f := range list {
			if f.Path != "" {
				r.o.denyRead = append(r.o.denyRead, located{v, f.Path})
				r.masked(f.Mode, f.Path)
			}
		}
	}
	for _, v := range r.values("credentials", "envVars") {
		var list []struct{ Name, Mode string }
		if json.Unmarshal(v.JSON, &list) != nil {
			continue
		}
		for _, e := range list {
			if e.Name != "" && !slices.Contains(r.o.unset, e.Name) {
				r.o.unset = append(r.o.unset, e.Name)
				r.masked(e.Mode, e.Name)
			}
		}
	}
}

func (r reader) masked(mode, what string) {
	if mode == "mask" {
		r.o.notes = append(r.o.notes, fmt.Sprintf("sandbox.credentials: %s is hidden from commands altogether; a masked copy is not made", what))
	}
}

// ignored joins the levels' lists for the same command.
func (r reader) ignored() {
	for _, v := range r.values("ignoreViolations") {
		var m map[string][]string
		if v.Untrusted || json.Unmarshal(v.JSON, &m) != nil {
			continue
		}
		for key, list := range m {
			if r.o.ignore == nil {
				r.o.ignore = map[string][]string{}
			}
			r.o.ignore[key] = append(r.o.ignore[key], list...)
		}
	}
}

// without notes a setting that has no effect.
func (r reader) without(path ...string) {
	for _, v := range r.values(path...) {
		if s := string(v.JSON); s != "null" && s != "0" && s != `""` {
			r.o.notes = append(r.o.notes, "sandbox."+strings.Join(path, ".")+" has no effect: the sandbox uses its own proxy")
			return
		}
	}
}
