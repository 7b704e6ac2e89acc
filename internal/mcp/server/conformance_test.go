package server_test

import (
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/mcp/conformance"
)

// specification is the revision whose scenarios are run.
const specification = "2025-11-25"

// TestConformance runs every server scenario of the public conformance suite
// against a real runtime.
func TestConformance(t *testing.T) {
	suite := conformance.Find(t)
	names := suite.Scenarios(t, 30, "--server", "--spec-version", specification)
	url := serveFixture(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults, out := suite.Run(t, nil, "server", "--url", url, "--scenario", name, "--spec-version", specification)
			if len(faults) > 0 {
				t.Errorf("%s\n%s", strings.Join(faults, "\n"), out)
			}
		})
	}
}
