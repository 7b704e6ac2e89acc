package confine

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/engine/shellscan"
)

// TestLevels: single values are the strongest level's and lists are joined, but an
// untrusted repository makes nothing looser, and an administrator's locks hold.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		name                  string
		user, project, policy string
		trust                 bool
		check                 func(o *options) bool
	}{
		{name: "nothing", check: func(o *options) bool { return !o.enabled && !o.required && !o.strict }},
		{name: "on", user: `{"enabled":true}`, check: func(o *options) bool { return o.enabled && !o.strict }},
		{name: "a repository may switch it on", project: `{"enabled":true,"failIfUnavailable":true,"allowUnsandboxedCommands":false}`,
			check: func(o *options) bool { return o.enabled && o.required && o.strict }},
		{name: "and not off", user: `{"enabled":true,"failIfUnavailable":true,"allowUnsandboxedCommands":false}`,
			project: `{"enabled":false,"failIfUnavailable":false,"allowUnsandboxedCommands":true,"enableWeakerNestedSandbox":true}`,
			check:   func(o *options) bool { return o.enabled && o.required && o.strict && !o.nested }},
		{name: "unless it is trusted", trust: true, user: `{"enabled":true}`, project: `{"enabled":false}`, check: func(o *options) bool { return !o.enabled }},
		{name: "an administrator's word is the last", trust: true, policy: `{"enabled":true}`, user: `{"enabled":false}`, project: `{"enabled":false}`,
			check: func(o *options) bool { return o.enabled }},
		{name: "lists", user: `{"excludedCommands":["a *"],"network":{"allowedDomains":["a.example"],"deniedDomains":["d.example"]}}`,
			project: `{"excludedCommands":["b *"],"network":{"allowedDomains":["b.example"],"deniedDomains":["e.example"]}}`,
			check: func(o *options) bool {
				return slices.Equal(o.excluded, []string{"a *"}) && slices.Equal(o.allowedHosts, []string{"a.example"}) && len(o.deniedHosts) == 2
			}},
		{name: "trusted lists", trust: true, user: `{"excludedCommands":["a *"]}`, project: `{"excludedCommands":["b *"]}`,
			check: func(o *options) bool { return len(o.excluded) == 2 }},
		{name: "kept inside", trust: true, policy: `{"allowUnsandboxedCommands":false}`, user: `{"excludedCommands":["a *"]}`, project: `{"excludedCommands":["b *"]}`,
			check: func(o *options) bool { return slices.Equal(o.excluded, []string{"a *"}) && o.strict }},
		{name: "an administrator's hosts", trust: true, policy: `{"network":{"allowManagedDomainsOnly":true,"allowedDomains":["m.example"]}}`,
			user: `{"network":{"allowedDomains":["a.example"],"deniedDomains":["d.example"]}}`,
			check: func(o *options) bool {
				return slices.Equal(o.allowedHosts, []string{"m.example"}) && o.managedHostsOnly && len(o.deniedHosts) == 1
			}},
		{name: "a person cannot lock for the administrator", user: `{"network":{"allowManagedDomainsOnly":true,"allowedDomains":["a.example"]}}`,
			check: func(o *options) bool { return len(o.allowedHosts) == 1 && !o.managedHostsOnly }},
		{name: "an administrator's readable paths", trust: true, policy: `{"filesystem":{"allowManagedReadPathsOnly":true,"allowRead":["/m"]}}`, user: `{"filesystem":{"allowRead":["/u"]}}`,
			check: func(o *options) bool { return len(o.allowRead) == 1 && o.allowRead[0].text == "/m" }},
		{name: "credentials", user: `{"credentials":{"files":[{"path":"~/.netrc","mode":"mask"}],"envVars":[{"name":"TOKEN","mode":"deny"}]}}`,
			check: func(o *options) bool {
				return len(o.denyRead) == 1 && slices.Equal(o.unset, []string{"TOKEN"}) && len(o.notes) == 1 && strings.Contains(o.notes[0], "masked")
			}},
		{name: "without effect", user: `{"network":{"httpProxyPort":8080}}`, check: func(o *options) bool { return len(o.notes) == 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			for level, text := range map[string]string{"user": c.user, "project": c.project, "policy": c.policy} {
				if text == "" {
					continue
				}
				text = `{"sandbox":` + text + `}`
				switch level {
				case "user":
					p.user(text)
				case "project":
					p.project(text)
				default:
					p.policy(text)
				}
			}
			w := p.watcher()
			if c.trust {
				if err := w.Trust().SetTrust(p.dir, true); err != nil {
					t.Fatal(err)
				}
			}
			if o := read(w.Current(context.Background())); !c.check(o) {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestPaths: the sandbox's own grammar of paths.
func TestPaths(t *testing.T) {
	p := newPlace(t)
	p.user(`{"sandbox":{"filesystem":{"allowWrite":["/abs/x/","//abs/y/**","~/z","here","./there"]}}}`)
	p.project(`{"sandbox":{"filesystem":{"denyWrite":["here","./sub/**","~","w*"]}}}`)
	k := p.keeper(nil)
	o := read(k.cfg.Settings())
	var got []string
	for _, l := range slices.Concat(o.allowWrite, o.denyWrite) {
		got = append(got, k.abs(l))
	}
	user := filepath.Join(p.home, ".claude")
	want := []string{"/abs/x", "/abs/y", p.home + "/z", user + "/here", user + "/there", p.dir + "/here", p.dir + "/sub", p.home, p.dir + "/w*"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	p.write(p.dir+"/w1", "")
	p.write(p.dir+"/v1", "")
	paths, _, err := k.closedPaths(o.denyWrite, "Edit", &finder{left: 1000})
	if err != nil || !slices.Contains(paths, p.dir+"/w1") || slices.Contains(paths, p.dir+"/v1") {
		t.Errorf("wildcards: %q, %v", paths, err)
	}
	if _, _, err := k.closedPaths(o.denyWrite, "Edit", &finder{left: 1}); err == nil {
		t.Error("a pattern that cannot be followed to its end is taken as followed")
	}
}

// TestExcluded: every part of a line must be named.
func TestExcluded(t *testing.T) {
	needSandbox(t)
	p := newPlace(t)
	p.user(`{"sandbox":{"enabled":true,"excludedCommands":["docker *","git push:*","("]}}`)
	k := p.keeper(nil)
	for line, inside := range map[string]bool{
		"docker run x": false, "docker ps | docker inspect x": false, "docker run x && ls": true, "git push origin": false,
		"git pull": true, "dockerx run": true, "timeout 5 docker run x": false, "docker run $(ls)": true, "echo 'docker run'": true, "": true,
		"docker run x; $Y": true, "for i in 1; do docker run $i; done": false, "if": true,
	} {
		if got, why := k.Inside(context.Background(), shellscan.Scan(line, shellscan.Options{Cwd: p.dir, Home: p.home}), false); got != inside {
			t.Errorf("%s: inside %v (%s)", line, got, why)
		}
	}
	notes, err := k.Check(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(notes)
}
