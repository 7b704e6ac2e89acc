package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// npm finds the programs of the public conformance suite.
func npm(t *testing.T) (node, suite string) {
	t.Helper()
	root := os.Getenv("SEVENGATE_NPM")
	if root == "" {
		t.Skip("SEVENGATE_NPM does not name a folder with node_modules that holds node (22 or later) and @modelcontextprotocol/conformance")
	}
	node = filepath.Join(root, "node_modules", "node", "bin", "node")
	suite = filepath.Join(root, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	for _, p := range []string{node, suite} {
		if _, err := os.Stat(p); err != nil {
			t.Fatalf("SEVENGATE_NPM is %s: %v", root, err)
		}
	}
	return node, suite
}

type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	Description  string `json:"description"`
	ErrorMessage string `json:"errorMessage"`
}

var scenarioLine = regexp.MustCompile(`(?m)^\s+- (\S+) \[`)

// TestClient runs every client scenario of the public conformance suite, also
// those of other revisions, drafts and extensions.
func TestClient(t *testing.T) {
	node, suite := npm(t)
	list, err := exec.Command(node, suite, "list", "--client").Output()
	if err != nil {
		t.Fatalf("listing the scenarios: %v", err)
	}
	names := scenarioLine.FindAllSubmatch(list, -1)
	if len(names) < 26 {
		t.Fatalf("only %d scenarios were found in:\n%s", len(names), list)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	slots := make(chan struct{}, 2) // some scenarios measure time
	for _, n := range names {
		name := string(n[1])
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			faults, out := runScenario(t, node, suite, exe, name)
			if name == "sse-retry" { // it measures time, which a busy machine does not keep
				for again := 0; again < 3 && len(faults) > 0; again++ {
					faults, out = runScenario(t, node, suite, exe, name)
				}
			}
			if len(faults) > 0 {
				t.Errorf("%s\n%s", strings.Join(faults, "\n"), out)
			}
		})
	}
}

// runScenario runs one scenario and gives what is wrong.
func runScenario(t *testing.T, node, suite, exe, name string) (faults []string, out []byte) {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, suite, "client", "--command", exe, "--scenario", name, "-o", dir)
	cmd.Env = append(os.Environ(), driverVar+"=1", "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		faults = append(faults, err.Error())
	}
	succeeded := 0
	for _, c := range checks(t, dir) {
		switch c.Status {
		case "SUCCESS":
			succeeded++
		case "INFO":
		default:
			faults = append(faults, fmt.Sprintf("%s: %s: %s: %s", c.ID, c.Status, c.Description, c.ErrorMessage))
		}
	}
	if succeeded == 0 {
		faults = append(faults, "nothing was checked")
	}
	return faults, out
}

// checks reads what a scenario found.
func checks(t *testing.T, dir string) (all []check) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, &all)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
