package floorplan

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/sevengate/sevengate"

// room is a folder of packages and the floor that it is on. The longest match
// counts. each tells that every folder right below it is a room of its own.
type room struct {
	folder string
	floor  int
	each   bool
}

var rooms = []room{
	{"tool", 0, false},
	{"internal/engine", 1, false},
	{"internal/schema", 1, false},
	{"internal/settings", 1, false},
	{"internal/state", 1, false},
	{"internal/session", 1, false},
	{"internal/permission", 2, false},
	{"internal/hook", 2, false},
	{"internal/result", 2, false},
	{"internal/disclose", 2, false},
	{"internal/registry", 3, false},
	{"internal/gate", 3, false},
	{"internal/confine", 3, false},
	{"internal/schedule", 4, false},
	{"internal/builtin", 4, true},
	{"internal/mcp", 4, false},
	{"internal/model", 4, false},
	{"internal/agent", 5, false},
	{"", 6, false},
	{"internal/headless", 7, false},
	{"internal/tui", 7, false},
	{"internal/cli", 8, false}, // it calls the other two faces
	{"cmd/sevengate", 9, false},
	// Not part of the house: they look at it from outside.
	{"internal/floorplan", 10, false},
	{"bench", 10, false},
	{"examples", 10, true},
}

// place gives the floor of a package and the room that it belongs to.
func place(pkg string) (floor int, folder string, ok bool) {
	if pkg == "internal/builtin" {
		return 5, pkg, true // the flat list stands above the families
	}
	best := -1
	for i, r := range rooms {
		if pkg == r.folder || r.folder != "" && strings.HasPrefix(pkg, r.folder+"/") {
			if best < 0 || len(r.folder) > len(rooms[best].folder) {
				best = i
			}
		}
	}
	if best < 0 {
		return 0, "", false
	}
	folder = rooms[best].folder
	if rooms[best].each {
		family, _, _ := strings.Cut(strings.TrimPrefix(pkg, folder+"/"), "/")
		folder += "/" + family
	}
	return rooms[best].floor, folder, true
}

// packages lists the module's packages with what their code (not their tests)
// imports of the module.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string][]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		var own []string
		for _, i := range p.Imports {
			if name, ok := inModule(i); ok {
				own = append(own, name)
			}
		}
		name, _ := inModule(p.ImportPath)
		all[name] = own
	}
}

func inModule(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

func TestEveryImportGoesDown(t *testing.T) {
	all := packages(t)
	if len(all) < 20 {
		t.Fatalf("only %d packages were found", len(all))
	}
	for pkg, imports := range all {
		floor, folder, ok := place(pkg)
		if !ok {
			t.Errorf("%s has no place in the plan", pkg)
			continue
		}
		for _, i := range imports {
			below, other, ok := place(i)
			if ok && (below < floor || folder == other) {
				continue
			}
			t.Errorf("%s (floor %d) imports %s (floor %d)", pkg, floor, i, below)
		}
	}
}

func TestThePlanSeesWrongImports(t *testing.T) {
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"internal/gate", "tool", true},
		{"tool", "internal/schema", false},
		{"internal/builtin/file", "internal/builtin/search", false},
		{"internal/builtin", "internal/builtin/search", true},
		{"internal/builtin/file", "internal/gate", true}, // a floor below; families must not, see below
		{"internal/model/openai", "internal/model", true},
		{"internal/permission", "internal/hook", false},
		{"internal/agent", "", false},
	} {
		a, fa, _ := place(c.from)
		b, fb, _ := place(c.to)
		if got := b < a || fa == fb; got != c.ok {
			t.Errorf("%s → %s: allowed = %v, want %v", c.from, c.to, got, c.ok)
		}
	}
}

// Families declare what they need from above as interfaces of their own: they
// know neither the gate nor the registry, and the permission core knows no
// network, no model and no face.
func TestWhatMustNotBeKnown(t *testing.T) {
	forbidden := map[string][]string{
		"internal/builtin/":   {"internal/gate", "internal/registry", "internal/permission", "internal/hook"},
		"internal/permission": {"internal/model", "internal/mcp"},
	}
	for pkg, imports := range packages(t) {
		for prefix, never := range forbidden {
			if !strings.HasPrefix(pkg, prefix) {
				continue
			}
			for _, i := range imports {
				for _, n := range never {
					if i == n {
						t.Errorf("%s must not know %s", pkg, i)
					}
				}
			}
		}
	}
}
