package inner

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What the package imports decides how long every sandboxed command waits for its start; see init.
func TestIsInitialisedEarly(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{"errors", "runtime", "sync", "sync/atomic", "syscall", "unsafe", "unicode/utf8", "math/bits", "cmp", "slices", "iter"}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "syscall") {
		t.Fatalf("the list is not of this package: %q", deps)
	}
	for _, d := range deps {
		own := strings.Contains(d, "/sandbox/inner")
		if !own && !strings.HasPrefix(d, "internal/") && !strings.HasPrefix(d, "runtime/") && !slices.Contains(allowed, d) {
			t.Errorf("%s is imported", d)
		}
	}
}
