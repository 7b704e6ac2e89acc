package shellscan

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// quoteSomehow spells a word in one of the ways that mean the same to bash.
func quoteSomehow(t *rapid.T, w string) string {
	if w == "" {
		return rapid.SampledFrom([]string{"''", `""`}).Draw(t, "empty")
	}
	var b strings.Builder
	for rest := w; rest != ""; {
		n := rapid.IntRange(1, len(rest)).Draw(t, "n")
		part := rest[:n]
		rest = rest[n:]
		switch rapid.IntRange(0, 4).Draw(t, "style") {
		case 0:
			b.WriteString("'" + strings.ReplaceAll(part, "'", `'\''`) + "'")
		case 1:
			b.WriteString(`"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "$", `\$`, "`", "\\`").Replace(part) + `"`)
		case 2:
			if strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:@%+") == "" {
				b.WriteString(part)
				continue
			}
			fallthrough
		case 3:
			for i := 0; i < len(part); i++ {
				if part[i] == '\n' {
					b.WriteString("'\n'")
					continue
				}
				b.WriteString("\\" + part[i:i+1])
			}
		default:
			b.WriteString("$'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "-", `\x2d`, "o", `\157`).Replace(part) + "'")
		}
	}
	return b.String()
}

var wordPool = []string{"git", "log", "push", "rm", "-rf", "ls", "sort", "-o", "cat", ".env", "a b", "$HOME", "*", "find", ".", "-delete", "x'y", `q"r`, "a\nb", "#c", "~", "{a,b}", "--output=x", "\\", "a=b", ";", "&&", "timeout", "5", "env", "sed", "s/a/b/w x", "-n", "bash", "-c", "touch x", ""}

// The same words, however quoted, are the same command.
func TestQuotingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom(wordPool), 1, 6).Draw(t, "words")
		if words[0] == "a=b" {
			words[0] = "ls" // in front, quotes decide whether it is an assignment
		}
		spell := func() string {
			var out []string
			for _, w := range words {
				out = append(out, quoteSomehow(t, w))
			}
			return strings.Join(out, rapid.SampledFrom([]string{" ", "  ", "\t"}).Draw(t, "blank"))
		}
		plain := make([]string, len(words))
		for i, w := range words {
			plain[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		a, x := Scan(strings.Join(plain, " "), testOptions), spell()
		b := Scan(x, testOptions)
		if len(a.Commands) != len(b.Commands) || a.Class != b.Class {
			t.Fatalf("%q: %v %d commands, in single quotes %v %d", x, b.Class, len(b.Commands), a.Class, len(a.Commands))
		}
		for i := range a.Commands {
			p, q := a.Commands[i], b.Commands[i]
			if len(p.Forms) != len(q.Forms) || p.ReadOnly != q.ReadOnly || texts(p.Reads) != texts(q.Reads) || texts(p.Writes) != texts(q.Writes) || texts(p.Removes) != texts(q.Removes) ||
				(p.BeyondPrefix == "") != (q.BeyondPrefix == "") || (p.Critical == "") != (q.Critical == "") || p.RunsUnknown != q.RunsUnknown {
				t.Fatalf("%q means something else than in single quotes:\n%+v\n%+v", x, p, q)
			}
			for k := range p.Forms {
				if p.Forms[k] != q.Forms[k] {
					t.Fatalf("%q: form %q, in single quotes %q", x, q.Forms[k].Text, p.Forms[k].Text)
				}
			}
		}
		for i, w := range a.Commands[0].Argv {
			if w.Known != Literal || w.Text != words[i] {
				t.Fatalf("word %q is read as %q", words[i], w.Text)
			}
		}
	})
}

func needBash(t testing.TB) string {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	return bash
}

// What bash cannot parse is never Simple.
func TestNothingSimpleThatBashRefuses(t *testing.T) {
	bash := needBash(t)
	accepts := func(src string) bool {
		cmd := exec.Command(bash, "-n", "-c", "--", src)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}
		return cmd.Run() == nil
	}
	for _, src := range readOnlyYes {
		if !accepts(src) {
			t.Errorf("bash refuses %q", src)
		}
	}
	tokens := []string{"a", "b", "'c d'", "if", "then", "fi", "else", "for", "in", "do", "done", "case", "esac", "x)", "{", "}", "(", ")", ";", ";;", "&", "&&", "||", "|", "|&", "!", "\n", ">", ">>", "<", "2>&1", ">f", "<<<", "$(", "`", "${x}", "${x:-y}", "$((1+2))", "((", "))", "[[", "]]", "-f", "==", "time", "function", "f()", "x=1", "x=(1 2)", "while", "until", "#", "\\", "\"", "'", "coproc", "select", "[", "]", "<(", "*", "&>f", "{a,b}", "$'x'", "export", "let", "@(a|b)", "~", "2>", ">&", "<&", "<>f", "{fd}>f"}
	rapid.Check(t, func(t *rapid.T) {
		src := strings.Join(rapid.SliceOfN(rapid.SampledFrom(tokens), 1, 9).Draw(t, "tokens"), rapid.SampledFrom([]string{" ", " ", ""}).Draw(t, "blank"))
		if s := Scan(src, testOptions); s.Class == Simple && !accepts(src) {
			t.Fatalf("%q is simple, but bash refuses it", src)
		}
	})
}

