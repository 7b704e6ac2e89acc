// Command sevengate runs a model's tool calls on this machine, each of them
// checked, scheduled and bounded.
package main

import (
	"os"

	"github.com/sevengate/sevengate/internal/cli"
	_ "github.com/sevengate/sevengate/internal/engine/prefault"
)

func main() { os.Exit(cli.Main(cli.System())) }
