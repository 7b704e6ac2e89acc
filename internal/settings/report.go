package settings

import (
	"fmt"
	"strings"
)

// Report tells in lines of text what was looked for, found and wrong, the strongest source first.
func (s *Snapshot) Report() string {
	var b strings.Builder
	for _, src := range FileSources() {
		fmt.Fprintf(&b, "%s\n", src)
		none := true
		for _, f := range s.Files {
			if f.Source != src {
				continue
			}
			none = false
			path := f.Path
			if path == "" {
				path = "(given inline)"
			}
			fmt.Fprintf(&b, "  %-6s  %s%s\n", f.State, path, f.counts())
		}
		if none {
			b.WriteString("  not read\n")
		}
	}
	trust := "not trusted"
	switch {
	case s.Trust.Trusted:
		trust = "trusted"
	case s.Trust.Parent:
		trust = "not trusted, but a folder above it is"
	}
	fmt.Fprintf(&b, "trust: %s is %s\n", s.Trust.Key, trust)
	if why := s.held(); len(why) > 0 {
		b.WriteString("not in force:\n")
		for _, line := range why {
			b.WriteString("  " + line + "\n")
		}
	}
	list := func(title string, problems []Problem) {
		if len(problems) > 0 {
			b.WriteString(title + ":\n")
		}
		for _, p := range problems {
			b.WriteString("  " + p.String() + "\n")
		}
	}
	list("problems", s.Problems)
	list("warnings", s.Warnings)
	return b.String()
}

func (f File) counts() string {
	var parts []string
	for _, c := range []struct {
		n    int
		name string
	}{{f.Allow, "allow"}, {f.Ask, "ask"}, {f.Deny, "deny"}, {f.Directories, "directories"}, {f.Hooks, "hooks"}, {f.Env, "env"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.name))
		}
	}
	if f.Repository {
		parts = append(parts, "from the repository")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// held counts the entries that wait, by file and reason.
func (s *Snapshot) held() []string {
	type group struct{ list, file, why string }
	counts := map[group]int{}
	var order []group
	p := s.Settings.Permissions
	for _, l := range []struct {
		name    string
		entries []Entry
	}{{"allow", p.Allow}, {"ask", p.Ask}, {"deny", p.Deny}, {"additionalDirectories", p.AdditionalDirectories}} {
		for _, e := range l.entries {
			if e.InForce() {
				continue
			}
			g := group{"permissions." + l.name, e.File, e.Held}
			if counts[g] == 0 {
				order = append(order, g)
			}
			counts[g]++
		}
	}
	var out []string
	for _, g := range order {
		out = append(out, fmt.Sprintf("%d of %s in %s: %s", counts[g], g.list, g.file, g.why))
	}
	return out
}
