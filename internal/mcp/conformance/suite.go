// Package conformance runs the public conformance suite of the protocol: its own
// tests do against the client, and those of the server package against the server. It
// is for tests alone.
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
	"testing"
	"time"
)

// EnvFolder names the folder whose node_modules holds node (22 or later) and the
// suite.
const EnvFolder = "SEVENGATE_NPM"

// scenarioTime bounds one scenario.
const scenarioTime = time.Minute

// Suite is the suite's program.
type Suite struct{ node, program string }

// Find finds the suite. It skips the test where no folder is named, and fails it
// where the folder does not hold the suite.
func Find(t testing.TB) *Suite {
	t.Helper()
	root := os.Getenv(EnvFolder)
	if root == "" {
		t.Skipf("%s does not name a folder with node_modules that holds node (22 or later) and @modelcontextprotocol/conformance", EnvFolder)
	}
	modules := filepath.Join(root, "node_modules")
	s := &Suite{filepath.Join(modules, "node", "bin", "node"), filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")}
	for _, p := range []string{s.node, s.program} {
		if _, err := os.Stat(p); err != nil {
			t.Fatalf("%s is %s: %v", EnvFolder, root, err)
		}
	}
	return s
}

var scenarioLine = regexp.MustCompile(`(?m)^\s+- (\S+) \[`)

// Scenarios lists scenarios, as the suite does with args. Fewer than least fail the
// test: then the list was not understood.
func (s *Suite) Scenarios(t testing.TB, least int, args ...string) []string {
	t.Helper()
	list, err := exec.Command(s.node, append([]string{s.program, "list"}, args...)...).Output()
	if err != nil {
		t.Fatalf("listing the scenarios: %v", err)
	}
	var names []string
	for _, m := range scenarioLine.FindAllSubmatch(list, -1) {
		names = append(names, string(m[1]))
	}
	if len(names) < least {
		t.Fatalf("only %d scenarios were found in:\n%s", len(names), list)
	}
	return names
}

// Run runs one scenario with args and further variables, and gives what is wrong.
func (s *Suite) Run(t testing.TB, env []string, args ...string) (faults []string, out []byte) {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), scenarioTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.node, append(append([]string{s.program}, args...), "-o", dir)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		faults = append(faults, err.Error())
	}
	all, err := checks(dir)
	if err != nil {
		faults = append(faults, err.Error())
	}
	succeeded := 0
	for _, c := range all {
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

type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	Description  string `json:"description"`
	ErrorMessage string `json:"errorMessage"`
}

// checks reads what a scenario found, from all files that it wrote.
func checks(dir string) (all []check, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var some []check
		if err := json.Unmarshal(raw, &some); err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		all = append(all, some...)
		return nil
	})
	return all, err
}
