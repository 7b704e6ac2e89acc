package permission

import (
	"testing"

	"github.com/sevengate/sevengate/tool"
)

// TestDenier: the test of many tools says what the test of one says.
func TestDenier(t *testing.T) {
	s := newScratch(t)
	facts := []*tool.Facts{
		{Name: "Bash"}, {Name: "Read"}, {Name: "TaskOutput", Aliases: []string{"BashOutput"}},
		{Name: "mcp__a__x", Origin: &tool.Origin{Server: "a", Tool: "x"}}, {Name: "mcp__b__y", Origin: &tool.Origin{Server: "b", Tool: "y"}},
	}
	for _, deny := range [][]string{nil, {"Read(.env)"}, {"Bash"}, {"BashOutput"}, {"mcp__a"}, {"mcp__*"}, {"mcp__a__x", "Read"}, {"*"}} {
		p := s.policy(nil, nil, deny)
		denied := p.Denier()
		for _, f := range facts {
			if _, want := p.DeniesTool(f.Name, f); denied(f) != want {
				t.Errorf("deny %q, %s: %v, want %v", deny, f.Name, !want, want)
			}
		}
	}
}
