package shell

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/tool"
	"pgregory.net/rapid"
)

func TestFacts(t *testing.T) {
	b := newBench(t)
	in := func(names ...string) string {
		for i, n := range names {
			if n != "/" {
				names[i] = filepath.Join(b.root, n)
			}
		}
		return strings.Join(names, " ")
	}
	for _, c := range []struct {
		line                                    string
		readOnly, concurrent, known             bool
		destructive, network, background, moves bool
		reads, writes                           string
		kind                                    tool.Kind
	}{
		{line: "sleep 0.3", readOnly: true, concurrent: true, known: true},
		{line: "echo hi", readOnly: true, concurrent: true, known: true},
		{line: "ls", readOnly: true, concurrent: true, known: true, reads: in("."), kind: tool.KindList},
		{line: "cat a", readOnly: true, concurrent: true, known: true, reads: in("a"), kind: tool.KindRead},
		{line: "cat < a", readOnly: true, concurrent: true, known: true, reads: in("a"), kind: tool.KindRead},
		{line: "grep -r x src | head", readOnly: true, concurrent: true, known: true, reads: in("src"), kind: tool.KindSearch},
		{line: "cat *.go", readOnly: true, concurrent: true, known: true, reads: in("."), kind: tool.KindRead},
		{line: "git status", readOnly: true, concurrent: true, known: true, reads: "/"},
		{line: "cat ../x/../y", readOnly: true, concurrent: true, known: true, reads: "/", kind: tool.KindRead},
		{line: "cd src && ls", readOnly: true, moves: true, kind: tool.KindList},
		{line: "(cd src && ls)", readOnly: true, concurrent: true, known: true, reads: in("src"), kind: tool.KindList},
		{line: "rm -r build", known: true, destructive: true, writes: in("build")},
		{line: "mkdir -p a/b", known: true, writes: in("a/b")},
		{line: "echo hi > f", known: true, writes: in("f")},
		{line: "cat a > f", known: true, reads: in("a"), writes: in("f")},
		{line: "ls > ../f", moves: true},
		{line: "touch x &", moves: true},
		{line: "make", moves: true},
		{line: "curl https://example.com", network: true, moves: true},
		{line: "git push", network: true, moves: true},
		{line: "npm install", network: true, moves: true},
		{line: "echo hi > /dev/tcp/h/1", network: true, moves: true},
		{line: "eval \"$x\"", moves: true},
		{line: "echo 'unclosed", destructive: true, moves: true},
		{line: "cat a", background: true, readOnly: true, kind: tool.KindRead},
	} {
		call := b.bind("Bash", object{"command": c.line, "run_in_background": c.background})
		e := call.Effects()
		got := []any{call.ReadOnly(), call.ConcurrencySafe(), e.Known(), call.Destructive(), call.OpenWorld(), call.Kind(),
			strings.Join(e.ReadPaths(), " "), strings.Join(e.WritePaths(), " ")}
		want := []any{c.readOnly, c.concurrent, c.known, c.destructive, c.network, c.kind, c.reads, c.writes}
		names := []string{"read-only", "concurrent", "known", "destructive", "network", "kind", "reads", "writes"}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s: %s is %v, want %v", c.line, names[i], got[i], want[i])
			}
		}
		m := (&family{}).understand(c.line, c.background, false, b.env.Place)
		if m.mayMove != c.moves {
			t.Errorf("%s: may move is %v, want %v", c.line, m.mayMove, c.moves)
		}
	}
}

