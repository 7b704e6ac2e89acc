package permission

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sevengate/sevengate/tool"
)

var (
	someCommands = []string{"ls", "ls -la sub", "git log -1", "git push", "touch x", "rm -rf build", "echo hi", "cat a.txt", "cat .env",
		"npm run test", "timeout 5 npm run test", "env curl x", "curl x", "A=1 git push", "sh -c 'git push'", "echo x > a.txt", "echo $(git push)", "true"}
	someSpecs = []string{"Bash(ls:*)", "Bash(git log:*)", "Bash(git:*)", "Bash(git push)", "Bash(touch *)", "Bash(rm -rf:*)", "Bash(echo:*)", "Bash(cat *)",
		"Bash(npm run test:*)", "Bash(curl:*)", "Bash(* x)", "Read(.env)", "Edit(a.txt)", "Edit(src/**)", "Bash", "Bash(true)", "B*"}
	separators = []string{" && ", " || ", "; ", " | ", " & ", "\n"}
)

func someLine(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom(someCommands), 1, 4).Draw(t, "commands")
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString(rapid.SampledFrom(separators).Draw(t, "separator"))
		}
		b.WriteString(p)
	}
	return b.String()
}

func someRules(t *rapid.T, name string) []string {
	return rapid.SliceOfN(rapid.SampledFrom(someSpecs), 0, 4).Draw(t, name)
}

func someMode(t *rapid.T) Mode { return rapid.SampledFrom(Modes()).Draw(t, "mode") }

func (s scratch) judge(tb testing.TB, p *Policy, line string, m Mode) Decision {
	return p.Decide(context.Background(), Request{Call: bash(tb, s.at, line), Mode: m, BypassAvailable: true})
}

func TestTheOrderOfRulesDoesNotMatter(t *testing.T) {
	s := newScratch(t)
	rapid.Check(t, func(r *rapid.T) {
		line, m := someLine(r), someMode(r)
		allow, ask, deny := someRules(r, "allow"), someRules(r, "ask"), someRules(r, "deny")
		want := s.judge(t, s.policy(allow, ask, deny), line, m).Behavior
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 1))
		for _, list := range [][]string{allow, ask, deny} {
			rnd.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		if got := s.judge(t, s.policy(allow, ask, deny), line, m).Behavior; got != want {
			r.Fatalf("%q: %s became %s", line, want, got)
		}
	})
}

func TestAddedTextNeverLiftsADenial(t *testing.T) {
	s := newScratch(t)
	rapid.Check(t, func(r *rapid.T) {
		line, m := someLine(r), someMode(r)
		p := s.policy(someRules(r, "allow"), nil, append(someRules(r, "deny"), "Bash(git push:*)"))
		if s.judge(t, p, line, m).Reason.Layer != tool.LayerDenyRule {
			return
		}
		more := rapid.SampledFrom([]string{" ", "\n", " && ls", "; true", " | cat", " # note", " 2>/dev/null", "\ncat <<'E'\nx\nE\n"}).Draw(r, "more")
		longer := line + more
		if rapid.Bool().Draw(r, "in front") {
			longer = rapid.SampledFrom([]string{"ls; ", "true && ", "cd sub && ", "(ls); "}).Draw(r, "front") + line
		}
		if got := s.judge(t, p, longer, m); got.Behavior == tool.Allow {
			r.Fatalf("%q is denied, %q is allowed: %s", line, longer, got.Reason.Message)
		}
	})
}

