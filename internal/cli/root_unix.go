//go:build unix

package cli

import "os"

func runsAsRoot() bool { return os.Geteuid() == 0 }