// What may change the directory, and what is not known, never runs beside others.
func TestFactsAgree(t *testing.T) {
	words := []string{"cat", "a", "cd", "..", "|", "&&", ";", ">", "b", "rm", "$x", "(", ")", "&", "sleep", "1", "git", "status", "`ls`", "if", "then", "fi", "*", "~", "'q'", "\n"}
	at := tool.Place{Cwd: "/w", Home: "/h", Roots: []string{"/w"}}
	f := &family{}
	rapid.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 12).Draw(t, "words"), " ")
		m := f.understand(line, rapid.Bool().Draw(t, "background"), false, at)
		if m.concurrent && (!m.readOnly || !m.effects.Known() || m.mayMove || m.script.ChangesDir || len(m.effects.WritePaths()) > 0) {
			t.Fatalf("%q is taken to be safe beside others", line)
		}
		if m.mayMove && m.effects.Known() {
			t.Fatalf("%q may move and its effects are known", line)
		}
	})
}

func TestBindHasOneMeaning(t *testing.T) {
	b := newBench(t)
	c := b.bind("Bash", object{"command": "echo '<&>'", "description": "says"})
	if s, err := c.Subjects(); err != nil || len(s) != 1 || s[0] != tool.CommandOf("Bash", "echo '<&>'") {
		t.Errorf("subjects %v %v", s, err)
	}
	var seen map[string]any
	if err := json.Unmarshal(c.Observed(), &seen); err != nil || len(seen) != 2 || seen["command"] != "echo '<&>'" {
		t.Errorf("observed %s %v", c.Observed(), err)
	}
	if c.ClassifierInput() != "echo '<&>'" {
		t.Error(c.ClassifierInput())
	}
}

func TestValidate(t *testing.T) {
	b := newBench(t)
	off := newBench(t, func(d *Deps) { d.NoBackground = true })
	for _, c := range []struct {
		in   object
		want string // in the error; empty for none
	}{
		{object{"command": "  \n"}, "empty"},
		{object{"command": "a\x00b"}, "NUL"},
		{object{"command": strings.Repeat("x", 5<<20)}, "write the data to a file"},
		{object{"command": "ls", "timeout": -1}, "timeout is -1"},
		{object{"command": "sleep 5"}, "run_in_background"},
		{object{"command": "sleep 1m && curl x"}, "60s"},
		{object{"command": "sleep 1 1 1; ls"}, "3s"},
		{object{"command": "sleep infinity"}, "sleep"},
		{object{"command": "/bin/sleep 10 | cat"}, "10s"},
		{object{"command": "sleep 5", "run_in_background": true}, ""},
		{object{"command": "sleep 2"}, ""},
		{object{"command": "sleep 0.3"}, ""},
		{object{"command": "sleep $x"}, ""},
		{object{"command": "until test -e x; do sleep 5; done"}, ""},
		{object{"command": "echo sleep 100"}, ""},
	} {
		call := b.bind("Bash", c.in)
		err := call.Validate(t.Context(), &b.env)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80v: error %v, want %q", c.in, err, c.want)
		}
	}
	call := off.bind("Bash", object{"command": "ls", "run_in_background": true})
	if err := call.Validate(t.Context(), &off.env); err == nil {
		t.Error("background is switched off, but accepted")
	}
	err := off.bind("Bash", object{"command": "sleep 5"}).Validate(t.Context(), &off.env)
	if err == nil || strings.Contains(err.Error(), "run_in_background") {
		t.Errorf("offers what is switched off: %v", err)
	}
}

func FuzzUnderstand(f *testing.F) {
	for _, s := range []string{"ls", "cd a && rm -r b > c", "sleep 1d 2", "sed -n '1,2p' f", "head -n5 x"} {
		f.Add(s)
	}
	fam := &family{}
	at := tool.Place{Cwd: "/w", Home: "/h", Roots: []string{"/w"}}
	f.Fuzz(func(t *testing.T, s string) {
		m := fam.understand(s, false, false, at)
		leadingSleep(m.script)
		watchReads(m, &tool.Env{Files: &tool.FileState{}, Place: at})
		shown(s)
		for _, p := range append(m.effects.ReadPaths(), m.effects.WritePaths()...) {
			if !filepath.IsAbs(p) {
				t.Errorf("%q: the effect %q is not absolute", s, p)
			}
		}
	})
}