func TestQuotingDoesNotMatter(t *testing.T) {
	s := newScratch(t)
	lines := []string{"git push origin", "cat .env", "npm run test", "touch new", "rm -rf build", "git log -1"}
	quote := func(r *rapid.T, word string) string {
		switch rapid.IntRange(0, 4).Draw(r, "quotes") {
		case 1:
			return "'" + word + "'"
		case 2:
			return `"` + word + `"`
		case 3:
			return word[:1] + `""` + word[1:]
		case 4:
			if len(word) > 1 && word[1] != '-' && word[0] != '-' {
				return word[:1] + `\` + word[1:]
			}
		}
		return word
	}
	rapid.Check(t, func(r *rapid.T) {
		line, m := rapid.SampledFrom(lines).Draw(r, "line"), someMode(r)
		p := s.policy(someRules(r, "allow"), someRules(r, "ask"), someRules(r, "deny"))
		words := strings.Fields(line)
		for i := range words {
			words[i] = quote(r, words[i])
		}
		other := strings.Join(words, rapid.SampledFrom([]string{" ", "  ", "\t"}).Draw(r, "blank"))
		a, b := s.judge(t, p, line, m), s.judge(t, p, other, m)
		if a.Behavior != b.Behavior {
			r.Fatalf("%q: %s (%s); %q: %s (%s)", line, a.Behavior, a.Reason.Message, other, b.Behavior, b.Reason.Message)
		}
	})
}

func TestAllowMeansThatEveryPartIsAllowed(t *testing.T) {
	s := newScratch(t)
	rapid.Check(t, func(r *rapid.T) {
		line, m := someLine(r), someMode(r)
		d := s.judge(t, s.policy(someRules(r, "allow"), someRules(r, "ask"), someRules(r, "deny")), line, m)
		if d.Behavior != tool.Allow {
			return
		}
		if len(d.Parts) == 0 {
			r.Fatalf("%q was allowed without parts", line)
		}
		for _, p := range d.Parts {
			if p.Behavior != tool.Allow || p.Reason.Message == "" {
				r.Fatalf("%q was allowed, its part %+v was not", line, p)
			}
		}
	})
}

func TestMoreClosingRulesNeverOpen(t *testing.T) {
	s := newScratch(t)
	rank := map[tool.Behavior]int{tool.Allow: 0, tool.Ask: 1, tool.Deny: 2}
	rapid.Check(t, func(r *rapid.T) {
		line, m := someLine(r), someMode(r)
		allow, ask, deny := someRules(r, "allow"), someRules(r, "ask"), someRules(r, "deny")
		before := s.judge(t, s.policy(allow, ask, deny), line, m).Behavior
		after := s.judge(t, s.policy(allow, append(ask, someRules(r, "more ask")...), append(deny, someRules(r, "more deny")...)), line, m).Behavior
		if rank[after] < rank[before] {
			r.Fatalf("%q: %s became %s", line, before, after)
		}
	})
}

func TestSuggestionsAnswerTheQuestion(t *testing.T) {
	s := newScratch(t)
	rapid.Check(t, func(r *rapid.T) {
		line := someLine(r)
		allow := someRules(r, "allow")
		d := s.judge(t, s.policy(allow, nil, nil), line, ModeDefault)
		if len(d.Suggestions) > tool.MaxSuggestions {
			r.Fatalf("%d suggestions", len(d.Suggestions))
		}
		if d.Behavior != tool.Ask || len(d.Suggestions) == 0 {
			return
		}
		for _, sug := range d.Suggestions {
			if sug.Covers == "" {
				r.Fatalf("%q: the suggestion %q does not say what it covers", line, sug.Rule)
			}
			allow = append(allow, sug.Rule)
		}
		if after := s.judge(t, s.policy(allow, nil, nil), line, ModeDefault); after.Behavior != tool.Allow {
			r.Fatalf("%q is still asked with %q: %s", line, allow, after.Reason.Message)
		}
	})
}

func FuzzParseRule(f *testing.F) {
	for _, s := range append([]string{"Bash(a\\*b)", "Read(//x/**)", "mcp__a__b*", "X(a:b)", "Bash(\"'`$()", ":*", "Bash( :*)", "PowerShell(rm *)", "WebFetch(domain:[::1])"}, someSpecs...) {
		f.Add(s, "git push origin main")
	}
	f.Fuzz(func(t *testing.T, text, line string) {
		r, err := ParseRule(text)
		if err == nil && (r.Tool == "" || strings.ContainsRune(r.Text, 0)) {
			t.Fatalf("%q was accepted as %+v", text, r)
		}
		for _, b := range []tool.Behavior{tool.Allow, tool.Ask, tool.Deny} {
			if c, _, err := compileOne(ruleText{text: text, behavior: b}, place{"/p", "/h"}); err == nil && c.command != nil {
				c.command.matches(line)
			}
		}
		if e := escapeStars(strings.Join(strings.Fields(line), " ")); e != "" {
			if p := compileCommand(e, false); !p.exact || p.text != strings.Join(strings.Fields(line), " ") {
				t.Fatalf("%q is not exact once escaped: %+v", line, p)
			}
		}
	})
}

func FuzzDecide(f *testing.F) {
	for i, c := range someCommands {
		f.Add(c, someSpecs[i%len(someSpecs)], someSpecs[(i*7)%len(someSpecs)], uint8(i))
	}
	s := newScratch(f)
	f.Fuzz(func(t *testing.T, line, allow, deny string, n uint8) {
		m := Modes()[int(n)%len(Modes())]
		d := s.judge(t, s.policy([]string{allow}, nil, []string{deny}), line, m)
		switch d.Behavior {
		case tool.Allow, tool.Ask, tool.Deny:
		default:
			t.Fatalf("%q: no verdict: %+v", line, d)
		}
		if d.Reason.Message == "" || d.Reason.Layer == "" || len(d.Parts) == 0 {
			t.Fatalf("%q: no reason: %+v", line, d)
		}
		if d.Behavior == tool.Allow && m == ModeBypass && deny == "Bash" {
			t.Fatalf("%q passed a bare deny rule", line)
		}
	})
}
