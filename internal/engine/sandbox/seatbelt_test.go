package sandbox

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// profile makes the profile of a policy.
func profile(t testing.TB, p Policy, port int) string {
	t.Helper()
	p, err := p.check()
	if err != nil {
		t.Fatal(err)
	}
	return seatbeltProfile(p, p.roots(), port)
}

// playProfile tells what a profile says of an operation on a path, as sandbox-exec decides: the last rule that matches holds.
func playProfile(text, operation, path string) bool {
	allowed := true
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.Trim(line, "()\n"), " ")
		name, filter, filtered := strings.Cut(rest, " ")
		group, isGroup := strings.CutSuffix(name, "*")
		if name != "default" && name != operation && !(isGroup && strings.HasPrefix(operation, group)) {
			continue
		}
		matches := !filtered
		for _, f := range strings.Split(filter, ") (") {
			kind, value, _ := strings.Cut(strings.Trim(f, "()"), " ")
			value = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(strings.Trim(value, `"`))
			matches = matches || kind == "literal" && path == value || kind == "subpath" && within(path, value)
		}
		if matches {
			allowed = word == "allow"
		}
	}
	return allowed
}

func TestSeatbeltFiles(t *testing.T) {
	dir := realTemp(t)
	for _, name := range []string{"w/.git/config", "w/keys/private", "w/keys/shown/in", "w/.env", "w/open/in", "home/.ssh/id", "home/.ssh/config", "out/f"} {
		write(t, dir+"/"+name, "")
	}
	if err := os.Symlink(dir+"/home/.ssh", dir+"/w/ssh"); err != nil {
		t.Fatal(err)
	}
	text := profile(t, Policy{Write: []string{dir + "/w", dir + "/w/open/in"},
		WriteDeny: []string{dir + "/w/.git/config", dir + "/w/missing", dir + "/w/open"},
		ReadDeny:  []string{dir + "/w/keys", dir + "/w/.env", dir + "/w/ssh", dir + `/quote"d`},
		AllowRead: []string{dir + "/w/keys/shown", dir + "/home/.ssh/config"}}, 0)
	for _, c := range []struct {
		path        string
		read, write bool
	}{
		{"w/a.txt", true, true}, {"w", true, true}, {"out/f", true, false}, {"", true, false},
		{"w/.git/config", true, false}, {"w/.git/index", true, true}, {"w/missing", true, false}, {"w/missing/below", true, false}, {"w/missing2", true, true},
		{"w/open", true, false}, {"w/open/x", true, false}, {"w/open/in", true, true},
		{"w/keys", false, false}, {"w/keys/private", false, false}, {"w/keys/shown", true, true}, {"w/keys/shown/in", true, true}, {"w/.env", false, false},
		{"home/.ssh/id", false, false}, {"home/.ssh/config", true, false}, {"home/visible", true, false}, {`quote"d/x`, false, false},
	} {
		path := strings.TrimSuffix(dir+"/"+c.path, "/")
		if read, write := playProfile(text, "file-read-data", path), playProfile(text, "file-write-data", path); read != c.read || write != c.write {
			t.Errorf("%s: read %v, write %v; want %v, %v", c.path, read, write, c.read, c.write)
		}
	}
	// Nothing above what is protected can be moved away, and the way to what is shown can be walked.
	for path, want := range map[string]bool{"w/.git": false, "w": false, "w/keys": false, "home": false, "w/.git/index": true, "w/a.txt": true} {
		if got := playProfile(text, "file-write-unlink", dir+"/"+path); got != want {
			t.Errorf("%s can be removed: %v", path, got)
		}
	}
	if !playProfile(text, "file-read-metadata", dir+"/w/keys") || playProfile(text, "file-read-metadata", dir+"/w/keys/private") {
		t.Error("the way to what is shown")
	}
	if !playProfile(text, "file-write-data", "/dev/null") || playProfile(text, "file-write-data", "/dev/disk0") {
		t.Error("devices")
	}
	for line := range strings.Lines(text) {
		if strings.Count(line, "(") != strings.Count(line, ")") || strings.Count(line, `"`)%2 != strings.Count(line, `\"`)%2 {
			t.Errorf("unbalanced: %s", line)
		}
	}
}

// TestSeatbeltProperty: whatever the policy, the profile gives each path the access that the longest rule says, as the
// layers of Linux do.
func TestSeatbeltProperty(t *testing.T) {
	top := realTemp(t)
	names := []string{"/a", "/a/b", "/a/b/c", "/a/b/d", "/a/e", "/f", "/f/g", "/f/g/h"}
	for _, n := range names {
		if err := os.MkdirAll(top+n, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (out []string) {
			for _, n := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, label) {
				out = append(out, top+n)
			}
			return out
		}
		p := Policy{Write: draw("write"), WriteDeny: draw("writeDeny"), ReadDeny: draw("readDeny"), AllowRead: draw("allowRead")}
		text := seatbeltProfile(p, p.roots(), 0)
		for _, n := range names {
			path := top + n
			want := accessAt(path, p.roots(), p.WriteDeny, p.ReadDeny)
			got := access{playProfile(text, "file-read-data", path), playProfile(text, "file-write-data", path)}
			if got != want {
				t.Fatalf("%s: %+v, want %+v\n%+v\n%s", n, got, want, p, text)
			}
		}
	})
}

func TestSeatbeltNetwork(t *testing.T) {
	proxy := allowAll
	for _, c := range []struct {
		name      string
		policy    Policy
		port      int
		want, not []string
	}{
		{"off", Policy{}, 0, []string{"(deny network*)"}, []string{"(allow network-outbound", "unix-socket"}},
		{"proxy", Policy{Network: proxy}, 1234, []string{"(deny network*)", `(allow network-outbound (remote ip "localhost:1234"))`}, []string{"unix-socket"}},
		{"open", Policy{Network: NetworkPolicy{Mode: NetworkOpen}}, 0, []string{"(deny network-outbound (remote unix-socket))", "mDNSResponder"}, []string{"(deny network*)"}},
		{"sockets", Policy{UnixSockets: true}, 0, []string{"(deny network*)", "(allow network* (remote unix-socket))"}, []string{"localhost:1234"}},
		{"all", Policy{UnixSockets: true, Network: NetworkPolicy{Mode: NetworkOpen}}, 0, nil, []string{"(deny network", "unix-socket"}},
	} {
		text := profile(t, c.policy, c.port)
		for _, want := range append(c.want, "(deny file-write*)", "(deny signal (target others))", "(deny appleevent-send)", "(deny system-socket)") {
			if !slices.Contains(strings.Split(text, "\n"), want) && !strings.Contains(text, want) {
				t.Errorf("%s: %s is missing in\n%s", c.name, want, text)
			}
		}
		for _, not := range c.not {
			if strings.Contains(text, not) {
				t.Errorf("%s: %s is in\n%s", c.name, not, text)
			}
		}
	}
}
