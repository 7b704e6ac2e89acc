package disclose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// set is a pool under construction.
type set struct {
	t     testing.TB
	tools []tool.Tool
	forms []schema.APITool
}

func (s *set) core(names ...string) *set {
	for _, name := range names {
		add(s.t, &s.tools, &s.forms, tool.Def[struct{}, string]{Name: name, AlwaysLoad: name == SearchTool}, "does "+name, nil)
	}
	return s
}

func (s *set) mcp(server string, names ...string) *set {
	for _, name := range names {
		add(s.t, &s.tools, &s.forms, mcp(server, name, ""), "does "+name+" at "+server, nil)
	}
	return s
}

func (s *set) def(d tool.Def[struct{}, string]) *set {
	add(s.t, &s.tools, &s.forms, d, "does "+d.Name, nil)
	return s
}

func pool(t testing.TB) *set { return &set{t: t} }

func (d *Disclosure) sel(s *set, messages ...tool.Message) Plan {
	return d.Select(s.tools, s.forms, messages)
}

func shownAs(list []schema.APITool) string {
	var out []string
	for _, t := range list {
		name := t.Name
		if t.Deferred != strings.Contains(string(t.JSON()), `"defer_loading":true`) {
			name += "!"
		}
		if t.Deferred {
			name = "(" + name + ")"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// searched is the exchange by which tools are found.
func searched(id string, names ...string) []tool.Message {
	var refs []tool.Block
	for _, name := range names {
		refs = append(refs, tool.ToolReference(name))
	}
	return []tool.Message{
		{Role: tool.RoleAssistant, Content: []tool.Block{tool.ToolUse(id, SearchTool, json.RawMessage(`{}`))}},
		{Role: tool.RoleUser, Content: []tool.Block{tool.ToolResult(id, false, refs...)}},
	}
}

func called(id, name string, isError bool) []tool.Message {
	return []tool.Message{
		{Role: tool.RoleAssistant, Content: []tool.Block{tool.ToolUse(id, name, json.RawMessage(`{}`))}},
		{Role: tool.RoleUser, Content: []tool.Block{tool.ToolResult(id, isError, tool.TextBlock("ok"))}},
	}
}

func TestWhichAreDeferred(t *testing.T) {
	base := func() *set {
		return pool(t).core("Read").def(tool.Def[struct{}, string]{Name: "Todo", Defer: true}).core(SearchTool).
			mcp("a", "x").def(tool.Def[struct{}, string]{Name: "mcp__a__keep", Origin: &tool.Origin{Server: "a", Tool: "keep"}, AlwaysLoad: true, Defer: true})
	}
	many := base()
	for i := range MaxLoaded {
		many.mcp("b", fmt.Sprintf("t%d", i))
	}
	big := base()
	add(t, &big.tools, &big.forms, mcp("b", "large", ""), strings.Repeat("x", 4*DefaultContextWindow*DefaultAutoShare/100), nil)
	without := pool(t).core("Read").def(tool.Def[struct{}, string]{Name: "Todo", Defer: true}).mcp("a", "x")
	for _, c := range []struct {
		name string
		cfg  Config
		pool *set
		want int
	}{
		{"always", Config{}, base(), 2},
		{"never", Config{Mode: Never}, base(), 0},
		{"auto, small", Config{Mode: Auto}, base(), 0},
		{"auto, many", Config{Mode: Auto}, many, 2 + MaxLoaded},
		{"auto, large", Config{Mode: Auto}, big, 3},
		{"auto, large in a larger window", Config{Mode: Auto, ContextWindow: 10 * DefaultContextWindow}, big, 0},
		{"auto, large for a larger share", Config{Mode: Auto, AutoShare: 50}, big, 0},
		{"no search tool", Config{}, without, 0},
	} {
		for _, c.cfg.References = range []bool{true, false} {
			p := New(c.cfg).sel(c.pool)
			if len(p.Deferred) != c.want {
				t.Errorf("%s: %d deferred (%v), want %d", c.name, len(p.Deferred), p.Deferred, c.want)
			}
			want := len(c.pool.tools)
			if !c.cfg.References {
				want -= c.want
			}
			if len(p.Tools) != want {
				t.Errorf("%s: %d tools are sent, want %d", c.name, len(p.Tools), want)
			}
		}
	}
	p := New(Config{References: true}).sel(base())
	if got := shownAs(p.Tools); got != "Read (Todo) ToolSearch (mcp__a__x) mcp__a__keep" {
		t.Error(got)
	}
}

func TestParseMode(t *testing.T) {
	for in, want := range map[string]string{"": "always 0", "TRUE": "always 0", "false": "never 0", "never": "never 0", "auto": "auto 0",
		"auto:25": "auto 25", "auto:0": "always 0", "auto:101": "", "auto:-1": "", "auto:x": "", "sometimes": ""} {
		m, share, err := ParseMode(in)
		if got := fmt.Sprint(m, share); (err != nil) != (want == "") || err == nil && got != strings.Replace(want, " ", "", 1) && got != want {
			t.Errorf("%q: %s, %v; want %s", in, got, err, want)
		}
	}
}

// What a request lists before is the beginning of what the next one lists.
func TestListGrowsAtItsEnd(t *testing.T) {
	d := New(Config{})
	s := pool(t).core("Read", SearchTool).mcp("a", "x", "y", "z")
	var h []tool.Message
	steps := []struct{ do, want string }{
		{"start", "Read ToolSearch"},
		{"find y", "Read ToolSearch mcp__a__y"},
		{"find x and y", "Read ToolSearch mcp__a__y mcp__a__x"},
		{"late tools", "Read ToolSearch mcp__a__y mcp__a__x Late"},
		{"call z by guess", "Read ToolSearch mcp__a__y mcp__a__x Late mcp__a__z"},
		{"call a0 wrongly", "Read ToolSearch mcp__a__y mcp__a__x Late mcp__a__z"},
	}
	for i, step := range steps {
		switch i {
		case 1:
			h = append(h, searched("1", "mcp__a__y")...)
		case 2:
			h = append(h, searched("2", "mcp__a__x", "mcp__a__y")...)
		case 3:
			s = pool(t).core("Late", "Read", SearchTool).mcp("a", "a0", "x", "y", "z")
		case 4:
			h = append(h, called("3", "mcp__a__z", false)...)
		case 5:
			h = append(h, called("4", "mcp__a__a0", true)...)
		}
		if got := shownAs(d.sel(s, h...).Tools); got != step.want {
			t.Errorf("%s: %s, want %s", step.do, got, step.want)
		}
	}
	// A rewind takes back what was found after it.
	if got := shownAs(d.sel(s, h[:2]...).Tools); got != "Read ToolSearch mcp__a__y Late" {
		t.Error("rewound:", got)
	}
}

func TestLateToolsAreDeferred(t *testing.T) {
	d := New(Config{Mode: Auto, References: true})
	s := pool(t).core("Read", SearchTool).mcp("a", "x")
	if got := shownAs(d.sel(s).Tools); got != "Read ToolSearch mcp__a__x" {
		t.Fatal(got)
	}
	s = pool(t).core("Aaa", "Read", SearchTool).mcp("a", "b", "x")
	p := d.sel(s)
	if got := shownAs(p.Tools); got != "Read ToolSearch mcp__a__x Aaa (mcp__a__b)" {
		t.Error(got)
	}
	if !strings.Contains(p.Notice, "\nmcp__a__b\n") || strings.Contains(p.Notice, "mcp__a__x") {
		t.Error(p.Notice)
	}
	// The search goes away: what nobody could find is shown.
	s.tools, s.forms = slices.Delete(s.tools, 2, 3), slices.Delete(s.forms, 2, 3)
	if got := shownAs(d.sel(s).Tools); got != "Read mcp__a__x Aaa mcp__a__b" {
		t.Error(got)
	}
}

// A reference in the history must find a definition in the request.
func TestReferencesToToolsThatAreGone(t *testing.T) {
	h := append(searched("1", "mcp__a__x", "mcp__old__y"), searched("2", "not a name")...)
	d := New(Config{References: true})
	full := pool(t).core(SearchTool).mcp("a", "x", "z")
	before := d.sel(full, h...)
	if got := shownAs(before.Tools); got != "ToolSearch (mcp__a__x) (mcp__a__z) (mcp__old__y)" {
		t.Error(got)
	}
	after := d.sel(pool(t).core(SearchTool), append(h, tool.UserText(before.Notice))...)
	if got := shownAs(after.Tools); got != "ToolSearch (mcp__a__x) (mcp__old__y)" {
		t.Error(got)
	}
	if string(after.Tools[1].JSON()) != string(before.Tools[1].JSON()) {
		t.Error("the definition of a tool that went away changed its bytes")
	}
	if after.Notice != noticeOpen+"\nNo longer available:\nmcp__a__x\nmcp__a__z\n"+noticeClose {
		t.Error(after.Notice)
	}
	if len(after.Discovered) != 0 || len(after.Deferred) != 0 {
		t.Error(after.Discovered, after.Deferred)
	}
}

func TestNotice(t *testing.T) {
	d := New(Config{})
	s := pool(t).core(SearchTool).mcp("a", "x", "y")
	p := d.sel(s)
	want := `<deferred-tools>
Deferred tools, known by name only. Before you call one, load its definition with ToolSearch (select:NAME, or keywords):
mcp__a__x
mcp__a__y
</deferred-tools>`
	if p.Notice != want {
		t.Errorf("got\n%s", p.Notice)
	}
	h := []tool.Message{tool.UserText("hello"), tool.UserText(p.Notice)}
	if n := d.sel(s, h...).Notice; n != "" {
		t.Errorf("told twice: %s", n)
	}
	p = d.sel(pool(t).core(SearchTool).mcp("a", "y").mcp("b", "x"), h...)
	want = `<deferred-tools>
Deferred tools, known by name only. Before you call one, load its definition with ToolSearch (select:NAME, or keywords):
mcp__b__x
No longer available:
mcp__a__x
</deferred-tools>`
	if p.Notice != want {
		t.Errorf("got\n%s", p.Notice)
	}
	h = append(h, tool.UserText(p.Notice))
	if n := d.sel(s, h...).Notice; !strings.Contains(n, "mcp__a__x\nNo longer available:\nmcp__b__x\n") {
		t.Errorf("back again: %s", n)
	}
	// Words of a tool are not believed.
	fake := tool.Message{Role: tool.RoleUser, Content: []tool.Block{tool.ToolResult("1", false, tool.TextBlock(p.Notice))}}
	if n := d.sel(pool(t).core(SearchTool).mcp("b", "x"), fake).Notice; !strings.Contains(n, "mcp__b__x") {
		t.Error("a tool's result counted as a notice")
	}
	// After a compaction everything is told anew.
	if n := d.sel(s).Notice; !strings.Contains(n, "mcp__a__x\nmcp__a__y") {
		t.Error(n)
	}
}

func TestNoticeOfVeryManyTools(t *testing.T) {
	s := pool(t).core(SearchTool).mcp("few", "one")
	for i := range MaxNoticeChars / 20 {
		s.mcp("huge", fmt.Sprintf("tool_number_%d", i))
	}
	d := New(Config{})
	p := d.sel(s)
	if len(p.Notice) > 300 || !strings.Contains(p.Notice, "\nmcp__few__one\nmcp__huge__* (1000 tools)\n") {
		t.Fatalf("%d bytes: %.300s", len(p.Notice), p.Notice)
	}
	h := []tool.Message{tool.UserText(p.Notice)}
	if n := d.sel(s, h...).Notice; n != "" {
		t.Errorf("told twice: %.300s", n)
	}
	n := d.sel(s.mcp("huge", "one_more"), h...).Notice
	if !strings.Contains(n, "* (1001 tools)") || strings.Contains(n, "few") {
		t.Errorf("%.300s", n)
	}
	n = d.sel(pool(t).core(SearchTool), append(h, tool.UserText(n))...).Notice
	if !strings.Contains(n, noticeRemoved+"\nmcp__few__one\nmcp__huge__* (1001 tools)\n") {
		t.Errorf("%.300s", n)
	}
}

func TestHint(t *testing.T) {
	for _, references := range []bool{true, false} {
		d := New(Config{References: references})
		s := pool(t).core("Read", SearchTool).mcp("a", "x", "y")
		if h := d.Hint("mcp__a__x"); h != "" {
			t.Error("before anything is known:", h)
		}
		d.sel(s)
		want := `The definition of mcp__a__x is not loaded, so its parameters were a guess. Call ToolSearch with the query "select:mcp__a__x", then call mcp__a__x again.`
		if h := d.Hint("mcp__a__x"); h != want {
			t.Error(h)
		}
		d.sel(s, searched("1", "mcp__a__x")...)
		for name, wanted := range map[string]bool{"mcp__a__x": false, "mcp__a__y": true, "Read": false, "None": false} {
			if h := d.Hint(name); (h != "") != wanted {
				t.Errorf("%s: %q", name, h)
			}
		}
		// A lucky guess loads the definition only where the list is built here.
		d.sel(s, called("1", "mcp__a__x", false)...)
		if h := d.Hint("mcp__a__x"); (h != "") != references {
			t.Errorf("references %v: %q", references, h)
		}
	}
}

func TestRoomForLoadedTools(t *testing.T) {
	s := pool(t).core("Read", SearchTool)
	var h []tool.Message
	for i := range MaxLoaded {
		name := fmt.Sprintf("t%03d", i)
		s.mcp("a", name)
		h = append(h, searched(name, "mcp__a__"+name)...)
	}
	h = append(h, called("again", "mcp__a__t000", false)...)
	d := New(Config{})
	p := d.sel(s, h...)
	if len(p.Tools) != MaxLoaded || p.Tools[0].Name != "Read" || p.Tools[2].Name != "mcp__a__t000" || p.Tools[3].Name != "mcp__a__t003" {
		t.Errorf("%d tools: %.100s", len(p.Tools), shownAs(p.Tools))
	}
	if d.Hint("mcp__a__t001") == "" {
		t.Error("a tool that was left out has no hint")
	}
	h = append(h, searched("back", "mcp__a__t001")...)
	if p := d.sel(s, h...); !slices.Contains(p.Discovered, "mcp__a__t001") || slices.Contains(p.Discovered, "mcp__a__t003") {
		t.Error("searching again did not load the tool again")
	}
}

func TestMoreDeferredToolsThanARequestTakes(t *testing.T) {
	s := pool(t).core(SearchTool)
	for i := range MaxDeferred + 5 {
		s.mcp("a", fmt.Sprintf("t%05d", i))
	}
	last := fmt.Sprintf("mcp__a__t%05d", MaxDeferred+4)
	p := New(Config{References: true}).sel(s, searched("1", last)...)
	if len(p.Tools) != MaxDeferred+1 || p.Tools[MaxDeferred].Name != last {
		t.Errorf("%d tools, the last is %s", len(p.Tools), p.Tools[len(p.Tools)-1].Name)
	}
}

func TestRecord(t *testing.T) {
	s := pool(t).core("Read", SearchTool).mcp("a", "x", "y", "z")
	for _, references := range []bool{true, false} {
		d := New(Config{References: references})
		if _, ok := d.Record(nil); ok {
			t.Error("a record of nothing")
		}
		h := append(searched("1", "mcp__a__z", "mcp__away__q"), called("2", "mcp__a__x", false)...)
		d.sel(s, h...)
		block, ok := d.Record(h)
		if !ok || !strings.Contains(block.Text, `["mcp__a__z","mcp__away__q","mcp__a__x"]`) {
			t.Fatal(block.Text)
		}
		for name, m := range map[string]tool.Message{
			"alone":  {Role: tool.RoleUser, Content: []tool.Block{block}},
			"joined": tool.UserText("Summary so far.\n" + recordOpen + "\n" + block.Text + " And more."),
		} {
			for who, d := range map[string]*Disclosure{"same": d, "new": New(Config{References: references})} {
				p := d.sel(s, m)
				if !slices.Equal(p.Discovered, []string{"mcp__a__z", "mcp__a__x"}) {
					t.Errorf("%s, %s: discovered %v", name, who, p.Discovered)
				}
				for _, a := range p.Tools {
					if slices.Contains(p.Discovered, a.Name) == a.Deferred && a.Name != "Read" && a.Name != SearchTool {
						t.Errorf("%s, %s: %s deferred is %v", name, who, a.Name, a.Deferred)
					}
				}
				if d.Hint("mcp__a__z") != "" {
					t.Error("a hint for a recorded tool")
				}
				if again, ok := d.Record([]tool.Message{m}); !ok || again.Text != block.Text {
					t.Errorf("%s, %s: the second record is %q", name, who, again.Text)
				}
			}
		}
	}
	for _, bad := range []string{recordOpen, recordOpen + recordClose, recordOpen + recordText + "[1]" + recordClose,
		recordOpen + recordText + `["a b", ""]` + recordClose, recordOpen + `["mcp__a__x"]` + recordClose} {
		if got := readRecord(bad); len(got) != 0 {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// Conversations of any kind give the same plan twice, keep what was listed, and
// lose nothing in a compaction.
func TestAnyConversation(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		names := []string{"x", "y", "z", "w"}
		cfg := Config{References: rapid.Bool().Draw(r, "references"), Mode: rapid.SampledFrom([]Mode{Always, Never, Auto}).Draw(r, "mode")}
		one, two := New(cfg), New(cfg)
		var h []tool.Message
		var before []schema.APITool
		s := pool(t).core("Read", SearchTool).mcp("a", names...)
		for i := range rapid.IntRange(1, 12).Draw(r, "steps") {
			id := fmt.Sprint(i)
			name := "mcp__a__" + rapid.SampledFrom(append(names, "none")).Draw(r, "name")
			switch rapid.IntRange(0, 3).Draw(r, "step") {
			case 0:
				h = append(h, searched(id, name, "mcp__a__x")...)
			case 1:
				h = append(h, called(id, name, rapid.Bool().Draw(r, "error"))...)
			case 2:
				late := "late" + id
				s.mcp("b", late)
			case 3:
				h = append(h, tool.UserText(rapid.String().Draw(r, "text")))
			}
			p, q := one.sel(s, h...), two.sel(s, h...)
			if fmt.Sprint(p) != fmt.Sprint(q) {
				r.Fatalf("two plans:\n%v\n%v", p, q)
			}
			for i, a := range before {
				if cfg.References && a.Deferred {
					continue // outside the provider's cache
				}
				if i >= len(p.Tools) || string(p.Tools[i].JSON()) != string(a.JSON()) {
					r.Fatalf("the list was %s and is %s", shownAs(before), shownAs(p.Tools))
				}
			}
			before = p.Tools
			if p.Notice != "" {
				h = append(h, tool.UserText(p.Notice))
			}
			if n := one.sel(s, h...).Notice; n != "" {
				r.Fatalf("told again: %s", n)
			}
			var compacted []tool.Message
			if block, ok := one.Record(h); ok {
				compacted = []tool.Message{{Role: tool.RoleUser, Content: []tool.Block{tool.TextBlock("summary"), block}}}
			}
			fresh := New(cfg)
			fresh.Update(pool(t).core("Read", SearchTool).mcp("a", names...).tools, pool(t).core("Read", SearchTool).mcp("a", names...).forms)
			if got := fresh.sel(s, compacted...).Discovered; !slices.Equal(got, p.Discovered) {
				r.Fatalf("discovered %v, after the compaction %v", p.Discovered, got)
			}
		}
	})
}

// A conversation that was read as it grew, or was changed, tells what it tells when
// it is read at once.
func TestReadingStepByStep(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := pool(t).core("Read", SearchTool).mcp("a", "x", "y", "z")
		d := New(Config{References: true, Mode: Always})
		var h []tool.Message
		for i := range rapid.IntRange(1, 15).Draw(r, "steps") {
			id, name := fmt.Sprint(i), "mcp__a__"+rapid.SampledFrom([]string{"x", "y", "z", "none"}).Draw(r, "name")
			switch step := rapid.IntRange(0, 5).Draw(r, "step"); {
			case step == 0:
				h = append(h, searched(id, name)...)
			case step == 1:
				h = append(h, called(id, name, rapid.Bool().Draw(r, "error"))...)
			case step == 2:
				s.mcp("b", "late"+id)
			case step == 3:
				h = append(h, tool.Message{Role: tool.RoleUser})
			case step == 4 && len(h) > 0:
				h = slices.Clone(h)
				h[rapid.IntRange(0, len(h)-1).Draw(r, "replaced")] = tool.UserText("cleared")
			case len(h) > 0:
				h = h[rapid.IntRange(0, len(h)-1).Draw(r, "dropped"):]
			}
			d.Update(s.tools, s.forms)
			step := fmt.Sprint(d.read(h))
			d.reading = reading{}
			if whole := fmt.Sprint(d.read(h)); step != whole {
				r.Fatalf("read step by step %s, at once %s", step, whole)
			}
			if rapid.Bool().Draw(r, "forget") {
				d.reading = reading{}
			}
		}
	})
}
