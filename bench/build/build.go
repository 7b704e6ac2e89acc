// Package build builds the program that the benchmarks measure.
package build

import (
	"fmt"
	"os"
	"os/exec"
)

// Program builds the program as the README installs it, without C, into a file.
func Program(file string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "github.com/sevengate/sevengate/cmd/sevengate")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return nil
}
