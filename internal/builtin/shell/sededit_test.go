package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/tool"
	"pgregory.net/rapid"
)

func realSed(t interface{ Skip(...any) }, script, text string, extended bool) (string, bool) {
	args := []string{script}
	if extended {
		args = []string{"-E", script}
	}
	c := exec.Command("sed", args...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	c.Stdin = strings.NewReader(text)
	out, err := c.Output()
	return string(out), err == nil
}

func needSed(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("sed", "--version").Output(); err != nil || !strings.Contains(string(out), "GNU") {
		t.Skip("no GNU sed to compare with")
	}
}

func TestSedLikeSed(t *testing.T) {
	needSed(t)
	text := "alpha beta\nbeta.beta [x] a+b\n\n/usr/bin $HOME ^top\nlast a*b (c) {d} a|b"
	for _, c := range []struct {
		script   string
		extended bool
		skip     bool // outside of what is previewed
	}{
		{script: "s/beta/B/"}, {script: "s/beta/B/g"}, {script: "s/a.b/X/g"}, {script: "s/a*/x/g"}, {script: "s|/usr|/opt|"},
		{script: "s/\\/usr/[&]/"}, {script: "2d"}, {script: "2,3d"}, {script: "$d"}, {script: "2,$s/a/A/g"}, {script: "/beta/d"}, {script: "4,2d"},
		{script: "s/\\(al\\)\\(pha\\)/\\2\\1/"}, {script: "s/(al)(pha)/\\2\\1/", extended: true}, {script: "s/[a-c]\\+/<&>/g"}, {script: "s/[^ ]*$/end/"},
		{script: "s/^/> /"}, {script: "s/$/ </"}, {script: "s/a+b/X/"}, {script: "s/a+b/X/", extended: true}, {script: "s/a\\+b/X/", extended: true},
		{script: "s/a|b/X/g", extended: true}, {script: "s/a|b/X/g"}, {script: "s/a\\|b/X/g"}, {script: "s/\\$HOME/$1 ${x}/"}, {script: "s/$HOME/x/"},
		{script: "s/a^b\\|^top/x/"}, {script: "s/*b/x/"}, {script: "s/a\\{1,2\\}/x/g"}, {script: "s/a{1,2}/x/g", extended: true}, {script: "s/{d}/x/"},
		{script: "s/[[:alpha:]]\\+/w/g; 1d"}, {script: "s/BETA/x/gi"}, {script: "s/ /\\n/"}, {script: "s/\\s/_/g"}, {script: "s/\\w\\+/w/g"}, {script: "s/[]x[]/b/g"},
		{script: "s//x/", skip: true}, {script: "s/a/b/2", skip: true}, {script: "s/a/b/w out", skip: true}, {script: "y/a/b/", skip: true}, {script: "p", skip: true},
		{script: "s/\\(a\\|al\\)/\\1/", skip: true}, {script: "s/a/\\U&/", skip: true}, {script: "s/\\(a\\)\\1/x/", skip: true}, {script: "1!d", skip: true},
		{script: "s/a/b/e", skip: true}, {script: "s/[\\n]/b/", skip: true}, {script: "s/\\bx/b/", skip: true}, {script: "a\\text", skip: true}, {script: "s/[[.-.]]/x/", skip: true},
	} {
		steps, ok := parseSed(c.script, c.extended)
		if c.skip {
			if ok {
				t.Errorf("%s: taken for understood", c.script)
			}
			continue
		}
		if !ok {
			t.Errorf("%s: not understood", c.script)
			continue
		}
		want, ok := realSed(t, c.script, text, c.extended)
		got, ok2 := applySed(text, steps)
		if !ok || !ok2 || got != want {
			t.Errorf("%s: %v %v\ngot  %q\nwant %q", c.script, ok, ok2, got, want)
		}
	}
}

// Whatever is previewed is what sed would do.
func TestSedProperty(t *testing.T) {
	needSed(t)
	parts := []string{"a", "b", "ab", ".", "*", "\\+", "+", "?", "\\?", "\\(", "\\)", "(", ")", "[ab]", "[^a]", "^", "$", "\\.", "\\*", "|", "\\|", "\\{2\\}", "{2}", " ", "[a-c]", "\\w", "\\s", "\\/", "]", "}"}
	with := []string{"x", "&", "\\1", "\\2", "$", "${1}", "\\n", "\\&", "\\\\", "$$", " "}
	understood := 0
	rapid.Check(t, func(rt *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 6).Draw(rt, "pattern"), "")
		by := strings.Join(rapid.SliceOfN(rapid.SampledFrom(with), 0, 3).Draw(rt, "by"), "")
		script := rapid.SampledFrom([]string{"", "", "2", "$", "1,2", "/b/"}).Draw(rt, "where") + "s/" + pattern + "/" + by + "/" + rapid.SampledFrom([]string{"", "g", "gi"}).Draw(rt, "flags")
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aabb c.*+?()[]|{}^$/\\AB\n")), 0, 30, -1).Draw(rt, "text")
		extended := rapid.Bool().Draw(rt, "extended")
		steps, ok := parseSed(script, extended)
		if !ok {
			return
		}
		got, ok := applySed(text, steps)
		if !ok {
			return
		}
		understood++
		want, ok := realSed(t, script, text, extended)
		if !ok || got != want {
			rt.Fatalf("sed %q extended %v on %q: accepted by sed %v\ngot  %q\nwant %q", script, extended, text, ok, got, want)
		}
	})
	t.Logf("%d scripts compared", understood)
	if understood == 0 {
		t.Error("nothing was compared")
	}
}

func TestPreview(t *testing.T) {
	b := newBench(t)
	p := b.write("f.txt", "one\ntwo\nthree\n")
	call := b.bind("Bash", command("sed -i 's/two/2/' f.txt"))
	r, ok := call.ViewPreview()
	if !ok || r.Format != tool.FormatDiff || !strings.Contains(r.Detail, "-two\n") || !strings.Contains(r.Detail, "+2\n") {
		t.Errorf("%v %+v", ok, r)
	}
	if data, err := os.ReadFile(p); err != nil || string(data) != "one\ntwo\nthree\n" {
		t.Errorf("a preview changed the file: %q %v", data, err)
	}
	for _, line := range []string{"sed -i 's/two/2/e' f.txt", "sed -i 's/two/2/2' f.txt", "sed -i s/a/b/ missing", "rm f.txt", "sed -i 's/nothing/x/' f.txt"} {
		if r, _ := b.bind("Bash", command(line)).ViewPreview(); r.Format == tool.FormatDiff {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if err := os.Mkdir(filepath.Join(b.root, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r, _ := b.bind("Bash", command("sed -i s/a/b/ d")).ViewPreview(); r.Format == tool.FormatDiff {
		t.Errorf("%+v", r)
	}
}

func FuzzSed(f *testing.F) {
	for _, s := range []string{"s/a/b/g", "1,$d", "s|[]a]|\\1|", "/x/s/\\(y\\)*/&/i"} {
		f.Add(s, "a\nx y\n", true)
	}
	f.Fuzz(func(t *testing.T, script, text string, extended bool) {
		if steps, ok := parseSed(script, extended); ok {
			applySed(text, steps)
		}
	})
}
