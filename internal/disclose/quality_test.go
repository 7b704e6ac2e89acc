package disclose

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// wantedNeeds is how many of the 100 needs must be met by the first five.
const wantedNeeds = 95

const wantedHeldOut = 36

// catalog reads the pool of testdata: five servers, some 500 tools.
func catalog(t testing.TB) ([]tool.Tool, []schema.APITool) {
	t.Helper()
	raw, err := os.ReadFile("testdata/pool.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var tools []tool.Tool
	var forms []schema.APITool
	for line := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n") {
		f := strings.Split(line, "\t")
		properties := map[string]any{}
		if f[3] != "" {
			for arg := range strings.SplitSeq(f[3], ",") {
				properties[arg] = map[string]string{"type": "string"}
			}
		}
		input, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
		if err != nil {
			t.Fatal(err)
		}
		add(t, &tools, &forms, mcp(f[0], f[1], f[2]), f[2], input)
	}
	search := tool.Def[struct{}, string]{Name: SearchTool, AlwaysLoad: true}
	add(t, &tools, &forms, search, "find tools", nil)
	return tools, forms
}

// measure counts the needs of a file that the first results of a search meet.
func measure(t *testing.T, file string) (needs, met, first int) {
	tools, forms := catalog(t)
	d := New(Config{})
	d.Update(tools, forms)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n") {
		need, right, _ := strings.Cut(line, "\t")
		needs++
		var names []string
		for _, m := range d.Search(need, 0).Matches {
			names = append(names, m.Name)
		}
		at := slices.IndexFunc(names, func(name string) bool {
			return slices.ContainsFunc(strings.Split(right, ","), func(r string) bool {
				return name == "mcp__"+strings.Replace(r, "/", "__", 1)
			})
		})
		switch {
		case at == 0:
			first++
			fallthrough
		case at > 0:
			met++
		default:
			t.Logf("%q needs %s, got %s", need, right, strings.Join(names, " "))
		}
	}
	t.Logf("%s: %d of %d needs met by the first %d of %d tools, %d by the very first", file, met, needs, DefaultResults, len(tools)-1, first)
	return needs, met, first
}

func TestNeeds(t *testing.T) {
	if needs, met, _ := measure(t, "testdata/needs.tsv"); needs != 100 || met < wantedNeeds {
		t.Errorf("%d of %d needs met, want %d of 100", met, needs, wantedNeeds)
	}
}

// No weight and no synonym was chosen by these.
func TestHeldOutNeeds(t *testing.T) {
	if needs, met, _ := measure(t, "testdata/heldout.tsv"); needs != 40 || met < wantedHeldOut {
		t.Errorf("%d of %d needs met, want %d of 40", met, needs, wantedHeldOut)
	}
}
