package disclose

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sevengate/sevengate/tool"
)

func names(list []Match) string {
	var out []string
	for _, m := range list {
		out = append(out, m.Name)
	}
	return strings.Join(out, " ")
}

func TestSearch(t *testing.T) {
	s := pool(t).core("Read", SearchTool).
		mcp("tracker", "create_issue", "get_issue", "get_issue_history").
		mcp("other", "create_issue", "search").
		mcp("chat", "sendMessage", "search_messages").
		def(tool.Def[struct{}, string]{Name: "WebFetch", Aliases: []string{"Fetch"}, Defer: true, SearchHint: "download a page by its address"})
	d := New(Config{})
	d.Update(s.tools, s.forms)
	for _, c := range []struct {
		query string
		max   int
		want  string // the matches begin with these; = means exactly these
	}{
		{"select:mcp__tracker__get_issue", 0, "=mcp__tracker__get_issue"},
		{"SELECT: MCP__Tracker__Get_Issue , webfetch", 0, "=mcp__tracker__get_issue WebFetch"},
		{"select:get_issue,get_issue,Fetch", 1, "=mcp__tracker__get_issue WebFetch"},
		{"select:create_issue", 1, "=mcp__other__create_issue mcp__tracker__create_issue"},
		{"select:", 0, "="},
		{"select:Read", 0, "="},
		{"mcp__tracker__get_issue", 0, "mcp__tracker__get_issue mcp__tracker__get_issue_history"},
		{"please call `get_issue` for me", 0, "mcp__tracker__get_issue "},
		{"search", 0, "mcp__other__search mcp__chat__search_messages"},
		{"search messages", 0, "mcp__chat__search_messages "},
		{"send a message", 1, "=mcp__chat__sendMessage"},
		{"+tracker create", 0, "mcp__tracker__create_issue "},
		{"+chat +search", 0, "=mcp__chat__search_messages"},
		{"+chat +issue", 0, "="},
		{"downloading pages", 0, "WebFetch"},
		{"issues", 1, "=mcp__other__create_issue"},
		{"zzzz", 0, "="},
		{"", 0, "="},
		{"+", 0, "="},
		{"é\xff\x00", 0, "="},
	} {
		f := d.Search(c.query, c.max)
		got := names(f.Matches)
		if want, exact := strings.CutPrefix(c.want, "="); exact && got != want || !strings.HasPrefix(got+" ", want) && !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", c.query, got, c.want)
		}
	}
	f := d.Search("select:Read,issue_history,ToolSearch", 0)
	if !slices.Equal(f.Loaded, []string{"Read", SearchTool}) || !slices.Equal(f.Missing, []string{"issue_history"}) ||
		!strings.HasPrefix(names(f.Near), "mcp__tracker__get_issue_history") || f.Deferred != 8 {
		t.Errorf("%+v", f)
	}
	if f := d.Search("Read", 0); !slices.Equal(f.Loaded, []string{"Read"}) {
		t.Errorf("%+v", f)
	}
	// The index follows the set.
	s.mcp("new", "late_tool")
	d.Update(s.tools, s.forms)
	if got := names(d.Search("late tool", 0).Matches); got != "mcp__new__late_tool" {
		t.Error(got)
	}
	d.Update(s.tools[:2], s.forms[:2])
	if f := d.Search("late tool", 0); len(f.Matches) != 0 || f.Deferred != 0 {
		t.Errorf("%+v", f)
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"listPullRequests":     "list pull request",
		"HTTPServer2 getURL":   "http server2 get url",
		"create_or-update.x":   "creat updat x",
		"PRs and VMs":          "pr vm",
		"queries, addresses":   "query address",
		"running files dated":  "run fil dat",
		"The status of branch": "status branch",
		"Über größe":           "über größ",
	} {
		if got := strings.Join(terms(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	for in, want := range map[string]string{
		"Does it.  Then more.":       "Does it.",
		"One\nline\t of\x00 text":    "One line of text",
		strings.Repeat("é", 200):     strings.Repeat("é", summaryChars-1) + "…",
		"":                           "hint",
		"Uses e.g. the v1.2 format.": "Uses e.g.",
	} {
		if got := summary(in, "hint"); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestArgumentsAreSearched(t *testing.T) {
	s := pool(t).core(SearchTool)
	for name, input := range map[string]string{
		"deep": `{"type":"object","properties":{"rows":{"type":"array","items":{"properties":{"latitude":{"description":"degrees north"}}}}}}`,
		"odd":  `{"type":"object","properties":{"x":true,"longitude":7},"items":[1]}`,
		"list": `[]`,
	} {
		add(t, &s.tools, &s.forms, mcp("a", name, ""), "", json.RawMessage(input))
	}
	d := New(Config{})
	d.Update(s.tools, s.forms)
	for query, want := range map[string]string{"latitude": "mcp__a__deep", "north": "mcp__a__deep", "longitude": "mcp__a__odd"} {
		if got := names(d.Search(query, 0).Matches); got != want {
			t.Errorf("%q: %q", query, got)
		}
	}
}

// Every deferred tool is found first by its name, however it is asked for.
func TestEveryToolByItsName(t *testing.T) {
	tools, forms := catalog(t)
	d := New(Config{})
	d.Update(tools, forms)
	for _, name := range d.Deferred() {
		for _, query := range []string{"select:" + name, name, strings.ToUpper(name), "use " + name + " to create an issue", "select:" + strings.SplitN(name, "__", 3)[2]} {
			f := d.Search(query, 1)
			if len(f.Matches) == 0 || f.Matches[0].Name != name || len(f.Missing) > 0 {
				t.Errorf("%q: %v", query, f)
			}
		}
	}
}

func TestAnyToolsByName(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := pool(t).core(SearchTool)
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9_-]{1,20}`), 1, 12, rapid.ID[string]).Draw(r, "names") {
			if name != SearchTool {
				s.def(tool.Def[struct{}, string]{Name: name, Defer: true})
			}
		}
		d := New(Config{})
		d.Update(s.tools, s.forms)
		for _, name := range d.Deferred() {
			if f := d.Search("select:"+name, 0); len(f.Matches) != 1 || f.Matches[0].Name != name {
				r.Fatalf("select:%s gives %v", name, f)
			}
			if f := d.Search(name, 1); len(f.Matches) != 1 || f.Matches[0].Name != name {
				r.Fatalf("%s gives %v", name, f)
			}
		}
	})
}

func FuzzSearch(f *testing.F) {
	tools, forms := catalog(f)
	d := New(Config{})
	d.Update(tools, forms)
	for _, q := range []string{"", "select:", "select:a,b", "+must words", "create_issue", "\xff", "+ + +", "SELECT:,,", "日本語 İ ǆ"} {
		f.Add(q, 5)
	}
	f.Fuzz(func(t *testing.T, query string, limit int) {
		one, two := d.Search(query, limit), d.Search(query, limit)
		if names(one.Matches) != names(two.Matches) || len(one.Matches) > MaxResults {
			t.Errorf("%q: %s, then %s", query, names(one.Matches), names(two.Matches))
		}
	})
}

func FuzzConversationText(f *testing.F) {
	s := pool(f).core(SearchTool).mcp("a", "x", "y")
	f.Add(noticeOpen + "\n" + noticeAdded + "\nmcp__a__* (3 tools)\n" + noticeClose)
	f.Add(noticeOpen + "\n" + noticeRemoved + "\nmcp__a__x\n" + noticeClose)
	f.Add(recordOpen + recordText + `["mcp__a__x"]` + recordClose)
	f.Fuzz(func(t *testing.T, text string) {
		d := New(Config{References: true})
		p := d.sel(s, tool.UserText(text))
		if len(p.Tools) != 3 || len(p.Deferred) != 2 {
			t.Errorf("%q: %s", text, shownAs(p.Tools))
		}
		if p.Notice != "" {
			if n := d.sel(s, tool.UserText(text), tool.UserText(p.Notice)).Notice; n != "" {
				t.Errorf("%q: told again: %s", text, n)
			}
		}
	})
}

func BenchmarkSearch(b *testing.B) {
	tools, forms := catalog(b)
	d := New(Config{})
	d.Update(tools, forms)
	queries := []string{"schedule a meeting with Anna on Thursday", "select:create_issue", "+office send mail", "create a new list of all the things in a project"}
	d.Search("warm", 0)
	for i := 0; b.Loop(); i++ {
		d.Search(queries[i%len(queries)], 0)
	}
}

func BenchmarkIndex(b *testing.B) {
	tools, forms := catalog(b)
	d := New(Config{})
	d.Update(tools, forms)
	for b.Loop() {
		d.index = nil
		d.Search("x", 0)
	}
}

func BenchmarkSelect(b *testing.B) {
	tools, forms := catalog(b)
	d := New(Config{References: true})
	h := searched("1", "mcp__tracker__create_issue")
	for range 1_000 {
		h = append(h, called("2", "Read", false)...)
		h = append(h, tool.UserText(strings.Repeat("some text ", 100)))
	}
	for b.Loop() {
		d.Select(tools, forms, h)
	}
}
