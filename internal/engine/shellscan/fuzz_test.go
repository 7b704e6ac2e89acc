package shellscan

import (
	"strings"
	"testing"
)

func FuzzScan(f *testing.F) {
	for _, list := range [][]string{readOnlyYes, readOnlyNo, beyondYes} {
		for _, s := range list {
			f.Add(s)
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		s := Scan(src, testOptions)
		if s.Why == whyPanic {
			t.Fatalf("the scanner failed on %q", src)
		}
		if (s.Class == Simple) != (s.Why == "") {
			t.Fatalf("class %v with the reason %q", s.Class, s.Why)
		}
		ok, why := s.ReadOnly()
		if ok != (why == "") {
			t.Fatalf("read-only %v with the reason %q", ok, why)
		}
		for _, c := range s.Commands {
			if c.ReadOnly && (c.RunsUnknown || c.UnknownWrites || len(c.Writes)+len(c.Removes) > 0 || c.Critical != "") {
				t.Fatalf("read-only, but %+v", c)
			}
			for _, p := range append(append(c.Reads, c.Writes...), c.Removes...) {
				if p.Known == Literal && (!isAbs(p.Text) || p.Text != cleanPath(p.Text)) {
					t.Fatalf("path %q is not absolute and clean", p.Text)
				}
			}
		}
		if s.Class != Simple || strings.HasSuffix(src, "\\") || strings.Contains(src, "<<") {
			return
		}
		if ok, _ := Scan(src+"\ntouch x", testOptions).ReadOnly(); ok {
			t.Fatalf("%q with a write behind it is read-only", src)
		}
	})
}

// Whatever stands around a command, the scanner does not fail on it.
func TestTheScannerDoesNotFail(t *testing.T) {
	for _, list := range [][]string{readOnlyYes, readOnlyNo, beyondYes} {
		for _, c := range list {
			quoted := "'" + strings.ReplaceAll(c, "'", `'\''`) + "'"
			for _, src := range []string{c, "for d in sub src; do " + c + " $d; done", "for d in sub '(' -x; do " + c + " \"$d\"x; done", "for d in $X *; do $d " + c + " $d; done", "xargs -I{} " + c + " {}",
				"docker exec c " + c, "find . -exec " + c + " {} \\;", "ssh h " + quoted, "sh -c " + quoted, "tmux new -d " + quoted, c + " | at now", "env -S " + quoted} {
				if Scan(src, testOptions).Why == whyPanic {
					t.Errorf("the scanner failed on %q", src)
				}
			}
		}
	}
}

func FuzzSed(f *testing.F) {
	for _, s := range []string{"s/a/b/g", "1,5p", "/x/{p;d}", "w f", "s/a/b/w f", "1e x", "a\\\ntext", "y/a/b/", "$!N", "r f", ":a;N;ba"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		p := sedProgram{src: script}
		p.run()
		if p.bad == "" && !p.exec && len(p.writes) == 0 {
			q := sedProgram{src: script + "\nw x"}
			q.run()
			if q.bad == "" && len(q.writes) == 0 && !strings.HasSuffix(script, "\\") {
				t.Fatalf("%q swallows a write behind it", script)
			}
		}
	})
}

func FuzzAwk(f *testing.F) {
	for _, s := range []string{"{print $1}", "/a/ {n++} END {print n/2}", "{print > \"x\"}", "BEGIN{system(\"x\")}", "{ \"x\" | getline }"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, program string) {
		if awkDanger(program) == "" && !strings.HasSuffix(program, "\\") && awkDanger(program+"\nBEGIN{system(\"x\")}") == "" {
			t.Fatalf("%q swallows a call of system behind it", program)
		}
	})
}
