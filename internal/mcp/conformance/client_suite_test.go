package conformance

import (
	"os"
	"strings"
	"testing"
)

// TestClient runs every client scenario of the public conformance suite, also
// those of other revisions, drafts and extensions.
func TestClient(t *testing.T) {
	suite := Find(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	slots := make(chan struct{}, 2) // some scenarios measure time
	for _, name := range suite.Scenarios(t, 26, "--client") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			run := func() ([]string, []byte) {
				return suite.Run(t, []string{driverVar + "=1", "GORACE=atexit_sleep_ms=0"}, "client", "--command", exe, "--scenario", name)
			}
			faults, out := run()
			if name == "sse-retry" { // it measures time, which a busy machine does not keep
				for again := 0; again < 3 && len(faults) > 0; again++ {
					faults, out = run()
				}
			}
			if len(faults) > 0 {
				t.Errorf("%s\n%s", strings.Join(faults, "\n"), out)
			}
		})
	}
}
