package server_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// specification is the revision whose scenarios are run.
const specification = "2025-11-25"

// npm finds the programs of the public conformance suite.
func npm(t *testing.T) (node, suite string) {
	t.Helper()
	root := os.Getenv("SEVENGATE_NPM")
	if root == "" {
		t.Skip("SEVENGATE_NPM does not name a folder with node_modules that holds node and @modelcontextprotocol/conformance")
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

// TestConformance runs every server scenario of the public conformance suite
// against a real runtime.
func TestConformance(t *testing.T) {
	node, suite := npm(t)
	list, err := exec.Command(node, suite, "list", "--server", "--spec-version", specification).Output()
	if err != nil {
		t.Fatalf("listing the scenarios: %v", err)
	}
	names := scenarioLine.FindAllSubmatch(list, -1)
	if len(names) < 30 {
		t.Fatalf("only %d scenarios were found in:\n%s", len(names), list)
	}
	url := serveFixture(t)
	for _, n := range names {
		name := string(n[1])
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, node, suite, "server", "--url", url, "--scenario", name, "--spec-version", specification, "-o", dir).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			succeeded := 0
			for _, c := range checks(t, dir) {
				switch c.Status {
				case "SUCCESS":
					succeeded++
				case "INFO":
				default:
					t.Errorf("%s: %s: %s: %s", c.ID, c.Status, c.Description, c.ErrorMessage)
				}
			}
			if succeeded == 0 {
				t.Errorf("nothing was checked:\n%s", out)
			}
		})
	}
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