// genScript makes scripts of harmless commands named p0 … p7.
func genScript(t *rapid.T, depth int) string {
	simple := func() string {
		name := "p" + rapid.StringMatching(`[0-7]`).Draw(t, "name")
		switch rapid.IntRange(0, 12).Draw(t, "kind") {
		case 0:
			return name + " >f1"
		case 1:
			return "X=1 " + name
		case 2:
			return "env X=1 " + name
		case 3:
			return "timeout 9 " + name + " a"
		case 4:
			return "echo x | xargs " + name
		case 5:
			return "\\" + name
		case 6:
			return "p''" + name[1:] + " 'a b'"
		case 7:
			return "$'\\160'" + name[1:]
		case 8:
			return "command " + name
		case 9:
			return "find . -maxdepth 0 -exec " + name + " {} \\;"
		case 10:
			return "{" + name + ",z}"
		default:
			return name + " " + rapid.SampledFrom([]string{"", "a", "$X", "*", "#x", "'#'", "a#b", "\"$HOME\""}).Draw(t, "arg")
		}
	}
	if depth == 0 {
		return simple()
	}
	sub := func() string { return genScript(t, depth-1) }
	switch rapid.IntRange(0, 19).Draw(t, "shape") {
	case 0:
		return "{ " + sub() + "\n} && " + sub()
	case 1:
		return sub() + "\n" + sub()
	case 2:
		return "true || " + sub()
	case 3:
		return "(" + sub() + "\n)"
	case 4:
		return "{ " + sub() + "\n}"
	case 5:
		return "echo \"$(" + sub() + "\n)\""
	case 6:
		return "if " + sub() + "\nthen " + sub() + "\nelse " + sub() + "\nfi"
	case 7:
		return "for i in 1 2; do " + sub() + "\ndone"
	case 8:
		return "cat <<E >/dev/null\n$(" + sub() + "\n)\nE\n" + sub()
	case 9:
		return "cat <<'E' >/dev/null\n$(" + "p0" + ")\nE\n" + sub()
	case 10:
		return "bash -c '" + strings.ReplaceAll(sub(), "'", `'\''`) + "'"
	case 11:
		return "case x in x) " + sub() + "\n;; esac"
	case 12:
		return "! " + sub()
	case 13:
		return sub() + " &\nwait"
	case 14:
		return "cat <(" + sub() + "\n) >/dev/null"
	case 15:
		return "[[ -n \"$(" + sub() + "\n)\" ]] || " + sub()
	case 16:
		return "X=$(" + sub() + "\n)"
	case 17:
		return ": ${X:-$(" + sub() + "\n)}"
	case 18:
		return "cd . && " + sub()
	}
	return simple()
}

// Every program that bash really runs was listed.
func TestRecordedCommandsWereListed(t *testing.T) {
	bash := needBash(t)
	bin, work := t.TempDir(), t.TempDir()
	logs := t.TempDir()
	for i := range 8 {
		name := "p" + string(rune('0'+i))
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!"+bash+"\necho "+name+" >>\"$RECORD\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"env", "timeout", "xargs", "find", "cat", "bash"} {
		real, err := exec.LookPath(name)
		if err != nil {
			t.Skip(name + " is not installed")
		}
		if err := os.Symlink(real, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	ran, runs := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		src := genScript(t, rapid.IntRange(0, 3).Draw(t, "depth"))
		runs++
		log := filepath.Join(logs, fmt.Sprint(runs)) // a late process must not write to the next one's
		cmd := exec.Command(bash, "-c", src)
		cmd.Dir = work
		cmd.Env = []string{"PATH=" + bin, "HOME=" + work, "RECORD=" + log}
		_ = cmd.Run()
		out, _ := os.ReadFile(log)
		s := Scan(src, Options{Cwd: work, Home: work})
		if s.Class == Invalid {
			return // not understood is never run
		}
		listed := map[string]bool{}
		for _, c := range s.Commands {
			if len(c.Run) > 0 {
				listed[c.Run[0].Text] = true
			}
		}
		for _, name := range strings.Fields(string(out)) {
			ran++
			if !listed[name] {
				t.Fatalf("bash ran %s in %q; listed are %v (%v: %s)", name, src, listed, s.Class, s.Why)
			}
		}
		if ok, _ := s.ReadOnly(); ok && len(out) > 0 {
			t.Fatalf("%q is read-only, but ran %q", src, out)
		}
	})
	if ran == 0 {
		t.Fatal("nothing was ever run")
	}
}
