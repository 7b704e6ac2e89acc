package sevengate

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The example of the README is a program that is compiled and run.
func TestTheReadmesExampleIsTheProgram(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("examples/hello/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	block, _, ok := strings.Cut(rest, "```")
	if !ok || strings.TrimSpace(block) != strings.TrimSpace(string(program)) {
		t.Error("README.md shows another program than examples/hello/main.go")
	}
	home := t.TempDir()
	cmd := exec.Command("go", "run", "./examples/hello")
	cmd.Env = append(os.Environ(), "SEVENGATE_HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "Hello, world!\n" {
		t.Errorf("it prints %q (%v)", out, err)
	}
}
